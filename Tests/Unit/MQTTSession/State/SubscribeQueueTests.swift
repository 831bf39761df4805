import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

/// Does every SUBSCRIBE and UNSUBSCRIBE get sent, and its one answer?
@Suite struct SubscribeQueueTests {
  static func harness(
    _ version: ProtocolVersion, properties: [UInt8] = [],
    configure: (inout SessionHarness.Options) -> Void = { _ in }
  ) -> SessionHarness {
    let harness = SessionHarness(version, configure: configure)
    harness.connect(properties: properties)
    _ = harness.events()
    return harness
  }

  // MARK: Byte for byte

  @Test(arguments: bothVersions)
  func subscribe(version: ProtocolVersion) throws {
    let harness = Self.harness(version)
    try harness.subscribe(["a/+", "b"], qos: .atLeastOnce, cookie: 7)
    #expect(!harness.isDrained)
    #expect(harness.inbox.subscribes == 1)
    #expect(harness.drain() == request(version, 0x82, 65_280, [("a/+", 1), ("b", 1)]))
    #expect(!harness.isDrained)
    harness.receive(suback(version, 65_280, [1, 0]))
    #expect(harness.isDrained)
    #expect(harness.inbox.subscribes == 0)
    #expect(harness.events() == [.answered(7, [1, 0], refusal: nil)])
    #expect(harness.drain() == [])
  }

  @Test(arguments: bothVersions)
  func unsubscribe(version: ProtocolVersion) throws {
    let harness = Self.harness(version)
    try harness.unsubscribe(["$share/g/a/#", "b"], cookie: 8)
    #expect(harness.drain() == request(version, 0xA2, 65_280, [("$share/g/a/#", nil), ("b", nil)]))
    harness.receive(unsuback(version, 65_280, [0, 0x11]))
    #expect(harness.events() == [.answered(8, version == .v5_0 ? [0, 0x11] : [], refusal: nil)])
  }

  @Test func everythingOf5() throws {
    let harness = Self.harness(.v5_0)
    let properties = userProperty("k", "v")
    let all = SubscriptionOptions(
      maximumQoS: .exactlyOnce, noLocal: true, retainAsPublished: true, retainHandling: .doNotSend)
    let some = SubscriptionOptions(maximumQoS: .atMostOnce, retainHandling: .sendIfNew)
    try harness.subscribe(
      Filters([("a", all), ("b", some)]), cookie: 1, properties: properties, identifier: 268_435_455)
    #expect(
      harness.drain()
        == request(
          .v5_0, 0x82, 65_280, [("a", 0x2E), ("b", 0x10)],
          properties: [0x0B, 0xFF, 0xFF, 0xFF, 0x7F] + properties))
    harness.receive(suback(.v5_0, 65_280, [2, 0], properties: property(0x1F, "so be it") + properties))
    guard case .subscribeCompleted(let event) = harness.session.nextEvent() else {
      Issue.record("not answered")
      return
    }
    #expect(harness.received(event.reasonString) == "so be it".bytes)
    #expect(harness.received(event.properties) == property(0x1F, "so be it") + properties)
  }

  /// The first refusal is told; the others are in the codes.
  @Test func refusals() throws {
    for (version, codes, refusal) in [
      (.v3_1_1, [0, 0x80, 2], 0x80), (.v5_0, [0, 0x87, 0x9E], 0x87), (.v5_0, [0x8F], 0x8F), (.v5_0, [2], nil),
    ] as [(ProtocolVersion, [UInt8], UInt8?)] {
      let harness = Self.harness(version)
      try harness.subscribe(codes.map { "t\($0)" }, cookie: 3)
      _ = harness.drain()
      harness.receive(suback(version, 65_280, codes))
      #expect(harness.events() == [.answered(3, codes, refusal: refusal)])
    }
    let harness = Self.harness(.v5_0)
    try harness.unsubscribe(["a", "b"], cookie: 3)
    _ = harness.drain()
    harness.receive(unsuback(.v5_0, 65_280, [0x11, 0x87]))
    #expect(harness.events() == [.answered(3, [0x11, 0x87], refusal: 0x87)])
  }

  // MARK: When it is sent

  /// [MQTT-3.3.4-8]: neither the messages in front nor those in flight hold it back.
  @Test(arguments: bothVersions)
  func aheadOfTheOutbox(version: ProtocolVersion) throws {
    let harness = Self.harness(version) { $0.inFlightMaximum = 1 }
    for _ in 0..<3 { try harness.publish(qos: .atLeastOnce) }
    try harness.subscribe(["a"])
    let subscribe = request(version, 0x82, 65_280, [("a", 0)])
    #expect(harness.drain() == subscribe + publish(version, qos: .atLeastOnce, identifier: 1))
    try harness.unsubscribe(["a"])
    #expect(harness.drain() == request(version, 0xA2, 65_281, [("a", nil)]))
  }

  /// But not into the middle of another packet, nor that into its own.
  @Test(arguments: [1, 2, 3, 5])
  func betweenPackets(piece: Int) throws {
    let harness = Self.harness(.v3_1_1)
    try harness.publish("a", [1, 2, 3])
    try harness.publish("b", [4, 5, 6])
    var sent = harness.transmit(4) ?? []
    try harness.subscribe(["f"])
    sent += harness.transmit(2) ?? []
    harness.receive(pubrec(77))
    for _ in 0..<3 { sent += harness.transmit(piece) ?? [] }
    harness.receive(pubrec(78))
    sent += harness.drain(piece: piece)
    let split = packets(sent)
    #expect(split.count == 5)
    #expect(
      Set(split)
        == Set([
          publish(.v3_1_1, "a", [1, 2, 3], qos: .atMostOnce),
          publish(.v3_1_1, "b", [4, 5, 6], qos: .atMostOnce),
          request(.v3_1_1, 0x82, 65_280, [("f", 0)]), pubrel(77), pubrel(78),
        ]))
    #expect(split[0] == publish(.v3_1_1, "a", [1, 2, 3], qos: .atMostOnce))
    #expect(split[4] == publish(.v3_1_1, "b", [4, 5, 6], qos: .atMostOnce))
  }

  /// Whatever the connection had of it: once more on the next, in order, whether the session is there or not.
  @Test(arguments: bothVersions, [false, true])
  func onceMoreOnTheNextConnection(version: ProtocolVersion, isPresent: Bool) throws {
    let first = request(version, 0x82, 65_280, [("a", 0)])
    let second = request(version, 0xA2, 65_281, [("b", nil)])
    for sent in 0...first.count + second.count {
      let harness = Self.harness(version)
      try harness.subscribe(["a"], cookie: 1)
      try harness.unsubscribe(["b"], cookie: 2)
      if sent > 0 { _ = harness.transmit(sent) }
      if sent > first.count { _ = harness.transmit(sent - first.count) }
      harness.lose()
      #expect(harness.events() == [])
      harness.connect(sessionPresent: isPresent)
      #expect(harness.drain() == first + second)
      harness.receive(unsuback(version, 65_281, [0]))
      _ = harness.event()
      #expect(harness.event() == .answered(2, version == .v5_0 ? [0] : [], refusal: nil))
      harness.session.releaseEvent()
      harness.reconnect(sessionPresent: isPresent)
      #expect(harness.drain() == first)
    }
  }

  @Test(arguments: bothVersions)
  func whileThereIsNoConnection(version: ProtocolVersion) throws {
    let harness = SessionHarness(version)
    try harness.subscribe(["a"])
    #expect(!harness.wantsTransmit)
    harness.open()
    try harness.subscribe(["b"])
    #expect(harness.drain() == [])
    harness.accept()
    #expect(
      harness.drain() == request(version, 0x82, 65_280, [("a", 0)])
        + request(version, 0x82, 65_281, [("b", 0)]))
    harness.session.beginDisconnect(reasonCode: 0, properties: Span())
    #expect(throws: SessionError.leaving) { try harness.subscribe(["c"]) }
  }

  // MARK: Answers that are none

  /// To nobody, of the other kind, a second time, before it was sent whole.
  @Test(arguments: bothVersions)
  func wrongAnswers(version: ProtocolVersion) throws {
    for (sent, answers) in [
      (Int.max, [suback(version, 65_281, [0])]), (.max, [suback(version, 1, [0])]),
      (.max, [suback(version, 65_535, [0])]), (.max, [unsuback(version, 65_280, [0])]),
      (.max, [suback(version, 65_280, [0]), suback(version, 65_280, [0])]),
      (3, [suback(version, 65_280, [0])]),
    ] as [(Int, [[UInt8]])] {
      let harness = Self.harness(version)
      try harness.subscribe(["a"])
      _ = harness.transmit(sent)
      for answer in answers {
        #expect(harness.ending == nil)
        harness.receive(answer)
        _ = harness.events()
      }
      #expect(harness.ending?.cause == .violation(.handshake), "\(answers)")
    }
  }

  /// [MQTT-3.8.4-6] [MQTT-3.11.3-1]: a code for each filter. The request ends with the connection: sent again, it would
  /// get the same answer again.
  @Test(arguments: bothVersions)
  func wrongNumberOfCodes(version: ProtocolVersion) throws {
    for count in [1, 3] {
      let harness = Self.harness(version)
      try harness.subscribe(["a", "b"], cookie: 5)
      _ = harness.drain()
      harness.receive(suback(version, 65_280, [UInt8](repeating: 0, count: count)))
      #expect(harness.ending?.cause == .violation(.reasonCodeCount))
      #expect(harness.events() == [.failed(5, .unreadable)])
      harness.reconnect(sessionPresent: true)
      #expect(harness.drain() == [])
      #expect(harness.events() == [.connected(sessionPresent: true)])
      #expect(harness.isDrained)
    }
    guard version == .v5_0 else { return }
    let harness = Self.harness(version)
    try harness.unsubscribe(["a", "b"])
    _ = harness.drain()
    harness.receive(unsuback(version, 65_280, [0]))
    #expect(harness.ending?.cause == .violation(.reasonCodeCount))
  }

  // MARK: Limits of a server (§3.2.2.3.11 to 13)

  struct Limited: Sendable, CustomTestStringConvertible {
    let filter: String
    var identifier: UInt32 = 0
    let limit: [UInt8]
    let error: SessionError
    let code: UInt8
    var testDescription: String { "\(filter) \(code)" }
  }

  static let limited: [Limited] = [
    Limited(filter: "a/#", limit: wildcardAvailable(0), error: .notSupported, code: 0xA2),
    Limited(filter: "+", limit: wildcardAvailable(0), error: .notSupported, code: 0xA2),
    Limited(filter: "$share/g/a", limit: sharedAvailable(0), error: .notSupported, code: 0x9E),
    Limited(filter: "a", identifier: 1, limit: identifiersAvailable(0), error: .notSupported, code: 0xA1),
    Limited(filter: "abcdefgh", limit: maximumPacketSize(15), error: .tooLarge, code: 0x95),
  ]

  @Test(arguments: limited)
  func limits(_ limited: Limited) throws {
    let harness = Self.harness(.v5_0, properties: limited.limit)
    func subscribe(_ filter: String, _ identifier: UInt32, cookie: UInt64) throws(SessionError) {
      try harness.subscribe([filter], cookie: cookie, identifier: identifier)
    }
    #expect(throws: limited.error) { try subscribe(limited.filter, limited.identifier, cookie: 1) }
    try subscribe("b", 0, cookie: 2)
    #expect(harness.inbox.subscribes == 1)
    harness.lose()
    // Nobody knows what the next server can do.
    try subscribe(limited.filter, limited.identifier, cookie: 3)
    harness.connect(properties: limited.limit)
    #expect(harness.drain() == request(.v5_0, 0x82, 65_280, [("b", 0)]))
    #expect(harness.events() == [.connected(sessionPresent: false), .aboveLimit(3, limited.code)])
    harness.receive(suback(.v5_0, 65_280, [0]))
    #expect(harness.isDrained)
  }

  /// A wildcard in a filter that is to be given up asks for nothing.
  @Test func unsubscribeNeedsNothing() throws {
    let harness = Self.harness(.v5_0, properties: wildcardAvailable(0) + sharedAvailable(0))
    try harness.unsubscribe(["#", "$share/g/a"])
    #expect(harness.drain() == request(.v5_0, 0xA2, 65_280, [("#", nil), ("$share/g/a", nil)]))
  }

  /// What failed is done with: whoever wants to leave need not wait until it is told.
  @Test func drainedWithAFailureToTell() throws {
    let harness = SessionHarness(.v5_0)
    try harness.subscribe(["#"], cookie: 4)
    harness.connect(properties: wildcardAvailable(0))
    #expect(harness.isDrained)
    #expect(harness.inbox.subscribes == 0)
    #expect(harness.hasEvent)
    harness.reconnect(sessionPresent: false)
    #expect(harness.isDrained)
    #expect(harness.events() == [.connected(sessionPresent: false), .aboveLimit(4, 0xA2)])
  }

  @Test func aFailureSaysWhatFailed() throws {
    for type in [ControlPacketType.subscribe, .unsubscribe] {
      let harness = Self.harness(.v5_0)
      if type == .subscribe { try harness.subscribe(["a"]) } else { try harness.unsubscribe(["a"]) }
      _ = harness.drain()
      harness.receive(type == .subscribe ? suback(.v5_0, 65_280, [0, 0]) : unsuback(.v5_0, 65_280, [0, 0]))
      guard case .completed(let completion) = harness.session.nextEvent() else {
        Issue.record("there is no completion")
        continue
      }
      #expect(completion.type == type && completion.result == .unreadable)
    }
  }

  /// Larger than the receive buffer: it ends the connection, and its request, which would be answered like that again.
  @Test func answerAboveTheBuffer() throws {
    let harness = SessionHarness(.v5_0) {
      $0.receiveBytes = 64
      $0.maximumPacketSize = 0
    }
    harness.connect()
    _ = harness.events()
    #expect(throws: SessionError.tooLarge) {
      try harness.subscribe([String](repeating: "f", count: 60))
    }
    try harness.subscribe(["a"], cookie: 5)
    _ = harness.drain()
    harness.receive(suback(.v5_0, 65_280, [0], properties: property(0x1F, String(repeating: "r", count: 64))))
    #expect(harness.ending?.cause == .violation(.packetTooLarge))
    #expect(harness.events() == [.failed(5, .unreadable)])
    harness.reconnect(sessionPresent: true)
    #expect(harness.drain() == [])
  }

  // MARK: An older version

  /// What was queued for 5.0 goes to a server of 3.1.1 without what that does not know; but not without what keeps
  /// messages away, or tells them apart.
  @Test func downgrade() throws {
    let long = String(repeating: "l", count: 120)
    let cases: [(filters: [String], properties: [UInt8], identifier: UInt32)] = [
      (["a"], [], 0), (["a", "b/+"], userProperty("k", "v"), 0), (["a"], [], 0),
      ([long], [], 0), ([long], userProperty("k", long), 0),
      ([long, long, "c"], userProperty(long, long), 0),
    ]
    let harness = SessionHarness(.v5_0) {
      $0.allowsFallback = true
      $0.requests = 16
      $0.subscribeBytes = 8192
    }
    let options = SubscriptionOptions(
      maximumQoS: .atLeastOnce, noLocal: false, retainAsPublished: true, retainHandling: .doNotSend)
    for (index, test) in cases.enumerated() {
      try harness.subscribe(
        Filters(test.filters.map { ($0, options) }), cookie: UInt64(index), properties: test.properties,
        identifier: test.identifier)
      try harness.unsubscribe(test.filters, properties: test.properties)
    }
    try harness.subscribe(["n"], cookie: 90, identifier: 200)
    try harness.subscribe(
      Filters([("n", SubscriptionOptions(maximumQoS: .atLeastOnce, noLocal: true))]), cookie: 91)
    harness.session.connectionOpened()
    #expect(harness.fallBack())
    harness.lose()
    harness.connect()
    var expected: [[UInt8]] = []
    for test in cases {
      let identifier = 65_280 + UInt16(expected.count)
      expected.append(request(.v3_1_1, 0x82, identifier, test.filters.map { ($0, 1) }))
      expected.append(request(.v3_1_1, 0xA2, identifier + 1, test.filters.map { ($0, nil) }))
    }
    #expect(packets(harness.drain()) == expected)
    #expect(
      harness.events() == [.connected(sessionPresent: false), .aboveLimit(90, 0x84), .aboveLimit(91, 0x84)])
    harness.reconnect(sessionPresent: true)
    #expect(packets(harness.drain(piece: 7)) == expected)
  }

  // MARK: Calls that are not taken

  @Test(arguments: bothVersions)
  func wrongCalls(version: ProtocolVersion) {
    let harness = Self.harness(version)
    for filter in ["", "a#", "a/#/b", "+a", "$share/g", "$share//a", String(repeating: "a", count: 65_536)] {
      #expect(throws: SessionError.topicFilter) { try harness.subscribe(["a", filter]) }
      #expect(throws: SessionError.topicFilter) { try harness.unsubscribe([filter, "a"]) }
    }
    #expect(throws: SessionError.utf8) { try harness.subscribe(["a\0b"]) }
    // [MQTT-3.8.3-4]
    let noLocal = SubscriptionOptions(maximumQoS: .atMostOnce, noLocal: true)
    #expect(throws: SessionError.topicFilter) { try harness.subscribe(Filters([("$share/g/a", noLocal)])) }
    if version == .v5_0 {
      let wrong = [[0x0B, 1], property(0x1F, "no"), topicAlias(1), [0x26, 0], [0x99]] as [[UInt8]]
      for properties in wrong {
        #expect(throws: SessionError.property) { try harness.subscribe(["a"], properties: properties) }
        #expect(throws: SessionError.property) { try harness.unsubscribe(["a"], properties: properties) }
      }
    } else {
      #expect(throws: SessionError.option) {
        try harness.subscribe(["a"], properties: userProperty("k", "v"))
      }
      #expect(throws: SessionError.option) { try harness.subscribe(["a"], identifier: 1) }
      for options in [
        noLocal, SubscriptionOptions(maximumQoS: .atMostOnce, retainAsPublished: true),
        SubscriptionOptions(maximumQoS: .atMostOnce, retainHandling: .sendIfNew),
      ] {
        #expect(throws: SessionError.option) { try harness.subscribe(Filters([("a", options)])) }
      }
    }
    #expect(harness.inbox.subscribes == 0)
    #expect(harness.drain() == [])
  }

  @Test(arguments: bothVersions)
  func asLargeAsTheRoom(version: ProtocolVersion) throws {
    for room in [64, 127, 128, 129, 130, 131, 132, 200] {
      var fitting = 0
      for size in 1...room {
        let harness = Self.harness(version) { $0.subscribeBytes = room }
        let filter = String(repeating: "f", count: size)
        let packet = request(version, 0x82, 65_280, [(filter, 0)])
        if packet.count <= room {
          try harness.subscribe([filter])
          #expect(harness.drain() == packet)
          fitting += 1
        } else {
          #expect(throws: SessionError.tooLarge) { try harness.subscribe([filter]) }
        }
      }
      #expect(fitting > room / 2)
    }
  }

  // MARK: At random

  struct Queued {
    let cookie: UInt64
    let slot: Int
    let packet: [UInt8]
    let offset: Int
    var end: Int { offset + packet.count }
    var isSent = false
    var isFree = false
  }

  /// Requests of all sizes, answered in any order, over many connections, against a list with the place of each.
  @Test(arguments: [(1, 64), (2, 64), (3, 100), (8, 256), (256, 4096)])
  func randomRuns(places: Int, bytes: Int) throws {
    var taken = 0
    var full = 0
    var answered = 0
    for seed in UInt64(0)..<300 {
      var random = SeededRandom(seed: seed)
      var wrong: String?
      let version: ProtocolVersion = random.percent(50) ? .v5_0 : .v3_1_1
      let harness = Self.harness(version) {
        $0.requests = places
        $0.subscribeBytes = bytes
      }
      var queue: [Queued] = []
      var nextSlot = 0
      var nextCookie: UInt64 = 1
      var stream: [UInt8] = []
      for step in 0..<200 where wrong == nil {
        switch random.below(10) {
        case 0..<4:
          let filter = String(repeating: "f", count: 1 + random.below(random.percent(80) ? 20 : bytes / 2))
          let isSubscribe = random.percent(50)
          let packet = request(
            version, isSubscribe ? 0x82 : 0xA2, 65_280 + UInt16(nextSlot), [(filter, isSubscribe ? 0 : nil)])
          var offset: Int?
          if let last = queue.last, let first = queue.first {
            if last.end > first.offset {
              offset = bytes - last.end >= packet.count ? last.end : first.offset >= packet.count ? 0 : nil
            } else {
              offset = first.offset - last.end >= packet.count ? last.end : nil
            }
          } else {
            offset = 0
          }
          let expected: SessionError? =
            packet.count > bytes ? .tooLarge : queue.count == places || offset == nil ? .full : nil
          var error: SessionError?
          do throws(SessionError) {
            if isSubscribe {
              try harness.subscribe([filter], cookie: nextCookie)
            } else {
              try harness.unsubscribe([filter], cookie: nextCookie)
            }
          } catch let thrown {
            error = thrown
          }
          if error != expected { wrong = "step \(step): \(packet.count) bytes: \(String(describing: error))" }
          if error == .full { full += 1 }
          guard error == nil, let offset else { continue }
          queue.append(Queued(cookie: nextCookie, slot: nextSlot, packet: packet, offset: offset))
          nextCookie += 1
          nextSlot = (nextSlot + 1) % places
          taken += 1
        case 4..<7:
          stream += harness.transmit(1 + random.below(30)) ?? []
          while let size = firstPacketSize(stream[...]) {
            let index = queue.firstIndex { !$0.isSent && !$0.isFree }
            let packet = Array(stream.prefix(size))
            if index.map({ queue[$0].packet }) != packet { wrong = "step \(step): sent \(packet)" }
            if let index { queue[index].isSent = true }
            stream.removeFirst(size)
          }
        case 7, 8:
          let waiting = queue.indices.filter { queue[$0].isSent && !queue[$0].isFree }
          guard let index = waiting.randomElement(using: &random) else { continue }
          let identifier = 65_280 + UInt16(queue[index].slot)
          let code: UInt8 = random.percent(30) ? 0x80 : 0
          let isSubscribe = queue[index].packet[0] == 0x82
          harness.receive(
            isSubscribe ? suback(version, identifier, [code]) : unsuback(version, identifier, [code]))
          let codes = isSubscribe || version == .v5_0 ? [code] : []
          let event = ReportedEvent.answered(queue[index].cookie, codes, refusal: codes.first { $0 >= 0x80 })
          if harness.events() != [event] { wrong = "step \(step): not told of \(event)" }
          queue[index].isFree = true
          queue.removeFirst(queue.prefix { $0.isFree }.count)
          answered += 1
        default:
          guard random.percent(30) else { continue }
          harness.reconnect(sessionPresent: random.percent(50))
          _ = harness.events()
          stream = []
          for index in queue.indices { queue[index].isSent = false }
        }
        let count = queue.count { !$0.isFree }
        if harness.inbox.subscribes != count || harness.isDrained != (count == 0) {
          wrong = "step \(step): not \(count)"
        }
      }
      #expect(wrong == nil, "seed \(seed)")
    }
    #expect(taken > 3000)
    #expect(full > 200)
    #expect(answered > 1000)
  }
}
