import MQTTWire
import Testing

@testable import MQTTSession

/// The lane of urgent messages: room of its own, identifiers of its own, the same window.
@Suite struct PriorityQueueTests {
  static func rig(
    window: Int? = 20, urgent: Int = 4, urgentBytes: Int = 64, bytes: Int = 8, random: UInt32 = 0,
    configure: (inout Rig.Options) -> Void = { _ in }
  ) -> Rig {
    OverflowTests.rig(bytes: bytes, window: window) {
      $0.urgentMessages = urgent
      $0.urgentBytes = urgentBytes
      $0.random = random
      configure(&$0)
    }
  }

  static func read(_ bytes: [UInt8]) -> [ReadPublish] { packets(bytes).map { ReadPublish($0, .v3_1_1) } }

  @Test(arguments: allQoS)
  func goesFirst(qos: QoS) throws {
    let rig = Self.rig(window: nil)
    for cookie in 0..<8 { try OverflowTests.add(rig, cookie, .refuse, qos: qos) }
    #expect(throws: SessionError.full) { try OverflowTests.add(rig, 8, .refuse, qos: qos) }
    // The outbox is full, and an alarm has its room.
    try OverflowTests.add(rig, 10, .refuse, qos: qos, isUrgent: true)
    try OverflowTests.add(rig, 11, .refuse, qos: qos, isUrgent: true)
    #expect(rig.outboxNumbers.urgent.messages == 2)
    #expect(rig.outboxNumbers.urgent.bytes == 32)
    rig.connect()
    let (published, told) = OverflowTests.finish(rig)
    #expect(published.map(OverflowTests.cookie) == [10, 11, 0, 1, 2, 3, 4, 5, 6, 7])
    #expect(published.prefix(2).allSatisfy { qos == .atMostOnce || 65_024...65_279 ~= $0.identifier })
    #expect(published.dropFirst(2).allSatisfy { qos == .atMostOnce || 1...65_023 ~= $0.identifier })
    #expect(told.filter { if case .delivered = $0 { true } else { false } }.count == 10)
    #expect(rig.outboxNumbers.urgent.messages == 0)
    #expect(rig.outboxNumbers.urgent.messagesPeak == 2)
    #expect(rig.outboxNumbers.urgent.bytesPeak == 32)
  }

  /// Between two packets, never into the middle of one.
  @Test(arguments: 1...40)
  func atPacketBoundaries(sent: Int) throws {
    let rig = Self.rig()
    for cookie in 0..<4 { try OverflowTests.add(rig, cookie, .refuse) }
    var bytes = rig.transmit(sent)!
    try OverflowTests.add(rig, 10, .refuse, isUrgent: true)
    bytes += rig.drain(piece: 5)
    let begun = (bytes.count - 80 == 0) ? (sent + 15) / 16 : 0
    let cookies = Self.read(bytes).map(OverflowTests.cookie)
    #expect(cookies == Array(0..<begun) + [10] + Array(begun..<4))
  }

  /// The window is one for both: with all of it in use, an urgent one waits, but comes before the others then.
  @Test func sharesTheWindow() throws {
    let rig = Self.rig(window: 2)
    for cookie in 0..<4 { try OverflowTests.add(rig, cookie, .refuse) }
    #expect(Self.read(rig.drain()).map(OverflowTests.cookie) == [0, 1])
    for cookie in 10..<12 { try OverflowTests.add(rig, cookie, .refuse, isUrgent: true) }
    #expect(rig.drain() == [])
    #expect(rig.outboxNumbers.inFlight == 2)
    rig.receive(puback(2))
    #expect(Self.read(rig.drain()).map(OverflowTests.cookie) == [10])
    rig.receive(puback(1))
    #expect(Self.read(rig.drain()).map(OverflowTests.cookie) == [11])
    rig.receive(puback(65_025))
    #expect(Self.read(rig.drain()).map(OverflowTests.cookie) == [2])
    rig.receive(puback(65_024))
    #expect(Self.read(rig.drain()).map(OverflowTests.cookie) == [3])
    rig.receive(puback(3) + puback(4))
    #expect(rig.outboxNumbers.inFlight == 0)
    // What an urgent message answers is told first.
    let told = rig.events()
    #expect(told.count == 6 && rig.isDrained)
  }

  /// What has its place in the window and was not begun gives it back to an urgent one.
  @Test func takesThePlaceOfWhatWaits() throws {
    let rig = Self.rig(window: 2)
    for cookie in 0..<3 { try OverflowTests.add(rig, cookie, .refuse) }
    var bytes = rig.transmit(5)!
    try OverflowTests.add(rig, 10, .refuse, isUrgent: true)
    bytes += rig.drain(piece: 5)
    #expect(Self.read(bytes).map(OverflowTests.cookie) == [0, 10])
    #expect(rig.outboxNumbers.inFlight == 2)
  }

  /// QoS 0 needs no place in the window, and so does not wait for those that do.
  @Test func atMostOnceNeedsNoWindow() throws {
    let rig = Self.rig(window: 1)
    try OverflowTests.add(rig, 0, .refuse)
    _ = rig.drain()
    try OverflowTests.add(rig, 10, .refuse, qos: .atMostOnce, isUrgent: true)
    #expect(Self.read(rig.drain()).map(OverflowTests.cookie) == [10])
  }

  /// A stream is one packet, however long it takes.
  @Test func notIntoAStream() throws {
    let rig = Rig(.v3_1_1) {
      $0.keepAlive = 0
      $0.streamBytes = 8
      $0.urgentMessages = 4
    }
    rig.connect()
    _ = rig.events()
    let payload = (0..<100 as Range<UInt8>).map { $0 }
    try rig.stream("s", payload, qos: .atLeastOnce, cookie: 1)
    rig.streamPiece = 5
    var bytes: [UInt8] = []
    for _ in 0..<4 { bytes += rig.transmit(3) ?? [] }
    try OverflowTests.add(rig, 10, .refuse, isUrgent: true)
    try OverflowTests.add(rig, 11, .refuse)
    bytes += rig.drain(piece: 3)
    let all = Self.read(bytes)
    #expect(all.map(\.topic) == ["s", "k", "l"])
    #expect(all.first?.payload == payload)
  }

  /// An older version after falling back: what was queued for 5.0 goes out without its properties, on this lane too.
  @Test func anOlderVersion() throws {
    let rig = Rig(.v5_0) {
      $0.keepAlive = 0
      $0.urgentMessages = 4
      $0.allowsFallback = true
    }
    let name = "u".bytes
    let properties = userProperty("a", "b")
    var handling = PublishOptions(cookie: 1, isQuiet: false)
    handling.isUrgent = true
    handling.expiry = 30
    _ = try rig.session.publish(
      Publish(
        topic: name.span, payload: Span(), qos: .exactlyOnce, retain: false, properties: properties.span),
      handling, at: rig.now)
    rig.open()
    rig.receive(connack(.v5_0, code: 0x84))
    #expect(rig.fallBack())
    rig.lose()
    rig.connect()
    let sent = rig.drain()
    #expect(sent == publish(.v3_1_1, "u", qos: .exactlyOnce, identifier: 65_024))
    rig.receive(pubrec(65_024))
    #expect(rig.drain() == pubrel(65_024))
    rig.receive(pubcomp(65_024))
    #expect(rig.events().last == .delivered(1))
  }

  /// Receive Maximum is lowered below what both lanes have released: nothing goes out until it fits.
  @Test func aLoweredReceiveMaximum() throws {
    let rig = Rig(.v5_0) {
      $0.keepAlive = 0
      $0.urgentMessages = 8
    }
    rig.connect()
    _ = rig.events()
    for cookie in 0..<2 {
      try OverflowTests.add(rig, cookie, .refuse, qos: .exactlyOnce)
      try OverflowTests.add(rig, 10 + cookie, .refuse, qos: .exactlyOnce, isUrgent: true)
    }
    _ = rig.drain()
    for identifier in [1, 2, 65_024, 65_025] as [UInt16] { rig.receive(pubrec(identifier)) }
    _ = rig.drain()
    rig.reconnect(sessionPresent: true, properties: receiveMaximum(2))
    try OverflowTests.add(rig, 5, .refuse)
    try OverflowTests.add(rig, 15, .refuse, isUrgent: true)
    let released = packets(rig.drain())
    #expect(released.count == 4 && released.allSatisfy { $0[0] == 0x62 })
    rig.receive(pubcomp(65_024) + pubcomp(1))
    #expect(rig.drain() == [])
    rig.receive(pubcomp(2))
    #expect(packets(rig.drain()).map { ReadPublish($0, .v5_0).topic } == ["p"])
    rig.receive(pubcomp(65_025))
    #expect(packets(rig.drain()).map { ReadPublish($0, .v5_0).topic } == ["f"])
  }

  @Test func ownBrim() throws {
    let rig = Self.rig(urgent: 8)
    for cookie in 0..<4 { try OverflowTests.add(rig, cookie, .refuse, isUrgent: true) }
    let before = OverflowTests.state(rig)
    #expect(throws: SessionError.full) { try OverflowTests.add(rig, 4, .refuse, isUrgent: true) }
    #expect(throws: SessionError.tooLarge) {
      try OverflowTests.add(rig, 4, .dropOldest, payload: 60, isUrgent: true)
    }
    #expect(OverflowTests.state(rig) == before)
    // The other lane is empty.
    try OverflowTests.add(rig, 5, .refuse)
    let (published, told) = OverflowTests.finish(rig)
    #expect(published.map(OverflowTests.cookie) == [0, 1, 2, 3, 5])
    #expect(told.contains(.room))
    // In messages.
    let few = Self.rig(window: nil, urgent: 2)
    for cookie in 0..<2 { try OverflowTests.add(few, cookie, .refuse, isUrgent: true) }
    #expect(throws: SessionError.full) { try OverflowTests.add(few, 4, .refuse, isUrgent: true) }
  }

  /// The policies hold there too, and touch the other lane no more than that of the other touches this.
  @Test func ownPolicies() throws {
    let rig = Self.rig(window: nil)
    for cookie in 0..<8 { try OverflowTests.add(rig, cookie, .dropOldest) }
    for cookie in 10..<14 { try OverflowTests.add(rig, cookie, .dropOldest, isQuiet: true, isUrgent: true) }
    #expect(try OverflowTests.add(rig, 14, .dropOldest, isUrgent: true))
    #expect(try !OverflowTests.add(rig, 15, .dropNewest, isUrgent: true))
    #expect(try OverflowTests.add(rig, 13, .latest, isUrgent: true))
    #expect(!rig.hasEvent)
    #expect(try OverflowTests.add(rig, 8, .dropOldest))
    #expect(rig.events() == [.failed(0, .dropped)])
    rig.connect()
    #expect(
      OverflowTests.finish(rig).published.map(OverflowTests.cookie) == [
        12, 13, 14, 13, 1, 2, 3, 4, 5, 6, 7, 8,
      ])
  }

  /// Identifiers of the lane wrap in their own range.
  @Test func identifiersWrap() throws {
    for start in [0, 253, 255] as [UInt32] {
      let rig = Self.rig(random: start << 16)
      var identifiers: [UInt16] = []
      for round in 0..<300 {
        try OverflowTests.add(
          rig, round % 20, .refuse, qos: round % 2 == 0 ? .atLeastOnce : .exactlyOnce, isUrgent: true)
        let (published, told) = OverflowTests.finish(rig)
        identifiers += published.map(\.identifier)
        #expect(told == [.delivered(UInt64(round % 20))])
      }
      #expect(identifiers == (0..<300).map { 65_024 + UInt16((Int(start) + $0) % 256) })
    }
  }

  /// [MQTT-4.6.0-1]: whichever lane it was on, what is sent again keeps the order in which it was sent.
  @Test(arguments: [
    [false, true, false, true], [true, true, false, false], [false, false, true, true],
    [true, false, false, true],
  ])
  func orderAcrossTheLanes(lanes: [Bool]) throws {
    for version in bothVersions {
      for acknowledged in 0...4 {
        let rig = Rig(version) {
          $0.keepAlive = 0
          $0.urgentMessages = 8
          $0.urgentBytes = 256
        }
        rig.connect()
        _ = rig.events()
        for (cookie, isUrgent) in lanes.enumerated() {
          try OverflowTests.add(rig, cookie, .refuse, isUrgent: isUrgent)
          _ = rig.drain()
        }
        // Never sent before.
        try OverflowTests.add(rig, 20, .refuse)
        try OverflowTests.add(rig, 21, .refuse, isUrgent: true)
        var identifiers: (UInt16, UInt16) = (1, 65_024)
        for (index, isUrgent) in lanes.enumerated() {
          if index == acknowledged { rig.receive(puback(isUrgent ? identifiers.1 : identifiers.0)) }
          if isUrgent { identifiers.1 += 1 } else { identifiers.0 += 1 }
        }
        let expected = lanes.indices.filter { $0 != acknowledged }
        // Twice: what was sent again has its order, too.
        for _ in 0..<2 {
          rig.reconnect(sessionPresent: true)
          _ = rig.events()
          let again = packets(rig.drain(piece: 6)).prefix(3).map { ReadPublish($0, version) }
          #expect(
            again.map(OverflowTests.cookie) == Array(expected.prefix(3)).map { $0 },
            "\(lanes) \(acknowledged)")
          #expect(again.allSatisfy { $0.duplicate })
        }
        rig.reconnect(sessionPresent: true)
        let (published, _) = OverflowTests.finish(rig, version)
        let order = published.map(OverflowTests.cookie)
        #expect(Array(order.prefix(expected.count)) == expected)
        #expect(Set(order.dropFirst(expected.count)) == [20, 21])
      }
    }
  }

  /// [MQTT-4.6.0-1]: the order in which they were sent first, also if a connection ended before all had been sent again.
  @Test(arguments: 1...70)
  func orderAfterACutInBetween(sent: Int) throws {
    for lanes in [[true, false], [false, true], [true, false, false, true]] {
      let rig = Self.rig()
      for (cookie, isUrgent) in lanes.enumerated() {
        try OverflowTests.add(rig, cookie, .refuse, isUrgent: isUrgent)
        _ = rig.drain()
      }
      rig.reconnect(sessionPresent: true)
      _ = rig.events()
      var left = sent
      while left > 0, let bytes = rig.transmit(left), !bytes.isEmpty { left -= bytes.count }
      rig.reconnect(sessionPresent: true)
      _ = rig.events()
      #expect(Self.read(rig.drain()).map(OverflowTests.cookie) == Array(lanes.indices), "\(lanes)")
    }
  }

  /// With a window of one, what is sent again from one lane does not starve the other.
  @Test func sentAgainThroughASmallWindow() throws {
    let rig = Self.rig(window: 4)
    for cookie in 0..<2 { try OverflowTests.add(rig, cookie, .refuse, qos: .exactlyOnce) }
    _ = rig.drain()
    for cookie in 10..<12 { try OverflowTests.add(rig, cookie, .refuse, qos: .exactlyOnce, isUrgent: true) }
    _ = rig.drain()
    rig.receive(pubrec(1) + pubrec(65_024))
    _ = rig.drain()
    rig.lose()
    rig.open()
    rig.receive(connack(.v3_1_1, sessionPresent: true))
    // PUBREL of both, then what has not been received by the server.
    let all = packets(rig.drain())
    #expect(all.filter { $0[0] == 0x62 }.map { UInt16($0[2]) << 8 | UInt16($0[3]) }.sorted() == [1, 65_024])
    #expect(all.filter { $0[0] >> 4 == 3 }.map { OverflowTests.cookie(ReadPublish($0, .v3_1_1)) } == [1, 11])
  }

  /// Acknowledgements of identifiers of the lane that stand for nothing.
  @Test func strangeIdentifiers() throws {
    let rig = Self.rig()
    rig.receive(puback(65_024) + puback(65_279) + pubcomp(65_100))
    #expect(rig.ending == nil)
    rig.receive(pubrec(65_030))
    #expect(rig.drain() == pubrel(65_030))
    // Without the lane at all.
    let without = OverflowTests.rig(window: 20)
    without.receive(puback(65_024) + pubrec(65_030))
    #expect(without.drain() == pubrel(65_030))
    #expect(without.ending == nil)
  }

  @Test func expires() throws {
    let rig = Self.rig(window: nil)
    let name = "u".bytes
    var handling = PublishOptions(cookie: 1, isQuiet: false)
    handling.isUrgent = true
    handling.expiry = 2
    _ = try rig.session.publish(
      Publish(topic: name.span, payload: Span(), qos: .atLeastOnce, retain: false), handling, at: rig.now)
    #expect(rig.nextDeadline != nil)
    rig.pass(3000)
    #expect(rig.events() == [.failed(1, .expired)])
  }
}
