import STOMPWire
import Testing

@testable import STOMPSession

/// Messages that wait for ACK, one by one and in whatever order.
struct AcknowledgementTests {
  typealias Harness = STOMPHarness

  private static func message(_ number: Int, of slot: Int = 0) -> String {
    "MESSAGE/subscription:\(slot)/message-id:m/ack:a\(number)/destination:d//\(number)^"
  }

  private func connected(
    _ mode: AckMode, _ configure: (inout Harness.Options) -> Void = { _ in }
  ) throws -> Harness {
    let harness = Harness(configure)
    _ = try harness.subscribe("d", mode)
    harness.connect()
    _ = harness.sent()
    harness.say("RECEIPT/receipt-id:s0//^")
    _ = harness.events()
    return harness
  }

  /// Client-individual: one slow job keeps none of those behind it from making room.
  @Test func theOldestIsTheSlowest() throws {
    let harness = try connected(.individual) { ($0.heldMessages, $0.controlBytes) = (3, 2048) }
    harness.say(Self.message(0))
    _ = harness.events()
    let slow = harness.token
    var earlier: [UInt64] = []
    for number in 1...50 {
      harness.say(Self.message(number))
      #expect(harness.events() == ["message 0 d \"\(number)\""])
      try harness.session.acknowledge(harness.token)
      #expect(harness.sent() == "ACK/id:a\(number)//^" && harness.session.heldCount == 1)
      earlier.append(harness.token)
    }
    // Their slots were used again, their tokens are none.
    #expect(Set(earlier).count == 50)
    for token in earlier { #expect(throws: STOMPError.token) { try harness.session.acknowledge(token) } }
    try harness.session.acknowledge(slow)
    #expect(harness.sent() == "ACK/id:a0//^" && harness.session.heldCount == 0)
  }

  /// Every order of acknowledging four messages of two subscriptions, one of which acknowledges all before it.
  @Test func everyOrder() throws {
    for first in 0..<4 {
      for second in 0..<4 where second != first {
        let harness = try connected(.client)
        _ = try harness.subscribe("e", .individual)
        _ = harness.sent()
        harness.say("RECEIPT/receipt-id:s1//^")
        _ = harness.events()
        var tokens: [UInt64] = []
        for number in 0..<4 {
          harness.say(Self.message(number, of: number % 2))
          _ = harness.events()
          tokens.append(harness.token)
        }
        var waiting = [true, true, true, true]
        for index in [first, second] {
          let isRight = waiting[index]
          if isRight {
            try harness.session.acknowledge(tokens[index])
          } else {
            #expect(throws: STOMPError.token) { try harness.session.acknowledge(tokens[index]) }
          }
          waiting[index] = false
          if index == 2 { waiting[0] = false }
        }
        #expect(harness.session.heldCount == waiting.filter { $0 }.count)
        // What is left, and only that, can be acknowledged.
        for index in [3, 2, 1, 0] {
          let isHeld = harness.session.held.slot(of: tokens[index]) != nil
          #expect(isHeld == waiting[index], "\(first) \(second) \(index)")
        }
        try harness.session.unsubscribe(1, headers: Span(), cookie: 0)
        #expect(harness.session.heldCount == [0, 2].filter { waiting[$0] }.count)
      }
    }
  }

  /// A token of an earlier connection is none, although its slot has a message again.
  @Test func tokensOfAnEarlierConnection() throws {
    let harness = try connected(.individual)
    harness.say(Self.message(1))
    _ = harness.events()
    let earlier = harness.token
    harness.session.connectionClosed()
    harness.connect()
    _ = harness.sent()
    #expect(harness.session.heldCount == 0)
    harness.say(Self.message(1))
    _ = harness.events()
    #expect(harness.token != earlier)
    #expect(throws: STOMPError.token) { try harness.session.acknowledge(earlier) }
    #expect(throws: STOMPError.token) { try harness.session.acknowledge(0) }
    #expect(throws: STOMPError.token) { try harness.session.acknowledge(.max) }
    try harness.session.acknowledge(harness.token)
  }

  /// A message that waits for ACK must not keep the receipt of DISCONNECT behind it from being read. It has no token then: the
  /// server delivers it again.
  @Test func leavingWithMessagesThatWait() throws {
    let harness = try connected(.individual) { $0.heldMessages = 1 }
    harness.say(Self.message(1) + Self.message(2) + Self.message(3))
    #expect(harness.events() == ["message 0 d \"1\""] && !harness.session.wantsReceive)
    harness.session.beginDisconnect()
    harness.session.resume(at: harness.now)
    #expect(throws: STOMPError.leaving) { try harness.session.acknowledge(harness.token) }
    #expect(harness.disconnect() && harness.sent() == "DISCONNECT/receipt:bye//^")
    #expect(harness.events() == ["message 0 d \"2\"", "message 0 d \"3\""] && harness.token == 0)
    harness.say("RECEIPT/receipt-id:bye//^")
    guard case .requested? = harness.session.closeReason?.cause else {
      Issue.record("the receipt was not read")
      return
    }
  }

  private func acknowledge(
    _ harness: Harness, _ isAccepted: Bool = true, with headers: [(String, String)], transaction: UInt16 = 0
  ) throws {
    let list = Harness.list(headers)
    try harness.session.acknowledge(
      harness.token, isAccepted: isAccepted, headers: list.span, transaction: transaction)
  }

  private func hold(_ harness: Harness, _ number: Int) {
    harness.say(Self.message(number))
    _ = harness.events()
  }

  /// ACK and NACK with headers, alone and in a transaction. What needs escapes has those of the version.
  @Test(arguments: [true, false], ["1.1", "1.2"])
  func headers(_ isAccepted: Bool, _ version: String) throws {
    let harness = Harness()
    _ = try harness.subscribe("d", .individual)
    harness.connect(version)
    _ = harness.sent()
    harness.say("RECEIPT/receipt-id:s0//^")
    let frame =
      (isAccepted ? "ACK/" : "NACK/") + (version == "1.2" ? "id:a1/" : "message-id:m/subscription:0/")
    for inTransaction in [false, true] {
      hold(harness, 1)
      let transaction = inTransaction ? try harness.session.begin() : 0
      try acknowledge(
        harness, isAccepted, with: [("requeue", "false"), ("a:b", "c\n")], transaction: transaction)
      let begin = inTransaction ? "BEGIN/transaction:1//^" : ""
      let more = inTransaction ? "transaction:1/" : ""
      #expect(harness.sent() == begin + frame + more + "requeue:false/a\\cb:c\\n//^")
      #expect(harness.session.heldCount == 0)
    }
  }

  /// 1.0 has no escapes.
  @Test func headersOf10() throws {
    let harness = Harness()
    _ = try harness.subscribe("d", .client)
    harness.connect("1.0")
    _ = harness.sent()
    harness.say("RECEIPT/receipt-id:s0//^")
    hold(harness, 1)
    for refused in [("a", "b\nc"), ("a:b", "c"), ("a", "b\r")] {
      #expect(throws: STOMPError.header) { try acknowledge(harness, with: [refused]) }
    }
    #expect(throws: STOMPError.version) { try acknowledge(harness, false, with: [("a", "b")]) }
    try acknowledge(harness, with: [("a", "b:c\\n")])
    #expect(harness.sent() == "ACK/message-id:m/a:b:c\\n//^")
  }

  /// What ACK may not have changes nothing: what the library writes itself, what is no list, what is too large or has no room.
  @Test func headersThatAreRefused() throws {
    let harness = try connected(.individual) { ($0.controlBytes, $0.outboxBytes) = (128, 128) }
    hold(harness, 1)
    for name in ["id", "receipt", "transaction", "subscription", "message-id", "ack"] {
      #expect(throws: STOMPError.header) { try acknowledge(harness, with: [(name, "x")]) }
    }
    let broken = [UInt8](repeating: 1, count: 7)
    #expect(throws: STOMPError.header) {
      try harness.session.acknowledge(harness.token, headers: broken.span)
    }
    // 64 bytes are kept for DISCONNECT; "ACK/id:a1/a://^" are 15.
    for transaction in [0, try harness.session.begin()] {
      let most = transaction == 0 ? 128 - 64 - 15 : 128 - 15 - "transaction:1/".utf8.count
      #expect(throws: STOMPError.tooLarge) {
        try acknowledge(
          harness, with: [("a", String(repeating: "b", count: most + 1))], transaction: transaction)
      }
      #expect(harness.session.heldCount == 1)
    }
    #expect(harness.sent() == "BEGIN/transaction:1//^")
    try acknowledge(harness, with: [("a", String(repeating: "b", count: 128 - 64 - 15))])
    hold(harness, 2)
    #expect(throws: STOMPError.full) { try acknowledge(harness, with: [("a", "b")]) }
    #expect(harness.session.heldCount == 1)
    _ = harness.sent()
    #expect(harness.events() == ["room"])
    try acknowledge(harness, with: [("a", "b")])
    #expect(harness.sent() == "ACK/id:a2/a:b//^" && harness.session.heldCount == 0)
  }

  /// UNSUBSCRIBE with headers ends a durable subscription: the server has to have it.
  @Test func unsubscribingFromADurableSubscription() throws {
    func unsubscribe(_ harness: Harness, _ cookie: UInt64) throws {
      let list = Harness.list([("durable", "true")])
      try harness.session.unsubscribe(0, headers: list.span, cookie: cookie)
    }
    let frame = "UNSUBSCRIBE/id:0/receipt:s65536/durable:true//^"
    // While it is subscribed, and while it is not: then SUBSCRIBE is not sent.
    for isSubscribed in [true, false] {
      let harness = try connected(.automatic)
      if !isSubscribed { harness.session.connectionClosed() }
      try unsubscribe(harness, 2)
      if !isSubscribed {
        // Attempts to connect that fail change nothing.
        harness.session.connectionOpened()
        harness.session.connectionClosed()
        #expect(harness.events() == [])
        harness.connect()
      }
      #expect(harness.sent() == frame)
      harness.say("RECEIPT/receipt-id:s65536//^")
      #expect(harness.events() == ["unsubscribed 0 2"] && harness.session.isDrained == true)
    }

    let harness = try connected(.automatic)
    let list = Harness.list([("receipt", "x")])
    #expect(throws: STOMPError.header) { try harness.session.unsubscribe(0, headers: list.span, cookie: 0) }
    try unsubscribe(harness, 3)
    #expect(harness.sent() == frame)
    harness.session.connectionClosed()
    #expect(harness.events() == ["unsubscribeUnknown 0 3"])
  }

  /// A header that the version has no escapes for.
  @Test func unsubscribingInAnotherVersion() throws {
    let harness = try connected(.automatic)
    harness.session.connectionClosed()
    let list = Harness.list([("name", "a:b")])
    try harness.session.unsubscribe(0, headers: list.span, cookie: 4)
    harness.connect("1.0")
    #expect(harness.events() == ["unsubscribeVersion 0 4"] && harness.sent() == "")
  }

  // MARK: The outbox

  /// What can't be sent takes one place and a byte, and leaves the rest of the outbox.
  @Test func aFrameThatCannotBeSent() {
    let harness = Harness { ($0.outboxFrames, $0.outboxBytes) = (4, 256) }
    #expect(harness.refuse(7))
    #expect(harness.session.outboxCounts.bytes == 1 && harness.session.outboxCounts.frames == 1)
    #expect(harness.send("1") == nil && harness.refuse(8))
    #expect(harness.events() == ["completed 7 version", "completed 8 version"])
    harness.connect()
    #expect(harness.sent() == "SEND/destination:/queue/a/content-length:1//1^")
  }

  /// An outbox that is full to the last byte has that many in use.
  @Test func anOutboxThatIsJustFull() {
    let size = "SEND/destination:/queue/a/content-length:1//1^".utf8.count
    let harness = Harness { ($0.outboxFrames, $0.outboxBytes) = (8, 3 * size) }
    for count in 1...3 {
      #expect(harness.send("1") == nil)
      #expect(harness.session.outboxCounts.bytes == count * size)
    }
    #expect(harness.send("1") == .full && !harness.refuse(1))
  }

  /// A frame that goes again, on a connection whose version can't have it, may have arrived on the first one.
  @Test func anotherVersionAfterItWasSent() {
    let harness = Harness()
    harness.connect("1.0")
    // With a backslash, which 1.0 does not escape.
    for (cookie, again) in [(1, true), (2, false)] as [(UInt64, Bool)] {
      #expect(harness.send("1", to: "a\\b", cookie: cookie, receipt: true, again: again) == nil)
    }
    _ = harness.sent()
    #expect(harness.send("1", to: "a\\b", cookie: 3) == nil)
    harness.session.connectionClosed()
    harness.connect("1.2")
    #expect(
      harness.events() == ["completed 2 unknown", "completed 1 unknown", "completed 3 version"])
    #expect(harness.sent() == "")
  }

  /// Why a server refuses a version is for people to read, in whatever encoding it is.
  @Test func errorInPlaceOfConnected() {
    let harness = Harness()
    harness.session.connectionOpened()
    _ = harness.sent()
    harness.say("ERROR\r/message:see C:\\temp\r/\r/no^")
    guard case .refused? = harness.session.closeReason?.cause else {
      Issue.record("not refused")
      return
    }
    #expect(harness.session.closeReason.map { harness.received($0.message) } == "see C:\\temp")
  }
}
