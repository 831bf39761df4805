import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

/// Does every message from the server arrive as its QoS promises, and leave its acknowledgement in its turn?
@Suite struct InboxTests {
  /// A run that fails prints its seed, which repeats it.
  @Test(arguments: [1, 2, 3, 8, 20])
  func randomRuns(maximum: Int) {
    var failures = 0
    var delivered = 0
    var duplicates: UInt64 = 0
    var late = 0
    for seed in UInt64(0)..<2000 {
      let model = InboxModel(seed: seed, maximum: maximum)
      do throws(InboxModel.Disagreement) {
        try model.run(steps: 100)
      } catch {
        failures += 1
        if failures <= 5 {
          Issue.record("seed \(seed), \(maximum) messages, \(model.version): \(error.text)")
        }
      }
      delivered += model.delivered
      duplicates += model.duplicates
      late += model.lateAnswers
    }
    #expect(failures == 0)
    // The runs reach what they are for.
    #expect(delivered > 10_000)
    #expect(duplicates > 1000)
    #expect(late > 500)
  }

  /// Whatever a server sends, the acknowledgements leave in the order of the messages, and no more is kept than
  /// there is room for.
  @Test(arguments: [1, 3, 10])
  func rudeServer(maximum: Int) throws {
    var acknowledgements = 0
    for seed in UInt64(0)..<2000 {
      var random = SeededRandom(seed: seed)
      let version: ProtocolVersion = random.percent(50) ? .v5_0 : .v3_1_1
      let holds = random.percent(50)
      let rig = Rig(version) {
        $0.receiveMaximum = maximum
        $0.holdsMessages = holds
        $0.controlBytes = 64
      }
      var tokens: [UInt32] = []
      for connection in 0..<6 {
        rig.connect(sessionPresent: connection > 0 && random.percent(90))
        _ = rig.event()
        var received: [[UInt8]] = []
        var sent: [UInt8] = []
        for _ in 0..<60 {
          let identifier = UInt16(1 + random.below(2 * maximum))
          switch random.below(6) {
          case 0, 1, 2:
            let qos: QoS = random.percent(50) ? .atLeastOnce : .exactlyOnce
            let rest = rig.receive(
              publish(version, qos: qos, identifier: identifier, duplicate: random.percent(40)))
            if rest.isEmpty { received.append([qos == .atLeastOnce ? 0x40 : 0x50, UInt8(identifier)]) }
          case 3: rig.receive(pubrel(identifier))
          case 4:
            if case .message = rig.event() { tokens.append(rig.token) }
          default:
            if !tokens.isEmpty {
              try? rig.acknowledge(tokens.remove(at: random.below(tokens.count)), version == .v5_0 ? 0x80 : 0)
            }
          }
          if random.percent(30) { sent += rig.drain() }
          #expect(rig.inbox.unacknowledged <= 6 * maximum)
        }
        var rest = received[...]
        for packet in packets(sent) where packet[0] == 0x40 || packet[0] == 0x50 {
          let place = rest.firstIndex(of: [packet[0], packet[3]])
          #expect(place != nil, "seed \(seed): \(packet) out of order")
          rest = rest[((place ?? rest.endIndex - 1) + 1)...]
          acknowledgements += 1
        }
        rig.lose()
        while case .message = rig.event() {}
      }
    }
    #expect(acknowledgements > 5000)
  }

  // MARK: Byte for byte

  @Test(arguments: bothVersions)
  func handshakes(version: ProtocolVersion) {
    let rig = PublishTests.rig(version)
    rig.receive(publish(version, "a/b", [1, 2], qos: .atMostOnce, retain: true))
    var message = ReceivedMessage("a/b", [1, 2])
    message.retain = true
    #expect(rig.event() == .message(message))
    #expect(rig.token == 0 && !rig.hold())
    #expect(rig.event() == nil)
    #expect(rig.drain() == [])

    rig.receive(publish(version, "a", qos: .atLeastOnce, identifier: 7, duplicate: true))
    #expect(rig.event() == .message(ReceivedMessage("a", qos: .atLeastOnce, duplicate: true)))
    // It is acknowledged when it is released.
    #expect(rig.drain() == [])
    #expect(rig.inbox.unacknowledged == 1)
    #expect(rig.event() == nil)
    #expect(rig.drain() == puback(7))

    rig.receive(publish(version, "a", qos: .exactlyOnce, identifier: 65_535))
    #expect(rig.event() == .message(ReceivedMessage("a", qos: .exactlyOnce)))
    rig.session.release()
    #expect(rig.drain() == pubrec(65_535))
    #expect(rig.inbox.unacknowledged == 1)
    rig.receive(pubrel(65_535))
    #expect(rig.drain() == pubcomp(65_535))
    #expect(rig.inbox.unacknowledged == 0)
    // [MQTT-4.3.3-11]: whoever asks gets an answer.
    rig.receive(pubrel(65_535))
    #expect(rig.drain() == pubcomp(65_535, version == .v5_0 ? 0x92 : 0))
    #expect(rig.counters.messagesReceived.uint64 == 3)
    #expect(rig.counters.messagesDuplicate.uint64 == 0)
    #expect(rig.inbox.peak == 1)
  }

  /// Acknowledged backwards, they leave forwards.
  @Test(arguments: bothVersions)
  func held(version: ProtocolVersion) throws {
    let rig = PublishTests.rig(version)
    var tokens: [UInt32] = []
    for identifier: UInt16 in 1...5 {
      rig.receive(
        publish(version, qos: identifier % 2 == 0 ? .exactlyOnce : .atLeastOnce, identifier: identifier))
      _ = rig.event()
      #expect(rig.hold())
      tokens.append(rig.token)
    }
    for token in tokens.dropFirst().reversed() {
      try rig.acknowledge(token)
      _ = rig.event()
      #expect(rig.drain() == [])
    }
    // A call on the last event may come before it is released.
    try rig.acknowledge(tokens[0])
    #expect(rig.drain() == puback(1) + pubrec(2) + puback(3) + pubrec(4) + puback(5))
    #expect(rig.inbox.unacknowledged == 2)
    #expect(!rig.hold())
  }

  /// `smq_hold`: what is held is not handed out a second time, and waits for the same `smq_ack`.
  @Test(arguments: bothVersions, [QoS.atLeastOnce, .exactlyOnce])
  func heldOverConnections(version: ProtocolVersion, qos: QoS) throws {
    let answer = qos == .atLeastOnce ? puback : pubrec
    let rig = PublishTests.rig(version)
    rig.receive(publish(version, qos: qos, identifier: 1) + publish(version, qos: qos, identifier: 2))
    var tokens: [UInt32] = []
    for _ in 0..<2 {
      _ = rig.event()
      tokens.append(rig.token)
      #expect(rig.hold())
    }
    rig.session.release()
    rig.reconnect(sessionPresent: true)
    rig.receive(publish(version, qos: qos, identifier: 1, duplicate: true))
    #expect(rig.events() == [.connected(sessionPresent: true)])
    #expect(rig.counters.messagesDuplicate.uint64 == 1)
    // One has not come again yet: its acknowledgement has to wait for that.
    try rig.acknowledge(tokens[1])
    try rig.acknowledge(tokens[0])
    #expect(rig.drain() == answer(1, 0))
    rig.receive(publish(version, qos: qos, identifier: 2, duplicate: true))
    #expect(rig.events() == [])
    #expect(rig.drain() == answer(2, 0))
    #expect(throws: SessionError.token) { try rig.acknowledge(tokens[0]) }

    rig.receive(publish(version, qos: qos, identifier: 3))
    _ = rig.event()
    let token = rig.token
    #expect(rig.hold())
    rig.session.release()
    rig.reconnect(sessionPresent: false)
    #expect(throws: SessionError.token) { try rig.acknowledge(token) }
    #expect(rig.inbox.unacknowledged == 0)
  }

  /// Behind one that came again and is held stands what came after it, and not the other way round.
  @Test func orderOfWhatComesAgain() throws {
    let rig = PublishTests.rig(.v5_0)
    rig.receive(publish(.v5_0, qos: .atLeastOnce, identifier: 1))
    _ = rig.event()
    let first = rig.token
    #expect(rig.hold())
    rig.session.release()
    rig.reconnect(sessionPresent: true)
    rig.receive(
      publish(.v5_0, qos: .atLeastOnce, identifier: 2)
        + publish(.v5_0, qos: .atLeastOnce, identifier: 1, duplicate: true))
    #expect(rig.events().count == 2)
    try rig.acknowledge(first)
    #expect(rig.drain() == puback(2) + puback(1))
  }

  // MARK: Acknowledgements with something to say

  @Test func refusals() throws {
    for code: UInt8 in [0x80, 0x83, 0x87, 0x90, 0x97, 0x99] {
      let rig = PublishTests.rig(.v5_0)
      for (qos, identifier) in [(QoS.atLeastOnce, 1), (.exactlyOnce, 2)] as [(QoS, UInt16)] {
        rig.receive(publish(.v5_0, qos: qos, identifier: identifier))
        _ = rig.event()
        try rig.acknowledge(rig.token, code)
        rig.session.release()
      }
      #expect(rig.drain() == puback(1, code) + pubrec(2, code))
      #expect(rig.inbox.unacknowledged == 0)
      // [MQTT-4.3.3-9]: the identifier is free for another message.
      rig.receive(publish(.v5_0, qos: .exactlyOnce, identifier: 2))
      #expect(rig.events().count == 1)
    }
  }

  @Test(arguments: [QoS.atLeastOnce, .exactlyOnce])
  func properties(qos: QoS) throws {
    let first: UInt8 = qos == .atLeastOnce ? 0x40 : 0x50
    let properties = property(0x1F, "because") + userProperty("k", "v")
    let rig = PublishTests.rig(.v5_0)
    rig.receive(publish(.v5_0, qos: qos, identifier: 1) + publish(.v5_0, qos: qos, identifier: 2))
    _ = rig.event()
    let one = rig.token
    #expect(rig.hold())
    _ = rig.event()
    let two = rig.token
    #expect(throws: SessionError.full) { try rig.acknowledge(two, 0x80, properties: properties) }
    #expect(rig.drain() == [])
    try rig.acknowledge(one, 0, properties: properties)
    try rig.acknowledge(two, 0x80, properties: properties)
    rig.session.release()
    #expect(
      rig.drain() == packet(first, [0, 1, 0] + list(.v5_0, properties))
        + packet(first, [0, 2, 0x80] + list(.v5_0, properties)))
  }

  /// [MQTT-3.4.2-2] [MQTT-3.5.2-2]: left out where the server could not take them, and only there.
  @Test func propertiesAndMaximumPacketSize() throws {
    let properties = property(0x1F, "because")
    for limit: UInt16 in 14...18 {
      let rig = PublishTests.rig(.v5_0, properties: maximumPacketSize(limit))
      rig.receive(publish(.v5_0, qos: .atLeastOnce, identifier: 1))
      _ = rig.event()
      try rig.acknowledge(rig.token, 0x80, properties: properties)
      rig.session.release()
      let full = packet(0x40, [0, 1, 0x80] + list(.v5_0, properties))
      #expect(full.count == 16)
      #expect(rig.drain() == (limit >= 16 ? full : puback(1, 0x80)), "\(limit)")
    }
  }

  @Test(arguments: bothVersions)
  func wrongAcknowledgements(version: ProtocolVersion) throws {
    let rig = PublishTests.rig(version)
    rig.receive(publish(version, qos: .atLeastOnce, identifier: 1))
    _ = rig.event()
    let token = rig.token
    #expect(throws: SessionError.token) { try rig.acknowledge(token + 1) }
    #expect(throws: SessionError.token) { try rig.acknowledge(0) }
    for code: UInt8 in [0x01, 0x10, 0x91, 0x92, 0xFF] + (version == .v5_0 ? [] : [0x80]) {
      #expect(throws: SessionError.reasonCode) { try rig.acknowledge(token, code) }
    }
    // A property of another packet, half a property, one twice.
    let wrong = [topicAlias(1), [0x1F, 0], property(0x1F, "a") + property(0x1F, "b")]
    for properties in wrong + (version == .v5_0 ? [] : [property(0x1F, "a")]) {
      #expect(throws: SessionError.property) { try rig.acknowledge(token, 0, properties: properties) }
    }
    if version == .v5_0 {
      let much = property(0x1F, String(repeating: "r", count: 600))
      #expect(throws: SessionError.tooLarge) { try rig.acknowledge(token, 0, properties: much) }
    }
    #expect(rig.inbox.unacknowledged == 1)
    rig.session.release()
    #expect(rig.drain() == puback(1))
    #expect(throws: SessionError.token) { try rig.acknowledge(token) }
  }

  /// As large as the control queue can ever take, and one byte more.
  @Test func propertiesAndControlBytes() throws {
    for size in 60...130 {
      let rig = Rig(.v5_0) { $0.controlBytes = 128 }
      rig.connect()
      _ = rig.events()
      rig.receive(publish(.v5_0, qos: .atLeastOnce, identifier: 1))
      _ = rig.event()
      let properties = property(0x1F, String(repeating: "r", count: size))
      let packet = packet(0x40, [0, 1, 0] + list(.v5_0, properties))
      // Room is left for what must always get in.
      if packet.count <= 120 {
        try rig.acknowledge(rig.token, 0, properties: properties)
        rig.session.release()
        #expect(rig.drain() == packet)
      } else {
        #expect(throws: SessionError.tooLarge) { try rig.acknowledge(rig.token, 0, properties: properties) }
      }
    }
  }

  /// 3.1 let a server repeat a PUBLISH on the same connection.
  @Test(arguments: bothVersions)
  func repeatedOnTheSameConnection(version: ProtocolVersion) throws {
    let rig = Rig(version) { $0.receiveMaximum = 2 }
    rig.connect()
    _ = rig.events()
    rig.receive(publish(version, qos: .exactlyOnce, identifier: 1))
    #expect(rig.events().count == 1)
    #expect(rig.drain() == pubrec(1))
    rig.receive(publish(version, qos: .exactlyOnce, identifier: 1, duplicate: true))
    #expect(rig.events().isEmpty)
    #expect(rig.drain() == pubrec(1))
    // Behind a message that is held its PUBREC has to wait; then PUBREL comes for the first one.
    rig.receive(publish(version, qos: .atLeastOnce, identifier: 2))
    _ = rig.event()
    let token = rig.token
    #expect(rig.hold())
    rig.session.release()
    rig.receive(publish(version, qos: .exactlyOnce, identifier: 1, duplicate: true))
    rig.receive(pubrel(1))
    #expect(rig.ending == nil)
    #expect(rig.drain() == pubcomp(1))
    try rig.acknowledge(token)
    #expect(rig.drain() == puback(2))
    #expect(rig.inbox.unacknowledged == 0)
  }

  // MARK: 3.1, which does not say whether it has the session

  /// Nor does the event: an application that is told that its session is there would not subscribe.
  @Test func sessionPresentIn31() {
    let rig = Rig(.v3_1)
    for _ in 0..<3 {
      rig.connect()
      #expect(rig.events() == [.connected(sessionPresent: false)])
      rig.lose()
    }
  }

  /// DUP tells what the server sends again (3.1 §2.1) from a new message under an identifier of a session it has lost.
  @Test(arguments: [true, false], [true, false])
  func lostSessionIn31(isAcknowledged: Bool, isDuplicate: Bool) {
    let rig = Rig(.v3_1) { $0.holdsMessages = !isAcknowledged }
    rig.connect()
    rig.receive(publish(.v3_1, "a", [1], qos: .exactlyOnce, identifier: 1))
    #expect(rig.events().count == 2)
    #expect(rig.drain() == (isAcknowledged ? pubrec(1) : []))
    rig.reconnect(sessionPresent: false)
    rig.receive(publish(.v3_1, "a", [2], qos: .exactlyOnce, identifier: 1, duplicate: isDuplicate))
    let expected: [Happening] = isDuplicate ? [] : [.message(ReceivedMessage("a", [2], qos: .exactlyOnce))]
    #expect(Array(rig.events().dropFirst()) == expected)
  }

  // MARK: Short connections

  /// A connection that ends before the server can send anything again says nothing about what was held.
  @Test(arguments: bothVersions)
  func heldOverAShortConnection(version: ProtocolVersion) throws {
    let rig = Rig(version) { $0.holdsMessages = true }
    rig.connect()
    rig.receive(publish(version, qos: .atLeastOnce, identifier: 7))
    _ = rig.event()
    _ = rig.event()
    let token = rig.token
    for _ in 0..<3 { rig.reconnect(sessionPresent: true) }
    rig.receive(publish(version, qos: .atLeastOnce, identifier: 7, duplicate: true))
    #expect(rig.events() == [.connected(sessionPresent: true)])
    try rig.acknowledge(token)
    #expect(rig.drain() == puback(7))
  }

  /// A server that sends a later one again, or a new one, is past it [MQTT-4.6.0-1].
  @Test(arguments: [true, false])
  func heldAndGivenUp(isNew: Bool) throws {
    let rig = Rig(.v5_0) { $0.holdsMessages = true }
    rig.connect()
    _ = rig.event()
    rig.receive(publish(.v5_0, qos: .atLeastOnce, identifier: 7))
    _ = rig.event()
    let token = rig.token
    rig.receive(publish(.v5_0, qos: .atLeastOnce, identifier: 8))
    _ = rig.event()
    rig.reconnect(sessionPresent: true)
    rig.receive(publish(.v5_0, qos: .atLeastOnce, identifier: isNew ? 9 : 8, duplicate: !isNew))
    _ = rig.events()
    rig.reconnect(sessionPresent: true)
    #expect(throws: SessionError.token) { try rig.acknowledge(token) }
  }

  // MARK: Acknowledgements

  /// A refusal of 5.0 that is still to leave when the next connection is one of 3.1.1, which knows none (its §3.4.1).
  @Test(arguments: [QoS.atLeastOnce, .exactlyOnce])
  func refusalOverAFallback(qos: QoS) throws {
    let rig = Rig(.v5_0) {
      $0.holdsMessages = true
      $0.allowsFallback = true
    }
    rig.connect()
    _ = rig.event()
    rig.receive(publish(.v5_0, qos: qos, identifier: 7))
    _ = rig.event()
    let token = rig.token
    rig.lose()
    try rig.acknowledge(token, 0x97)
    rig.session.connectionOpened()
    #expect(rig.fallBack())
    rig.reconnect(sessionPresent: true)
    rig.receive(publish(.v3_1_1, qos: qos, identifier: 7, duplicate: true))
    #expect(rig.drain() == (qos == .atLeastOnce ? puback(7) : pubrec(7)))
    // Which makes it one that was taken.
    rig.receive(publish(.v3_1_1, qos: qos, identifier: 7, duplicate: true))
    let again = rig.events().count { if case .message = $0 { true } else { false } }
    #expect(again == (qos == .atLeastOnce ? 1 : 0))
  }

  /// What was acknowledged before has left when the next one brings properties along, though an event is out.
  @Test func propertiesBehindAnAcknowledgement() throws {
    let rig = Rig(.v5_0) { $0.holdsMessages = true }
    rig.connect()
    _ = rig.event()
    rig.receive(publish(.v5_0, qos: .atLeastOnce, identifier: 1))
    _ = rig.event()
    let first = rig.token
    rig.receive(publish(.v5_0, qos: .atLeastOnce, identifier: 2))
    _ = rig.event()
    try rig.acknowledge(first)
    try rig.acknowledge(rig.token, 0x97, properties: userProperty("k", "v"))
    #expect(rig.drain() == puback(1) + packet(0x40, [0, 2, 0x97] + list(.v5_0, userProperty("k", "v"))))
  }
}
