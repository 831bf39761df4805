public enum WellFormedUTF8 {
  /// Table 3-7 of the Unicode Standard: which second bytes may follow a lead byte; every byte after
  /// that is 80…BF. U+0000 is well-formed, and MQTT forbids it.
  @inline(never)
  public static func matches(_ bytes: Span<UInt8>, allowsNull: Bool) -> Bool {
    var index = 0
    while index < bytes.count {
      let lead = bytes[index]
      index += 1
      let following: Int
      let second: ClosedRange<UInt8>
      switch lead {
      case 0x00 where !allowsNull: return false
      case 0x00...0x7F: continue
      case 0xC2...0xDF: (following, second) = (1, 0x80...0xBF)
      case 0xE0: (following, second) = (2, 0xA0...0xBF)
      case 0xED: (following, second) = (2, 0x80...0x9F)
      case 0xE1...0xEF: (following, second) = (2, 0x80...0xBF)
      case 0xF0: (following, second) = (3, 0x90...0xBF)
      case 0xF1...0xF3: (following, second) = (3, 0x80...0xBF)
      case 0xF4: (following, second) = (3, 0x80...0x8F)
      default: return false
      }
      guard bytes.count - index >= following, second ~= bytes[index] else { return false }
      for next in index + 1..<index + following where bytes[next] & 0xC0 != 0x80 { return false }
      index += following
    }
    return true
  }
}
