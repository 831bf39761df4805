import MQTTWire
import TestSupport
import Testing

/// What a test says about a CONNECT; the rest is that of the shortest vector.
struct ConnectCase: Sendable {
  var version = ProtocolVersion.v3_1_1
  var cleanStart = true
  var keepAlive: UInt16 = 10
  var clientID = "c"
  var userName = ""
  var password: [UInt8] = []
  var willTopic = ""
  var willPayload = ""
  var willQoS = QoS.atMostOnce
  var willRetain = false
  var willProperties: [UInt8] = []
  var sessionExpiryInterval: UInt32 = 0
  var receiveMaximum: UInt16 = 0
  var maximumPacketSize: UInt32 = 1024
  var topicAliasMaximum: UInt16 = 0
  /// Whatever else stands among the properties.
  var properties: [UInt8] = []

  var packet: [UInt8] {
    let (clientID, userName) = (clientID.bytes, userName.bytes)
    let (willTopic, willPayload) = (willTopic.bytes, willPayload.bytes)
    var session = Connect.SessionProperties()
    session.sessionExpiryInterval = sessionExpiryInterval
    session.receiveMaximum = receiveMaximum
    session.maximumPacketSize = maximumPacketSize
    session.topicAliasMaximum = topicAliasMaximum
    let connect = Connect(
      version: version, cleanStart: cleanStart, keepAlive: keepAlive, clientID: clientID.span,
      userName: userName.span, password: password.span,
      will: Connect.Will(
        topic: willTopic.span, payload: willPayload.span, qos: willQoS, retain: willRetain,
        properties: willProperties.span),
      session: session, properties: properties.span)
    return encoded(connect.encodedSize) { connect.encode(into: &$0) }
  }
}

@Suite struct ConnectTests {
  /// "a" = "b", "a" = "c", and "a" = "b" again.
  private static let userProperties: [UInt8] = hex(
    "26 00 01 61 00 01 62 26 00 01 61 00 01 63 26 00 01 61 00 01 62")
  private static let willDelay: [UInt8] = hex("18 00 00 00 1E")

  private static let everyWillProperty: [UInt8] = hex(
    "18 00 00 00 1E 01 01 02 00 00 00 3C 03 00 04 74 65 78 74 08 00 03 72 2F 31 09 00 02 00 FF "
      + "26 00 01 61 00 01 62 26 00 01 61 00 01 63 26 00 01 61 00 01 62")
  /// Those that are not among SessionProperties.
  private static let otherProperties: [UInt8] = hex(
    "19 01 17 00 26 00 01 61 00 01 62 26 00 01 61 00 01 63 26 00 01 61 00 01 62 "
      + "15 00 05 50 4C 41 49 4E 16 00 03 00 FF 80")

  /// "a" = "zz…z".
  private static func longUserProperty(valueSize: Int) -> [UInt8] {
    hex("26 00 01 61 00") + [UInt8(valueSize)] + [UInt8](repeating: 0x7A, count: valueSize)
  }

  static let cases: [String: ConnectCase] = [
    "connect-311-minimal": ConnectCase(keepAlive: 0, clientID: ""),
    "connect-311-full": ConnectCase(
      keepAlive: 60, clientID: "gw-7", userName: "meter", password: "s3cret".bytes,
      willTopic: "gateway/7/status", willPayload: "offline", willQoS: .atLeastOnce, willRetain: true),
    "connect-311-persistent": ConnectCase(cleanStart: false),
    "connect-311-clean": ConnectCase(),
    "connect-311-keep-alive-maximum": ConnectCase(keepAlive: 65_535),
    "connect-311-will-qos0": ConnectCase(willTopic: "w", willPayload: "x"),
    "connect-311-will-qos1": ConnectCase(willTopic: "w", willPayload: "x", willQoS: .atLeastOnce),
    "connect-311-will-qos2": ConnectCase(willTopic: "w", willPayload: "x", willQoS: .exactlyOnce),
    "connect-311-will-retain": ConnectCase(willTopic: "w", willPayload: "x", willRetain: true),
    "connect-311-will-empty": ConnectCase(willTopic: "w"),
    "connect-311-user": ConnectCase(userName: "u"),
    "connect-311-user-password": ConnectCase(userName: "u", password: [0]),
    "connect-311-remaining-length-127": ConnectCase(clientID: String(repeating: "a", count: 115)),
    "connect-311-remaining-length-128": ConnectCase(clientID: String(repeating: "a", count: 116)),
    "connect-31-minimal": ConnectCase(version: .v3_1, keepAlive: 0),
    "connect-31-full": ConnectCase(
      version: .v3_1, keepAlive: 60, clientID: "gw-7", userName: "meter", password: "s3cret".bytes,
      willTopic: "gateway/7/status", willPayload: "offline", willQoS: .atLeastOnce, willRetain: true),
    "connect-31-persistent": ConnectCase(version: .v3_1, cleanStart: false),
    "connect-31-user": ConnectCase(version: .v3_1, userName: "u"),
    "connect-31-remaining-length-127": ConnectCase(
      version: .v3_1, userName: String(repeating: "a", count: 110)),
    "connect-31-remaining-length-128": ConnectCase(
      version: .v3_1, userName: String(repeating: "a", count: 111)),
    "connect-5-bare": ConnectCase(version: .v5_0, keepAlive: 0, clientID: "", maximumPacketSize: 0),
    "connect-5-minimal": ConnectCase(version: .v5_0, keepAlive: 0, clientID: ""),
    "connect-5-full": ConnectCase(
      version: .v5_0, keepAlive: 60, clientID: "gw-7", userName: "meter", password: [0x00, 0xFF, 0x10],
      willTopic: "gateway/7/status", willPayload: "offline", willQoS: .exactlyOnce, willRetain: true,
      sessionExpiryInterval: 3600, maximumPacketSize: 65_536),
    "connect-5-persistent": ConnectCase(version: .v5_0, cleanStart: false, sessionExpiryInterval: .max),
    "connect-5-maximum-packet-size": ConnectCase(version: .v5_0, maximumPacketSize: 0x0102_0304),
    "connect-5-session-expiry-interval": ConnectCase(
      version: .v5_0, sessionExpiryInterval: 0x0102_0304, maximumPacketSize: 0),
    "connect-5-receive-maximum": ConnectCase(version: .v5_0, receiveMaximum: 0x1234, maximumPacketSize: 0),
    "connect-5-topic-alias-maximum": ConnectCase(
      version: .v5_0, maximumPacketSize: 0, topicAliasMaximum: 0x5678),
    "connect-5-user-properties": ConnectCase(
      version: .v5_0, maximumPacketSize: 0, properties: userProperties),
    "connect-5-authentication": ConnectCase(
      version: .v5_0, maximumPacketSize: 0,
      properties: hex("15 00 0D 53 43 52 41 4D 2D 53 48 41 2D 32 35 36 16 00 00")),
    "connect-5-every-property": ConnectCase(
      version: .v5_0, cleanStart: false, keepAlive: 60, clientID: "gw-7", userName: "meter",
      password: [0x00, 0xFF, 0x10], willTopic: "w", willPayload: "x", willQoS: .atLeastOnce,
      willProperties: everyWillProperty, sessionExpiryInterval: 3600, receiveMaximum: 20,
      maximumPacketSize: 65_536, topicAliasMaximum: 10, properties: otherProperties),
    "connect-5-property-length-127": ConnectCase(
      version: .v5_0, properties: longUserProperty(valueSize: 116)),
    "connect-5-property-length-128": ConnectCase(
      version: .v5_0, properties: longUserProperty(valueSize: 117)),
    "connect-5-will-delay-interval": ConnectCase(
      version: .v5_0, willTopic: "w", willPayload: "x", willProperties: willDelay, maximumPacketSize: 0),
    "connect-5-will-user-properties": ConnectCase(
      version: .v5_0, willTopic: "w", willPayload: "x", willProperties: userProperties,
      maximumPacketSize: 0),
    "connect-5-will-property-length-128": ConnectCase(
      version: .v5_0, willTopic: "w", willPayload: "x", willProperties: longUserProperty(valueSize: 122),
      maximumPacketSize: 0),
    "connect-5-will-qos0": ConnectCase(version: .v5_0, willTopic: "w", willPayload: "x"),
    "connect-5-will-qos1": ConnectCase(
      version: .v5_0, willTopic: "w", willPayload: "x", willQoS: .atLeastOnce),
    "connect-5-will-qos2": ConnectCase(
      version: .v5_0, willTopic: "w", willPayload: "x", willQoS: .exactlyOnce),
    "connect-5-will-retain": ConnectCase(
      version: .v5_0, willTopic: "w", willPayload: "x", willRetain: true),
    "connect-5-user": ConnectCase(version: .v5_0, userName: "u"),
    "connect-5-password": ConnectCase(version: .v5_0, password: "p".bytes),
    "connect-5-user-password": ConnectCase(version: .v5_0, userName: "u", password: "p".bytes),
  ]

  @Test(arguments: cases.keys.sorted())
  func encodes(name: String) {
    #expect(Self.cases[name]?.packet == vector(name))
  }

  /// [MQTT-3.1.2-11] [MQTT-3.1.2-13]: without a Will its QoS, RETAIN and properties are not sent.
  @Test(arguments: ProtocolVersion.all)
  func noWillNoFlags(version: ProtocolVersion) {
    let plain = ConnectCase(version: version)
    let odd = ConnectCase(
      version: version, willPayload: "x", willQoS: .exactlyOnce, willRetain: true,
      willProperties: Self.willDelay)
    #expect(odd.packet == plain.packet)
  }

  /// The properties of 5.0, the Will's too, are not for the versions before.
  @Test(arguments: [ProtocolVersion.v3_1, .v3_1_1])
  func propertiesOnlyInVersion5(version: ProtocolVersion) {
    let plain = ConnectCase(version: version, willTopic: "w", maximumPacketSize: 0)
    let odd = ConnectCase(
      version: version, willTopic: "w", willProperties: Self.willDelay, sessionExpiryInterval: 9,
      receiveMaximum: 9, maximumPacketSize: 9, topicAliasMaximum: 9, properties: Self.userProperties)
    #expect(odd.packet == plain.packet)
  }

  /// The properties that stand in the vectors are properties a client may send there.
  @Test(arguments: cases.keys.sorted())
  func propertiesAreAllowed(name: String) throws {
    let fields = try #require(Self.cases[name])
    var connect = PropertyReader(fields.properties.span, in: .packet(.connect, from: .client))
    while try connect.next() != nil {}
    #expect(connect.position == fields.properties.count)
    var will = PropertyReader(fields.willProperties.span, in: .will)
    while try will.next() != nil {}
    #expect(will.position == fields.willProperties.count)
  }

  /// Every field at its largest: three bytes of Remaining Length.
  @Test func largest() {
    let long = String(repeating: "x", count: 65_535)
    let packet = ConnectCase(
      clientID: long, userName: long, password: long.bytes, willTopic: long, willPayload: long
    ).packet
    // 10 + 5 × (2 + 65,535) = 327,695 = 15 + 0 × 128 + 20 × 16,384
    #expect(packet.count == 4 + 327_695)
    #expect(packet.prefix(4) == [0x10, 0x8F, 0x80, 0x14])
    #expect(packet.suffix(65_537) == [0xFF, 0xFF] + long.bytes)
    // Six bytes of name instead of four.
    let old = ConnectCase(
      version: .v3_1, clientID: long, userName: long, password: long.bytes, willTopic: long,
      willPayload: long
    ).packet
    #expect(old.prefix(4) == [0x10, 0x91, 0x80, 0x14])
    #expect(old.dropFirst(14) == packet.dropFirst(12))
  }
}
