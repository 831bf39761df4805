import MQTTWire
import Storage
import TestSupport
import Testing

@testable import MQTTSession

/// Is a message of use as long as it was said, and no longer?
@Suite struct ExpiryTests {
  /// A message as it goes out with so many seconds left.
  static func packet(
    _ left: UInt32, qos: QoS = .atMostOnce, identifier: UInt16 = 0, duplicate: Bool = false
  ) -> [UInt8] {
    publish(
      .v5_0, "t", [1], qos: qos, identifier: identifier, duplicate: duplicate, properties: messageExpiry(left)
    )
  }

  enum Way: CaseIterable { case field, property }

  static func put(
    _ harness: SessionHarness, _ seconds: UInt32, way: Way = .field, qos: QoS = .atMostOnce,
    cookie: UInt64 = 1
  )
    throws(SessionError)
  {
    switch way {
    case .field: try harness.publish("t", [1], qos: qos, cookie: cookie, expiry: seconds)
    case .property:
      try harness.publish("t", [1], qos: qos, cookie: cookie, properties: messageExpiry(seconds))
    }
  }

  // MARK: Where it is

  /// A message that moves up into the gap of another one still expires.
  @Test func behindAGap() throws {
    let harness = SessionHarness(.v3_1_1) {
      $0.keepAlive = 0
      $0.outboxMessages = 3
    }
    try harness.publish("a", qos: .atLeastOnce, cookie: 1)
    #expect(try harness.publish("b", qos: .atLeastOnce, cookie: 2, isQuiet: true, overflow: .dropOldest))
    try harness.publish("c", qos: .atLeastOnce, cookie: 3, expiry: 5)
    #expect(try harness.publish("d", qos: .atLeastOnce, cookie: 4, overflow: .dropOldest))
    harness.advanceClock(6000)
    #expect(harness.events() == [.failed(3, .expired)])
  }

  // MARK: What is left

  /// [MQTT-3.3.2-6]: what it is of use less what it has waited, in whole seconds.
  @Test(arguments: Way.allCases)
  func remainingTime(way: Way) throws {
    for (waited, left) in [
      (0, 10), (1, 10), (999, 10), (1000, 9), (1001, 9), (5500, 5), (9000, 1), (9999, 1),
    ] as [(UInt32, UInt32)] {
      for start: UInt32 in [0, 5000, 0x7FFF_FF00, 0xFFFF_FF00, 0xFFFF_F000] {
        let harness = SessionHarness(.v5_0) { $0.keepAlive = 0 }
        harness.now = Instant(milliseconds: start)
        try Self.put(harness, 10, way: way)
        harness.now = harness.now.advanced(by: waited)
        harness.connect()
        #expect(harness.drain() == Self.packet(left), "after \(waited)")
        #expect(harness.events() == [.connected(sessionPresent: false), .delivered(1)])
      }
    }
  }

  /// Among other properties, before and behind them, whatever their lengths.
  @Test func amongOtherProperties() throws {
    let pair = userProperty("k", String(repeating: "v", count: 120))
    for (before, behind) in [
      ([], []), (pair, []), ([], pair), (pair, pair), (correlationData([2, 0, 0, 0, 9]), []),
    ] {
      for qos in allQoS {
        let harness = SessionHarness(.v5_0)
        try harness.publish(
          "t", [1], qos: qos, cookie: 1, properties: before + messageExpiry(100) + behind)
        harness.now = Instant(milliseconds: 42_000)
        harness.connect()
        #expect(
          harness.drain()
            == publish(
              .v5_0, "t", [1], qos: qos, identifier: 1, properties: before + messageExpiry(58) + behind))
      }
    }
    let harness = SessionHarness(.v5_0)
    #expect(throws: SessionError.property) {
      try harness.publish("t", expiry: 1, properties: messageExpiry(100))
    }
    #expect(throws: SessionError.property) {
      try harness.publish("t", properties: messageExpiry(1) + messageExpiry(2))
    }
  }

  // MARK: What is too late

  /// Not a moment earlier, offline and online, in every version.
  @Test(arguments: bothVersions, [false, true])
  func expires(version: ProtocolVersion, isConnected: Bool) throws {
    for start: UInt32 in [0, 0x7FFF_FF00, 0xFFFF_FF00] {
      let harness = SessionHarness(version) {
        $0.keepAlive = 0
        $0.inFlightMaximum = 1
      }
      harness.now = Instant(milliseconds: start)
      if isConnected {
        harness.connect()
        _ = harness.events()
        // It waits behind another that waits for its PUBACK.
        try harness.publish(qos: .atLeastOnce)
        _ = harness.drain()
      }
      try Self.put(harness, 3, qos: .atLeastOnce, cookie: 9)
      #expect(harness.nextDeadline == start &+ 3000)
      harness.advanceClock(2999)
      #expect(harness.events() == [])
      #expect(harness.drain() == [])
      harness.advanceClock(1)
      #expect(harness.events() == [.failed(9, .expired)])
      #expect(harness.outboxNumbers.expired.uint64 == 1)
      #expect(harness.outboxNumbers.failed.uint64 == 1)
      #expect(harness.nextDeadline == nil)
      #expect(harness.drain() == [])
    }
  }

  /// Nobody looked at the deadline: it is not sent all the same.
  @Test(arguments: bothVersions)
  func tooLateToBeSent(version: ProtocolVersion) throws {
    let harness = SessionHarness(version)
    try Self.put(harness, 3, cookie: 1)
    try Self.put(harness, 60, cookie: 2)
    harness.now = Instant(milliseconds: 3000)
    harness.connect()
    #expect(
      harness.drain()
        == (version == .v5_0
          ? Self.packet(57) : publish(version, "t", [1], qos: .atMostOnce)))
    #expect(harness.events() == [.connected(sessionPresent: false), .failed(1, .expired), .delivered(2)])
    #expect(harness.outbox.messages == 0)
  }

  /// In a run that the transport does not take: what was begun is sent to its end, the rest can still expire.
  @Test func inABlockedRun() throws {
    for sent in 0...6 {
      let harness = SessionHarness(.v5_0)
      harness.connect(properties: receiveMaximum(3))
      _ = harness.events()
      for cookie: UInt64 in 1...3 { try Self.put(harness, 2, qos: .atLeastOnce, cookie: cookie) }
      try harness.publish("last", qos: .atLeastOnce, cookie: 4)
      let first = sent == 0 ? [] : harness.transmit(sent) ?? []
      if sent == 0 {
        let isPrepared = harness.session.prepareTransmit(at: harness.now)
        #expect(isPrepared)
      }
      harness.advanceClock(2000)
      let rest = first + harness.drain()
      let last = publish(.v5_0, "last", qos: .atLeastOnce, identifier: 4)
      #expect(rest == (sent == 0 ? last : Self.packet(2, qos: .atLeastOnce, identifier: 1) + last))
      #expect(harness.events() == (sent == 0 ? [1, 2, 3] : [2, 3]).map { .failed($0, .expired) })
      #expect(harness.outboxNumbers.inFlight == (sent == 0 ? 1 : 2))
    }
  }

  /// One that was sent is sent again, whatever its time: the server may have it, and the handshake has to end.
  @Test(arguments: [QoS.atLeastOnce, .exactlyOnce])
  func duplicatesAreSent(qos: QoS) throws {
    let harness = SessionHarness(.v5_0)
    harness.connect()
    try Self.put(harness, 10, qos: qos)
    #expect(harness.drain() == Self.packet(10, qos: qos, identifier: 1))
    for (wait, left) in [(4000, 6), (4000, 2), (1000, 1), (1000, 1), (100_000, 1)] as [(UInt32, UInt32)] {
      harness.advanceClock(wait)
      harness.reconnect(sessionPresent: true)
      #expect(harness.drain() == Self.packet(left, qos: qos, identifier: 1, duplicate: true))
    }
    #expect(harness.events() == [.connected(sessionPresent: true)])
    // As a new message in a new session it is too late.
    harness.reconnect(sessionPresent: false)
    #expect(harness.drain() == [])
    #expect(
      harness.events() == [
        .connected(sessionPresent: false), .failed(1, qos == .atLeastOnce ? .expired : .sessionLost),
      ])
  }

  /// The time of a message that was sent goes on, though nothing waits for it.
  @Test func theClockDoesNotStop() throws {
    let harness = SessionHarness(.v5_0) { $0.keepAlive = 0 }
    harness.connect()
    try Self.put(harness, 3_000_000, qos: .atLeastOnce)
    _ = harness.drain()
    try Self.put(harness, 5, cookie: 2)
    _ = harness.drain()
    var passed: UInt32 = 0
    // As whoever drives it would.
    while passed < 2_999_000 {
      guard let deadline = harness.nextDeadline else {
        Issue.record("it stopped after \(passed) seconds")
        return
      }
      let wait = deadline &- harness.now.milliseconds
      harness.advanceClock(wait)
      passed += wait / 1000
    }
    harness.reconnect(sessionPresent: true)
    let left = 3_000_000 - passed
    let again = harness.drain()
    #expect(
      (left...left + 1).contains {
        again == Self.packet($0, qos: .atLeastOnce, identifier: 1, duplicate: true)
      })
  }

  /// After any time in which nobody waited it works as at the beginning: also where the clock of milliseconds has
  /// gone half round.
  @Test(
    arguments: [1, 999, 86_400_000, 2_147_483_647, 2_147_483_648, 2_592_000_000, 4_294_967_295] as [UInt32])
  func afterALongPause(pause: UInt32) throws {
    let harness = SessionHarness(.v5_0) { $0.keepAlive = 0 }
    try Self.put(harness, 5, cookie: 1)
    harness.advanceClock(5000)
    #expect(harness.events() == [.failed(1, .expired)])
    harness.now = harness.now.advanced(by: pause)
    try Self.put(harness, 5, cookie: 2)
    #expect(harness.nextDeadline == harness.now.advanced(by: 5000).milliseconds)
    harness.advanceClock(4999)
    #expect(harness.events() == [])
    harness.advanceClock(1)
    #expect(harness.events() == [.failed(2, .expired)])
  }

  /// A year, 136 years, for ever as far as MQTT can say it.
  @Test(arguments: [86_400, 31_536_000, 4_294_967_294, 4_294_967_295] as [UInt32])
  func longTimes(seconds: UInt32) throws {
    let harness = SessionHarness(.v5_0) { $0.keepAlive = 0 }
    try Self.put(harness, seconds)
    try Self.put(harness, seconds, cookie: 2)
    harness.connect()
    _ = harness.transmit(Self.packet(seconds).count)
    harness.lose()
    // Ten days, hour by hour.
    for _ in 0..<240 { harness.advanceClock(3_600_000) }
    harness.connect()
    if seconds == 86_400 {
      #expect(harness.drain() == [])
    } else {
      let sent = ReadPublish(harness.drain(), .v5_0)
      let left = sent.properties.dropFirst().reduce(0) { $0 << 8 | UInt32($1) }
      #expect(seconds - left >= 863_999 && seconds - left <= 864_001)
    }
  }

  // MARK: In other ways than whole

  @Test func reserved() throws {
    let harness = SessionHarness(.v5_0)
    try harness.reserve("t", size: 1, cookie: 1, expiry: 3)
    harness.fill([1])
    harness.advanceClock(10_000)
    #expect(harness.events() == [])
    try harness.commit(1)
    harness.connect()
    #expect(harness.drain() == [])
    #expect(harness.events() == [.connected(sessionPresent: false), .failed(1, .expired)])
    // In time, and shorter than it was to be.
    try harness.reserve("t", size: 200, cookie: 2, expiry: 3)
    harness.fill([1])
    harness.advanceClock(1000)
    try harness.commit(1)
    #expect(harness.drain() == Self.packet(2))
  }

  @Test func streams() throws {
    let harness = SessionHarness(.v5_0) { $0.streamBytes = 64 }
    try harness.stream("t", [1], cookie: 1, expiry: 3)
    harness.advanceClock(3000)
    #expect(harness.events() == [.failed(1, .expired)])
    try harness.stream("t", [1], cookie: 2, expiry: 3)
    harness.connect()
    // Begun in time.
    let packet = Self.packet(3)
    #expect(harness.transmit() == packet.dropLast())
    harness.advanceClock(5000)
    #expect(harness.drain() == [1])
    #expect(harness.events() == [.connected(sessionPresent: false), .delivered(2)])
  }

  /// The oldest first, also where the ring goes on from its last descriptor to its first one.
  @Test func inTheirOrder() throws {
    let harness = SessionHarness(.v3_1_1) {
      $0.outboxMessages = 100
      $0.outboxBytes = 4096
    }
    harness.connect()
    for cookie in 0..<30 { try harness.publish("t", qos: .atLeastOnce, cookie: UInt64(cookie)) }
    for packet in packets(harness.drain()) {
      harness.receive(puback(ReadPublish(packet, .v3_1_1).identifier))
    }
    _ = harness.events()
    harness.lose()
    for cookie in UInt64(0)..<100 { try harness.publish("t", qos: .atLeastOnce, cookie: cookie, expiry: 1) }
    harness.advanceClock(1000)
    #expect(harness.events() == (UInt64(0)..<100).map { .failed($0, .expired) })
  }

  @Test func requests() throws {
    let harness = SessionHarness(.v5_0) { $0.replies = 1 }
    try harness.request(timeout: 60_000, cookie: 5, expiry: 2)
    harness.advanceClock(2000)
    #expect(harness.events() == [.requestFailed(5, .expired)])
    #expect(harness.nextDeadline == nil)
  }

  @Test func quiet() throws {
    let harness = SessionHarness(.v3_1_1)
    try harness.publish("t", cookie: 3, isQuiet: true, expiry: 1)
    harness.advanceClock(1000)
    #expect(harness.events() == [.failed(3, .expired)])
  }

  /// Queued for 5.0, sent in 3.1.1: there is nobody to tell, but here it counts all the same.
  @Test(arguments: Way.allCases)
  func afterADowngrade(way: Way) throws {
    let harness = SessionHarness(.v5_0) { $0.allowsFallback = true }
    for (cookie, seconds) in [(1, 5), (2, 50)] as [(UInt64, UInt32)] {
      try Self.put(harness, seconds, way: way, qos: .atLeastOnce, cookie: cookie)
    }
    harness.advanceClock(4000)
    harness.session.connectionOpened()
    #expect(harness.fallBack())
    harness.lose()
    harness.connect()
    harness.advanceClock(1000)
    #expect(harness.drain() == publish(.v3_1_1, "t", [1], qos: .atLeastOnce, identifier: 2))
    #expect(harness.events() == [.connected(sessionPresent: false), .failed(1, .expired)])
  }

  // MARK: At random

  /// Many messages with times of their own, published whenever: none ends before its time, none more than a second
  /// after it, and the server is told no less than is left, and less than two seconds more.
  @Test func randomRuns() throws {
    var expired = 0
    var sent = 0
    for seed in UInt64(0)..<1000 {
      var random = SeededRandom(seed: seed)
      let harness = SessionHarness(.v5_0) { $0.keepAlive = 0 }
      let start = UInt32(truncatingIfNeeded: random.next())
      harness.now = Instant(milliseconds: start)
      var messages: [UInt64: (published: UInt32, seconds: UInt32)] = [:]
      var isConnected = false
      var time: UInt32 = 0
      var fault: String?
      for step in 0..<60 where fault == nil {
        switch random.below(10) {
        case 0..<4:
          let seconds = UInt32(1 + random.below(8))
          guard (try? Self.put(harness, seconds, cookie: UInt64(step))) != nil else { continue }
          messages[UInt64(step)] = (time, seconds)
        case 4..<9:
          // Whoever drives it looks at the deadlines, and may be late.
          var wait = UInt32(random.below(3000))
          if let deadline = harness.nextDeadline { wait = min(wait, deadline &- harness.now.milliseconds) }
          time += wait
          harness.advanceClock(wait)
        default:
          if isConnected {
            harness.lose()
          } else {
            harness.connect()
          }
          isConnected.toggle()
        }
        let packets = isConnected ? packets(harness.drain()) : []
        var next = 0
        for event in harness.events() {
          switch event {
          case .failed(let cookie, .expired):
            guard let message = messages.removeValue(forKey: cookie) else { continue }
            let due = message.published + message.seconds * 1000
            if time < due { fault = "expired \(due - time) ms too early" }
            if time > due + 1000 { fault = "expired \(time - due) ms late" }
            expired += 1
          case .delivered(let cookie):
            guard let message = messages.removeValue(forKey: cookie) else { continue }
            let left = Int(ReadPublish(packets[next], .v5_0).properties.last ?? 0)
            next += 1
            let exact = Int(message.published) + Int(message.seconds) * 1000 - Int(time)
            if !(0..<2000 ~= left * 1000 - exact) { fault = "\(left) s told, \(exact) ms left" }
            sent += 1
          default: break
          }
        }
        for (cookie, message) in messages where time > message.published + message.seconds * 1000 + 1000 {
          fault = "\(cookie) has not expired"
        }
      }
      if let fault { Issue.record("seed \(seed): \(fault)") }
    }
    #expect(expired > 3000)
    #expect(sent > 3000)
  }
}
