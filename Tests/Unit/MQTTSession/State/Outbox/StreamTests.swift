import MQTTWire
import Testing

@testable import MQTTSession

/// A payload that is supplied as it is sent: is the packet whole, and everything else in its place?
@Suite struct StreamTests {
  static func payload(_ count: Int) -> [UInt8] { ReservationTests.payload(count) }

  static func rig(_ version: ProtocolVersion, configure: (inout Rig.Options) -> Void = { _ in }) -> Rig {
    let rig = Rig(version) {
      $0.streamBytes = 64
      configure(&$0)
    }
    rig.connect()
    _ = rig.events()
    return rig
  }

  // MARK: Bytes

  /// Sizes around those of the buffer and of Remaining Length, supplied and sent in pieces of every kind.
  @Test(arguments: bothVersions, allQoS)
  func everySize(version: ProtocolVersion, qos: QoS) throws {
    for size in [0, 1, 2, 63, 64, 65, 110, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 300, 1000] {
      for (supplied, sent) in [(Int.max, Int.max), (1, .max), (.max, 1), (7, 5), (64, 63)] {
        let rig = Self.rig(version)
        rig.streamPiece = supplied
        let data = Self.payload(size)
        try rig.publish("before", qos: .atLeastOnce)
        try rig.stream("t", data, qos: qos, cookie: 1)
        try rig.publish("behind", qos: .atLeastOnce)
        let expected = [
          publish(version, "before", qos: .atLeastOnce, identifier: 1),
          publish(version, "t", data, qos: qos, identifier: 2),
          publish(version, "behind", qos: .atLeastOnce, identifier: 3),
        ]
        #expect(rig.drain(piece: sent) == Array(expected.joined()), "\(size) bytes by \(supplied)")
        #expect(rig.counters.packetsSent.uint64 == 4)
        if qos != .atMostOnce { rig.receive(qos == .atLeastOnce ? puback(2) : pubrec(2) + pubcomp(2)) }
        rig.receive(puback(1) + puback(3))
        #expect(rig.events().first == .delivered(1))
        #expect(rig.outbox.bytes == 0)
      }
    }
  }

  /// The outbox keeps topic and properties only.
  @Test func largerThanTheOutbox() throws {
    let rig = Self.rig(.v5_0) { $0.outboxBytes = 64 }
    let data = Self.payload(30_000)
    try rig.stream("t", data, properties: userProperty("k", "v"))
    #expect(rig.outbox.bytes < 20)
    let isRight =
      rig.drain() == publish(.v5_0, "t", data, qos: .atMostOnce, properties: userProperty("k", "v"))
    #expect(isRight)
    #expect(rig.events() == [.delivered(0)])
  }

  // MARK: Others

  /// Nothing gets into the middle of the packet, not even a PINGREQ; then it comes first.
  @Test func nothingInBetween() throws {
    let rig = Self.rig(.v3_1_1)
    let data = Self.payload(200)
    try rig.stream("t", data)
    try rig.publish("behind")
    rig.streamPiece = 10
    var sent = rig.transmit() ?? []
    sent += rig.transmit() ?? []
    rig.receive(pubrec(99))
    try rig.subscribe(["f"])
    rig.streamPiece = 0
    // It has nothing now: everybody waits.
    #expect(rig.transmit() == nil)
    #expect(!rig.wantsTransmit)
    rig.pass(59_000)
    #expect(rig.transmit() == nil)
    rig.streamPiece = .max
    sent += rig.drain()
    #expect(
      packets(sent) == [
        publish(.v3_1_1, "t", data, qos: .atMostOnce), pubrel(99), pingreq,
        request(.v3_1_1, 0x82, 65_280, [("f", 0)]), publish(.v3_1_1, "behind", qos: .atMostOnce),
      ])
  }

  /// Until it is begun, control packets and requests go first.
  @Test func beforeItIsBegun() throws {
    let rig = Self.rig(.v3_1_1)
    try rig.stream("t", [1])
    let isPrepared = rig.session.prepareTransmit(at: rig.now)
    #expect(isPrepared)
    rig.receive(pubrec(99))
    #expect(packets(rig.drain()) == [pubrel(99), publish(.v3_1_1, "t", [1], qos: .atMostOnce)])
  }

  /// One at a time: from the call to the completion.
  @Test func oneAtATime() throws {
    let rig = Self.rig(.v3_1_1)
    try rig.stream("t", [1], qos: .atLeastOnce)
    #expect(throws: SessionError.full) { try rig.stream("t", [1]) }
    try rig.publish("other", isQuiet: true)
    _ = rig.drain()
    #expect(throws: SessionError.full) { try rig.stream("t", [1]) }
    rig.receive(puback(1))
    try rig.stream("t", [2])
    #expect(rig.drain() == publish(.v3_1_1, "t", [2], qos: .atMostOnce))
    try rig.stream("t", [3])
  }

  @Test func wrongCalls() throws {
    let rig = Self.rig(.v5_0)
    #expect(throws: SessionError.topicName) { try rig.stream("", [1]) }
    #expect(throws: SessionError.tooLarge) { try rig.stream(String(repeating: "t", count: 5000), [1]) }
    #expect(throws: SessionError.property) { try rig.stream("t", [1], properties: topicAlias(1)) }
    let without = Rig(.v5_0)
    #expect(throws: SessionError.notSupported) { try without.stream("t", [1]) }
    rig.session.beginDisconnect(reasonCode: 0, properties: Span())
    #expect(throws: SessionError.leaving) { try rig.stream("t", [1]) }
  }

  // MARK: Limits

  /// What counts is the whole packet, whatever of it is here.
  @Test func maximumPacketSizeOfTheServer() throws {
    let size = publish(.v5_0, "t", Self.payload(100), qos: .atLeastOnce, identifier: 1).count
    for limit in [size - 1, size] {
      let rig = Self.rig(.v5_0)
      try rig.stream("t", Self.payload(100), qos: .atLeastOnce, cookie: 3)
      rig.reconnect(sessionPresent: false, properties: maximumPacketSize(UInt16(limit)))
      if limit == size {
        #expect(rig.drain().count == size)
      } else {
        #expect(rig.drain() == [])
        #expect(rig.events() == [.connected(sessionPresent: false), .aboveLimit(3, 0x95)])
        #expect(throws: SessionError.tooLarge) { try rig.stream("t", Self.payload(100), qos: .atLeastOnce) }
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
        let rig = Self.rig(version)
        try rig.stream("t", data, qos: qos, cookie: 1)
        try rig.publish("behind", cookie: 2)
        var sent = 0
        while sent < lost { sent += rig.transmit(min(lost - sent, 40))?.count ?? 0 }
        rig.reconnect(sessionPresent: isPresent)
        let again = rig.drain()
        let behind = publish(version, "behind", qos: .atMostOnce)
        let isWhole = lost == packet.count
        switch (qos, isWhole, isPresent) {
        case (.atMostOnce, true, _), (.exactlyOnce, true, false): #expect(again == behind)
        case (_, true, true):
          #expect(again == publish(version, "t", data, qos: qos, identifier: 1, duplicate: true) + behind)
        default: #expect(again == packet + behind, "after \(lost)")
        }
        if rig.outboxNumbers.inFlight > 0 {
          rig.receive(qos == .atLeastOnce ? puback(1) : pubrec(1) + pubcomp(1))
        }
        _ = rig.events()
        #expect(rig.outbox.messages == 0)
      }
    }
  }

  /// PUBREC came: the payload is not asked for any more.
  @Test func released() throws {
    let rig = Self.rig(.v3_1_1)
    try rig.stream("t", Self.payload(100), qos: .exactlyOnce, cookie: 1)
    _ = rig.drain()
    rig.receive(pubrec(1))
    rig.reconnect(sessionPresent: true)
    rig.streamPayload = []
    #expect(rig.drain() == pubrel(1))
    rig.receive(pubcomp(1))
    #expect(rig.events() == [.connected(sessionPresent: true), .delivered(1)])
    try rig.stream("t", [])
  }

  @Test func downgrade() throws {
    for size in [0, 60, 115, 120, 125, 130] {
      let rig = Self.rig(.v5_0) { $0.allowsFallback = true }
      let data = Self.payload(size)
      rig.lose()
      try rig.stream("t", data, qos: .atLeastOnce, properties: userProperty("k", "v"))
      #expect(rig.fallBack())
      rig.connect()
      #expect(rig.drain() == publish(.v3_1_1, "t", data, qos: .atLeastOnce, identifier: 1))
    }
  }

  // MARK: Giving up

  /// A packet once begun cannot be taken back: the connection ends, and so does the message.
  @Test(arguments: bothVersions, [0, 10])
  func pullFails(version: ProtocolVersion, supplied: Int) throws {
    let rig = Self.rig(version)
    try rig.publish("before", qos: .atLeastOnce, cookie: 1)
    try rig.stream("t", Self.payload(100), qos: .atLeastOnce, cookie: 2)
    try rig.publish("behind", qos: .atLeastOnce, cookie: 3)
    for _ in 0..<2 { _ = rig.transmit() }
    rig.streamPiece = supplied
    #expect((rig.transmit() ?? []).count == supplied)
    rig.session.pullFailed()
    #expect(rig.ending?.cause == .stream)
    #expect(rig.drain() == [])
    #expect(!rig.wantsReceive)
    #expect(rig.events() == [.failed(2, .aborted)])
    rig.reconnect(sessionPresent: true)
    #expect(
      rig.drain() == publish(version, "before", qos: .atLeastOnce, identifier: 1, duplicate: true)
        + publish(version, "behind", qos: .atLeastOnce, identifier: 3))
    rig.receive(puback(1) + puback(3))
    #expect(rig.events() == [.connected(sessionPresent: true), .delivered(1), .delivered(3)])
    #expect(rig.outbox.bytes == 0)
    try rig.stream("t", [1])
  }

  /// Whoever leaves in the middle of the packet ends it first: DISCONNECT comes after it, and keeps the Will back.
  @Test(arguments: bothVersions)
  func leaving(version: ProtocolVersion) throws {
    let rig = Self.rig(version)
    let data = Self.payload(200)
    try rig.stream("t", data, cookie: 2)
    try rig.publish("behind", cookie: 3)
    var sent = rig.transmit() ?? []
    sent += rig.transmit() ?? []
    #expect(rig.disconnect())
    sent += rig.drain()
    #expect(packets(sent) == [publish(version, "t", data, qos: .atMostOnce), [0xE0, 0]])
    #expect(!rig.wantsTransmit)
    #expect(rig.events() == [.delivered(2)])
  }

  /// The same when the server broke a rule: 5.0 hears which.
  @Test func violationInTheMiddle() throws {
    let rig = Self.rig(.v5_0)
    let data = Self.payload(200)
    try rig.stream("t", data)
    var sent = rig.transmit() ?? []
    sent += rig.transmit() ?? []
    rig.receive(hex("00 00"))
    #expect(rig.ending?.cause == .malformed(.packetType))
    sent += rig.drain()
    #expect(packets(sent) == [publish(.v5_0, "t", data, qos: .atMostOnce), [0xE0, 1, 0x81]])
    // Before 5.0 there is nothing to say, and nothing to end.
    let older = Self.rig(.v3_1_1)
    try older.stream("t", data)
    _ = older.transmit()
    older.receive(hex("00 00"))
    #expect(older.drain() == [])
    #expect(!older.wantsTransmit)
  }
}
