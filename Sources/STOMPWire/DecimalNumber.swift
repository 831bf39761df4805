/// Numbers in headers: digits alone.
public enum DecimalNumber {
  /// `nil`: it is no number, or larger.
  public static func parse(_ text: Span<UInt8>, most: Int) -> Int? {
    guard text.count > 0 else { return nil }
    var value = 0
    for index in 0..<text.count {
      let digit = Int(text[index]) &- 48
      guard 0...9 ~= digit, value <= (most &- digit) / 10 else { return nil }
      value = value &* 10 &+ digit
    }
    return value
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
