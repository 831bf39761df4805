import Storage

/// The rules for UTF-8 Encoded Strings (§1.5.4).
public enum UTF8EncodedString {
  public static var maximumSize: Int { 65_535 }

  /// Returns whether bytes are well-formed UTF-8 without surrogates and U+0000 [MQTT-1.5.4-1]
  /// [MQTT-1.5.4-2]. The length is not checked, because on the wire it can't be too large.
  @inline(never)  // off the hot path
  public static func isValid(_ bytes: Span<UInt8>) -> Bool {
    // Nearly all strings are plain ASCII.
    let isStrange = Word.anyWord(of: bytes) { word in Word.nonASCII(word) | Word.contains(0, in: word) }
    return !isStrange || isWellFormed(bytes)
  }

  /// The same for a text that is known not to be plain ASCII.
  static func isWellFormed(_ bytes: Span<UInt8>) -> Bool { WellFormedUTF8.matches(bytes, allowsNull: false) }
}
