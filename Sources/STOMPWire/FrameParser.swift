public import Storage

/// Finds the frame at the front of a buffer that grows, line by line. It looks at each byte once, however the bytes
/// come.
public struct FrameParser: BitwiseCopyable {
  public internal(set) var frame = ServerFrame()
  /// Where the line begins that is read next.
  private var line = 0
  /// Up to where that line has no end.
  private var searched = 0
  private var hasCommand = false
  /// Not 0: the headers have a zero, a backslash, or a byte that is not ASCII.
  private var strange: UInt = 0

  public init() {}

  /// Undoes the escapes in the headers of the frame that it has found at the front of these bytes.
  public mutating func undoEscapes(in bytes: inout MutableSpan<UInt8>, _ version: STOMPVersion) {
    frame.undoEscapes(in: &bytes, version)
  }

  /// Returns how many bytes at the front are ends of lines: between frames they are heart-beats.
  public static func leadingLineEnds(_ bytes: Span<UInt8>) -> Int {
    var count = 0
    while count < bytes.count, bytes[count] == lineFeed || bytes[count] == carriageReturn { count &+= 1 }
    return count
  }

  /// Reads as far as there are lines. True: the head is whole, and `frame` has it. `bytes` begin with the command each
  /// time, and it is not called again once it returned true or has thrown.
  @_optimize(speed)
  public mutating func advance(
    _ bytes: Span<UInt8>, _ version: STOMPVersion
  ) throws(MalformedFrame) -> Bool {
    if !hasCommand {
      guard try takeCommand(bytes) else { return false }
    }
    let strips = HeaderReader.strips(frame.command, version)
    // Here rather than in `self`, so that they are in registers.
    var (start, from, strange) = (line, searched, strange)
    while true {
      let known = HeaderName.known(at: start, in: bytes)
      let valueStart = start &+ (known?.size ?? 0)
      let end = ByteSearch.firstIndex(
        of: lineFeed, in: bytes, from: max(from, valueStart), strange: &strange
      ) {
        Word.nonASCII($0) | Word.containsZero($0) | Word.contains(UInt8(ascii: "\\"), in: $0)
      }
      guard end < bytes.count else {
        (line, searched, self.strange) = (start, end, strange)
        return false
      }
      // In front of an empty line is the end of another one.
      let textEnd = bytes[end &- 1] == carriageReturn && strips ? end &- 1 : end
      if let known {
        try take(known.header, bytes, valueStart, textEnd, version)
      } else if textEnd > start {
        let colon = ByteSearch.firstIndex(of: UInt8(ascii: ":"), in: bytes, from: start)
        guard colon > start, colon < textEnd else { throw .header }
      } else {
        frame.headers = ByteRange(offset: frame.headers.offset, count: start &- frame.headers.offset)
        frame.bodyOffset = end &+ 1
        if strange != 0 { try checkText(bytes.extracting(frame.headers.range), version) }
        guard frame.known.contains(.needed(by: frame.command, version)) else { throw .missingHeader }
        return true
      }
      start = end &+ 1
      from = start
    }
  }

  /// False: its line is not whole. Kept out of line: inlined, it takes registers of the loop over the headers, and 140
  /// instructions more for a frame.
  @inline(never)
  @_optimize(speed)
  private mutating func takeCommand(_ bytes: Span<UInt8>) throws(MalformedFrame) -> Bool {
    let message: StaticString = "MESSAGE\n"
    if bytes.has(message, at: 0) {
      frame.command = .message
      line = message.utf8CodeUnitCount
    } else {
      let end = ByteSearch.firstIndex(of: lineFeed, in: bytes, from: searched)
      searched = end
      guard end < bytes.count else { return false }
      // Before the version is known, too, a carriage return may be there.
      let textEnd = end > 0 && bytes[end &- 1] == carriageReturn ? end &- 1 : end
      frame.command = try Self.command(bytes.extracting(0..<textEnd))
      line = end &+ 1
    }
    searched = line
    frame.headers = ByteRange(offset: line, count: 0)
    hasCommand = true
    return true
  }

  @inline(__always)
  private static func command(_ text: Span<UInt8>) throws(MalformedFrame) -> ServerCommand {
    if text.equals("MESSAGE") { return .message }
    if text.equals("RECEIPT") { return .receipt }
    if text.equals("ERROR") { return .error }
    if text.equals("CONNECTED") { return .connected }
    throw .command
  }

  @inline(__always)
  private mutating func take(
    _ known: KnownHeader, _ bytes: Span<UInt8>, _ start: Int, _ end: Int, _ version: STOMPVersion
  ) throws(MalformedFrame) {
    guard !frame.known.contains(known) else { return }
    var value = ByteRange(offset: start, count: end &- start)
    if version.mayPad { value = Self.withoutPadding(value, bytes) }
    frame.known.insert(known)
    switch known {
    case .destination: frame.destination = value
    case .messageID: frame.messageID = value
    case .subscription: frame.subscription = value
    case .ack: frame.ack = value
    case .contentType: frame.contentType = value
    case .receiptID: frame.receiptID = value
    case .message: frame.message = value
    case .version: frame.version = value
    case .heartBeat: frame.heartBeat = value
    case .session: frame.session = value
    case .server: frame.server = value
    case .contentLength:
      guard let number = DecimalNumber.parse(bytes.extracting(value.range), most: Self.longestBody) else {
        throw .contentLength
      }
      frame.contentLength = number
    }
  }

  /// Servers of 1.0 put spaces around values.
  @inline(never)
  private static func withoutPadding(_ value: ByteRange, _ bytes: Span<UInt8>) -> ByteRange {
    var first = value.offset
    var last = value.end
    while first < last, bytes[first] == UInt8(ascii: " ") { first &+= 1 }
    while last > first, bytes[last &- 1] == UInt8(ascii: " ") { last &-= 1 }
    return ByteRange(offset: first, count: last &- first)
  }

  /// Byte ranges have 32 bits.
  static var longestBody: Int { 0x7FFF_FFFF }

  @inline(never)
  private mutating func checkText(
    _ headers: Span<UInt8>, _ version: STOMPVersion
  ) throws(MalformedFrame) {
    // Most often it is a backslash, and the text need not be looked at byte by byte.
    let isASCII = !Word.anyWord(of: headers) { Word.nonASCII($0) | Word.containsZero($0) }
    if !isASCII, ByteSearch.firstIndex(of: 0, in: headers, from: 0) < headers.count { throw .null }
    // 1.0 says nothing of how text is encoded.
    guard version != .v10 else { return }
    // ERROR is for people, and says why the server ends the connection: it may be the answer to a version that the server does
    // not speak. As far as it is malformed, it is passed on as it came.
    guard frame.command != .error else {
      frame.hasEscapes = (try? Escapes.check(headers, version)) ?? false
      return
    }
    guard isASCII || WellFormedUTF8.matches(headers, allowsNull: false) else { throw .utf8 }
    guard frame.command != .connected else { return }
    frame.hasEscapes = try Escapes.check(headers, version)
  }
}

let lineFeed = UInt8(ascii: "\n")
let carriageReturn = UInt8(ascii: "\r")
