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
}
