import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

/// The priority queue: room of its own, identifiers of its own, the same window.
@Suite struct PriorityQueueTests {
  static func harness(
    window: Int? = 20, urgent: Int = 4, urgentBytes: Int = 64, bytes: Int = 8, random: UInt32 = 0,
    configure: (inout SessionHarness.Options) -> Void = { _ in }
  ) -> SessionHarness {
    OverflowTests.harness(bytes: bytes, window: window) {
      $0.urgentMessages = urgent
      $0.urgentBytes = urgentBytes
      $0.random = random
      configure(&$0)
    }
  }

  static func read(_ bytes: [UInt8]) -> [ReadPublish] { packets(bytes).map { ReadPublish($0, .v3_1_1) } }

  @Test(arguments: allQoS)
  func goesFirst(qos: QoS) throws {
    let harness = Self.harness(window: nil)
    for cookie in 0..<8 { try OverflowTests.add(harness, cookie, .refuse, qos: qos) }
    #expect(throws: SessionError.full) { try OverflowTests.add(harness, 8, .refuse, qos: qos) }
    // The outbox is full, and an alarm has its room.
    try OverflowTests.add(harness, 10, .refuse, qos: qos, isUrgent: true)
    try OverflowTests.add(harness, 11, .refuse, qos: qos, isUrgent: true)
    #expect(harness.outboxNumbers.urgent.messages == 2)
    #expect(harness.outboxNumbers.urgent.bytes == 32)
    harness.connect()
    let (published, told) = OverflowTests.finish(harness)
    #expect(published.map(OverflowTests.cookie) == [10, 11, 0, 1, 2, 3, 4, 5, 6, 7])
    #expect(published.prefix(2).allSatisfy { qos == .atMostOnce || 65_024...65_279 ~= $0.identifier })
    #expect(published.dropFirst(2).allSatisfy { qos == .atMostOnce || 1...65_023 ~= $0.identifier })
    #expect(told.filter { if case .delivered = $0 { true } else { false } }.count == 10)
    #expect(harness.outboxNumbers.urgent.messages == 0)
    #expect(harness.outboxNumbers.urgent.messagesPeak == 2)
    #expect(harness.outboxNumbers.urgent.bytesPeak == 32)
  }

  /// Between two packets, never into the middle of one.
  @Test(arguments: 1...40)
  func atPacketBoundaries(sent: Int) throws {
    let harness = Self.harness()
    for cookie in 0..<4 { try OverflowTests.add(harness, cookie, .refuse) }
    var bytes = harness.transmit(sent)!
    try OverflowTests.add(harness, 10, .refuse, isUrgent: true)
    bytes += harness.drain(piece: 5)
    let begun = (bytes.count - 80 == 0) ? (sent + 15) / 16 : 0
    let cookies = Self.read(bytes).map(OverflowTests.cookie)
    #expect(cookies == Array(0..<begun) + [10] + Array(begun..<4))
  }

  /// The window is one for both: with all of it in use, an urgent one waits, but comes before the others then.
  @Test func sharesTheWindow() throws {
    let harness = Self.harness(window: 2)
    for cookie in 0..<4 { try OverflowTests.add(harness, cookie, .refuse) }
    #expect(Self.read(harness.drain()).map(OverflowTests.cookie) == [0, 1])
    for cookie in 10..<12 { try OverflowTests.add(harness, cookie, .refuse, isUrgent: true) }
    #expect(harness.drain() == [])
    #expect(harness.outboxNumbers.inFlight == 2)
    harness.receive(puback(2))
    #expect(Self.read(harness.drain()).map(OverflowTests.cookie) == [10])
    harness.receive(puback(1))
    #expect(Self.read(harness.drain()).map(OverflowTests.cookie) == [11])
    harness.receive(puback(65_025))
    #expect(Self.read(harness.drain()).map(OverflowTests.cookie) == [2])
    harness.receive(puback(65_024))
    #expect(Self.read(harness.drain()).map(OverflowTests.cookie) == [3])
    harness.receive(puback(3) + puback(4))
    #expect(harness.outboxNumbers.inFlight == 0)
    // What an urgent message answers is told first.
    let told = harness.events()
    #expect(told.count == 6 && harness.isDrained)
  }

  /// What has its place in the window and was not begun gives it back to an urgent one.
  @Test func takesThePlaceOfWhatWaits() throws {
    let harness = Self.harness(window: 2)
    for cookie in 0..<3 { try OverflowTests.add(harness, cookie, .refuse) }
    var bytes = harness.transmit(5)!
    try OverflowTests.add(harness, 10, .refuse, isUrgent: true)
    bytes += harness.drain(piece: 5)
    #expect(Self.read(bytes).map(OverflowTests.cookie) == [0, 10])
    #expect(harness.outboxNumbers.inFlight == 2)
  }

  /// QoS 0 needs no place in the window, and so does not wait for those that do.
  @Test func atMostOnceNeedsNoWindow() throws {
    let harness = Self.harness(window: 1)
    try OverflowTests.add(harness, 0, .refuse)
    _ = harness.drain()
    try OverflowTests.add(harness, 10, .refuse, qos: .atMostOnce, isUrgent: true)
    #expect(Self.read(harness.drain()).map(OverflowTests.cookie) == [10])
  }

  /// A stream is one packet, however long it takes.
  @Test func notIntoAStream() throws {
    let harness = SessionHarness(.v3_1_1) {
      $0.keepAlive = 0
      $0.streamBytes = 8
      $0.urgentMessages = 4
    }
    harness.connect()
    _ = harness.events()
    let payload = (0..<100 as Range<UInt8>).map { $0 }
    try harness.stream("s", payload, qos: .atLeastOnce, cookie: 1)
    harness.streamPiece = 5
    var bytes: [UInt8] = []
    for _ in 0..<4 { bytes += harness.transmit(3) ?? [] }
    try OverflowTests.add(harness, 10, .refuse, isUrgent: true)
    try OverflowTests.add(harness, 11, .refuse)
    bytes += harness.drain(piece: 3)
    let all = Self.read(bytes)
    #expect(all.map(\.topic) == ["s", "k", "l"])
    #expect(all.first?.payload == payload)
  }

  /// An older version after falling back: what was queued for 5.0 goes out without its properties, from this queue too.
  @Test func anOlderVersion() throws {
    let harness = SessionHarness(.v5_0) {
      $0.keepAlive = 0
      $0.urgentMessages = 4
      $0.allowsFallback = true
    }
    let name = "u".bytes
    let properties = userProperty("a", "b")
    var handling = PublishOptions(cookie: 1, isQuiet: false)
    handling.isUrgent = true
    handling.expiry = 30
    _ = try harness.session.publish(
      Publish(
        topic: name.span, payload: Span(), qos: .exactlyOnce, retain: false, properties: properties.span),
      handling, at: harness.now)
    harness.open()
    harness.receive(connack(.v5_0, code: 0x84))
    #expect(harness.fallBack())
    harness.lose()
    harness.connect()
    let sent = harness.drain()
    #expect(sent == publish(.v3_1_1, "u", qos: .exactlyOnce, identifier: 65_024))
    harness.receive(pubrec(65_024))
    #expect(harness.drain() == pubrel(65_024))
    harness.receive(pubcomp(65_024))
    #expect(harness.events().last == .delivered(1))
  }

  /// Receive Maximum is lowered below what both queues have released: nothing goes out until it fits.
  @Test func aLoweredReceiveMaximum() throws {
    let harness = SessionHarness(.v5_0) {
      $0.keepAlive = 0
      $0.urgentMessages = 8
    }
    harness.connect()
    _ = harness.events()
    for cookie in 0..<2 {
      try OverflowTests.add(harness, cookie, .refuse, qos: .exactlyOnce)
      try OverflowTests.add(harness, 10 + cookie, .refuse, qos: .exactlyOnce, isUrgent: true)
    }
    _ = harness.drain()
    for identifier in [1, 2, 65_024, 65_025] as [UInt16] { harness.receive(pubrec(identifier)) }
    _ = harness.drain()
    harness.reconnect(sessionPresent: true, properties: receiveMaximum(2))
    try OverflowTests.add(harness, 5, .refuse)
    try OverflowTests.add(harness, 15, .refuse, isUrgent: true)
    let released = packets(harness.drain())
    #expect(released.count == 4 && released.allSatisfy { $0[0] == 0x62 })
    harness.receive(pubcomp(65_024) + pubcomp(1))
    #expect(harness.drain() == [])
    harness.receive(pubcomp(2))
    #expect(packets(harness.drain()).map { ReadPublish($0, .v5_0).topic } == ["p"])
    harness.receive(pubcomp(65_025))
    #expect(packets(harness.drain()).map { ReadPublish($0, .v5_0).topic } == ["f"])
  }

  @Test func isFullByItself() throws {
    let harness = Self.harness(urgent: 8)
    for cookie in 0..<4 { try OverflowTests.add(harness, cookie, .refuse, isUrgent: true) }
    let before = OverflowTests.state(harness)
    #expect(throws: SessionError.full) { try OverflowTests.add(harness, 4, .refuse, isUrgent: true) }
    #expect(throws: SessionError.tooLarge) {
      try OverflowTests.add(harness, 4, .dropOldest, payload: 60, isUrgent: true)
    }
    #expect(OverflowTests.state(harness) == before)
    // The other queue is empty.
    try OverflowTests.add(harness, 5, .refuse)
    let (published, told) = OverflowTests.finish(harness)
    #expect(published.map(OverflowTests.cookie) == [0, 1, 2, 3, 5])
    #expect(told.contains(.room))
    // In messages.
    let few = Self.harness(window: nil, urgent: 2)
    for cookie in 0..<2 { try OverflowTests.add(few, cookie, .refuse, isUrgent: true) }
    #expect(throws: SessionError.full) { try OverflowTests.add(few, 4, .refuse, isUrgent: true) }
  }

  /// The policies hold there too, and neither queue touches the messages of the other.
  @Test func ownPolicies() throws {
    let harness = Self.harness(window: nil)
    for cookie in 0..<8 { try OverflowTests.add(harness, cookie, .dropOldest) }
    for cookie in 10..<14 {
      try OverflowTests.add(harness, cookie, .dropOldest, isQuiet: true, isUrgent: true)
    }
    #expect(try OverflowTests.add(harness, 14, .dropOldest, isUrgent: true))
    #expect(try !OverflowTests.add(harness, 15, .dropNewest, isUrgent: true))
    #expect(try OverflowTests.add(harness, 13, .latest, isUrgent: true))
    #expect(!harness.hasEvent)
    #expect(try OverflowTests.add(harness, 8, .dropOldest))
    #expect(harness.events() == [.failed(0, .dropped)])
    harness.connect()
    #expect(
      OverflowTests.finish(harness).published.map(OverflowTests.cookie) == [
        12, 13, 14, 13, 1, 2, 3, 4, 5, 6, 7, 8,
      ])
  }

  /// Identifiers of the priority queue wrap in their own range.
  @Test func identifiersWrap() throws {
    for start in [0, 253, 255] as [UInt32] {
      let harness = Self.harness(random: start << 16)
      var identifiers: [UInt16] = []
      for round in 0..<300 {
        try OverflowTests.add(
          harness, round % 20, .refuse, qos: round % 2 == 0 ? .atLeastOnce : .exactlyOnce, isUrgent: true)
        let (published, told) = OverflowTests.finish(harness)
        identifiers += published.map(\.identifier)
        #expect(told == [.delivered(UInt64(round % 20))])
      }
      #expect(identifiers == (0..<300).map { 65_024 + UInt16((Int(start) + $0) % 256) })
    }
  }

  /// [MQTT-4.6.0-1]: whichever queue it was in, what is resent keeps the order in which it was sent.
  @Test(arguments: [
    [false, true, false, true], [true, true, false, false], [false, false, true, true],
    [true, false, false, true],
  ])
  func orderAcrossTheQueues(areUrgent: [Bool]) throws {
    for version in bothVersions {
      for acknowledged in 0...4 {
        let harness = SessionHarness(version) {
          $0.keepAlive = 0
          $0.urgentMessages = 8
          $0.urgentBytes = 256
        }
        harness.connect()
        _ = harness.events()
        for (cookie, isUrgent) in areUrgent.enumerated() {
          try OverflowTests.add(harness, cookie, .refuse, isUrgent: isUrgent)
          _ = harness.drain()
        }
        // Never sent before.
        try OverflowTests.add(harness, 20, .refuse)
        try OverflowTests.add(harness, 21, .refuse, isUrgent: true)
        var identifiers: (UInt16, UInt16) = (1, 65_024)
        for (index, isUrgent) in areUrgent.enumerated() {
          if index == acknowledged { harness.receive(puback(isUrgent ? identifiers.1 : identifiers.0)) }
          if isUrgent { identifiers.1 += 1 } else { identifiers.0 += 1 }
        }
        let expected = areUrgent.indices.filter { $0 != acknowledged }
        // Twice: what was sent again has its order, too.
        for _ in 0..<2 {
          harness.reconnect(sessionPresent: true)
          _ = harness.events()
          let again = packets(harness.drain(piece: 6)).prefix(3).map { ReadPublish($0, version) }
          #expect(
            again.map(OverflowTests.cookie) == Array(expected.prefix(3)).map { $0 },
            "\(areUrgent) \(acknowledged)")
          #expect(again.allSatisfy { $0.duplicate })
        }
        harness.reconnect(sessionPresent: true)
        let (published, _) = OverflowTests.finish(harness, version)
        let order = published.map(OverflowTests.cookie)
        #expect(Array(order.prefix(expected.count)) == expected)
        #expect(Set(order.dropFirst(expected.count)) == [20, 21])
      }
    }
  }

  /// [MQTT-4.6.0-1]: the order in which they were sent first, also if a connection ended before all had been sent again.
  @Test(arguments: 1...70)
  func orderAfterACutInBetween(sent: Int) throws {
    for areUrgent in [[true, false], [false, true], [true, false, false, true]] {
      let harness = Self.harness()
      for (cookie, isUrgent) in areUrgent.enumerated() {
        try OverflowTests.add(harness, cookie, .refuse, isUrgent: isUrgent)
        _ = harness.drain()
      }
      harness.reconnect(sessionPresent: true)
      _ = harness.events()
      var left = sent
      while left > 0, let bytes = harness.transmit(left), !bytes.isEmpty { left -= bytes.count }
      harness.reconnect(sessionPresent: true)
      _ = harness.events()
      #expect(
        Self.read(harness.drain()).map(OverflowTests.cookie) == Array(areUrgent.indices), "\(areUrgent)")
    }
  }

  /// With a window of one, what is resent from one queue does not starve the other.
  @Test func sentAgainThroughASmallWindow() throws {
    let harness = Self.harness(window: 4)
    for cookie in 0..<2 { try OverflowTests.add(harness, cookie, .refuse, qos: .exactlyOnce) }
    _ = harness.drain()
    for cookie in 10..<12 {
      try OverflowTests.add(harness, cookie, .refuse, qos: .exactlyOnce, isUrgent: true)
    }
    _ = harness.drain()
    harness.receive(pubrec(1) + pubrec(65_024))
    _ = harness.drain()
    harness.lose()
    harness.open()
    harness.receive(connack(.v3_1_1, sessionPresent: true))
    // PUBREL of both, then what has not been received by the server.
    let all = packets(harness.drain())
    #expect(all.filter { $0[0] == 0x62 }.map { UInt16($0[2]) << 8 | UInt16($0[3]) }.sorted() == [1, 65_024])
    #expect(all.filter { $0[0] >> 4 == 3 }.map { OverflowTests.cookie(ReadPublish($0, .v3_1_1)) } == [1, 11])
  }

  /// Acknowledgements of identifiers of the priority queue that stand for nothing.
  @Test func strangeIdentifiers() throws {
    let harness = Self.harness()
    harness.receive(puback(65_024) + puback(65_279) + pubcomp(65_100))
    #expect(harness.ending == nil)
    harness.receive(pubrec(65_030))
    #expect(harness.drain() == pubrel(65_030))
    // Without a priority queue at all.
    let without = OverflowTests.harness(window: 20)
    without.receive(puback(65_024) + pubrec(65_030))
    #expect(without.drain() == pubrel(65_030))
    #expect(without.ending == nil)
  }

  @Test func expires() throws {
    let harness = Self.harness(window: nil)
    let name = "u".bytes
    var handling = PublishOptions(cookie: 1, isQuiet: false)
    handling.isUrgent = true
    handling.expiry = 2
    _ = try harness.session.publish(
      Publish(topic: name.span, payload: Span(), qos: .atLeastOnce, retain: false), handling, at: harness.now)
    #expect(harness.nextDeadline != nil)
    harness.advanceClock(3000)
    #expect(harness.events() == [.failed(1, .expired)])
  }
}
