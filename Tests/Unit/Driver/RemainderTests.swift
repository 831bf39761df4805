import Testing

@testable import Driver

@Suite("The remainder of a division")
struct RemainderTests {
  @Test("It is that of the operator, at the ends of the range and in between")
  func isThatOfTheOperator() {
    let numbers: [UInt32] = [0, 1, 2, 3, 7, 999, 1000, 86_400_000, 0x7FFF_FFFF, 0x8000_0000, .max - 1, .max]
    for number in numbers {
      for divisor in numbers where divisor > 0 { #expect(number.remainder(by: divisor) == number % divisor) }
    }
  }
}
