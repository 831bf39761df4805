import Storage

/// Reads the head of an HTTP/1.0 or 1.1 response, however it is cut: the status line, the header lines, and the
/// empty line (RFC 9112).
///
/// `next` is called until it wants bytes, or the head is over. After each `header`, `isHeader` and `value` tell
/// about that line.
///
/// - A line may end with LF alone. A bare CR counts as a blank (RFC 9112 section 2.2).
/// - Of a line, the first 256 bytes are looked at.
/// - A line that continues the one before it (obs-fold, RFC 9112 section 5.2) is joined to it. That is why a line
///   is complete only when the next one begins.
public struct HTTPResponseHead: BitwiseCopyable {
  public enum Event: UInt8, BitwiseCopyable {
    case needsBytes
    case header
    case end
    case malformed
    case tooLong
  }

  public static var maximumSize: Int { 16_384 }
  static var lineSize: Int { 256 }
  static var textSize: Int { 120 }

  private enum State: UInt8, BitwiseCopyable {
    case statusLine
    case line
    case complete  // unless the next byte continues it
    case delivered
    case end, malformed, tooLong
  }

  private var state = State.statusLine
  /// A CR came, and what follows decides what it is.
  private var hasReturn = false
  private var textCount: UInt8 = 0
  /// 0 as long as the status line is not read.
  public private(set) var status: UInt16 = 0
  private var size: UInt16 = 0
  private var lineCount: UInt16 = 0
  private var line = InlineArray<256, UInt8>(repeating: 0)
  private var textBytes = InlineArray<120, UInt8>(repeating: 0)

  public init() {}

  // MARK: Getters

  /// The reason phrase; of a redirection (3xx), its Location. It is shortened, and plain ASCII.
  public var text: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { textBytes.span.extracting(first: Int(textCount)) }
  }

  /// Returns whether the line is of the field of this name, which is in lower case.
  @_optimize(size)
  @inline(never)
  func isHeader(_ name: StaticString) -> Bool {
    let line = line.span.extracting(first: Int(lineCount))
    let size = name.utf8CodeUnitCount
    return line.count > size && line[size] == UInt8(ascii: ":") && HTTPText.begins(line, with: name.bytes)
  }

  /// What stands behind the line's first colon, without blanks at its ends.
  var value: Span<UInt8> {
    @_lifetime(borrow self)
    @_optimize(size)
    @inline(never)
    borrowing get {
      let line = line.span.extracting(first: Int(lineCount))
      var start = 0
      while start < line.count, line[start] != UInt8(ascii: ":") { start &+= 1 }
      return HTTPText.trimmed(line.extracting(droppingFirst: min(start &+ 1, line.count)))
    }
  }

  // MARK: Reading

  /// Reads from `bytes[consumed...]`, and adds to `consumed` what it has taken. Nothing behind the end of the head
  /// is taken.
  @_optimize(size)
  public mutating func next(_ bytes: Span<UInt8>, _ consumed: inout Int) -> Event {
    while consumed < bytes.count {
      switch state {
      case .end: return .end
      case .malformed: return .malformed
      case .tooLong: return .tooLong
      case .complete:
        guard HTTPText.isBlank(bytes[consumed]) else {
          state = .delivered
          keepLocation()
          return .header
        }
        state = .line
      case .delivered:
        lineCount = 0
        state = .line
      case .statusLine, .line: break
      }
      guard size < Self.maximumSize else {
        state = .tooLong
        return .tooLong
      }
      size &+= 1
      let byte = bytes[consumed]
      consumed &+= 1
      take(byte)
    }
    switch state {
    case .end: return .end
    case .malformed: return .malformed
    default: return .needsBytes
    }
  }

  /// Another response follows an interim one (1xx, RFC 9110 section 15.2). What was read counts.
  mutating func restart() {
    state = .statusLine
    lineCount = 0
    textCount = 0
    status = 0
  }

  private mutating func take(_ byte: UInt8) {
    if byte == UInt8(ascii: "\n") {
      endLine()
    } else if hasReturn {
      append(UInt8(ascii: " "))
    }
    hasReturn = byte == UInt8(ascii: "\r")
    if !hasReturn, byte != UInt8(ascii: "\n") { append(byte) }
  }

  private mutating func append(_ byte: UInt8) {
    let index = Int(lineCount)
    if state == .statusLine, index < Self.version.utf8CodeUnitCount, byte != Self.version.bytes[index] {
      state = .malformed
    }
    guard index < Self.lineSize else { return }
    line[index] = byte
    lineCount &+= 1
  }

  private mutating func endLine() {
    if state == .statusLine {
      state = parseStatusLine() ? .delivered : .malformed
    } else {
      state = lineCount == 0 ? .end : .complete
    }
  }

  private static var version: StaticString { "HTTP/1." }

  /// RFC 9112 section 4. The version's first bytes are checked.
  @_optimize(size)
  private mutating func parseStatusLine() -> Bool {
    let count = Int(lineCount)
    guard count >= 12, Self.isDigit(line[7]), line[8] == UInt8(ascii: " "),
      count == 12 || line[12] == UInt8(ascii: " ")
    else { return false }
    var number: UInt16 = 0
    for index in 9..<12 {
      guard Self.isDigit(line[index]) else { return false }
      number = number &* 10 &+ UInt16(line[index] &- UInt8(ascii: "0"))
    }
    guard number >= 100 else { return false }
    status = number
    keepText(from: 12, to: count)
    return true
  }

  private static func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

  private mutating func keepLocation() {
    let name: StaticString = "location"
    guard 300..<400 ~= status, isHeader(name) else { return }
    keepText(from: name.utf8CodeUnitCount &+ 1, to: Int(lineCount))
  }

  /// Keeps a part of the line without blanks at its ends. A character that a terminal may not show is replaced.
  @_optimize(size)
  private mutating func keepText(from start: Int, to end: Int) {
    var start = start
    var end = end
    while start < end, HTTPText.isBlank(line[start]) { start &+= 1 }
    while start < end, HTTPText.isBlank(line[end &- 1]) { end &-= 1 }
    let count = min(end &- start, Self.textSize)
    for index in 0..<count {
      let byte = line[start &+ index]
      textBytes[index] = 0x20..<0x7F ~= byte ? byte : UInt8(ascii: "?")
    }
    textCount = UInt8(truncatingIfNeeded: count)
  }
}
