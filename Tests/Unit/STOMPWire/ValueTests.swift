import Storage
import TestSupport
import Testing

@testable import STOMPWire

@Suite struct ValueTests {
  @Test(arguments: [
    ("1.0", STOMPVersion.v10), ("1.1", .v11), ("1.2", .v12), ("1.3", nil), ("2.0", nil), ("1.", nil),
    ("", nil),
    ("1.10", nil), ("1,1", nil), ("1./", nil),
  ])
  func versions(_ text: String, _ version: STOMPVersion?) {
    #expect(STOMPVersion(Array(text.utf8).span) == version)
  }

  @Test(arguments: [
    ("0,0", HeartBeat.none), ("10000,0", HeartBeat(sends: 10_000, wants: 0)),
    ("2147483647,1", HeartBeat(sends: 0x7FFF_FFFF, wants: 1)), ("2147483648,1", nil), ("1", nil), ("1,", nil),
    (",1", nil),
    ("1,2,3", nil), ("1, 2", nil), ("-1,0", nil), ("", nil),
  ])
  func heartBeats(_ text: String, _ expected: HeartBeat?) {
    #expect((try? HeartBeat(parsing: Array(text.utf8).span)) == expected)
  }

  /// "MAX(<cx>,<sy>)", and none if one of the two is 0.
  @Test func theAgreement() {
    let client = HeartBeat(sends: 100, wants: 200)
    #expect(client.agreed(with: HeartBeat(sends: 300, wants: 50)) == 100)
    #expect(HeartBeat(sends: 300, wants: 50).agreed(with: client) == 300)
    #expect(client.agreed(with: .none) == 0 && HeartBeat.none.agreed(with: client) == 0)
  }

  @Test(arguments: [STOMPVersion.v10, .v11, .v12])
  func escapesAreUndone(_ version: STOMPVersion) throws {
    var random = SeededRandom(seed: 4)
    let letters = Array("ab:\\\n\r ä".utf8)
    for _ in 0..<5000 {
      let text = (0..<Int.random(in: 0...40, using: &random)).map { _ in
        letters.randomElement(using: &random)!
      }
      var escaped: [UInt8] = []
      for byte in text {
        let letter = version.hasEscapes ? Escapes.letter(for: byte, version) : 0
        escaped += letter == 0 ? [byte] : [92, letter]
      }
      #expect(Escapes.size(text.span, version) == escaped.count)
      guard version.hasEscapes, String(validating: text, as: UTF8.self) != nil else { continue }
      let frame = ParsedFrame(
        Array("RECEIPT\nreceipt-id:1\nmessage:".utf8) + escaped + Array("\nx:\n\n\0".utf8), version)
      let value = String(decoding: text, as: UTF8.self)
      #expect(frame.undone?.headers == [["receipt-id", "1"], ["message", value], ["x", ""]])
      #expect(frame.undone?.known == ["", "", "", value])
      do { #expect(try Escapes.check(escaped.span, version) == (escaped != text)) }
    }
  }

  @Test(arguments: [
    ("0", 0), ("007", 7), ("100", 100), ("101", nil), ("1000", nil), ("", nil), ("1a", nil), ("/", nil),
  ])
  func numbers(_ text: String, _ expected: Int?) {
    #expect(DecimalNumber.parse(Array(text.utf8).span, most: 100) == expected)
  }

  /// Nine digits and fewer are read another way than more.
  @Test(arguments: [
    ("99999999", 99_999_999), ("999999999", 999_999_999), ("1000000000", 1_000_000_000),
    ("2147483647", 2_147_483_647), ("2147483648", nil), ("000000000", 0), ("00000000000000000007", 7),
    ("99999999a", nil), ("999999999a", nil), ("a99999999", nil), ("4294967296", nil),
  ])
  func numbersOfManyDigits(_ text: String, _ expected: Int?) {
    #expect(DecimalNumber.parse(Array(text.utf8).span, most: 0x7FFF_FFFF) == expected)
  }

  @Test(
    arguments: [
      ("0", 0), ("0000000001", 1), ("4294967295", .max), ("4294967296", nil), ("4294967300", nil),
      ("9999999999", nil),
      ("00000000001", nil), ("", nil), ("1a", nil), ("-1", nil),
    ] as [(String, UInt32?)])
  func numbersOf32Bits(_ text: String, _ expected: UInt32?) {
    #expect(DecimalNumber.parse32(Array(text.utf8).span) == expected)
  }
}
