import MQTTWire
import Storage
import TestSupport
import Testing

@testable import MQTTSession

/// Requests and their replies (§4.10): does each request end once, and with its own reply?
@Suite struct PendingResponsesTests {
  static func rig(_ replies: Int = 2, configure: (inout Rig.Options) -> Void = { _ in }) -> Rig {
    let rig = Rig(.v5_0) {
      $0.keepAlive = 0
      $0.replies = replies
      $0.random = 0xA1B2_0000
      configure(&$0)
    }
    rig.connect()
    _ = rig.events()
    return rig
  }

  /// The Correlation Data of each request among these packets.
  static func correlations(_ sent: [UInt8]) -> [[UInt8]] {
    packets(sent).filter { $0[0] >> 4 == 3 }.map { Array(ReadPublish($0, .v5_0).properties.suffix(8)) }
  }

  static func reply(_ correlation: [UInt8], _ payload: [UInt8] = [], topic: String = "r") -> [UInt8] {
    publish(.v5_0, topic, payload, qos: .atMostOnce, properties: correlationData(correlation))
  }

  /// The cookies of the requests that these events end with a reply; -1: a message that is none.
  static func cookies(_ events: [Happening]) -> [Int] {
    events.compactMap {
      guard case .message(let message) = $0 else { return nil }
      return message.responseCookie.map { Int($0) } ?? -1
    }
  }

  // MARK: The request

  @Test(arguments: allQoS)
  func bytes(qos: QoS) throws {
    let rig = Self.rig()
    let pair = userProperty("k", "v")
    try rig.request("q", [1], qos: qos, responseTopic: "r/s", cookie: 5, expiry: 9, properties: pair)
    let sent = ReadPublish(rig.drain(), .v5_0)
    #expect(sent.topic == "q" && sent.payload == [1] && sent.qos == qos.rawValue)
    let correlation = Array(sent.properties.dropFirst(5 + 6 + 3).prefix(8))
    #expect(correlation.starts(with: [0xA1, 0xB2, 0, 0]))
    #expect(sent.properties == messageExpiry(9) + responseTopic("r/s") + correlationData(correlation) + pair)
    // That it was delivered is of no interest: the reply is.
    if qos == .atLeastOnce { rig.receive(puback(1)) }
    if qos == .exactlyOnce { rig.receive(pubrec(1) + pubcomp(1)) }
    #expect(rig.events() == [])
    // Should the request itself come back, it is no reply.
    rig.receive(Self.reply(correlation, [7], topic: "q"))
    #expect(Self.cookies(rig.events()) == [-1])
    rig.receive(Self.reply(correlation, [7], topic: "r/s"))
    var expected = ReceivedMessage("r/s", [7])
    expected.properties = correlationData(correlation)
    expected.responseCookie = 5
    #expect(rig.events() == [.message(expected)])
    rig.pass(1000)
    #expect(rig.events() == [])
  }

  @Test func wrongCalls() throws {
    let rig = Self.rig(1)
    func request(_ topic: String, _ response: String, _ properties: [UInt8] = []) throws(SessionError) {
      try rig.request(topic, responseTopic: response, properties: properties)
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
    let older = Rig(.v3_1_1)
    #expect(throws: SessionError.notSupported) { try older.request() }
    let without = Rig(.v5_0)
    #expect(throws: SessionError.notSupported) { try without.request() }
    let fallen = Rig(.v5_0) {
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
    let rig = Rig(.v5_0) { $0.replies = 2 }
    try rig.publish("before", qos: .atLeastOnce)
    try rig.request("command", qos: qos, timeout: 100, cookie: 5)
    try rig.publish("behind", qos: .atLeastOnce)
    rig.pass(101)
    #expect(rig.events() == [.responseTimedOut(5)])
    rig.connect()
    #expect(packets(rig.drain()).map { ReadPublish($0, .v5_0).topic } == ["before", "behind"])
    #expect(rig.outbox.messages == 2)
    rig.receive(puback(1) + puback(3))
    #expect(rig.events() == [.connected(sessionPresent: false), .delivered(0), .delivered(0)])
    #expect(rig.outbox.messages == 0)
  }

  /// On an older version it could not say where the reply goes.
  @Test func queuedOverAFallback() throws {
    let rig = Rig(.v5_0) {
      $0.replies = 2
      $0.allowsFallback = true
    }
    try rig.request("command", qos: .atLeastOnce, cookie: 5)
    try rig.publish("behind", qos: .atLeastOnce)
    rig.session.connectionOpened()
    #expect(rig.fallBack())
    rig.lose()
    rig.connect()
    #expect(packets(rig.drain()).map { ReadPublish($0, .v3_1_1).topic } == ["behind"])
    #expect(rig.events() == [.connected(sessionPresent: false), .requestFailed(5, .aboveLimit)])
    rig.pass(2000)
    #expect(!rig.hasEvent)
  }

  // MARK: The reply

  /// In any order, each to its own, and only once.
  @Test func matched() throws {
    let rig = Self.rig(3)
    for cookie: UInt64 in 1...3 { try rig.request(cookie: cookie) }
    let correlations = Self.correlations(rig.drain())
    #expect(Set(correlations).count == 3)
    for index in [1, 0, 1, 2, 0] { rig.receive(Self.reply(correlations[index])) }
    #expect(Self.cookies(rig.events()) == [2, 1, -1, 3, -1])
  }

  /// Nearly the same is not the same.
  @Test func strangers() throws {
    let rig = Self.rig()
    try rig.request(cookie: 1)
    let correlation = Self.correlations(rig.drain())[0]
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
      rig.receive(Self.reply(stranger))
      #expect(Self.cookies(rig.events()) == [-1], "\(stranger)")
    }
    rig.receive(publish(.v5_0, "r", qos: .atMostOnce))
    #expect(Self.cookies(rig.events()) == [-1])
    rig.receive(Self.reply(correlation))
    #expect(Self.cookies(rig.events()) == [1])
  }

  /// A reply of QoS 1 or 2 is acknowledged like any message, can be held, and counts once.
  @Test(arguments: [QoS.atLeastOnce, .exactlyOnce])
  func acknowledged(qos: QoS) throws {
    let rig = Self.rig()
    try rig.request(cookie: 1)
    let properties = correlationData(Self.correlations(rig.drain())[0])
    rig.receive(publish(.v5_0, "r", qos: qos, identifier: 4, properties: properties))
    #expect(Self.cookies([rig.event()].compactMap { $0 }) == [1])
    #expect(rig.hold())
    let token = rig.token
    rig.session.release()
    rig.reconnect(sessionPresent: true)
    rig.receive(publish(.v5_0, "r", qos: qos, identifier: 4, duplicate: true, properties: properties))
    #expect(rig.events() == [.connected(sessionPresent: true)])
    try rig.acknowledge(token)
    #expect(rig.drain() == (qos == .atLeastOnce ? puback(4) : pubrec(4)))
  }

  /// It comes on another connection, or before the PUBACK of the request.
  @Test func onAnotherConnection() throws {
    let rig = Self.rig()
    try rig.request(qos: .atLeastOnce, cookie: 1)
    let correlation = Self.correlations(rig.drain())[0]
    rig.reconnect(sessionPresent: false)
    #expect(Self.correlations(rig.drain()) == [correlation])
    rig.receive(Self.reply(correlation) + puback(1))
    #expect(Self.cookies(rig.events()) == [1])
    #expect(rig.isDrained)
    #expect(rig.outbox.messages == 0)
  }

  // MARK: The time

  @Test(arguments: [0, 0x7FFF_FFFF, 0xFFFF_FF00] as [UInt32])
  func timesOut(start: UInt32) throws {
    let rig = Self.rig(3)
    rig.now = Instant(milliseconds: start)
    for (cookie, timeout) in [(1, 500), (2, 200), (3, 500)] as [(UInt64, UInt32)] {
      try rig.request(timeout: timeout, cookie: cookie)
    }
    let correlations = Self.correlations(rig.drain())
    #expect(rig.nextDeadline == start &+ 200)
    rig.pass(199)
    #expect(!rig.hasEvent)
    rig.pass(1)
    #expect(rig.hasEvent)
    #expect(rig.events() == [.responseTimedOut(2)])
    #expect(!rig.hasEvent)
    #expect(rig.nextDeadline == start &+ 500)
    // Too late, and it is a message like any other.
    rig.receive(Self.reply(correlations[1]))
    #expect(Self.cookies(rig.events()) == [-1])
    rig.pass(1000)
    #expect(rig.events() == [.responseTimedOut(1), .responseTimedOut(3)])
    #expect(rig.nextDeadline == nil)
  }

  /// Also where there is no connection, and the request never left.
  @Test func timesOutOffline() throws {
    let rig = Rig(.v5_0) { $0.replies = 1 }
    try rig.request(timeout: 300, cookie: 6)
    #expect(rig.nextDeadline == 300)
    rig.pass(300)
    #expect(rig.events() == [.responseTimedOut(6)])
    try rig.request(timeout: 300, cookie: 7)
    #expect(throws: SessionError.full) { try rig.request() }
  }

  /// A deadline that was reached while the reply came: the reply counts, and there is no second end.
  @Test func replyAtTheLastMoment() throws {
    let rig = Self.rig()
    try rig.request(timeout: 300, cookie: 6)
    let correlation = Self.correlations(rig.drain())[0]
    rig.pass(300)
    rig.receive(Self.reply(correlation))
    #expect(Self.cookies(rig.events()) == [6])
    #expect(rig.nextDeadline == nil)
    #expect(!rig.hasEvent)
  }

  // MARK: Its own message

  /// What became of the message is the end of the request, in its own words.
  @Test func failures() throws {
    var rig = Self.rig()
    try rig.request(qos: .atLeastOnce, timeout: 500, cookie: 1)
    _ = rig.drain()
    rig.receive(puback(1, 0x87))
    guard case .requestFailed(let completion) = rig.session.nextEvent() else {
      Issue.record("no end")
      return
    }
    #expect(completion.cookie == 1 && completion.result == .refused && completion.reasonCode == 0x87)
    rig.pass(1000)
    #expect(rig.events() == [])

    rig = Self.rig()
    try rig.request(qos: .exactlyOnce, cookie: 1)
    _ = rig.drain()
    rig.reconnect(sessionPresent: false)
    #expect(rig.events() == [.connected(sessionPresent: false), .requestFailed(1, .sessionLost)])

    rig = Self.rig()
    rig.lose()
    try rig.request(qos: .exactlyOnce, cookie: 1)
    rig.connect(properties: maximumQoS(1))
    #expect(rig.events() == [.connected(sessionPresent: false), .requestFailed(1, .aboveLimit)])

    // Above what this server can do it is not taken at all.
    #expect(throws: SessionError.qosNotSupported) { try rig.request(qos: .exactlyOnce) }
    try rig.request(timeout: 100, cookie: 2)
    rig.pass(100)
    #expect(rig.events() == [.responseTimedOut(2)])
  }

  /// A request that ended before its message did is not ended again, and nobody else is in its stead.
  @Test(arguments: [true, false])
  func failsAfterTheEnd(byReply: Bool) throws {
    let rig = Self.rig(1)
    try rig.request(qos: .atLeastOnce, timeout: 100, cookie: 1)
    let correlation = Self.correlations(rig.drain())[0]
    if byReply {
      rig.receive(Self.reply(correlation))
      #expect(Self.cookies(rig.events()) == [1])
    } else {
      rig.pass(100)
      #expect(rig.events() == [.responseTimedOut(1)])
    }
    // The place is taken by another one.
    try rig.request(qos: .atLeastOnce, timeout: 5000, cookie: 2)
    let next = Self.correlations(rig.drain())[0]
    #expect(next != correlation)
    rig.receive(puback(1, 0x87))
    #expect(rig.events() == [])
    rig.receive(Self.reply(correlation) + Self.reply(next))
    #expect(Self.cookies(rig.events()) == [-1, 2])
    rig.receive(puback(2))
    #expect(rig.events() == [])
    #expect(rig.outbox.messages == 0)
  }

  /// A program that asks again and again while there is no connection: when the messages of all its requests come to
  /// nothing at once, the one that still waits ends, and none that has ended before.
  @Test func manyFailuresAtOnce() throws {
    let rig = Self.rig(1) { $0.outboxMessages = 200 }
    rig.lose()
    for cookie: UInt64 in 1...150 {
      try rig.request(qos: .exactlyOnce, timeout: 100, cookie: cookie)
      guard cookie < 150 else { break }
      rig.pass(100)
      #expect(rig.events() == [.responseTimedOut(cookie)])
    }
    rig.connect(properties: maximumQoS(1))
    #expect(rig.events() == [.connected(sessionPresent: false), .requestFailed(150, .aboveLimit)])
    #expect(rig.outbox.messages == 0)
  }

  /// Many requests, one place: a late reply never meets another request.
  @Test func onePlaceManyTimes() throws {
    var random = SeededRandom(seed: 410)
    let rig = Self.rig(1)
    var late: [[UInt8]] = []
    for turn in 0..<300 {
      try rig.request(timeout: 100, cookie: UInt64(turn))
      late.append(Self.correlations(rig.drain())[0])
      if turn % 3 == 0 {
        rig.pass(100)
        #expect(rig.events() == [.responseTimedOut(UInt64(turn))])
      } else {
        rig.receive(Self.reply(late.randomElement(using: &random)!))
        let isRight = Self.cookies(rig.events()).allSatisfy { $0 == -1 || $0 == turn }
        #expect(isRight)
        rig.receive(Self.reply(late[turn]))
        _ = rig.events()
      }
    }
    #expect(Set(late).count == 300)
  }

  // MARK: By chance

  /// Requests, replies, refusals, connections that end, and time: every request ends once.
  @Test func randomRuns() throws {
    var ends = [0, 0, 0]
    for seed in UInt64(0)..<1000 {
      var random = SeededRandom(seed: seed)
      let rig = Self.rig(3) {
        $0.outboxMessages = 8
        $0.outboxBytes = 400
      }
      var open: Set<UInt64> = []
      var nextCookie: UInt64 = 1
      var correlations: [UInt64: [UInt8]] = [:]
      var unacknowledged: [UInt16] = []
      var fault: String?
      func take() {
        for event in rig.events() {
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
            try rig.request(
              "q", [UInt8(truncatingIfNeeded: nextCookie)], qos: qos, timeout: timeout, cookie: nextCookie,
              expiry: random.percent(20) ? 1 : 0)
            open.insert(nextCookie)
            nextCookie += 1
          } catch {
            if error != .full { fault = "\(error)" }
          }
        case 3, 4:
          for packet in packets(rig.drain()) where packet[0] >> 4 == 3 {
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
          rig.receive(Self.reply(correlations[cookie]!, [UInt8(truncatingIfNeeded: cookie)]))
        case 7:
          guard !unacknowledged.isEmpty else { continue }
          rig.receive(puback(unacknowledged.removeFirst(), random.percent(50) ? 0x87 : 0))
        case 8: rig.pass(UInt32(random.below(400)))
        default:
          guard random.percent(30) else { continue }
          take()
          rig.reconnect(sessionPresent: random.percent(50))
          unacknowledged = []
        }
        if random.percent(70) { take() }
      }
      rig.pass(1000)
      take()
      if !open.isEmpty { fault = "\(open) did not end" }
      if let fault { Issue.record("seed \(seed): \(fault)") }
    }
    #expect(ends.allSatisfy { $0 > 500 }, "\(ends)")
  }
}
