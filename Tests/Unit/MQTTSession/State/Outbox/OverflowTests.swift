import MQTTWire
import Testing

@testable import MQTTSession

extension PublishOptions.Overflow: @unchecked Sendable {}

/// What happens at the brim (docs/decisions/0020), case by case; OutboxTests has it by chance. A packet of
/// `packet(in:)` takes 16 bytes.
@Suite struct OverflowTests {
  static let nine = [UInt8](repeating: 9, count: 9)
  static let dropping: [PublishOptions.Overflow] = [.dropOldest, .latest]

  /// Room for `count` messages of 16 bytes; connected if there is a window.
  static func rig(
    bytes count: Int = 4, messages: Int = 32, window: Int? = nil, firstIdentifier: UInt16 = 1,
    configure: (inout Rig.Options) -> Void = { _ in }
  ) -> Rig {
    let rig = Rig(.v3_1_1) {
      $0.keepAlive = 0
      $0.outboxBytes = count * 16
      $0.outboxMessages = messages
      $0.inFlightMaximum = window ?? 20
      $0.random = UInt32(firstIdentifier - 1)
      configure(&$0)
    }
    if window != nil {
      rig.connect()
      _ = rig.events()
    }
    return rig
  }

  /// The topic tells the cookie.
  @discardableResult
  static func add(
    _ rig: Rig, _ cookie: Int, _ overflow: PublishOptions.Overflow, qos: QoS = .atLeastOnce,
    isQuiet: Bool = false,
    payload: Int? = nil, isUrgent: Bool = false
  ) throws(SessionError) -> Bool {
    let name = String(UnicodeScalar(UInt8(ascii: "a") + UInt8(cookie)))
    let size = payload ?? (qos == .atMostOnce ? 11 : 9)
    return try rig.publish(
      name, [UInt8](repeating: UInt8(cookie), count: size), qos: qos, cookie: UInt64(cookie),
      isQuiet: isQuiet,
      overflow: overflow, isUrgent: isUrgent)
  }

  static func cookie(_ publish: ReadPublish) -> Int { Int(publish.topic.utf8.first!) - 97 }

  /// What the server gets until all is done, and what the application hears; every message ends under its own cookie.
  static func finish(_ rig: Rig, _ version: ProtocolVersion = .v3_1_1) -> (
    published: [ReadPublish], told: [Happening]
  ) {
    var published: [ReadPublish] = []
    var told: [Happening] = rig.events()
    while true {
      let sent = packets(rig.drain(piece: 7))
      if sent.isEmpty { break }
      for packet in sent {
        switch packet[0] >> 4 {
        case 3:
          let message = ReadPublish(packet, version)
          published.append(message)
          if message.qos == 1 { rig.receive(puback(message.identifier)) }
          if message.qos == 2 { rig.receive(pubrec(message.identifier)) }
        case 6: rig.receive(pubcomp(UInt16(packet[2]) << 8 | UInt16(packet[3])))
        default: Issue.record("\(packet)")
        }
        told += rig.events()
      }
    }
    told += rig.events()
    #expect(rig.isDrained && rig.outbox.bytes == 0 && rig.outbox.messages == 0)
    return (published, told)
  }

  /// Fills the outbox of 5.0 up to the brim, by a message that stays.
  static func fill(_ rig: Rig) throws {
    let room = rig.outbox.bytesCapacity - rig.outbox.bytes
    try rig.publish("f", [UInt8](repeating: 6, count: room - 8), qos: .atLeastOnce, cookie: 6)
    #expect(rig.outbox.bytes == rig.outbox.bytesCapacity)
  }

  /// Everything that a call that changes nothing must leave as it is.
  static func state(_ rig: Rig) -> [Int] {
    let numbers = rig.outboxNumbers
    return rig.numbers + [
      numbers.urgent.bytes, numbers.urgent.messages, numbers.urgent.bytesPeak, Int(numbers.dropped.uint64),
      Int(numbers.replaced.uint64), Int(numbers.failed.uint64), Int(rig.counters.messagesPublished.uint64),
    ]
  }

  // MARK: The brim of bytes

  /// In front of what may be dropped is what is in flight: none offline, 1, 2, or all.
  @Test(arguments: [nil, 1, 2, 4], [true, false])
  func theOldestMakeRoomInBytes(window: Int?, isQuiet: Bool) throws {
    for overflow in Self.dropping {
      let rig = Self.rig(window: window)
      for cookie in 0..<4 { try Self.add(rig, cookie, overflow, isQuiet: isQuiet) }
      if window != nil { _ = rig.drain() }
      let inFlight = window ?? 0
      let before = Self.state(rig)
      if inFlight == 4 {
        #expect(throws: SessionError.full) { try Self.add(rig, 4, overflow) }
        #expect(Self.state(rig) == before)
        continue
      }
      #expect(try Self.add(rig, 4, overflow))
      #expect(rig.events() == (isQuiet ? [] : [.failed(UInt64(inFlight), .dropped)]))
      #expect(rig.outboxNumbers.dropped.uint64 == 1)
      #expect(rig.outbox.bytes == 64)
      if window == nil {
        rig.connect()
      } else {
        for id in 0..<inFlight { rig.receive(puback(UInt16(id + 1))) }
      }
      let (published, told) = Self.finish(rig)
      #expect(published.map(Self.cookie) == (0..<5).filter { $0 > inFlight })
      let expected = (0..<5).filter { $0 != inFlight && (!isQuiet || $0 == 4) }
      #expect(
        told.compactMap { if case .delivered(let cookie) = $0 { Int(cookie) } else { nil } } == expected)
    }
  }

  @Test(arguments: [nil, 1, 2, 4])
  func refusedOrDroppedItself(window: Int?) throws {
    for overflow in [PublishOptions.Overflow.refuse, .dropNewest] {
      let rig = Self.rig(window: window)
      for cookie in 0..<4 { try Self.add(rig, cookie, .dropOldest) }
      if window != nil { _ = rig.drain() }
      let before = Self.state(rig)
      if overflow == .refuse {
        #expect(throws: SessionError.full) { try Self.add(rig, 4, overflow) }
        #expect(Self.state(rig) == before)
      } else {
        #expect(try !Self.add(rig, 4, overflow))
        #expect(rig.outboxNumbers.dropped.uint64 == 1)
        #expect(rig.numbers[...] == before[0..<8])
        #expect(rig.counters.messagesPublished.uint64 == 4)
      }
      #expect(!rig.hasEvent)
      if window == nil {
        rig.connect()
      } else {
        for id in 0..<window! { rig.receive(puback(UInt16(id + 1))) }
      }
      let (published, told) = Self.finish(rig)
      #expect(published.map(Self.cookie) == Array((window ?? 0)..<4))
      // Whoever was told that it is full hears that there is room; whoever was dropped does not.
      #expect(told.contains(.room) == (overflow == .refuse))
      #expect(told.filter { if case .delivered = $0 { true } else { false } }.count == 4)
    }
  }

  /// Nothing is dropped unless that makes room: those that may not be are in the way.
  @Test func nothingIsDroppedInVain() throws {
    let rig = Self.rig()
    try Self.add(rig, 0, .refuse)
    try Self.add(rig, 1, .dropOldest)
    try Self.add(rig, 2, .refuse)
    try Self.add(rig, 3, .refuse)
    let before = Self.state(rig)
    // 16 bytes would come free, and 17 are wanted.
    #expect(throws: SessionError.full) { try Self.add(rig, 4, .dropOldest, payload: 10) }
    #expect(Self.state(rig) == before)
    #expect(!rig.hasEvent)
    #expect(try Self.add(rig, 4, .dropOldest))
    rig.connect()
    let (published, told) = Self.finish(rig)
    #expect(published.map(Self.cookie) == [0, 2, 3, 4])
    #expect(told.contains(.failed(1, .dropped)))
  }

  /// Nor do those make room that are special in another way, and did not ask for it: they expire, or were reserved.
  @Test func specialOnesStay() throws {
    let rig = Self.rig()
    try rig.publish("a", Self.nine, qos: .atLeastOnce, cookie: 0, expiry: 100)
    try rig.reserve("b", size: 9, qos: .atLeastOnce, cookie: 1)
    try rig.commit(9)
    for cookie in 2..<4 { try Self.add(rig, cookie, .refuse) }
    let before = Self.state(rig)
    for overflow in Self.dropping {
      #expect(throws: SessionError.full) { try Self.add(rig, 4, overflow) }
    }
    #expect(Self.state(rig) == before)
    #expect(!rig.hasEvent)
  }

  /// As many as it takes, from the oldest on, and of those that may be dropped only.
  @Test func severalMakeRoom() throws {
    let rig = Self.rig(bytes: 8)
    for cookie in 0..<8 { try Self.add(rig, cookie, cookie % 3 == 1 ? .refuse : .dropNewest) }
    #expect(try Self.add(rig, 8, .dropOldest, payload: 9 + 32))
    #expect(rig.events() == [.failed(0, .dropped), .failed(2, .dropped), .failed(3, .dropped)])
    rig.connect()
    #expect(Self.finish(rig).published.map(Self.cookie) == [1, 4, 5, 6, 7, 8])
  }

  /// What is larger than all of it is so at once, whatever the policy.
  @Test func tooLarge() throws {
    for overflow in [PublishOptions.Overflow.refuse, .dropOldest, .dropNewest, .latest] {
      let rig = Self.rig()
      for cookie in 0..<4 { try Self.add(rig, cookie, .dropOldest) }
      let before = Self.state(rig)
      #expect(throws: SessionError.tooLarge) { try Self.add(rig, 4, overflow, payload: 58) }
      #expect(throws: SessionError.tooLarge) { try Self.add(rig, 0, overflow, payload: 58) }
      #expect(Self.state(rig) == before)
    }
  }

  // MARK: The brim of descriptors

  /// One that is to be reported keeps its descriptor: only quiet ones make room there.
  @Test(arguments: [nil, 1, 2, 4], [true, false])
  func theOldestMakeRoomInMessages(window: Int?, isQuiet: Bool) throws {
    for overflow in Self.dropping {
      let rig = Self.rig(bytes: 100, messages: 4, window: window)
      for cookie in 0..<4 { try Self.add(rig, cookie, overflow, isQuiet: isQuiet) }
      if window != nil { _ = rig.drain() }
      let inFlight = window ?? 0
      let before = Self.state(rig)
      guard isQuiet, inFlight < 4 else {
        #expect(throws: SessionError.full) { try Self.add(rig, 4, overflow) }
        #expect(Self.state(rig) == before)
        #expect(!rig.hasEvent)
        continue
      }
      #expect(try Self.add(rig, 4, overflow))
      #expect(!rig.hasEvent)
      #expect(rig.outbox.messages == 4)
      if window == nil {
        rig.connect()
      } else {
        for id in 0..<inFlight { rig.receive(puback(UInt16(id + 1))) }
      }
      let (published, told) = Self.finish(rig)
      #expect(published.map(Self.cookie) == (0..<5).filter { $0 > inFlight })
      #expect(told.contains(.delivered(4)))
    }
  }

  /// With something in flight, or one that is replaced, in front of them, the descriptors of those whose events have been
  /// taken are free all the same: a link that is gone for long does not fill up.
  @Test(arguments: dropping)
  func descriptorsInTheMiddle(overflow: PublishOptions.Overflow) throws {
    let rig = Self.rig(messages: 8, window: 20)
    if overflow == .dropOldest {
      try Self.add(rig, 0, .dropOldest)
      _ = rig.drain()
      rig.lose()
    }
    for cookie in 0..<100 {
      #expect(
        try rig.publish("a", Self.nine, qos: .atLeastOnce, cookie: UInt64(cookie), overflow: overflow))
      _ = rig.events()
    }
  }

  // MARK: Identifiers

  /// Whatever was dropped in front of them: each is acknowledged under its own identifier, and no two have the same.
  /// Across the wrap, too.
  @Test(arguments: [1, 65_020] as [UInt16], [true, false])
  func identifiersAfterADrop(first: UInt16, isQuiet: Bool) throws {
    let rig = Self.rig(bytes: 8, window: 2, firstIdentifier: first)
    let qos: [QoS] = [.atLeastOnce, .exactlyOnce, .atLeastOnce, .exactlyOnce, .atMostOnce, .exactlyOnce]
    for cookie in 0..<8 { try Self.add(rig, cookie, .dropOldest, qos: qos[cookie % 6], isQuiet: isQuiet) }
    _ = rig.drain(piece: 5)
    // Five drops: 2 to 6. The two in flight stay where they were, in the eyes of the server.
    for cookie in 8..<13 { try Self.add(rig, cookie, .dropOldest, qos: qos[cookie % 6]) }
    #expect(rig.events().count == (isQuiet ? 0 : 5))
    rig.receive(pubrec(first + 1))
    #expect(rig.drain() == pubrel(first + 1))
    rig.receive(puback(first) + pubcomp(first + 1))
    #expect(rig.events() == (isQuiet ? [] : [.delivered(0), .delivered(1)]))
    let (published, told) = Self.finish(rig)
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
    let rig = Self.rig(bytes: 6, window: 3)
    for cookie in 0..<6 {
      try Self.add(rig, cookie, .dropOldest, qos: cookie == 1 ? .exactlyOnce : .atLeastOnce)
    }
    _ = rig.drain()
    for cookie in 6..<8 { try Self.add(rig, cookie, .dropOldest) }
    #expect(rig.events() == [.failed(3, .dropped), .failed(4, .dropped)])
    rig.receive(puback(1))
    _ = rig.drain()
    rig.reconnect(sessionPresent: true)
    let (published, _) = Self.finish(rig)
    #expect(published.map(Self.cookie) == [1, 2, 5, 6, 7])
    #expect(published.map(\.duplicate) == [true, true, true, false, false])
    #expect(published.map { $0.payload.first.map(Int.init) } == [1, 2, 5, 6, 7])
  }

  /// The first byte is out: it cannot be dropped, and arrives whole though its place moves.
  @Test(arguments: 1..<16)
  func whatIsBegunIsNotDropped(sent: Int) throws {
    let rig = Self.rig(window: 20)
    for cookie in 0..<4 { try Self.add(rig, cookie, .dropOldest) }
    let begun = rig.transmit(sent)!
    #expect(try Self.add(rig, 4, .dropOldest))
    #expect(rig.events() == [.failed(1, .dropped)])
    let rest = packets(begun + rig.drain(piece: 3)).map { ReadPublish($0, .v3_1_1) }
    #expect(rest.map(Self.cookie) == [0, 2, 3, 4])
    #expect(rest.map(\.payload) == [0, 2, 3, 4].map { [UInt8](repeating: $0, count: 9) })
  }

  // MARK: The latest value

  @Test(arguments: [9, 5, 0, 12], [true, false])
  func latestInPlace(payload: Int, isQuiet: Bool) throws {
    for qos in allQoS {
      let rig = Self.rig(bytes: 8)
      for cookie in 0..<3 { try Self.add(rig, cookie, .latest, qos: qos, isQuiet: isQuiet, payload: 9) }
      let bytes = rig.outbox.bytes
      let new = [UInt8](repeating: 77, count: payload)
      #expect(try rig.publish("b", new, qos: qos, cookie: 10, overflow: .latest))
      #expect(rig.events() == (isQuiet ? [] : [.failed(1, .replaced)]))
      #expect(rig.outboxNumbers.replaced.uint64 == 1)
      #expect(rig.outboxNumbers.dropped.uint64 == 0)
      if payload <= 9 { #expect(rig.outbox.bytes == bytes) }
      rig.connect()
      let (published, told) = Self.finish(rig)
      // In its turn, or, as it was too large for that, behind the others.
      #expect(published.map(\.topic) == (payload <= 9 ? ["a", "b", "c"] : ["a", "c", "b"]))
      #expect(published.first { $0.topic == "b" }?.payload == new)
      #expect(told.contains(.delivered(10)))
    }
  }

  /// A hundred values of one topic, on a link that is gone: one is sent, the newest, and all have ended.
  @Test(arguments: [true, false])
  func manyValues(isQuiet: Bool) throws {
    let rig = Self.rig(messages: 8)
    var told: [Happening] = []
    for cookie in 0..<100 {
      let value = [UInt8](repeating: UInt8(cookie), count: cookie % 8)
      #expect(
        try rig.publish(
          "a", value, qos: .atLeastOnce, cookie: UInt64(cookie), isQuiet: isQuiet, overflow: .latest))
      if cookie % 3 == 0 { told += rig.events() }
    }
    rig.connect()
    let end = Self.finish(rig)
    #expect(end.published.map(\.payload) == [[UInt8](repeating: 99, count: 3)])
    told += end.told
    #expect(rig.outboxNumbers.replaced.uint64 == 99)
    if !isQuiet {
      let ended = told.compactMap { if case .failed(let cookie, .replaced) = $0 { Int(cookie) } else { nil } }
      #expect(ended.sorted() == Array(0..<99))
    }
  }

  /// Another QoS, or none that may be replaced: QoS is the new one's, and who asked for something else stays.
  @Test func latestAmongOthers() throws {
    let rig = Self.rig(bytes: 8)
    try rig.publish("a", [1], qos: .atLeastOnce, cookie: 1)
    try Self.add(rig, 1, .latest, qos: .exactlyOnce, payload: 3)
    #expect(try rig.publish("a", [2], qos: .atLeastOnce, cookie: 2, overflow: .dropOldest))
    #expect(try rig.publish("a", [3], qos: .atMostOnce, cookie: 3, overflow: .latest))
    #expect(!rig.hasEvent)
    #expect(try rig.publish("a", [4], qos: .atMostOnce, cookie: 4, overflow: .latest))
    #expect(try rig.publish("b", [5], qos: .atMostOnce, cookie: 5, overflow: .latest))
    #expect(rig.events() == [.failed(3, .replaced), .failed(1, .replaced)])
    rig.connect()
    let (published, _) = Self.finish(rig)
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
      let hash = Outbox.hash(bytes.span)
      if let other = names[hash] {
        pair = (other, name)
        break
      }
      names[hash] = name
    }
    let (one, other) = try #require(pair)
    #expect(one != other && one.utf8.count == other.utf8.count)
    let rig = Self.rig(bytes: 20)
    #expect(try rig.publish(one, [1], qos: .atLeastOnce, cookie: 1, overflow: .latest))
    #expect(try rig.publish(other, [2], qos: .atLeastOnce, cookie: 2, overflow: .latest))
    // One is the beginning of the other, too.
    #expect(try rig.publish(one + "x", [3], qos: .atLeastOnce, cookie: 3, overflow: .latest))
    #expect(!rig.hasEvent)
    #expect(try rig.publish(one, [4], qos: .atLeastOnce, cookie: 4, overflow: .latest))
    #expect(rig.events() == [.failed(1, .replaced)])
    rig.connect()
    #expect(Self.finish(rig).published.map(\.payload) == [[4], [2], [3]])
  }

  /// A part of it is out, or it is in flight: the new one goes behind, and replaces what waits there.
  @Test(arguments: 1..<16)
  func whatIsBegunIsNotReplaced(sent: Int) throws {
    let rig = Self.rig(bytes: 8, window: 20)
    for cookie in 0..<2 { try Self.add(rig, cookie, .latest) }
    let begun = rig.transmit(sent)!
    #expect(try rig.publish("a", Self.nine, qos: .atLeastOnce, cookie: 10, overflow: .latest))
    #expect(!rig.hasEvent)
    #expect(try rig.publish("a", [11], qos: .atLeastOnce, cookie: 11, overflow: .latest))
    #expect(rig.events() == [.failed(10, .replaced)])
    let all = packets(begun + rig.drain(piece: 5)).map { ReadPublish($0, .v3_1_1) }
    #expect(all.map(\.payload) == [[UInt8](repeating: 0, count: 9), [UInt8](repeating: 1, count: 9), [11]])
    #expect(Set(all.map(\.identifier)).count == 3)
  }

  /// One that was begun when the connection ended waits again, and so does the newer one behind it: the next ends both.
  @Test func latestAfterALostConnection() throws {
    for newSize in [9, 11] {
      let rig = Self.rig(bytes: 8, window: 20)
      try Self.add(rig, 0, .latest)
      _ = rig.transmit(5)
      #expect(try rig.publish("a", Self.nine, qos: .atLeastOnce, cookie: 1, overflow: .latest))
      rig.lose()
      #expect(
        try rig.publish(
          "a", [UInt8](repeating: 2, count: newSize), qos: .atLeastOnce, cookie: 2, overflow: .latest))
      #expect(
        Set(rig.events().map { "\($0)" }) == [
          "failed(0, MQTTSession.DeliveryResult.replaced)", "failed(1, MQTTSession.DeliveryResult.replaced)",
        ])
      rig.connect()
      #expect(Self.finish(rig).published.map(\.payload) == [[UInt8](repeating: 2, count: newSize)])
    }
  }

  /// What the server may have is neither dropped nor replaced, in an old session or a new one.
  @Test(arguments: [true, false])
  func whatMayHaveArrivedStays(sessionPresent: Bool) throws {
    let rig = Self.rig(window: 2)
    for cookie in 0..<4 { try Self.add(rig, cookie, .latest) }
    _ = rig.drain()
    rig.lose()
    #expect(try Self.add(rig, 0, .latest, payload: 2))
    #expect(rig.events() == [.failed(2, .dropped)])
    rig.connect(sessionPresent: sessionPresent)
    _ = rig.events()
    rig.lose()
    #expect(try Self.add(rig, 5, .latest))
    rig.connect(sessionPresent: sessionPresent)
    let (published, _) = Self.finish(rig)
    #expect(published.map(Self.cookie).prefix(2) == [0, 1])
    #expect(published.prefix(2).map(\.payload.count) == [9, 9])
    #expect(published.prefix(2).allSatisfy { $0.duplicate == sessionPresent })
    #expect(published.last.map(Self.cookie) == 5)
  }

  // MARK: Not with everything

  @Test func latestAndUrgentAreForWholeMessages() throws {
    let rig = Self.rig(bytes: 20) {
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
        let before = Self.state(rig)
        #expect(throws: SessionError.option) {
          try rig.session.publish(message, handling, at: rig.now)
        }
        #expect(Self.state(rig) == before)
      }
    }
    let without = Self.rig()
    #expect(throws: SessionError.notSupported) { try Self.add(without, 0, .refuse, isUrgent: true) }
  }

  /// What is reserved is not dropped, nor is a stream or a request, whatever they ask for.
  @Test func whatIsNeverDropped() throws {
    let rig = Rig(.v5_0) {
      $0.keepAlive = 0
      $0.outboxBytes = 64
      $0.streamBytes = 16
      $0.replies = 1
    }
    rig.connect()
    _ = rig.events()
    rig.lose()
    var handling = PublishOptions(cookie: 1, isQuiet: true)
    handling.kind = .stream
    handling.overflow = .dropOldest
    let name = "s".bytes
    _ = try rig.session.publish(
      Publish(topic: name.span, payloadSize: 20, qos: .atLeastOnce, retain: false, properties: Span()),
      handling, at: rig.now)
    rig.streamPayload = [UInt8](repeating: 5, count: 20)
    try rig.request("q", [1, 2, 3], qos: .atLeastOnce, timeout: 100_000, cookie: 2)
    #expect(try rig.publish("a", [1], qos: .atLeastOnce, cookie: 3, overflow: .dropOldest))
    try Self.fill(rig)
    #expect(throws: SessionError.full) {
      try rig.publish("b", [1, 2], qos: .atLeastOnce, cookie: 4, overflow: .dropOldest)
    }
    #expect(!rig.hasEvent)
    #expect(try rig.publish("b", [1], qos: .atLeastOnce, cookie: 4, overflow: .dropOldest))
    #expect(rig.events() == [.failed(3, .dropped)])
    rig.connect()
    let (published, told) = Self.finish(rig, .v5_0)
    #expect(published.map(\.topic) == ["s", "q", "f", "b"])
    #expect(published[0].payload == rig.streamPayload)
    #expect(told.contains(.delivered(4)))
  }

  // MARK: Together with the rest

  /// A request in front of what is dropped: its time is up, and its message is found and let go.
  @Test(arguments: [true, false])
  func aRequestBehindADrop(isQuiet: Bool) throws {
    let rig = Rig(.v5_0) {
      $0.keepAlive = 0
      $0.outboxBytes = 100
      $0.replies = 2
    }
    rig.connect()
    _ = rig.events()
    rig.lose()
    #expect(
      try rig.publish("a", Self.nine, qos: .atLeastOnce, cookie: 1, isQuiet: isQuiet, overflow: .dropOldest))
    try rig.request("q", [1], qos: .atLeastOnce, timeout: 1000, cookie: 2)
    #expect(try rig.publish("b", [1], qos: .atLeastOnce, cookie: 3, overflow: .dropOldest))
    try Self.fill(rig)
    #expect(try rig.publish("c", Self.nine, qos: .atLeastOnce, cookie: 4, overflow: .dropOldest))
    #expect(rig.events() == (isQuiet ? [] : [.failed(1, .dropped)]))
    rig.pass(1000)
    #expect(rig.events() == [.responseTimedOut(2)])
    rig.connect()
    let (published, told) = Self.finish(rig, .v5_0)
    #expect(published.map(\.topic) == ["b", "f", "c"])
    #expect(told == [.connected(sessionPresent: false), .delivered(3), .delivered(6), .delivered(4)])
  }

  /// What is dropped in front of a stream moves it, too: also while the connection is new.
  @Test(arguments: [true, false], [1, 2])
  func aStreamBehindADrop(isQuiet: Bool, qos: UInt8) throws {
    let rig = Rig(.v5_0) {
      $0.keepAlive = 0
      $0.outboxBytes = 100
      $0.streamBytes = 8
    }
    rig.connect()
    _ = rig.events()
    rig.lose()
    for cookie: UInt64 in 1...2 {
      #expect(
        try rig.publish(
          "a", Self.nine, qos: .atLeastOnce, cookie: cookie, isQuiet: isQuiet, overflow: .dropOldest))
    }
    let payload = (0..<50 as Range<UInt8>).map { $0 }
    try rig.stream("s", payload, qos: QoS(rawValue: qos)!, cookie: 3)
    try Self.fill(rig)
    #expect(try rig.publish("c", Self.nine, qos: .atLeastOnce, cookie: 4, overflow: .dropOldest))
    #expect(rig.events() == (isQuiet ? [] : [.failed(1, .dropped)]))
    rig.connect()
    let (published, told) = Self.finish(rig, .v5_0)
    #expect(published.map(\.topic) == ["a", "s", "f", "c"])
    #expect(published[1].payload == payload)
    #expect(told.contains(.delivered(3)) && told.contains(.delivered(4)))
    // Its place is free for the next one.
    try rig.stream("s", payload, qos: .atLeastOnce, cookie: 5)
    #expect(Self.finish(rig, .v5_0).told == [.delivered(5)])
  }

  /// The one that was to establish an alias is dropped, or two: those behind it have their topic.
  @Test(arguments: [1, 2], [true, false])
  func topicAliases(drops: Int, isQuiet: Bool) throws {
    let rig = Rig(.v5_0) {
      $0.keepAlive = 0
      $0.outboxBytes = 120
      $0.aliasesSent = 2
      $0.inFlightMaximum = 1
    }
    rig.connect(properties: topicAliasMaximum(2))
    _ = rig.events()
    try rig.publish("x", [0], qos: .atLeastOnce, cookie: 0)
    _ = rig.drain()
    for cookie in 1...2 as ClosedRange<UInt8> {
      #expect(
        try rig.publish(
          "topic", [cookie], qos: .atLeastOnce, cookie: UInt64(cookie), isQuiet: isQuiet,
          overflow: .dropOldest))
    }
    try rig.publish("topic", [3], qos: .exactlyOnce, cookie: 3)
    #expect(try rig.publish("latest", [4], qos: .atLeastOnce, cookie: 4, overflow: .latest))
    #expect(try rig.publish("latest", [], qos: .atLeastOnce, cookie: 5, overflow: .latest))
    try Self.fill(rig)
    _ = rig.events()
    // What was replaced by less has left a byte, too.
    let size = drops == 1 ? 17 : 18
    #expect(
      try rig.publish(
        "y", [UInt8](repeating: 7, count: size - 11), qos: .atLeastOnce, cookie: 7, overflow: .dropOldest))
    let dropped = (1...drops).map { Happening.failed(UInt64($0), .dropped) }
    #expect(rig.events() == (isQuiet ? [] : dropped))
    #expect(Int(rig.outboxNumbers.dropped.uint64) == drops)
    rig.receive(puback(1))
    let (published, told) = Self.finish(rig, .v5_0)
    let left = drops == 1 ? ["topic", "topic"] : ["topic"]
    #expect(published.map(\.topic) == left + ["latest", "f", "y"])
    #expect(published[left.count - 1].payload == [3])
    #expect(published[left.count].properties == [])
    #expect(told.contains(.delivered(3)))
  }

  /// One that replaces has the new expiry, and one that has none never expires.
  @Test func expiry() throws {
    let rig = Rig(.v5_0) {
      $0.keepAlive = 0
      $0.outboxBytes = 200
    }
    func latest(_ topic: String, _ payload: [UInt8], _ cookie: UInt64, expiry: UInt32) throws {
      let name = topic.bytes
      var handling = PublishOptions(cookie: cookie, isQuiet: false)
      handling.overflow = .latest
      handling.expiry = expiry
      #expect(
        try rig.session.publish(
          Publish(topic: name.span, payload: payload.span, qos: .atLeastOnce, retain: false), handling,
          at: rig.now))
    }
    try latest("a", [1, 1, 1, 1, 1, 1, 1], 1, expiry: 5)
    try latest("b", [1, 1, 1, 1, 1, 1, 1], 2, expiry: 5)
    try latest("c", [1, 1, 1, 1, 1, 1, 1], 3, expiry: 5)
    try latest("a", [2], 4, expiry: 60)
    try latest("b", [2], 5, expiry: 0)
    #expect(rig.events() == [.failed(1, .replaced), .failed(2, .replaced)])
    rig.pass(10_000)
    #expect(rig.events() == [.failed(3, .expired)])
    rig.connect()
    let (published, _) = Self.finish(rig, .v5_0)
    #expect(published.map(\.topic) == ["a", "b"])
    #expect(published[0].properties == messageExpiry(50))
    #expect(published[1].properties == [])
  }

  // MARK: Room

  /// The bytes of one that is complete are free before anybody has taken its event; its descriptor is not.
  @Test func bytesAreFreeBeforeTheEvent() throws {
    let rig = Self.rig(messages: 5, window: 20)
    for cookie in 0..<4 { try Self.add(rig, cookie, .refuse) }
    _ = rig.drain()
    rig.receive(puback(1) + puback(2))
    #expect(rig.outbox.bytes == 32)
    #expect(rig.outbox.messages == 4)
    try Self.add(rig, 4, .refuse)
    #expect(throws: SessionError.full) { try Self.add(rig, 5, .refuse) }
    #expect(rig.event() == .delivered(0))
    try Self.add(rig, 5, .refuse)
    // In the middle nothing comes free: room comes back from the front.
    rig.receive(puback(4))
    #expect(rig.outbox.bytes == 64)
    rig.receive(puback(3))
    #expect(rig.outbox.bytes == 32)
  }

  /// An hour without taking an event: the ring goes round, and the events are still all there.
  @Test func theRingGoesRoundUnderCompletions() throws {
    let rig = Self.rig(bytes: 2, messages: 20, window: 20)
    for cookie in 0..<20 {
      try Self.add(rig, cookie, .refuse)
      _ = rig.drain()
      rig.receive(puback(UInt16(cookie + 1)))
    }
    #expect(throws: SessionError.full) { try Self.add(rig, 20, .refuse) }
    #expect(rig.events() == (0..<20).map { .delivered(UInt64($0)) } + [.room])
  }

  // MARK: Without a connection

  @Test(arguments: [true, false])
  func atMostOnceIsForAConnection(isQuiet: Bool) throws {
    let rig = Self.rig(bytes: 8) {
      $0.needsConnection = true
      $0.urgentMessages = 4
    }
    #expect(throws: SessionError.offline) { try rig.publish("a", qos: .atMostOnce) }
    for overflow in [PublishOptions.Overflow.dropOldest, .dropNewest, .latest] {
      #expect(throws: SessionError.offline) { try Self.add(rig, 0, overflow, qos: .atMostOnce) }
    }
    #expect(throws: SessionError.offline) { try Self.add(rig, 0, .refuse, qos: .atMostOnce, isUrgent: true) }
    #expect(rig.outbox.messages == 0)
    try Self.add(rig, 0, .refuse)
    rig.open()
    // CONNACK has not come.
    #expect(throws: SessionError.offline) { try rig.publish("a", qos: .atMostOnce) }
    rig.accept()
    _ = rig.events()
    for cookie in 1..<5 {
      try Self.add(rig, cookie, .refuse, qos: cookie % 2 == 0 ? .atLeastOnce : .atMostOnce, isQuiet: isQuiet)
    }
    try Self.add(rig, 5, .refuse, qos: .atMostOnce, isQuiet: isQuiet, isUrgent: true)
    // A part of the first is out.
    _ = rig.transmit(3)
    rig.lose()
    #expect(throws: SessionError.offline) { try rig.publish("a", qos: .atMostOnce) }
    #expect(
      Set(rig.events().map { "\($0)" })
        == Set([1, 3, 5].map { "failed(\($0), MQTTSession.DeliveryResult.disconnected)" }))
    #expect(rig.outboxNumbers.dropped.uint64 == 3)
    #expect(rig.outboxNumbers.urgent.messages == 0)
    rig.connect()
    #expect(Self.finish(rig).published.map(Self.cookie) == [0, 2, 4])
  }

  /// It was reserved on a connection, and is committed without one.
  @Test func reservedForAConnectionThatIsGone() throws {
    let rig = Self.rig(bytes: 8, window: 20) { $0.needsConnection = true }
    try rig.reserve(size: 4, cookie: 1)
    rig.lose()
    rig.fill([1, 2, 3, 4])
    try rig.commit(4)
    #expect(rig.events() == [.failed(1, .disconnected)])
    rig.connect()
    #expect(rig.drain() == [])
    // With QoS 1 it waits.
    try rig.reserve(size: 4, qos: .atLeastOnce, cookie: 2)
    rig.lose()
    rig.fill([1, 2, 3, 4])
    try rig.commit(4)
    rig.connect()
    #expect(Self.finish(rig).published.map(\.payload) == [[1, 2, 3, 4]])
  }

  // MARK: Latency

  @Test func latency() throws {
    let rig = Self.rig(bytes: 20, window: 1) { $0.urgentMessages = 2 }
    try Self.add(rig, 0, .refuse)
    try Self.add(rig, 1, .refuse, qos: .exactlyOnce)
    rig.now = rig.now.advanced(by: 500)
    _ = rig.drain()  // 0 goes out now
    rig.now = rig.now.advanced(by: 3)
    rig.receive(puback(1))
    rig.now = rig.now.advanced(by: 100)
    _ = rig.drain()  // and 1
    rig.now = rig.now.advanced(by: 5)
    rig.receive(pubrec(2))
    _ = rig.drain()
    rig.now = rig.now.advanced(by: 6)
    rig.receive(pubcomp(2))
    try rig.publish("q", qos: .atMostOnce, cookie: 9)
    _ = rig.drain()
    var latencies: [UInt32?] = []
    while case .completed(let completion) = rig.session.nextEvent() { latencies.append(completion.latency) }
    #expect(latencies == [3, 11, nil])
    let histogram = rig.outboxNumbers.latencies
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
