import MQTTWire
import TestSupport
import Testing

/// The rules for UTF-8 Encoded Strings (§1.5.4) in every field that a server sends, and their absence in
/// Binary Data.
@Suite struct UTF8FieldTests {
  struct Field: Sendable, CustomTestStringConvertible {
    enum Rule { case topicName, string, binaryData }

    let testDescription: String
    let versions: [ProtocolVersion]
    let rule: Rule
    /// A packet in which the field holds these bytes.
    let packet: @Sendable ([UInt8], ProtocolVersion) -> [UInt8]
    /// The field of a packet that was read.
    let value: @Sendable (Model.Packet) -> [UInt8]?
  }

  /// PUBLISH has a topic and a payload in every version; the rest are properties.
  static let fields: [Field] =
    [
      Field(testDescription: "Topic Name", versions: ProtocolVersion.all, rule: .topicName) {
        bytes, version in
        publish(topic: bytes, payload: [], version)
      } value: { packet in
        if case .publish(let publish) = packet { publish.topic } else { nil }
      },
      Field(testDescription: "payload", versions: ProtocolVersion.all, rule: .binaryData) { bytes, version in
        publish(topic: "a".bytes, payload: bytes, version)
      } value: { packet in
        if case .publish(let publish) = packet { publish.payload } else { nil }
      },
    ]
    + PropertyRow.table.flatMap { row in
      row.places.filter { $0.sender == .server }.compactMap(\.packet).sorted { $0.rawValue < $1.rawValue }
        .flatMap { fields(of: row, in: $0) }
    }

  private static func publish(topic: [UInt8], payload: [UInt8], _ version: ProtocolVersion) -> [UInt8] {
    let publish = Model.Publish(
      duplicate: false, qos: 0, retain: false, topic: topic, identifier: nil, properties: [], payload: payload
    )
    return Model.Packet.publish(publish).bytes(version)
  }

  private static func fields(of row: PropertyRow, in type: ControlPacketType) -> [Field] {
    func field(
      _ part: String, _ rule: Field.Rule,
      _ property: @escaping @Sendable ([UInt8]) -> Model.Property.Value,
      value: @escaping @Sendable (Model.Property.Value) -> [UInt8]?
    ) -> Field {
      Field(testDescription: "\(row.name)\(part) of \(type)", versions: [.v5_0], rule: rule) { bytes, _ in
        let list = Model.list([Model.Property(identifier: row.identifier, value: property(bytes))])
        return PropertyTests.packets(with: list).first { $0.type == type }!.bytes
      } value: { packet in
        packet.properties.first { $0.identifier == row.identifier }.flatMap { value($0.value) }
      }
    }
    switch row.type {
    case .string, .binaryData:
      let rule: Field.Rule =
        row.type == .binaryData ? .binaryData : row.identifier == 0x08 ? .topicName : .string
      return [field("", rule, { .bytes($0) }) { if case .bytes(let bytes) = $0 { bytes } else { nil } }]
    case .stringPair:
      return [
        field(", name", .string, { .pair($0, "v".bytes) }) {
          if case .pair(let name, _) = $0 { name } else { nil }
        },
        field(", value", .string, { .pair("k".bytes, $0) }) {
          if case .pair(_, let value) = $0 { value } else { nil }
        },
      ]
    default: return []
    }
  }

  /// Counted in the sections: topic and payload; strings and Binary Data of CONNACK, PUBLISH, the
  /// acknowledgements, SUBACK and UNSUBACK, DISCONNECT, AUTH; both halves of User Property in ten packets.
  @Test func tableIsWhole() {
    #expect(Self.fields.count == 2 + (6 + 3 + 4 + 2 + 2 + 3) + 2 * 10)
    #expect(Set(Self.fields.map(\.testDescription)).count == Self.fields.count)
    #expect(Self.fields.count { $0.rule == .binaryData } == 4)
  }

  /// [MQTT-1.5.4-1] [MQTT-1.5.4-2] [MQTT-1.5.4-3] [MQTT-1.5.7-1]: what is not well-formed is refused; what is
  /// comes out as it was, byte for byte.
  @Test(arguments: fields)
  func everyAnswer(field: Field) throws {
    for (text, isValid) in UTF8EncodedStringTests.answers {
      let bytes = hex(text)
      for version in field.versions {
        let packet = field.packet(bytes, version)
        if field.rule == .topicName && bytes.isEmpty {
          // At least one character [MQTT-4.7.3-1].
          #expect(throws: Malformed.emptyTopic) { try Model.Packet.parse(packet, version) }
        } else if isValid || field.rule == .binaryData {
          let read = try #require(try Model.Packet.parse(packet, version), "\(text)")
          #expect(field.value(read) == bytes)
        } else {
          #expect(throws: Malformed.utf8, "\(text)") { try Model.Packet.parse(packet, version) }
        }
      }
    }
  }
}
