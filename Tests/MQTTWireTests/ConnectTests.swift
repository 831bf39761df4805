import MQTTWire
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
  var sessionExpiryInterval: UInt32 = 0
  var maximumPacketSize: UInt32 = 1024

  var packet: [UInt8] {
    let (clientID, userName) = (clientID.bytes, userName.bytes)
    let (willTopic, willPayload) = (willTopic.bytes, willPayload.bytes)
    let connect = Connect(
      version: version, cleanStart: cleanStart, keepAlive: keepAlive, clientID: clientID.span,
      userName: userName.span, password: password.span,
      will: Connect.Will(topic: willTopic.span, payload: willPayload.span, qos: willQoS, retain: willRetain),
      sessionExpiryInterval: sessionExpiryInterval, maximumPacketSize: maximumPacketSize)
    return encoded(connect.encodedSize) { connect.encode(into: &$0) }
  }
}

@Suite struct ConnectTests {
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
    "connect-5-minimal": ConnectCase(version: .v5_0, keepAlive: 0, clientID: ""),
    "connect-5-full": ConnectCase(
      version: .v5_0, keepAlive: 60, clientID: "gw-7", userName: "meter", password: [0x00, 0xFF, 0x10],
      willTopic: "gateway/7/status", willPayload: "offline", willQoS: .exactlyOnce, willRetain: true,
      sessionExpiryInterval: 3600, maximumPacketSize: 65_536),
    "connect-5-persistent": ConnectCase(version: .v5_0, cleanStart: false, sessionExpiryInterval: .max),
    "connect-5-maximum-packet-size": ConnectCase(version: .v5_0, maximumPacketSize: 0x0102_0304),
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

  /// [MQTT-3.1.2-11] [MQTT-3.1.2-13]: without a Will its QoS and RETAIN are not sent.
  @Test(arguments: [ProtocolVersion.v3_1_1, .v5_0])
  func noWillNoFlags(version: ProtocolVersion) {
    let plain = ConnectCase(version: version)
    let odd = ConnectCase(version: version, willPayload: "x", willQoS: .exactlyOnce, willRetain: true)
    #expect(odd.packet == plain.packet)
  }

  /// The properties of 5.0 are not for 3.1.1.
  @Test func propertiesOnlyInVersion5() {
    #expect(
      ConnectCase(sessionExpiryInterval: 9, maximumPacketSize: 9).packet == vector("connect-311-clean"))
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
  }
}
