import Storage

/// The rules for Topic Names (§4.7).
public enum TopicName {
  public enum Fault: Error {
    case empty  // [MQTT-4.7.3-1]
    case tooLong  // [MQTT-4.7.3-3]
    case wildcard  // [MQTT-3.3.2-2]
    case utf8  // [MQTT-3.3.2-1], [MQTT-4.7.3-2]
  }

  /// Checks a name. One pass over the bytes is enough for most; only a strange one is checked again.
  public static func validate(_ name: Span<UInt8>) throws(Fault) {
    guard name.count > 0 else { throw .empty }
    guard name.count <= UTF8EncodedString.maximumSize else { throw .tooLong }
    if isStrange(name) { try explain(name) }
  }

  @inline(__always)
  public static func isValid(_ name: Span<UInt8>) -> Bool {
    guard name.count > 0, name.count <= UTF8EncodedString.maximumSize else { return false }
    return !isStrange(name) || isExplained(name)
  }

  /// Returns whether there may be a byte that is not ASCII, a zero or a wildcard.
  @inline(__always)
  private static func isStrange(_ name: Span<UInt8>) -> Bool {
    // The two wildcards differ in one bit.
    let bit = UInt8(ascii: "+") ^ UInt8(ascii: "#")
    if ByteVector.isSupported, name.count >= ByteVector.size {
      return ByteVector.anyByte(of: name) { bytes in
        // What is not ASCII is below zero.
        bytes .<= ByteVector.repeated(0)
          .| (bytes | ByteVector.repeated(bit)) .== ByteVector.repeated(UInt8(ascii: "+"))
      }
    }
    return Word.anyWord(of: name) { word in
      Word.nonASCII(word) | Word.containsZero(word)
        | Word.contains(UInt8(ascii: "+"), in: word | Word.repeated(bit))
    }
  }

  @inline(never)
  private static func isExplained(_ name: Span<UInt8>) -> Bool { (try? explain(name)) != nil }

  @inline(never)
  private static func explain(_ name: Span<UInt8>) throws(Fault) {
    guard UTF8EncodedString.isWellFormed(name) else { throw .utf8 }
    for index in 0..<name.count where isWildcard(name[index]) { throw .wildcard }
  }

  @inline(__always)
  private static func isWildcard(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "+") || byte == UInt8(ascii: "#")
  }
}
