import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

/// leave() and disconnect().
@Suite struct DisconnectTests {
  @Test func leaveTakesNothingNew() throws {
    let harness = PublishTests.harness(.v3_1_1)
    try harness.publish(qos: .atLeastOnce, cookie: 1)
    harness.session.beginDisconnect(reasonCode: 0, properties: Span())
    let before = harness.numbers
    #expect(throws: SessionError.leaving) { try harness.publish() }
    // Also where something else is wrong with it.
    #expect(throws: SessionError.leaving) { try harness.publish("#") }
    #expect(harness.numbers == before)
    // What is there goes on.
    #expect(!harness.isDrained)
    #expect(harness.drain() == publish(.v3_1_1, qos: .atLeastOnce, identifier: 1))
    harness.receive(puback(1))
    #expect(harness.isDrained)
    #expect(harness.ending == nil)
    #expect(harness.events() == [.delivered(1)])
    // The next connection, or its absence, takes messages again.
    harness.lose()
    try harness.publish()
    harness.connect()
    harness.session.beginDisconnect(reasonCode: 0, properties: Span())
    harness.reconnect(sessionPresent: false)
    try harness.publish()
    harness.lose()
    harness.session.beginDisconnect(reasonCode: 0, properties: Span())
    harness.connect()
    try harness.publish()
  }

  @Test(arguments: bothVersions)
  func isDrained(version: ProtocolVersion) throws {
    let harness = PublishTests.harness(version)
    #expect(harness.isDrained)
    try harness.publish(qos: .exactlyOnce, cookie: 1)
    #expect(!harness.isDrained)
    _ = harness.drain()
    #expect(!harness.isDrained)
    harness.receive(pubrec(1))
    #expect(!harness.isDrained)
    _ = harness.drain()
    #expect(!harness.isDrained)
    harness.receive(pubcomp(1))
    // The event may wait.
    #expect(harness.isDrained)
    #expect(harness.events() == [.delivered(1)])
    #expect(harness.isDrained)
    // An answer that has not left.
    harness.receive(pubrec(9))
    #expect(!harness.isDrained)
    _ = harness.drain()
    #expect(harness.isDrained)
    // QoS 0 is complete when it is sent, quiet or not.
    try harness.publish(isQuiet: true)
    #expect(!harness.isDrained)
    _ = harness.drain()
    #expect(harness.isDrained)
  }

  /// [MQTT-3.14.4-1]
  @Test(arguments: bothVersions, [0, 1, 5])
  func disconnectIsLast(version: ProtocolVersion, under: Int) throws {
    let harness = PublishTests.harness(version)
    try harness.publish("a", [1, 2, 3])
    try harness.publish("b", [1, 2, 3], qos: .atLeastOnce)
    let message = publish(version, "a", [1, 2, 3], qos: .atMostOnce)
    if under > 0 { #expect(harness.transmit(under) == Array(message.prefix(under))) }
    harness.receive(pubrec(70))
    _ = harness.session.disconnect()
    #expect(harness.ending?.cause == .requested)
    #expect(harness.ending?.reasonCode == nil)
    #expect(!harness.isConnected)
    #expect(harness.wantsTransmit)
    #expect(!harness.wantsReceive)
    let rest = under > 0 ? Array(message.dropFirst(under)) : []
    #expect(harness.drain(piece: 3) == rest + pubrel(70, version == .v5_0 ? 0x92 : 0) + [0xE0, 0])
    #expect(!harness.wantsTransmit)
    #expect(harness.transmit() == nil)
    // The rest stays for the next connection.
    #expect(harness.events() == (under > 0 ? [.delivered(0)] : []))
    harness.reconnect(sessionPresent: true)
    #expect(harness.ending == nil)
    let again = publish(version, "b", [1, 2, 3], qos: .atLeastOnce, identifier: 2)
    #expect(harness.drain() == (under > 0 ? [] : message) + again)
  }

  /// Also where PUBREL packets of an earlier connection wait to be sent again.
  @Test(arguments: bothVersions)
  func disconnectIsLastWithReleasesDue(version: ProtocolVersion) throws {
    let harness = PublishTests.harness(version)
    try harness.publish(qos: .exactlyOnce)
    _ = harness.drain()
    harness.receive(pubrec(1))
    _ = harness.drain()
    harness.reconnect(sessionPresent: true)
    _ = harness.session.disconnect()
    #expect(packets(harness.drain()).last == [0xE0, 0])
  }

  /// The same after an end of another kind: nothing follows the DISCONNECT that says why, and nothing at
  /// all a DISCONNECT of the server's.
  @Test func nothingBehindTheEnd() throws {
    for (packet, expected) in [(hex("00 00"), [0xE0, 1, 0x81]), (hex("E0 00"), [])] as [([UInt8], [UInt8])] {
      let harness = PublishTests.harness(.v5_0)
      try harness.publish(qos: .exactlyOnce)
      _ = harness.drain()
      harness.receive(pubrec(1))
      _ = harness.drain()
      harness.lose()
      harness.connect(sessionPresent: true)
      harness.receive(packet)
      #expect(harness.ending != nil)
      #expect(harness.drain() == expected)
    }
  }

  /// With as many answers waiting as the control queue holds: the goodbye must not be lost, or the server
  /// publishes the Will.
  @Test(arguments: bothVersions)
  func disconnectWithAFullControlQueue(version: ProtocolVersion) {
    let harness = PublishTests.harness(version)
    harness.receive((1000..<1200).flatMap { pubrec($0) })
    _ = harness.session.disconnect()
    #expect(packets(harness.drain()).last == [0xE0, 0])
  }

  /// What it is to say may be larger than what is kept free for it: then it waits for what is in its way.
  @Test func propertiesWaitForRoom() {
    let words = property(0x1F, String(repeating: "r", count: 40))
    let harness = SessionHarness(.v5_0) { $0.controlBytes = 64 }
    harness.connect()
    harness.receive((1000..<1200).flatMap { pubrec($0) })
    harness.session.beginDisconnect(reasonCode: 0x04, properties: words.span)
    #expect(!harness.disconnect())
    #expect(harness.ending == nil)
    var sent: [UInt8] = []
    while !harness.disconnect(), let more = harness.transmit() { sent += more }
    #expect(harness.ending?.cause == .requested)
    sent += harness.drain()
    #expect(packets(sent).dropLast().allSatisfy { $0[0] == 0x62 })
    #expect(packets(sent).last == disconnect(0x04, words))
  }

  /// [MQTT-3.2.2-15] [MQTT-3.14.2-3]: as large as the server takes, and not a byte more.
  @Test func propertiesAndMaximumPacketSize() {
    for size in 4...256 {
      let words = property(0x1F, String(repeating: "r", count: size - 3))
      let full = disconnect(0x04, words)
      for limit in full.count - 2...full.count {
        let harness = PublishTests.harness(.v5_0, properties: maximumPacketSize(UInt16(limit)))
        harness.session.beginDisconnect(reasonCode: 0x04, properties: words.span)
        #expect(harness.disconnect())
        #expect(harness.drain() == (full.count <= limit ? full : [0xE0, 1, 0x04]), "\(size), \(limit)")
      }
    }
  }

  /// [MQTT-3.14.2-3] [MQTT-3.14.2-4]: what stays out for its size is text, not the end of the session (§3.14.2.2.2).
  @Test func sessionExpiryStays() {
    let expiry = property(0x11, number: 0)
    let harness = SessionHarness(.v5_0) { $0.sessionExpiry = 9 }
    harness.connect(properties: maximumPacketSize(30))
    let words = expiry + property(0x1F, String(repeating: "r", count: 50))
    harness.session.beginDisconnect(reasonCode: 0x00, properties: words.span)
    #expect(harness.disconnect())
    #expect(harness.drain() == disconnect(0, expiry))
  }

  /// Once CONNECT is out the server would publish the Will: DISCONNECT does not wait for CONNACK (§3.1.4). Before
  /// that there is nobody to say goodbye to.
  @Test(arguments: bothVersions, [0, 3, Int.max])
  func disconnectBeforeConnack(version: ProtocolVersion, sent: Int) {
    let harness = SessionHarness(version)
    harness.session.connectionOpened()
    if sent > 0 { _ = harness.transmit(sent) }
    _ = harness.session.disconnect()
    #expect(harness.ending?.cause == .requested)
    #expect(!harness.wantsReceive)
    #expect(harness.drain() == (sent == .max ? [0xE0, 0] : []))
    #expect(!harness.wantsTransmit)
    harness.lose()
    harness.connect()
    #expect(harness.isConnected)
    #expect(harness.ending == nil)
  }
}
