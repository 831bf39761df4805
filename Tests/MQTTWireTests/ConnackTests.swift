import MQTTWire
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
    var reasonString: [UInt8] = []
    var serverKeepAlive: UInt16? = nil
    var serverReference: [UInt8] = []
  }

  private func fields(_ connack: Connack, in body: [UInt8]) -> Fields {
    Fields(
      sessionPresent: connack.sessionPresent, reasonCode: connack.reasonCode,
      sessionExpiryInterval: connack.sessionExpiryInterval, receiveMaximum: connack.receiveMaximum,
      maximumQoS: connack.maximumQoS, retainAvailable: connack.retainAvailable,
      maximumPacketSize: connack.maximumPacketSize,
      assignedClientIdentifier: body[connack.assignedClientIdentifier],
      reasonString: body[connack.reasonString], serverKeepAlive: connack.serverKeepAlive,
      serverReference: body[connack.serverReference])
  }

  /// Table 3-1 of 5.0, without Success.
  static let refusals: [UInt8] =
    Array(0x80...0x8A) + [0x8C, 0x90, 0x95, 0x97, 0x99, 0x9A, 0x9B, 0x9C, 0x9D, 0x9F]

  static let cases: [String: Fields] = {
    var cases = [
      "connack-311-accepted": Fields(),
      "connack-311-session-present": Fields(sessionPresent: true),
      "connack-311-protocol-version": Fields(reasonCode: 1),
      "connack-311-identifier-rejected": Fields(reasonCode: 2),
      "connack-311-server-unavailable": Fields(reasonCode: 3),
      "connack-311-bad-user-name-or-password": Fields(reasonCode: 4),
      "connack-311-not-authorized": Fields(reasonCode: 5),
      "connack-5-success": Fields(),
      "connack-5-session-present": Fields(sessionPresent: true),
      "connack-5-old-refusal": Fields(reasonCode: 1),
      "connack-5-session-expiry-interval": Fields(sessionExpiryInterval: 3600),
      "connack-5-receive-maximum": Fields(receiveMaximum: 20),
      "connack-5-maximum-qos": Fields(maximumQoS: 0),
      "connack-5-retain-available": Fields(retainAvailable: false),
      "connack-5-maximum-packet-size": Fields(maximumPacketSize: 0x0102_0304),
      "connack-5-assigned-client-identifier": Fields(assignedClientIdentifier: "auto-1".bytes),
      "connack-5-topic-alias-maximum": Fields(),
      "connack-5-reason-string": Fields(reasonString: "ok".bytes),
      "connack-5-user-property": Fields(),
      "connack-5-wildcard-subscription-available": Fields(),
      "connack-5-subscription-identifiers-available": Fields(),
      "connack-5-shared-subscription-available": Fields(),
      "connack-5-server-keep-alive": Fields(serverKeepAlive: 30),
      "connack-5-response-information": Fields(),
      "connack-5-server-reference": Fields(reasonCode: 0x9D, serverReference: "b:1883".bytes),
      "connack-5-authentication-method": Fields(),
      "connack-5-authentication-data": Fields(),
      "connack-5-every-property": Fields(
        sessionPresent: true, sessionExpiryInterval: 3600, receiveMaximum: 20, maximumQoS: 1,
        retainAvailable: false, maximumPacketSize: 65_536, assignedClientIdentifier: "auto-1".bytes,
        reasonString: "ok".bytes, serverKeepAlive: 30, serverReference: "b:1883".bytes),
      "connack-5-property-length-128": Fields(
        reasonCode: 0x80, reasonString: [UInt8](repeating: 0x61, count: 125)),
    ]
    for code in refusals {
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

  /// Table 3.1 of 3.1.1: 0 to 5, the others are reserved.
  @Test func everyReturnCode() {
    for code in UInt8.min ... .max {
      let body: [UInt8] = [0, code]
      if code <= 5 {
        #expect((try? Connack(parsing: body.span, version: .v3_1_1))?.reasonCode == code)
      } else {
        #expect(throws: Malformed.reasonCode) { try Connack(parsing: body.span, version: .v3_1_1) }
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
}
