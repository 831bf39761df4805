import MQTTWire
import Storage
import TestSupport
import Testing

@testable import MQTTSession

/// Topic Aliases of the client (§3.3.2.3.4): does the server get the right topic, on every connection?
@Suite struct SentAliasesTests {
  /// Connected to a server that takes so many aliases.
  static func harness(
    _ maximum: UInt16, configure: (inout SessionHarness.Options) -> Void = { $0.aliasesSent = 2 }
  ) -> SessionHarness {
    let harness = SessionHarness(.v5_0, configure: configure)
    harness.connect(properties: topicAliasMaximum(maximum))
    _ = harness.events()
    return harness
  }

  /// A message as it goes: with its topic, with topic and alias, or with the alias alone.
  static func plain(_ topic: String) -> [UInt8] { publish(.v5_0, topic, qos: .atMostOnce) }
  static func establishing(_ topic: String, _ alias: UInt16) -> [UInt8] {
    publish(.v5_0, topic, qos: .atMostOnce, properties: topicAlias(alias))
  }
  static func using(_ alias: UInt16) -> [UInt8] {
    publish(.v5_0, "", qos: .atMostOnce, properties: topicAlias(alias))
  }

  @Test func leastRecentlyUsedMakesRoom() throws {
    let harness = Self.harness(10)
    let steps: [(String, [UInt8])] = [
      ("aaaa", Self.establishing("aaaa", 1)), ("aaaa", Self.using(1)), ("bbbb", Self.establishing("bbbb", 2)),
      ("aaaa", Self.using(1)), ("cccc", Self.establishing("cccc", 2)), ("aaaa", Self.using(1)),
      ("bbbb", Self.establishing("bbbb", 2)), ("cccc", Self.establishing("cccc", 1)), ("bbbb", Self.using(2)),
      // An alias takes three bytes: nothing would be won.
      ("ccc", Self.plain("ccc")), ("cccc", Self.using(1)),
    ]
    for (topic, packet) in steps {
      try harness.publish(topic, isQuiet: true)
      #expect(harness.drain() == packet, "\(topic)")
    }
  }

  /// As many as the server allows, as many as there is room for, and none where it said nothing.
  @Test func asManyAsBothAllow() throws {
    for (own, server, count) in [(0, 5, 0), (2, 5, 2), (5, 2, 2), (3, 0, 0), (1, 1, 1)] {
      let harness = Self.harness(UInt16(server)) { $0.aliasesSent = own }
      for turn in 0..<2 {
        for number in 0..<count {
          try harness.publish("topic/\(number)", isQuiet: true)
          let alias = UInt16(number + 1)
          #expect(
            harness.drain() == (turn == 0 ? Self.establishing("topic/\(number)", alias) : Self.using(alias)))
        }
      }
      if count == 0 {
        try harness.publish("topic", isQuiet: true)
        #expect(harness.drain() == Self.plain("topic"))
      }
    }
    // CONNACK without Topic Alias Maximum.
    let harness = SessionHarness(.v5_0) { $0.aliasesSent = 4 }
    harness.connect()
    try harness.publish("topic")
    #expect(harness.drain() == Self.plain("topic"))
  }

  @Test func topicsThatAreTooLong() throws {
    let harness = Self.harness(10) {
      $0.aliasesSent = 2
      $0.aliasBytes = 8
    }
    for topic in ["12345678", "123456789"] {
      for _ in 0..<2 { try harness.publish(topic, isQuiet: true) }
    }
    #expect(
      packets(harness.drain()) == [
        Self.establishing("12345678", 1), Self.using(1), Self.plain("123456789"), Self.plain("123456789"),
      ])
  }

  /// An alias whose topic a message in the outbox may need on another connection is not given to another topic.
  @Test func pinnedAliases() throws {
    let harness = Self.harness(10)
    for topic in ["aaaa", "aaaa", "bbbb", "bbbb"] { try harness.publish(topic, qos: .atLeastOnce) }
    _ = harness.drain()
    // 1 establishes, 2 uses: both entries are held.
    try harness.publish("cccc", isQuiet: true)
    #expect(harness.drain() == Self.plain("cccc"))
    harness.receive(puback(2))
    try harness.publish("cccc", isQuiet: true)
    #expect(harness.drain() == Self.establishing("cccc", 1))
    harness.receive(puback(4))
    // The second was in use until now, so it is the first that was used longest ago.
    try harness.publish("dddd", isQuiet: true)
    #expect(harness.drain() == Self.establishing("dddd", 1))
    try harness.publish("eeee", isQuiet: true)
    #expect(harness.drain() == Self.establishing("eeee", 2))
  }

  /// The beginning of a packet that is put together for another connection has its Packet Identifier: the message behind an
  /// older one, whose descriptor could be used again, keeps its place until it is sent.
  @Test func theIdentifierInABeginningThatIsNotSent() throws {
    let harness = Self.harness(10) {
      $0.aliasesSent = 2
      $0.outboxMessages = 3
    }
    try harness.publish("topic", isQuiet: true)
    _ = harness.drain()
    try harness.publish("h", cookie: 1)
    try harness.publish("g", isQuiet: true)
    try harness.publish("topic", qos: .atLeastOnce, cookie: 2)
    harness.reconnect(sessionPresent: true, properties: topicAliasMaximum(10))
    #expect(harness.transmit() == Self.plain("h") + Self.plain("g"))
    // The completion of the first is not taken, the second is gone, and the beginning of the third is there.
    let hasMore = harness.session.prepareTransmit(at: harness.now)
    #expect(hasMore)
    var isFull = false
    do { try harness.publish("n", qos: .atLeastOnce, cookie: 3) } catch { isFull = error == .full }
    #expect(isFull)
    let sent = packets(harness.drain())
    #expect(sent.count == 1)
    let identifier = sent[0][9...10].reduce(UInt16(0)) { $0 << 8 | UInt16($1) }
    harness.receive(puback(identifier))
    #expect(harness.events().filter { $0 == .delivered(1) || $0 == .delivered(2) }.count == 2)
    #expect(harness.outbox.messages == 0)
  }

  /// On the next connection an alias means nothing: each message has its topic.
  @Test(arguments: [QoS.atLeastOnce, .exactlyOnce], [[], [1, 2, 3]] as [[UInt8]])
  func againWithTopics(qos: QoS, payload: [UInt8]) throws {
    for properties in [[], userProperty("k", "v"), userProperty("k", String(repeating: "v", count: 120))] {
      for piece in [1, 2, 5, Int.max] {
        let harness = Self.harness(10)
        for _ in 0..<3 { try harness.publish("topic", payload, qos: qos, properties: properties) }
        let sent = packets(harness.drain())
        #expect(
          sent
            == (1...3).map {
              publish(
                .v5_0, $0 == 1 ? "topic" : "", payload, qos: qos, identifier: $0,
                properties: topicAlias(1) + properties)
            })
        harness.reconnect(sessionPresent: true, properties: topicAliasMaximum(10))
        let again: [[UInt8]] = (1...3).map {
          publish(
            .v5_0, "topic", payload, qos: qos, identifier: $0, duplicate: true, properties: properties)
        }
        // Established again by whoever comes next.
        try harness.publish("topic", isQuiet: true)
        #expect(packets(harness.drain(piece: piece)) == again + [Self.establishing("topic", 1)])
        // And once more, from a connection that had sent a part of it only.
        harness.reconnect(sessionPresent: true)
        _ = harness.transmit(again[0].count)
        _ = harness.transmit(9)
        harness.reconnect(sessionPresent: true)
        #expect(packets(harness.drain(piece: piece)) == again)
        for identifier: UInt16 in 1...3 {
          harness.receive(qos == .atLeastOnce ? puback(identifier) : pubrec(identifier) + pubcomp(identifier))
        }
        _ = harness.events()
        #expect(harness.outbox.messages == 0)
        #expect(harness.outbox.bytes == 0)
      }
    }
  }

  /// Queued and not sent, then a server of 3.1.1: neither alias nor properties, and every topic.
  @Test func downgrade() throws {
    let cases: [(topic: String, properties: [UInt8])] = [
      ("topic", []), ("topic", []), ("topic", userProperty("k", "v")), ("abc", userProperty("k", "v")),
      ("topic", userProperty("k", String(repeating: "v", count: 130))), ("other", correlationData([1, 2])),
      ("other", []),
    ]
    for payloadSize in [0, 1, 110, 115, 120, 125, 130, 300] {
      for piece in [3, Int.max] {
        let payload = [UInt8](repeating: 7, count: payloadSize)
        let harness = Self.harness(10) {
          $0.aliasesSent = 2
          $0.allowsFallback = true
        }
        for (topic, properties) in cases {
          try harness.publish(topic, payload, qos: .atLeastOnce, properties: properties)
        }
        if piece == 3 { _ = harness.drain() }
        harness.lose()
        #expect(harness.fallBack())
        harness.connect(sessionPresent: true)
        let expected = cases.enumerated().map {
          publish(
            .v3_1_1, $1.topic, payload, qos: .atLeastOnce, identifier: UInt16($0 + 1), duplicate: piece == 3)
        }
        #expect(packets(harness.drain(piece: piece)) == expected)
        for number in cases.indices { harness.receive(puback(UInt16(number + 1))) }
        #expect(harness.events().count == 1 + cases.count)
        #expect(harness.outbox.bytes == 0)
      }
    }
  }

  /// The packet that counts is the one that will be sent: not the alias, but the topic.
  @Test(arguments: bothVersions)
  func maximumPacketSizeOfTheNextServer(version: ProtocolVersion) throws {
    let packet = publish(version, "topic/1", [1, 2, 3], qos: .atLeastOnce, identifier: 2, duplicate: true)
    for limit in packet.count - 3...packet.count + 3 {
      let harness = Self.harness(10)
      for _ in 0..<2 { try harness.publish("topic/1", [1, 2, 3], qos: .atLeastOnce, cookie: 5) }
      _ = harness.drain()
      harness.receive(puback(1))
      _ = harness.events()
      guard version == .v5_0 else { continue }
      harness.reconnect(sessionPresent: true, properties: maximumPacketSize(UInt16(limit)))
      if limit >= packet.count {
        #expect(harness.drain() == packet, "\(limit)")
      } else {
        #expect(harness.drain() == [], "\(limit)")
        #expect(harness.events() == [.connected(sessionPresent: true), .aboveLimit(5, 0x95)])
      }
    }
  }

  /// What is written in place, supplied later or waits for a reply goes without.
  @Test func specialMessages() throws {
    let harness = Self.harness(10) {
      $0.aliasesSent = 2
      $0.replies = 1
      $0.streamBytes = 64
    }
    try harness.publish("topic", isQuiet: true)
    try harness.reserve("topic", size: 0)
    try harness.commit(0)
    try harness.stream("topic", [])
    try harness.request("topic", timeout: 1000)
    let sent = packets(harness.drain()).map { ReadPublish($0, .v5_0) }
    #expect(sent.map(\.topic) == ["topic", "topic", "topic", "topic"])
    #expect(sent.dropFirst().allSatisfy { !$0.properties.starts(with: [0x23]) })
  }

  /// A message that expires may establish an alias, and use one.
  @Test func expiringMessages() throws {
    let harness = Self.harness(10)
    for turn in 0..<3 {
      try harness.publish("topic", isQuiet: true, expiry: 5)
      let expected = topicAlias(1) + messageExpiry(5)
      #expect(
        harness.drain()
          == publish(.v5_0, turn == 0 ? "topic" : "", qos: .atMostOnce, properties: expected))
    }
  }

  /// The message that was to establish it expires behind a full window: those behind it get their topic back, and the
  /// next one establishes it.
  @Test func expiredBeforeItWasEstablished() throws {
    let harness = SessionHarness(.v5_0) {
      $0.aliasesSent = 2
      $0.inFlightMaximum = 1
    }
    harness.connect(properties: topicAliasMaximum(10))
    _ = harness.events()
    try harness.publish("window", qos: .atLeastOnce, isQuiet: true)
    _ = harness.drain()
    try harness.publish("topic", [1], qos: .atLeastOnce, cookie: 1, expiry: 1)
    try harness.publish("topic", [2], qos: .atLeastOnce, isQuiet: true, expiry: 9)
    try harness.publish("topic", [3], qos: .atMostOnce, isQuiet: true)
    harness.advanceClock(2000)
    #expect(harness.events() == [.failed(1, .expired)])
    try harness.publish("topic", [4], qos: .atMostOnce, isQuiet: true)
    try harness.publish("topic", [5], qos: .atMostOnce, isQuiet: true)
    harness.receive(puback(1))
    #expect(
      packets(harness.drain()) == [
        publish(.v5_0, "topic", [2], qos: .atLeastOnce, identifier: 3, properties: messageExpiry(7)),
        publish(.v5_0, "topic", [3], qos: .atMostOnce),
        publish(.v5_0, "topic", [4], qos: .atMostOnce, properties: topicAlias(2)),
        publish(.v5_0, "", [5], qos: .atMostOnce, properties: topicAlias(2)),
      ])
  }

  /// Random messages over many connections, to servers with other maxima: what a server resolves is always the
  /// topic the message was published with, and nothing is lost or sent twice without DUP.
  @Test(arguments: [1, 2, 4])
  func randomRuns(aliases: Int) throws {
    var uses = 0
    var taken = 0
    var expiries = 0
    for seed in UInt64(0)..<1500 {
      var random = SeededRandom(seed: seed)
      let harness = SessionHarness(.v5_0) {
        $0.keepAlive = 0
        $0.aliasesSent = aliases
        $0.aliasBytes = 12
        $0.outboxBytes = 300
        $0.outboxMessages = 12
      }
      let topics = ["ab", "topic/1", "topic/2", "topic/3", "topic/4", "topic/5", "topic/which/is/long"]
      var published: [String] = []
      var arrived: [Bool] = []
      var expired = 0
      var stream: [UInt8] = []
      var known: [UInt16: String] = [:]
      var maximum = 0
      var window: [(UInt16, UInt8)] = []
      var fault: String?

      func arrive(_ packet: [UInt8]) {
        guard packet[0] >> 4 == 3 else { return }
        let message = ReadPublish(packet, .v5_0)
        var topic = message.topic
        if message.properties.first == 0x23 {
          let alias = UInt16(message.properties[1]) << 8 | UInt16(message.properties[2])
          if alias == 0 || alias > maximum { fault = "alias \(alias) of \(maximum)" }
          if topic.isEmpty {
            uses += 1
            topic = known[alias] ?? "?"
          } else {
            known[alias] = topic
          }
        }
        let number = Int(message.payload[0])
        if published[number] != topic { fault = "\(number) came as \(topic), not \(published[number])" }
        if arrived[number] && !message.duplicate { fault = "\(number) came twice" }
        arrived[number] = true
        if message.qos > 0 { window.append((message.identifier, message.qos)) }
      }
      func note(_ events: [ReportedEvent]) {
        for case .failed(let cookie, .expired) in events {
          if arrived[Int(cookie)] { fault = "\(cookie) came, and has expired" }
          arrived[Int(cookie)] = true
          expired += 1
        }
      }
      func connect() {
        harness.lose()
        stream = []
        known = [:]
        window = []
        maximum = random.below(2 * aliases + 1)
        harness.connect(sessionPresent: true, properties: topicAliasMaximum(UInt16(maximum)))
      }

      connect()
      for _ in 0..<200 where fault == nil {
        switch random.below(100) {
        case 0..<40 where published.count < 250:
          let topic = topics[random.below(topics.count)]
          let payload = [UInt8(published.count)] + random.bytes(random.below(8))
          let properties = random.percent(20) ? userProperty("k", "v") : []
          do throws(SessionError) {
            try harness.publish(
              topic, payload, qos: allQoS[random.below(3)], cookie: UInt64(published.count), isQuiet: true,
              expiry: random.percent(40) ? 1 + UInt32(random.below(3)) : 0, properties: properties)
            published.append(topic)
            arrived.append(false)
            taken += 1
          } catch {}
        case 40..<75:
          stream += harness.transmit(1 + random.below(40)) ?? []
          while let size = firstPacketSize(stream[...]) {
            arrive(Array(stream.prefix(size)))
            stream.removeFirst(size)
          }
        case 75..<82: harness.advanceClock(UInt32(random.below(800)))
        case 82..<97:
          guard !window.isEmpty else { continue }
          let (identifier, qos) = window.remove(at: random.below(window.count))
          harness.receive(qos == 1 ? puback(identifier) : pubrec(identifier) + pubcomp(identifier))
        default: connect()
        }
        note(harness.events())
      }
      var turns = 0
      repeat {
        stream += harness.drain()
        while let size = firstPacketSize(stream[...]) {
          arrive(Array(stream.prefix(size)))
          stream.removeFirst(size)
        }
        for (identifier, qos) in window {
          harness.receive(qos == 1 ? puback(identifier) : pubrec(identifier) + pubcomp(identifier))
        }
        window = []
        note(harness.events())
        turns += 1
      } while !harness.isDrained && turns < 50
      if fault == nil, !harness.isDrained || harness.outbox.bytes > 0 { fault = "not drained" }
      if fault == nil, let lost = arrived.firstIndex(of: false) { fault = "\(lost) is lost" }
      if let fault {
        Issue.record("seed \(seed): \(fault)")
        return
      }
      expiries += expired
    }
    #expect(expiries > 1000)
    #expect(uses > 1500)
    #expect(taken > 20_000)
  }

  /// The table beside a list of topics, from the one used longest ago to the one used last.
  @Test(arguments: [1, 2, 16, 17, 60])
  func againstAList(count: Int) {
    var replaced = 0
    var pinned = 0
    for seed in UInt64(0)..<100 {
      var random = SeededRandom(seed: seed)
      var layout = ArenaLayout()
      let plan = SentAliases.Plan(count, in: &layout)
      let region = layout.reserve(count * 12, of: UInt8.self)
      let memory = UnsafeMutableRawPointer.allocate(
        byteCount: layout.byteCount, alignment: ArenaLayout.alignment)
      defer { memory.deallocate() }
      memory.initializeMemory(as: UInt8.self, repeating: 1, count: layout.byteCount)
      let block = Arena(start: memory)
      var table = SentAliases(plan, topics: block.region(region), topicBytes: 12, in: block)
      // What each alias stands for.
      var topics = [String?](repeating: nil, count: count)
      var isEstablished = [Bool](repeating: false, count: count)
      var users = [Int](repeating: 0, count: count)
      var order: [Int] = []
      var usable = 0
      var listed = 0
      func use(_ alias: Int) {
        order.removeAll { $0 == alias }
        order.append(alias)
      }
      for step in 0..<400 {
        switch random.below(100) {
        case 0..<3:
          table.connectionLost()
          usable = min(random.below(2 * count), count)
          table.connected(maximum: usable)
          isEstablished = [Bool](repeating: false, count: count)
          if usable > 0, usable != listed {
            listed = usable
            order = Array(0..<usable)
          }
        case 3..<40:
          guard let alias = (0..<count).filter({ users[$0] > 0 }).randomElement(using: &random) else {
            continue
          }
          table.removeUser(alias)
          users[alias] -= 1
          if users[alias] == 0, alias < listed { use(alias) }
        default:
          guard table.isInUse else { continue }
          let topic = "topic/\(random.below(2 * count))"
          let bytes = Array(topic.utf8)
          let choice = table.choice(for: bytes.span)
          var expected = SentAliases.Choice.none
          if let alias = topics[..<usable].firstIndex(of: topic) {
            expected = isEstablished[alias] ? .use(alias) : .establish(alias)
          } else if let alias = order.first(where: { users[$0] == 0 }) {
            expected = .establish(alias)
            if topics[alias] != nil { replaced += 1 }
          } else {
            pinned += 1
          }
          if "\(choice)" != "\(expected)" {
            Issue.record("seed \(seed), step \(step): \(choice), not \(expected)")
            return
          }
          table.commit(choice, topic: bytes.span)
          switch choice {
          case .none: break
          case .establish(let alias):
            topics[alias] = topic
            isEstablished[alias] = true
            use(alias)
          case .use(let alias):
            users[alias] += 1
            use(alias)
          }
        }
        for (alias, topic) in topics.enumerated() {
          guard let topic else { continue }
          let text = table.topic(alias)
          let isSame = (0..<text.count).map { text[$0] } == Array(topic.utf8)
          #expect(isSame)
        }
      }
    }
    #expect(replaced > 100 && (pinned > 0 || count > 17))
  }
}
