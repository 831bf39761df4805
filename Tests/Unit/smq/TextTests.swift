import Testing

@testable import smq

/// What a person would read.
func string(_ text: Text) -> String { String(decoding: text.bytes, as: UTF8.self) }
func string(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

@Suite struct TextTests {
  @Test func whatIsInterpolated() {
    let text: Text = "\(bytes("a")), \(-7), \(UInt32.max), \(Text([98]))"
    #expect(string(text) == "a, -7, 4294967295, b")
  }

  @Test(arguments: [(0, "0"), (7, "7"), (-1, "-1"), (Int64.min, "-9223372036854775808")])
  func decimalDigits(_ number: Int64, _ expected: String) {
    #expect(string(decimal(number)) == expected)
  }

  @Test func zerosInFront() {
    #expect(string(decimal(42, digits: 5)) == "00042")
    #expect(string(decimal(123_456, digits: 5)) == "123456")
  }

  @Test(arguments: [
    (1_234, 3, "1.234"), (1_234, 2, "1.23"), (1_235, 2, "1.24"), (1_250, 1, "1.3"), (949, 1, "0.9"),
    (950, 1, "1.0"),
    (5, 3, "0.005"), (0, 1, "0.0"),
  ])
  func fractionsAreRounded(_ thousandths: Int64, _ places: Int, _ expected: String) {
    #expect(string(fraction(thousandths: thousandths, places: places)) == expected)
  }

  @Test(arguments: [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")])
  func groups(_ number: Int64, _ expected: String) {
    #expect(string(grouped(number)) == expected)
  }

  @Test(
    arguments: [
      ("0", 0), ("-5", -5), ("+9", 9), ("007", 7), ("-9", nil), ("10", nil), ("", nil), ("-", nil),
      ("1 ", nil),
      ("0x1", nil), ("9999999999999999999", nil),
    ] as [(String, Int64?)])
  func wholeNumbersInARange(_ text: String, _ expected: Int64?) {
    #expect(bytes(text).number(in: -5...9) == expected)
  }

  @Test func hexadecimalDigits() {
    let values = (0...255).compactMap { hexadecimalValue($0).map(Int.init) }
    #expect(values == Array(0...9) + Array(10...15) + Array(10...15))
  }

  @Test func beginnings() {
    #expect(bytes("--url").begins(with: "--"))
    #expect(bytes("-").begins(with: "-") && bytes("").begins(with: ""))
    #expect(!bytes("-").begins(with: "--"))
    #expect(string(bytes("aZ[@É").lowercased) == "az[@É")
  }
}
