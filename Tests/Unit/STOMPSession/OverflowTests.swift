import STOMPWire
import TestSupport
import Testing

@testable import STOMPSession

/// What happens when the outbox is full, and what has room of its own.
struct OverflowTests {
  typealias Harness = STOMPHarness

  /// The size of a frame whose body has one letter.
  private static let size = "SEND/destination:/queue/a/content-length:1//1^".utf8.count

  /// An outbox for three of them.
  private func offline(frames: Int = 8) -> Harness {
    Harness { ($0.outboxFrames, $0.outboxBytes) = (frames, 3 * Self.size) }
  }

  /// The bodies of the frames that are sent.
  private func bodies(_ harness: Harness) -> [String] {
    harness.sent().split(separator: "^").map { String($0.suffix(1)) }
  }

  @Test func theOldestMakesRoom() {
    let harness = offline()
    for body in 1...5 {
      #expect(harness.send("\(body)", cookie: UInt64(body), quiet: true, overflow: .dropOldest) == nil)
    }
    #expect(
      harness.session.outboxCounts.dropped.uint64 == 2 && harness.session.outboxCounts.failed.uint64 == 0)
    #expect(harness.events() == [])
    harness.connect()
    #expect(bodies(harness) == ["3", "4", "5"])
    #expect(harness.session.outboxCounts.delivered.uint64 == 3)
    // CONNECT and these.
    #expect(harness.session.counters.framesSent.uint64 == 4)
  }

  /// One that is not quiet is told. It keeps its place until then, and no bytes.
  @Test func droppedOnesAreTold() {
    let harness = offline(frames: 5)
    for body in 1...5 {
      #expect(harness.send("\(body)", cookie: UInt64(body), overflow: .dropOldest) == nil)
    }
    #expect(harness.session.outboxCounts.frames == 5 && harness.session.outboxCounts.bytes == 3 * Self.size)
    // There is no place, and so nothing is dropped.
    #expect(harness.send("6", overflow: .dropOldest) == .full)
    #expect(harness.session.outboxCounts.dropped.uint64 == 2)
    #expect(harness.events() == ["completed 1 dropped", "completed 2 dropped"])
    #expect(harness.send("6", cookie: 6, overflow: .dropOldest) == nil)
    harness.connect()
    #expect(bodies(harness) == ["4", "5", "6"])
  }

  /// It is dropped itself, and nobody is told: the call said so.
  @Test func theNewestIsDropped() {
    let harness = offline()
    for body in 1...5 {
      #expect(harness.send("\(body)", overflow: .dropNewest) == nil && harness.wasDropped == (body > 3))
    }
    #expect(harness.session.outboxCounts.dropped.uint64 == 2 && harness.events() == [])
    harness.connect()
    #expect(bodies(harness) == ["1", "2", "3"])
  }

  /// What has to stay keeps what lies behind it, too, and then nothing is dropped at all.
  @Test func whatHasToStay() {
    let harness = offline()
    for (body, overflow) in [(1, .dropOldest), (2, .refuse), (3, .dropOldest)] as [(Int, Overflow)] {
      #expect(harness.send("\(body)", quiet: true, overflow: overflow) == nil)
    }
    // For one the first is enough; for two of its size, the second would have to go.
    #expect(harness.send("44", quiet: true, overflow: .dropOldest) == .full)
    #expect(harness.session.outboxCounts.dropped.uint64 == 0)
    #expect(harness.send("4", quiet: true, overflow: .dropOldest) == nil)
    #expect(harness.send("5", quiet: true, overflow: .dropOldest) == .full)
    harness.connect()
    #expect(bodies(harness) == ["2", "3", "4"])
  }

  /// Where nothing could be dropped, the application is told when there is room.
  @Test func roomBehindWhatHasToStay() {
    let harness = offline()
    for body in 1...3 { #expect(harness.send("\(body)", quiet: true) == nil) }
    #expect(harness.send("4", quiet: true, overflow: .dropOldest) == .full && harness.events() == [])
    harness.connect()
    #expect(bodies(harness) == ["1", "2", "3"] && harness.events() == ["room"])
  }

  /// Of which a part was sent, or which waits for its receipt.
  @Test(arguments: [false, true])
  func whatIsBeingSent(_ hasReceipt: Bool) {
    let receipt = hasReceipt ? "receipt:1/".utf8.count : 0
    let harness = Harness { ($0.outboxFrames, $0.outboxBytes) = (8, 3 * Self.size + receipt) }
    harness.connect()
    #expect(harness.send("1", receipt: hasReceipt, overflow: .dropOldest) == nil)
    if hasReceipt { _ = harness.sent() } else { #expect(harness.part(5).count == 5) }
    for body in 2...3 { #expect(harness.send("\(body)", quiet: true, overflow: .dropOldest) == nil) }
    #expect(harness.send("4", quiet: true, overflow: .dropOldest) == .full)
    if hasReceipt {
      harness.say("RECEIPT/receipt-id:1//^")
      #expect(harness.send("4", quiet: true, overflow: .dropOldest) == nil)
      #expect(bodies(harness) == ["2", "3", "4"])
    } else {
      #expect(bodies(harness) == ["1", "2", "3"])
    }
  }

  /// The frame that the transport was offered is gone: what is sent next begins with a whole one.
  @Test func whatWasOffered() {
    let harness = offline()
    harness.connect()
    for body in 1...3 { #expect(harness.send("\(body)", quiet: true, overflow: .dropOldest) == nil) }
    #expect(harness.offer())
    #expect(harness.send("4", quiet: true, overflow: .dropOldest) == nil)
    #expect(bodies(harness) == ["2", "3", "4"])
    #expect(
      harness.send(String(repeating: "5", count: 3 * Self.size - 50), quiet: true, overflow: .dropOldest)
        == nil)
    #expect(harness.offer())
    #expect(harness.send("6", quiet: true, overflow: .dropOldest) == nil && bodies(harness) == ["6"])
  }

  /// Random frames of all policies against a list.
  @Test func aModel() {
    for seed in 1...300 {
      var random = SeededRandom(seed: UInt64(seed))
      let harness = Harness { ($0.outboxFrames, $0.outboxBytes) = (6, 400) }
      var waiting: [(body: String, isDroppable: Bool, isQuiet: Bool)] = []
      var dropped = 0
      for number in 0..<60 {
        if Int.random(in: 0..<10, using: &random) == 0 {
          let told = harness.events()
          #expect(told.allSatisfy { $0.hasSuffix("dropped") || $0 == "room" })
          continue
        }
        let body = "\(number)".appending(
          String(repeating: "x", count: Int.random(in: 0..<80, using: &random)))
        let overflow = [Overflow.refuse, .dropOldest, .dropNewest].randomElement(using: &random)!
        let isQuiet = Bool.random(using: &random)
        let before = harness.session.outboxCounts
        let error = harness.send(body, quiet: isQuiet, overflow: overflow)
        let after = harness.session.outboxCounts
        var gone = Int(after.dropped.uint64 - before.dropped.uint64)
        dropped += gone
        #expect(error == nil || error == .full && gone == 0 && after.bytes == before.bytes)
        if error == nil, overflow == .dropNewest, harness.wasDropped { gone -= 1 }
        #expect(gone == 0 || overflow == .dropOldest)
        // The oldest that may be dropped, with nothing that has to stay before them.
        while gone > 0 {
          #expect(waiting.first?.isDroppable == true)
          waiting.removeFirst()
          gone -= 1
        }
        if error == nil, !harness.wasDropped { waiting.append((body, overflow != .refuse, isQuiet)) }
        #expect(after.bytes <= 400 && after.frames <= 6)
      }
      harness.connect()
      let sent = harness.sent().split(separator: "^").map { String($0.split(separator: "/").last!) }
      #expect(sent == waiting.map(\.body), "seed \(seed)")
      #expect(harness.session.outboxCounts.delivered.uint64 == UInt64(waiting.count))
      #expect(harness.session.outboxCounts.dropped.uint64 == UInt64(dropped))
    }
  }

  // MARK: Urgent frames

  private func withUrgent() -> Harness {
    Harness { ($0.outboxFrames, $0.outboxBytes, $0.urgentFrames, $0.urgentBytes) = (3, 400, 2, 120) }
  }

  /// They go before all that waits, but behind a frame of which a part was sent.
  @Test func urgentOnesGoFirst() {
    let harness = withUrgent()
    harness.connect()
    #expect(harness.send("1") == nil && harness.send("2") == nil && harness.part(3).count == 3)
    #expect(harness.send("3", urgent: true) == nil && harness.send("4", urgent: true) == nil)
    #expect(harness.send("5", urgent: true) == .full)
    // The rest of the first one went out with those behind it, as the transport took them.
    #expect(harness.part(Self.size - 3).count == Self.size - 3)
    #expect(bodies(harness) == ["3", "4", "2"])
    // And the room for the one that was refused.
    #expect(harness.events().count == 5)
  }

  /// Whatever the transport takes at a time, what has to go first waits for no more than the frame that was begun.
  @Test(arguments: [1, 10, 30, 1000])
  func nothingIsOvertaken(_ piece: Int) throws {
    let harness = Harness { ($0.outboxBytes, $0.urgentFrames, $0.urgentBytes) = (2000, 2, 120) }
    _ = try harness.subscribe("d", .individual)
    harness.connect()
    _ = harness.sent()
    harness.say("RECEIPT/receipt-id:s0//^MESSAGE/subscription:0/message-id:m/ack:a/destination:d//1^")
    _ = harness.events()
    for body in 1...9 { #expect(harness.send("\(body)") == nil) }
    #expect(harness.part(3).count == 3)
    try harness.session.acknowledge(harness.token)
    #expect(harness.send("u", urgent: true) == nil)
    _ = try harness.subscribe("e")
    let frames = harness.sent(piece).split(separator: "^")
    #expect(frames[0].hasSuffix("/1") && frames[1].hasPrefix("ACK") && frames[2].hasSuffix("/u"))
    #expect(frames[3].hasPrefix("SUBSCRIBE") && frames[4].hasSuffix("/2") && frames.count == 12)
  }

  /// The server may have it: it goes again, and makes no room.
  @Test func whatWasSentBefore() {
    let harness = Harness { ($0.outboxFrames, $0.outboxBytes) = (4, 60) }
    harness.connect()
    #expect(harness.send("1", cookie: 1, receipt: true, again: true, overflow: .dropOldest) == nil)
    _ = harness.sent()
    harness.session.connectionClosed()
    #expect(harness.send("2", cookie: 2, overflow: .dropOldest) == .full && harness.events() == [])
    harness.connect()
    #expect(bodies(harness) == ["1"])
  }

  /// They have room when the outbox has none, and receipts of their own.
  @Test func urgentOnesHaveRoomOfTheirOwn() {
    let harness = withUrgent()
    for _ in 1...3 { #expect(harness.send("1", receipt: true) == nil) }
    #expect(harness.send("1") == .full)
    #expect(harness.send("u", cookie: 9, receipt: true, urgent: true) == nil)
    #expect(harness.session.outboxCounts.urgentFrames == 1)
    harness.connect()
    #expect(harness.sent().hasPrefix("SEND/destination:/queue/a/content-length:1/receipt:u1//u^SEND/"))
    #expect(harness.session.receiptsDue == 4)
    harness.say("RECEIPT/receipt-id:u1//^RECEIPT/receipt-id:1//^RECEIPT/receipt-id:u7//^")
    #expect(harness.events() == ["completed 9 delivered", "completed 0 delivered"])
    harness.session.connectionClosed()
    #expect(harness.events() == ["completed 0 unknown", "completed 0 unknown", "room"])
  }

  /// What is unknown goes again if it says so; ERROR names it.
  @Test func urgentOnesThatFail() {
    let harness = withUrgent()
    harness.connect()
    #expect(harness.send("1", cookie: 1, receipt: true, again: true, urgent: true) == nil)
    _ = harness.sent()
    harness.session.connectionClosed()
    harness.connect()
    #expect(bodies(harness) == ["1"])
    harness.say("ERROR/receipt-id:u1//no^")
    #expect(harness.events() == ["completed 1 refused"])
  }

  /// They wait for the next connection, like all others.
  @Test func leavingBeforeUrgentOnes() {
    let harness = withUrgent()
    harness.connect()
    #expect(harness.send("1", urgent: true) == nil && harness.offer())
    harness.session.beginDisconnect()
    #expect(harness.disconnect() && harness.sent() == "DISCONNECT/receipt:bye//^")
    harness.session.connectionClosed()
    harness.connect()
    #expect(bodies(harness) == ["1"] && harness.session.isDrained == true)
  }

  /// The version of the connection does not have what one says.
  @Test func urgentOnesOfAnotherVersion() {
    let harness = withUrgent()
    #expect(harness.send("1", to: "a\\b", cookie: 1, urgent: true) == nil)
    harness.connect("1.0")
    #expect(harness.sent() == "" && harness.events() == ["completed 1 version"])
  }

  /// Sent or not: who drains waits for its end.
  @Test func drainingWaitsForUrgentOnes() {
    let harness = withUrgent()
    harness.connect()
    #expect(harness.send("1", receipt: true, urgent: true) == nil && harness.session.isDrained == false)
    _ = harness.sent()
    #expect(harness.session.isDrained == false)
    harness.say("RECEIPT/receipt-id:u1//^")
    #expect(harness.session.isDrained == true)
  }
}
