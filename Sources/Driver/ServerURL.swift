public import Storage

/// What is wrong with a URL, and at which offset.
public enum URLError: Error, BitwiseCopyable {
  case tooLong
  case malformed(at: Int)
  case unknownScheme
}

/// What a URL has behind its scheme.
public enum URLForm: BitwiseCopyable {
  case servers  // one slash may end it
  case serversAndPath  // and a query
  case file  // of a socket
}

/// `[scheme://][user[:password]@]host[:port][,host[:port]]…[/]`, or `scheme:/file`, as byte ranges of its text.
///
/// The parser is strict: what it does not understand is an error with its offset.
public struct ServerURL: BitwiseCopyable {
  /// Still percent-encoded; empty if absent, as the password.
  public private(set) var userName = ByteRange.empty
  public private(set) var password = ByteRange.empty
  /// At least one; without the brackets of an IPv6 address.
  public private(set) var servers = HostPortList()
  /// From the slash on, with the query; empty if absent.
  public private(set) var path = ByteRange.empty

  /// A path may be a signed one; names are shorter.
  public static var maximumSize: Int { 4096 }
  public static var maximumAuthoritySize: Int { 1024 }

  /// Returns how long the scheme is, behind which a colon and a slash follow; `nil`: there is none. What precedes a
  /// colon alone is a host, or a user.
  @_optimize(size)
  public static func schemeSize(of text: Span<UInt8>) throws(URLError) -> Int? {
    guard text.count <= maximumSize else { throw .tooLong }
    var end = 0
    while end < text.count, isLetterOrDigit(text[end]) || text[end] == UInt8(ascii: "+") { end += 1 }
    guard end > 0, end + 1 < text.count, text[end] == colon, text[end + 1] == slash else { return nil }
    return end
  }

  /// Returns the offset behind the two slashes.
  @inline(never)
  @_optimize(size)
  public static func authorityStart(in text: Span<UInt8>, schemeSize: Int) throws(URLError) -> Int {
    let start = schemeSize + 1
    for index in start..<start + 2 {
      guard index < text.count, text[index] == slash else { throw .malformed(at: min(index, text.count)) }
    }
    return start + 2
  }

  /// Returns whether the text begins with this scheme, which is in lower case.
  @inline(never)
  @_optimize(size)
  public static func hasScheme(_ name: StaticString, _ text: Span<UInt8>, size: Int) -> Bool {
    guard name.utf8CodeUnitCount == size else { return false }
    // A static string has as many bytes as it says.
    for index in 0..<size where unsafe lower(text[index]) != name.utf8Start[index] { return false }
    return true
  }

  /// Parses what follows a scheme of `schemeSize` bytes; `nil`: all of it.
  @_optimize(size)
  public init(parsing text: Span<UInt8>, schemeSize: Int?, form: URLForm) throws(URLError) {
    if case .file = form, let schemeSize {
      let start = schemeSize + 1
      // The authority may be there, and is empty: three slashes.
      let hasAuthority = text.count >= start + 2 && text[start] == slash && text[start + 1] == slash
      try parseFile(text, (hasAuthority ? start + 2 : start)..<text.count)
      return
    }
    var authority = 0
    if let schemeSize { authority = try Self.authorityStart(in: text, schemeSize: schemeSize) }
    var end = authority
    while end < text.count, text[end] != slash, text[end] != questionMark { end += 1 }
    guard end <= Self.maximumAuthoritySize else { throw .tooLong }
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
      guard serverEnd < end else { break }
      hostStart = serverEnd + 1
    }
    // What is wrong first is told first.
    try parsePath(text, end, form)
  }

  @_optimize(size)
  private mutating func parsePath(_ text: Span<UInt8>, _ start: Int, _ form: URLForm) throws(URLError) {
    guard case .serversAndPath = form else {
      // Behind the authority there may be one slash and nothing else: no path, and of a query no key is known.
      let rest = start < text.count && text[start] == slash ? start + 1 : start
      guard rest == text.count else { throw .malformed(at: text[rest] == questionMark ? rest + 1 : rest) }
      return
    }
    guard start == text.count || text[start] == slash else { throw .malformed(at: start) }
    for index in start..<text.count {
      // A fragment is not sent (RFC 6455 section 3).
      guard 0x21...0x7E ~= text[index], text[index] != UInt8(ascii: "#") else { throw .malformed(at: index) }
    }
    path = ByteRange(offset: start, count: text.count - start)
  }

  @_optimize(size)
  private mutating func parseFile(_ text: Span<UInt8>, _ range: Range<Int>) throws(URLError) {
    guard range.count > 1, text[range.lowerBound] == slash else { throw .malformed(at: range.lowerBound) }
    for index in range {
      guard 0x21...0x7E ~= text[index] else { throw .malformed(at: index) }
    }
    servers.append(host: ByteRange(offset: range.lowerBound, count: range.count), port: 0)
  }

  /// The first of the servers that another one points to: `host[:port]`, and more behind a space.
  @_optimize(size)
  public init(reference text: Span<UInt8>) throws(URLError) {
    var end = 0
    while end < text.count, text[end] != UInt8(ascii: " ") { end += 1 }
    guard end <= 253 + 6 else { throw .tooLong }
    try parseServer(text, 0..<end)
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

extension ServerURL {
  /// Undoes the percent-encoding of user name and password, one behind the other. Returns how many bytes they have.
  @inline(never)
  public func decodeCredentials(
    of url: Span<UInt8>, into room: inout MutableSpan<UInt8>
  ) -> (userName: Int, password: Int) {
    let size = Self.decode(url.extracting(userName.range), into: &room)
    var rest = room._mutatingExtracting(size...)
    return (size, Self.decode(url.extracting(password.range), into: &rest))
  }
}

/// The schemes of a protocol.
public protocol URLScheme {
  /// What the scheme of a URL says, which has `size` bytes; `nil`: it is none of this protocol.
  static func carrier(_ text: Span<UInt8>, size: Int) -> Carrier?
}

/// A URL of one or several servers, or their names and ports alone.
public struct SchemedURL<Scheme: URLScheme>: BitwiseCopyable {
  /// `nil`: it has no scheme, and other options say what carries the protocol.
  public let carrier: Carrier?
  public let url: ServerURL

  @inline(__always)
  public init(parsing text: Span<UInt8>) throws(URLError) {
    let size = try ServerURL.schemeSize(of: text)
    carrier = size.flatMap { Scheme.carrier(text, size: $0) }
    if let size, carrier == nil {
      // One slash makes no scheme.
      _ = try ServerURL.authorityStart(in: text, schemeSize: size)
      throw .unknownScheme
    }
    let form = carrier?.form ?? .servers
    url = try ServerURL(parsing: text, schemeSize: size, form: form)
    guard form == .serversAndPath || text.count <= ServerURL.maximumAuthoritySize else { throw .tooLong }
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
