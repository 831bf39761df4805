import MQTTWire
import Testing

@testable import MQTTSession

/// From publish to completion (§4.3), on one connection.
@Suite struct PublishTests {
  /// A session that is connected, with that event taken.
  static func rig(
    _ version: ProtocolVersion, outboxBytes: Int = 4096, outboxMessages: Int = 32,
    inFlightMaximum: Int = 65_535, firstIdentifier: UInt16 = 1, properties: [UInt8] = []
  ) -> Rig {
    let rig = Rig(
      version, outboxBytes: outboxBytes, outboxMessages: outboxMessages, inFlightMaximum: inFlightMaximum,
      firstIdentifier: firstIdentifier)
    rig.connect(properties: properties)
    _ = rig.events()
    return rig
  }

  // MARK: Byte for byte

  @Test func qos0() throws {
    for (version, packet) in [
      (ProtocolVersion.v3_1_1, hex("30 05 00 01 61 68 69")), (.v5_0, hex("30 06 00 01 61 00 68 69")),
    ] {
      let rig = Self.rig(version)
      try rig.publish("a", "hi".bytes, cookie: 5)
      #expect(rig.outbox.messages == 1)
      #expect(rig.outboxNumbers.inFlight == 0)
      #expect(!rig.hasEvent)
      #expect(rig.drain() == packet)
      #expect(rig.outboxNumbers.inFlight == 0)
      #expect(rig.events() == [.delivered(5)])
      #expect(rig.outbox.messages == 0)
      #expect(rig.outbox.bytes == 0)
    }
  }

  @Test func qos1() throws {
    for (version, packet) in [
      (ProtocolVersion.v3_1_1, hex("33 07 00 01 61 00 01 68 69")),
      (.v5_0, hex("33 08 00 01 61 00 01 00 68 69")),
    ] {
      let rig = Self.rig(version)
      try rig.publish("a", "hi".bytes, qos: .atLeastOnce, retain: true, cookie: .max)
      #expect(rig.drain() == packet)
      #expect(rig.events() == [])
      #expect(rig.outboxNumbers.inFlight == 1)
      rig.receive(puback(1))
      #expect(rig.outboxNumbers.inFlight == 0)
      #expect(rig.drain() == [])
      #expect(rig.events() == [.delivered(.max)])
      #expect(rig.outbox.messages == 0)
    }
  }

  @Test func qos2() throws {
    for (version, packet) in [
      (ProtocolVersion.v3_1_1, hex("34 05 00 01 61 00 01")), (.v5_0, hex("34 06 00 01 61 00 01 00")),
    ] {
      let rig = Self.rig(version)
      try rig.publish("a", qos: .exactlyOnce, cookie: 1)
      #expect(rig.drain() == packet)
      rig.receive(pubrec(1))
      #expect(rig.events() == [])
      #expect(rig.outboxNumbers.inFlight == 1)
      #expect(rig.drain() == hex("62 02 00 01"))
      #expect(rig.drain() == [])
      #expect(rig.outboxNumbers.inFlight == 1)
      rig.receive(pubcomp(1))
      #expect(rig.outboxNumbers.inFlight == 0)
      #expect(rig.events() == [.delivered(1)])
      #expect(rig.drain() == [])
      #expect(rig.outbox.messages == 0)
    }
  }

  /// Every message is told of once, in the order in which they were done with.
  @Test(arguments: bothVersions)
  func order(version: ProtocolVersion) throws {
    let rig = Self.rig(version)
    let qos: [QoS] = [.exactlyOnce, .atLeastOnce, .atMostOnce, .atLeastOnce, .exactlyOnce, .atMostOnce]
    for (index, qos) in qos.enumerated() { try rig.publish(qos: qos, cookie: UInt64(index)) }
    #expect(packets(rig.drain()).count == 6)
    // QoS 0 takes a number too, though it doesn't show it.
    rig.receive(puback(4) + pubrec(5) + puback(2) + pubrec(1))
    #expect(rig.drain() == pubrel(5) + pubrel(1))
    rig.receive(pubcomp(1) + pubcomp(5))
    #expect(rig.outbox.messages == 6)
    #expect(
      rig.events() == [
        .delivered(2), .delivered(5), .delivered(3), .delivered(1), .delivered(0), .delivered(4),
      ])
    #expect(rig.outbox.messages == 0)
    #expect(rig.outbox.bytes == 0)
    #expect(rig.isDrained)
  }

  @Test(arguments: bothVersions, allQoS)
  func quiet(version: ProtocolVersion, qos: QoS) throws {
    let rig = Self.rig(version)
    try rig.publish(qos: qos, cookie: 1, isQuiet: true)
    try rig.publish(qos: qos, cookie: 2)
    _ = rig.drain()
    if qos == .atLeastOnce { rig.receive(puback(1) + puback(2)) }
    if qos == .exactlyOnce {
      rig.receive(pubrec(1) + pubrec(2))
      _ = rig.drain()
      rig.receive(pubcomp(1) + pubcomp(2))
    }
    // Its room came back without an event.
    #expect(rig.outbox.messages == 1)
    #expect(rig.events() == [.delivered(2)])
    #expect(rig.outbox.messages == 0)
  }

  @Test func quietIsToldOfWhenItFails() throws {
    let rig = Self.rig(.v5_0)
    try rig.publish(qos: .atLeastOnce, cookie: 1, isQuiet: true)
    try rig.publish(qos: .exactlyOnce, cookie: 2, isQuiet: true)
    _ = rig.drain()
    rig.receive(puback(1, 0x97) + pubrec(2, 0x83))
    #expect(rig.events() == [.refused(1, 0x97), .refused(2, 0x83)])
  }

  // MARK: Acknowledgements

  @Test(arguments: bothVersions)
  func outOfOrder(version: ProtocolVersion) throws {
    let rig = Self.rig(version)
    for cookie in 1...5 { try rig.publish(qos: .atLeastOnce, cookie: UInt64(cookie)) }
    _ = rig.drain()
    for identifier in [3, 5, 1, 4, 2] as [UInt16] { rig.receive(puback(identifier)) }
    #expect(rig.outboxNumbers.inFlight == 0)
    // The first is still in the way of the others, but they do not count any more.
    #expect(rig.event() == .delivered(3))
    #expect(rig.outbox.messages == 4)
    #expect(rig.event() == .delivered(5))
    #expect(rig.event() == .delivered(1))
    #expect(rig.outbox.messages == 2)
    #expect(rig.events() == [.delivered(4), .delivered(2)])
    #expect(rig.outbox.messages == 0)
  }

  @Test func refusals() throws {
    for code: UInt8 in [0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99] {
      let rig = Self.rig(.v5_0)
      try rig.publish(qos: .atLeastOnce, cookie: 1)
      try rig.publish(qos: .exactlyOnce, cookie: 2)
      _ = rig.drain()
      #expect(rig.outboxNumbers.inFlight == 2)
      rig.receive(puback(1, code) + pubrec(2, code))
      #expect(rig.events() == [.refused(1, code), .refused(2, code)])
      #expect(rig.outboxNumbers.inFlight == 0)
      // No PUBREL follows a PUBREC that refuses [MQTT-4.3.3-9].
      #expect(rig.drain() == [])
      #expect(rig.ending == nil)
    }
  }

  @Test func noMatchingSubscribersIsNoRefusal() throws {
    let rig = Self.rig(.v5_0)
    try rig.publish(qos: .atLeastOnce, cookie: 1)
    try rig.publish(qos: .exactlyOnce, cookie: 2)
    _ = rig.drain()
    rig.receive(puback(1, 0x10) + pubrec(2, 0x10))
    guard case .completed(let completion) = rig.session.nextEvent() else {
      Issue.record("no completion")
      return
    }
    #expect(completion.result == .delivered)
    #expect(completion.reasonCode == 0x10)
    #expect(rig.drain() == pubrel(2))
  }

  /// "The server's, if it gave one": PUBACK and PUBCOMP of 3.1.1 have none.
  @Test func reasonCodeOfDelivery() throws {
    for (version, code) in [(ProtocolVersion.v3_1_1, nil), (.v5_0, 0)] as [(ProtocolVersion, UInt8?)] {
      for qos in allQoS {
        let rig = Self.rig(version)
        try rig.publish(qos: qos)
        _ = rig.drain()
        rig.receive(qos == .atLeastOnce ? puback(1) : qos == .exactlyOnce ? pubrec(1) + pubcomp(1) : [])
        guard case .completed(let completion) = rig.session.nextEvent() else {
          Issue.record("no completion")
          continue
        }
        #expect(completion.reasonCode == (qos == .atMostOnce ? nil : code), "\(version) \(qos)")
      }
    }
  }

  /// "Packet Identifier not found": there is no PUBREL to wait for any more.
  @Test func pubcompThatDoesNotKnowTheIdentifier() throws {
    let rig = Self.rig(.v5_0)
    try rig.publish(qos: .exactlyOnce, cookie: 9)
    _ = rig.drain()
    rig.receive(pubrec(1))
    _ = rig.drain()
    rig.receive(pubcomp(1, 0x92))
    #expect(rig.events() == [.delivered(9)])
    #expect(rig.outboxNumbers.inFlight == 0)
  }

  @Test(arguments: bothVersions)
  func repeatedPubrec(version: ProtocolVersion) throws {
    let rig = Self.rig(version)
    try rig.publish(qos: .exactlyOnce, cookie: 9)
    _ = rig.drain()
    rig.receive(pubrec(1) + pubrec(1))
    #expect(rig.drain() == pubrel(1) + pubrel(1))
    rig.receive(pubrec(1))
    #expect(rig.drain() == pubrel(1))
    #expect(rig.outboxNumbers.inFlight == 1)
    rig.receive(pubcomp(1) + pubcomp(1))
    #expect(rig.outboxNumbers.inFlight == 0)
    #expect(rig.events() == [.delivered(9)])
    #expect(rig.ending == nil)
  }

  /// Nothing waits for these: they change nothing. Only PUBREC needs an answer.
  @Test(arguments: bothVersions)
  func unknownIdentifiers(version: ProtocolVersion) throws {
    let rig = Self.rig(version)
    try rig.publish(qos: .atLeastOnce, cookie: 1)
    try rig.publish(qos: .atMostOnce, cookie: 2)
    try rig.publish(qos: .exactlyOnce, cookie: 3)
    // 1 and 3 are queued, 2 is QoS 0, 4 is the next one, the others are far away.
    for identifier: UInt16 in [1, 2, 3, 4, 5, 100, 65_535] {
      rig.receive(puback(identifier) + pubcomp(identifier))
    }
    #expect(rig.counters.packetsReceived.uint64 == 15)
    #expect(rig.outbox.messages == 3)
    #expect(rig.events() == [])
    _ = rig.drain()
    let before = rig.numbers
    for identifier: UInt16 in [2, 4, 5, 100, 65_535] {
      rig.receive(puback(identifier) + pubcomp(identifier))
      #expect(rig.drain() == [])
      rig.receive(pubrec(identifier))
      #expect(rig.drain() == pubrel(identifier, version == .v5_0 ? 0x92 : 0))
      if version == .v5_0 {
        rig.receive(pubrec(identifier, 0x91))
        #expect(rig.drain() == [])
      }
    }
    #expect(rig.numbers == before)
    #expect(rig.ending == nil)
    #expect(rig.events() == [.delivered(2)])
  }

  /// A second acknowledgement of the same message, as long as its slot lives and after.
  @Test(arguments: bothVersions)
  func duplicates(version: ProtocolVersion) throws {
    let rig = Self.rig(version)
    try rig.publish(qos: .atLeastOnce, cookie: 1)
    try rig.publish(qos: .atLeastOnce, cookie: 2)
    _ = rig.drain()
    rig.receive(puback(2) + puback(2))
    #expect(rig.outboxNumbers.inFlight == 1)
    #expect(rig.events() == [.delivered(2)])
    rig.receive(puback(2))
    #expect(rig.outboxNumbers.inFlight == 1)
    rig.receive(puback(1) + puback(1))
    #expect(rig.events() == [.delivered(1)])
    rig.receive(puback(1) + puback(2))
    #expect(rig.outboxNumbers.inFlight == 0)
    #expect(rig.events() == [])
    #expect(rig.ending == nil)
  }

  struct Impossible: Sendable {
    let qos: QoS
    let isReleased: Bool
    let packet: [UInt8]
  }

  @Test(arguments: [
    Impossible(qos: .atLeastOnce, isReleased: false, packet: pubrec(1)),
    Impossible(qos: .atLeastOnce, isReleased: false, packet: pubcomp(1)),
    Impossible(qos: .exactlyOnce, isReleased: false, packet: puback(1)),
    Impossible(qos: .exactlyOnce, isReleased: false, packet: pubcomp(1)),
    Impossible(qos: .exactlyOnce, isReleased: true, packet: puback(1)),
  ])
  func impossible(_ impossible: Impossible) throws {
    for version in bothVersions {
      let rig = Self.rig(version)
      try rig.publish(qos: impossible.qos)
      _ = rig.drain()
      if impossible.isReleased { rig.receive(pubrec(1)) }
      _ = rig.drain()
      rig.receive(impossible.packet)
      #expect(rig.ending?.cause == .violation(.handshake))
      #expect(rig.drain() == (version == .v5_0 ? [0xE0, 1, 0x82] : []))
      #expect(rig.events() == [])
    }
  }

  // MARK: Calls that are not taken

  @Test func wrongTopics() {
    let rig = Self.rig(.v3_1_1)
    let before = rig.numbers
    for topic in ["", "+", "a/#", "a/+/b", String(repeating: "a", count: 65_536)] {
      #expect(throws: SessionError.topicName) { try rig.publish(topic) }
    }
    #expect(throws: SessionError.utf8) { try rig.publish("a\0b") }
    #expect(rig.numbers == before)
    #expect(rig.counters.messagesPublished.uint64 == 0)
  }

  @Test(arguments: bothVersions)
  func fullAndTooLarge(version: ProtocolVersion) throws {
    let rig = Self.rig(version, outboxBytes: 64, outboxMessages: 3)
    let overhead = version == .v5_0 ? 6 : 5
    #expect(throws: SessionError.tooLarge) {
      try rig.publish("a", [UInt8](repeating: 0, count: 65 - overhead))
    }
    #expect(rig.outbox.bytesPeak == 0)
    try rig.publish("a", [UInt8](repeating: 0, count: 64 - overhead), cookie: 1)
    var before = rig.numbers
    #expect(throws: SessionError.full) { try rig.publish("a") }
    #expect(rig.numbers == before)
    #expect(rig.outbox.bytes == 64)
    _ = rig.drain()
    // Its completion has not been taken; its bytes are free all the same.
    #expect(rig.outbox.bytes == 0)
    #expect(rig.outbox.messages == 1)
    #expect(rig.events() == [.delivered(1), .room])
    for cookie in 2...4 { try rig.publish("a", cookie: UInt64(cookie)) }
    before = rig.numbers
    #expect(throws: SessionError.full) { try rig.publish("a") }
    #expect(rig.numbers == before)
    #expect(rig.outbox.messagesPeak == 3)
    #expect(rig.counters.messagesPublished.uint64 == 4)
    _ = rig.drain()
    #expect(rig.events() == [.delivered(2), .delivered(3), .delivered(4), .room])
  }

  /// The event comes once, when there is something to tell, and not if room was found without it.
  @Test func roomIsToldOnce() throws {
    let rig = Self.rig(.v3_1_1, outboxMessages: 1)
    try rig.publish("a", isQuiet: true)
    #expect(throws: SessionError.full) { try rig.publish("a") }
    #expect(!rig.hasEvent)
    _ = rig.drain()
    #expect(rig.events() == [.room])
    #expect(rig.events() == [])
    try rig.publish("a", isQuiet: true)
    #expect(throws: SessionError.full) { try rig.publish("a") }
    _ = rig.drain()
    // Somebody smaller found room; whoever was refused is told all the same.
    try rig.publish("a", isQuiet: true)
    #expect(rig.events() == [.room])
  }

  // MARK: Counters

  @Test(arguments: bothVersions)
  func counters(version: ProtocolVersion) throws {
    let rig = Self.rig(version)
    let connected = rig.counters
    for qos in allQoS { try rig.publish(qos: qos) }
    let sent = rig.drain()
    rig.receive(puback(2) + pubrec(3))
    let released = rig.drain()
    rig.receive(pubcomp(3))
    _ = rig.events()
    let counters = rig.counters
    #expect(counters.messagesPublished.uint64 == 3)
    #expect(rig.outboxNumbers.delivered.uint64 == 3)
    #expect(rig.outboxNumbers.failed.uint64 == 0)
    #expect(counters.packetsSent.uint64 - connected.packetsSent.uint64 == 4)
    #expect(counters.packetsReceived.uint64 - connected.packetsReceived.uint64 == 3)
    #expect(counters.bytesSent.uint64 - connected.bytesSent.uint64 == UInt64(sent.count + released.count))
    #expect(counters.bytesReceived.uint64 - connected.bytesReceived.uint64 == 12)
    #expect(counters.sendCalls.uint64 - connected.sendCalls.uint64 == 2)
    #expect(counters.receiveCalls.uint64 - connected.receiveCalls.uint64 == 2)
  }

  @Test func failuresAreCounted() throws {
    let rig = Self.rig(.v5_0)
    try rig.publish(qos: .atLeastOnce)
    _ = rig.drain()
    rig.receive(puback(1, 0x80))
    _ = rig.events()
    #expect(rig.outboxNumbers.delivered.uint64 == 0)
    #expect(rig.outboxNumbers.failed.uint64 == 1)
  }

  /// `messages_completed`: "messages that ended as their QoS promises". Quiet ones did, too.
  @Test(arguments: allQoS)
  func quietMessagesAreCounted(qos: QoS) throws {
    let rig = Self.rig(.v3_1_1)
    try rig.publish(qos: qos, isQuiet: true)
    _ = rig.drain()
    rig.receive(qos == .atLeastOnce ? puback(1) : qos == .exactlyOnce ? pubrec(1) + pubcomp(1) : [])
    _ = rig.events()
    #expect(rig.outbox.messages == 0)
    #expect(rig.outboxNumbers.delivered.uint64 == 1)
  }
}
