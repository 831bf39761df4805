/// Numbers in headers: digits alone.
public enum DecimalNumber {
  /// `nil`: it is no number, or larger.
  @_optimize(speed)
  public static func parse(_ text: Span<UInt8>, most: Int) -> Int? {
    guard text.count > 0 else { return nil }
    // So many digits have room in 32 bits, and most numbers have no more.
    guard text.count > 9 else { return parseShort(text, most: most) }
    var value = 0
    for index in 0..<text.count {
      let digit = Int(text[index]) &- 48
      guard 0...9 ~= digit, value <= (most &- digit) / 10 else { return nil }
      value = value &* 10 &+ digit
    }
    return value
  }

  @inline(__always)
  private static func parseShort(_ text: Span<UInt8>, most: Int) -> Int? {
    var value = 0
    for index in 0..<text.count {
      let digit = text[index] &- UInt8(ascii: "0")
      guard digit <= 9 else { return nil }
      value = value &* 10 &+ Int(digit)
    }
    return value <= most ? value : nil
  }

  /// A number of 32 bits.
  public static func parse32(_ text: Span<UInt8>) -> UInt32? {
    guard text.count > 0, text.count <= 10 else { return nil }
    var value: UInt32 = 0
    for index in 0..<text.count {
      let digit = UInt32(text[index] &- 48)
      guard digit <= 9, value < 429_496_729 || value == 429_496_729 && digit <= 5 else { return nil }
      value = value &* 10 &+ digit
    }
    return value
  }
}
