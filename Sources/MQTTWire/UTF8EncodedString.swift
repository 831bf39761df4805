import Storage

/// The rules for UTF-8 Encoded Strings (§1.5.4).
public enum UTF8EncodedString {
  public static var maximumSize: Int { 65_535 }

  /// Returns whether bytes are well-formed UTF-8 without surrogates and U+0000 [MQTT-1.5.4-1]
  /// [MQTT-1.5.4-2]. The length is not checked, because on the wire it can't be too large.
  @inline(never)  // off the hot path
  public static func isValid(_ bytes: Span<UInt8>) -> Bool {
    !Word.anyWord(of: bytes, isStrange: isStrange) || isWellFormed(bytes)
  }

  /// Returns whether a text is ASCII without U+0000, as nearly all are, and of at most two words.
  @inline(__always)
  static func isShort(_ bytes: Span<UInt8>) -> Bool {
    bytes.count <= 2 &* Word.size && !Word.anyOfTwo(bytes, isStrange: isStrange)
  }

  @inline(__always)
  private static func isStrange(_ word: UInt) -> UInt { Word.nonASCII(word) | Word.containsZero(word) }

  /// The same as `isValid` for a text that is known not to be plain.
  static func isWellFormed(_ bytes: Span<UInt8>) -> Bool { WellFormedUTF8.matches(bytes, allowsNull: false) }
}
