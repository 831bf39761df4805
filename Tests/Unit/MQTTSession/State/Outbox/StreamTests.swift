import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

/// A payload that is supplied as it is sent: is the packet whole, and everything else in its place?
@Suite struct StreamTests {
  static func payload(_ count: Int) -> [UInt8] { ReservationTests.payload(count) }

  static func harness(
    _ version: ProtocolVersion, configure: (inout SessionHarness.Options) -> Void = { _ in }
  ) -> SessionHarness {
    let harness = SessionHarness(version) {
      $0.streamBytes = 64
      configure(&$0)
    }
    harness.connect()
    _ = harness.events()
    return harness
  }

  // MARK: Bytes

  /// Sizes around those of the buffer and of Remaining Length, supplied and sent in pieces of every kind.
  @Test(arguments: bothVersions, allQoS)
  func everySize(version: ProtocolVersion, qos: QoS) throws {
    for size in [0, 1, 2, 63, 64, 65, 110, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 300, 1000] {
      for (supplied, sent) in [(Int.max, Int.max), (1, .max), (.max, 1), (7, 5), (64, 63)] {
        let harness = Self.harness(version)
        harness.streamPiece = supplied
        let data = Self.payload(size)
        try harness.publish("before", qos: .atLeastOnce)
        try harness.stream("t", data, qos: qos, cookie: 1)
        try harness.publish("behind", qos: .atLeastOnce)
        let expected = [
          publish(version, "before", qos: .atLeastOnce, identifier: 1),
          publish(version, "t", data, qos: qos, identifier: 2),
          publish(version, "behind", qos: .atLeastOnce, identifier: 3),
        ]
        #expect(harness.drain(piece: sent) == Array(expected.joined()), "\(size) bytes by \(supplied)")
        #expect(harness.counters.packetsSent.uint64 == 4)
        if qos != .atMostOnce { harness.receive(qos == .atLeastOnce ? puback(2) : pubrec(2) + pubcomp(2)) }
        harness.receive(puback(1) + puback(3))
        #expect(harness.events().first == .delivered(1))
        #expect(harness.outbox.bytes == 0)
      }
    }
  }

  /// The outbox keeps topic and properties only.
  @Test func largerThanTheOutbox() throws {
    let harness = Self.harness(.v5_0) { $0.outboxBytes = 64 }
    let data = Self.payload(30_000)
    try harness.stream("t", data, properties: userProperty("k", "v"))
    #expect(harness.outbox.bytes < 20)
    let isRight =
      harness.drain() == publish(.v5_0, "t", data, qos: .atMostOnce, properties: userProperty("k", "v"))
    #expect(isRight)
    #expect(harness.events() == [.delivered(0)])
  }

  // MARK: Others

  /// Nothing gets into the middle of the packet, not even a PINGREQ; then it comes first.
  @Test func nothingInBetween() throws {
    let harness = Self.harness(.v3_1_1)
    let data = Self.payload(200)
    try harness.stream("t", data)
    try harness.publish("behind")
    harness.streamPiece = 10
    var sent = harness.transmit() ?? []
    sent += harness.transmit() ?? []
    harness.receive(pubrec(99))
    try harness.subscribe(["f"])
    harness.streamPiece = 0
    // It has nothing now: everybody waits.
    #expect(harness.transmit() == nil)
    #expect(!harness.wantsTransmit)
    harness.advanceClock(59_000)
    #expect(harness.transmit() == nil)
    harness.streamPiece = .max
    sent += harness.drain()
    #expect(
      packets(sent) == [
        publish(.v3_1_1, "t", data, qos: .atMostOnce), pubrel(99), pingreq,
        request(.v3_1_1, 0x82, 65_280, [("f", 0)]), publish(.v3_1_1, "behind", qos: .atMostOnce),
      ])
  }

  /// Until it is begun, control packets and requests go first.
  @Test func beforeItIsBegun() throws {
    let harness = Self.harness(.v3_1_1)
    try harness.stream("t", [1])
    let isPrepared = harness.session.prepareTransmit(at: harness.now)
    #expect(isPrepared)
    harness.receive(pubrec(99))
    #expect(packets(harness.drain()) == [pubrel(99), publish(.v3_1_1, "t", [1], qos: .atMostOnce)])
  }

  /// One at a time: from the call to the completion.
  @Test func oneAtATime() throws {
    let harness = Self.harness(.v3_1_1)
    try harness.stream("t", [1], qos: .atLeastOnce)
    #expect(throws: SessionError.full) { try harness.stream("t", [1]) }
    try harness.publish("other", isQuiet: true)
    _ = harness.drain()
    #expect(throws: SessionError.full) { try harness.stream("t", [1]) }
    harness.receive(puback(1))
    try harness.stream("t", [2])
    #expect(harness.drain() == publish(.v3_1_1, "t", [2], qos: .atMostOnce))
    try harness.stream("t", [3])
  }

  @Test func wrongCalls() throws {
    let harness = Self.harness(.v5_0)
    #expect(throws: SessionError.topicName) { try harness.stream("", [1]) }
    #expect(throws: SessionError.tooLarge) { try harness.stream(String(repeating: "t", count: 5000), [1]) }
    #expect(throws: SessionError.property) { try harness.stream("t", [1], properties: topicAlias(1)) }
    let without = SessionHarness(.v5_0)
    #expect(throws: SessionError.notSupported) { try without.stream("t", [1]) }
    harness.session.beginDisconnect(reasonCode: 0, properties: Span())
    #expect(throws: SessionError.leaving) { try harness.stream("t", [1]) }
  }

  // MARK: Limits

  /// What counts is the whole packet, whatever of it is here.
  @Test func maximumPacketSizeOfTheServer() throws {
    let size = publish(.v5_0, "t", Self.payload(100), qos: .atLeastOnce, identifier: 1).count
    for limit in [size - 1, size] {
      let harness = Self.harness(.v5_0)
      try harness.stream("t", Self.payload(100), qos: .atLeastOnce, cookie: 3)
      harness.reconnect(sessionPresent: false, properties: maximumPacketSize(UInt16(limit)))
      if limit == size {
        #expect(harness.drain().count == size)
      } else {
        #expect(harness.drain() == [])
        #expect(harness.events() == [.connected(sessionPresent: false), .aboveLimit(3, 0x95)])
        #expect(throws: SessionError.tooLarge) {
          try harness.stream("t", Self.payload(100), qos: .atLeastOnce)
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
        try harness.stream("t", data, qos: qos, cookie: 1)
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
        _ = harness.events()
        #expect(harness.outbox.messages == 0)
      }
    }
  }

  /// PUBREC came: the payload is not asked for any more.
  @Test func released() throws {
    let harness = Self.harness(.v3_1_1)
    try harness.stream("t", Self.payload(100), qos: .exactlyOnce, cookie: 1)
    _ = harness.drain()
    harness.receive(pubrec(1))
    harness.reconnect(sessionPresent: true)
    harness.streamPayload = []
    #expect(harness.drain() == pubrel(1))
    harness.receive(pubcomp(1))
    #expect(harness.events() == [.connected(sessionPresent: true), .delivered(1)])
    try harness.stream("t", [])
  }

  @Test func downgrade() throws {
    for size in [0, 60, 115, 120, 125, 130] {
      let harness = Self.harness(.v5_0) { $0.allowsFallback = true }
      let data = Self.payload(size)
      harness.lose()
      try harness.stream("t", data, qos: .atLeastOnce, properties: userProperty("k", "v"))
      #expect(harness.fallBack())
      harness.connect()
      #expect(harness.drain() == publish(.v3_1_1, "t", data, qos: .atLeastOnce, identifier: 1))
    }
  }

  // MARK: Giving up

  /// A packet once begun cannot be taken back: the connection ends, and so does the message.
  @Test(arguments: bothVersions, [0, 10])
  func pullFails(version: ProtocolVersion, supplied: Int) throws {
    let harness = Self.harness(version)
    try harness.publish("before", qos: .atLeastOnce, cookie: 1)
    try harness.stream("t", Self.payload(100), qos: .atLeastOnce, cookie: 2)
    try harness.publish("behind", qos: .atLeastOnce, cookie: 3)
    for _ in 0..<2 { _ = harness.transmit() }
    harness.streamPiece = supplied
    #expect((harness.transmit() ?? []).count == supplied)
    harness.session.pullFailed()
    #expect(harness.ending?.cause == .stream)
    #expect(harness.drain() == [])
    #expect(!harness.wantsReceive)
    #expect(harness.events() == [.failed(2, .aborted)])
    harness.reconnect(sessionPresent: true)
    #expect(
      harness.drain() == publish(version, "before", qos: .atLeastOnce, identifier: 1, duplicate: true)
        + publish(version, "behind", qos: .atLeastOnce, identifier: 3))
    harness.receive(puback(1) + puback(3))
    #expect(harness.events() == [.connected(sessionPresent: true), .delivered(1), .delivered(3)])
    #expect(harness.outbox.bytes == 0)
    try harness.stream("t", [1])
  }

  /// Whoever leaves in the middle of the packet ends it first: DISCONNECT comes after it, and keeps the Will back.
  @Test(arguments: bothVersions)
  func leaving(version: ProtocolVersion) throws {
    let harness = Self.harness(version)
    let data = Self.payload(200)
    try harness.stream("t", data, cookie: 2)
    try harness.publish("behind", cookie: 3)
    var sent = harness.transmit() ?? []
    sent += harness.transmit() ?? []
    #expect(harness.disconnect())
    sent += harness.drain()
    #expect(packets(sent) == [publish(version, "t", data, qos: .atMostOnce), [0xE0, 0]])
    #expect(!harness.wantsTransmit)
    #expect(harness.events() == [.delivered(2)])
  }

  /// The same when the server broke a rule: 5.0 hears which.
  @Test func violationInTheMiddle() throws {
    let harness = Self.harness(.v5_0)
    let data = Self.payload(200)
    try harness.stream("t", data)
    var sent = harness.transmit() ?? []
    sent += harness.transmit() ?? []
    harness.receive(hex("00 00"))
    #expect(harness.ending?.cause == .malformed(.packetType))
    sent += harness.drain()
    #expect(packets(sent) == [publish(.v5_0, "t", data, qos: .atMostOnce), [0xE0, 1, 0x81]])
    // Before 5.0 there is nothing to say, and nothing to end.
    let older = Self.harness(.v3_1_1)
    try older.stream("t", data)
    _ = older.transmit()
    older.receive(hex("00 00"))
    #expect(older.drain() == [])
    #expect(!older.wantsTransmit)
  }
}
