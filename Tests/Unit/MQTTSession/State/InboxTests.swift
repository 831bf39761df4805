import MQTTWire
import Storage
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
  @Test(arguments: [1, 3, 10, 65])
  func rudeServer(maximum: Int) throws {
    var acknowledgements = 0
    for seed in UInt64(0)..<2000 {
      var random = SeededRandom(seed: seed)
      let version: ProtocolVersion = random.percent(50) ? .v5_0 : .v3_1_1
      let holds = random.percent(50)
      let harness = SessionHarness(version) {
        $0.receiveMaximum = maximum
        $0.holdsMessages = holds
        $0.controlBytes = 64
      }
      var tokens: [UInt32] = []
      for connection in 0..<6 {
        harness.connect(sessionPresent: connection > 0 && random.percent(90))
        _ = harness.event()
        var received: [[UInt8]] = []
        var sent: [UInt8] = []
        for _ in 0..<60 {
          let identifier = UInt16(1 + random.below(2 * maximum))
          switch random.below(6) {
          case 0, 1, 2:
            let qos: QoS = random.percent(50) ? .atLeastOnce : .exactlyOnce
            let rest = harness.receive(
              publish(version, qos: qos, identifier: identifier, duplicate: random.percent(40)))
            if rest.isEmpty { received.append([qos == .atLeastOnce ? 0x40 : 0x50, UInt8(identifier)]) }
          case 3: harness.receive(pubrel(identifier))
          case 4:
            if case .message = harness.event() { tokens.append(harness.token) }
          default:
            if !tokens.isEmpty {
              try? harness.acknowledge(
                tokens.remove(at: random.below(tokens.count)), version == .v5_0 ? 0x80 : 0)
            }
          }
          if random.percent(30) { sent += harness.drain() }
          #expect(harness.inbox.unacknowledged <= 6 * maximum)
        }
        var rest = received[...]
        for packet in packets(sent) where packet[0] == 0x40 || packet[0] == 0x50 {
          let place = rest.firstIndex(of: [packet[0], packet[3]])
          #expect(place != nil, "seed \(seed): \(packet) out of order")
          rest = rest[((place ?? rest.endIndex - 1) + 1)...]
          acknowledgements += 1
        }
        harness.lose()
        while case .message = harness.event() {}
      }
    }
    #expect(acknowledgements > 5000)
  }

  // MARK: Byte for byte

  @Test(arguments: bothVersions)
  func handshakes(version: ProtocolVersion) {
    let harness = PublishTests.harness(version)
    harness.receive(publish(version, "a/b", [1, 2], qos: .atMostOnce, retain: true))
    var message = ReceivedMessage("a/b", [1, 2])
    message.retain = true
    #expect(harness.event() == .message(message))
    #expect(harness.token == 0 && !harness.hold())
    #expect(harness.event() == nil)
    #expect(harness.drain() == [])

    // A plain message and any other come on two ways.
    harness.receive(publish(version, "a", qos: .atLeastOnce, identifier: 7, retain: true, duplicate: true))
    message = ReceivedMessage("a", qos: .atLeastOnce, duplicate: true)
    message.retain = true
    #expect(harness.event() == .message(message))
    // It is acknowledged when it is released.
    #expect(harness.drain() == [])
    #expect(harness.inbox.unacknowledged == 1)
    #expect(harness.event() == nil)
    #expect(harness.drain() == puback(7))

    harness.receive(publish(version, "a", qos: .exactlyOnce, identifier: 65_535))
    #expect(harness.event() == .message(ReceivedMessage("a", qos: .exactlyOnce)))
    harness.session.releaseEvent()
    #expect(harness.drain() == pubrec(65_535))
    #expect(harness.inbox.unacknowledged == 1)
    harness.receive(pubrel(65_535))
    #expect(harness.drain() == pubcomp(65_535))
    #expect(harness.inbox.unacknowledged == 0)
    // [MQTT-4.3.3-11]: whoever asks gets an answer.
    harness.receive(pubrel(65_535))
    #expect(harness.drain() == pubcomp(65_535, version == .v5_0 ? 0x92 : 0))
    #expect(harness.counters.messagesReceived.uint64 == 3)
    #expect(harness.counters.messagesDuplicate.uint64 == 0)
    #expect(harness.inbox.peak == 1)
  }

  /// Acknowledged backwards, they leave forwards.
  @Test(arguments: bothVersions)
  func held(version: ProtocolVersion) throws {
    let harness = PublishTests.harness(version)
    var tokens: [UInt32] = []
    for identifier: UInt16 in 1...5 {
      harness.receive(
        publish(version, qos: identifier % 2 == 0 ? .exactlyOnce : .atLeastOnce, identifier: identifier))
      _ = harness.event()
      #expect(harness.hold())
      tokens.append(harness.token)
    }
    for token in tokens.dropFirst().reversed() {
      try harness.acknowledge(token)
      _ = harness.event()
      #expect(harness.drain() == [])
    }
    // A call on the last event may come before it is released.
    try harness.acknowledge(tokens[0])
    #expect(harness.drain() == puback(1) + pubrec(2) + puback(3) + pubrec(4) + puback(5))
    #expect(harness.inbox.unacknowledged == 2)
    #expect(!harness.hold())
  }

  /// `smq_hold`: what is held is not handed out a second time, and waits for the same `smq_ack`.
  @Test(arguments: bothVersions, [QoS.atLeastOnce, .exactlyOnce])
  func heldOverConnections(version: ProtocolVersion, qos: QoS) throws {
    let answer = qos == .atLeastOnce ? puback : pubrec
    let harness = PublishTests.harness(version)
    harness.receive(publish(version, qos: qos, identifier: 1) + publish(version, qos: qos, identifier: 2))
    var tokens: [UInt32] = []
    for _ in 0..<2 {
      _ = harness.event()
      tokens.append(harness.token)
      #expect(harness.hold())
    }
    harness.session.releaseEvent()
    harness.reconnect(sessionPresent: true)
    harness.receive(publish(version, qos: qos, identifier: 1, duplicate: true))
    #expect(harness.events() == [.connected(sessionPresent: true)])
    #expect(harness.counters.messagesDuplicate.uint64 == 1)
    // One has not come again yet: its acknowledgement has to wait for that.
    try harness.acknowledge(tokens[1])
    try harness.acknowledge(tokens[0])
    #expect(harness.drain() == answer(1, 0))
    harness.receive(publish(version, qos: qos, identifier: 2, duplicate: true))
    #expect(harness.events() == [])
    #expect(harness.drain() == answer(2, 0))
    #expect(throws: SessionError.token) { try harness.acknowledge(tokens[0]) }

    harness.receive(publish(version, qos: qos, identifier: 3))
    _ = harness.event()
    let token = harness.token
    #expect(harness.hold())
    harness.session.releaseEvent()
    harness.reconnect(sessionPresent: false)
    #expect(throws: SessionError.token) { try harness.acknowledge(token) }
    #expect(harness.inbox.unacknowledged == 0)
  }

  /// Behind one that came again and is held stands what came after it, and not the other way round.
  @Test func orderOfWhatComesAgain() throws {
    let harness = PublishTests.harness(.v5_0)
    harness.receive(publish(.v5_0, qos: .atLeastOnce, identifier: 1))
    _ = harness.event()
    let first = harness.token
    #expect(harness.hold())
    harness.session.releaseEvent()
    harness.reconnect(sessionPresent: true)
    harness.receive(
      publish(.v5_0, qos: .atLeastOnce, identifier: 2)
        + publish(.v5_0, qos: .atLeastOnce, identifier: 1, duplicate: true))
    #expect(harness.events().count == 2)
    try harness.acknowledge(first)
    #expect(harness.drain() == puback(2) + puback(1))
  }

  // MARK: Acknowledgements with something to say

  @Test func refusals() throws {
    for code: UInt8 in [0x80, 0x83, 0x87, 0x90, 0x97, 0x99] {
      let harness = PublishTests.harness(.v5_0)
      for (qos, identifier) in [(QoS.atLeastOnce, 1), (.exactlyOnce, 2)] as [(QoS, UInt16)] {
        harness.receive(publish(.v5_0, qos: qos, identifier: identifier))
        _ = harness.event()
        try harness.acknowledge(harness.token, code)
        harness.session.releaseEvent()
      }
      #expect(harness.drain() == puback(1, code) + pubrec(2, code))
      #expect(harness.inbox.unacknowledged == 0)
      // [MQTT-4.3.3-9]: the identifier is free for another message.
      harness.receive(publish(.v5_0, qos: .exactlyOnce, identifier: 2))
      #expect(harness.events().count == 1)
    }
  }

  @Test(arguments: [QoS.atLeastOnce, .exactlyOnce])
  func properties(qos: QoS) throws {
    let first: UInt8 = qos == .atLeastOnce ? 0x40 : 0x50
    let properties = property(0x1F, "because") + userProperty("k", "v")
    let harness = PublishTests.harness(.v5_0)
    harness.receive(publish(.v5_0, qos: qos, identifier: 1) + publish(.v5_0, qos: qos, identifier: 2))
    _ = harness.event()
    let one = harness.token
    #expect(harness.hold())
    _ = harness.event()
    let two = harness.token
    #expect(throws: SessionError.full) { try harness.acknowledge(two, 0x80, properties: properties) }
    #expect(harness.drain() == [])
    try harness.acknowledge(one, 0, properties: properties)
    try harness.acknowledge(two, 0x80, properties: properties)
    harness.session.releaseEvent()
    #expect(
      harness.drain() == packet(first, [0, 1, 0] + list(.v5_0, properties))
        + packet(first, [0, 2, 0x80] + list(.v5_0, properties)))
  }

  /// [MQTT-3.4.2-2] [MQTT-3.5.2-2]: left out where the server could not take them, and only there.
  @Test func propertiesAndMaximumPacketSize() throws {
    let properties = property(0x1F, "because")
    for limit: UInt16 in 14...18 {
      let harness = PublishTests.harness(.v5_0, properties: maximumPacketSize(limit))
      harness.receive(publish(.v5_0, qos: .atLeastOnce, identifier: 1))
      _ = harness.event()
      try harness.acknowledge(harness.token, 0x80, properties: properties)
      harness.session.releaseEvent()
      let full = packet(0x40, [0, 1, 0x80] + list(.v5_0, properties))
      #expect(full.count == 16)
      #expect(harness.drain() == (limit >= 16 ? full : puback(1, 0x80)), "\(limit)")
    }
  }

  @Test(arguments: bothVersions)
  func wrongAcknowledgements(version: ProtocolVersion) throws {
    let harness = PublishTests.harness(version)
    harness.receive(publish(version, qos: .atLeastOnce, identifier: 1))
    _ = harness.event()
    let token = harness.token
    #expect(throws: SessionError.token) { try harness.acknowledge(token + 1) }
    #expect(throws: SessionError.token) { try harness.acknowledge(0) }
    for code: UInt8 in [0x01, 0x10, 0x91, 0x92, 0xFF] + (version == .v5_0 ? [] : [0x80]) {
      #expect(throws: SessionError.reasonCode) { try harness.acknowledge(token, code) }
    }
    // A property of another packet, half a property, one twice.
    let wrong = [topicAlias(1), [0x1F, 0], property(0x1F, "a") + property(0x1F, "b")]
    for properties in wrong + (version == .v5_0 ? [] : [property(0x1F, "a")]) {
      #expect(throws: SessionError.property) { try harness.acknowledge(token, 0, properties: properties) }
    }
    if version == .v5_0 {
      let much = property(0x1F, String(repeating: "r", count: 600))
      #expect(throws: SessionError.tooLarge) { try harness.acknowledge(token, 0, properties: much) }
    }
    #expect(harness.inbox.unacknowledged == 1)
    harness.session.releaseEvent()
    #expect(harness.drain() == puback(1))
    #expect(throws: SessionError.token) { try harness.acknowledge(token) }
  }

  /// As large as the control queue can ever take, and one byte more.
  @Test func propertiesAndControlBytes() throws {
    for size in 60...130 {
      let harness = SessionHarness(.v5_0) { $0.controlBytes = 128 }
      harness.connect()
      _ = harness.events()
      harness.receive(publish(.v5_0, qos: .atLeastOnce, identifier: 1))
      _ = harness.event()
      let properties = property(0x1F, String(repeating: "r", count: size))
      let packet = packet(0x40, [0, 1, 0] + list(.v5_0, properties))
      // Room is left for what must always get in.
      if packet.count <= 120 {
        try harness.acknowledge(harness.token, 0, properties: properties)
        harness.session.releaseEvent()
        #expect(harness.drain() == packet)
      } else {
        #expect(throws: SessionError.tooLarge) {
          try harness.acknowledge(harness.token, 0, properties: properties)
        }
      }
    }
  }

  /// 3.1 let a server repeat a PUBLISH on the same connection.
  @Test(arguments: bothVersions)
  func repeatedOnTheSameConnection(version: ProtocolVersion) throws {
    let harness = SessionHarness(version) { $0.receiveMaximum = 2 }
    harness.connect()
    _ = harness.events()
    harness.receive(publish(version, qos: .exactlyOnce, identifier: 1))
    #expect(harness.events().count == 1)
    #expect(harness.drain() == pubrec(1))
    harness.receive(publish(version, qos: .exactlyOnce, identifier: 1, duplicate: true))
    #expect(harness.events().isEmpty)
    #expect(harness.drain() == pubrec(1))
    // Behind a message that is held its PUBREC has to wait; then PUBREL comes for the first one.
    harness.receive(publish(version, qos: .atLeastOnce, identifier: 2))
    _ = harness.event()
    let token = harness.token
    #expect(harness.hold())
    harness.session.releaseEvent()
    harness.receive(publish(version, qos: .exactlyOnce, identifier: 1, duplicate: true))
    harness.receive(pubrel(1))
    #expect(harness.ending == nil)
    #expect(harness.drain() == pubcomp(1))
    try harness.acknowledge(token)
    #expect(harness.drain() == puback(2))
    #expect(harness.inbox.unacknowledged == 0)
  }

  // MARK: 3.1, which does not say whether it has the session

  /// Nor does the event: an application that is told that its session is there would not subscribe.
  @Test func sessionPresentIn31() {
    let harness = SessionHarness(.v3_1)
    for _ in 0..<3 {
      harness.connect()
      #expect(harness.events() == [.connected(sessionPresent: false)])
      harness.lose()
    }
  }

  /// DUP tells what the server sends again (3.1 §2.1) from a new message under an identifier of a session it has lost.
  @Test(arguments: [true, false], [true, false])
  func lostSessionIn31(isAcknowledged: Bool, isDuplicate: Bool) {
    let harness = SessionHarness(.v3_1) { $0.holdsMessages = !isAcknowledged }
    harness.connect()
    harness.receive(publish(.v3_1, "a", [1], qos: .exactlyOnce, identifier: 1))
    #expect(harness.events().count == 2)
    #expect(harness.drain() == (isAcknowledged ? pubrec(1) : []))
    harness.reconnect(sessionPresent: false)
    harness.receive(publish(.v3_1, "a", [2], qos: .exactlyOnce, identifier: 1, duplicate: isDuplicate))
    let expected: [ReportedEvent] =
      isDuplicate ? [] : [.message(ReceivedMessage("a", [2], qos: .exactlyOnce))]
    #expect(Array(harness.events().dropFirst()) == expected)
  }

  // MARK: Short connections

  /// A connection that ends before the server can send anything again says nothing about what was held.
  @Test(arguments: bothVersions)
  func heldOverAShortConnection(version: ProtocolVersion) throws {
    let harness = SessionHarness(version) { $0.holdsMessages = true }
    harness.connect()
    harness.receive(publish(version, qos: .atLeastOnce, identifier: 7))
    _ = harness.event()
    _ = harness.event()
    let token = harness.token
    for _ in 0..<3 { harness.reconnect(sessionPresent: true) }
    harness.receive(publish(version, qos: .atLeastOnce, identifier: 7, duplicate: true))
    #expect(harness.events() == [.connected(sessionPresent: true)])
    try harness.acknowledge(token)
    #expect(harness.drain() == puback(7))
  }

  /// A server that sends a later one again, or a new one, is past it [MQTT-4.6.0-1].
  @Test(arguments: [true, false])
  func heldAndGivenUp(isNew: Bool) throws {
    let harness = SessionHarness(.v5_0) { $0.holdsMessages = true }
    harness.connect()
    _ = harness.event()
    harness.receive(publish(.v5_0, qos: .atLeastOnce, identifier: 7))
    _ = harness.event()
    let token = harness.token
    harness.receive(publish(.v5_0, qos: .atLeastOnce, identifier: 8))
    _ = harness.event()
    harness.reconnect(sessionPresent: true)
    harness.receive(publish(.v5_0, qos: .atLeastOnce, identifier: isNew ? 9 : 8, duplicate: !isNew))
    _ = harness.events()
    harness.reconnect(sessionPresent: true)
    #expect(throws: SessionError.token) { try harness.acknowledge(token) }
  }

  // MARK: Acknowledgements

  /// A refusal of 5.0 that is still to leave when the next connection is one of 3.1.1, which knows none (its §3.4.1).
  @Test(arguments: [QoS.atLeastOnce, .exactlyOnce])
  func refusalOverAFallback(qos: QoS) throws {
    let harness = SessionHarness(.v5_0) {
      $0.holdsMessages = true
      $0.allowsFallback = true
    }
    harness.connect()
    _ = harness.event()
    harness.receive(publish(.v5_0, qos: qos, identifier: 7))
    _ = harness.event()
    let token = harness.token
    harness.lose()
    try harness.acknowledge(token, 0x97)
    harness.session.connectionOpened()
    #expect(harness.fallBack())
    harness.reconnect(sessionPresent: true)
    harness.receive(publish(.v3_1_1, qos: qos, identifier: 7, duplicate: true))
    #expect(harness.drain() == (qos == .atLeastOnce ? puback(7) : pubrec(7)))
    // Which makes it one that was taken.
    harness.receive(publish(.v3_1_1, qos: qos, identifier: 7, duplicate: true))
    let again = harness.events().count { if case .message = $0 { true } else { false } }
    #expect(again == (qos == .atLeastOnce ? 1 : 0))
  }

  /// What was acknowledged before has left when the next one brings properties along, though an event is out.
  @Test func propertiesBehindAnAcknowledgement() throws {
    let harness = SessionHarness(.v5_0) { $0.holdsMessages = true }
    harness.connect()
    _ = harness.event()
    harness.receive(publish(.v5_0, qos: .atLeastOnce, identifier: 1))
    _ = harness.event()
    let first = harness.token
    harness.receive(publish(.v5_0, qos: .atLeastOnce, identifier: 2))
    _ = harness.event()
    try harness.acknowledge(first)
    try harness.acknowledge(harness.token, 0x97, properties: userProperty("k", "v"))
    #expect(harness.drain() == puback(1) + packet(0x40, [0, 2, 0x97] + list(.v5_0, userProperty("k", "v"))))
  }

  // MARK: The index

  /// An inbox with an index of its entries does what one without does, whatever comes.
  @Test(arguments: [4, 20, 100])
  func indexed(maximum: Int) throws {
    var accepted = 0
    var resent = 0
    for seed in UInt64(0)..<UInt64(2000 / maximum) {
      var random = SeededRandom(seed: seed)
      let pair = InboxPair(maximum)
      let identifiers = UInt16(random.percent(50) ? 2 * maximum : maximum / 2 + 1)
      for step in 0..<6 * maximum {
        let identifier = PacketIdentifier(UInt16(1 + random.below(Int(identifiers))))!
        switch random.below(100) {
        case 0..<50:
          let qos: QoS = random.percent(50) ? .atLeastOnce : .exactlyOnce
          let duplicate = random.percent(40)
          // In the order of the server, or not.
          let isNext = random.percent(70)
          let verdict = pair.received(
            isNext ? pair.nextToResend ?? identifier : identifier,
            qos: isNext ? pair.qosToResend ?? qos : qos,
            duplicate: duplicate)
          if isNext, duplicate, verdict == .duplicate { resent += 1 }
        case 50..<70: if pair.accept(random.next()) { accepted += 1 }
        case 70..<85: pair.removeNext()
        case 85..<98: pair.receivedPubrel(identifier)
        default:
          guard random.percent(40) else { continue }
          pair.connected(
            random.percent(50) ? .v5_0 : .v3_1_1, sessionPresent: random.percent(90),
            isKnown: random.percent(80))
          if random.percent(30) { pair.reconnectForBacklog() }
        }
        if let fault = pair.fault {
          Issue.record("seed \(seed), step \(step): \(fault)")
          return
        }
      }
    }
    #expect(accepted > 100 && resent > 100)
  }

  /// An inbox with an index and one without, to which the same happens.
  final class InboxPair {
    private let memory: Memory
    private var indexed: Inbox
    private var plain: Inbox
    private var tokens: [UInt32] = []
    private(set) var fault: String?

    init(_ maximum: Int) {
      let links = HashIndex.linkCount(for: maximum, without: 0)
      let slots = IdentifierSet.slotCount(for: maximum)
      let entry = MemoryLayout<Inbox.Entry>.stride
      memory = Memory(2 * (maximum * entry + slots * 4) + links * 2 + 64)
      indexed = Inbox(
        ring: memory.table(maximum, of: Inbox.Entry.self), links: memory.table(links, of: UInt16.self),
        awaitingPubrel: IdentifierSet(slots: memory.table(slots, of: UInt32.self)))
      plain = Inbox(
        ring: memory.table(maximum, of: Inbox.Entry.self), links: memory.table(0, of: UInt16.self),
        awaitingPubrel: IdentifierSet(slots: memory.table(slots, of: UInt32.self)))
    }

    private func compare<Value: Equatable>(_ one: Value, _ other: Value, _ what: String) {
      if one != other { fault = fault ?? "\(what): \(one), not \(other)" }
    }

    private func compareAll() {
      compare(indexed.ring.count, plain.ring.count, "count")
      compare(indexed.notRedelivered, plain.notRedelivered, "not redelivered")
      compare(indexed.reserved, plain.reserved, "reserved")
      compare(indexed.awaitingPubrel.count, plain.awaitingPubrel.count, "awaiting PUBREL")
      guard fault == nil else { return }
      for position in 0..<plain.ring.count {
        let entry = plain.ring[at: position]
        compare(indexed.ring[at: position].token, entry.token, "token at \(position)")
        compare(indexed.ring[at: position].isAccepted, entry.isAccepted, "accepted at \(position)")
        for end in [plain.notRedelivered, entry.qos == .exactlyOnce ? plain.ring.count : 0] {
          compare(
            indexed.index(of: entry.identifier, qos: entry.qos, before: end),
            plain.index(of: entry.identifier, qos: entry.qos, before: end), "index of \(entry.identifier)")
        }
        compare(indexed.identifier(of: entry.token), entry.identifier, "identifier of \(entry.token)")
      }
      compare(indexed.identifier(of: 0), nil, "identifier of no token")
    }

    /// What a server that keeps the order resends next.
    var nextToResend: PacketIdentifier? { plain.notRedelivered > 0 ? plain.ring[at: 0].identifier : nil }
    var qosToResend: QoS? { plain.notRedelivered > 0 ? plain.ring[at: 0].qos : nil }

    func received(_ identifier: PacketIdentifier, qos: QoS, duplicate: Bool) -> Inbox.Verdict {
      let verdict = plain.received(identifier, qos: qos, duplicate: duplicate, isStrict: false)
      compare(
        "\(indexed.received(identifier, qos: qos, duplicate: duplicate, isStrict: false))", "\(verdict)",
        "verdict")
      if case .deliver = verdict {
        tokens.append(plain.add(identifier, qos: qos))
        compare(indexed.add(identifier, qos: qos), tokens.last, "token")
      }
      compareAll()
      return verdict
    }

    func accept(_ number: UInt64) -> Bool {
      guard !tokens.isEmpty else { return false }
      let token = tokens.remove(at: Int(number % UInt64(tokens.count)))
      let isAccepted = plain.accept(token, reasonCode: 0)
      compare(indexed.accept(token, reasonCode: 0), isAccepted, "accepted")
      return isAccepted
    }

    func removeNext() {
      while plain.next != nil {
        plain.removeNext()
        indexed.removeNext()
      }
      compareAll()
    }

    func receivedPubrel(_ identifier: PacketIdentifier) {
      guard !plain.isUnacknowledged(identifier) else { return }
      compare(indexed.isUnacknowledged(identifier), false, "unacknowledged")
      compare(
        indexed.receivedPubrel(identifier), plain.receivedPubrel(identifier), "PUBREL of \(identifier)")
      compareAll()
    }

    func connected(_ version: ProtocolVersion, sessionPresent: Bool, isKnown: Bool) {
      plain.connected(version, sessionPresent: sessionPresent, isKnown: isKnown, endsWithConnection: false)
      indexed.connected(version, sessionPresent: sessionPresent, isKnown: isKnown, endsWithConnection: false)
      compareAll()
    }

    func reconnectForBacklog() {
      plain.reconnectForBacklog()
      indexed.reconnectForBacklog()
      compareAll()
    }
  }
}
