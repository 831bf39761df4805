import MQTTWire
import TestSupport
import Testing

@Suite struct FixedHeaderTests {
  /// §2.1.2, §2.1.3 Table 2-2: every first byte.
  @Test(arguments: [ProtocolVersion.v3_1_1, .v5_0])
  func everyFirstByte(version: ProtocolVersion) throws {
    for first in UInt8.min ... .max {
      let (type, flags) = (first >> 4, first & 0x0F)
      if type == 15 && version == .v3_1_1 { continue }
      let packet = [first, 0]
      let required: UInt8 = [6, 8, 10].contains(type) ? 0b0010 : 0
      if type == 0 {
        #expect(throws: Malformed.packetType) { try FixedHeader(parsing: packet.span, version: version) }
      } else if type != 3 && flags != required {
        #expect(throws: Malformed.reservedFlags) { try FixedHeader(parsing: packet.span, version: version) }
      } else {
        let header = try #require(try FixedHeader(parsing: packet.span, version: version))
        #expect(header.type.rawValue == type)
        #expect(header.flags == flags)
        #expect(header.size == 2 && header.remainingLength == 0 && header.packetSize == 2)
      }
    }
  }

  /// 3.1.1 §2.2.1 Table 2.1: 15 is reserved, forbidden. AUTH came with 5.0.
  @Test func noAuthIn311() {
    #expect(throws: Malformed.packetType) { try FixedHeader(parsing: [0xF0, 0].span, version: .v3_1_1) }
  }

  /// A wrong first byte needs no second to be refused.
  @Test func refusesAtOnce() {
    #expect(throws: Malformed.packetType) { try FixedHeader(parsing: [0x0F].span, version: .v5_0) }
    #expect(throws: Malformed.reservedFlags) { try FixedHeader(parsing: [0x21].span, version: .v5_0) }
  }
}
