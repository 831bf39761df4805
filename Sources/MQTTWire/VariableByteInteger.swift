/// A Variable Byte Integer (§1.5.5): 0 to 268,435,455 in one to four bytes.
public enum VariableByteInteger {
  public static var maximum: Int { 268_435_455 }

  /// Returns how many bytes `value` takes. It must not exceed `maximum`.
  @inline(__always)
  public static func encodedSize(_ value: Int) -> Int {
    value < 128 ? 1 : value < 16_384 ? 2 : value < 2_097_152 ? 3 : 4
  }
}
