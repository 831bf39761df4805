import Journal
import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

/// What was durable is there after a crash, and what has to wait for that does.
@Suite struct JournalTests {
  @Test(arguments: bothVersions)
  func messagesThatWereNeverSent(version: ProtocolVersion) throws {
    let journal = try JournalHarness(version)
    try journal.session.publish("none", qos: .atMostOnce)
    for number in 1...5 {
      try journal.session.publish(
        "topic \(number)", Array("payload \(number)".bytes),
        qos: number % 2 == 0 ? .exactlyOnce : .atLeastOnce,
        cookie: UInt64(number))
    }
    journal.commit()
    try journal.session.publish("lost", qos: .atLeastOnce, cookie: 6)
    try journal.crash()
    #expect(journal.session.outbox.messages == 5)
    journal.session.connect(sessionPresent: true)
    _ = journal.session.events()
    journal.commit()
    let sent = packets(journal.session.drain()).map { ReadPublish($0, version) }
    #expect(sent.map(\.topic) == (1...5).map { "topic \($0)" })
    #expect(sent.map(\.payload) == (1...5).map { "payload \($0)".bytes })
    #expect(sent.map(\.qos) == [1, 2, 1, 2, 1] && sent.allSatisfy { !$0.duplicate })
    for packet in sent where packet.qos == 1 { journal.session.receive(puback(packet.identifier)) }
    #expect(journal.session.events() == [.delivered(1), .delivered(3), .delivered(5)])
    journal.commit()
    try journal.crash()
    #expect(journal.session.outbox.messages == 2)
  }

  /// QoS 1 does not wait for the disk.
  @Test func atLeastOnceLeavesAtOnce() throws {
    let journal = try JournalHarness(.v3_1_1)
    journal.session.connect()
    _ = journal.session.events()
    try journal.session.publish("a", qos: .atLeastOnce, cookie: 1)
    #expect(journal.session.drain() == publish(.v3_1_1, "a", qos: .atLeastOnce, identifier: 1))
    journal.session.receive(puback(1))
    // It was acknowledged before it was written, and never is.
    #expect(!journal.write())
    #expect(journal.session.events() == [.delivered(1)])
  }

  @Test func exactlyOnceWaits() throws {
    let journal = try JournalHarness(.v3_1_1)
    journal.session.connect()
    _ = journal.session.events()
    try journal.session.publish("a", [7], qos: .exactlyOnce, cookie: 1)
    let packet = publish(.v3_1_1, "a", [7], qos: .exactlyOnce, identifier: 1)
    #expect(journal.session.drain() == [])
    #expect(journal.write())
    #expect(journal.session.drain() == [])
    journal.sync()
    #expect(journal.session.drain() == packet)
    // It may have been sent: it goes again with DUP.
    try journal.crash()
    journal.session.connect(sessionPresent: true)
    _ = journal.session.events()
    #expect(
      journal.session.drain() == publish(.v3_1_1, "a", [7], qos: .exactlyOnce, identifier: 1, duplicate: true)
    )
    journal.session.receive(pubrec(1))
    #expect(journal.session.drain() == [])
    #expect(journal.write())
    #expect(journal.session.drain() == [])
    // Before that is durable, PUBLISH goes again.
    journal.fail(arrived: false)
    #expect(journal.session.drain() == [])
    journal.commit()
    #expect(journal.session.drain() == pubrel(1))
    try journal.crash()
    journal.session.connect(sessionPresent: true)
    _ = journal.session.events()
    #expect(journal.session.drain() == pubrel(1))
    journal.session.receive(pubcomp(1))
    #expect(journal.session.events() == [.delivered(1)])
    journal.commit()
    try journal.crash()
    #expect(journal.session.outbox.messages == 0)
  }

  @Test func receivedMessages() throws {
    let journal = try JournalHarness(.v3_1_1)
    journal.session.connect()
    _ = journal.session.events()
    journal.session.receive(publish(.v3_1_1, "b", qos: .exactlyOnce, identifier: 9))
    #expect(journal.session.events().count == 1)
    #expect(journal.session.drain() == pubrec(9))
    journal.commit()
    try journal.crash()
    journal.session.connect(sessionPresent: true)
    _ = journal.session.events()
    // It was delivered: not again.
    journal.session.receive(publish(.v3_1_1, "b", qos: .exactlyOnce, identifier: 9, duplicate: true))
    #expect(journal.session.events() == [])
    #expect(journal.session.drain() == pubrec(9))
    journal.session.receive(pubrel(9))
    #expect(journal.session.drain() == [])
    journal.commit()
    #expect(journal.session.drain() == pubcomp(9))
    try journal.crash()
    journal.session.connect(sessionPresent: true)
    _ = journal.session.events()
    // A new message with its identifier.
    journal.session.receive(publish(.v3_1_1, "c", qos: .exactlyOnce, identifier: 9))
    #expect(journal.session.events().count == 1)
  }

  @Test func corruption() throws {
    let journal = try JournalHarness(.v3_1_1)
    for number in 1...3 {
      try journal.session.publish("a", qos: .atLeastOnce, cookie: UInt64(number))
      journal.commit()
    }
    journal.damage(block: 2)
    #expect(throws: RecoveryError.corrupt) { try journal.crash() }
  }

  /// A replaced value does not hide the messages before it, and QoS 0 that becomes QoS 1 goes behind those it met.
  @Test func latestValues() throws {
    let journal = try JournalHarness(.v3_1_1)
    #expect(try journal.session.publish("b", [1], qos: .atMostOnce, overflow: .latest))
    try journal.session.publish("a", [2], qos: .exactlyOnce)
    #expect(try journal.session.publish("b", [3], qos: .atLeastOnce, overflow: .latest))
    #expect(try journal.session.publish("b", [4], qos: .atLeastOnce, overflow: .latest))
    #expect(journal.session.events().count == 2)
    journal.commit()
    #expect(try journal.session.publish("b", [5], qos: .atLeastOnce, overflow: .latest))
    journal.commit()
    try journal.crash()
    journal.session.connect(sessionPresent: true)
    _ = journal.session.events()
    journal.commit()
    let sent = packets(journal.session.drain()).map { ReadPublish($0, .v3_1_1) }
    #expect(sent.map(\.payload) == [[2], [5]])
  }

  /// A replaced value is known at once. If it is acknowledged before it is written, it never is.
  @Test func replacedAndAcknowledged() throws {
    let journal = try JournalHarness(.v3_1_1)
    journal.session.connect()
    _ = journal.session.events()
    for payload in UInt8(1)...2 {
      #expect(try journal.session.publish("b", [payload], qos: .atLeastOnce, overflow: .latest))
    }
    #expect(journal.session.drain() == publish(.v3_1_1, "b", [2], qos: .atLeastOnce, identifier: 1))
    journal.session.receive(puback(1))
    _ = journal.session.events()
    #expect(!journal.write())
  }

  /// An identifier that the journal has been told is the message's own: what ended in front of it does not move it up.
  @Test func identifiersStay() throws {
    let journal = try JournalHarness(.v5_0) { $0.outboxMessages = 3 }
    journal.session.connect()
    _ = journal.session.events()
    try journal.session.publish("a", qos: .atLeastOnce)
    _ = journal.session.drain()
    try journal.session.publish("b", qos: .atLeastOnce, expiry: 1)
    try journal.session.publish("c", qos: .exactlyOnce)
    journal.commit()
    journal.session.advanceClock(2000)
    #expect(journal.session.events().count == 1)
    #expect(throws: SessionError.full) { try journal.session.publish("d", qos: .atLeastOnce) }
    #expect(journal.session.drain() == publish(.v5_0, "c", qos: .exactlyOnce, identifier: 3))
    journal.commit()
    try journal.crash()
    journal.session.connect(sessionPresent: true)
    _ = journal.session.events()
    let sent = packets(journal.session.drain()).map { ReadPublish($0, .v5_0) }
    #expect(sent.map(\.topic) == ["a", "c"] && sent[1].identifier == 3)
  }

  /// What a commit had that has failed may be nowhere else than before it: until the journal has all of that again,
  /// it is kept.
  @Test func whatWasBeforeAFailureIsKept() throws {
    let journal = try JournalHarness(.v3_1_1) { $0.outboxBytes = 65_536 }
    // Another message has no room in a commit with it.
    func large(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: 16_120) }
    #expect(try journal.session.publish("large", large(1), qos: .atLeastOnce, overflow: .latest))
    journal.commit()
    #expect(try journal.session.publish("small", [1], qos: .atLeastOnce, overflow: .latest))
    journal.commit()
    // Their identifiers are news of both; the small one gets another payload, and then the large one.
    journal.session.connect()
    _ = journal.session.events()
    #expect(journal.write())
    journal.fail(arrived: false)
    #expect(try journal.session.publish("small", [2], qos: .atLeastOnce, overflow: .latest))
    #expect(journal.write())
    journal.fail(arrived: false)
    #expect(try journal.session.publish("large", large(2), qos: .atLeastOnce, overflow: .latest))
    #expect(journal.write())
    journal.sync()
    try journal.crash()
    journal.session.connect(sessionPresent: true)
    _ = journal.session.events()
    let sent = packets(journal.session.drain()).map { ReadPublish($0, .v3_1_1) }
    #expect(sent.map(\.payload) == [large(2), [1]])
  }

  /// QoS 0 alone is no news, also when the server has a new session.
  @Test func nothingToHoldBack() throws {
    let journal = try JournalHarness(.v3_1_1)
    try journal.session.publish("a")
    journal.session.connect(sessionPresent: false)
    _ = journal.session.events()
    #expect(!journal.write())
    #expect(journal.session.drain() == publish(.v3_1_1, "a", qos: .atMostOnce))
  }

  /// The driver asks first.
  @Test func pubcompIsWanted() throws {
    let journal = try JournalHarness(.v3_1_1)
    journal.session.connect()
    _ = journal.session.events()
    journal.session.receive(publish(.v3_1_1, "b", qos: .exactlyOnce, identifier: 9))
    _ = journal.session.events()
    journal.commit()
    _ = journal.session.drain()
    journal.session.receive(pubrel(9))
    #expect(!journal.session.wantsTransmit)
    journal.commit()
    #expect(journal.session.wantsTransmit)
    #expect(journal.session.drain() == pubcomp(9))
  }
}
