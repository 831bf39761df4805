import MQTTWire
import Storage
import TestSupport
import Testing

extension Place {
  var propertyPlace: PropertyContext { packet.map { .packet($0, from: sender) } ?? .will }
}

@Suite struct PropertyTests {
  /// What PropertyReader makes of `bytes`, in this place.
  private typealias Read = (Property, text: [UInt8], value: [UInt8])

  private func read(_ bytes: [UInt8], in place: Place) throws -> [Read] {
    let body = [UInt8(bytes.count)] + bytes + [0xEE]
    var reader = ByteReader(body.span)
    var properties = try PropertyReader(body.span, reader: &reader, in: place.propertyPlace)
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
    var properties = PropertyReader(bytes.span, in: place.propertyPlace)
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
    #expect(Set(PropertyRow.table.map(\.identifier)).count == 27)
    #expect(
      (UInt8.min ... .max).filter { PropertyIdentifier(rawValue: $0) != nil }
        == PropertyRow.table.map(\.identifier))
  }

  /// Table 2-4, its last two columns: in every place, what may be there is read, what may not is refused.
  @Test(arguments: PropertyRow.table)
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
      #expect(PropertyRow.table.filter { $0.places.contains(place) }.count == count, "\(place)")
    }
  }

  /// §2.2.2.2: the same through the parsers of whole packets.
  @Test(arguments: PropertyRow.table)
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
  @Test(arguments: PropertyRow.table)
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

  @Test(arguments: PropertyRow.table.filter { !$0.refusedValues.isEmpty })
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
  @Test(arguments: PropertyRow.table)
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
    for identifier in UInt8.min ... .max
    where !PropertyRow.table.contains(where: { $0.identifier == identifier }) {
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
