import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

/// A payload that stays in the program's memory: is the packet whole, and is the payload given back exactly
/// once?
@Suite struct ReferenceTests {
  static func payload(_ count: Int) -> [UInt8] { ReservationTests.payload(count) }

  static func harness(
    _ version: ProtocolVersion, configure: (inout SessionHarness.Options) -> Void = { _ in }
  ) -> SessionHarness {
    let harness = SessionHarness(version) {
      $0.references = 4
      configure(&$0)
    }
    harness.connect()
    _ = harness.events()
    return harness
  }

  // MARK: Bytes

  /// Sizes around those of Remaining Length, sent in pieces of every kind, by a transport that takes both
  /// extents and by one that takes one at a time.
  @Test(arguments: bothVersions, allQoS)
  func everySize(version: ProtocolVersion, qos: QoS) throws {
    for size in [0, 1, 2, 110, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 300, 1000] {
      for (sent, takesPayloads) in [(Int.max, true), (.max, false), (1, true), (5, false), (63, true)] {
        let harness = Self.harness(version)
        harness.takesPayloads = takesPayloads
        let data = Self.payload(size)
        try harness.publish("before", qos: .atLeastOnce)
        try harness.lend("t", data, qos: qos, cookie: 1)
        try harness.lend("u", data, qos: qos, cookie: 2)
        try harness.publish("behind", qos: .atLeastOnce)
        let expected = [
          publish(version, "before", qos: .atLeastOnce, identifier: 1),
          publish(version, "t", data, qos: qos, identifier: 2),
          publish(version, "u", data, qos: qos, identifier: 3),
          publish(version, "behind", qos: .atLeastOnce, identifier: 4),
        ]
        #expect(harness.drain(piece: sent) == Array(expected.joined()), "\(size) bytes by \(sent)")
        #expect(harness.counters.packetsSent.uint64 == 5)
        if qos == .atLeastOnce { harness.receive(puback(2) + puback(3)) }
        if qos == .exactlyOnce { harness.receive(pubrec(2) + pubrec(3) + pubcomp(2) + pubcomp(3)) }
        harness.receive(puback(1) + puback(4))
        #expect(harness.events().prefix(2) == [.delivered(1), .delivered(2)])
        #expect(harness.outbox.bytes == 0)
      }
    }
  }

  /// What waits in front of it, its header and its payload are one call; what follows is the next.
  @Test func oneCall() throws {
    let harness = Self.harness(.v3_1_1)
    let data = Self.payload(1000)
    for topic in ["x", "y"] { try harness.publish(topic) }
    try harness.lend("t", data)
    for topic in ["y", "x"] { try harness.publish(topic) }
    let (x, y) = (publish(.v3_1_1, "x", qos: .atMostOnce), publish(.v3_1_1, "y", qos: .atMostOnce))
    #expect(harness.spans() == [x + y + publish(.v3_1_1, "t", data, qos: .atMostOnce), y + x])
  }

  /// A transport that takes one extent at a time gets the program's own bytes.
  @Test func oneExtentAtATime() throws {
    let harness = Self.harness(.v3_1_1)
    harness.takesPayloads = false
    let data = Self.payload(1000)
    try harness.publish("x")
    try harness.lend("t", data)
    let x = publish(.v3_1_1, "x", qos: .atMostOnce)
    let packet = publish(.v3_1_1, "t", data, qos: .atMostOnce)
    #expect(harness.spans() == [x + packet.dropLast(1000), data])
  }

  @Test func largerThanTheOutbox() throws {
    let harness = Self.harness(.v5_0) { $0.outboxBytes = 64 }
    let data = Self.payload(30_000)
    try harness.lend("t", data, properties: userProperty("k", "v"))
    #expect(harness.outbox.bytes < 20)
    let isRight =
      harness.drain() == publish(.v5_0, "t", data, qos: .atMostOnce, properties: userProperty("k", "v"))
    #expect(isRight)
    #expect(harness.events() == [.delivered(0)])
  }

  /// Written over as soon as it is given back, and added again: the entries of the table are used over and
  /// over.
  @Test(arguments: allQoS)
  func overAndOver(qos: QoS) throws {
    let harness = Self.harness(.v5_0)
    for number in 0..<50 {
      let data = Self.payload(100 + number)
      let buffer = try harness.lend("t", data, qos: qos, cookie: UInt64(number))!
      let identifier = UInt16(1 + number)
      #expect(harness.drain() == publish(.v5_0, "t", data, qos: qos, identifier: identifier))
      if qos == .atLeastOnce { harness.receive(puback(identifier)) }
      if qos == .exactlyOnce {
        harness.receive(pubrec(identifier))
        #expect(harness.drain() == pubrel(identifier))
        harness.receive(pubcomp(identifier))
      }
      #expect(harness.events() == [.delivered(UInt64(number))])
      buffer.update(repeating: 0xEE)
    }
  }

  // MARK: Others

  /// Nothing gets into the middle of the packet. Then the control packets are first, PINGREQ among
  /// them.
  @Test(arguments: [true, false])
  func nothingInBetween(takesPayloads: Bool) throws {
    let harness = Self.harness(.v3_1_1)
    harness.takesPayloads = takesPayloads
    let data = Self.payload(200)
    try harness.publish("before")
    try harness.lend("t", data)
    try harness.publish("behind")
    var sent = harness.transmit(30) ?? []
    harness.receive(pubrec(99))
    try harness.subscribe(["f"])
    for _ in 0..<3 { sent += harness.transmit(7) ?? [] }
    harness.advanceClock(59_000)
    sent += harness.drain(piece: 11)
    #expect(
      packets(sent) == [
        publish(.v3_1_1, "before", qos: .atMostOnce), publish(.v3_1_1, "t", data, qos: .atMostOnce),
        pubrel(99), pingreq, request(.v3_1_1, 0x82, 65_280, [("f", 0)]),
        publish(.v3_1_1, "behind", qos: .atMostOnce),
      ])
  }

  /// Until it is begun, control packets and urgent messages go first, at whatever place in the window it is.
  @Test func beforeItIsBegun() throws {
    let harness = Self.harness(.v3_1_1) { $0.urgentMessages = 2 }
    try harness.publish("x")
    try harness.lend("t", [1, 2, 3])
    let isPrepared = harness.session.prepareTransmit(at: harness.now)
    #expect(isPrepared)
    #expect(try harness.publish("u", overflow: .refuse, isUrgent: true))
    harness.receive(pubrec(99))
    #expect(
      packets(harness.drain()) == [
        pubrel(99), publish(.v3_1_1, "u", qos: .atMostOnce), publish(.v3_1_1, "x", qos: .atMostOnce),
        publish(.v3_1_1, "t", [1, 2, 3], qos: .atMostOnce),
      ])
  }

  /// The window was prepared with it, and shrinks to the packet before it that is partly sent.
  @Test func windowShrinksToThePacketBefore() throws {
    let harness = Self.harness(.v3_1_1) { $0.urgentMessages = 2 }
    try harness.publish("x", [7, 8, 9])
    try harness.lend("t", [1, 2, 3])
    var sent = harness.transmit(4) ?? []
    #expect(try harness.publish("u", overflow: .refuse, isUrgent: true))
    sent += harness.drain(piece: 2)
    #expect(
      packets(sent) == [
        publish(.v3_1_1, "x", [7, 8, 9], qos: .atMostOnce), publish(.v3_1_1, "u", qos: .atMostOnce),
        publish(.v3_1_1, "t", [1, 2, 3], qos: .atMostOnce),
      ])
  }

  @Test func wrongCalls() throws {
    let harness = Self.harness(.v5_0) { $0.urgentMessages = 2 }
    #expect(throws: SessionError.topicName) { try harness.lend("", [1]) }
    #expect(throws: SessionError.tooLarge) { try harness.lend(String(repeating: "t", count: 5000), [1]) }
    #expect(throws: SessionError.property) { try harness.lend("t", [1], properties: topicAlias(1)) }
    #expect(throws: SessionError.option) { try harness.lend("t", [1], isQuiet: true) }
    #expect(throws: SessionError.option) { try harness.lend("t", [1], overflow: .latest) }
    #expect(throws: SessionError.option) { try harness.lend("t", [1], isUrgent: true) }
    // None of them has kept an entry of the table.
    for cookie in 0..<4 { try harness.lend("t", [1], qos: .atLeastOnce, cookie: UInt64(cookie)) }
    let without = SessionHarness(.v5_0)
    #expect(throws: SessionError.notSupported) { try without.lend("t", [1]) }
    let leaving = Self.harness(.v5_0)
    leaving.session.beginDisconnect(reasonCode: 0, properties: Span())
    #expect(throws: SessionError.leaving) { try leaving.lend("t", [1]) }
  }

  // MARK: Limits

  /// The table is full, and a program hears of the next free entry.
  @Test(arguments: [PublishOptions.Overflow.refuse, .dropOldest, .dropNewest])
  func tableFull(overflow: PublishOptions.Overflow) throws {
    let harness = Self.harness(.v3_1_1)
    for cookie in 1...4 { try harness.lend("t", [1], qos: .atLeastOnce, cookie: UInt64(cookie)) }
    #expect(throws: SessionError.full) { try harness.lend("t", [1], overflow: overflow) }
    _ = harness.drain()
    // Not the first of them: neither bytes nor a descriptor are free, but the entry is.
    harness.receive(puback(3))
    #expect(harness.events() == [.delivered(3), .room])
    try harness.lend("t", [2], cookie: 5)
    #expect(throws: SessionError.full) { try harness.lend("t", [1], overflow: overflow) }
  }

  /// One that may be dropped makes room, and is given back; one that is dropped at once was never lent.
  @Test func overflowPolicies() throws {
    let harness = Self.harness(.v3_1_1) { $0.outboxMessages = 2 }
    harness.lose()
    try harness.lend("t", [1], qos: .atLeastOnce, cookie: 1, overflow: .dropOldest)
    try harness.publish("x", isQuiet: true)
    #expect(try harness.lend("t", [1], cookie: 2, overflow: .dropNewest) == nil)
    #expect(harness.events() == [])
    harness.connect()
    #expect(harness.drain().count > 0)
  }

  @Test func dropOldestGivesBack() throws {
    let harness = Self.harness(.v3_1_1) { $0.outboxBytes = 64 }
    harness.lose()
    _ = harness.events()
    try harness.lend("t", Self.payload(1000), cookie: 1, overflow: .dropOldest)
    #expect(try harness.publish("x", Self.payload(56), cookie: 2, overflow: .dropOldest))
    #expect(harness.events() == [.failed(1, .dropped)])
    for _ in 3...5 { #expect(throws: SessionError.full) { try harness.lend("t", [1]) } }
    for cookie in 6...9 {
      try harness.lend("t", [1], qos: .atLeastOnce, cookie: UInt64(cookie), overflow: .dropOldest)
    }
    #expect(harness.events() == [.failed(2, .dropped), .room])
  }

  /// It expires before it is sent, and never in the middle of being sent.
  @Test func expires() throws {
    let harness = Self.harness(.v5_0)
    harness.lose()
    _ = harness.events()
    try harness.lend("t", Self.payload(100), cookie: 1, expiry: 3)
    harness.advanceClock(4000)
    #expect(harness.events() == [.failed(1, .expired)])
    harness.connect()
    _ = harness.events()
    let data = Self.payload(100)
    try harness.lend("t", data, cookie: 2, expiry: 3)
    var sent = harness.transmit(50) ?? []
    harness.advanceClock(4000)
    sent += harness.drain()
    #expect(sent == publish(.v5_0, "t", data, qos: .atMostOnce, properties: hex("02 00 00 00 03")))
    #expect(harness.events() == [.delivered(2)])
  }

  /// It expires at the end of a window that was prepared, and another one gets its entry: what is left of the window
  /// has no payload behind it.
  @Test func expiresInTheWindow() throws {
    let harness = Self.harness(.v5_0) { $0.inFlightMaximum = 1 }
    try harness.publish("first", qos: .atLeastOnce)
    #expect(harness.drain() == publish(.v5_0, "first", qos: .atLeastOnce, identifier: 1))
    try harness.publish("x")
    try harness.lend("t", Self.payload(100), cookie: 1, expiry: 3)
    let isPrepared = harness.session.prepareTransmit(at: harness.now)
    #expect(isPrepared)
    harness.advanceClock(4000)
    #expect(harness.events() == [.failed(1, .expired)])
    // It has to wait until the first one is acknowledged.
    try harness.lend("u", Self.payload(100), qos: .atLeastOnce, cookie: 2)
    #expect(harness.drain() == publish(.v5_0, "x", qos: .atMostOnce))
  }

  /// What counts is the whole packet, though the outbox has only its header.
  @Test func maximumPacketSizeOfTheServer() throws {
    let size = publish(.v5_0, "t", Self.payload(100), qos: .atLeastOnce, identifier: 1).count
    for limit in [size - 1, size] {
      let harness = Self.harness(.v5_0)
      try harness.lend("t", Self.payload(100), qos: .atLeastOnce, cookie: 3)
      harness.reconnect(sessionPresent: false, properties: maximumPacketSize(UInt16(limit)))
      if limit == size {
        #expect(harness.drain().count == size)
      } else {
        #expect(harness.drain() == [])
        #expect(harness.events() == [.connected(sessionPresent: false), .aboveLimit(3, 0x95)])
        #expect(throws: SessionError.tooLarge) {
          try harness.lend("t", Self.payload(100), qos: .atLeastOnce)
        }
      }
    }
  }

  // MARK: Over connections

  /// Lost at any place, it begins again with its first byte; DUP is for what was sent whole.
  @Test(arguments: bothVersions, allQoS)
  func lostInTheMiddle(version: ProtocolVersion, qos: QoS) throws {
    let data = Self.payload(150)
    let packet = publish(version, "t", data, qos: qos, identifier: 1)
    for lost in 1...packet.count {
      for isPresent in [true, false] {
        let harness = Self.harness(version)
        harness.takesPayloads = lost % 2 == 0
        try harness.lend("t", data, qos: qos, cookie: 1)
        try harness.publish("behind", cookie: 2)
        var sent = 0
        while sent < lost { sent += harness.transmit(min(lost - sent, 40))?.count ?? 0 }
        harness.reconnect(sessionPresent: isPresent)
        let again = harness.drain()
        let behind = publish(version, "behind", qos: .atMostOnce)
        let isWhole = lost == packet.count
        switch (qos, isWhole, isPresent) {
        case (.atMostOnce, true, _), (.exactlyOnce, true, false): #expect(again == behind)
        case (_, true, true):
          #expect(again == publish(version, "t", data, qos: qos, identifier: 1, duplicate: true) + behind)
        default: #expect(again == packet + behind, "after \(lost)")
        }
        if harness.outboxNumbers.inFlight > 0 {
          harness.receive(qos == .atLeastOnce ? puback(1) : pubrec(1) + pubcomp(1))
        }
        let ends = harness.events().filter { $0 == .delivered(1) || $0 == .failed(1, .sessionLost) }
        #expect(ends.count == 1)
        #expect(harness.outbox.messages == 0)
      }
    }
  }

  @Test func downgrade() throws {
    for size in [0, 60, 115, 120, 125, 130] {
      let harness = Self.harness(.v5_0) { $0.allowsFallback = true }
      let data = Self.payload(size)
      harness.lose()
      try harness.lend("t", data, qos: .atLeastOnce, properties: userProperty("k", "v"))
      #expect(harness.fallBack())
      harness.connect()
      #expect(harness.drain() == publish(.v3_1_1, "t", data, qos: .atLeastOnce, identifier: 1))
    }
  }

  /// QoS 0 that is for a connection only ends with it, also when a part of it was sent.
  @Test func forOneConnection() throws {
    let harness = Self.harness(.v3_1_1) { $0.needsConnection = true }
    try harness.lend("t", Self.payload(100), cookie: 1)
    try harness.lend("t", Self.payload(100), qos: .atLeastOnce, cookie: 2)
    _ = harness.transmit(50)
    harness.reconnect(sessionPresent: true)
    #expect(harness.events().contains(.failed(1, .disconnected)))
    #expect(harness.drain() == publish(.v3_1_1, "t", Self.payload(100), qos: .atLeastOnce, identifier: 2))
  }

  /// A program that leaves in the middle of the packet ends it first: DISCONNECT comes after it.
  @Test(arguments: bothVersions)
  func leaving(version: ProtocolVersion) throws {
    let harness = Self.harness(version)
    let data = Self.payload(200)
    try harness.lend("t", data, cookie: 2)
    try harness.publish("behind", cookie: 3)
    var sent = harness.transmit(20) ?? []
    #expect(harness.disconnect())
    sent += harness.drain()
    #expect(packets(sent) == [publish(version, "t", data, qos: .atMostOnce), [0xE0, 0]])
    #expect(!harness.wantsTransmit)
    #expect(harness.events() == [.delivered(2)])
  }
}
