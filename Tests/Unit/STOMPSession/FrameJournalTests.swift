import Journal
import STOMPWire
import Storage
import TestSupport
import Testing

@testable import STOMPSession

/// What was durable is there after a crash, and goes to the server before all that is new.
@Suite struct FrameJournalTests {
  private func send(_ body: String, _ number: Int) -> String {
    let digits = "\(number)"
    return "SEND/receipt:\(String(repeating: "0", count: 10 - digits.count))\(digits)/destination:/queue/a/"
      + "content-length:\(body.utf8.count)//\(body)^"
  }

  @Test func framesThatWereNeverSent() throws {
    let journal = try FrameJournalHarness()
    #expect(journal.stomp.send("none", cookie: 9, receipt: true, again: true) == nil)
    for number in 1...5 { #expect(journal.store("b\(number)", cookie: UInt64(number)) == nil) }
    journal.commit()
    #expect(journal.store("lost", cookie: 6) == nil)
    try journal.crash()
    #expect(journal.stomp.event() == "journal recovered(messages: 5)")
    #expect(journal.stomp.send("new", cookie: 7) == nil)
    journal.stomp.connect()
    #expect(
      journal.stomp.sent()
        == (1...5).map { send("b\($0)", $0) }.joined() + "SEND/destination:/queue/a/content-length:3//new^")
    #expect(journal.stomp.events() == ["completed 7 delivered"])
    for number in [2, 1, 3] { journal.stomp.say("RECEIPT/receipt-id:\(number)//^") }
    #expect(
      journal.stomp.events() == ["completed 2 delivered", "completed 1 delivered", "completed 3 delivered"])
    journal.commit()
    try journal.crash()
    #expect(journal.stomp.event() == "journal recovered(messages: 2)")
    journal.stomp.connect()
    // Their receipts are numbers of this process.
    #expect(journal.stomp.sent() == send("b4", 1) + send("b5", 2))
    journal.stomp.say("RECEIPT/receipt-id:1//^RECEIPT/receipt-id:2//^")
    #expect(journal.stomp.events() == ["completed 4 delivered", "completed 5 delivered"])
    journal.commit()
    try journal.crash()
    #expect(journal.stomp.event() == "")
  }

  /// Nothing waits for the disk, and what is confirmed before it is written never is.
  @Test func confirmedBeforeItIsWritten() throws {
    let journal = try FrameJournalHarness()
    journal.stomp.connect()
    #expect(journal.store("a", cookie: 1) == nil)
    #expect(journal.stomp.sent() == send("a", 1))
    #expect(!journal.write())
    journal.stomp.say("RECEIPT/receipt-id:0000000001//^")
    #expect(journal.stomp.events() == ["completed 1 delivered"])
    journal.stomp.now = journal.stomp.now.advanced(by: 100)
    #expect(!journal.write())
    #expect(journal.position.accepted == Counter(1) && journal.position.durable == Counter(1))
    #expect(journal.store("b") == nil)
    #expect(journal.position.accepted == Counter(2) && journal.position.durable == Counter(1))
  }

  @Test func waitsForOthers() throws {
    let journal = try FrameJournalHarness()
    #expect(journal.deadline == nil)
    #expect(journal.store("a") == nil)
    // What is new has to be looked at first.
    #expect(journal.deadline == journal.now)
    #expect(!journal.write())
    #expect(journal.deadline == journal.now.advanced(by: 20))
    journal.stomp.now = journal.stomp.now.advanced(by: 20)
    #expect(journal.write())
    #expect(journal.deadline == nil)
    #expect(journal.position.durable == Counter(0))
    journal.sync()
    #expect(journal.position.durable == Counter(1))
  }

  @Test func sentAgainAfterACut() throws {
    let journal = try FrameJournalHarness()
    journal.stomp.connect()
    #expect(journal.store("a", cookie: 1) == nil)
    #expect(journal.stomp.sent() == send("a", 1))
    journal.stomp.session.connectionClosed()
    #expect(journal.stomp.events() == [])
    journal.stomp.connect()
    #expect(journal.stomp.sent() == send("a", 1))
    // ERROR ends it, here and in the journal.
    journal.commit()
    journal.stomp.say("ERROR/receipt-id:1/message:no//^")
    journal.stomp.session.connectionClosed()
    #expect(journal.stomp.events() == ["completed 1 refused"])
    journal.commit()
    try journal.crash()
    #expect(journal.stomp.event() == "")
  }

  @Test func whatItTakes() throws {
    let without = STOMPHarness()
    #expect(without.send("a", stored: true) == .journal)
    let journal = try FrameJournalHarness { ($0.outboxBytes, $0.journalBlocks) = (16_384, 1) }
    #expect(journal.stomp.send(String(repeating: "x", count: 4000), stored: true) == .tooLarge)
    #expect(journal.stomp.send(String(repeating: "x", count: 4000)) == nil)
    #expect(journal.store("a") == nil)
  }

  /// Frames that have ended, and of which the disk does not know yet, take entries: others are accepted without one, and get it
  /// later.
  @Test func entriesAreUsedUp() throws {
    let journal = try FrameJournalHarness { ($0.outboxBytes, $0.outboxFrames) = (2048, 4) }
    journal.stomp.connect()
    for _ in 0..<4 { #expect(journal.store("a", quiet: true) == nil) }
    _ = journal.stomp.sent()
    #expect(journal.hurry())
    for number in 1...4 { journal.stomp.say("RECEIPT/receipt-id:\(number)//^") }
    // There are entries for two more than the outbox has places.
    for number in 1...4 { #expect(journal.store("b\(number)", quiet: true) == nil) }
    #expect(journal.store("c") == .full)
    #expect(journal.position.accepted == Counter(8))
    for durable in [4, 6, 8] {
      journal.sync()
      #expect(journal.position.durable == Counter(UInt32(durable)))
      #expect(journal.hurry() == (durable < 8))
    }
    _ = journal.stomp.sent()
    // One that ends without an entry needs none.
    for number in 5...8 { journal.stomp.say("RECEIPT/receipt-id:\(number)//^") }
    for number in 1...4 { #expect(journal.store("d\(number)", quiet: true) == nil) }
    _ = journal.stomp.sent()
    journal.stomp.say("RECEIPT/receipt-id:11//^")
    journal.commit()
    #expect(journal.position.durable == Counter(12))
    try journal.crash()
    #expect(journal.stomp.event() == "journal recovered(messages: 3)")
    journal.stomp.connect()
    #expect(journal.stomp.sent() == send("d1", 1) + send("d2", 2) + send("d4", 3))
  }

  /// Those that are sent again go one by one then, and the one with which it happens twice is refused.
  @Test func anErrorThatNamesNoFrame() throws {
    let journal = try FrameJournalHarness()
    for number in 1...4 { #expect(journal.store("b\(number)", cookie: UInt64(number)) == nil) }
    func fail() {
      journal.stomp.say("ERROR/message:no//^")
      journal.stomp.session.connectionClosed()
    }
    journal.stomp.connect()
    #expect(journal.stomp.sent() == (1...4).map { send("b\($0)", $0) }.joined())
    fail()
    journal.stomp.connect()
    #expect(journal.stomp.sent() == send("b1", 1))
    journal.stomp.say("RECEIPT/receipt-id:1//^")
    #expect(journal.stomp.events() == ["completed 1 delivered"])
    #expect(journal.stomp.sent() == send("b2", 2))
    fail()
    #expect(journal.stomp.events() == [])
    journal.stomp.connect()
    #expect(journal.stomp.sent() == send("b2", 2))
    fail()
    #expect(journal.stomp.events() == ["completed 2 refused"])
    journal.stomp.connect()
    #expect(journal.stomp.sent() == send("b3", 3))
    // One connection that breaks for another reason changes nothing.
    journal.stomp.session.connectionClosed()
    journal.stomp.connect()
    #expect(journal.stomp.sent() == send("b3", 3))
    journal.stomp.say("RECEIPT/receipt-id:3//^")
    #expect(journal.stomp.sent() == send("b4", 4))
    for number in 5...6 { #expect(journal.store("b\(number)", cookie: UInt64(number)) == nil) }
    #expect(journal.stomp.sent() == "")
    journal.stomp.say("RECEIPT/receipt-id:4//^")
    #expect(journal.stomp.sent() == send("b5", 5) + send("b6", 6))
    journal.commit()
    try journal.crash()
    #expect(journal.stomp.event() == "journal recovered(messages: 2)")
  }

  /// A frame is at fault only if nothing else was under way: neither a frame without a receipt, nor an acknowledgement.
  @Test func anErrorThatMayMeanAnother() throws {
    let journal = try FrameJournalHarness { ($0.urgentBytes, $0.urgentFrames) = (400, 4) }
    func fail() {
      journal.stomp.say("ERROR/message:no//^")
      journal.stomp.session.connectionClosed()
    }
    #expect(journal.store("a", cookie: 1) == nil)
    for _ in 0..<5 {
      journal.stomp.connect()
      #expect(journal.stomp.send("u", quiet: true, urgent: true) == nil)
      #expect(journal.stomp.sent().hasSuffix(send("a", 1)))
      fail()
      #expect(journal.stomp.events() == [])
    }
    for expected in [[], ["completed 1 refused"]] {
      journal.stomp.connect()
      #expect(journal.stomp.sent() == send("a", 1))
      fail()
      #expect(journal.stomp.events() == expected)
    }
  }

  /// Urgent frames go first, and one by one as well.
  @Test func anErrorWhileUrgentFramesGo() throws {
    let journal = try FrameJournalHarness { ($0.urgentBytes, $0.urgentFrames) = (400, 4) }
    func fail() {
      journal.stomp.say("ERROR/message:no//^")
      journal.stomp.session.connectionClosed()
    }
    #expect(journal.store("a", cookie: 1) == nil)
    journal.stomp.connect()
    _ = journal.stomp.sent()
    fail()
    for number in 1...2 {
      journal.stomp.connect()
      #expect(journal.stomp.send("u", receipt: true, quiet: true, urgent: true) == nil)
      #expect(journal.stomp.sent().contains("receipt:u\(number)/"))
      journal.stomp.say("RECEIPT/receipt-id:u\(number)//^")
      #expect(journal.stomp.sent() == send("a", 1))
      fail()
    }
    #expect(journal.stomp.events() == ["completed 1 refused"])
  }

  @Test(arguments: [false, true])
  func aDiskThatFails(isStrict: Bool) throws {
    let journal = try FrameJournalHarness { $0.journalIsStrict = isStrict }
    #expect(journal.store("a", cookie: 1) == nil)
    #expect(journal.hurry())
    journal.fail(arrived: true)
    #expect(journal.stomp.events() == ["journal failed(5)"])
    #expect(journal.store("b", cookie: 2) == (isStrict ? .journal : nil))
    #expect(journal.stomp.send("of no journal") == nil)
    #expect(journal.isPaused)
    #expect(journal.position.durable == Counter(0))
    journal.commit()
    #expect(journal.stomp.events() == ["journal healed"])
    #expect(journal.store("c", cookie: 3) == nil)
    journal.commit()
    try journal.crash()
    #expect(journal.stomp.event() == "journal recovered(messages: \(isStrict ? 2 : 3))")
  }

  @Test func corruption() throws {
    let journal = try FrameJournalHarness()
    for _ in 1...3 {
      #expect(journal.store("a") == nil)
      journal.commit()
    }
    journal.damage(block: 2)
    #expect(throws: RecoveryError.corrupt) { try journal.crash() }
  }

  /// The next process may have less room, or speak another version.
  @Test func anotherProcess() throws {
    let journal = try FrameJournalHarness()
    for body in ["a", "b", "c"] { #expect(journal.store(body, cookie: 4) == nil) }
    #expect(journal.stomp.send("d", to: "/queue/a\r", cookie: 5, stored: true) == nil)
    journal.commit()
    #expect(throws: RecoveryError.size) { try journal.crash { $0.outboxFrames = 3 } }
    #expect(throws: RecoveryError.size) { try journal.crash { $0.outboxBytes = 150 } }
    try journal.crash { $0.newest = .v11 }
    _ = journal.stomp.event()
    journal.stomp.connect("1.1")
    // Only 1.2 has an escape for a carriage return; the frame may have been sent by the process before.
    #expect(journal.stomp.sent() == send("a", 1) + send("b", 2) + send("c", 3))
    #expect(journal.stomp.events() == ["completed 5 unknown"])
  }

  /// What a library with a mistake has written is no frame.
  @Test(arguments: [
    "", "S", "SEND/receipt:0000000001/", "SEND/receipt:000000001x/a:b//^", "SEND/receipt:0000000001/a:b//",
    "SEND:receipt:0000000001/a:b//^", "SEND/receipt:00000000001/a//^",
  ])
  func noFrame(text: String) {
    let bytes = text.utf8.map { $0 == UInt8(ascii: "^") ? 0 : $0 == UInt8(ascii: "/") ? 10 : $0 }
    let isOne = StoredFrame.isOne(bytes.span)
    #expect(!isOne)
  }
}

/// Commits that fail, cuts and crashes, in any order: what was stored arrives, and in its order.
@Suite struct FrameJournalFuzzTests {
  private final class Run {
    private var random: SeededRandom
    private let journal: FrameJournalHarness
    private var isConnected = false
    private var count = 0
    /// What was accepted, and is not known to have ended: whether it was durable once.
    private var stored: [Int: Bool] = [:]
    private var isOfThisProcess: Set<Int> = []
    private(set) var received: Set<Int> = []
    /// Receipts that the server owes.
    private var receipts: [Int] = []

    init(seed: UInt64) throws {
      random = SeededRandom(seed: seed)
      let strict = random.percent(20)
      journal = try FrameJournalHarness(blocks: UInt32(random.from(16...40))) {
        $0.journalIsStrict = strict
        $0.outboxFrames = 24
      }
    }

    func run() throws {
      for _ in 0..<250 { try step() }
      for _ in 0..<200 {
        if !isConnected { connect() }
        journal.commit()
        hear()
        answer(receipts.count)
        if journal.isDrained { break }
      }
      #expect(journal.isDrained)
      for (number, isStored) in stored where isStored {
        #expect(received.contains(number), "\(number) was stored, and is lost")
      }
      // All have ended: the next process finds nothing.
      journal.commit()
      try journal.crash()
      #expect(journal.stomp.event() == "")
    }

    private func step() throws {
      switch random.below(16) {
      case 0...4:
        count += 1
        guard journal.store("\(count)", cookie: UInt64(count), quiet: random.percent(50)) == nil else {
          return
        }
        stored[count] = false
        isOfThisProcess.insert(count)
      case 5: _ = journal.stomp.send("other", receipt: true)
      case 6:
        if !journal.isWriting { _ = journal.hurry() }
      case 7: if journal.isWriting { journal.sync() }
      case 8: if journal.isWriting, random.percent(40) { journal.fail(arrived: random.percent(50)) }
      case 9:
        journal.commit()
        noteStored()
      case 10, 11: if isConnected { hear() }
      case 12: if isConnected { answer(random.from(0...receipts.count)) }
      case 13: if isConnected, random.percent(50) { cut() }
      case 14: if !isConnected { connect() }
      default:
        guard random.percent(40) else { return }
        try journal.crash(arrived: random.percent(50))
        (isConnected, receipts, isOfThisProcess) = (false, [], [])
      }
      _ = journal.stomp.events()
    }

    private func noteStored() {
      guard journal.isCurrent else { return }
      for number in isOfThisProcess { stored[number] = true }
    }

    private func connect() {
      journal.stomp.connect()
      isConnected = true
    }

    private func cut() {
      journal.stomp.session.connectionClosed()
      (isConnected, receipts) = (false, [])
    }

    /// The server hears what there is.
    private func hear() {
      let text = journal.stomp.sent()
      for frame in text.split(separator: "^") {
        let parts = frame.split(separator: "//", maxSplits: 1)
        if let number = Int(parts.last ?? "") { received.insert(number) }
        guard let start = frame.range(of: "receipt:") else { continue }
        receipts.append(Int(frame[start.upperBound...].prefix { $0.isNumber })!)
      }
    }

    /// And confirms some, in any order.
    private func answer(_ count: Int) {
      for _ in 0..<count where !receipts.isEmpty {
        journal.stomp.say("RECEIPT/receipt-id:\(receipts.remove(at: random.below(receipts.count)))//^")
        _ = journal.stomp.events()
      }
    }
  }

  @Test(arguments: 1...100)
  func anyHistory(seed: UInt64) throws { try Run(seed: seed).run() }
}
