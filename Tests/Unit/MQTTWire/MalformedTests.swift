import MQTTWire
import TestSupport
import Testing

/// A packet that must be refused, and why.
struct Refused: Sendable, CustomTestStringConvertible {
  let statement: String
  let versions: [ProtocolVersion]
  let packet: [UInt8]
  let fault: Malformed

  init(_ statement: String, _ versions: [ProtocolVersion], _ packet: String, _ fault: Malformed) {
    self.statement = statement
    self.versions = versions
    self.packet = hex(packet)
    self.fault = fault
  }

  var testDescription: String { statement }
}

private let only311: [ProtocolVersion] = [.v3_1_1]
private let only5: [ProtocolVersion] = [.v5_0]
private let only31: [ProtocolVersion] = [.v3_1]
private let before5: [ProtocolVersion] = [.v3_1, .v3_1_1]
private let both: [ProtocolVersion] = [.v3_1_1, .v5_0]
private let all = ProtocolVersion.all

@Suite struct MalformedTests {
  static let refused: [Refused] = [
    // The Fixed Header.
    Refused("§2.1.2: type 0 is forbidden", all, "00 00", .packetType),
    Refused("[MQTT-2.1.3-1]: reserved flags of PUBREL", both, "60 02 00 0A", .reservedFlags),
    Refused("[MQTT-2.1.3-1]: reserved flags of PUBACK", both, "42 02 00 0A", .reservedFlags),
    Refused("[MQTT-3.14.1-1]: reserved flags of DISCONNECT", both, "E1 00", .reservedFlags),
    Refused("§2.1.4: five bytes of Remaining Length", all, "30 FF FF FF FF 01", .remainingLength),
    Refused("§2.1.4: four bytes that go on", all, "30 80 80 80 80", .remainingLength),
    Refused("[MQTT-1.5.5-1]: 0 in two bytes", only5, "D0 80 00", .remainingLength),
    Refused("[MQTT-1.5.5-1]: 2 in four bytes", only5, "40 82 80 80 00 00 0A", .remainingLength),

    // PUBLISH.
    Refused("[MQTT-3.3.1-4]: QoS 3", all, "36 09 00 03 61 2F 62 00 0A 00 68", .qos),
    Refused("[MQTT-3.3.1-2]: DUP with QoS 0", all, "38 08 00 03 61 2F 62 00 68 69", .duplicateFlag),
    Refused(
      "[MQTT-2.2.1-3]: Packet Identifier 0, QoS 1", all, "32 08 00 03 61 2F 62 00 00 00", .packetIdentifier),
    Refused(
      "[MQTT-2.2.1-3]: Packet Identifier 0, QoS 2", all, "34 08 00 03 61 2F 62 00 00 00", .packetIdentifier),
    Refused("[MQTT-3.3.2-1]: no topic", all, "30 00", .truncated),
    Refused("[MQTT-3.3.2-1]: half a topic length", all, "30 01 00", .truncated),
    Refused("[MQTT-3.3.2-1]: topic beyond the packet", all, "30 04 00 03 61 62", .truncated),
    Refused("§3.3.2.2: no Packet Identifier", all, "32 05 00 03 61 2F 62", .truncated),
    Refused("§3.3.2.2: half a Packet Identifier", all, "32 06 00 03 61 2F 62 00", .truncated),
    Refused("[MQTT-2.2.2-1]: no Property Length", only5, "30 05 00 03 61 2F 62", .truncated),
    Refused("§3.3.2.3.1: properties beyond the packet", only5, "30 07 00 03 61 2F 62 02 01", .truncated),
    Refused(
      "§3.3.2.3.1: a value beyond the properties", only5, "30 0A 00 03 61 2F 62 02 23 00 05 68", .truncated),
    Refused("[MQTT-4.7.3-1]: empty topic", before5, "30 04 00 00 68 69", .emptyTopic),
    Refused("§3.3.2.1: empty topic without alias", only5, "30 05 00 00 00 68 69", .emptyTopic),
    Refused("§3.3.2.1: empty topic, other properties", only5, "30 07 00 00 02 01 01 68 69", .emptyTopic),
    Refused("[MQTT-3.3.2-2]: topic +", all, "30 04 00 01 2B 00", .topicName),
    Refused("[MQTT-3.3.2-2]: topic #", all, "30 04 00 01 23 00", .topicName),
    Refused("[MQTT-3.3.2-2]: topic a/+/b", all, "30 08 00 05 61 2F 2B 2F 62 00", .topicName),
    Refused("[MQTT-3.3.2-2]: topic a#", all, "30 05 00 02 61 23 00", .topicName),
    Refused("[MQTT-3.3.2-2]: topic # with an alias", only5, "30 07 00 01 23 03 23 00 05", .topicName),
    Refused("[MQTT-1.5.4-1]: before the wildcard", all, "30 05 00 02 2B FF 00", .utf8),

    // The four acknowledgements.
    Refused("[MQTT-2.2.1-5]: PUBACK of 0", all, "40 02 00 00", .packetIdentifier),
    Refused("[MQTT-2.2.1-5]: PUBREC of 0", all, "50 02 00 00", .packetIdentifier),
    Refused("[MQTT-2.2.1-5]: PUBREL of 0", all, "62 02 00 00", .packetIdentifier),
    Refused("[MQTT-2.2.1-5]: PUBCOMP of 0", all, "70 02 00 00", .packetIdentifier),
    Refused("§3.4.2: no Packet Identifier", all, "40 00", .truncated),
    Refused("§3.4.2: half a Packet Identifier", all, "40 01 0A", .truncated),
    Refused("§3.4: PUBACK of three bytes", before5, "40 03 00 0A 00", .trailingBytes),
    Refused("§3.7: PUBCOMP of four bytes", before5, "70 04 00 0A 00 00", .trailingBytes),
    Refused("§3.4.2.2: bytes behind the properties", only5, "40 05 00 0A 00 00 00", .trailingBytes),
    Refused("§3.4.2.2.1: properties beyond the packet", only5, "40 04 00 0A 00 01", .truncated),
    Refused("[MQTT-3.4.2-1]: PUBACK with PUBREL's code", only5, "40 03 00 0A 92", .reasonCode),
    Refused("[MQTT-3.6.2-1]: PUBREL with PUBACK's code", only5, "62 03 00 0A 80", .reasonCode),

    // CONNACK.
    Refused("§3.2.2: nothing", all, "20 00", .truncated),
    Refused("§3.2.2: flags and nothing else", all, "20 01 00", .truncated),
    Refused("§3.2.2.3.1: no Property Length", only5, "20 02 00 00", .truncated),
    Refused("§3.2: three bytes", only311, "20 03 00 00 00", .trailingBytes),
    Refused("§3.2.2.3: bytes behind the properties", only5, "20 04 00 00 00 00", .trailingBytes),
    Refused("§3.2.2.3.1: properties beyond the packet", only5, "20 04 00 00 02 25", .truncated),
    Refused("[MQTT-3.2.2-4]: Session Present with a refusal", only311, "20 02 01 05", .sessionPresent),
    Refused("[MQTT-3.2.2-6]: Session Present with a refusal", only5, "20 03 01 87 00", .sessionPresent),
    Refused("Table 3.1: return code 6 is reserved", only311, "20 02 00 06", .reasonCode),
    Refused("[MQTT-3.2.2-8]: Granted QoS 1 is no CONNACK code", only5, "20 03 00 01 00", .reasonCode),
    Refused(
      "[MQTT-1.5.5-1]: Property Length 0 in two bytes", only5, "20 04 00 00 80 00", .variableByteInteger),
    Refused(
      "§1.5.5: Property Length in five bytes", only5, "20 07 00 00 FF FF FF FF 01", .variableByteInteger),

    Refused("3.1 §3.2: return code 6 is reserved", only31, "20 02 00 06", .reasonCode),
    Refused("3.1 §3.2: three bytes", only31, "20 03 00 00 00", .trailingBytes),

    // SUBACK.
    Refused("[MQTT-2.1.3-1]: reserved flags of SUBACK", both, "92 03 00 0A 00", .reservedFlags),
    Refused("§3.9.2: nothing", all, "90 00", .truncated),
    Refused("§3.9.2: half a Packet Identifier", all, "90 01 00", .truncated),
    Refused("§3.9.2: Packet Identifier 0", before5, "90 03 00 00 00", .packetIdentifier),
    Refused("§3.9.2: Packet Identifier 0", only5, "90 04 00 00 00 00", .packetIdentifier),
    Refused("§3.9.3: no return code", before5, "90 02 00 0A", .truncated),
    Refused("§3.9.2.1.1: no Property Length", only5, "90 02 00 0A", .truncated),
    Refused("§3.9.3: no Reason Code", only5, "90 03 00 0A 00", .truncated),
    Refused("§3.9.3: nothing behind the properties", only5, "90 05 00 0A 02 01 00", .propertyNotAllowed),
    Refused("§3.9.2.1.1: properties beyond the packet", only5, "90 04 00 0A 02 1F", .truncated),
    Refused("[MQTT-3.9.3-2]: return code 3 is reserved", before5, "90 03 00 0A 03", .reasonCode),
    Refused("[MQTT-3.9.3-2]: return code 0x81 is reserved", before5, "90 03 00 0A 81", .reasonCode),
    Refused("[MQTT-3.9.3-2]: 5.0's Not authorized", before5, "90 03 00 0A 87", .reasonCode),
    Refused("Table 3-8: the second of three", all, "90 05 00 0A 00 03 00", .reasonCode),
    Refused("Table 3-8: UNSUBACK's No subscription existed", only5, "90 04 00 0A 00 11", .reasonCode),
    Refused(
      "§3.9.2.1.2: Reason String twice", only5, "90 0A 00 0A 06 1F 00 00 1F 00 00 00", .propertyRepeated),
    Refused("§3.9.2.1: Subscription Identifier", only5, "90 06 00 0A 02 0B 01 00", .propertyNotAllowed),

    // UNSUBACK.
    Refused("[MQTT-2.1.3-1]: reserved flags of UNSUBACK", both, "B2 02 00 0A", .reservedFlags),
    Refused("§3.11.2: nothing", all, "B0 00", .truncated),
    Refused("§3.11.2: half a Packet Identifier", all, "B0 01 0A", .truncated),
    Refused("§3.11.2: Packet Identifier 0", before5, "B0 02 00 00", .packetIdentifier),
    Refused("§3.11.2: Packet Identifier 0", only5, "B0 04 00 00 00 00", .packetIdentifier),
    Refused("§3.11.3: it has no payload", before5, "B0 03 00 0A 00", .trailingBytes),
    Refused("§3.11.2.1.1: no Property Length", only5, "B0 02 00 0A", .truncated),
    Refused("§3.11.3: no Reason Code", only5, "B0 03 00 0A 00", .truncated),
    Refused("Table 3-9: SUBACK's Granted QoS 1", only5, "B0 04 00 0A 00 01", .reasonCode),
    Refused("Table 3-9: SUBACK's Quota exceeded", only5, "B0 04 00 0A 00 97", .reasonCode),
    Refused("Table 3-9: the last of two", only5, "B0 05 00 0A 00 00 FF", .reasonCode),
    Refused(
      "§3.11.2.1.2: Reason String twice", only5, "B0 0A 00 0A 06 1F 00 00 1F 00 00 00", .propertyRepeated),

    // AUTH.
    Refused("3.1.1 Table 2.1: type 15 is reserved", before5, "F0 00", .packetType),
    Refused("[MQTT-3.15.1-1]: reserved flags of AUTH", only5, "F1 00", .reservedFlags),
    Refused("[MQTT-3.15.2-1]: 0x19 is the client's", only5, "F0 06 19 04 15 00 01 6D", .reasonCode),
    Refused("[MQTT-3.15.2-1]: 0x19 and nothing else", only5, "F0 01 19", .reasonCode),
    Refused("[MQTT-3.15.2-1]: no code of AUTH", only5, "F0 06 87 04 15 00 01 6D", .reasonCode),
    Refused("§3.15.2.1: 0x18 without Property Length", only5, "F0 01 18", .truncated),
    Refused("§3.15.2.1: one left out without the other", only5, "F0 01 00", .truncated),
    Refused("§3.15.2.2.2: no Authentication Method", only5, "F0 02 18 00", .authenticationMethod),
    Refused("§3.15.2.2.2: Success, no method", only5, "F0 02 00 00", .authenticationMethod),
    Refused("§3.15.2.2.2: data, no method", only5, "F0 06 18 04 16 00 01 6D", .authenticationMethod),
    Refused(
      "§3.15.2.2.2: two methods", only5, "F0 0A 18 08 15 00 01 6D 15 00 01 6D", .propertyRepeated),
    Refused(
      "§3.15.2.2.3: data twice", only5, "F0 0C 18 0A 15 00 01 6D 16 00 00 16 00 00", .propertyRepeated),
    Refused("§3.15.2.2.1: properties beyond the packet", only5, "F0 05 18 04 15 00 01", .truncated),
    Refused("§3.15.3: it has no payload", only5, "F0 07 18 04 15 00 01 6D 00", .trailingBytes),

    // What only clients send (Table 2-1).
    Refused("Table 2-1: CONNECT", all, "10 00", .packetType),
    Refused("Table 2-1: SUBSCRIBE", all, "82 06 00 0A 00 01 61 00", .packetType),
    Refused("Table 2-1: UNSUBSCRIBE", all, "A2 05 00 0A 00 01 61", .packetType),
    Refused("Table 2-1: PINGREQ", all, "C0 00", .packetType),
    Refused("3.1.1 Table 2.1: DISCONNECT", before5, "E0 00", .packetType),

    // PINGRESP and DISCONNECT.
    Refused("§3.13.2: PINGRESP with a body", all, "D0 01 00", .trailingBytes),
    Refused("§3.14.2.2: bytes behind the properties", only5, "E0 03 00 00 00", .trailingBytes),
    Refused("§3.14.2.2.1: properties beyond the packet", only5, "E0 02 00 01", .truncated),
    Refused("[MQTT-3.14.2-1]: 0x04 is the client's", only5, "E0 01 04", .reasonCode),
    Refused(
      "[MQTT-3.14.2-2]: Session Expiry from a server", only5, "E0 07 00 05 11 00 00 00 01",
      .propertyNotAllowed),
    Refused("[MQTT-3.14.2-2]: though it be 0", only5, "E0 07 00 05 11 00 00 00 00", .propertyNotAllowed),
  ]

  @Test(arguments: refused)
  func isRefused(_ refused: Refused) {
    for version in refused.versions {
      #expect(throws: refused.fault, "\(version)") { try Received(packet: refused.packet, version: version) }
    }
  }

  /// [MQTT-3.2.2-1]: bits 7 to 1 are reserved.
  @Test func reservedConnectAcknowledgeFlags() {
    for flags in UInt8(2) ... .max {
      #expect(throws: Malformed.connectAcknowledgeFlags) {
        try Received(packet: [0x20, 2, flags, 0], version: .v3_1_1)
      }
      #expect(throws: Malformed.connectAcknowledgeFlags) {
        try Received(packet: [0x20, 3, flags, 0, 0], version: .v5_0)
      }
    }
  }

  /// 3.1 §2.1, §3.4 to §3.13: "not used" are DUP, QoS and RETAIN in whatever a server sends but PUBLISH; DUP in
  /// PUBREL says that it is sent again.
  @Test(arguments: [
    "20 02 00 00", "40 02 00 0A", "50 02 00 0A", "60 02 00 0A", "70 02 00 0A", "90 03 00 0A 00",
    "B0 02 00 0A", "D0 00",
  ])
  func unusedFlagsOf31(packet: String) throws {
    for flags in UInt8(0)...15 {
      var packet = hex(packet)
      let required = packet[0] == 0x60 ? 2 : 0
      packet[0] |= flags
      #expect(try Received(packet: packet, version: .v3_1) != nil)
      for version in both where flags != required {
        #expect(throws: Malformed.reservedFlags) { try Received(packet: packet, version: version) }
      }
    }
  }

  /// 3.1.1 has no [MQTT-1.5.5-1]: a Remaining Length may be longer than needed.
  @Test(arguments: ["D0 80 00", "D0 80 80 80 00", "40 82 00 00 0A", "20 82 80 80 00 00 00"])
  func longRemainingLengthIn311(packet: String) throws {
    #expect(try Received(packet: hex(packet), version: .v3_1_1) != nil)
  }

  /// [MQTT-3.3.2-14]: the Response Topic must not contain wildcard characters.
  @Test(arguments: ["+", "#", "r/+", "r/#"])
  func wildcardInResponseTopic(topic: String) {
    let property = [0x08, 0, UInt8(topic.utf8.count)] + topic.bytes
    let body = [0, 1, 0x61, UInt8(property.count)] + property
    #expect(throws: Malformed.self) {
      try ReceivedPublish(parsing: body.span, flags: 0, version: .v5_0)
    }
  }

  /// §4.13.1 and the sections of the faults say which is a Protocol Error; the rest is a Malformed Packet.
  @Test(arguments: [
    ("§2.2.2.2: included more than once", "20 07 00 00 04 25 01 25 01", ReasonCode.protocolError),
    ("§3.2.2.3.3: Receive Maximum 0", "20 06 00 00 03 21 00 00", .protocolError),
    ("§3.3.2.1: empty topic without alias", "30 03 00 00 00", .protocolError),
    ("§2.2.2.2: not valid for its packet type", "40 07 00 0A 00 03 21 00 01", .malformedPacket),
    ("§3.3.1.2: QoS 3", "36 06 00 01 61 00 0A 00", .malformedPacket),
    ("[MQTT-2.1.3-1]: reserved flags", "42 02 00 0A", .malformedPacket),
    ("§3.15.2.2.2: no Authentication Method", "F0 02 18 00", .protocolError),
    ("§3.15.2.2.2: two methods", "F0 0A 18 08 15 00 01 6D 15 00 01 6D", .protocolError),
    ("[MQTT-3.15.1-1]: reserved flags", "F1 00", .malformedPacket),
    ("§3.9.3: no Reason Code", "90 03 00 0A 00", .malformedPacket),
    ("[MQTT-1.5.4-1]: surrogate", "30 06 00 03 ED A0 80 00", .malformedPacket),
  ])
  func answer(statement: String, packet: String, code: ReasonCode) {
    let fault = #expect(throws: Malformed.self) { try Received(packet: hex(packet), version: .v5_0) }
    #expect(fault?.reasonCode == code)
  }
}
