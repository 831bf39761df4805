import MQTTWire
import TestSupport
import Testing

@Suite struct VariableByteIntegerTests {
  private func bytes(_ value: Int) -> [UInt8] {
    encoded(VariableByteInteger.encodedSize(value)) { $0.put(variableByteInteger: value) }
  }

  private func value(_ bytes: [UInt8]) throws -> Int {
    var reader = ByteReader(bytes.span)
    let value = try reader.variableByteInteger()
    #expect(reader.isAtEnd == true)
    return value
  }

  /// Table 1-1 (3.1.1: Table 2.4), and the example of §1.5.5.
  @Test(arguments: [
    (0, "00"), (1, "01"), (127, "7F"), (128, "80 01"), (321, "C1 02"), (16_383, "FF 7F"),
    (16_384, "80 80 01"),
    (2_097_151, "FF FF 7F"), (2_097_152, "80 80 80 01"), (268_435_455, "FF FF FF 7F"),
  ])
  func boundaries(number: Int, text: String) throws {
    #expect(bytes(number) == hex(text))
    #expect(try value(hex(text)) == number)
    let header = try FixedHeader(parsing: ([0x30] + hex(text)).span, version: .v5_0)
    #expect(header?.remainingLength == number)
    #expect(header?.size == 1 + hex(text).count)
  }

  @Test func roundTrips() throws {
    var random = SeededRandom(seed: 2)
    #expect(VariableByteInteger.maximum == 268_435_455)
    for bits in 1...28 {
      for _ in 0..<50 {
        let number = Int.random(in: 0..<1 << bits, using: &random)
        #expect(try value(bytes(number)) == number)
      }
    }
  }

  /// [MQTT-1.5.5-1].
  @Test(arguments: ["80 00", "FF 00", "80 80 00", "FF FF FF 00", "80 80 80 80", "FF FF FF FF 7F"])
  func tooLong(text: String) {
    #expect(throws: Malformed.variableByteInteger) { try value(hex(text)) }
  }

  @Test(arguments: ["", "80", "FF FF", "FF FF FF"])
  func cutShort(text: String) {
    #expect(throws: Malformed.truncated) { try value(hex(text)) }
  }
}
