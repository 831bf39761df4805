import MQTTWire
import Testing

/// A row of Table 2-4, as we read it: the property, the packets it may be in, and a value.
struct PropertyRow: Sendable, CustomTestStringConvertible {
  let identifier: UInt8
  let name: String
  let packets: Set<ControlPacketType>
  let value: [UInt8]
  /// What the value says, if that is a number.
  let number: UInt32
  /// Values out of range, with the section that says so.
  let refusedValues: [String]

  init(
    _ identifier: UInt8, _ name: String, in packets: Set<ControlPacketType>, _ value: String,
    _ number: UInt32 = 0,
    not refusedValues: [String] = []
  ) {
    self.identifier = identifier
    self.name = name
    self.packets = packets
    self.value = hex(value)
    self.number = number
    self.refusedValues = refusedValues
  }

  var testDescription: String { name }
  var bytes: [UInt8] { [identifier] + value }
}

@Suite struct PropertyTests {
  static let withProperties: Set<ControlPacketType> = [
    .connect, .connack, .publish, .puback, .pubrec, .pubrel, .pubcomp, .subscribe, .suback, .unsubscribe,
    .unsuback, .disconnect, .auth,
  ]
  private static let withReasonString = withProperties.subtracting([
    .connect, .publish, .subscribe, .unsubscribe,
  ])
  private static let booleans = ["02", "80", "FF"]

  static let table: [PropertyRow] = [
    PropertyRow(0x01, "Payload Format Indicator", in: [.publish], "01", 1, not: booleans),
    PropertyRow(0x02, "Message Expiry Interval", in: [.publish], "01 02 03 04", 0x0102_0304),
    PropertyRow(0x03, "Content Type", in: [.publish], "00 01 63"),
    PropertyRow(0x08, "Response Topic", in: [.publish], "00 01 72"),
    PropertyRow(0x09, "Correlation Data", in: [.publish], "00 02 00 FF"),
    PropertyRow(0x0B, "Subscription Identifier", in: [.publish, .subscribe], "80 01", 128, not: ["00"]),
    PropertyRow(0x11, "Session Expiry Interval", in: [.connect, .connack, .disconnect], "FF FF FF FF", .max),
    PropertyRow(0x12, "Assigned Client Identifier", in: [.connack], "00 01 69"),
    PropertyRow(0x13, "Server Keep Alive", in: [.connack], "00 00", 0),
    PropertyRow(0x15, "Authentication Method", in: [.connect, .connack, .auth], "00 01 6D"),
    PropertyRow(0x16, "Authentication Data", in: [.connect, .connack, .auth], "00 01 00"),
    PropertyRow(0x17, "Request Problem Information", in: [.connect], "01", 1, not: booleans),
    PropertyRow(0x18, "Will Delay Interval", in: [], "00 00 00 01", 1),
    PropertyRow(0x19, "Request Response Information", in: [.connect], "01", 1, not: booleans),
    PropertyRow(0x1A, "Response Information", in: [.connack], "00 01 69"),
    PropertyRow(0x1C, "Server Reference", in: [.connack, .disconnect], "00 01 73"),
    PropertyRow(0x1F, "Reason String", in: withReasonString, "00 01 72"),
    PropertyRow(0x21, "Receive Maximum", in: [.connect, .connack], "12 34", 0x1234, not: ["00 00"]),
    PropertyRow(0x22, "Topic Alias Maximum", in: [.connect, .connack], "00 00", 0),
    PropertyRow(0x23, "Topic Alias", in: [.publish], "FF FF", 65_535, not: ["00 00"]),
    PropertyRow(0x24, "Maximum QoS", in: [.connack], "01", 1, not: booleans),
    PropertyRow(0x25, "Retain Available", in: [.connack], "00", 0, not: booleans),
    PropertyRow(0x26, "User Property", in: withProperties, "00 01 6B 00 01 76"),
    PropertyRow(
      0x27, "Maximum Packet Size", in: [.connect, .connack], "00 00 00 01", 1, not: ["00 00 00 00"]),
    PropertyRow(0x28, "Wildcard Subscription Available", in: [.connack], "01", 1, not: booleans),
    PropertyRow(0x29, "Subscription Identifier Available", in: [.connack], "01", 1, not: booleans),
    PropertyRow(0x2A, "Shared Subscription Available", in: [.connack], "01", 1, not: booleans),
  ]

  /// What PropertyReader makes of `bytes`, in a packet of this type.
  private typealias Read = (Property, text: [UInt8], value: [UInt8])

  private func read(_ bytes: [UInt8], in packet: ControlPacketType) throws -> [Read] {
    let body = [UInt8(bytes.count)] + bytes + [0xEE]
    var reader = ByteReader(body.span)
    var properties = try PropertyReader(body.span, reader: &reader, packet: packet)
    #expect(reader.position == 1 + bytes.count)
    var list: [Read] = []
    while let property = try properties.next() {
      list.append((property, body[property.text], body[property.value]))
    }
    return list
  }

  /// The packets a server sends, with these properties.
  static func packets(with properties: [UInt8]) -> [(type: ControlPacketType, bytes: [UInt8])] {
    let starts: [(ControlPacketType, UInt8, [UInt8])] = [
      (.connack, 0x20, [0, 0]), (.publish, 0x30, [0, 1, 0x61]), (.puback, 0x40, [0, 1, 0]),
      (.pubrec, 0x50, [0, 1, 0]), (.pubrel, 0x62, [0, 1, 0]), (.pubcomp, 0x70, [0, 1, 0]),
      (.disconnect, 0xE0, [0]),
    ]
    return starts.map { type, first, start in
      let body = start + [UInt8(properties.count)] + properties
      return (type, [first, UInt8(body.count)] + body)
    }
  }

  @Test func tableIsWhole() {
    #expect(Set(Self.table.map(\.identifier)).count == 27)
    #expect(
      (UInt8.min ... .max).filter { PropertyIdentifier(rawValue: $0) != nil } == Self.table.map(\.identifier))
  }

  /// Table 2-4, its last two columns: in every packet, what may be there is read, what may not is refused.
  @Test(arguments: table)
  func placesAndValues(row: PropertyRow) throws {
    for packet in Self.withProperties {
      guard row.packets.contains(packet) else {
        #expect(throws: Malformed.propertyNotAllowed, "\(packet)") { try read(row.bytes, in: packet) }
        continue
      }
      let list = try read(row.bytes, in: packet)
      let (property, text, value) = try #require(list.first)
      #expect(list.count == 1)
      #expect(property.identifier.rawValue == row.identifier)
      #expect(property.number == row.number)
      let isText = row.value.starts(with: [0]) && row.number == 0 && row.value.count > 2
      let isPair = row.identifier == 0x26
      #expect(text == (isPair ? "k".bytes : isText ? Array(row.value[2...]) : []))
      #expect(value == (isPair ? "v".bytes : []))
    }
  }

  /// §2.2.2.2: the same through the parsers of whole packets.
  @Test(arguments: table)
  func inTheWrongPacket(row: PropertyRow) {
    for (type, bytes) in Self.packets(with: row.bytes) {
      // [MQTT-3.14.2-2] has its own test.
      if row.packets.contains(type) && !(type == .disconnect && row.identifier == 0x11) {
        #expect(throws: Never.self, "\(type)") { try Received(packet: bytes, version: .v5_0) }
      } else {
        #expect(throws: Malformed.propertyNotAllowed, "\(type)") {
          try Received(packet: bytes, version: .v5_0)
        }
      }
    }
  }

  /// §2.2.2.2 and each property's section: more than once only User Property, and Subscription Identifier in a
  /// PUBLISH (§3.3.2.3.8).
  @Test(arguments: table)
  func repeated(row: PropertyRow) throws {
    for packet in row.packets {
      if row.identifier == 0x26 || (row.identifier == 0x0B && packet == .publish) {
        #expect(try read(row.bytes + row.bytes + row.bytes, in: packet).count == 3)
      } else {
        #expect(throws: Malformed.propertyRepeated, "\(packet)") {
          try read(row.bytes + row.bytes, in: packet)
        }
        let between: [UInt8] = hex("26 00 00 00 00")
        #expect(throws: Malformed.propertyRepeated, "\(packet)") {
          try read(row.bytes + between + row.bytes, in: packet)
        }
      }
    }
  }

  @Test(arguments: table.filter { !$0.refusedValues.isEmpty })
  func valuesOutOfRange(row: PropertyRow) {
    for packet in row.packets {
      for value in row.refusedValues {
        #expect(throws: Malformed.propertyValue, "\(value)") {
          try read([row.identifier] + hex(value), in: packet)
        }
      }
    }
  }

  /// A property that is cut short, in the middle of what the Property Length covers.
  @Test(arguments: table)
  func cutShort(row: PropertyRow) {
    for packet in row.packets {
      for count in 1..<row.bytes.count {
        #expect(throws: Malformed.truncated) { try read(Array(row.bytes.prefix(count)), in: packet) }
      }
    }
  }

  /// §2.2.2.2: an identifier that is not in Table 2-4.
  @Test func unknown() {
    for identifier in UInt8.min ... .max where !Self.table.contains(where: { $0.identifier == identifier }) {
      for (type, bytes) in Self.packets(with: [identifier, 0, 0, 0, 0]) {
        #expect(throws: Malformed.unknownProperty, "\(type)") { try Received(packet: bytes, version: .v5_0) }
      }
    }
  }

  /// §3.3.2.3.8: 1 to 268,435,455, in the fewest bytes [MQTT-1.5.5-1].
  @Test func subscriptionIdentifiers() throws {
    #expect(try read(hex("0B 01"), in: .publish).first?.0.number == 1)
    #expect(try read(hex("0B FF FF FF 7F"), in: .publish).first?.0.number == 268_435_455)
    for text in ["0B 80 00", "0B 81 00", "0B FF FF FF 80 00", "0B FF FF FF FF 7F"] {
      #expect(throws: Malformed.variableByteInteger, "\(text)") { try read(hex(text), in: .publish) }
    }
  }

  /// All properties of a PUBLISH in their order.
  @Test func everyPropertyOfPublish() throws {
    let properties = PublishTests.receivedCases["publish-5-every-property"]?.properties ?? []
    let list = try read(properties, in: .publish)
    let identifiers = list.map(\.0.identifier.rawValue)
    #expect(identifiers == hex("01 02 23 08 09 26 26 26 0B 0B 0B 03"))
    #expect(list.map(\.0.number) == [1, 60, 5, 0, 0, 0, 0, 0, 1, 128, 268_435_455, 0])
    #expect(list[3].text == "r/1".bytes)
    #expect(list[4].text == [0x00, 0xFF])
    #expect(list[5...7].map(\.text) == ["k".bytes, "k".bytes, "k".bytes])
    #expect(list[5...7].map(\.value) == ["1".bytes, "2".bytes, "1".bytes])
    #expect(list[11].text == "text/plain".bytes)
  }
}
