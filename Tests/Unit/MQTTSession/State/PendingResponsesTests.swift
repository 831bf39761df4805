import MQTTWire
import Storage
import TestSupport
import Testing

@testable import MQTTSession

/// Requests and their replies (§4.10): does each request end once, and with its own reply?
@Suite struct PendingResponsesTests {
  static func harness(_ replies: Int = 2, configure: (inout SessionHarness.Options) -> Void = { _ in })
    -> SessionHarness
  {
    let harness = SessionHarness(.v5_0) {
      $0.keepAlive = 0
      $0.replies = replies
      $0.random = 0xA1B2_0000
      configure(&$0)
    }
    harness.connect()
    _ = harness.events()
    return harness
  }

  /// The Correlation Data of each request among these packets.
  static func correlations(_ sent: [UInt8]) -> [[UInt8]] {
    packets(sent).filter { $0[0] >> 4 == 3 }.map { Array(ReadPublish($0, .v5_0).properties.suffix(8)) }
  }

  static func reply(_ correlation: [UInt8], _ payload: [UInt8] = [], topic: String = "r") -> [UInt8] {
    publish(.v5_0, topic, payload, qos: .atMostOnce, properties: correlationData(correlation))
  }

  /// The cookies of the requests that these events end with a reply; -1: a message that is none.
  static func cookies(_ events: [ReportedEvent]) -> [Int] {
    events.compactMap {
      guard case .message(let message) = $0 else { return nil }
      return message.responseCookie.map { Int($0) } ?? -1
    }
  }

  // MARK: The request

  @Test(arguments: allQoS)
  func bytes(qos: QoS) throws {
    let harness = Self.harness()
    let pair = userProperty("k", "v")
    try harness.request("q", [1], qos: qos, responseTopic: "r/s", cookie: 5, expiry: 9, properties: pair)
    let sent = ReadPublish(harness.drain(), .v5_0)
    #expect(sent.topic == "q" && sent.payload == [1] && sent.qos == qos.rawValue)
    let correlation = Array(sent.properties.dropFirst(5 + 6 + 3).prefix(8))
    #expect(correlation.starts(with: [0xA1, 0xB2, 0, 0]))
    #expect(sent.properties == messageExpiry(9) + responseTopic("r/s") + correlationData(correlation) + pair)
    // That it was delivered is of no interest: the reply is.
    if qos == .atLeastOnce { harness.receive(puback(1)) }
    if qos == .exactlyOnce { harness.receive(pubrec(1) + pubcomp(1)) }
    #expect(harness.events() == [])
    // Should the request itself come back, it is no reply.
    harness.receive(Self.reply(correlation, [7], topic: "q"))
    #expect(Self.cookies(harness.events()) == [-1])
    harness.receive(Self.reply(correlation, [7], topic: "r/s"))
    var expected = ReceivedMessage("r/s", [7])
    expected.properties = correlationData(correlation)
    expected.responseCookie = 5
    #expect(harness.events() == [.message(expected)])
    harness.advanceClock(1000)
    #expect(harness.events() == [])
  }

  @Test func wrongCalls() throws {
    let harness = Self.harness(1)
    func request(_ topic: String, _ response: String, _ properties: [UInt8] = []) throws(SessionError) {
      try harness.request(topic, responseTopic: response, properties: properties)
    }
    #expect(throws: SessionError.topicName) { try request("q", "") }
    #expect(throws: SessionError.topicName) { try request("q", "r/#") }
    #expect(throws: SessionError.utf8) { try request("q", "r\0") }
    #expect(throws: SessionError.topicName) { try request("+", "r") }
    #expect(throws: SessionError.property) { try request("q", "r", responseTopic("s")) }
    #expect(throws: SessionError.property) { try request("q", "r", correlationData([1])) }
    #expect(throws: SessionError.property) { try request("q", "r", topicAlias(1)) }
    #expect(throws: SessionError.tooLarge) { try request("q", String(repeating: "r", count: 5000)) }
    // None of these took a place.
    try request("q", "r")
    #expect(throws: SessionError.full) { try request("q", "r") }
    let older = SessionHarness(.v3_1_1)
    #expect(throws: SessionError.notSupported) { try older.request() }
    let without = SessionHarness(.v5_0)
    #expect(throws: SessionError.notSupported) { try without.request() }
    let fallen = SessionHarness(.v5_0) {
      $0.replies = 1
      $0.allowsFallback = true
    }
    fallen.session.connectionOpened()
    #expect(fallen.fallBack())
    fallen.lose()
    fallen.connect()
    #expect(throws: SessionError.notSupported) { try fallen.request() }
  }

  /// Its time is up before it was sent: a command that nobody waits for any more is not carried out.
  @Test(arguments: allQoS)
  func timedOutBeforeItWasSent(qos: QoS) throws {
    let harness = SessionHarness(.v5_0) { $0.replies = 2 }
    try harness.publish("before", qos: .atLeastOnce)
    try harness.request("command", qos: qos, timeout: 100, cookie: 5)
    try harness.publish("behind", qos: .atLeastOnce)
    harness.advanceClock(101)
    #expect(harness.events() == [.responseTimedOut(5)])
    harness.connect()
    #expect(packets(harness.drain()).map { ReadPublish($0, .v5_0).topic } == ["before", "behind"])
    #expect(harness.outbox.messages == 2)
    harness.receive(puback(1) + puback(3))
    #expect(harness.events() == [.connected(sessionPresent: false), .delivered(0), .delivered(0)])
    #expect(harness.outbox.messages == 0)
  }

  /// The same, when its message has moved up into the gap of another one.
  @Test func timedOutBehindAGap() throws {
    let harness = SessionHarness(.v5_0) {
      $0.replies = 2
      $0.outboxMessages = 3
    }
    try harness.publish("a", qos: .atLeastOnce)
    #expect(try harness.publish("b", qos: .atLeastOnce, isQuiet: true, overflow: .dropOldest))
    try harness.request("command", qos: .atLeastOnce, timeout: 100, cookie: 5)
    #expect(try harness.publish("c", qos: .atLeastOnce, overflow: .dropOldest))
    harness.advanceClock(101)
    #expect(harness.events().contains(.responseTimedOut(5)))
    harness.connect()
    #expect(packets(harness.drain()).map { ReadPublish($0, .v5_0).topic } == ["a", "c"])
  }

  /// On an older version it could not say where the reply goes.
  @Test func queuedOverAFallback() throws {
    let harness = SessionHarness(.v5_0) {
      $0.replies = 2
      $0.allowsFallback = true
    }
    try harness.request("command", qos: .atLeastOnce, cookie: 5)
    try harness.publish("behind", qos: .atLeastOnce)
    harness.session.connectionOpened()
    #expect(harness.fallBack())
    harness.lose()
    harness.connect()
    #expect(packets(harness.drain()).map { ReadPublish($0, .v3_1_1).topic } == ["behind"])
    #expect(harness.events() == [.connected(sessionPresent: false), .requestFailed(5, .aboveLimit)])
    harness.advanceClock(2000)
    #expect(!harness.hasEvent)
  }

  // MARK: The reply

  /// In any order, each to its own, and only once.
  @Test func matched() throws {
    let harness = Self.harness(3)
    for cookie: UInt64 in 1...3 { try harness.request(cookie: cookie) }
    let correlations = Self.correlations(harness.drain())
    #expect(Set(correlations).count == 3)
    for index in [1, 0, 1, 2, 0] { harness.receive(Self.reply(correlations[index])) }
    #expect(Self.cookies(harness.events()) == [2, 1, -1, 3, -1])
  }

  /// Nearly the same is not the same.
  @Test func strangers() throws {
    let harness = Self.harness()
    try harness.request(cookie: 1)
    let correlation = Self.correlations(harness.drain())[0]
    var strangers = [
      [], [1], Array(correlation.dropLast()), correlation + [0], [UInt8](repeating: 0xFF, count: 8),
    ]
    for index in 0..<8 {
      for bit in 0..<8 {
        var other = correlation
        other[index] ^= 1 << UInt8(bit)
        strangers.append(other)
      }
    }
    for stranger in strangers {
      harness.receive(Self.reply(stranger))
      #expect(Self.cookies(harness.events()) == [-1], "\(stranger)")
    }
    harness.receive(publish(.v5_0, "r", qos: .atMostOnce))
    #expect(Self.cookies(harness.events()) == [-1])
    harness.receive(Self.reply(correlation))
    #expect(Self.cookies(harness.events()) == [1])
  }

  /// A reply of QoS 1 or 2 is acknowledged like any message, can be held, and counts once.
  @Test(arguments: [QoS.atLeastOnce, .exactlyOnce])
  func acknowledged(qos: QoS) throws {
    let harness = Self.harness()
    try harness.request(cookie: 1)
    let properties = correlationData(Self.correlations(harness.drain())[0])
    harness.receive(publish(.v5_0, "r", qos: qos, identifier: 4, properties: properties))
    #expect(Self.cookies([harness.event()].compactMap { $0 }) == [1])
    #expect(harness.hold())
    let token = harness.token
    harness.session.releaseEvent()
    harness.reconnect(sessionPresent: true)
    harness.receive(publish(.v5_0, "r", qos: qos, identifier: 4, duplicate: true, properties: properties))
    #expect(harness.events() == [.connected(sessionPresent: true)])
    try harness.acknowledge(token)
    #expect(harness.drain() == (qos == .atLeastOnce ? puback(4) : pubrec(4)))
  }

  /// It comes on another connection, or before the PUBACK of the request.
  @Test func onAnotherConnection() throws {
    let harness = Self.harness()
    try harness.request(qos: .atLeastOnce, cookie: 1)
    let correlation = Self.correlations(harness.drain())[0]
    harness.reconnect(sessionPresent: false)
    #expect(Self.correlations(harness.drain()) == [correlation])
    harness.receive(Self.reply(correlation) + puback(1))
    #expect(Self.cookies(harness.events()) == [1])
    #expect(harness.isDrained)
    #expect(harness.outbox.messages == 0)
  }

  // MARK: The time

  @Test(arguments: [0, 0x7FFF_FFFF, 0xFFFF_FF00] as [UInt32])
  func timesOut(start: UInt32) throws {
    let harness = Self.harness(3)
    harness.now = Instant(milliseconds: start)
    for (cookie, timeout) in [(1, 500), (2, 200), (3, 500)] as [(UInt64, UInt32)] {
      try harness.request(timeout: timeout, cookie: cookie)
    }
    let correlations = Self.correlations(harness.drain())
    #expect(harness.nextDeadline == start &+ 200)
    harness.advanceClock(199)
    #expect(!harness.hasEvent)
    harness.advanceClock(1)
    #expect(harness.hasEvent)
    #expect(harness.events() == [.responseTimedOut(2)])
    #expect(!harness.hasEvent)
    #expect(harness.nextDeadline == start &+ 500)
    // Too late, and it is a message like any other.
    harness.receive(Self.reply(correlations[1]))
    #expect(Self.cookies(harness.events()) == [-1])
    harness.advanceClock(1000)
    #expect(harness.events() == [.responseTimedOut(1), .responseTimedOut(3)])
    #expect(harness.nextDeadline == nil)
  }

  /// Also where there is no connection, and the request never left.
  @Test func timesOutOffline() throws {
    let harness = SessionHarness(.v5_0) { $0.replies = 1 }
    try harness.request(timeout: 300, cookie: 6)
    #expect(harness.nextDeadline == 300)
    harness.advanceClock(300)
    #expect(harness.events() == [.responseTimedOut(6)])
    try harness.request(timeout: 300, cookie: 7)
    #expect(throws: SessionError.full) { try harness.request() }
  }

  /// A deadline that was reached while the reply came: the reply counts, and there is no second end.
  @Test func replyAtTheLastMoment() throws {
    let harness = Self.harness()
    try harness.request(timeout: 300, cookie: 6)
    let correlation = Self.correlations(harness.drain())[0]
    harness.advanceClock(300)
    harness.receive(Self.reply(correlation))
    #expect(Self.cookies(harness.events()) == [6])
    #expect(harness.nextDeadline == nil)
    #expect(!harness.hasEvent)
  }

  // MARK: Its own message

  /// What became of the message is the end of the request, in its own words.
  @Test func failures() throws {
    var harness = Self.harness()
    try harness.request(qos: .atLeastOnce, timeout: 500, cookie: 1)
    _ = harness.drain()
    harness.receive(puback(1, 0x87))
    guard case .requestFailed(let completion) = harness.session.nextEvent() else {
      Issue.record("no end")
      return
    }
    #expect(completion.cookie == 1 && completion.result == .refused && completion.reasonCode == 0x87)
    harness.advanceClock(1000)
    #expect(harness.events() == [])

    harness = Self.harness()
    try harness.request(qos: .exactlyOnce, cookie: 1)
    _ = harness.drain()
    harness.reconnect(sessionPresent: false)
    #expect(harness.events() == [.connected(sessionPresent: false), .requestFailed(1, .sessionLost)])

    harness = Self.harness()
    harness.lose()
    try harness.request(qos: .exactlyOnce, cookie: 1)
    harness.connect(properties: maximumQoS(1))
    #expect(harness.events() == [.connected(sessionPresent: false), .requestFailed(1, .aboveLimit)])

    // Above what this server can do it is not taken at all.
    #expect(throws: SessionError.qosNotSupported) { try harness.request(qos: .exactlyOnce) }
    try harness.request(timeout: 100, cookie: 2)
    harness.advanceClock(100)
    #expect(harness.events() == [.responseTimedOut(2)])
  }

  /// A request that ended before its message did is not ended again, and nobody else is in its stead.
  @Test(arguments: [true, false])
  func failsAfterTheEnd(byReply: Bool) throws {
    let harness = Self.harness(1)
    try harness.request(qos: .atLeastOnce, timeout: 100, cookie: 1)
    let correlation = Self.correlations(harness.drain())[0]
    if byReply {
      harness.receive(Self.reply(correlation))
      #expect(Self.cookies(harness.events()) == [1])
    } else {
      harness.advanceClock(100)
      #expect(harness.events() == [.responseTimedOut(1)])
    }
    // The place is taken by another one.
    try harness.request(qos: .atLeastOnce, timeout: 5000, cookie: 2)
    let next = Self.correlations(harness.drain())[0]
    #expect(next != correlation)
    harness.receive(puback(1, 0x87))
    #expect(harness.events() == [])
    harness.receive(Self.reply(correlation) + Self.reply(next))
    #expect(Self.cookies(harness.events()) == [-1, 2])
    harness.receive(puback(2))
    #expect(harness.events() == [])
    #expect(harness.outbox.messages == 0)
  }

  /// A program that asks again and again while there is no connection: when the messages of all its requests
  /// come to nothing at once, the one that still waits ends, and none that has ended before.
  @Test func manyFailuresAtOnce() throws {
    let harness = Self.harness(1) { $0.outboxMessages = 200 }
    harness.lose()
    for cookie: UInt64 in 1...150 {
      try harness.request(qos: .exactlyOnce, timeout: 100, cookie: cookie)
      guard cookie < 150 else { break }
      harness.advanceClock(100)
      #expect(harness.events() == [.responseTimedOut(cookie)])
    }
    harness.connect(properties: maximumQoS(1))
    #expect(harness.events() == [.connected(sessionPresent: false), .requestFailed(150, .aboveLimit)])
    #expect(harness.outbox.messages == 0)
  }

  /// Many requests, one place: a late reply never meets another request.
  @Test func onePlaceManyTimes() throws {
    var random = SeededRandom(seed: 410)
    let harness = Self.harness(1)
    var late: [[UInt8]] = []
    for turn in 0..<300 {
      try harness.request(timeout: 100, cookie: UInt64(turn))
      late.append(Self.correlations(harness.drain())[0])
      if turn % 3 == 0 {
        harness.advanceClock(100)
        #expect(harness.events() == [.responseTimedOut(UInt64(turn))])
      } else {
        harness.receive(Self.reply(late.randomElement(using: &random)!))
        let isRight = Self.cookies(harness.events()).allSatisfy { $0 == -1 || $0 == turn }
        #expect(isRight)
        harness.receive(Self.reply(late[turn]))
        _ = harness.events()
      }
    }
    #expect(Set(late).count == 300)
  }

  // MARK: At random

  /// Requests, replies, refusals, connections that end, and time: every request ends once.
  @Test func randomRuns() throws {
    var ends = [0, 0, 0]
    for seed in UInt64(0)..<1000 {
      var random = SeededRandom(seed: seed)
      let harness = Self.harness(3) {
        $0.outboxMessages = 8
        $0.outboxBytes = 400
      }
      var open: Set<UInt64> = []
      var nextCookie: UInt64 = 1
      var correlations: [UInt64: [UInt8]] = [:]
      var unacknowledged: [UInt16] = []
      var fault: String?
      func take() {
        for event in harness.events() {
          var cookie: UInt64?
          switch event {
          case .message(let message):
            if let reply = message.responseCookie, message.payload != [UInt8(truncatingIfNeeded: reply)] {
              fault = "another's reply"
            }
            cookie = message.responseCookie
            if cookie != nil { ends[0] += 1 }
          case .responseTimedOut(let late):
            cookie = late
            ends[1] += 1
          case .requestFailed(let failed, _):
            cookie = failed
            ends[2] += 1
          case .connected, .room: break
          default: fault = "\(event)"
          }
          if let cookie, open.remove(cookie) == nil { fault = "\(cookie) ended twice" }
        }
      }
      for _ in 0..<100 where fault == nil {
        switch random.below(10) {
        case 0..<3:
          let qos: QoS = random.percent(50) ? .atLeastOnce : .atMostOnce
          let timeout = UInt32(1 + random.below(1000))
          do throws(SessionError) {
            try harness.request(
              "q", [UInt8(truncatingIfNeeded: nextCookie)], qos: qos, timeout: timeout, cookie: nextCookie,
              expiry: random.percent(20) ? 1 : 0)
            open.insert(nextCookie)
            nextCookie += 1
          } catch {
            if error != .full { fault = "\(error)" }
          }
        case 3, 4:
          for packet in packets(harness.drain()) where packet[0] >> 4 == 3 {
            let message = ReadPublish(packet, .v5_0)
            let cookie =
              nextCookie - 1 - UInt64(UInt8(truncatingIfNeeded: nextCookie - 1) &- message.payload[0])
            correlations[cookie] = Array(message.properties.suffix(8))
            if message.qos == 1, !unacknowledged.contains(message.identifier) {
              unacknowledged.append(message.identifier)
            }
          }
        case 5, 6:
          guard let cookie = correlations.keys.sorted().randomElement(using: &random) else { continue }
          harness.receive(Self.reply(correlations[cookie]!, [UInt8(truncatingIfNeeded: cookie)]))
        case 7:
          guard !unacknowledged.isEmpty else { continue }
          harness.receive(puback(unacknowledged.removeFirst(), random.percent(50) ? 0x87 : 0))
        case 8: harness.advanceClock(UInt32(random.below(400)))
        default:
          guard random.percent(30) else { continue }
          take()
          harness.reconnect(sessionPresent: random.percent(50))
          unacknowledged = []
        }
        if random.percent(70) { take() }
      }
      harness.advanceClock(1000)
      take()
      if !open.isEmpty { fault = "\(open) did not end" }
      if let fault { Issue.record("seed \(seed): \(fault)") }
    }
    #expect(ends.allSatisfy { $0 > 500 }, "\(ends)")
  }

  /// The table beside a list of what waits in it: the first deadline, and of the same deadlines the lowest
  /// index.
  @Test(arguments: [1, 2, 7, 100], [0, 0x7FFF_FFFF, 0xFFFF_FF00] as [UInt32])
  func againstAList(capacity: Int, start: UInt32) {
    var expired = 0
    for seed in UInt64(0)..<100 {
      var random = SeededRandom(seed: seed)
      let memory = Memory(capacity * MemoryLayout<PendingResponses.Entry>.stride)
      var table = PendingResponses(
        entries: memory.table(capacity, of: PendingResponses.Entry.self), mark: 0x1234)
      let topic: [UInt8] = [0x72]
      var waiting: [Int: (cookie: UInt64, deadline: UInt32, correlation: [UInt8], tag: UInt16)] = [:]
      var now: UInt32 = 0
      for step in 0..<300 {
        let isFull = table.free == nil
        #expect(isFull == (waiting.count == capacity))
        switch random.below(10) {
        case 0..<5:
          guard let index = table.free else { continue }
          #expect(waiting[index] == nil)
          let deadline = now + UInt32(random.below(random.percent(50) ? 10 : 1000))
          let data = table.correlation(of: index)
          waiting[index] = (
            UInt64(step), deadline, (0..<8).map { data[$0] }, table.tag(of: index)
          )
          table.add(
            at: index, cookie: UInt64(step), slot: step, topic: topic.span,
            deadline: Instant(milliseconds: start &+ deadline))
        case 5:
          guard let (index, request) = waiting.randomElement(using: &random) else { continue }
          let ended = table.match(request.correlation.span, topic: topic.span)
          #expect(ended?.cookie == request.cookie && ended?.tag == request.tag)
          let again = table.match(request.correlation.span, topic: topic.span)
          #expect(again == nil)
          waiting[index] = nil
        case 6:
          guard let (index, request) = waiting.randomElement(using: &random) else { continue }
          table.remove(tag: request.tag)
          waiting[index] = nil
        default:
          now += UInt32(random.below(60))
          let first = waiting.filter { $0.value.deadline <= now }.min {
            ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key)
          }
          let ended = table.removeExpired(at: Instant(milliseconds: start &+ now))
          #expect(ended?.cookie == first?.value.cookie, "seed \(seed), step \(step)")
          if let first {
            waiting[first.key] = nil
            expired += 1
          }
        }
        let earliest = waiting.values.map(\.deadline).min()
        #expect(table.waiting == waiting.count)
        #expect(table.deadline?.milliseconds == earliest.map { start &+ $0 }, "seed \(seed), step \(step)")
      }
    }
    #expect(expired > 100)
  }
}
