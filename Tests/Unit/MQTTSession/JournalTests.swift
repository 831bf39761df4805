import Journal
import MQTTWire
import Storage
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

  // MARK: The disk fails

  /// After a failure it is tried again, ever more seldom; the application hears of the first, and of the end.
  @Test func failures() throws {
    let journal = try JournalHarness(.v3_1_1)
    try journal.session.publish("a", qos: .atLeastOnce)
    var waits: [UInt32] = []
    for _ in 0..<12 {
      #expect(journal.write())
      let before = journal.pauses
      journal.fail(arrived: false)
      journal.pauses = before
      var wait: UInt32 = 0
      while !journal.write() {
        wait += 100
        journal.pauses = before + wait
      }
      waits.append(wait)
      // That was the next attempt: it goes to other blocks.
      journal.fail(arrived: true)
    }
    #expect(Array(waits.prefix(5)) == [100, 400, 1600, 6400, 25600] && waits.last == 51_200)
    #expect(journal.session.events() == [.journal(.failed(5))])
    journal.commit()
    #expect(journal.session.events() == [.journal(.healed)])
    try journal.crash()
    #expect(journal.session.outbox.messages == 1)
  }

  @Test func strictAndNot() throws {
    for isStrict in [false, true] {
      let journal = try JournalHarness(.v3_1_1) { $0.journalIsStrict = isStrict }
      try journal.session.publish("a", qos: .atLeastOnce)
      #expect(journal.write())
      journal.fail(arrived: false)
      try journal.session.publish("b", qos: .atMostOnce)
      if isStrict {
        #expect(throws: SessionError.journal) { try journal.session.publish("c", qos: .atLeastOnce) }
        #expect(throws: SessionError.journal) {
          try journal.session.publish("c", qos: .exactlyOnce, isQuiet: true)
        }
      } else {
        try journal.session.publish("c", qos: .atLeastOnce)
      }
      journal.commit()
      try journal.session.publish("d", qos: .exactlyOnce)
      journal.commit()
      try journal.crash()
      #expect(journal.session.outbox.messages == (isStrict ? 2 : 3))
    }
  }

  // MARK: What is stored

  @Test func positions() throws {
    let journal = try JournalHarness(.v3_1_1) { $0.journalTellsStored = true }
    try journal.session.publish("none", qos: .atMostOnce)
    for _ in 0..<3 { try journal.session.publish("a", qos: .atLeastOnce) }
    #expect(journal.position == (Counter(3), Counter(0)))
    #expect(journal.write())
    try journal.session.publish("a", qos: .atLeastOnce)
    #expect(journal.position == (Counter(4), Counter(0)))
    journal.sync()
    #expect(journal.position == (Counter(4), Counter(3)))
    #expect(journal.session.events() == [.journal(.stored(Counter(3)))])
    journal.commit()
    #expect(journal.position == (Counter(4), Counter(4)))
    #expect(journal.session.events() == [.journal(.stored(Counter(4)))])
    try journal.crash()
    #expect(journal.position == (Counter(4), Counter(4)))
    #expect(journal.session.events() == [.journal(.recovered(messages: 4))])
  }

  /// More than a commit has room for: the next one follows without a delay, and positions move on with each.
  @Test func moreThanACommit() throws {
    let journal = try JournalHarness(.v3_1_1, blocks: 64) {
      $0.journalDelay = 1000
      $0.outboxBytes = 65_536
      $0.outboxMessages = 64
    }
    let payload = [UInt8](repeating: 7, count: 1000)
    for _ in 0..<15 { try journal.session.publish("a", payload, qos: .atLeastOnce) }
    #expect(!journal.write())
    for _ in 0..<25 { try journal.session.publish("a", payload, qos: .atLeastOnce) }
    // The commit is full, so it does not wait.
    #expect(journal.write())
    journal.sync()
    #expect(journal.position == (Counter(40), Counter(15)))
    #expect(journal.write())
    journal.sync()
    #expect(journal.position == (Counter(40), Counter(30)))
    #expect(journal.write())
    journal.sync()
    #expect(journal.position == (Counter(40), Counter(40)))
  }

  @Test func theLargestMessage() throws {
    let journal = try JournalHarness(.v5_0) { $0.outboxBytes = 65_536 }
    func payload(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
    let overhead = publish(.v5_0, "a", payload(16_000), qos: .atLeastOnce, identifier: 1).count - 16_000
    let largest = 4 * Block.room - 8 - 30 - overhead
    try journal.session.publish("a", payload(largest), qos: .atLeastOnce)
    #expect(throws: SessionError.tooLarge) {
      try journal.session.publish("a", payload(largest + 1), qos: .atLeastOnce)
    }
    try journal.session.publish("a", payload(largest + 1), qos: .atMostOnce)
    journal.commit()
    try journal.crash()
    #expect(journal.session.outbox.messages == 1)
  }

  /// What its time is up for while no process runs ends as expired.
  @Test func expiryGoesOn() throws {
    for (passed, left) in [(0, 2), (30, 2), (70, 1), (3_000_000_000, 2)] as [(UInt32, Int)] {
      let journal = try JournalHarness(.v5_0)
      try journal.session.publish("a", qos: .atLeastOnce, expiry: 60)
      try journal.session.publish("b", qos: .atLeastOnce)
      journal.commit()
      journal.wallClock &+= passed
      try journal.crash()
      journal.session.connect(sessionPresent: true)
      _ = journal.session.events()
      journal.session.advanceClock(2000)
      let sent = packets(journal.session.drain()).map { ReadPublish($0, .v5_0) }
      #expect(sent.count == left, "\(passed)")
    }
  }

  /// A message that stays is written ahead of those that do not, and the ring does not fill up.
  @Test func cleaning() throws {
    let journal = try JournalHarness(.v3_1_1, blocks: 40) {
      $0.outboxBytes = 32_768
      $0.urgentMessages = 1
    }
    journal.session.connect()
    _ = journal.session.events()
    #expect(
      try journal.session.publish("stays", [1], qos: .atLeastOnce, overflow: .refuse, isUrgent: true))
    #expect(journal.session.drain().count > 0)
    for round in 0..<300 {
      let payload = [UInt8](repeating: UInt8(round % 251), count: 3000)
      try journal.session.publish("a", payload, qos: .atLeastOnce)
      let sent = packets(journal.session.drain()).map { ReadPublish($0, .v3_1_1) }
      #expect(journal.write())
      journal.sync()
      for packet in sent { journal.session.receive(puback(packet.identifier)) }
      #expect(journal.session.events().count == 1)
    }
    journal.commit()
    try journal.crash()
    journal.session.connect(sessionPresent: true)
    _ = journal.session.events()
    #expect(packets(journal.session.drain()).map { ReadPublish($0, .v3_1_1).topic } == ["stays"])
  }
}
