import MQTTWire
import Storage
import Testing

/// A list of properties that the specification knows: in a packet, from one side, or in a Will.
struct Place: Hashable, Sendable, CustomTestStringConvertible {
  /// `nil`: the Will.
  let packet: ControlPacketType?
  let sender: Sender

  static func client(_ packets: ControlPacketType...) -> Set<Place> {
    Set(packets.map { Place(packet: $0, sender: .client) })
  }

  static func server(_ packets: ControlPacketType...) -> Set<Place> {
    Set(packets.map { Place(packet: $0, sender: .server) })
  }

  static func both(_ packets: ControlPacketType...) -> Set<Place> {
    Set(packets.flatMap { [Place(packet: $0, sender: .client), Place(packet: $0, sender: .server)] })
  }

  static let will: Set<Place> = [Place(packet: nil, sender: .client)]

  /// Every packet type from either side, whether it exists or not, and the Will.
  static let all: [Place] =
    (UInt8(1)...15).flatMap { number -> [Place] in
      let packet = ControlPacketType(rawValue: number)!
      return [Place(packet: packet, sender: .client), Place(packet: packet, sender: .server)]
    } + will

  var propertyPlace: PropertyPlace { packet.map { .packet($0, from: sender) } ?? .will }
  var testDescription: String { packet.map { "\($0) from \(sender)" } ?? "Will" }
}

/// A row of Table 2-4, as we read it: the property, its type and limits, where it may be, and a value.
struct PropertyRow: Sendable, CustomTestStringConvertible {
  enum ValueType {
    case byte, twoByteInteger, fourByteInteger, variableByteInteger, string, binaryData, stringPair
  }

  let identifier: UInt8
  let name: String
  let type: ValueType
  /// Of a number: what its section allows.
  let limits: ClosedRange<UInt32>
  let places: Set<Place>
  let value: [UInt8]
  /// What the value says, if that is a number.
  let number: UInt32

  init(
    _ identifier: UInt8, _ name: String, _ type: ValueType, _ limits: ClosedRange<UInt32> = 0 ... .max,
    in places: Set<Place>, _ value: String, _ number: UInt32 = 0
  ) {
    self.identifier = identifier
    self.name = name
    self.type = type
    self.limits = limits
    self.places = places
    self.value = hex(value)
    self.number = number
  }

  var testDescription: String { name }
  var bytes: [UInt8] { [identifier] + value }

  /// Values out of range, as they are on the wire.
  var refusedValues: [[UInt8]] {
    if limits == 0...1 { return [[2], [0x80], [0xFF]] }
    guard limits.lowerBound == 1 else { return [] }
    switch type {
    case .twoByteInteger: return [[0, 0]]
    case .fourByteInteger: return [[0, 0, 0, 0]]
    default: return [[0]]
    }
  }

  /// By identifier.
  static let types: [ValueType?] = (0...255).map { number in
    PropertyTests.table.first { $0.identifier == number }?.type
  }
}

@Suite struct PropertyTests {
  // Who sends what: Table 2-1; which of it has properties: §2.2.2.
  private static let connect = Place.client(.connect)
  private static let connack = Place.server(.connack)
  private static let publish = Place.both(.publish)
  private static let will = Place.will
  private static let auth = Place.both(.auth)
  /// §3.4.2.2.2 to §3.7.2.2.2, §3.9.2.1.2, §3.11.2.1.2, §3.14.2.2.3, §3.15.2.2.4.
  private static let withReasonString = connack.union(auth)
    .union(Place.both(.puback, .pubrec, .pubrel, .pubcomp, .disconnect))
    .union(Place.server(.suback, .unsuback))
  private static let withProperties = withReasonString.union(connect).union(publish).union(will)
    .union(Place.client(.subscribe, .unsubscribe))

  static let table: [PropertyRow] = [
    PropertyRow(0x01, "Payload Format Indicator", .byte, 0...1, in: publish.union(will), "01", 1),
    PropertyRow(
      0x02, "Message Expiry Interval", .fourByteInteger, in: publish.union(will), "01 02 03 04", 0x0102_0304),
    PropertyRow(0x03, "Content Type", .string, in: publish.union(will), "00 01 63"),
    PropertyRow(0x08, "Response Topic", .string, in: publish.union(will), "00 01 72"),
    PropertyRow(0x09, "Correlation Data", .binaryData, in: publish.union(will), "00 02 00 FF"),
    // From a client in SUBSCRIBE, from a server in PUBLISH [MQTT-3.3.4-6].
    PropertyRow(
      0x0B, "Subscription Identifier", .variableByteInteger, 1...268_435_455,
      in: Place.server(.publish).union(Place.client(.subscribe)), "80 01", 128),
    // In DISCONNECT not from a server [MQTT-3.14.2-2].
    PropertyRow(
      0x11, "Session Expiry Interval", .fourByteInteger,
      in: connect.union(connack).union(Place.client(.disconnect)), "FF FF FF FF", .max),
    PropertyRow(0x12, "Assigned Client Identifier", .string, in: connack, "00 01 69"),
    PropertyRow(0x13, "Server Keep Alive", .twoByteInteger, in: connack, "00 00", 0),
    PropertyRow(0x15, "Authentication Method", .string, in: connect.union(connack).union(auth), "00 01 6D"),
    PropertyRow(0x16, "Authentication Data", .binaryData, in: connect.union(connack).union(auth), "00 01 00"),
    PropertyRow(0x17, "Request Problem Information", .byte, 0...1, in: connect, "01", 1),
    PropertyRow(0x18, "Will Delay Interval", .fourByteInteger, in: will, "00 00 00 01", 1),
    PropertyRow(0x19, "Request Response Information", .byte, 0...1, in: connect, "01", 1),
    PropertyRow(0x1A, "Response Information", .string, in: connack, "00 01 69"),
    // In DISCONNECT the server's (§3.14.2.2.5).
    PropertyRow(0x1C, "Server Reference", .string, in: connack.union(Place.server(.disconnect)), "00 01 73"),
    PropertyRow(0x1F, "Reason String", .string, in: withReasonString, "00 01 72"),
    PropertyRow(
      0x21, "Receive Maximum", .twoByteInteger, 1...65_535, in: connect.union(connack), "12 34", 0x1234),
    PropertyRow(0x22, "Topic Alias Maximum", .twoByteInteger, in: connect.union(connack), "00 00", 0),
    PropertyRow(0x23, "Topic Alias", .twoByteInteger, 1...65_535, in: publish, "FF FF", 65_535),
    PropertyRow(0x24, "Maximum QoS", .byte, 0...1, in: connack, "01", 1),
    PropertyRow(0x25, "Retain Available", .byte, 0...1, in: connack, "00", 0),
    PropertyRow(0x26, "User Property", .stringPair, in: withProperties, "00 01 6B 00 01 76"),
    PropertyRow(
      0x27, "Maximum Packet Size", .fourByteInteger, 1 ... .max, in: connect.union(connack), "00 00 00 01", 1),
    PropertyRow(0x28, "Wildcard Subscription Available", .byte, 0...1, in: connack, "01", 1),
    PropertyRow(0x29, "Subscription Identifier Available", .byte, 0...1, in: connack, "01", 1),
    PropertyRow(0x2A, "Shared Subscription Available", .byte, 0...1, in: connack, "01", 1),
  ]

  /// What PropertyReader makes of `bytes`, in this place.
  private typealias Read = (Property, text: [UInt8], value: [UInt8])

  private func read(_ bytes: [UInt8], in place: Place) throws -> [Read] {
    let body = [UInt8(bytes.count)] + bytes + [0xEE]
    var reader = ByteReader(body.span)
    var properties = try PropertyReader(body.span, reader: &reader, place: place.propertyPlace)
    #expect(reader.position == 1 + bytes.count)
    #expect(body[properties.extent] == bytes)
    var list: [Read] = []
    while let property = try properties.next() {
      list.append((property, body[property.text], body[property.value]))
    }
    return list
  }

  /// The same from a list without its length, as an application hands it in.
  private func readList(_ bytes: [UInt8], in place: Place) throws -> [UInt8] {
    var properties = PropertyReader(bytes.span, place: place.propertyPlace)
    #expect(properties.extent == ByteRange(offset: 0, count: bytes.count))
    var identifiers: [UInt8] = []
    while let property = try properties.next() { identifiers.append(property.identifier.rawValue) }
    #expect(properties.position == bytes.count)
    return identifiers
  }

  /// The packets a server sends, with these properties.
  static func packets(with properties: [UInt8]) -> [(type: ControlPacketType, bytes: [UInt8])] {
    // AUTH has an Authentication Method in any case (§3.15.2.2.2).
    let method: [UInt8] = properties.first == 0x15 ? [] : hex("15 00 01 6D")
    let parts: [(ControlPacketType, UInt8, [UInt8], [UInt8], [UInt8])] = [
      (.connack, 0x20, [0, 0], [], []), (.publish, 0x30, [0, 1, 0x61], [], []),
      (.puback, 0x40, [0, 1, 0], [], []), (.pubrec, 0x50, [0, 1, 0], [], []),
      (.pubrel, 0x62, [0, 1, 0], [], []), (.pubcomp, 0x70, [0, 1, 0], [], []),
      (.suback, 0x90, [0, 1], [], [0]), (.unsuback, 0xB0, [0, 1], [], [0]),
      (.disconnect, 0xE0, [0], [], []), (.auth, 0xF0, [0x18], method, []),
    ]
    return parts.map { type, first, start, before, end in
      let body = start + [UInt8(before.count + properties.count)] + before + properties + end
      return (type, [first, UInt8(body.count)] + body)
    }
  }

  @Test func tableIsWhole() {
    #expect(Set(Self.table.map(\.identifier)).count == 27)
    #expect(
      (UInt8.min ... .max).filter { PropertyIdentifier(rawValue: $0) != nil } == Self.table.map(\.identifier))
  }

  /// Table 2-4, its last two columns: in every place, what may be there is read, what may not is refused.
  @Test(arguments: table)
  func placesAndValues(row: PropertyRow) throws {
    for place in Place.all {
      guard row.places.contains(place) else {
        #expect(throws: Malformed.propertyNotAllowed, "\(place)") { try read(row.bytes, in: place) }
        #expect(throws: Malformed.propertyNotAllowed, "\(place)") { try readList(row.bytes, in: place) }
        continue
      }
      let list = try read(row.bytes, in: place)
      let (property, text, value) = try #require(list.first)
      #expect(list.count == 1)
      #expect(property.identifier.rawValue == row.identifier)
      #expect(property.number == row.number)
      let isText = row.type == .string || row.type == .binaryData
      let isPair = row.type == .stringPair
      #expect(text == (isPair ? "k".bytes : isText ? Array(row.value[2...]) : []))
      #expect(value == (isPair ? "v".bytes : []))
      #expect(try readList(row.bytes, in: place) == [row.identifier])
    }
  }

  /// How many there are in each place, counted in the specification's sections.
  static let counts: [(Set<Place>, Int)] = [
    (Place.client(.connect), 9), (Place.will, 7), (Place.server(.connack), 17),
    (Place.client(.publish), 7), (Place.server(.publish), 8), (Place.both(.puback), 2),
    (Place.both(.pubrec), 2), (Place.both(.pubrel), 2), (Place.both(.pubcomp), 2),
    (Place.client(.subscribe), 2), (Place.server(.suback), 2), (Place.client(.unsubscribe), 1),
    (Place.server(.unsuback), 2), (Place.client(.disconnect), 3), (Place.server(.disconnect), 3),
    (Place.both(.auth), 4),
  ]

  @Test(arguments: counts)
  func howMany(places: Set<Place>, count: Int) {
    for place in places {
      #expect(Self.table.filter { $0.places.contains(place) }.count == count, "\(place)")
    }
  }

  /// §2.2.2.2: the same through the parsers of whole packets.
  @Test(arguments: table)
  func inTheWrongPacket(row: PropertyRow) {
    for (type, bytes) in Self.packets(with: row.bytes) {
      if row.places.contains(Place(packet: type, sender: .server)) {
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
    for place in row.places {
      if row.identifier == 0x26 || (row.identifier == 0x0B && place.packet == .publish) {
        #expect(try read(row.bytes + row.bytes + row.bytes, in: place).count == 3)
      } else {
        #expect(throws: Malformed.propertyRepeated, "\(place)") {
          try read(row.bytes + row.bytes, in: place)
        }
        let between: [UInt8] = hex("26 00 00 00 00")
        #expect(throws: Malformed.propertyRepeated, "\(place)") {
          try read(row.bytes + between + row.bytes, in: place)
        }
      }
    }
  }

  @Test(arguments: table.filter { !$0.refusedValues.isEmpty })
  func valuesOutOfRange(row: PropertyRow) {
    for place in row.places {
      for value in row.refusedValues {
        #expect(throws: Malformed.propertyValue, "\(value)") {
          try read([row.identifier] + value, in: place)
        }
      }
    }
  }

  /// A property that is cut short, in the middle of what the Property Length covers.
  @Test(arguments: table)
  func cutShort(row: PropertyRow) {
    for place in row.places {
      for count in 1..<row.bytes.count {
        #expect(throws: Malformed.truncated) { try read(Array(row.bytes.prefix(count)), in: place) }
        #expect(throws: Malformed.truncated) { try readList(Array(row.bytes.prefix(count)), in: place) }
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
    let publish = Place(packet: .publish, sender: .server)
    #expect(try read(hex("0B 01"), in: publish).first?.0.number == 1)
    #expect(try read(hex("0B FF FF FF 7F"), in: publish).first?.0.number == 268_435_455)
    for text in ["0B 80 00", "0B 81 00", "0B FF FF FF 80 00", "0B FF FF FF FF 7F"] {
      #expect(throws: Malformed.variableByteInteger, "\(text)") { try read(hex(text), in: publish) }
    }
  }

  /// All properties of a PUBLISH in their order.
  @Test func everyPropertyOfPublish() throws {
    let publish = Place(packet: .publish, sender: .server)
    let properties = PublishTests.receivedCases["publish-5-every-property"]?.properties ?? []
    let list = try read(properties, in: publish)
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
