import MQTTWire
import TestSupport
import Testing

/// What a test says about a PUBLISH, either way.
struct PublishFields: Equatable, Sendable {
  var topic = "a/b".bytes
  var payload = "hi".bytes
  var qos = QoS.atMostOnce
  var retain = false
  var duplicate = false
  var identifier: UInt16? = nil
  /// As they are on the wire.
  var properties: [UInt8] = []

  func packet(_ version: ProtocolVersion) throws -> [UInt8] {
    let publish = Publish(
      topic: topic.span, payload: payload.span, qos: qos, retain: retain, properties: properties.span)
    let remainingLength = publish.remainingLength(version)
    let size = 1 + VariableByteInteger.encodedSize(remainingLength) + remainingLength
    let number = try #require(PacketIdentifier(identifier ?? 1))
    var packet = encoded(size) { publish.encode(into: &$0, identifier: number, version: version) }
    // DUP is set in place, when a packet is sent again.
    if duplicate { packet[0] |= Publish.duplicateFlag }
    return packet
  }

  init(
    topic: [UInt8] = "a/b".bytes, payload: [UInt8] = "hi".bytes, qos: QoS = .atMostOnce, retain: Bool = false,
    duplicate: Bool = false, identifier: UInt16? = nil, properties: [UInt8] = []
  ) {
    self.topic = topic
    self.payload = payload
    self.qos = qos
    self.retain = retain
    self.duplicate = duplicate
    self.identifier = identifier
    self.properties = properties
  }

  init(decoding packet: [UInt8], _ version: ProtocolVersion) throws {
    let (header, body) = try split(packet, version)
    #expect(header.type == .publish)
    let publish = try ReceivedPublish(parsing: body.span, flags: header.flags, version: version)
    self.init(
      topic: body[publish.topic], payload: body[publish.payload], qos: publish.qos, retain: publish.retain,
      duplicate: publish.duplicate, identifier: publish.identifier?.rawValue,
      properties: body[publish.properties])
  }
}

@Suite struct PublishTests {
  private static func text(_ count: Int) -> [UInt8] { [UInt8](repeating: 0x78, count: count) }

  private static let everySentProperty: [UInt8] = hex(
    "01 01 02 00 00 00 3C 23 00 05 08 00 03 72 2F 31 09 00 02 00 FF 26 00 01 6B 00 01 31 "
      + "26 00 01 6B 00 01 32 26 00 01 6B 00 01 31 03 00 0A 74 65 78 74 2F 70 6C 61 69 6E")

  /// Both ways.
  static let cases: [String: PublishFields] = [
    "publish-311-minimal": PublishFields(topic: "a".bytes, payload: []),
    "publish-311-qos0": PublishFields(),
    "publish-311-qos1": PublishFields(qos: .atLeastOnce, identifier: 10),
    "publish-311-qos2": PublishFields(qos: .exactlyOnce, identifier: 65_535),
    "publish-311-retain": PublishFields(retain: true),
    "publish-311-qos1-retain": PublishFields(qos: .atLeastOnce, retain: true, identifier: 10),
    "publish-311-qos2-retain": PublishFields(qos: .exactlyOnce, retain: true, identifier: 10),
    "publish-311-dup-qos1": PublishFields(qos: .atLeastOnce, duplicate: true, identifier: 10),
    "publish-311-dup-qos2-retain": PublishFields(
      qos: .exactlyOnce, retain: true, duplicate: true, identifier: 10),
    "publish-311-empty-payload": PublishFields(payload: [], retain: true),
    "publish-311-remaining-length-127": PublishFields(payload: text(122)),
    "publish-311-remaining-length-128": PublishFields(payload: text(123)),
    "publish-311-remaining-length-16383": PublishFields(payload: text(16_378)),
    "publish-311-remaining-length-16384": PublishFields(payload: text(16_379)),
    "publish-311-utf8-topic": PublishFields(topic: "\u{B5}/\u{6C17}/\u{1D11E}".bytes, payload: "!".bytes),
    "publish-311-bom-topic": PublishFields(topic: "\u{FEFF}a".bytes, payload: []),
    "publish-5-minimal": PublishFields(topic: "a".bytes, payload: []),
    "publish-5-qos0": PublishFields(),
    "publish-5-qos1": PublishFields(qos: .atLeastOnce, identifier: 10),
    "publish-5-qos2": PublishFields(qos: .exactlyOnce, identifier: 65_535),
    "publish-5-retain": PublishFields(retain: true),
    "publish-5-dup-qos1": PublishFields(qos: .atLeastOnce, duplicate: true, identifier: 10),
    "publish-5-dup-qos2-retain": PublishFields(
      qos: .exactlyOnce, retain: true, duplicate: true, identifier: 10),
    "publish-5-empty-payload": PublishFields(payload: [], retain: true),
    "publish-5-remaining-length-127": PublishFields(payload: text(121)),
    "publish-5-remaining-length-128": PublishFields(payload: text(122)),
    "publish-5-remaining-length-16383": PublishFields(payload: text(16_377)),
    "publish-5-remaining-length-16384": PublishFields(payload: text(16_378)),
    "publish-31-minimal": PublishFields(topic: "a".bytes, payload: []),
    "publish-31-qos0": PublishFields(),
    "publish-31-qos1-dup-retain": PublishFields(
      qos: .atLeastOnce, retain: true, duplicate: true, identifier: 10),
    "publish-31-qos2": PublishFields(qos: .exactlyOnce, identifier: 65_535),
    "publish-5-payload-format-indicator": PublishFields(properties: hex("01 01")),
    "publish-5-message-expiry-interval": PublishFields(properties: hex("02 00 00 00 3C")),
    "publish-5-topic-alias": PublishFields(properties: hex("23 00 05")),
    "publish-5-topic-alias-empty-topic": PublishFields(topic: [], properties: hex("23 00 05")),
    "publish-5-response-topic": PublishFields(properties: [0x08, 0, 3] + "r/1".bytes),
    "publish-5-correlation-data": PublishFields(properties: hex("09 00 02 00 FF")),
    "publish-5-user-property": PublishFields(properties: hex("26 00 01 6B 00 01 31")),
    "publish-5-content-type": PublishFields(properties: [0x03, 0, 10] + "text/plain".bytes),
    "publish-5-every-sent-property": PublishFields(
      qos: .atLeastOnce, identifier: 10, properties: everySentProperty),
    "publish-5-property-length-127": PublishFields(properties: hex("26 00 01 61 00 79 7A*121")),
    "publish-5-property-length-128": PublishFields(properties: hex("26 00 01 61 00 7A 7A*122")),
  ]

  /// Only from a server: Subscription Identifiers.
  static let receivedCases = cases.merging([
    "publish-5-subscription-identifier": PublishFields(properties: hex("0B FF FF FF 7F")),
    "publish-5-every-property": PublishFields(
      qos: .exactlyOnce, retain: true, identifier: 0x1234,
      properties: Array(vector("publish-5-every-property")[10..<75])),
  ]) { $1 }

  /// What a test sends is what a client may send.
  @Test(arguments: cases.keys.sorted())
  func propertiesAreAllowed(name: String) throws {
    let properties = try #require(Self.cases[name]).properties
    var reader = PropertyReader(properties.span, in: .packet(.publish, from: .client))
    while try reader.next() != nil {}
    #expect(reader.position == properties.count)
  }

  /// Properties are not for the versions before 5.0.
  @Test func propertiesOnlyInVersion5() throws {
    let fields = PublishFields(properties: hex("01 01"))
    #expect(try fields.packet(.v3_1) == vector("publish-311-qos0"))
    #expect(try fields.packet(.v3_1_1) == vector("publish-311-qos0"))
  }

  /// §1.5.5: where the Property Length grows to three bytes.
  @Test(arguments: [(16_383, "FF 7F"), (16_384, "80 80 01")])
  func manyProperties(propertyLength: Int, start: String) throws {
    let size = propertyLength - 5
    let properties = [0x26, 0, 0] + [UInt8(size >> 8), UInt8(size & 255)] + Self.text(size)
    let fields = PublishFields(properties: properties)
    let packet = try fields.packet(.v5_0)
    #expect(packet[9...].starts(with: hex(start)))
    #expect(try PublishFields(decoding: packet, .v5_0) == fields)
  }

  @Test(arguments: cases.keys.sorted())
  func encodes(name: String) throws {
    #expect(try Self.cases[name]?.packet(Vector.named(name).version) == vector(name))
  }

  @Test(arguments: receivedCases.keys.sorted())
  func decodes(name: String) throws {
    let decoded = try PublishFields(decoding: vector(name), Vector.named(name).version)
    #expect(decoded == Self.receivedCases[name])
  }

  /// QoS 0 has no Packet Identifier [MQTT-2.2.1-2], whichever is passed.
  @Test func noIdentifierWithQoS0() throws {
    #expect(try PublishFields(identifier: 77).packet(.v3_1_1) == vector("publish-311-qos0"))
  }

  /// §2.2.3: where the Remaining Length grows to four bytes.
  @Test(arguments: [(2_097_151, "30 FF FF 7F"), (2_097_152, "30 80 80 80 01")])
  func largeMessages(remainingLength: Int, start: String) throws {
    let fields = PublishFields(payload: Self.text(remainingLength - 5))
    let packet = try fields.packet(.v3_1_1)
    #expect(packet.starts(with: hex(start)))
    #expect(packet.count == hex(start).count + remainingLength)
    #expect(try PublishFields(decoding: packet, .v3_1_1) == fields)
  }

  @Test func roundTripsAtRandom() throws {
    var random = SeededRandom(seed: 3)
    let sizes = [0, 1, 2, 15, 16, 17, 100, 120, 127, 128, 255, 256, 4096, 16_370, 16_384]
    for _ in 0..<300 {
      let qos = try #require(QoS(rawValue: UInt8.random(in: 0...2, using: &random)))
      let topicSize = Int.random(in: 1...200, using: &random)
      let payloadSize =
        try #require(sizes.randomElement(using: &random)) + Int.random(in: 0...20, using: &random)
      let fields = PublishFields(
        topic: (0..<topicSize).map { _ in UInt8.random(in: 0x30...0x7E, using: &random) },
        payload: random.bytes(payloadSize), qos: qos, retain: .random(using: &random),
        duplicate: qos != .atMostOnce && .random(using: &random),
        identifier: qos == .atMostOnce ? nil : .random(in: 1...65_535, using: &random))
      for version in ProtocolVersion.all {
        #expect(try PublishFields(decoding: fields.packet(version), version) == fields)
      }
    }
  }

  @Test func longestTopic() throws {
    let fields = PublishFields(topic: Self.text(65_535))
    for version in ProtocolVersion.all {
      #expect(try PublishFields(decoding: fields.packet(version), version) == fields)
    }
  }
}
