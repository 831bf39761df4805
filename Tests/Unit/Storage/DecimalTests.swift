import Storage
import TestSupport
import Testing

@Suite struct DecimalTests {
  @Test(arguments: [
    0, 1, 9, 10, 99, 100, 65_535, 65_536, 655_359, 655_360, UInt64(UInt32.max), UInt64(UInt32.max) + 1,
    281_474_976_710_655, 281_474_976_710_656, 9_999_999_999_999_999_999, 10_000_000_000_000_000_000,
    UInt64.max,
  ])
  func numbersOfAllSizes(_ value: UInt64) {
    let counter = Counter(value: value)
    var text = [UInt8](repeating: 0, count: Decimal.size(counter))
    var span = text.mutableSpan
    Decimal.write(counter, into: &span)
    #expect(String(decoding: text, as: UTF8.self) == "\(value)")
  }

  @Test func randomNumbers() {
    var random = SeededRandom(seed: 7)
    for _ in 0..<10_000 {
      let value =
        UInt64.random(in: 0...UInt64.max, using: &random) >> UInt64.random(in: 0..<64, using: &random)
      let counter = Counter(value: value)
      var text = [UInt8](repeating: 0, count: Decimal.size(counter))
      var span = text.mutableSpan
      Decimal.write(counter, into: &span)
      #expect(String(decoding: text, as: UTF8.self) == "\(value)")
    }
  }
}
