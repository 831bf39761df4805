import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

/// Statements about a whole connection, or about several. Tests/Conformance/statements.tsv says which.
@Suite struct ConformanceTests {
  static let everyVersion: [ProtocolVersion] = [.v3_1, .v3_1_1, .v5_0]

  /// What 5.0 says before it closes; the versions before have nothing to say.
  static func lastPacket(_ version: ProtocolVersion, _ code: UInt8) -> [UInt8] {
    version == .v5_0 ? [0xE0, 1, code] : []
  }

  // MARK: What is sent

  /// [MQTT-3.1.0-1] [MQTT-3.1.0-2] [MQTT-3.14.4-1]: on each of several connections, whatever was going on.
  @Test(arguments: everyVersion, [false, true])
  func connectIsFirstAndOnlyDisconnectIsLast(version: ProtocolVersion, keepSession: Bool) throws {
    let harness = SessionHarness(version, keepSession: keepSession, keepAlive: 10)
    var random = SeededRandom(seed: 31)
    for _ in 0..<50 {
      var sent: [UInt8] = []
      harness.session.connectionOpened()
      for qos in allQoS { try? harness.publish(qos: qos, isQuiet: true) }
      sent += harness.drain(piece: 1 + random.below(20))
      harness.accept(sessionPresent: keepSession && version != .v3_1)
      for _ in 0..<random.below(6) {
        try? harness.publish(qos: allQoS[random.below(3)], isQuiet: true)
        harness.now = harness.now.advanced(by: UInt32(random.below(9000)))
        harness.session.timedOut(at: harness.now)
        let more = harness.drain()
        sent += more
        if random.percent(50) { harness.receive(pingresp + Self.answers(to: more)) }
      }
      if random.percent(70) {
        _ = harness.session.disconnect()
        sent += harness.drain()
      }
      harness.lose()
      _ = harness.events()
      let types = packets(sent).map { $0[0] >> 4 }
      #expect(types.first == 1)
      #expect(types.count { $0 == 1 } == 1)
      #expect((types.firstIndex(of: 14) ?? types.count - 1) == types.count - 1)
    }
  }

  /// What a good server answers to these.
  static func answers(to sent: [UInt8]) -> [UInt8] {
    packets(sent).flatMap { packet -> [UInt8] in
      switch packet[0] >> 4 {
      case 3 where packet[0] & 6 == 2: [0x40, 2] + packet[5...6]
      case 3 where packet[0] & 6 == 4: [0x50, 2] + packet[5...6]
      case 6: [0x70, 2] + packet[2...3]
      default: []
      }
    }
  }

  /// 5.0 [MQTT-4.4.0-1]: PUBLISH and PUBREL go again on the next connection, and at no other time. (3.1 lets a
  /// client repeat them, and asks for nothing.) They wait for their acknowledgements as long as it takes.
  @Test(arguments: everyVersion)
  func nothingIsSentAgainOnTheSameConnection(version: ProtocolVersion) throws {
    let harness = SessionHarness(version)
    harness.connect()
    for qos in allQoS { try harness.publish(qos: qos) }
    _ = harness.drain()
    harness.receive(pubrec(3))
    #expect(harness.drain() == pubrel(3))
    for _ in 0..<100 {
      harness.now = harness.now.advanced(by: 59_000)
      harness.session.timedOut(at: harness.now)
      #expect(harness.drain() == pingreq)
      harness.receive(pingresp)
    }
    #expect(harness.events() == [.connected(sessionPresent: false), .delivered(0)])
    harness.receive(puback(2) + pubcomp(3))
    #expect(harness.events() == [.delivered(0), .delivered(0)])
  }

  /// [MQTT-4.4.0-2]: what was refused is acknowledged.
  @Test(arguments: [QoS.atLeastOnce, .exactlyOnce], [0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99] as [UInt8])
  func refusedIsNotSentAgain(qos: QoS, code: UInt8) throws {
    let harness = SessionHarness(.v5_0)
    harness.connect()
    try harness.publish(qos: qos)
    _ = harness.drain()
    harness.receive(qos == .atLeastOnce ? puback(1, code) : pubrec(1, code))
    #expect(harness.drain() == [])
    harness.reconnect(sessionPresent: true)
    #expect(harness.drain() == [])
  }

  /// Clean Start 1, Clean Session 1 (3.1.1 [MQTT-3.1.2-6], 5.0 [MQTT-3.1.2-4]): nothing of the old session is
  /// taken up, neither DUP nor PUBREL nor the handshake of QoS 2. At least once remains a promise.
  @Test(arguments: everyVersion)
  func cleanStartForgetsTheSession(version: ProtocolVersion) throws {
    let harness = SessionHarness(version, keepSession: false)
    harness.connect()
    for qos in [.atLeastOnce, .exactlyOnce, .exactlyOnce] as [QoS] { try harness.publish(qos: qos) }
    _ = harness.drain()
    harness.receive(pubrec(3))
    _ = harness.drain()
    _ = harness.events()
    harness.lose()
    #expect(harness.open()[version == .v3_1 ? 11 : 9] & 2 == 2)
    harness.receive(connack(version))
    #expect(harness.drain() == publish(version, qos: .atLeastOnce, identifier: 1))
    #expect(
      harness.events() == [.connected(sessionPresent: false), .failed(0, .sessionLost), .delivered(0)])
    // An answer from the old session has nothing to say to the new one.
    harness.receive(pubrec(2))
    #expect(harness.drain() == pubrel(2, version == .v5_0 ? 0x92 : 0))
    #expect(harness.events() == [])
  }

  /// 3.1 has no Session Present: a client that keeps its session takes it up (3.1 §4.2).
  @Test func whatWasInFlightGoesAgainIn31() throws {
    let harness = SessionHarness(.v3_1)
    harness.connect()
    for qos in [.atLeastOnce, .exactlyOnce, .exactlyOnce] as [QoS] { try harness.publish(qos: qos) }
    _ = harness.drain()
    harness.receive(pubrec(3))
    _ = harness.drain()
    harness.reconnect(sessionPresent: false)
    #expect(
      packets(harness.drain()) == [
        // 3.1 has DUP for PUBREL too (its §2.1).
        [0x6A, 2, 0, 3], publish(.v3_1, qos: .atLeastOnce, identifier: 1, duplicate: true),
        publish(.v3_1, qos: .exactlyOnce, identifier: 2, duplicate: true),
      ])
  }

  /// [MQTT-3.14.2-1]: whatever a server does, a DISCONNECT of ours has a code of Table 3-10 that a client may send.
  @Test func disconnectCodes() throws {
    let clients: Set<UInt8> = [
      0x00, 0x04, 0x80, 0x81, 0x82, 0x83, 0x90, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99,
    ]
    var random = SeededRandom(seed: 314)
    var seen: Set<UInt8> = []
    for first in UInt8.min ... .max {
      for _ in 0..<40 {
        let harness = SessionHarness(.v5_0, receiveBytes: 64)
        harness.open()
        if random.percent(80) { harness.accept() }
        for qos in allQoS { try harness.publish(qos: qos) }
        _ = harness.drain()
        let size = random.below(random.percent(10) ? 100 : 8)
        harness.receive([first, UInt8(size)] + (0..<size).map { _ in UInt8(random.below(4)) })
        if harness.ending == nil { _ = harness.session.disconnect() }
        for packet in packets(harness.drain()) where packet[0] == 0xE0 {
          #expect(packet.count == packet[1] + 2)
          seen.insert(packet.count == 2 ? 0 : packet[2])
        }
      }
    }
    #expect(seen.isSubset(of: clients))
    #expect(seen.isSuperset(of: [0x00, 0x81, 0x82, 0x95]))
  }

  // MARK: What is received

  /// The flags that are reserved have the values of Table 2-2 (3.1.1 [MQTT-2.2.2-2], 5.0 [MQTT-2.1.3-1]
  /// [MQTT-3.14.1-1] [MQTT-3.15.1-1]); any other first byte ends the connection.
  @Test(arguments: bothVersions)
  func reservedFlags(version: ProtocolVersion) {
    for first in UInt8.min ... .max where first >> 4 != 3 {
      let type = first >> 4
      let isRight = first & 15 == ([6, 8, 10].contains(type) ? 2 : 0)
      let hasType = type != 0 && (type != 15 || version == .v5_0)
      for isConnected in [false, true] {
        let harness = SessionHarness(version)
        harness.open()
        if isConnected { harness.accept() }
        harness.receive([first, 0])
        if !hasType {
          #expect(harness.ending?.cause == .malformed(.packetType), "\(first)")
        } else if !isRight {
          #expect(harness.ending?.cause == .malformed(.reservedFlags), "\(first)")
        } else {
          #expect(harness.ending?.cause != .malformed(.reservedFlags), "\(first)")
          continue
        }
        #expect(harness.drain() == Self.lastPacket(version, 0x81), "\(first)")
        #expect(!harness.wantsReceive)
      }
    }
  }

  /// [MQTT-1.5.4-1] [MQTT-1.5.4-2] [MQTT-1.5.7-1]: a string that is none ends the connection, wherever it stands.
  @Test(arguments: ["ED A0 80", "C0 AF", "61 E2 82", "80", "00", "61 00 62"])
  func illFormedStrings(bytes: String) throws {
    let bytes = hex(bytes)
    func string(_ identifier: UInt8) -> [UInt8] { [identifier, 0, UInt8(bytes.count)] + bytes }
    let strings = [string(0x1F), string(0x26) + [0, 0], [0x26, 0, 0, 0, UInt8(bytes.count)] + bytes]
    let onlyConnack = [0x12, 0x15, 0x1A, 0x1C].map(string)
    func packet(_ first: UInt8, _ body: [UInt8], _ properties: [UInt8]) -> [UInt8] {
      [first, UInt8(body.count + 1 + properties.count)] + body + [UInt8(properties.count)] + properties
    }
    var wrong = (strings + onlyConnack).map { (isConnected: false, packet: packet(0x20, [0, 0], $0)) }
    for properties in strings {
      for first: UInt8 in [0x40, 0x50] { wrong.append((true, packet(first, [0, 1, 0x80], properties))) }
      wrong.append((true, packet(0x70, [0, 1, 0x92], properties)))
      wrong.append((true, packet(0xE0, [0x8B], properties)))
    }
    wrong.append((true, packet(0xE0, [0x9C], string(0x1C))))
    for (isConnected, packet) in wrong {
      let harness = SessionHarness(.v5_0)
      harness.open()
      if isConnected { harness.accept() }
      harness.receive(packet)
      #expect(harness.ending?.cause == .malformed(.utf8), "\(packet)")
      #expect(harness.drain() == [0xE0, 1, 0x81], "\(packet)")
    }
  }
}
