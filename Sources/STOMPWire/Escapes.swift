import Storage

/// What stands for the bytes that a header may not have ("Value Encoding").
public enum Escapes {
  static var backslash: UInt8 { UInt8(ascii: "\\") }

  /// The letter that follows a backslash in place of this byte; 0: the byte stands for itself.
  @inline(__always)
  static func letter(for byte: UInt8, _ version: STOMPVersion) -> UInt8 {
    switch byte {
    case lineFeed: UInt8(ascii: "n")
    case UInt8(ascii: ":"): UInt8(ascii: "c")
    case backslash: backslash
    case carriageReturn: version.hasCarriageReturns ? UInt8(ascii: "r") : 0
    default: 0
    }
  }

  /// What a letter behind a backslash stands for; `nil`: it is undefined.
  static func byte(for letter: UInt8, _ version: STOMPVersion) -> UInt8? {
    switch letter {
    case UInt8(ascii: "n"): lineFeed
    case UInt8(ascii: "c"): UInt8(ascii: ":")
    case backslash: backslash
    case UInt8(ascii: "r"): version.hasCarriageReturns ? carriageReturn : nil
    default: nil
    }
  }

  /// Returns whether there are any. Throws if one is undefined, which "MUST be treated as a fatal protocol error".
  static func check(_ text: Span<UInt8>, _ version: STOMPVersion) throws(MalformedFrame) -> Bool {
    var found = false
    var index = 0
    while index < text.count {
      index = ByteSearch.firstIndex(of: backslash, in: text, from: index)
      guard index < text.count else { return found }
      guard index &+ 1 < text.count, byte(for: text[index &+ 1], version) != nil else { throw .escape }
      found = true
      index &+= 2
    }
    return found
  }

  /// How many bytes the text has with escapes.
  public static func size(_ text: Span<UInt8>, _ version: STOMPVersion) -> Int {
    guard version.hasEscapes, needsEscapes(text) else { return text.count }
    var size = text.count
    for index in 0..<text.count where letter(for: text[index], version) != 0 { size &+= 1 }
    return size
  }

  /// False: no byte of the text has to be escaped in any version.
  @inline(__always)
  static func needsEscapes(_ text: Span<UInt8>) -> Bool {
    Word.anyWord(of: text) {
      Word.contains(UInt8(ascii: ":"), in: $0) | Word.contains(backslash, in: $0)
        | Word.contains(lineFeed, in: $0) | Word.contains(carriageReturn, in: $0)
    }
  }
}
