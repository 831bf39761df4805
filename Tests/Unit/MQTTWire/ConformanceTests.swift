import MQTTWire
import TestSupport
import Testing

/// Statements that are about many packets at once. Tests/Conformance/statements.tsv says which.
@Suite struct ConformanceTests {
  /// Strings that must not be sent, and must not be accepted [MQTT-1.5.4-1] [MQTT-1.5.4-2]: a surrogate, one
  /// as a pair, overlong, cut off, a lone continuation, above U+10FFFF, U+0000 alone and inside.
  static let badStrings: [[UInt8]] = [
    "ED A0 80", "ED A0 B4 ED B4 9E", "C0 AF", "61 E2 82", "80", "F4 90 80 80", "00", "61 00 62",
  ].map(hex)

  private static func prefixed(_ bytes: [UInt8]) -> [UInt8] {
    [UInt8(bytes.count >> 8), UInt8(bytes.count & 255)] + bytes
  }

  /// Every property that has a string in it, with `bytes` there. Of a User Property both halves, in turn.
  static func stringProperties(_ bytes: [UInt8]) -> [(row: PropertyRow, encoded: [UInt8])] {
    PropertyRow.table.flatMap { row -> [(PropertyRow, [UInt8])] in
      switch row.identifier {
      case 0x03, 0x08, 0x12, 0x15, 0x1A, 0x1C, 0x1F: [(row, [row.identifier] + prefixed(bytes))]
      case 0x26:
        [(row, [0x26] + prefixed(bytes) + [0, 0]), (row, [0x26, 0, 0] + prefixed(bytes))]
      default: []
      }
    }
  }

  // MARK: CONNECT

  /// CONNECT (§3.1) taken apart field by field.
  private struct Fields {
    private var rest: ArraySlice<UInt8>
    init(_ packet: [UInt8]) { rest = packet[...] }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func byte() throws -> UInt8 {
      let byte = rest.popFirst()
      return try #require(byte)
    }

    mutating func number() throws -> UInt16 { UInt16(try byte()) << 8 | UInt16(try byte()) }

    mutating func bytes() throws -> [UInt8] {
      let count = Int(try number())
      try #require(count <= rest.count)
      defer { rest = rest.dropFirst(count) }
      return Array(rest.prefix(count))
    }
  }

  static let connects: [ConnectCase] = ProtocolVersion.all.flatMap { version in
    [false, true].flatMap { cleanStart in
      // 0: no Will; else its QoS and RETAIN.
      (0...6).flatMap { will in
        [(false, false), (true, false), (true, true), (false, true)].compactMap { hasUser, hasPassword in
          // Before 5.0 there is no password without a user name, see ClientOptionsTests.
          if hasPassword && !hasUser && version != .v5_0 { return nil }
          return ConnectCase(
            version: version, cleanStart: cleanStart, keepAlive: 258, clientID: "id",
            userName: hasUser ? "user" : "", password: hasPassword ? [0, 255] : [],
            willTopic: will == 0 ? "" : "will/topic", willPayload: will == 0 ? "" : "payload",
            willQoS: will == 0 ? .atMostOnce : QoS(rawValue: UInt8(will - 1) / 2)!,
            willRetain: will != 0 && will % 2 == 0, maximumPacketSize: 0)
        }
      }
    }
  }

  /// What the flags say is there, and nothing else, in the order of §3.1.3.
  @Test(arguments: connects)
  func everyConnect(connect: ConnectCase) throws {
    var fields = Fields(connect.packet)
    #expect(try fields.byte() == 0x10)
    #expect(try Int(fields.byte()) == connect.packet.count - 2)
    #expect(try fields.bytes() == (connect.version == .v3_1 ? "MQIsdp" : "MQTT").bytes)
    #expect(try fields.byte() == [.v3_1: 3, .v3_1_1: 4, .v5_0: 5][connect.version])
    let flags = try fields.byte()
    #expect(flags & 0x01 == 0)
    #expect((flags & 0x02 != 0) == connect.cleanStart)
    #expect(try fields.number() == 258)
    if connect.version == .v5_0 { #expect(try fields.byte() == 0) }
    #expect(try fields.bytes() == "id".bytes)
    #expect((flags & 0x04 != 0) == !connect.willTopic.isEmpty)
    if flags & 0x04 != 0 {
      #expect(flags >> 3 & 3 == connect.willQoS.rawValue)
      #expect((flags & 0x20 != 0) == connect.willRetain)
      if connect.version == .v5_0 { #expect(try fields.byte() == 0) }
      #expect(try fields.bytes() == "will/topic".bytes)
      #expect(try fields.bytes() == "payload".bytes)
    } else {
      #expect(flags & 0x38 == 0)
    }
    #expect((flags & 0x80 != 0) == !connect.userName.isEmpty)
    if flags & 0x80 != 0 { #expect(try fields.bytes() == "user".bytes) }
    #expect((flags & 0x40 != 0) == !connect.password.isEmpty)
    if flags & 0x40 != 0 { #expect(try fields.bytes() == [0, 255]) }
    #expect(fields.isAtEnd)
  }

  // MARK: Strings

  /// Whatever the packet, whatever the property; and the Topic Name.
  @Test(arguments: badStrings)
  func illFormedStringsAreRefused(bytes: [UInt8]) {
    for (row, encoded) in Self.stringProperties(bytes) {
      let packets = PropertyTests.packets(with: encoded).filter {
        row.places.contains(Place(packet: $0.type, sender: .server))
      }
      #expect(!packets.isEmpty)
      for packet in packets {
        #expect(throws: Malformed.utf8, "\(row) in \(packet.type)") {
          try Received(packet: packet.bytes, version: .v5_0)
        }
      }
    }
    for version in ProtocolVersion.all {
      let body = Self.prefixed(bytes) + [0]
      #expect(throws: Malformed.utf8) {
        try Received(packet: [0x30, UInt8(body.count)] + body, version: version)
      }
    }
  }

  /// The same in what an application wants to send.
  @Test(arguments: badStrings)
  func illFormedStringsAreNotSent(bytes: [UInt8]) {
    for (row, encoded) in Self.stringProperties(bytes) {
      for place in row.places where place.sender == .client {
        #expect(throws: Malformed.utf8, "\(row) in \(place)") {
          var reader = PropertyReader(encoded.span, in: place.propertyPlace)
          while try reader.next() != nil {}
        }
      }
    }
  }

  /// [MQTT-1.5.4-3]: EF BB BF is U+FEFF wherever it stands, and is not taken off.
  @Test(arguments: ProtocolVersion.all)
  func byteOrderMarkStays(version: ProtocolVersion) throws {
    let text = "\u{FEFF}a\u{FEFF}"
    let bytes = hex("EF BB BF 61 EF BB BF")
    #expect(text.bytes == bytes)
    func count(in packet: [UInt8]) -> Int {
      packet.indices.count { packet[$0...].starts(with: Self.prefixed(bytes)) }
    }
    let connect = ConnectCase(version: version, clientID: text, userName: text, willTopic: text)
    #expect(count(in: connect.packet) == 3)
    let subscribe = SubscriptionRequestTests.Case(
      filters: [(text, SubscriptionOptions(maximumQoS: .atMostOnce))])
    #expect(count(in: try subscribe.packet(.subscribe, version)) == 1)
    #expect(count(in: try subscribe.packet(.unsubscribe, version)) == 1)
    let publish = PublishFields(topic: bytes)
    #expect(count(in: try publish.packet(version)) == 1)
    #expect(try PublishFields(decoding: publish.packet(version), version) == publish)
    guard version == .v5_0 else { return }
    for (row, encoded) in Self.stringProperties(bytes) {
      for place in row.places {
        var reader = PropertyReader(encoded.span, in: place.propertyPlace)
        let property = try #require(try reader.next())
        #expect([encoded[property.text], encoded[property.value]].contains(bytes), "\(row) in \(place)")
      }
    }
  }
}
