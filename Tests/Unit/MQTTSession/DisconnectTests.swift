import MQTTWire
import Testing

@testable import MQTTSession

/// leave() and disconnect().
@Suite struct DisconnectTests {
  @Test func leaveTakesNothingNew() throws {
    let rig = PublishTests.rig(.v3_1_1)
    try rig.publish(qos: .atLeastOnce, cookie: 1)
    rig.session.beginDisconnect(reasonCode: 0, properties: Span())
    let before = rig.numbers
    #expect(throws: SessionError.leaving) { try rig.publish() }
    // Also where something else is wrong with it.
    #expect(throws: SessionError.leaving) { try rig.publish("#") }
    #expect(rig.numbers == before)
    // What is there goes on.
    #expect(!rig.isDrained)
    #expect(rig.drain() == publish(.v3_1_1, qos: .atLeastOnce, identifier: 1))
    rig.receive(puback(1))
    #expect(rig.isDrained)
    #expect(rig.ending == nil)
    #expect(rig.events() == [.delivered(1)])
    // The next connection, or its absence, takes messages again.
    rig.lose()
    try rig.publish()
    rig.connect()
    rig.session.beginDisconnect(reasonCode: 0, properties: Span())
    rig.reconnect(sessionPresent: false)
    try rig.publish()
    rig.lose()
    rig.session.beginDisconnect(reasonCode: 0, properties: Span())
    rig.connect()
    try rig.publish()
  }

  @Test(arguments: bothVersions)
  func isDrained(version: ProtocolVersion) throws {
    let rig = PublishTests.rig(version)
    #expect(rig.isDrained)
    try rig.publish(qos: .exactlyOnce, cookie: 1)
    #expect(!rig.isDrained)
    _ = rig.drain()
    #expect(!rig.isDrained)
    rig.receive(pubrec(1))
    #expect(!rig.isDrained)
    _ = rig.drain()
    #expect(!rig.isDrained)
    rig.receive(pubcomp(1))
    // The event may wait.
    #expect(rig.isDrained)
    #expect(rig.events() == [.delivered(1)])
    #expect(rig.isDrained)
    // An answer that has not left.
    rig.receive(pubrec(9))
    #expect(!rig.isDrained)
    _ = rig.drain()
    #expect(rig.isDrained)
    // QoS 0 is complete when it is sent, quiet or not.
    try rig.publish(isQuiet: true)
    #expect(!rig.isDrained)
    _ = rig.drain()
    #expect(rig.isDrained)
  }

  /// [MQTT-3.14.4-1]
  @Test(arguments: bothVersions, [0, 1, 5])
  func disconnectIsLast(version: ProtocolVersion, under: Int) throws {
    let rig = PublishTests.rig(version)
    try rig.publish("a", [1, 2, 3])
    try rig.publish("b", [1, 2, 3], qos: .atLeastOnce)
    let message = publish(version, "a", [1, 2, 3], qos: .atMostOnce)
    if under > 0 { #expect(rig.transmit(under) == Array(message.prefix(under))) }
    rig.receive(pubrec(70))
    _ = rig.session.disconnect()
    #expect(rig.ending?.cause == .requested)
    #expect(rig.ending?.reasonCode == nil)
    #expect(!rig.isConnected)
    #expect(rig.wantsTransmit)
    #expect(!rig.wantsReceive)
    let rest = under > 0 ? Array(message.dropFirst(under)) : []
    #expect(rig.drain(piece: 3) == rest + pubrel(70, version == .v5_0 ? 0x92 : 0) + [0xE0, 0])
    #expect(!rig.wantsTransmit)
    #expect(rig.transmit() == nil)
    // The rest stays for the next connection.
    #expect(rig.events() == (under > 0 ? [.delivered(0)] : []))
    rig.reconnect(sessionPresent: true)
    #expect(rig.ending == nil)
    let again = publish(version, "b", [1, 2, 3], qos: .atLeastOnce, identifier: 2)
    #expect(rig.drain() == (under > 0 ? [] : message) + again)
  }

  /// Also where PUBREL packets of an earlier connection wait to be sent again.
  @Test(arguments: bothVersions)
  func disconnectIsLastWithReleasesDue(version: ProtocolVersion) throws {
    let rig = PublishTests.rig(version)
    try rig.publish(qos: .exactlyOnce)
    _ = rig.drain()
    rig.receive(pubrec(1))
    _ = rig.drain()
    rig.reconnect(sessionPresent: true)
    _ = rig.session.disconnect()
    #expect(packets(rig.drain()).last == [0xE0, 0])
  }

  /// The same after an end of another kind: nothing follows the DISCONNECT that says why, and nothing at
  /// all a DISCONNECT of the server's.
  @Test func nothingBehindTheEnd() throws {
    for (packet, expected) in [(hex("00 00"), [0xE0, 1, 0x81]), (hex("E0 00"), [])] as [([UInt8], [UInt8])] {
      let rig = PublishTests.rig(.v5_0)
      try rig.publish(qos: .exactlyOnce)
      _ = rig.drain()
      rig.receive(pubrec(1))
      _ = rig.drain()
      rig.lose()
      rig.connect(sessionPresent: true)
      rig.receive(packet)
      #expect(rig.ending != nil)
      #expect(rig.drain() == expected)
    }
  }

  /// With as many answers waiting as the control queue holds: the goodbye must not be lost, or the server
  /// publishes the Will.
  @Test(arguments: bothVersions)
  func disconnectWithAFullControlQueue(version: ProtocolVersion) {
    let rig = PublishTests.rig(version)
    rig.receive((1000..<1200).flatMap { pubrec($0) })
    _ = rig.session.disconnect()
    #expect(packets(rig.drain()).last == [0xE0, 0])
  }

  /// What it is to say may be larger than what is kept free for it: then it waits for what is in its way.
  @Test func propertiesWaitForRoom() {
    let words = property(0x1F, String(repeating: "r", count: 40))
    let rig = Rig(.v5_0) { $0.controlBytes = 64 }
    rig.connect()
    rig.receive((1000..<1200).flatMap { pubrec($0) })
    rig.session.beginDisconnect(reasonCode: 0x04, properties: words.span)
    #expect(!rig.disconnect())
    #expect(rig.ending == nil)
    var sent: [UInt8] = []
    while !rig.disconnect(), let more = rig.transmit() { sent += more }
    #expect(rig.ending?.cause == .requested)
    sent += rig.drain()
    #expect(packets(sent).dropLast().allSatisfy { $0[0] == 0x62 })
    #expect(packets(sent).last == disconnect(0x04, words))
  }

  /// [MQTT-3.2.2-15] [MQTT-3.14.2-3]: as large as the server takes, and not a byte more.
  @Test func propertiesAndMaximumPacketSize() {
    for size in 4...256 {
      let words = property(0x1F, String(repeating: "r", count: size - 3))
      let full = disconnect(0x04, words)
      for limit in full.count - 2...full.count {
        let rig = PublishTests.rig(.v5_0, properties: maximumPacketSize(UInt16(limit)))
        rig.session.beginDisconnect(reasonCode: 0x04, properties: words.span)
        #expect(rig.disconnect())
        #expect(rig.drain() == (full.count <= limit ? full : [0xE0, 1, 0x04]), "\(size), \(limit)")
      }
    }
  }

  /// [MQTT-3.14.2-3] [MQTT-3.14.2-4]: what stays out for its size is text, not the end of the session (§3.14.2.2.2).
  @Test func sessionExpiryStays() {
    let expiry = property(0x11, number: 0)
    let rig = Rig(.v5_0) { $0.sessionExpiry = 9 }
    rig.connect(properties: maximumPacketSize(30))
    let words = expiry + property(0x1F, String(repeating: "r", count: 50))
    rig.session.beginDisconnect(reasonCode: 0x00, properties: words.span)
    #expect(rig.disconnect())
    #expect(rig.drain() == disconnect(0, expiry))
  }

  /// Once CONNECT is out the server would publish the Will: DISCONNECT does not wait for CONNACK (§3.1.4). Before
  /// that there is nobody to say goodbye to.
  @Test(arguments: bothVersions, [0, 3, Int.max])
  func disconnectBeforeConnack(version: ProtocolVersion, sent: Int) {
    let rig = Rig(version)
    rig.session.connectionOpened()
    if sent > 0 { _ = rig.transmit(sent) }
    _ = rig.session.disconnect()
    #expect(rig.ending?.cause == .requested)
    #expect(!rig.wantsReceive)
    #expect(rig.drain() == (sent == .max ? [0xE0, 0] : []))
    #expect(!rig.wantsTransmit)
    rig.lose()
    rig.connect()
    #expect(rig.isConnected)
    #expect(rig.ending == nil)
  }
}
