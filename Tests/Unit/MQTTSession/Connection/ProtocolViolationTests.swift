import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

/// Each rule a server may break with packets that can be parsed (§4.13): what is it told, and what is left of the session?
/// Malformed ones are in ReceivedTests.
@Suite struct ProtocolViolationTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let violation: ProtocolViolation
    /// What DISCONNECT says in 5.0.
    var code: UInt8 = 0x82
    let what: String
    var versions = bothVersions
    /// It is the answer to the SUBSCRIBE, which ends with it: sent again, it would be answered like that again.
    var endsRequest = false
    let packet: @Sendable (ProtocolVersion) -> [UInt8]
    var testDescription: String { "\(violation): \(what)" }
  }

  static let only5: [ProtocolVersion] = [.v5_0]
  static let long = String(repeating: "t", count: 300)

  static let cases: [Case] = [
    Case(violation: .unexpectedPacket, what: "CONNECT") { _ in hex("10 00") },
    Case(violation: .unexpectedPacket, what: "CONNACK once more") { connack($0) },
    Case(violation: .unexpectedPacket, what: "SUBSCRIBE") { request($0, 0x82, 1, [("f", 0)]) },
    Case(violation: .unexpectedPacket, what: "UNSUBSCRIBE") { request($0, 0xA2, 1, [("f", nil)]) },
    Case(violation: .unexpectedPacket, what: "PINGREQ") { _ in pingreq },
    Case(violation: .unexpectedPacket, what: "DISCONNECT", versions: [.v3_1_1]) { _ in hex("E0 00") },
    Case(violation: .handshake, what: "PUBREC for QoS 1") { _ in pubrec(1) },
    Case(violation: .handshake, what: "PUBCOMP for QoS 1") { _ in pubcomp(1) },
    Case(violation: .handshake, what: "PUBREL before PUBREC") { _ in pubrel(40) },
    Case(violation: .handshake, what: "SUBACK for nobody") { suback($0, 65_281, [0]) },
    Case(violation: .handshake, what: "UNSUBACK for SUBSCRIBE") { unsuback($0, 65_280, [0]) },
    Case(violation: .reasonCodeCount, what: "a code too many", endsRequest: true) {
      suback($0, 65_280, [0, 0])
    },
    Case(violation: .topicAlias, code: 0x94, what: "above the maximum", versions: only5) {
      publish($0, "a", qos: .atMostOnce, properties: topicAlias(3))
    },
    Case(violation: .unknownTopicAlias, what: "never set", versions: only5) {
      publish($0, "", qos: .atMostOnce, properties: topicAlias(2))
    },
    Case(violation: .receiveMaximum, code: 0x93, what: "a second message", versions: only5) {
      publish($0, "a", qos: .atLeastOnce, identifier: 50)
    },
    Case(violation: .packetTooLarge, code: 0x95, what: "PUBLISH", versions: only5) {
      publish($0, long, qos: .atMostOnce)
    },
    Case(violation: .packetTooLarge, code: 0x95, what: "SUBACK larger than the buffer", endsRequest: true) {
      suback($0, 65_280, [UInt8](repeating: 0, count: 300))
    },
    Case(violation: .unexpectedAuthentication, what: "AUTH", versions: only5) { _ in hex("F0 00") },
  ]

  @Test(arguments: cases)
  func whileConnected(_ test: Case) throws {
    for version in test.versions {
      for piece in [1, .max] {
        let harness = SessionHarness(version) {
          $0.receiveBytes = 128
          $0.receiveMaximum = 1
          $0.aliasesReceived = 2
        }
        harness.connect()
        try harness.publish(qos: .atLeastOnce, cookie: 1)
        try harness.subscribe(["f"], cookie: 2)
        _ = harness.drain()
        harness.receive(publish(version, "m", qos: .exactlyOnce, identifier: 40))
        #expect(harness.events().count == 2)
        harness.receive(pubrec(99))
        _ = harness.drain()
        // Held from now on.
        harness.receive(pubrel(40))
        _ = harness.drain()
        harness.receive(publish(version, "m", qos: .exactlyOnce, identifier: 40))
        _ = harness.event()
        #expect(harness.hold())
        let token = harness.token
        harness.session.releaseEvent()

        // Behind it a PUBACK that nobody looks at any more.
        harness.receive(test.packet(version) + puback(1), piece: piece)
        #expect(harness.ending?.cause == .violation(test.violation))
        #expect(harness.ending?.reasonCode == (version == .v5_0 ? test.code : nil))
        #expect(!harness.isConnected)
        #expect(!harness.wantsReceive)
        #expect(harness.nextDeadline == nil)
        #expect(harness.drain() == (version == .v5_0 ? [0xE0, 1, test.code] : []))
        #expect(!harness.wantsTransmit)
        #expect(harness.events() == (test.endsRequest ? [.failed(2, .unreadable)] : []))

        harness.reconnect(sessionPresent: true)
        #expect(
          harness.drain()
            == (test.endsRequest ? [] : request(version, 0x82, 65_280, [("f", 0)]))
            + publish(version, qos: .atLeastOnce, identifier: 1, duplicate: true))
        harness.receive(publish(version, "m", qos: .exactlyOnce, identifier: 40, duplicate: true))
        harness.receive(puback(1) + (test.endsRequest ? [] : suback(version, 65_280, [0])))
        #expect(
          harness.events() == [.connected(sessionPresent: true), .delivered(1)]
            + (test.endsRequest ? [] : [.answered(2, [0], refusal: nil)]))
        try harness.acknowledge(token)
        #expect(harness.drain() == pubrec(40))
      }
    }
  }

  /// Before CONNACK (ConnectPacketsTests has every packet): what is queued is still there afterwards.
  @Test func beforeConnack() throws {
    let cases: [(ProtocolViolation, [ProtocolVersion], Bool, [UInt8], UInt8)] = [
      (.firstPacket, bothVersions, true, pingresp, 0x82),
      (.unwantedSession, [.v3_1_1], false, connack(.v3_1_1, sessionPresent: true), 0),
      (.unwantedSession, Self.only5, false, connack(.v5_0, sessionPresent: true), 0x82),
      (.packetTooLarge, bothVersions, true, [0x20, 0xFF, 0x7F], 0x95),
      (.unexpectedAuthentication, Self.only5, true, auth(0x18, authenticationMethod("M")), 0x82),
      (
        .unexpectedAuthentication, Self.only5, true, connack(.v5_0, properties: authenticationMethod("M")),
        0x82
      ),
    ]
    for (violation, versions, keepSession, packet, code) in cases {
      for version in versions {
        let harness = SessionHarness(version) { $0.keepSession = keepSession }
        try harness.publish(qos: .exactlyOnce)
        try harness.subscribe(["f"])
        harness.open()
        harness.receive(packet)
        #expect(harness.ending?.cause == .violation(violation), "\(violation)")
        #expect(harness.drain() == (version == .v5_0 ? [0xE0, 1, code] : []), "\(violation)")
        #expect(harness.events() == [])
        harness.reconnect(sessionPresent: false)
        #expect(
          harness.drain()
            == request(version, 0x82, 65_280, [("f", 0)])
            + publish(version, qos: .exactlyOnce, identifier: 1))
      }
    }
  }

  /// All of them have been looked at.
  @Test func noneIsForgotten() {
    let tested = Set(Self.cases.map(\.violation.rawValue))
      .union([ProtocolViolation.firstPacket.rawValue, ProtocolViolation.unwantedSession.rawValue])
    #expect(tested == Set(21...30))
    #expect(ProtocolViolation(rawValue: 20) == nil && ProtocolViolation(rawValue: 31) == nil)
  }
}
