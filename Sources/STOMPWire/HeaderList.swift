public import Storage

/// Headers of the application: of each pair the sizes of name and value, in two bytes each, the low one first, and then
/// both.
public struct HeaderList: ~Escapable {
  private let bytes: Span<UInt8>
  public private(set) var position = 0

  public struct Pair: BitwiseCopyable {
    public let name: ByteRange
    public let value: ByteRange
    public var size: Int { 4 &+ name.count &+ value.count }
    /// Both, which lie one behind the other.
    var text: Range<Int> { name.offset..<value.end }
  }

  @_lifetime(copy bytes)
  public init(_ bytes: Span<UInt8>) { self.bytes = bytes }

  public static var longest: Int { 0xFFFF }

  /// Whether a list may have this header: its texts are UTF-8 without zeros and not too long, and it is none that the
  /// library writes itself. Whether the version allows it is for `isValid` to say.
  public static func canHave(_ name: Span<UInt8>, _ value: Span<UInt8>) -> Bool {
    guard 1...longest ~= name.count, value.count <= longest else { return false }
    guard HeaderText.isValid(name, .v12, isName: true), HeaderText.isValid(value, .v12, isName: false) else {
      return false
    }
    return !isOwn(name)
  }

  /// The library writes it itself, if a frame is to have it.
  private static func isOwn(_ name: Span<UInt8>) -> Bool {
    switch name.count {
    case 2: name.equals("id")
    case 3: name.equals("ack")
    case 4: name.equals("host")
    case 5: name.equals("login")
    case 7: name.equals("receipt")
    case 8: name.equals("passcode")
    case 10: name.equals("heart-beat") || name.equals("message-id")
    case 11: name.equals("destination") || name.equals("transaction")
    case 12: name.equals("content-type") || name.equals("subscription")
    case 14: name.equals("accept-version") || name.equals("content-length")
    default: false
    }
  }

  /// Writes a header that `canHave` allows; `target` has just the room for it.
  public static func append(
    _ name: Span<UInt8>, _ value: Span<UInt8>, to target: inout MutableSpan<UInt8>
  ) {
    let sizes = (name: UInt16(truncatingIfNeeded: name.count), value: UInt16(truncatingIfNeeded: value.count))
    target[0] = UInt8(truncatingIfNeeded: sizes.name)
    target[1] = UInt8(truncatingIfNeeded: sizes.name >> 8)
    target[2] = UInt8(truncatingIfNeeded: sizes.value)
    target[3] = UInt8(truncatingIfNeeded: sizes.value >> 8)
    var texts = target._mutatingExtracting(4...)
    copy(name, into: &texts)
    var rest = texts._mutatingExtracting(name.count...)
    copy(value, into: &rest)
  }

  /// `nil`: there is no further one, or what is left is none.
  @_lifetime(self: copy self)
  @inline(__always)
  public mutating func next() -> Pair? {
    guard bytes.count &- position >= 4 else { return nil }
    let name = Int(bytes.load(at: position, as: UInt16.self))
    let value = Int(bytes.load(at: position &+ 2, as: UInt16.self))
    let start = position &+ 4
    guard bytes.count &- start >= name &+ value else { return nil }
    position = start &+ name &+ value
    return Pair(
      name: ByteRange(offset: start, count: name), value: ByteRange(offset: start &+ name, count: value))
  }

  /// Whether the list is whole, each text is one that a header may have: UTF-8 without zeros; and, in a version without
  /// escapes, without the bytes that would need them; and no header is one that the library writes itself: a program may
  /// have made the list by hand.
  @_optimize(speed)
  public static func isValid(_ bytes: Span<UInt8>, _ version: STOMPVersion) -> Bool {
    var list = HeaderList(bytes)
    while let pair = list.next() {
      guard pair.name.count > 0,
        HeaderText.isPlainText(bytes.extracting(pair.text)) || isValid(pair, bytes, version),
        !isOwn(bytes.extracting(pair.name.range))
      else { return false }
    }
    return list.position == bytes.count
  }

  @inline(never)
  private static func isValid(_ pair: Pair, _ bytes: Span<UInt8>, _ version: STOMPVersion) -> Bool {
    HeaderText.isValid(bytes.extracting(pair.name.range), version, isName: true)
      && HeaderText.isValid(bytes.extracting(pair.value.range), version, isName: false)
  }
}

/// Texts of the application that become names and values of headers.
public enum HeaderText {
  /// Whether every version may have it as it is: it is ASCII without controls, colons and backslashes. That it is not says
  /// nothing.
  @inline(__always)
  public static func isPlain(_ text: Span<UInt8>) -> Bool {
    if ByteVector.isSupported, text.count >= ByteVector.size {
      return !ByteVector.anyByte(of: text) { bytes in
        // What is not ASCII is below zero.
        bytes .< ByteVector.repeated(0x20) .| bytes .== ByteVector.repeated(UInt8(ascii: ":"))
          .| bytes .== ByteVector.repeated(UInt8(ascii: "\\"))
      }
    }
    return !Word.anyWord(of: text) { word in
      // A word has the highest bit of a byte set if a subtraction has borrowed for it, or for one below it.
      Word.nonASCII(
        word | (word &- Word.repeated(0x20)) | ((word ^ Word.repeated(UInt8(ascii: ":"))) &- Word.repeated(1))
          | ((word ^ Word.repeated(UInt8(ascii: "\\"))) &- Word.repeated(1)))
    }
  }

  /// The same, as a function.
  @inline(never)
  @_optimize(speed)
  public static func isPlainText(_ text: Span<UInt8>) -> Bool { isPlain(text) }

  public static func isValid(_ text: Span<UInt8>, _ version: STOMPVersion, isName: Bool) -> Bool {
    let isStrange = Word.anyWord(of: text) { Word.nonASCII($0) | Word.containsZero($0) }
    if isStrange, !WellFormedUTF8.matches(text, allowsNull: false) { return false }
    // A carriage return at the end of a line is part of it for some servers, whatever the version says.
    if !version.hasCarriageReturns, has(carriageReturn, text) { return false }
    guard !version.hasEscapes else { return true }
    return !has(lineFeed, text) && !(isName && has(UInt8(ascii: ":"), text))
  }

  private static func has(_ byte: UInt8, _ text: Span<UInt8>) -> Bool {
    ByteSearch.firstIndex(of: byte, in: text, from: 0) < text.count
  }
}
