import MQTTWire
import Storage
import TestSupport
import Testing

@testable import MQTTSession

/// CONNECT and CONNACK (§3.1, §3.2).
@Suite struct ConnectPacketsTests {
  static let connect: [ProtocolVersion: [UInt8]] = [
    .v3_1_1: hex("10 0F 00 04 4D 51 54 54 04 00 00 3C 00 03 61 62 63"),
    .v5_0: hex("10 15 00 04 4D 51 54 54 05 00 00 3C 05 27 00 00 04 00 00 03 61 62 63"),
  ]

  /// [MQTT-3.1.0-1]
  @Test(arguments: bothVersions, [1, 2, 7, Int.max])
  func connectComesFirst(version: ProtocolVersion, piece: Int) throws {
    let harness = SessionHarness(version)
    #expect(!harness.wantsTransmit)
    #expect(!harness.wantsReceive)
    try harness.publish(qos: .atLeastOnce)
    harness.session.connectionOpened()
    #expect(harness.wantsTransmit)
    var sent: [UInt8] = []
    while let bytes = harness.transmit(piece) {
      sent += bytes
      #expect(harness.wantsReceive == (sent.count == Self.connect[version]?.count))
    }
    #expect(sent == Self.connect[version])
    #expect(!harness.wantsTransmit)
    #expect(harness.nextDeadline == nil)
  }

  @Test(arguments: bothVersions)
  func saysCleanStart(version: ProtocolVersion) throws {
    let harness = SessionHarness(version, keepSession: false)
    #expect(harness.open()[9] == 0x02)
  }

  @Test(arguments: bothVersions)
  func nothingElseBeforeConnack(version: ProtocolVersion) throws {
    let harness = SessionHarness(version)
    harness.open()
    try harness.publish(qos: .exactlyOnce)
    #expect(!harness.wantsTransmit)
    #expect(harness.transmit() == nil)
    harness.now = Instant(milliseconds: 3_600_000)
    harness.session.timedOut(at: harness.now)
    #expect(harness.transmit() == nil)
    #expect(harness.nextDeadline == nil)
    #expect(harness.events() == [])
    harness.receive(connack(version))
    #expect(harness.drain() == publish(version, qos: .exactlyOnce, identifier: 1))
  }

  @Test(arguments: bothVersions, [false, true])
  func accepted(version: ProtocolVersion, sessionPresent: Bool) throws {
    let harness = SessionHarness(version)
    harness.open()
    #expect(harness.receive(connack(version, sessionPresent: sessionPresent).dropLast()) == [])
    #expect(!harness.isConnected)
    #expect(!harness.hasEvent)
    let last = try #require(connack(version, sessionPresent: sessionPresent).last)
    harness.receive([last])
    #expect(harness.isConnected)
    #expect(harness.ending == nil)
    #expect(harness.hasEvent)
    #expect(harness.events() == [.connected(sessionPresent: sessionPresent)])
    #expect(!harness.hasEvent)
    #expect(harness.counters.connections == 1)
    #expect(harness.counters.packetsSent.uint64 == 1)
    #expect(harness.counters.packetsReceived.uint64 == 1)
  }

  @Test(arguments: [
    (ProtocolVersion.v3_1_1, Array(1...5) as [UInt8]),
    (.v5_0, [0x80, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8A, 0x95, 0x97, 0x9C, 0x9D, 0x9F]),
  ])
  func refused(version: ProtocolVersion, codes: [UInt8]) throws {
    for code in codes {
      let harness = SessionHarness(version)
      try harness.publish(qos: .atLeastOnce)
      harness.open()
      harness.receive(connack(version, code: code))
      #expect(harness.ending?.cause == .refused)
      #expect(harness.ending?.reasonCode == code)
      #expect(!harness.isConnected)
      #expect(!harness.wantsReceive)
      #expect(harness.drain() == [])
      #expect(harness.events() == [])
      #expect(harness.counters.connections == 0)
      // And the message waits for a better server.
      harness.reconnect(sessionPresent: false)
      #expect(harness.ending == nil)
      #expect(harness.drain() == publish(version, qos: .atLeastOnce, identifier: 1))
    }
  }

  /// A server that does not speak 5.0 answers in 3.1.1: told in the Reason Code that means the same.
  /// Some that speak it leave the Property Length out.
  @Test(arguments: [(1, 0x84), (2, 0x85), (3, 0x88), (4, 0x86), (5, 0x87), (0x87, 0x87)] as [(UInt8, UInt8)])
  func shortRefusal(code: UInt8, told: UInt8) {
    let harness = SessionHarness(.v5_0)
    harness.open()
    harness.receive([0x20, 2, 0, code])
    #expect(harness.ending?.cause == .refused)
    #expect(harness.ending?.reasonCode == told)
    #expect(harness.drain() == [])
  }

  @Test func reasonStringAndServerReference() throws {
    for piece in [1, 3, .max] {
      let harness = SessionHarness(.v5_0)
      harness.open()
      harness.receive(
        connack(.v5_0, code: 0x9C, properties: property(0x1F, "go away") + property(0x1C, "other:1883")),
        piece: piece)
      let ending = try #require(harness.ending)
      #expect(harness.received(ending.reasonString) == "go away".bytes)
      #expect(harness.received(ending.serverReference) == "other:1883".bytes)
      harness.lose()
      #expect(harness.received(ending.reasonString) == "go away".bytes)
    }
  }

  @Test func reasonStringOfAnAcceptance() throws {
    let harness = SessionHarness(.v5_0)
    harness.open()
    harness.receive(connack(.v5_0, properties: property(0x1F, "welcome")), piece: 2)
    guard case .connected(let event) = harness.session.nextEvent() else {
      Issue.record("not connected")
      return
    }
    #expect(harness.received(event.reasonString) == "welcome".bytes)
  }

  /// Nothing behind it is looked at before it is taken.
  @Test func reasonStringStaysUntilItIsTaken() throws {
    let harness = SessionHarness(.v5_0)
    harness.open()
    harness.receive(connack(.v5_0, properties: property(0x1F, "welcome")))
    harness.receive(pingresp)
    guard case .connected(let event) = harness.session.nextEvent() else {
      Issue.record("not connected")
      return
    }
    #expect(harness.received(event.reasonString) == "welcome".bytes)
    #expect(harness.counters.packetsReceived.uint64 == 1)
    harness.session.releaseEvent()
    #expect(harness.counters.packetsReceived.uint64 == 2)
  }

  /// Also when the transport was only asked, and had nothing.
  @Test func reasonStringOutlivesAnEmptyRead() throws {
    let harness = SessionHarness(.v5_0)
    harness.open()
    // Behind it the beginning of a packet, which moves to the front.
    let beginning = [0x40, 30] + [UInt8](repeating: 0, count: 20)
    harness.receive(connack(.v5_0, properties: property(0x1F, "welcome")) + beginning)
    #expect(harness.receiveNothing() > 0)
    guard case .connected(let event) = harness.session.nextEvent() else {
      Issue.record("not connected")
      return
    }
    #expect(harness.received(event.reasonString) == "welcome".bytes)
  }

  /// [MQTT-3.2.2-4]
  @Test(arguments: bothVersions)
  func sessionThatWasNotAskedFor(version: ProtocolVersion) {
    let harness = SessionHarness(version, keepSession: false)
    harness.open()
    harness.receive(connack(version, sessionPresent: true))
    #expect(harness.ending?.cause == .violation(.unwantedSession))
    #expect(!harness.isConnected)
    #expect(harness.events() == [])
    #expect(harness.drain() == (version == .v5_0 ? [0xE0, 1, 0x82] : []))
  }

  /// [MQTT-3.2.0-2]
  @Test(arguments: bothVersions)
  func secondConnack(version: ProtocolVersion) {
    let harness = SessionHarness(version)
    harness.connect()
    harness.receive(connack(version))
    #expect(harness.ending?.cause == .violation(.unexpectedPacket))
    #expect(harness.drain() == (version == .v5_0 ? [0xE0, 1, 0x82] : []))
    #expect(harness.events() == [.connected(sessionPresent: false)])
  }

  /// [MQTT-3.2.0-1]
  @Test(arguments: bothVersions)
  func anotherPacketFirst(version: ProtocolVersion) {
    var others: [[UInt8]] = [
      puback(1), pubrec(1), pubrel(1), pubcomp(1), pingresp, pingreq, hex("30 04 00 01 61 00"),
      hex("90 04 00 01 00 00"), hex("B0 02 00 01"), hex("10 00"), hex("82 00"), hex("A2 00"), hex("E0 00"),
    ]
    // Which may come first, but not if nobody asked for it [MQTT-4.12.0-6].
    let auth = hex("F0 00")
    if version == .v5_0 { others.append(auth) }
    for packet in others {
      let harness = SessionHarness(version)
      harness.open()
      harness.receive(packet)
      let violation = packet == auth ? ProtocolViolation.unexpectedAuthentication : .firstPacket
      #expect(harness.ending?.cause == .violation(violation), "\(packet)")
      #expect(harness.drain() == (version == .v5_0 ? [0xE0, 1, 0x82] : []), "\(packet)")
    }
  }

  // MARK: What the server can do (§3.2.2.3)

  @Test func takesReceiveMaximum() {
    for (asked, given, result) in [(10, 3, 3), (3, 10, 3), (65_535, 65_535, 65_535), (1, 65_535, 1)] {
      let harness = SessionHarness(.v5_0, inFlightMaximum: asked)
      #expect(harness.outboxNumbers.inFlightMaximum == 0)
      harness.connect(properties: receiveMaximum(UInt16(given)))
      #expect(harness.outboxNumbers.inFlightMaximum == result)
    }
    let harness = SessionHarness(.v5_0, inFlightMaximum: 7)
    harness.connect()
    #expect(harness.outboxNumbers.inFlightMaximum == 7)
  }

  @Test func takesMaximumQoS() throws {
    for maximum: UInt8 in [0, 1] {
      let harness = SessionHarness(.v5_0)
      harness.connect(properties: maximumQoS(maximum))
      for qos in allQoS {
        if qos.rawValue <= maximum {
          try harness.publish(qos: qos)
        } else {
          let before = harness.numbers
          #expect(throws: SessionError.qosNotSupported) { try harness.publish(qos: qos) }
          #expect(harness.numbers == before)
        }
      }
      // It holds for this connection only.
      harness.lose()
      for qos in allQoS { try harness.publish(qos: qos) }
    }
  }

  @Test func takesRetainAvailable() throws {
    let harness = SessionHarness(.v5_0)
    harness.connect(properties: retainAvailable(0))
    let before = harness.numbers
    #expect(throws: SessionError.retainNotSupported) { try harness.publish(retain: true) }
    #expect(harness.numbers == before)
    try harness.publish()
    harness.reconnect(sessionPresent: false, properties: retainAvailable(1))
    try harness.publish(retain: true)
  }

  @Test func takesMaximumPacketSize() throws {
    let harness = SessionHarness(.v5_0)
    harness.connect(properties: maximumPacketSize(20))
    // Type, length, topic with its length, Property Length: 6 bytes.
    try harness.publish("a", [UInt8](repeating: 1, count: 14))
    let before = harness.numbers
    #expect(throws: SessionError.tooLarge) { try harness.publish("a", [UInt8](repeating: 1, count: 15)) }
    #expect(throws: SessionError.tooLarge) {
      try harness.publish("a", [UInt8](repeating: 1, count: 13), qos: .atLeastOnce)
    }
    #expect(harness.numbers == before)
    #expect(harness.drain().count == 20)
    harness.lose()
    try harness.publish("a", [UInt8](repeating: 1, count: 15))
  }

  /// [MQTT-3.2.2-21]
  @Test(arguments: [(nil, 59_000), (10, 9000), (0, nil), (65_535, 65_534_000)] as [(UInt16?, UInt32?)])
  func takesServerKeepAlive(server: UInt16?, deadline: UInt32?) {
    let harness = SessionHarness(.v5_0, keepAlive: 60)
    harness.connect(properties: server.map(serverKeepAlive) ?? [])
    #expect(harness.nextDeadline == deadline)
  }
}
