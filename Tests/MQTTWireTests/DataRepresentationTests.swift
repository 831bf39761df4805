import MQTTWire
import Storage
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
    var chance = SeededRandom(seed: 2)
    #expect(VariableByteInteger.maximum == 268_435_455)
    for bits in 1...28 {
      for _ in 0..<50 {
        let number = Int.random(in: 0..<1 << bits, using: &chance)
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

@Suite struct ByteReaderTests {
  @Test func readsFrontToBack() throws {
    let bytes = hex("01 02 03 04 05 06 07 00 02 AA BB 00 01 61 EE EF")
    var reader = ByteReader(bytes.span)
    #expect(try reader.byte() == 0x01)
    #expect(try reader.uint16() == 0x0203)
    #expect(try reader.uint32() == 0x0405_0607)
    #expect(try reader.binaryData() == ByteRange(offset: 9, count: 2))
    #expect(try reader.string() == ByteRange(offset: 13, count: 1))
    #expect(reader.position == 14 && !reader.isAtEnd)
    #expect(reader.rest() == ByteRange(offset: 14, count: 2))
    #expect(reader.position == 16 && reader.isAtEnd)
    #expect(reader.rest() == ByteRange(offset: 16, count: 0))
  }

  /// A part of the span: offsets stay those of the whole, and nothing behind it is read.
  @Test func readsAPart() throws {
    let bytes = hex("01 02 03 04 05")
    var reader = ByteReader(bytes.span, in: ByteRange(offset: 1, count: 3))
    #expect(reader.position == 1 && reader.end == 4)
    #expect(throws: Malformed.truncated) { try readUInt32(bytes, in: ByteRange(offset: 1, count: 3)) }
    #expect(try reader.byte() == 0x02)
    #expect(try reader.uint16() == 0x0304)
    #expect(reader.isAtEnd == true)
  }

  private func readUInt32(_ bytes: [UInt8], in extent: ByteRange) throws -> UInt32 {
    var reader = ByteReader(bytes.span, in: extent)
    return try reader.uint32()
  }

  @Test func extentsOutsideAreRefused() {
    for count in [4, 5, Int.max, -1, Int.min] {
      #expect(throws: Malformed.truncated) {
        let bytes: [UInt8] = [1, 2, 3, 4]
        var reader = ByteReader(bytes.span)
        _ = try reader.byte()
        _ = try reader.extent(count)
      }
    }
  }

  @Test func extents() {
    let extent = ByteRange(offset: 3, count: 4)
    #expect(extent.end == 7)
    #expect(extent.range == 3..<7)
    #expect(!extent.isEmpty && ByteRange.empty.isEmpty)
    #expect(extent.shifted(by: 10) == ByteRange(offset: 13, count: 4))
    #expect(extent.shifted(by: -3) == ByteRange(offset: 0, count: 4))
  }
}

@Suite struct ByteWriterTests {
  @Test func writesFrontToBack() {
    let text = "ab".bytes
    let bytes = encoded(14) { writer in
      writer.put(UInt8(1))
      writer.put(UInt16(0x0203))
      writer.put(UInt32(0x0405_0607))
      writer.put(text.span)
      writer.put(prefixed: text.span)
      writer.put(UInt8(0xEE))
    }
    #expect(bytes == hex("01 02 03 04 05 06 07 61 62 00 02 61 62 EE"))
  }

  /// Over the end is a bug of the caller: it traps instead of writing elsewhere.
  @Test func overTheEndTraps() async {
    await #expect(processExitsWith: .failure) {
      _ = encoded(3) { $0.put(UInt32(1)) }
    }
    await #expect(processExitsWith: .failure) {
      _ = encoded(3) { $0.put([1, 2, 3, 4].span) }
    }
  }
}

@Suite struct PacketIdentifierTests {
  private func identifier(_ number: UInt16) throws -> PacketIdentifier {
    try #require(PacketIdentifier(number))
  }

  /// [MQTT-2.2.1-3] ([MQTT-2.3.1-1] in 3.1.1): not 0.
  @Test func everyNumberButZero() {
    #expect(PacketIdentifier(0) == nil)
    #expect((1...65_535).allSatisfy { PacketIdentifier($0)?.rawValue == $0 })
    #expect(PacketIdentifier.first.rawValue == 1)
  }

  /// Once round from several places: each identifier of a message once, as far from the start as there were
  /// steps; those of requests are not on the way.
  @Test(arguments: [1, 2, 3, 32_767, 32_768, 65_022, 65_023, 65_024, 65_025, 65_278, 65_279] as [UInt16])
  func onceRound(number: UInt16) throws {
    let start = try identifier(number)
    let range = number <= 65_023 ? IdentifierRange.messages : .urgent
    #expect(range.contains(start))
    #expect(range.count == (number <= 65_023 ? 65_023 : 256))
    var seen = [Bool](repeating: false, count: 65_536)
    var current = start
    var wrong = 0
    for steps in 0..<range.count {
      if seen[Int(current.rawValue)] || range.distance(from: start, to: current) != steps { wrong += 1 }
      if range.advanced(start, by: steps) != current { wrong += 1 }
      seen[Int(current.rawValue)] = true
      current = range.next(after: current)
    }
    #expect(wrong == 0)
    #expect(current == start)
    #expect(!seen[0])
    for place in 0..<256 {
      let request = PacketIdentifier.subscribe(place)
      #expect(!seen[Int(request.rawValue)])
      #expect(request.subscribeIndex == place)
      #expect(range.distance(from: start, to: request) == .max)
    }
    let other = range.contains(.first) ? IdentifierRange.urgent : .messages
    for bits in 0...65_535 as ClosedRange<UInt16> {
      if !range.contains(range.any(bits)) { wrong += 1 }
      if range.distance(from: start, to: other.any(bits)) != .max { wrong += 1 }
    }
    #expect(wrong == 0)
    #expect(PacketIdentifier.subscribe(0).rawValue == 65_280)
    #expect(PacketIdentifier.subscribe(255).rawValue == 65_535)
  }

  /// Every identifier of a message: to the next it is one step, and back all the others.
  @Test func everyNext() throws {
    var wrong: [UInt16] = []
    let start = PacketIdentifier.first
    let range = IdentifierRange.messages
    for number in 1...65_023 as ClosedRange<UInt16> {
      let current = try #require(PacketIdentifier(number))
      let next = number == 65_023 ? 1 : number + 1
      let following = range.next(after: current)
      if following.rawValue != next || range.distance(from: current, to: following) != 1
        || range.distance(from: following, to: current) != 65_022
        || range.distance(from: current, to: current) != 0
        || current.subscribeIndex != nil || range.advanced(start, by: Int(number) - 1) != current
      {
        wrong.append(number)
      }
    }
    #expect(wrong == [])
  }
}

@Suite struct TopicNameTests {
  private func fault(_ name: [UInt8]) -> TopicName.Fault? {
    do throws(TopicName.Fault) {
      try TopicName.validate(name.span)
      return nil
    } catch {
      return error
    }
  }

  /// §4.7.1, §4.7.3.
  @Test(arguments: [
    "a", "/", "//", "a/b", "/finance", " ", "$SYS/x", "a*b", "\u{B5}", "\u{6C17}/\u{1D11E}", "\u{FEFF}",
  ])
  func good(name: String) {
    #expect(fault(name.bytes) == nil)
  }

  @Test(
    arguments: [
      ("", TopicName.Fault.empty), ("2B", .wildcard), ("23", .wildcard), ("61 2F 2B", .wildcard),
      ("61 2F 23", .wildcard), ("61 2B 62", .wildcard), ("C2 B5 23", .wildcard),
      ("2F 2B 2F C2 B5", .wildcard), ("00", .utf8), ("61 00", .utf8), ("00 61", .utf8), ("80", .utf8),
      ("61 FF", .utf8),
      ("C0 80", .utf8), ("ED A0 80", .utf8), ("F4 90 80 80", .utf8), ("C2", .utf8), ("2B 00", .utf8),
      ("23 80", .utf8),
      ("61*65535", nil), ("61*65536", .tooLong), ("61*65534 2B", .wildcard), ("61*65534 FF", .utf8),
    ] as [(String, TopicName.Fault?)])
  func table(name: String, expected: TopicName.Fault?) {
    #expect(fault(hex(name)) == expected)
  }

  /// One strange byte at each place.
  @Test func oneStrangeByte() {
    for count in 1...40 {
      for place in 0..<count {
        for (byte, expected) in [
          (0x2B, .wildcard), (0x23, .wildcard), (0, .utf8), (0x80, .utf8), (0xFF, .utf8),
        ]
          as [(UInt8, TopicName.Fault)]
        {
          var name = [UInt8](repeating: 0x61, count: count)
          name[place] = byte
          #expect(fault(name) == expected, "\(byte) at \(place) of \(count)")
        }
      }
    }
  }
}
