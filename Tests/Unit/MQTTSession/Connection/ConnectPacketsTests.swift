import MQTTWire
import Storage
import Testing

@testable import MQTTSession

/// CONNECT and CONNACK (§3.1, §3.2).
@Suite struct ConnectPacketsTests {
  static let connect: [ProtocolVersion: [UInt8]] = [
    .v3_1_1: hex("10 0F 00 04 4D 51 54 54 04 00 00 3C 00 03 72 69 67"),
    .v5_0: hex("10 15 00 04 4D 51 54 54 05 00 00 3C 05 27 00 00 04 00 00 03 72 69 67"),
  ]

  /// [MQTT-3.1.0-1]
  @Test(arguments: bothVersions, [1, 2, 7, Int.max])
  func connectComesFirst(version: ProtocolVersion, piece: Int) throws {
    let rig = Rig(version)
    #expect(!rig.wantsTransmit)
    #expect(!rig.wantsReceive)
    try rig.publish(qos: .atLeastOnce)
    rig.session.connectionOpened()
    #expect(rig.wantsTransmit)
    var sent: [UInt8] = []
    while let bytes = rig.transmit(piece) {
      sent += bytes
      #expect(rig.wantsReceive == (sent.count == Self.connect[version]?.count))
    }
    #expect(sent == Self.connect[version])
    #expect(!rig.wantsTransmit)
    #expect(rig.nextDeadline == nil)
  }

  @Test(arguments: bothVersions)
  func saysCleanStart(version: ProtocolVersion) throws {
    let rig = Rig(version, keepSession: false)
    #expect(rig.open()[9] == 0x02)
  }

  @Test(arguments: bothVersions)
  func nothingElseBeforeConnack(version: ProtocolVersion) throws {
    let rig = Rig(version)
    rig.open()
    try rig.publish(qos: .exactlyOnce)
    #expect(!rig.wantsTransmit)
    #expect(rig.transmit() == nil)
    rig.now = Instant(milliseconds: 3_600_000)
    rig.session.timedOut(at: rig.now)
    #expect(rig.transmit() == nil)
    #expect(rig.nextDeadline == nil)
    #expect(rig.events() == [])
    rig.receive(connack(version))
    #expect(rig.drain() == publish(version, qos: .exactlyOnce, identifier: 1))
  }

  @Test(arguments: bothVersions, [false, true])
  func accepted(version: ProtocolVersion, sessionPresent: Bool) throws {
    let rig = Rig(version)
    rig.open()
    #expect(rig.receive(connack(version, sessionPresent: sessionPresent).dropLast()) == [])
    #expect(!rig.isConnected)
    #expect(!rig.hasEvent)
    let last = try #require(connack(version, sessionPresent: sessionPresent).last)
    rig.receive([last])
    #expect(rig.isConnected)
    #expect(rig.ending == nil)
    #expect(rig.hasEvent)
    #expect(rig.events() == [.connected(sessionPresent: sessionPresent)])
    #expect(!rig.hasEvent)
    #expect(rig.counters.connections == 1)
    #expect(rig.counters.packetsSent.uint64 == 1)
    #expect(rig.counters.packetsReceived.uint64 == 1)
  }

  @Test(arguments: [
    (ProtocolVersion.v3_1_1, Array(1...5) as [UInt8]),
    (.v5_0, [0x80, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8A, 0x95, 0x97, 0x9C, 0x9D, 0x9F]),
  ])
  func refused(version: ProtocolVersion, codes: [UInt8]) throws {
    for code in codes {
      let rig = Rig(version)
      try rig.publish(qos: .atLeastOnce)
      rig.open()
      rig.receive(connack(version, code: code))
      #expect(rig.ending?.cause == .refused)
      #expect(rig.ending?.reasonCode == code)
      #expect(!rig.isConnected)
      #expect(!rig.wantsReceive)
      #expect(rig.drain() == [])
      #expect(rig.events() == [])
      #expect(rig.counters.connections == 0)
      // And the message waits for a better server.
      rig.reconnect(sessionPresent: false)
      #expect(rig.ending == nil)
      #expect(rig.drain() == publish(version, qos: .atLeastOnce, identifier: 1))
    }
  }

  /// A server that does not speak 5.0 answers in 3.1.1: told in the Reason Code that means the same.
  /// Some that speak it leave the Property Length out.
  @Test(arguments: [(1, 0x84), (2, 0x85), (3, 0x88), (4, 0x86), (5, 0x87), (0x87, 0x87)] as [(UInt8, UInt8)])
  func shortRefusal(code: UInt8, told: UInt8) {
    let rig = Rig(.v5_0)
    rig.open()
    rig.receive([0x20, 2, 0, code])
    #expect(rig.ending?.cause == .refused)
    #expect(rig.ending?.reasonCode == told)
    #expect(rig.drain() == [])
  }

  @Test func reasonStringAndServerReference() throws {
    for piece in [1, 3, .max] {
      let rig = Rig(.v5_0)
      rig.open()
      rig.receive(
        connack(.v5_0, code: 0x9C, properties: property(0x1F, "go away") + property(0x1C, "other:1883")),
        piece: piece)
      let ending = try #require(rig.ending)
      #expect(rig.received(ending.reasonString) == "go away".bytes)
      #expect(rig.received(ending.serverReference) == "other:1883".bytes)
      rig.lose()
      #expect(rig.received(ending.reasonString) == "go away".bytes)
    }
  }

  @Test func reasonStringOfAnAcceptance() throws {
    let rig = Rig(.v5_0)
    rig.open()
    rig.receive(connack(.v5_0, properties: property(0x1F, "welcome")), piece: 2)
    guard case .connected(let event) = rig.session.nextEvent() else {
      Issue.record("not connected")
      return
    }
    #expect(rig.received(event.reasonString) == "welcome".bytes)
  }

  /// Nothing behind it is looked at before it is taken.
  @Test func reasonStringStaysUntilItIsTaken() throws {
    let rig = Rig(.v5_0)
    rig.open()
    rig.receive(connack(.v5_0, properties: property(0x1F, "welcome")))
    rig.receive(pingresp)
    guard case .connected(let event) = rig.session.nextEvent() else {
      Issue.record("not connected")
      return
    }
    #expect(rig.received(event.reasonString) == "welcome".bytes)
    #expect(rig.counters.packetsReceived.uint64 == 1)
    rig.session.release()
    #expect(rig.counters.packetsReceived.uint64 == 2)
  }

  /// Also when the transport was only asked, and had nothing.
  @Test func reasonStringOutlivesAnEmptyRead() throws {
    let rig = Rig(.v5_0)
    rig.open()
    // Behind it the beginning of a packet, which moves to the front.
    let beginning = [0x40, 30] + [UInt8](repeating: 0, count: 20)
    rig.receive(connack(.v5_0, properties: property(0x1F, "welcome")) + beginning)
    #expect(rig.receiveNothing() > 0)
    guard case .connected(let event) = rig.session.nextEvent() else {
      Issue.record("not connected")
      return
    }
    #expect(rig.received(event.reasonString) == "welcome".bytes)
  }

  /// [MQTT-3.2.2-4]
  @Test(arguments: bothVersions)
  func sessionThatWasNotAskedFor(version: ProtocolVersion) {
    let rig = Rig(version, keepSession: false)
    rig.open()
    rig.receive(connack(version, sessionPresent: true))
    #expect(rig.ending?.cause == .violation(.unwantedSession))
    #expect(!rig.isConnected)
    #expect(rig.events() == [])
    #expect(rig.drain() == (version == .v5_0 ? [0xE0, 1, 0x82] : []))
  }

  /// [MQTT-3.2.0-2]
  @Test(arguments: bothVersions)
  func secondConnack(version: ProtocolVersion) {
    let rig = Rig(version)
    rig.connect()
    rig.receive(connack(version))
    #expect(rig.ending?.cause == .violation(.unexpectedPacket))
    #expect(rig.drain() == (version == .v5_0 ? [0xE0, 1, 0x82] : []))
    #expect(rig.events() == [.connected(sessionPresent: false)])
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
      let rig = Rig(version)
      rig.open()
      rig.receive(packet)
      let violation = packet == auth ? ProtocolViolation.unexpectedAuthentication : .firstPacket
      #expect(rig.ending?.cause == .violation(violation), "\(packet)")
      #expect(rig.drain() == (version == .v5_0 ? [0xE0, 1, 0x82] : []), "\(packet)")
    }
  }

  // MARK: What the server can do (§3.2.2.3)

  @Test func takesReceiveMaximum() {
    for (asked, given, result) in [(10, 3, 3), (3, 10, 3), (65_535, 65_535, 65_535), (1, 65_535, 1)] {
      let rig = Rig(.v5_0, inFlightMaximum: asked)
      #expect(rig.outboxNumbers.inFlightMaximum == 0)
      rig.connect(properties: receiveMaximum(UInt16(given)))
      #expect(rig.outboxNumbers.inFlightMaximum == result)
    }
    let rig = Rig(.v5_0, inFlightMaximum: 7)
    rig.connect()
    #expect(rig.outboxNumbers.inFlightMaximum == 7)
  }

  @Test func takesMaximumQoS() throws {
    for maximum: UInt8 in [0, 1] {
      let rig = Rig(.v5_0)
      rig.connect(properties: maximumQoS(maximum))
      for qos in allQoS {
        if qos.rawValue <= maximum {
          try rig.publish(qos: qos)
        } else {
          let before = rig.numbers
          #expect(throws: SessionError.qosNotSupported) { try rig.publish(qos: qos) }
          #expect(rig.numbers == before)
        }
      }
      // It holds for this connection only.
      rig.lose()
      for qos in allQoS { try rig.publish(qos: qos) }
    }
  }

  @Test func takesRetainAvailable() throws {
    let rig = Rig(.v5_0)
    rig.connect(properties: retainAvailable(0))
    let before = rig.numbers
    #expect(throws: SessionError.retainNotSupported) { try rig.publish(retain: true) }
    #expect(rig.numbers == before)
    try rig.publish()
    rig.reconnect(sessionPresent: false, properties: retainAvailable(1))
    try rig.publish(retain: true)
  }

  @Test func takesMaximumPacketSize() throws {
    let rig = Rig(.v5_0)
    rig.connect(properties: maximumPacketSize(20))
    // Type, length, topic with its length, Property Length: 6 bytes.
    try rig.publish("a", [UInt8](repeating: 1, count: 14))
    let before = rig.numbers
    #expect(throws: SessionError.tooLarge) { try rig.publish("a", [UInt8](repeating: 1, count: 15)) }
    #expect(throws: SessionError.tooLarge) {
      try rig.publish("a", [UInt8](repeating: 1, count: 13), qos: .atLeastOnce)
    }
    #expect(rig.numbers == before)
    #expect(rig.drain().count == 20)
    rig.lose()
    try rig.publish("a", [UInt8](repeating: 1, count: 15))
  }

  /// [MQTT-3.2.2-21]
  @Test(arguments: [(nil, 59_000), (10, 9000), (0, nil), (65_535, 65_534_000)] as [(UInt16?, UInt32?)])
  func takesServerKeepAlive(server: UInt16?, deadline: UInt32?) {
    let rig = Rig(.v5_0, keepAlive: 60)
    rig.connect(properties: server.map(serverKeepAlive) ?? [])
    #expect(rig.nextDeadline == deadline)
  }
}
