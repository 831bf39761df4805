import MQTTWire
import Storage
import TestSupport
import Testing

@testable import MQTTSession

extension PublishOptions.Overflow: @unchecked Sendable {}

/// What happens when the outbox is full (docs/decisions/0020), case by case; OutboxTests has it at random. A packet of
/// `packet(in:)` takes 16 bytes.
@Suite struct OverflowTests {
  static let nine = [UInt8](repeating: 9, count: 9)
  static let dropping: [PublishOptions.Overflow] = [.dropOldest, .latest]

  /// Room for `count` messages of 16 bytes; connected if there is a window.
  static func harness(
    bytes count: Int = 4, messages: Int = 32, window: Int? = nil, firstIdentifier: UInt16 = 1,
    configure: (inout SessionHarness.Options) -> Void = { _ in }
  ) -> SessionHarness {
    let harness = SessionHarness(.v3_1_1) {
      $0.keepAlive = 0
      $0.outboxBytes = count * 16
      $0.outboxMessages = messages
      $0.inFlightMaximum = window ?? 20
      $0.random = UInt32(firstIdentifier - 1)
      configure(&$0)
    }
    if window != nil {
      harness.connect()
      _ = harness.events()
    }
    return harness
  }

  /// The topic tells the cookie.
  @discardableResult
  static func add(
    _ harness: SessionHarness, _ cookie: Int, _ overflow: PublishOptions.Overflow, qos: QoS = .atLeastOnce,
    isQuiet: Bool = false,
    payload: Int? = nil, isUrgent: Bool = false
  ) throws(SessionError) -> Bool {
    let name = String(UnicodeScalar(UInt8(ascii: "a") + UInt8(cookie)))
    let size = payload ?? (qos == .atMostOnce ? 11 : 9)
    return try harness.publish(
      name, [UInt8](repeating: UInt8(cookie), count: size), qos: qos, cookie: UInt64(cookie),
      isQuiet: isQuiet,
      overflow: overflow, isUrgent: isUrgent)
  }

  static func cookie(_ publish: ReadPublish) -> Int { Int(publish.topic.utf8.first!) - 97 }

  /// What the server gets until all is done, and what the application hears; every message ends under its own cookie.
  static func finish(_ harness: SessionHarness, _ version: ProtocolVersion = .v3_1_1) -> (
    published: [ReadPublish], told: [ReportedEvent]
  ) {
    var published: [ReadPublish] = []
    var told: [ReportedEvent] = harness.events()
    while true {
      let sent = packets(harness.drain(piece: 7))
      if sent.isEmpty { break }
      for packet in sent {
        switch packet[0] >> 4 {
        case 3:
          let message = ReadPublish(packet, version)
          published.append(message)
          if message.qos == 1 { harness.receive(puback(message.identifier)) }
          if message.qos == 2 { harness.receive(pubrec(message.identifier)) }
        case 6: harness.receive(pubcomp(UInt16(packet[2]) << 8 | UInt16(packet[3])))
        default: Issue.record("\(packet)")
        }
        told += harness.events()
      }
    }
    told += harness.events()
    #expect(harness.isDrained && harness.outbox.bytes == 0 && harness.outbox.messages == 0)
    return (published, told)
  }

  /// Fills the outbox of 5.0 with a message that stays.
  static func fill(_ harness: SessionHarness) throws {
    let room = harness.outbox.bytesCapacity - harness.outbox.bytes
    try harness.publish("f", [UInt8](repeating: 6, count: room - 8), qos: .atLeastOnce, cookie: 6)
    #expect(harness.outbox.bytes == harness.outbox.bytesCapacity)
  }

  /// Everything that a call that changes nothing must leave as it is.
  static func state(_ harness: SessionHarness) -> [Int] {
    let numbers = harness.outboxNumbers
    return harness.numbers + [
      numbers.urgent.bytes, numbers.urgent.messages, numbers.urgent.bytesPeak, Int(numbers.dropped.uint64),
      Int(numbers.replaced.uint64), Int(numbers.failed.uint64),
      Int(harness.counters.messagesPublished.uint64),
    ]
  }

  // MARK: Full of bytes

  /// In front of what may be dropped is what is in flight: none offline, 1, 2, or all.
  @Test(arguments: [nil, 1, 2, 4], [true, false])
  func theOldestMakeRoomInBytes(window: Int?, isQuiet: Bool) throws {
    for overflow in Self.dropping {
      let harness = Self.harness(window: window)
      for cookie in 0..<4 { try Self.add(harness, cookie, overflow, isQuiet: isQuiet) }
      if window != nil { _ = harness.drain() }
      let inFlight = window ?? 0
      let before = Self.state(harness)
      if inFlight == 4 {
        #expect(throws: SessionError.full) { try Self.add(harness, 4, overflow) }
        #expect(Self.state(harness) == before)
        continue
      }
      #expect(try Self.add(harness, 4, overflow))
      #expect(harness.events() == (isQuiet ? [] : [.failed(UInt64(inFlight), .dropped)]))
      #expect(harness.outboxNumbers.dropped.uint64 == 1)
      #expect(harness.outbox.bytes == 64)
      if window == nil {
        harness.connect()
      } else {
        for id in 0..<inFlight { harness.receive(puback(UInt16(id + 1))) }
      }
      let (published, told) = Self.finish(harness)
      #expect(published.map(Self.cookie) == (0..<5).filter { $0 > inFlight })
      let expected = (0..<5).filter { $0 != inFlight && (!isQuiet || $0 == 4) }
      #expect(
        told.compactMap { if case .delivered(let cookie) = $0 { Int(cookie) } else { nil } } == expected)
    }
  }

  @Test(arguments: [nil, 1, 2, 4])
  func refusedOrDroppedItself(window: Int?) throws {
    for overflow in [PublishOptions.Overflow.refuse, .dropNewest] {
      let harness = Self.harness(window: window)
      for cookie in 0..<4 { try Self.add(harness, cookie, .dropOldest) }
      if window != nil { _ = harness.drain() }
      let before = Self.state(harness)
      if overflow == .refuse {
        #expect(throws: SessionError.full) { try Self.add(harness, 4, overflow) }
        #expect(Self.state(harness) == before)
      } else {
        #expect(try !Self.add(harness, 4, overflow))
        #expect(harness.outboxNumbers.dropped.uint64 == 1)
        #expect(harness.numbers[...] == before[0..<8])
        #expect(harness.counters.messagesPublished.uint64 == 4)
      }
      #expect(!harness.hasEvent)
      if window == nil {
        harness.connect()
      } else {
        for id in 0..<window! { harness.receive(puback(UInt16(id + 1))) }
      }
      let (published, told) = Self.finish(harness)
      #expect(published.map(Self.cookie) == Array((window ?? 0)..<4))
      // Whoever was told that it is full hears that there is room; whoever was dropped does not.
      #expect(told.contains(.room) == (overflow == .refuse))
      #expect(told.filter { if case .delivered = $0 { true } else { false } }.count == 4)
    }
  }

  /// Nothing is dropped unless that makes room: those that may not be are in the way.
  @Test func nothingIsDroppedInVain() throws {
    let harness = Self.harness()
    try Self.add(harness, 0, .refuse)
    try Self.add(harness, 1, .dropOldest)
    try Self.add(harness, 2, .refuse)
    try Self.add(harness, 3, .refuse)
    let before = Self.state(harness)
    // 16 bytes would come free, and 17 are wanted.
    #expect(throws: SessionError.full) { try Self.add(harness, 4, .dropOldest, payload: 10) }
    #expect(Self.state(harness) == before)
    #expect(!harness.hasEvent)
    #expect(try Self.add(harness, 4, .dropOldest))
    harness.connect()
    let (published, told) = Self.finish(harness)
    #expect(published.map(Self.cookie) == [0, 2, 3, 4])
    #expect(told.contains(.failed(1, .dropped)))
  }

  /// Nor do those make room that are special in another way, and did not ask for it: they expire, or were reserved.
  @Test func specialOnesStay() throws {
    let harness = Self.harness()
    try harness.publish("a", Self.nine, qos: .atLeastOnce, cookie: 0, expiry: 100)
    try harness.reserve("b", size: 9, qos: .atLeastOnce, cookie: 1)
    try harness.commit(9)
    for cookie in 2..<4 { try Self.add(harness, cookie, .refuse) }
    let before = Self.state(harness)
    for overflow in Self.dropping {
      #expect(throws: SessionError.full) { try Self.add(harness, 4, overflow) }
    }
    #expect(Self.state(harness) == before)
    #expect(!harness.hasEvent)
  }

  /// As many as it takes, from the oldest on, and of those that may be dropped only.
  @Test func severalMakeRoom() throws {
    let harness = Self.harness(bytes: 8)
    for cookie in 0..<8 { try Self.add(harness, cookie, cookie % 3 == 1 ? .refuse : .dropNewest) }
    #expect(try Self.add(harness, 8, .dropOldest, payload: 9 + 32))
    #expect(harness.events() == [.failed(0, .dropped), .failed(2, .dropped), .failed(3, .dropped)])
    harness.connect()
    #expect(Self.finish(harness).published.map(Self.cookie) == [1, 4, 5, 6, 7, 8])
  }

  /// In an older version the same messages are shorter: nothing is dropped as long as there is room.
  @Test(arguments: dropping)
  func roomAfterADowngrade(overflow: PublishOptions.Overflow) throws {
    let harness = SessionHarness(.v5_0) {
      $0.allowsFallback = true
      $0.outboxBytes = 200
    }
    for cookie in UInt64(0)..<4 {
      _ = try harness.publish("a\(cookie)", Self.nine, qos: .atLeastOnce, cookie: cookie, overflow: overflow)
    }
    let before = harness.outbox.bytes
    harness.session.connectionOpened()
    #expect(harness.fallBack())
    harness.lose()
    harness.connect()
    let saved = before - harness.outbox.bytes
    let size = publish(.v3_1_1, "b", [], qos: .atLeastOnce, identifier: 1).count
    #expect(saved > 0)
    let rest = [UInt8](repeating: 7, count: 200 - before + saved - size)
    #expect(try harness.publish("b", rest, qos: .atLeastOnce, cookie: 4, overflow: overflow))
    #expect(harness.outbox.messages == 5)
    #expect(harness.events() == [.connected(sessionPresent: false)])
  }

  /// What is larger than all of it is so at once, whatever the policy.
  @Test func tooLarge() throws {
    for overflow in [PublishOptions.Overflow.refuse, .dropOldest, .dropNewest, .latest] {
      let harness = Self.harness()
      for cookie in 0..<4 { try Self.add(harness, cookie, .dropOldest) }
      let before = Self.state(harness)
      #expect(throws: SessionError.tooLarge) { try Self.add(harness, 4, overflow, payload: 58) }
      #expect(throws: SessionError.tooLarge) { try Self.add(harness, 0, overflow, payload: 58) }
      #expect(Self.state(harness) == before)
    }
  }

  // MARK: Full of descriptors

  /// One that is to be reported keeps its descriptor: only quiet ones make room there.
  @Test(arguments: [nil, 1, 2, 4], [true, false])
  func theOldestMakeRoomInMessages(window: Int?, isQuiet: Bool) throws {
    for overflow in Self.dropping {
      let harness = Self.harness(bytes: 100, messages: 4, window: window)
      for cookie in 0..<4 { try Self.add(harness, cookie, overflow, isQuiet: isQuiet) }
      if window != nil { _ = harness.drain() }
      let inFlight = window ?? 0
      let before = Self.state(harness)
      guard isQuiet, inFlight < 4 else {
        #expect(throws: SessionError.full) { try Self.add(harness, 4, overflow) }
        #expect(Self.state(harness) == before)
        #expect(!harness.hasEvent)
        continue
      }
      #expect(try Self.add(harness, 4, overflow))
      #expect(!harness.hasEvent)
      #expect(harness.outbox.messages == 4)
      if window == nil {
        harness.connect()
      } else {
        for id in 0..<inFlight { harness.receive(puback(UInt16(id + 1))) }
      }
      let (published, told) = Self.finish(harness)
      #expect(published.map(Self.cookie) == (0..<5).filter { $0 > inFlight })
      #expect(told.contains(.delivered(4)))
    }
  }

  /// A search that passes what was sent passes it for the quiet ones, too: here the ring has wrapped meanwhile.
  @Test func theOldestQuietMakesRoomBehindAWrap() throws {
    let harness = Self.harness(bytes: 3, messages: 4, window: 1)
    try Self.add(harness, 0, .dropOldest, isQuiet: true)
    try Self.add(harness, 1, .dropOldest)
    try Self.add(harness, 2, .dropOldest, isQuiet: true)
    let identifier = ReadPublish(packets(harness.drain())[0], .v3_1_1).identifier
    try Self.add(harness, 3, .dropOldest, isQuiet: true)  // 1 makes room, and is not told yet
    harness.receive(puback(identifier))
    try Self.add(harness, 4, .dropOldest, isQuiet: true)
    try Self.add(harness, 5, .dropOldest, isQuiet: true)
    let (published, told) = Self.finish(harness)
    #expect(published.map(Self.cookie) == [3, 4, 5])
    #expect(told == [.failed(1, .dropped)])
  }

  /// With something in flight, or one that is replaced, in front of them, the descriptors of those whose events have been
  /// taken are free all the same: a link that is gone for long does not fill up.
  @Test(arguments: dropping)
  func descriptorsInTheMiddle(overflow: PublishOptions.Overflow) throws {
    let harness = Self.harness(messages: 8, window: 20)
    if overflow == .dropOldest {
      try Self.add(harness, 0, .dropOldest)
      _ = harness.drain()
      harness.lose()
    }
    for cookie in 0..<100 {
      #expect(
        try harness.publish("a", Self.nine, qos: .atLeastOnce, cookie: UInt64(cookie), overflow: overflow))
      _ = harness.events()
    }
  }

  // MARK: Identifiers

  /// Whatever was dropped in front of them: each is acknowledged under its own identifier, and no two have the same.
  /// Across the wrap, too.
  @Test(arguments: [1, 65_020] as [UInt16], [true, false])
  func identifiersAfterADrop(first: UInt16, isQuiet: Bool) throws {
    let harness = Self.harness(bytes: 8, window: 2, firstIdentifier: first)
    let qos: [QoS] = [.atLeastOnce, .exactlyOnce, .atLeastOnce, .exactlyOnce, .atMostOnce, .exactlyOnce]
    for cookie in 0..<8 { try Self.add(harness, cookie, .dropOldest, qos: qos[cookie % 6], isQuiet: isQuiet) }
    _ = harness.drain(piece: 5)
    // Five drops: 2 to 6. The two in flight stay where they were, in the eyes of the server.
    for cookie in 8..<13 { try Self.add(harness, cookie, .dropOldest, qos: qos[cookie % 6]) }
    #expect(harness.events().count == (isQuiet ? 0 : 5))
    harness.receive(pubrec(first + 1))
    #expect(harness.drain() == pubrel(first + 1))
    harness.receive(puback(first) + pubcomp(first + 1))
    #expect(harness.events() == (isQuiet ? [] : [.delivered(0), .delivered(1)]))
    let (published, told) = Self.finish(harness)
    #expect(published.map(Self.cookie) == [7, 8, 9, 10, 11, 12])
    let identifiers = published.filter { $0.qos > 0 }.map(\.identifier)
    #expect(Set(identifiers).count == identifiers.count)
    #expect(identifiers.allSatisfy { 1...65_023 ~= $0 })
    let ended = told.compactMap { if case .delivered(let cookie) = $0 { Int(cookie) } else { nil } }
    #expect(Set(ended) == Set(isQuiet ? [8, 9, 10, 11, 12] : [7, 8, 9, 10, 11, 12]))
    #expect(ended.count == Set(ended).count)
  }

  /// In flight messages move up in the ring; what is sent again on the next connection is still what it was.
  @Test func sentAgainAfterADrop() throws {
    let harness = Self.harness(bytes: 6, window: 3)
    for cookie in 0..<6 {
      try Self.add(harness, cookie, .dropOldest, qos: cookie == 1 ? .exactlyOnce : .atLeastOnce)
    }
    _ = harness.drain()
    for cookie in 6..<8 { try Self.add(harness, cookie, .dropOldest) }
    #expect(harness.events() == [.failed(3, .dropped), .failed(4, .dropped)])
    harness.receive(puback(1))
    _ = harness.drain()
    harness.reconnect(sessionPresent: true)
    let (published, _) = Self.finish(harness)
    #expect(published.map(Self.cookie) == [1, 2, 5, 6, 7])
    #expect(published.map(\.duplicate) == [true, true, true, false, false])
    #expect(published.map { $0.payload.first.map(Int.init) } == [1, 2, 5, 6, 7])
  }

  /// The first byte is out: it cannot be dropped, and arrives whole though its place moves.
  @Test(arguments: 1..<16)
  func whatIsBegunIsNotDropped(sent: Int) throws {
    let harness = Self.harness(window: 20)
    for cookie in 0..<4 { try Self.add(harness, cookie, .dropOldest) }
    let begun = harness.transmit(sent)!
    #expect(try Self.add(harness, 4, .dropOldest))
    #expect(harness.events() == [.failed(1, .dropped)])
    let rest = packets(begun + harness.drain(piece: 3)).map { ReadPublish($0, .v3_1_1) }
    #expect(rest.map(Self.cookie) == [0, 2, 3, 4])
    #expect(rest.map(\.payload) == [0, 2, 3, 4].map { [UInt8](repeating: $0, count: 9) })
  }

  // MARK: The latest value

  @Test(arguments: [9, 5, 0, 12], [true, false])
  func latestInPlace(payload: Int, isQuiet: Bool) throws {
    for qos in allQoS {
      let harness = Self.harness(bytes: 8)
      for cookie in 0..<3 { try Self.add(harness, cookie, .latest, qos: qos, isQuiet: isQuiet, payload: 9) }
      let bytes = harness.outbox.bytes
      let new = [UInt8](repeating: 77, count: payload)
      #expect(try harness.publish("b", new, qos: qos, cookie: 10, overflow: .latest))
      #expect(harness.events() == (isQuiet ? [] : [.failed(1, .replaced)]))
      #expect(harness.outboxNumbers.replaced.uint64 == 1)
      #expect(harness.outboxNumbers.dropped.uint64 == 0)
      if payload <= 9 { #expect(harness.outbox.bytes == bytes) }
      harness.connect()
      let (published, told) = Self.finish(harness)
      // In its turn, or, as it was too large for that, behind the others.
      #expect(published.map(\.topic) == (payload <= 9 ? ["a", "b", "c"] : ["a", "c", "b"]))
      #expect(published.first { $0.topic == "b" }?.payload == new)
      #expect(told.contains(.delivered(10)))
    }
  }

  /// A hundred values of one topic, on a link that is gone: one is sent, the newest, and all have ended.
  @Test(arguments: [true, false])
  func manyValues(isQuiet: Bool) throws {
    let harness = Self.harness(messages: 8)
    var told: [ReportedEvent] = []
    for cookie in 0..<100 {
      let value = [UInt8](repeating: UInt8(cookie), count: cookie % 8)
      #expect(
        try harness.publish(
          "a", value, qos: .atLeastOnce, cookie: UInt64(cookie), isQuiet: isQuiet, overflow: .latest))
      if cookie % 3 == 0 { told += harness.events() }
    }
    harness.connect()
    let end = Self.finish(harness)
    #expect(end.published.map(\.payload) == [[UInt8](repeating: 99, count: 3)])
    told += end.told
    #expect(harness.outboxNumbers.replaced.uint64 == 99)
    if !isQuiet {
      let ended = told.compactMap { if case .failed(let cookie, .replaced) = $0 { Int(cookie) } else { nil } }
      #expect(ended.sorted() == Array(0..<99))
    }
  }

  /// Another QoS, or none that may be replaced: QoS is the new one's, and who asked for something else stays.
  @Test func latestAmongOthers() throws {
    let harness = Self.harness(bytes: 8)
    try harness.publish("a", [1], qos: .atLeastOnce, cookie: 1)
    try Self.add(harness, 1, .latest, qos: .exactlyOnce, payload: 3)
    #expect(try harness.publish("a", [2], qos: .atLeastOnce, cookie: 2, overflow: .dropOldest))
    #expect(try harness.publish("a", [3], qos: .atMostOnce, cookie: 3, overflow: .latest))
    #expect(!harness.hasEvent)
    #expect(try harness.publish("a", [4], qos: .atMostOnce, cookie: 4, overflow: .latest))
    #expect(try harness.publish("b", [5], qos: .atMostOnce, cookie: 5, overflow: .latest))
    #expect(harness.events() == [.failed(3, .replaced), .failed(1, .replaced)])
    harness.connect()
    let (published, _) = Self.finish(harness)
    #expect(published.map(\.payload) == [[1], [5], [2], [4]])
    #expect(published.map(\.qos) == [1, 0, 1, 0])
  }

  /// The 16 bits that are kept of a topic do not tell all topics apart.
  @Test func equalHashes() throws {
    var names: [UInt16: String] = [:]
    var pair: (String, String)?
    for number in 0..<10_000 {
      let name = "t\(10_000 + number)"
      let bytes = name.bytes
      let hash = TopicHash.short(of: bytes.span)
      if let other = names[hash] {
        pair = (other, name)
        break
      }
      names[hash] = name
    }
    let (one, other) = try #require(pair)
    #expect(one != other && one.utf8.count == other.utf8.count)
    let harness = Self.harness(bytes: 20)
    #expect(try harness.publish(one, [1], qos: .atLeastOnce, cookie: 1, overflow: .latest))
    #expect(try harness.publish(other, [2], qos: .atLeastOnce, cookie: 2, overflow: .latest))
    // One is the beginning of the other, too.
    #expect(try harness.publish(one + "x", [3], qos: .atLeastOnce, cookie: 3, overflow: .latest))
    #expect(!harness.hasEvent)
    #expect(try harness.publish(one, [4], qos: .atLeastOnce, cookie: 4, overflow: .latest))
    #expect(harness.events() == [.failed(1, .replaced)])
    harness.connect()
    #expect(Self.finish(harness).published.map(\.payload) == [[4], [2], [3]])
  }

  /// A part of it is out, or it is in flight: the new one goes behind, and replaces what waits there.
  @Test(arguments: 1..<16)
  func whatIsBegunIsNotReplaced(sent: Int) throws {
    let harness = Self.harness(bytes: 8, window: 20)
    for cookie in 0..<2 { try Self.add(harness, cookie, .latest) }
    let begun = harness.transmit(sent)!
    #expect(try harness.publish("a", Self.nine, qos: .atLeastOnce, cookie: 10, overflow: .latest))
    #expect(!harness.hasEvent)
    #expect(try harness.publish("a", [11], qos: .atLeastOnce, cookie: 11, overflow: .latest))
    #expect(harness.events() == [.failed(10, .replaced)])
    let all = packets(begun + harness.drain(piece: 5)).map { ReadPublish($0, .v3_1_1) }
    #expect(all.map(\.payload) == [[UInt8](repeating: 0, count: 9), [UInt8](repeating: 1, count: 9), [11]])
    #expect(Set(all.map(\.identifier)).count == 3)
  }

  /// One that was begun when the connection ended waits again, and so does the newer one behind it: the next ends both.
  @Test func latestAfterALostConnection() throws {
    for newSize in [9, 11] {
      let harness = Self.harness(bytes: 8, window: 20)
      try Self.add(harness, 0, .latest)
      _ = harness.transmit(5)
      #expect(try harness.publish("a", Self.nine, qos: .atLeastOnce, cookie: 1, overflow: .latest))
      harness.lose()
      #expect(
        try harness.publish(
          "a", [UInt8](repeating: 2, count: newSize), qos: .atLeastOnce, cookie: 2, overflow: .latest))
      #expect(
        Set(harness.events().map { "\($0)" }) == [
          "failed(0, MQTTSession.DeliveryResult.replaced)", "failed(1, MQTTSession.DeliveryResult.replaced)",
        ])
      harness.connect()
      #expect(Self.finish(harness).published.map(\.payload) == [[UInt8](repeating: 2, count: newSize)])
    }
  }

  /// What the server may have is neither dropped nor replaced, in an old session or a new one.
  @Test(arguments: [true, false])
  func whatMayHaveArrivedStays(sessionPresent: Bool) throws {
    let harness = Self.harness(window: 2)
    for cookie in 0..<4 { try Self.add(harness, cookie, .latest) }
    _ = harness.drain()
    harness.lose()
    #expect(try Self.add(harness, 0, .latest, payload: 2))
    #expect(harness.events() == [.failed(2, .dropped)])
    harness.connect(sessionPresent: sessionPresent)
    _ = harness.events()
    harness.lose()
    #expect(try Self.add(harness, 5, .latest))
    harness.connect(sessionPresent: sessionPresent)
    let (published, _) = Self.finish(harness)
    #expect(published.map(Self.cookie).prefix(2) == [0, 1])
    #expect(published.prefix(2).map(\.payload.count) == [9, 9])
    #expect(published.prefix(2).allSatisfy { $0.duplicate == sessionPresent })
    #expect(published.last.map(Self.cookie) == 5)
  }

  // MARK: Not with everything

  @Test func latestAndUrgentAreForWholeMessages() throws {
    let harness = Self.harness(bytes: 20) {
      $0.streamBytes = 64
      $0.urgentMessages = 2
    }
    let name = "a".bytes
    for kind in [PublishOptions.Kind.reserved, .stream] {
      for isUrgent in [true, false] {
        var handling = PublishOptions(cookie: 1, isQuiet: false)
        handling.kind = kind
        handling.isUrgent = isUrgent
        handling.overflow = isUrgent ? .refuse : .latest
        let message = Publish(
          topic: name.span, payloadSize: 3, qos: .atLeastOnce, retain: false, properties: Span())
        let before = Self.state(harness)
        #expect(throws: SessionError.option) {
          try harness.session.publish(message, handling, at: harness.now)
        }
        #expect(Self.state(harness) == before)
      }
    }
    let without = Self.harness()
    #expect(throws: SessionError.notSupported) { try Self.add(without, 0, .refuse, isUrgent: true) }
  }

  /// What is reserved is not dropped, nor is a stream or a request, whatever they ask for.
  @Test func whatIsNeverDropped() throws {
    let harness = SessionHarness(.v5_0) {
      $0.keepAlive = 0
      $0.outboxBytes = 64
      $0.streamBytes = 16
      $0.replies = 1
    }
    harness.connect()
    _ = harness.events()
    harness.lose()
    var handling = PublishOptions(cookie: 1, isQuiet: true)
    handling.kind = .stream
    handling.overflow = .dropOldest
    let name = "s".bytes
    _ = try harness.session.publish(
      Publish(topic: name.span, payloadSize: 20, qos: .atLeastOnce, retain: false, properties: Span()),
      handling, at: harness.now)
    harness.streamPayload = [UInt8](repeating: 5, count: 20)
    try harness.request("q", [1, 2, 3], qos: .atLeastOnce, timeout: 100_000, cookie: 2)
    #expect(try harness.publish("a", [1], qos: .atLeastOnce, cookie: 3, overflow: .dropOldest))
    try Self.fill(harness)
    #expect(throws: SessionError.full) {
      try harness.publish("b", [1, 2], qos: .atLeastOnce, cookie: 4, overflow: .dropOldest)
    }
    #expect(!harness.hasEvent)
    #expect(try harness.publish("b", [1], qos: .atLeastOnce, cookie: 4, overflow: .dropOldest))
    // "b" was refused before, and a descriptor is free now.
    #expect(harness.events() == [.failed(3, .dropped), .room])
    harness.connect()
    let (published, told) = Self.finish(harness, .v5_0)
    #expect(published.map(\.topic) == ["s", "q", "f", "b"])
    #expect(published[0].payload == harness.streamPayload)
    #expect(told.contains(.delivered(4)))
  }

  // MARK: Together with the rest

  /// A request in front of what is dropped: its time is up, and its message is found and let go.
  @Test(arguments: [true, false])
  func aRequestBehindADrop(isQuiet: Bool) throws {
    let harness = SessionHarness(.v5_0) {
      $0.keepAlive = 0
      $0.outboxBytes = 100
      $0.replies = 2
    }
    harness.connect()
    _ = harness.events()
    harness.lose()
    #expect(
      try harness.publish(
        "a", Self.nine, qos: .atLeastOnce, cookie: 1, isQuiet: isQuiet, overflow: .dropOldest))
    try harness.request("q", [1], qos: .atLeastOnce, timeout: 1000, cookie: 2)
    #expect(try harness.publish("b", [1], qos: .atLeastOnce, cookie: 3, overflow: .dropOldest))
    try Self.fill(harness)
    #expect(try harness.publish("c", Self.nine, qos: .atLeastOnce, cookie: 4, overflow: .dropOldest))
    #expect(harness.events() == (isQuiet ? [] : [.failed(1, .dropped)]))
    harness.advanceClock(1000)
    #expect(harness.events() == [.responseTimedOut(2)])
    harness.connect()
    let (published, told) = Self.finish(harness, .v5_0)
    #expect(published.map(\.topic) == ["b", "f", "c"])
    #expect(told == [.connected(sessionPresent: false), .delivered(3), .delivered(6), .delivered(4)])
  }

  /// What is dropped in front of a stream moves it, too: also while the connection is new.
  @Test(arguments: [true, false], [1, 2])
  func aStreamBehindADrop(isQuiet: Bool, qos: UInt8) throws {
    let harness = SessionHarness(.v5_0) {
      $0.keepAlive = 0
      $0.outboxBytes = 100
      $0.streamBytes = 8
    }
    harness.connect()
    _ = harness.events()
    harness.lose()
    for cookie: UInt64 in 1...2 {
      #expect(
        try harness.publish(
          "a", Self.nine, qos: .atLeastOnce, cookie: cookie, isQuiet: isQuiet, overflow: .dropOldest))
    }
    let payload = (0..<50 as Range<UInt8>).map { $0 }
    try harness.stream("s", payload, qos: QoS(rawValue: qos)!, cookie: 3)
    try Self.fill(harness)
    #expect(try harness.publish("c", Self.nine, qos: .atLeastOnce, cookie: 4, overflow: .dropOldest))
    #expect(harness.events() == (isQuiet ? [] : [.failed(1, .dropped)]))
    harness.connect()
    let (published, told) = Self.finish(harness, .v5_0)
    #expect(published.map(\.topic) == ["a", "s", "f", "c"])
    #expect(published[1].payload == payload)
    #expect(told.contains(.delivered(3)) && told.contains(.delivered(4)))
    // Its place is free for the next one.
    try harness.stream("s", payload, qos: .atLeastOnce, cookie: 5)
    #expect(Self.finish(harness, .v5_0).told == [.delivered(5)])
  }

  /// The one that was to establish an alias is dropped, or two: those behind it have their topic.
  @Test(arguments: [1, 2], [true, false])
  func topicAliases(drops: Int, isQuiet: Bool) throws {
    let harness = SessionHarness(.v5_0) {
      $0.keepAlive = 0
      $0.outboxBytes = 120
      $0.aliasesSent = 2
      $0.inFlightMaximum = 1
    }
    harness.connect(properties: topicAliasMaximum(2))
    _ = harness.events()
    try harness.publish("x", [0], qos: .atLeastOnce, cookie: 0)
    _ = harness.drain()
    for cookie in 1...2 as ClosedRange<UInt8> {
      #expect(
        try harness.publish(
          "topic", [cookie], qos: .atLeastOnce, cookie: UInt64(cookie), isQuiet: isQuiet,
          overflow: .dropOldest))
    }
    try harness.publish("topic", [3], qos: .exactlyOnce, cookie: 3)
    #expect(try harness.publish("latest", [4], qos: .atLeastOnce, cookie: 4, overflow: .latest))
    #expect(try harness.publish("latest", [], qos: .atLeastOnce, cookie: 5, overflow: .latest))
    try Self.fill(harness)
    _ = harness.events()
    // What was replaced by less has left a byte, too.
    let size = drops == 1 ? 17 : 18
    #expect(
      try harness.publish(
        "y", [UInt8](repeating: 7, count: size - 11), qos: .atLeastOnce, cookie: 7, overflow: .dropOldest))
    let dropped = (1...drops).map { ReportedEvent.failed(UInt64($0), .dropped) }
    #expect(harness.events() == (isQuiet ? [] : dropped))
    #expect(Int(harness.outboxNumbers.dropped.uint64) == drops)
    harness.receive(puback(1))
    let (published, told) = Self.finish(harness, .v5_0)
    let left = drops == 1 ? ["topic", "topic"] : ["topic"]
    #expect(published.map(\.topic) == left + ["latest", "f", "y"])
    #expect(published[left.count - 1].payload == [3])
    #expect(published[left.count].properties == [])
    #expect(told.contains(.delivered(3)))
  }

  /// One that replaces has the new expiry, and one that has none never expires.
  @Test func expiry() throws {
    let harness = SessionHarness(.v5_0) {
      $0.keepAlive = 0
      $0.outboxBytes = 200
    }
    func latest(_ topic: String, _ payload: [UInt8], _ cookie: UInt64, expiry: UInt32) throws {
      let name = topic.bytes
      var handling = PublishOptions(cookie: cookie, isQuiet: false)
      handling.overflow = .latest
      handling.expiry = expiry
      #expect(
        try harness.session.publish(
          Publish(topic: name.span, payload: payload.span, qos: .atLeastOnce, retain: false), handling,
          at: harness.now))
    }
    try latest("a", [1, 1, 1, 1, 1, 1, 1], 1, expiry: 5)
    try latest("b", [1, 1, 1, 1, 1, 1, 1], 2, expiry: 5)
    try latest("c", [1, 1, 1, 1, 1, 1, 1], 3, expiry: 5)
    try latest("a", [2], 4, expiry: 60)
    try latest("b", [2], 5, expiry: 0)
    #expect(harness.events() == [.failed(1, .replaced), .failed(2, .replaced)])
    harness.advanceClock(10_000)
    #expect(harness.events() == [.failed(3, .expired)])
    harness.connect()
    let (published, _) = Self.finish(harness, .v5_0)
    #expect(published.map(\.topic) == ["a", "b"])
    #expect(published[0].properties == messageExpiry(50))
    #expect(published[1].properties == [])
  }

  // MARK: Room

  /// The bytes of one that is complete are free before anybody has taken its event; its descriptor is not.
  @Test func bytesAreFreeBeforeTheEvent() throws {
    let harness = Self.harness(messages: 5, window: 20)
    for cookie in 0..<4 { try Self.add(harness, cookie, .refuse) }
    _ = harness.drain()
    harness.receive(puback(1) + puback(2))
    #expect(harness.outbox.bytes == 32)
    #expect(harness.outbox.messages == 4)
    try Self.add(harness, 4, .refuse)
    #expect(throws: SessionError.full) { try Self.add(harness, 5, .refuse) }
    #expect(harness.event() == .delivered(0))
    try Self.add(harness, 5, .refuse)
    // In the middle nothing comes free: room comes back from the front.
    harness.receive(puback(4))
    #expect(harness.outbox.bytes == 64)
    harness.receive(puback(3))
    #expect(harness.outbox.bytes == 32)
  }

  /// An hour without taking an event: the ring goes round, and the events are still all there.
  @Test func theRingGoesRoundUnderCompletions() throws {
    let harness = Self.harness(bytes: 2, messages: 20, window: 20)
    for cookie in 0..<20 {
      try Self.add(harness, cookie, .refuse)
      _ = harness.drain()
      harness.receive(puback(UInt16(cookie + 1)))
    }
    #expect(throws: SessionError.full) { try Self.add(harness, 20, .refuse) }
    #expect(harness.events() == (0..<20).map { .delivered(UInt64($0)) } + [.room])
  }

  // MARK: Without a connection

  @Test(arguments: [true, false])
  func atMostOnceIsForAConnection(isQuiet: Bool) throws {
    let harness = Self.harness(bytes: 8) {
      $0.needsConnection = true
      $0.urgentMessages = 4
    }
    #expect(throws: SessionError.offline) { try harness.publish("a", qos: .atMostOnce) }
    for overflow in [PublishOptions.Overflow.dropOldest, .dropNewest, .latest] {
      #expect(throws: SessionError.offline) { try Self.add(harness, 0, overflow, qos: .atMostOnce) }
    }
    #expect(throws: SessionError.offline) {
      try Self.add(harness, 0, .refuse, qos: .atMostOnce, isUrgent: true)
    }
    #expect(harness.outbox.messages == 0)
    try Self.add(harness, 0, .refuse)
    harness.open()
    // CONNACK has not come.
    #expect(throws: SessionError.offline) { try harness.publish("a", qos: .atMostOnce) }
    harness.accept()
    _ = harness.events()
    for cookie in 1..<5 {
      try Self.add(
        harness, cookie, .refuse, qos: cookie % 2 == 0 ? .atLeastOnce : .atMostOnce, isQuiet: isQuiet)
    }
    try Self.add(harness, 5, .refuse, qos: .atMostOnce, isQuiet: isQuiet, isUrgent: true)
    // A part of the first is out.
    _ = harness.transmit(3)
    harness.lose()
    #expect(throws: SessionError.offline) { try harness.publish("a", qos: .atMostOnce) }
    #expect(
      Set(harness.events().map { "\($0)" })
        == Set([1, 3, 5].map { "failed(\($0), MQTTSession.DeliveryResult.disconnected)" }))
    #expect(harness.outboxNumbers.dropped.uint64 == 3)
    #expect(harness.outboxNumbers.urgent.messages == 0)
    harness.connect()
    #expect(Self.finish(harness).published.map(Self.cookie) == [0, 2, 4])
  }

  /// It was reserved on a connection, and is committed without one.
  @Test func reservedForAConnectionThatIsGone() throws {
    let harness = Self.harness(bytes: 8, window: 20) { $0.needsConnection = true }
    try harness.reserve(size: 4, cookie: 1)
    harness.lose()
    harness.fill([1, 2, 3, 4])
    try harness.commit(4)
    #expect(harness.events() == [.failed(1, .disconnected)])
    harness.connect()
    #expect(harness.drain() == [])
    // With QoS 1 it waits.
    try harness.reserve(size: 4, qos: .atLeastOnce, cookie: 2)
    harness.lose()
    harness.fill([1, 2, 3, 4])
    try harness.commit(4)
    harness.connect()
    #expect(Self.finish(harness).published.map(\.payload) == [[1, 2, 3, 4]])
  }

  /// It is committed while the connection closes, and a part of another one is out.
  @Test func reservedForAConnectionThatCloses() throws {
    for takesEvents in [false, true] {
      let harness = SessionHarness(.v5_0) { $0.needsConnection = true }
      harness.connect()
      _ = harness.events()
      try Self.add(harness, 0, .refuse, qos: .atMostOnce)
      let begun = try #require(harness.transmit(3))
      try harness.reserve("b", size: 4, cookie: 1)
      harness.receive([0x00, 0x00])  // there is no such packet
      #expect(harness.ending != nil)
      harness.fill([1, 2, 3, 4])
      try harness.commit(4)
      if takesEvents { #expect(harness.events() == []) }
      let rest = harness.drain()
      #expect((begun + rest).starts(with: packet(0x30, [0, 1, 97, 0] + [UInt8](repeating: 0, count: 11))))
      harness.lose()
      #expect(Set(harness.events().map { "\($0)" }).count == 2)
      #expect(harness.outbox.messages == 0)
      let isDrained = harness.session.isDrained
      #expect(isDrained)
    }
  }

  // MARK: Latency

  @Test func latency() throws {
    let harness = Self.harness(bytes: 20, window: 1) { $0.urgentMessages = 2 }
    try Self.add(harness, 0, .refuse)
    try Self.add(harness, 1, .refuse, qos: .exactlyOnce)
    harness.now = harness.now.advanced(by: 500)
    _ = harness.drain()  // 0 goes out now
    harness.now = harness.now.advanced(by: 3)
    harness.receive(puback(1))
    harness.now = harness.now.advanced(by: 100)
    _ = harness.drain()  // and 1
    harness.now = harness.now.advanced(by: 5)
    harness.receive(pubrec(2))
    _ = harness.drain()
    harness.now = harness.now.advanced(by: 6)
    harness.receive(pubcomp(2))
    try harness.publish("q", qos: .atMostOnce, cookie: 9)
    _ = harness.drain()
    var latencies: [UInt32?] = []
    while case .completed(let completion) = harness.session.nextEvent() {
      latencies.append(completion.latency)
    }
    #expect(latencies == [3, 11, nil])
    let histogram = harness.outboxNumbers.latencies
    #expect((0..<16).map { histogram[$0] } == [0, 0, 1, 0, 1] + [UInt32](repeating: 0, count: 11))
  }

  @Test func histogram() {
    for (milliseconds, index) in [
      (0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (7, 3), (8, 4), (16_383, 14), (16_384, 15), (.max, 15),
    ] as [(UInt32, Int)] {
      var histogram = LatencyHistogram()
      histogram.add(milliseconds)
      #expect((0..<16).map { histogram[$0] } == (0..<16).map { $0 == index ? 1 : 0 }, "\(milliseconds) ms")
    }
  }
}
