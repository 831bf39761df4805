import MQTTWire
import TestSupport
import Testing

@Suite struct ConnackTests {
  /// What a CONNACK says; the defaults are those of §3.2.2.3.
  struct Fields: Equatable, Sendable {
    var sessionPresent = false
    var reasonCode: UInt8 = 0
    var sessionExpiryInterval: UInt32? = nil
    var receiveMaximum: UInt16 = 65_535
    var maximumQoS: UInt8 = 2
    var retainAvailable = true
    var maximumPacketSize: UInt32 = 0
    var assignedClientIdentifier: [UInt8] = []
    var topicAliasMaximum: UInt16 = 0
    var reasonString: [UInt8] = []
    var wildcardSubscriptionAvailable = true
    var subscriptionIdentifiersAvailable = true
    var sharedSubscriptionAvailable = true
    var serverKeepAlive: UInt16? = nil
    var responseInformation: [UInt8] = []
    var serverReference: [UInt8] = []
    var authenticationMethod: [UInt8] = []
    var authenticationData: [UInt8] = []
    /// As they are on the wire.
    var properties: [UInt8] = []
  }

  private func fields(_ connack: Connack, in body: [UInt8]) -> Fields {
    Fields(
      sessionPresent: connack.sessionPresent, reasonCode: connack.reasonCode,
      sessionExpiryInterval: connack.sessionExpiryInterval, receiveMaximum: connack.receiveMaximum,
      maximumQoS: connack.maximumQoS, retainAvailable: connack.retainAvailable,
      maximumPacketSize: connack.maximumPacketSize,
      assignedClientIdentifier: body[connack.assignedClientIdentifier],
      topicAliasMaximum: connack.topicAliasMaximum, reasonString: body[connack.reasonString],
      wildcardSubscriptionAvailable: connack.wildcardSubscriptionAvailable,
      subscriptionIdentifiersAvailable: connack.subscriptionIdentifiersAvailable,
      sharedSubscriptionAvailable: connack.sharedSubscriptionAvailable,
      serverKeepAlive: connack.serverKeepAlive, responseInformation: body[connack.responseInformation],
      serverReference: body[connack.serverReference],
      authenticationMethod: body[connack.authenticationMethod],
      authenticationData: body[connack.authenticationData], properties: body[connack.properties])
  }

  private static let everyProperty = Fields(
    sessionPresent: true, sessionExpiryInterval: 3600, receiveMaximum: 20, maximumQoS: 1,
    retainAvailable: false, maximumPacketSize: 65_536, assignedClientIdentifier: "auto-1".bytes,
    topicAliasMaximum: 10, reasonString: "ok".bytes, sharedSubscriptionAvailable: false,
    serverKeepAlive: 30, responseInformation: "r/".bytes, serverReference: "b:1883".bytes,
    authenticationMethod: "PLAIN".bytes, authenticationData: [0x00, 0xFF, 0x80],
    properties: Array(vector("connack-5-every-property")[5...]))

  static let cases: [String: Fields] = {
    var cases = [
      "connack-311-accepted": Fields(),
      "connack-311-session-present": Fields(sessionPresent: true),
      "connack-311-protocol-version": Fields(reasonCode: 1),
      "connack-311-identifier-rejected": Fields(reasonCode: 2),
      "connack-311-server-unavailable": Fields(reasonCode: 3),
      "connack-311-bad-user-name-or-password": Fields(reasonCode: 4),
      "connack-311-not-authorized": Fields(reasonCode: 5),
      "connack-31-accepted": Fields(),
      "connack-31-reserved-byte": Fields(),
      "connack-31-reserved-bit-0": Fields(reasonCode: 5),
      "connack-31-protocol-version": Fields(reasonCode: 1),
      "connack-31-identifier-rejected": Fields(reasonCode: 2),
      "connack-31-server-unavailable": Fields(reasonCode: 3),
      "connack-31-bad-user-name-or-password": Fields(reasonCode: 4),
      "connack-31-not-authorized": Fields(reasonCode: 5),
      "connack-5-success": Fields(),
      "connack-5-session-present": Fields(sessionPresent: true),
      "connack-5-old-refusal": Fields(reasonCode: 0x84),
      "connack-5-session-expiry-interval": Fields(
        sessionExpiryInterval: 3600, properties: hex("11 00 00 0E 10")),
      "connack-5-receive-maximum": Fields(receiveMaximum: 20, properties: hex("21 00 14")),
      "connack-5-maximum-qos": Fields(maximumQoS: 0, properties: hex("24 00")),
      "connack-5-retain-available": Fields(retainAvailable: false, properties: hex("25 00")),
      "connack-5-maximum-packet-size": Fields(
        maximumPacketSize: 0x0102_0304, properties: hex("27 01 02 03 04")),
      "connack-5-assigned-client-identifier": Fields(
        assignedClientIdentifier: "auto-1".bytes, properties: [0x12, 0, 6] + "auto-1".bytes),
      "connack-5-topic-alias-maximum": Fields(topicAliasMaximum: 10, properties: hex("22 00 0A")),
      "connack-5-reason-string": Fields(
        reasonString: "ok".bytes, properties: [0x1F, 0, 2] + "ok".bytes),
      "connack-5-user-property": Fields(properties: hex("26 00 01 61 00 01 62")),
      "connack-5-wildcard-subscription-available": Fields(
        wildcardSubscriptionAvailable: false, properties: hex("28 00")),
      "connack-5-subscription-identifiers-available": Fields(
        subscriptionIdentifiersAvailable: false, properties: hex("29 00")),
      "connack-5-shared-subscription-available": Fields(
        sharedSubscriptionAvailable: false, properties: hex("2A 00")),
      "connack-5-server-keep-alive": Fields(serverKeepAlive: 30, properties: hex("13 00 1E")),
      "connack-5-response-information": Fields(
        responseInformation: "r/".bytes, properties: hex("1A 00 02 72 2F")),
      "connack-5-server-reference": Fields(
        reasonCode: 0x9D, serverReference: "b:1883".bytes, properties: [0x1C, 0, 6] + "b:1883".bytes),
      "connack-5-authentication-method": Fields(
        authenticationMethod: "PLAIN".bytes, properties: [0x15, 0, 5] + "PLAIN".bytes),
      "connack-5-authentication-data": Fields(
        authenticationMethod: "PLAIN".bytes, authenticationData: [0x00, 0xFF, 0x80],
        properties: [0x15, 0, 5] + "PLAIN".bytes + hex("16 00 03 00 FF 80")),
      "connack-5-every-property": everyProperty,
      "connack-5-property-length-128": Fields(
        reasonCode: 0x80, reasonString: [UInt8](repeating: 0x61, count: 125),
        properties: hex("1F 00 7D 61*125")),
    ]
    for code in Kind.refusals {
      cases["connack-5-" + String(code, radix: 16, uppercase: true)] = Fields(reasonCode: code)
    }
    return cases
  }()

  @Test(arguments: cases.keys.sorted())
  func decodes(name: String) throws {
    let (header, body) = try split(vector(name), Vector.named(name).version)
    #expect(header.type == .connack)
    let connack = try Connack(parsing: body.span, version: Vector.named(name).version)
    #expect(fields(connack, in: body) == Self.cases[name])
    #expect(connack.isAccepted == (connack.reasonCode == 0))
  }

  /// Table 3.1 of 3.1.1, and 3.1 §3.2: 0 to 5, the others are reserved.
  @Test(arguments: [ProtocolVersion.v3_1, .v3_1_1])
  func everyReturnCode(version: ProtocolVersion) {
    for code in UInt8.min ... .max {
      let body: [UInt8] = [0, code]
      if code <= 5 {
        #expect((try? Connack(parsing: body.span, version: version))?.reasonCode == code)
      } else {
        #expect(throws: Malformed.reasonCode) { try Connack(parsing: body.span, version: version) }
      }
    }
  }

  /// Table 3-1 of 5.0 [MQTT-3.2.2-8]. A code of 0x80 and above which is not in it is still a refusal (§2.4).
  @Test func everyReasonCode() {
    for code in UInt8.min ... .max {
      let body: [UInt8] = [0, code, 0]
      if code == 0 || code >= 0x80 {
        let connack = try? Connack(parsing: body.span, version: .v5_0)
        #expect(connack?.reasonCode == code)
        #expect(connack?.isAccepted == (code == 0))
      } else {
        #expect(throws: Malformed.reasonCode) { try Connack(parsing: body.span, version: .v5_0) }
      }
    }
  }

  /// 3.1 §3.2: the first byte is reserved, whatever it says.
  @Test func reservedByteOf31() throws {
    for byte in UInt8.min ... .max {
      let body: [UInt8] = [byte, 0]
      let connack = try Connack(parsing: body.span, version: .v3_1)
      #expect(connack.isAccepted)
      #expect(!connack.sessionPresent)
    }
  }
}
