import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

/// From publish to completion (§4.3), on one connection.
@Suite struct PublishTests {
  /// A session that is connected, with that event taken.
  static func harness(
    _ version: ProtocolVersion, outboxBytes: Int = 4096, outboxMessages: Int = 32,
    inFlightMaximum: Int = 65_535, firstIdentifier: UInt16 = 1, properties: [UInt8] = []
  ) -> SessionHarness {
    let harness = SessionHarness(
      version, outboxBytes: outboxBytes, outboxMessages: outboxMessages, inFlightMaximum: inFlightMaximum,
      firstIdentifier: firstIdentifier)
    harness.connect(properties: properties)
    _ = harness.events()
    return harness
  }

  // MARK: Byte for byte

  @Test func qos0() throws {
    for (version, packet) in [
      (ProtocolVersion.v3_1_1, hex("30 05 00 01 61 68 69")), (.v5_0, hex("30 06 00 01 61 00 68 69")),
    ] {
      let harness = Self.harness(version)
      try harness.publish("a", "hi".bytes, cookie: 5)
      #expect(harness.outbox.messages == 1)
      #expect(harness.outboxNumbers.inFlight == 0)
      #expect(!harness.hasEvent)
      #expect(harness.drain() == packet)
      #expect(harness.outboxNumbers.inFlight == 0)
      #expect(harness.events() == [.delivered(5)])
      #expect(harness.outbox.messages == 0)
      #expect(harness.outbox.bytes == 0)
    }
  }

  @Test func qos1() throws {
    for (version, packet) in [
      (ProtocolVersion.v3_1_1, hex("33 07 00 01 61 00 01 68 69")),
      (.v5_0, hex("33 08 00 01 61 00 01 00 68 69")),
    ] {
      let harness = Self.harness(version)
      try harness.publish("a", "hi".bytes, qos: .atLeastOnce, retain: true, cookie: .max)
      #expect(harness.drain() == packet)
      #expect(harness.events() == [])
      #expect(harness.outboxNumbers.inFlight == 1)
      harness.receive(puback(1))
      #expect(harness.outboxNumbers.inFlight == 0)
      #expect(harness.drain() == [])
      #expect(harness.events() == [.delivered(.max)])
      #expect(harness.outbox.messages == 0)
    }
  }

  @Test func qos2() throws {
    for (version, packet) in [
      (ProtocolVersion.v3_1_1, hex("34 05 00 01 61 00 01")), (.v5_0, hex("34 06 00 01 61 00 01 00")),
    ] {
      let harness = Self.harness(version)
      try harness.publish("a", qos: .exactlyOnce, cookie: 1)
      #expect(harness.drain() == packet)
      harness.receive(pubrec(1))
      #expect(harness.events() == [])
      #expect(harness.outboxNumbers.inFlight == 1)
      #expect(harness.drain() == hex("62 02 00 01"))
      #expect(harness.drain() == [])
      #expect(harness.outboxNumbers.inFlight == 1)
      harness.receive(pubcomp(1))
      #expect(harness.outboxNumbers.inFlight == 0)
      #expect(harness.events() == [.delivered(1)])
      #expect(harness.drain() == [])
      #expect(harness.outbox.messages == 0)
    }
  }

  /// Every message is told of once, in the order in which they were done with.
  @Test(arguments: bothVersions)
  func order(version: ProtocolVersion) throws {
    let harness = Self.harness(version)
    let qos: [QoS] = [.exactlyOnce, .atLeastOnce, .atMostOnce, .atLeastOnce, .exactlyOnce, .atMostOnce]
    for (index, qos) in qos.enumerated() { try harness.publish(qos: qos, cookie: UInt64(index)) }
    #expect(packets(harness.drain()).count == 6)
    // QoS 0 takes a number too, though it doesn't show it.
    harness.receive(puback(4) + pubrec(5) + puback(2) + pubrec(1))
    #expect(harness.drain() == pubrel(5) + pubrel(1))
    harness.receive(pubcomp(1) + pubcomp(5))
    #expect(harness.outbox.messages == 6)
    #expect(
      harness.events() == [
        .delivered(2), .delivered(5), .delivered(3), .delivered(1), .delivered(0), .delivered(4),
      ])
    #expect(harness.outbox.messages == 0)
    #expect(harness.outbox.bytes == 0)
    #expect(harness.isDrained)
  }

  @Test(arguments: bothVersions, allQoS)
  func quiet(version: ProtocolVersion, qos: QoS) throws {
    let harness = Self.harness(version)
    try harness.publish(qos: qos, cookie: 1, isQuiet: true)
    try harness.publish(qos: qos, cookie: 2)
    _ = harness.drain()
    if qos == .atLeastOnce { harness.receive(puback(1) + puback(2)) }
    if qos == .exactlyOnce {
      harness.receive(pubrec(1) + pubrec(2))
      _ = harness.drain()
      harness.receive(pubcomp(1) + pubcomp(2))
    }
    // Its room came back without an event.
    #expect(harness.outbox.messages == 1)
    #expect(harness.events() == [.delivered(2)])
    #expect(harness.outbox.messages == 0)
  }

  @Test func quietIsToldOfWhenItFails() throws {
    let harness = Self.harness(.v5_0)
    try harness.publish(qos: .atLeastOnce, cookie: 1, isQuiet: true)
    try harness.publish(qos: .exactlyOnce, cookie: 2, isQuiet: true)
    _ = harness.drain()
    harness.receive(puback(1, 0x97) + pubrec(2, 0x83))
    #expect(harness.events() == [.refused(1, 0x97), .refused(2, 0x83)])
  }

  // MARK: Acknowledgements

  @Test(arguments: bothVersions)
  func outOfOrder(version: ProtocolVersion) throws {
    let harness = Self.harness(version)
    for cookie in 1...5 { try harness.publish(qos: .atLeastOnce, cookie: UInt64(cookie)) }
    _ = harness.drain()
    for identifier in [3, 5, 1, 4, 2] as [UInt16] { harness.receive(puback(identifier)) }
    #expect(harness.outboxNumbers.inFlight == 0)
    // The first is still in the way of the others, but they do not count any more.
    #expect(harness.event() == .delivered(3))
    #expect(harness.outbox.messages == 4)
    #expect(harness.event() == .delivered(5))
    #expect(harness.event() == .delivered(1))
    #expect(harness.outbox.messages == 2)
    #expect(harness.events() == [.delivered(4), .delivered(2)])
    #expect(harness.outbox.messages == 0)
  }

  @Test func refusals() throws {
    for code: UInt8 in [0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99] {
      let harness = Self.harness(.v5_0)
      try harness.publish(qos: .atLeastOnce, cookie: 1)
      try harness.publish(qos: .exactlyOnce, cookie: 2)
      _ = harness.drain()
      #expect(harness.outboxNumbers.inFlight == 2)
      harness.receive(puback(1, code) + pubrec(2, code))
      #expect(harness.events() == [.refused(1, code), .refused(2, code)])
      #expect(harness.outboxNumbers.inFlight == 0)
      // No PUBREL follows a PUBREC that refuses [MQTT-4.3.3-9].
      #expect(harness.drain() == [])
      #expect(harness.ending == nil)
    }
  }

  @Test func noMatchingSubscribersIsNoRefusal() throws {
    let harness = Self.harness(.v5_0)
    try harness.publish(qos: .atLeastOnce, cookie: 1)
    try harness.publish(qos: .exactlyOnce, cookie: 2)
    _ = harness.drain()
    harness.receive(puback(1, 0x10) + pubrec(2, 0x10))
    guard case .completed(let completion) = harness.session.nextEvent() else {
      Issue.record("no completion")
      return
    }
    #expect(completion.result == .delivered)
    #expect(completion.reasonCode == 0x10)
    #expect(harness.drain() == pubrel(2))
  }

  /// "The server's, if it gave one": PUBACK and PUBCOMP of 3.1.1 have none.
  @Test func reasonCodeOfDelivery() throws {
    for (version, code) in [(ProtocolVersion.v3_1_1, nil), (.v5_0, 0)] as [(ProtocolVersion, UInt8?)] {
      for qos in allQoS {
        let harness = Self.harness(version)
        try harness.publish(qos: qos)
        _ = harness.drain()
        harness.receive(qos == .atLeastOnce ? puback(1) : qos == .exactlyOnce ? pubrec(1) + pubcomp(1) : [])
        guard case .completed(let completion) = harness.session.nextEvent() else {
          Issue.record("no completion")
          continue
        }
        #expect(completion.reasonCode == (qos == .atMostOnce ? nil : code), "\(version) \(qos)")
      }
    }
  }

  /// "Packet Identifier not found": there is no PUBREL to wait for any more.
  @Test func pubcompThatDoesNotKnowTheIdentifier() throws {
    let harness = Self.harness(.v5_0)
    try harness.publish(qos: .exactlyOnce, cookie: 9)
    _ = harness.drain()
    harness.receive(pubrec(1))
    _ = harness.drain()
    harness.receive(pubcomp(1, 0x92))
    #expect(harness.events() == [.delivered(9)])
    #expect(harness.outboxNumbers.inFlight == 0)
  }

  @Test(arguments: bothVersions)
  func repeatedPubrec(version: ProtocolVersion) throws {
    let harness = Self.harness(version)
    try harness.publish(qos: .exactlyOnce, cookie: 9)
    _ = harness.drain()
    harness.receive(pubrec(1) + pubrec(1))
    #expect(harness.drain() == pubrel(1) + pubrel(1))
    harness.receive(pubrec(1))
    #expect(harness.drain() == pubrel(1))
    #expect(harness.outboxNumbers.inFlight == 1)
    harness.receive(pubcomp(1) + pubcomp(1))
    #expect(harness.outboxNumbers.inFlight == 0)
    #expect(harness.events() == [.delivered(9)])
    #expect(harness.ending == nil)
  }

  /// Nothing waits for these: they change nothing. Only PUBREC needs an answer.
  @Test(arguments: bothVersions)
  func unknownIdentifiers(version: ProtocolVersion) throws {
    let harness = Self.harness(version)
    try harness.publish(qos: .atLeastOnce, cookie: 1)
    try harness.publish(qos: .atMostOnce, cookie: 2)
    try harness.publish(qos: .exactlyOnce, cookie: 3)
    // 1 and 3 are queued, 2 is QoS 0, 4 is the next one, the others are far away.
    for identifier: UInt16 in [1, 2, 3, 4, 5, 100, 65_535] {
      harness.receive(puback(identifier) + pubcomp(identifier))
    }
    #expect(harness.counters.packetsReceived.uint64 == 15)
    #expect(harness.outbox.messages == 3)
    #expect(harness.events() == [])
    _ = harness.drain()
    let before = harness.numbers
    for identifier: UInt16 in [2, 4, 5, 100, 65_535] {
      harness.receive(puback(identifier) + pubcomp(identifier))
      #expect(harness.drain() == [])
      harness.receive(pubrec(identifier))
      #expect(harness.drain() == pubrel(identifier, version == .v5_0 ? 0x92 : 0))
      if version == .v5_0 {
        harness.receive(pubrec(identifier, 0x91))
        #expect(harness.drain() == [])
      }
    }
    #expect(harness.numbers == before)
    #expect(harness.ending == nil)
    #expect(harness.events() == [.delivered(2)])
  }

  /// A second acknowledgement of the same message, as long as its slot lives and after.
  @Test(arguments: bothVersions)
  func duplicates(version: ProtocolVersion) throws {
    let harness = Self.harness(version)
    try harness.publish(qos: .atLeastOnce, cookie: 1)
    try harness.publish(qos: .atLeastOnce, cookie: 2)
    _ = harness.drain()
    harness.receive(puback(2) + puback(2))
    #expect(harness.outboxNumbers.inFlight == 1)
    #expect(harness.events() == [.delivered(2)])
    harness.receive(puback(2))
    #expect(harness.outboxNumbers.inFlight == 1)
    harness.receive(puback(1) + puback(1))
    #expect(harness.events() == [.delivered(1)])
    harness.receive(puback(1) + puback(2))
    #expect(harness.outboxNumbers.inFlight == 0)
    #expect(harness.events() == [])
    #expect(harness.ending == nil)
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
    // What it says beside that is not told: there is no such acknowledgement.
    Impossible(
      qos: .exactlyOnce, isReleased: true,
      packet: acknowledgement(0x40, 1, properties: userProperty("k", "v"))),
  ])
  func impossible(_ impossible: Impossible) throws {
    for version in bothVersions where version == .v5_0 || impossible.packet.count == 4 {
      let harness = Self.harness(version)
      try harness.publish(qos: impossible.qos)
      _ = harness.drain()
      if impossible.isReleased { harness.receive(pubrec(1)) }
      _ = harness.drain()
      harness.receive(impossible.packet)
      #expect(harness.ending?.cause == .violation(.handshake))
      #expect(harness.drain() == (version == .v5_0 ? [0xE0, 1, 0x82] : []))
      #expect(harness.events() == [])
    }
  }

  // MARK: Calls that are not taken

  @Test func wrongTopics() {
    let harness = Self.harness(.v3_1_1)
    let before = harness.numbers
    for topic in ["", "+", "a/#", "a/+/b", String(repeating: "a", count: 65_536)] {
      #expect(throws: SessionError.topicName) { try harness.publish(topic) }
    }
    #expect(throws: SessionError.utf8) { try harness.publish("a\0b") }
    #expect(harness.numbers == before)
    #expect(harness.counters.messagesPublished.uint64 == 0)
  }

  @Test(arguments: bothVersions)
  func fullAndTooLarge(version: ProtocolVersion) throws {
    let harness = Self.harness(version, outboxBytes: 64, outboxMessages: 3)
    let overhead = version == .v5_0 ? 6 : 5
    #expect(throws: SessionError.tooLarge) {
      try harness.publish("a", [UInt8](repeating: 0, count: 65 - overhead))
    }
    #expect(harness.outbox.bytesPeak == 0)
    try harness.publish("a", [UInt8](repeating: 0, count: 64 - overhead), cookie: 1)
    var before = harness.numbers
    #expect(throws: SessionError.full) { try harness.publish("a") }
    #expect(harness.numbers == before)
    #expect(harness.outbox.bytes == 64)
    _ = harness.drain()
    // Its completion has not been taken; its bytes are free all the same.
    #expect(harness.outbox.bytes == 0)
    #expect(harness.outbox.messages == 1)
    #expect(harness.events() == [.delivered(1), .room])
    for cookie in 2...4 { try harness.publish("a", cookie: UInt64(cookie)) }
    before = harness.numbers
    #expect(throws: SessionError.full) { try harness.publish("a") }
    #expect(harness.numbers == before)
    #expect(harness.outbox.messagesPeak == 3)
    #expect(harness.counters.messagesPublished.uint64 == 4)
    _ = harness.drain()
    #expect(harness.events() == [.delivered(2), .delivered(3), .delivered(4), .room])
  }

  /// The event comes once, when there is something to tell, and not if room was found without it.
  @Test func roomIsToldOnce() throws {
    let harness = Self.harness(.v3_1_1, outboxMessages: 1)
    try harness.publish("a", isQuiet: true)
    #expect(throws: SessionError.full) { try harness.publish("a") }
    #expect(!harness.hasEvent)
    _ = harness.drain()
    #expect(harness.events() == [.room])
    #expect(harness.events() == [])
    try harness.publish("a", isQuiet: true)
    #expect(throws: SessionError.full) { try harness.publish("a") }
    _ = harness.drain()
    // Somebody smaller found room; whoever was refused is told all the same.
    try harness.publish("a", isQuiet: true)
    #expect(harness.events() == [.room])
  }

  // MARK: Counters

  @Test(arguments: bothVersions)
  func counters(version: ProtocolVersion) throws {
    let harness = Self.harness(version)
    let connected = harness.counters
    for qos in allQoS { try harness.publish(qos: qos) }
    let sent = harness.drain()
    harness.receive(puback(2) + pubrec(3))
    let released = harness.drain()
    harness.receive(pubcomp(3))
    _ = harness.events()
    let counters = harness.counters
    #expect(counters.messagesPublished.uint64 == 3)
    #expect(harness.outboxNumbers.delivered.uint64 == 3)
    #expect(harness.outboxNumbers.failed.uint64 == 0)
    #expect(counters.packetsSent.uint64 - connected.packetsSent.uint64 == 4)
    #expect(counters.packetsReceived.uint64 - connected.packetsReceived.uint64 == 3)
    #expect(counters.bytesSent.uint64 - connected.bytesSent.uint64 == UInt64(sent.count + released.count))
    #expect(counters.bytesReceived.uint64 - connected.bytesReceived.uint64 == 12)
    #expect(counters.sendCalls.uint64 - connected.sendCalls.uint64 == 2)
    #expect(counters.receiveCalls.uint64 - connected.receiveCalls.uint64 == 2)
  }

  @Test func failuresAreCounted() throws {
    let harness = Self.harness(.v5_0)
    try harness.publish(qos: .atLeastOnce)
    _ = harness.drain()
    harness.receive(puback(1, 0x80))
    _ = harness.events()
    #expect(harness.outboxNumbers.delivered.uint64 == 0)
    #expect(harness.outboxNumbers.failed.uint64 == 1)
  }

  /// `messages_completed`: "messages that ended as their QoS promises". Quiet ones did, too.
  @Test(arguments: allQoS)
  func quietMessagesAreCounted(qos: QoS) throws {
    let harness = Self.harness(.v3_1_1)
    try harness.publish(qos: qos, isQuiet: true)
    _ = harness.drain()
    harness.receive(qos == .atLeastOnce ? puback(1) : qos == .exactlyOnce ? pubrec(1) + pubcomp(1) : [])
    _ = harness.events()
    #expect(harness.outbox.messages == 0)
    #expect(harness.outboxNumbers.delivered.uint64 == 1)
  }
}
