public import Storage

/// What is wrong with a URL, and at which offset.
public enum URLError: Error, BitwiseCopyable {
  case tooLong
  case malformed(at: Int)
  case unknownScheme(at: Int)
}

/// `scheme://[user[:password]@]host[:port][,host[:port]]…[/]`, as byte ranges of its text.
///
/// The parser is strict: what it does not understand is an error with its offset.
public struct ServerURL: BitwiseCopyable {
  /// Still percent-encoded; empty if absent, as the password.
  public private(set) var userName = ByteRange.empty
  public private(set) var password = ByteRange.empty
  /// At least one; without the brackets of an IPv6 address.
  public private(set) var servers = HostPortList()

  public static var maximumSize: Int { 1024 }

  /// `scheme` in lower case.
  @_optimize(size)
  public init(parsing text: Span<UInt8>, scheme: Span<UInt8>) throws(URLError) {
    guard text.count <= Self.maximumSize else { throw .tooLong }
    let authority = try Self.skip(scheme, in: text)
    var end = authority
    while end < text.count, text[end] != slash, text[end] != questionMark { end += 1 }
    // Behind the authority there may be one slash and nothing else: no path, and of a query no key is known.
    let rest = end < text.count && text[end] == slash ? end + 1 : end
    guard rest == text.count else { throw .malformed(at: text[rest] == questionMark ? rest + 1 : rest) }

    var hostStart = authority
    for index in authority..<end where text[index] == at {
      try parseUserInfo(text, authority..<index)
      hostStart = index + 1
      break
    }
    while true {
      var serverEnd = hostStart
      while serverEnd < end, text[serverEnd] != comma { serverEnd += 1 }
      guard servers.count < HostPortList.maximum else { throw .malformed(at: hostStart) }
      try parseServer(text, hostStart..<serverEnd)
      guard serverEnd < end else { return }
      hostStart = serverEnd + 1
    }
  }

  /// The first of the servers that another one points to: `host[:port]`, and more behind a space.
  @_optimize(size)
  public init(reference text: Span<UInt8>) throws(URLError) {
    var end = 0
    while end < text.count, text[end] != UInt8(ascii: " ") { end += 1 }
    guard end <= 253 + 6 else { throw .tooLong }
    try parseServer(text, 0..<end)
  }

  /// The offset behind `scheme://`.
  @_optimize(size)
  private static func skip(_ scheme: Span<UInt8>, in text: Span<UInt8>) throws(URLError) -> Int {
    var end = 0
    while end < text.count, isLetterOrDigit(text[end]) { end += 1 }
    for index in end..<end + 3 {
      guard index < text.count, text[index] == (index == end ? colon : slash) else {
        throw .malformed(at: min(index, text.count))
      }
    }
    guard end > 0 else { throw .malformed(at: 0) }
    guard end == scheme.count else { throw .unknownScheme(at: 0) }
    for index in 0..<end where lower(text[index]) != scheme[index] { throw .unknownScheme(at: 0) }
    return end + 3
  }

  @_optimize(size)
  private mutating func parseUserInfo(_ text: Span<UInt8>, _ range: Range<Int>) throws(URLError) {
    var separator = range.upperBound
    var index = range.lowerBound
    while index < range.upperBound {
      if text[index] == percent {
        guard range.upperBound - index >= 3, let high = hex(text[index + 1]),
          let low = hex(text[index + 2]), high | low != 0
        else { throw .malformed(at: index) }
        index += 3
        continue
      }
      if text[index] == colon, separator == range.upperBound { separator = index }
      guard isUserInfo(text[index]) else { throw .malformed(at: index) }
      index += 1
    }
    guard separator > range.lowerBound else { throw .malformed(at: range.lowerBound) }
    userName = ByteRange(offset: range.lowerBound, count: separator - range.lowerBound)
    if separator < range.upperBound {
      password = ByteRange(offset: separator + 1, count: range.upperBound - separator - 1)
    }
  }

  @_optimize(size)
  private mutating func parseServer(_ text: Span<UInt8>, _ range: Range<Int>) throws(URLError) {
    var index = range.lowerBound
    let host: ByteRange
    if index < range.upperBound, text[index] == UInt8(ascii: "[") {
      index += 1
      let start = index
      var hasColon = false
      while index < range.upperBound, hex(text[index]) != nil || text[index] == colon || text[index] == dot {
        hasColon = hasColon || text[index] == colon
        index += 1
      }
      guard hasColon else { throw .malformed(at: start) }
      guard index > start, index < range.upperBound, text[index] == UInt8(ascii: "]") else {
        throw .malformed(at: index)
      }
      host = ByteRange(offset: start, count: index - start)
      index += 1
    } else {
      let start = index
      while index < range.upperBound, isHostName(text[index]) { index += 1 }
      guard index > start else { throw .malformed(at: index) }
      host = ByteRange(offset: start, count: index - start)
    }
    guard index < range.upperBound else { return servers.append(host: host, port: 0) }

    guard text[index] == colon else { throw .malformed(at: index) }
    index += 1
    let start = index
    var number = 0
    while index < range.upperBound, text[index] >= UInt8(ascii: "0"), text[index] <= UInt8(ascii: "9") {
      number = number * 10 + Int(text[index] - UInt8(ascii: "0"))
      index += 1
      guard number <= 65_535 else { throw .malformed(at: start) }
    }
    guard index == range.upperBound else { throw .malformed(at: index) }
    guard number > 0 else { throw .malformed(at: start) }
    servers.append(host: host, port: UInt16(truncatingIfNeeded: number))
  }

  /// Undoes percent-encoding; returns how many bytes it put at the front of `target`, which is at
  /// least as long as `text`.
  @_optimize(size)
  public static func decode(_ text: Span<UInt8>, into target: inout MutableSpan<UInt8>) -> Int {
    var count = 0
    var index = 0
    while index < text.count {
      if text[index] == percent, text.count - index >= 3, let high = hex(text[index + 1]),
        let low = hex(text[index + 2])
      {
        target[count] = high << 4 | low
        index += 3
      } else {
        target[count] = text[index]
        index += 1
      }
      count += 1
    }
    return count
  }
}

// The characters of RFC 3986, as far as they matter here.

private var comma: UInt8 { UInt8(ascii: ",") }
private var questionMark: UInt8 { UInt8(ascii: "?") }
private var slash: UInt8 { UInt8(ascii: "/") }
private var colon: UInt8 { UInt8(ascii: ":") }
private var at: UInt8 { UInt8(ascii: "@") }
private var dot: UInt8 { UInt8(ascii: ".") }
private var percent: UInt8 { UInt8(ascii: "%") }

private func lower(_ byte: UInt8) -> UInt8 {
  byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
}

private func hex(_ byte: UInt8) -> UInt8? {
  switch lower(byte) {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
  case UInt8(ascii: "a")...UInt8(ascii: "f"): lower(byte) - UInt8(ascii: "a") + 10
  default: nil
  }
}

private func isLetterOrDigit(_ byte: UInt8) -> Bool {
  switch lower(byte) {
  case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
  default: false
  }
}

private func isHostName(_ byte: UInt8) -> Bool {
  isLetterOrDigit(byte) || byte == dot || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
}

/// Unreserved and sub-delims, and the colon.
private func isUserInfo(_ byte: UInt8) -> Bool {
  if isHostName(byte) { return true }
  switch byte {
  case UInt8(ascii: "~"), UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "&"), UInt8(ascii: "'"),
    UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: ","),
    UInt8(ascii: ";"), UInt8(ascii: "="), UInt8(ascii: ":"):
    return true
  default: return false
  }
}
