import MQTTWire
import Storage
import TestSupport
import Testing

@testable import MQTTSession

/// Topic Aliases (§3.3.2.3.4): does everybody get the right topic, on every connection?
@Suite struct TopicAliasesTests {
  // MARK: Towards the server

  /// Connected to a server that takes so many aliases.
  static func rig(
    _ maximum: UInt16, configure: (inout Rig.Options) -> Void = { $0.aliasesSent = 2 }
  ) -> Rig {
    let rig = Rig(.v5_0, configure: configure)
    rig.connect(properties: topicAliasMaximum(maximum))
    _ = rig.events()
    return rig
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
    let rig = Self.rig(10)
    let steps: [(String, [UInt8])] = [
      ("aaaa", Self.establishing("aaaa", 1)), ("aaaa", Self.using(1)), ("bbbb", Self.establishing("bbbb", 2)),
      ("aaaa", Self.using(1)), ("cccc", Self.establishing("cccc", 2)), ("aaaa", Self.using(1)),
      ("bbbb", Self.establishing("bbbb", 2)), ("cccc", Self.establishing("cccc", 1)), ("bbbb", Self.using(2)),
      // An alias takes three bytes: nothing would be won.
      ("ccc", Self.plain("ccc")), ("cccc", Self.using(1)),
    ]
    for (topic, packet) in steps {
      try rig.publish(topic, isQuiet: true)
      #expect(rig.drain() == packet, "\(topic)")
    }
  }

  /// As many as the server allows, as many as there is room for, and none where it said nothing.
  @Test func asManyAsBothAllow() throws {
    for (own, server, count) in [(0, 5, 0), (2, 5, 2), (5, 2, 2), (3, 0, 0), (1, 1, 1)] {
      let rig = Self.rig(UInt16(server)) { $0.aliasesSent = own }
      for turn in 0..<2 {
        for number in 0..<count {
          try rig.publish("topic/\(number)", isQuiet: true)
          let alias = UInt16(number + 1)
          #expect(
            rig.drain() == (turn == 0 ? Self.establishing("topic/\(number)", alias) : Self.using(alias)))
        }
      }
      if count == 0 {
        try rig.publish("topic", isQuiet: true)
        #expect(rig.drain() == Self.plain("topic"))
      }
    }
    // CONNACK without Topic Alias Maximum.
    let rig = Rig(.v5_0) { $0.aliasesSent = 4 }
    rig.connect()
    try rig.publish("topic")
    #expect(rig.drain() == Self.plain("topic"))
  }

  @Test func topicsThatAreTooLong() throws {
    let rig = Self.rig(10) {
      $0.aliasesSent = 2
      $0.aliasBytes = 8
    }
    for topic in ["12345678", "123456789"] {
      for _ in 0..<2 { try rig.publish(topic, isQuiet: true) }
    }
    #expect(
      packets(rig.drain()) == [
        Self.establishing("12345678", 1), Self.using(1), Self.plain("123456789"), Self.plain("123456789"),
      ])
  }

  /// An alias whose topic a message in the outbox may need on another connection is not given to another topic.
  @Test func pinnedAliases() throws {
    let rig = Self.rig(10)
    for topic in ["aaaa", "aaaa", "bbbb", "bbbb"] { try rig.publish(topic, qos: .atLeastOnce) }
    _ = rig.drain()
    // 1 establishes, 2 uses: both entries are held.
    try rig.publish("cccc", isQuiet: true)
    #expect(rig.drain() == Self.plain("cccc"))
    rig.receive(puback(2))
    try rig.publish("cccc", isQuiet: true)
    #expect(rig.drain() == Self.establishing("cccc", 1))
    rig.receive(puback(4))
    try rig.publish("dddd", isQuiet: true)
    #expect(rig.drain() == Self.establishing("dddd", 2))
  }

  /// On the next connection an alias means nothing: each message has its topic.
  @Test(arguments: [QoS.atLeastOnce, .exactlyOnce], [[], [1, 2, 3]] as [[UInt8]])
  func againWithTopics(qos: QoS, payload: [UInt8]) throws {
    for properties in [[], userProperty("k", "v"), userProperty("k", String(repeating: "v", count: 120))] {
      for piece in [1, 2, 5, Int.max] {
        let rig = Self.rig(10)
        for _ in 0..<3 { try rig.publish("topic", payload, qos: qos, properties: properties) }
        let sent = packets(rig.drain())
        #expect(
          sent
            == (1...3).map {
              publish(
                .v5_0, $0 == 1 ? "topic" : "", payload, qos: qos, identifier: $0,
                properties: topicAlias(1) + properties)
            })
        rig.reconnect(sessionPresent: true, properties: topicAliasMaximum(10))
        let again: [[UInt8]] = (1...3).map {
          publish(
            .v5_0, "topic", payload, qos: qos, identifier: $0, duplicate: true, properties: properties)
        }
        // Established again by whoever comes next.
        try rig.publish("topic", isQuiet: true)
        #expect(packets(rig.drain(piece: piece)) == again + [Self.establishing("topic", 1)])
        // And once more, from a connection that had sent a part of it only.
        rig.reconnect(sessionPresent: true)
        _ = rig.transmit(again[0].count)
        _ = rig.transmit(9)
        rig.reconnect(sessionPresent: true)
        #expect(packets(rig.drain(piece: piece)) == again)
        for identifier: UInt16 in 1...3 {
          rig.receive(qos == .atLeastOnce ? puback(identifier) : pubrec(identifier) + pubcomp(identifier))
        }
        _ = rig.events()
        #expect(rig.outbox.messages == 0)
        #expect(rig.outbox.bytes == 0)
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
        let rig = Self.rig(10) {
          $0.aliasesSent = 2
          $0.allowsFallback = true
        }
        for (topic, properties) in cases {
          try rig.publish(topic, payload, qos: .atLeastOnce, properties: properties)
        }
        if piece == 3 { _ = rig.drain() }
        rig.lose()
        #expect(rig.fallBack())
        rig.connect(sessionPresent: true)
        let expected = cases.enumerated().map {
          publish(
            .v3_1_1, $1.topic, payload, qos: .atLeastOnce, identifier: UInt16($0 + 1), duplicate: piece == 3)
        }
        #expect(packets(rig.drain(piece: piece)) == expected)
        for number in cases.indices { rig.receive(puback(UInt16(number + 1))) }
        #expect(rig.events().count == 1 + cases.count)
        #expect(rig.outbox.bytes == 0)
      }
    }
  }

  /// The packet that counts is the one that will be sent: not the alias, but the topic.
  @Test(arguments: bothVersions)
  func maximumPacketSizeOfTheNextServer(version: ProtocolVersion) throws {
    let packet = publish(version, "topic/1", [1, 2, 3], qos: .atLeastOnce, identifier: 2, duplicate: true)
    for limit in packet.count - 3...packet.count + 3 {
      let rig = Self.rig(10)
      for _ in 0..<2 { try rig.publish("topic/1", [1, 2, 3], qos: .atLeastOnce, cookie: 5) }
      _ = rig.drain()
      rig.receive(puback(1))
      _ = rig.events()
      guard version == .v5_0 else { continue }
      rig.reconnect(sessionPresent: true, properties: maximumPacketSize(UInt16(limit)))
      if limit >= packet.count {
        #expect(rig.drain() == packet, "\(limit)")
      } else {
        #expect(rig.drain() == [], "\(limit)")
        #expect(rig.events() == [.connected(sessionPresent: true), .aboveLimit(5, 0x95)])
      }
    }
  }

  /// What is written in place, supplied later or waits for a reply goes without.
  @Test func specialMessages() throws {
    let rig = Self.rig(10) {
      $0.aliasesSent = 2
      $0.replies = 1
      $0.streamBytes = 64
    }
    try rig.publish("topic", isQuiet: true)
    try rig.reserve("topic", size: 0)
    try rig.commit(0)
    try rig.stream("topic", [])
    try rig.request("topic", timeout: 1000)
    let sent = packets(rig.drain()).map { ReadPublish($0, .v5_0) }
    #expect(sent.map(\.topic) == ["topic", "topic", "topic", "topic"])
    #expect(sent.dropFirst().allSatisfy { !$0.properties.starts(with: [0x23]) })
  }

  /// A message that expires may establish an alias, and use one.
  @Test func expiringMessages() throws {
    let rig = Self.rig(10)
    for turn in 0..<3 {
      try rig.publish("topic", isQuiet: true, expiry: 5)
      let expected = topicAlias(1) + messageExpiry(5)
      #expect(
        rig.drain()
          == publish(.v5_0, turn == 0 ? "topic" : "", qos: .atMostOnce, properties: expected))
    }
  }

  /// The message that was to establish it expires behind a full window: those behind it get their topic back, and the
  /// next one establishes it.
  @Test func expiredBeforeItWasEstablished() throws {
    let rig = Rig(.v5_0) {
      $0.aliasesSent = 2
      $0.inFlightMaximum = 1
    }
    rig.connect(properties: topicAliasMaximum(10))
    _ = rig.events()
    try rig.publish("window", qos: .atLeastOnce, isQuiet: true)
    _ = rig.drain()
    try rig.publish("topic", [1], qos: .atLeastOnce, cookie: 1, expiry: 1)
    try rig.publish("topic", [2], qos: .atLeastOnce, isQuiet: true, expiry: 9)
    try rig.publish("topic", [3], qos: .atMostOnce, isQuiet: true)
    rig.pass(2000)
    #expect(rig.events() == [.failed(1, .expired)])
    try rig.publish("topic", [4], qos: .atMostOnce, isQuiet: true)
    try rig.publish("topic", [5], qos: .atMostOnce, isQuiet: true)
    rig.receive(puback(1))
    #expect(
      packets(rig.drain()) == [
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
      let rig = Rig(.v5_0) {
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
      func note(_ events: [Happening]) {
        for case .failed(let cookie, .expired) in events {
          if arrived[Int(cookie)] { fault = "\(cookie) came, and has expired" }
          arrived[Int(cookie)] = true
          expired += 1
        }
      }
      func connect() {
        rig.lose()
        stream = []
        known = [:]
        window = []
        maximum = random.below(2 * aliases + 1)
        rig.connect(sessionPresent: true, properties: topicAliasMaximum(UInt16(maximum)))
      }

      connect()
      for _ in 0..<200 where fault == nil {
        switch random.below(100) {
        case 0..<40 where published.count < 250:
          let topic = topics[random.below(topics.count)]
          let payload = [UInt8(published.count)] + random.bytes(random.below(8))
          let properties = random.percent(20) ? userProperty("k", "v") : []
          do throws(SessionError) {
            try rig.publish(
              topic, payload, qos: allQoS[random.below(3)], cookie: UInt64(published.count), isQuiet: true,
              expiry: random.percent(40) ? 1 + UInt32(random.below(3)) : 0, properties: properties)
            published.append(topic)
            arrived.append(false)
            taken += 1
          } catch {}
        case 40..<75:
          stream += rig.transmit(1 + random.below(40)) ?? []
          while let size = firstPacketSize(stream[...]) {
            arrive(Array(stream.prefix(size)))
            stream.removeFirst(size)
          }
        case 75..<82: rig.pass(UInt32(random.below(800)))
        case 82..<97:
          guard !window.isEmpty else { continue }
          let (identifier, qos) = window.remove(at: random.below(window.count))
          rig.receive(qos == 1 ? puback(identifier) : pubrec(identifier) + pubcomp(identifier))
        default: connect()
        }
        note(rig.events())
      }
      var turns = 0
      repeat {
        stream += rig.drain()
        while let size = firstPacketSize(stream[...]) {
          arrive(Array(stream.prefix(size)))
          stream.removeFirst(size)
        }
        for (identifier, qos) in window {
          rig.receive(qos == 1 ? puback(identifier) : pubrec(identifier) + pubcomp(identifier))
        }
        window = []
        note(rig.events())
        turns += 1
      } while !rig.isDrained && turns < 50
      if fault == nil, !rig.isDrained || rig.outbox.bytes > 0 { fault = "not drained" }
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

  // MARK: From the server

  static func receiver(_ maximum: Int = 3, bytes: Int = 8) -> Rig {
    let rig = Rig(.v5_0) {
      $0.aliasesReceived = maximum
      $0.aliasBytes = bytes
    }
    rig.connect()
    _ = rig.events()
    return rig
  }

  static func topics(_ rig: Rig) -> [String] {
    rig.events().map {
      guard case .message(let message) = $0 else { return "\($0)" }
      return message.isOversize ? "(\(message.topic))" : message.topic
    }
  }

  @Test func resolved() {
    let rig = Self.receiver()
    rig.receive(Self.establishing("abc", 1) + Self.using(1) + Self.establishing("d", 3) + Self.using(1))
    rig.receive(Self.using(3) + Self.establishing("e/f", 1) + Self.using(1) + Self.plain("g"))
    #expect(Self.topics(rig) == ["abc", "abc", "d", "abc", "d", "e/f", "e/f", "g"])
  }

  /// Known, but longer than there is room for: the payload is there, the topic is not.
  @Test func longTopics() {
    let rig = Self.receiver(bytes: 4)
    rig.receive(
      Self.establishing("abcd", 1) + Self.establishing("abcde", 2) + Self.using(2) + Self.using(1)
        + Self.establishing("abcdef", 1) + Self.using(1) + Self.establishing("a", 1) + Self.using(1))
    #expect(Self.topics(rig) == ["abcd", "abcde", "()", "abcd", "abcdef", "()", "a", "a"])
    rig.receive(publish(.v5_0, "", [1, 2], qos: .atMostOnce, properties: topicAlias(2)))
    guard case .message(let message) = rig.event() else {
      Issue.record("no message")
      return
    }
    #expect(message.payload == [1, 2])
    #expect(message.isOversize)
  }

  /// [MQTT-3.3.2-7] [MQTT-3.3.2-8]: what an alias stood for is forgotten with the connection.
  @Test func forgottenWithTheConnection() {
    let rig = Self.receiver()
    rig.receive(Self.establishing("abc", 1))
    _ = rig.events()
    rig.reconnect(sessionPresent: true)
    _ = rig.events()
    rig.receive(Self.using(1))
    #expect(rig.ending?.cause == .violation(.unknownTopicAlias))
    #expect(rig.drain() == [0xE0, 1, 0x82])
  }

  @Test func wrongAliases() {
    for (maximum, packet, violation, code) in [
      (3, Self.establishing("abc", 4), ProtocolViolation.topicAlias, 0x94),
      (3, Self.using(4), .topicAlias, 0x94),
      (0, Self.establishing("abc", 1), .topicAlias, 0x94), (3, Self.using(2), .unknownTopicAlias, 0x82),
      (3, Self.using(65_535), .topicAlias, 0x94),
    ] as [(Int, [UInt8], ProtocolViolation, UInt8)] {
      let rig = Self.receiver(maximum)
      rig.receive(packet)
      #expect(rig.ending?.cause == .violation(violation))
      #expect(rig.drain() == [0xE0, 1, code])
      #expect(rig.events() == [])
    }
    let rig = Self.receiver()
    rig.receive(Self.establishing("abc", 0))
    #expect(rig.ending?.cause == .malformed(.propertyValue))
  }

  /// The topic of the event that is out stays, whatever lies behind it.
  @Test func topicsLastAsLongAsTheirEvent() {
    let rig = Self.receiver()
    rig.receive(Self.establishing("abc", 1) + Self.using(1) + Self.establishing("xyz", 1) + Self.using(1))
    _ = rig.event()
    guard case .message(let event) = rig.session.nextEvent() else {
      Issue.record("no message")
      return
    }
    #expect(event.isTopicAliased)
    #expect(rig.aliasedTopic(event.topic) == "abc".bytes)
    rig.receive(Self.plain("g"))
    #expect(rig.aliasedTopic(event.topic) == "abc".bytes)
    #expect(Self.topics(rig) == ["xyz", "xyz", "g"])
  }
}
