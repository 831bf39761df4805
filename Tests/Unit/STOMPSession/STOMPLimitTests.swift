import STOMPWire
import Storage
import Testing

@testable import STOMPSession

/// The ends of ranges, and what comes at the wrong time.
struct STOMPLimitTests {
  typealias Harness = STOMPHarness

  private static func message(_ number: Int, ack: String = "a") -> String {
    "MESSAGE/subscription:0/message-id:m/ack:\(ack)/destination:d//\(number)^"
  }

  private func subscribed(_ configure: (inout Harness.Options) -> Void = { _ in }) throws -> Harness {
    let harness = Harness(configure)
    _ = try harness.subscribe("d", .individual)
    harness.connect()
    _ = harness.sent()
    harness.say("RECEIPT/receipt-id:s0//^")
    _ = harness.events()
    return harness
  }

  // MARK: Time

  /// A server may promise a heart-beat every 24 days: two and a half times that has no room in 32 bits.
  @Test(arguments: [0x2000_0000, 0x6666_6667, 0x7FFF_FFFF] as [UInt32])
  func heartBeatsOfWeeks(_ promised: UInt32) {
    let harness = Harness { $0.heartBeat = HeartBeat(sends: 0, wants: 500) }
    harness.connect("1.2", more: "heart-beat:\(promised),0/")
    #expect(harness.session.agreedHeartBeat.wants == promised)
    // Reading has stopped for the event, and goes on from here.
    harness.session.advance(to: harness.now)
    harness.now = harness.now.advanced(by: 0x4FFF_FFFF)
    harness.session.timedOut(at: harness.now)
    #expect(harness.session.closeReason == nil)
  }

  /// Nothing follows DISCONNECT, and nothing is due but its receipt.
  @Test func noHeartBeatBehindDisconnect() {
    let harness = Harness { $0.heartBeat = HeartBeat(sends: 100, wants: 0) }
    harness.connect("1.2", more: "heart-beat:0,100/")
    #expect(harness.disconnect() && harness.sent() == "DISCONNECT/receipt:bye//^")
    harness.now = harness.now.advanced(by: 1000)
    harness.session.timedOut(at: harness.now)
    #expect(harness.sent() == "" && harness.session.nextDeadline == harness.now.advanced(by: 4000))
  }

  // MARK: Leaving

  /// A receipt that was not asked for says nothing: not before DISCONNECT, nor as long as it was not sent.
  @Test func aReceiptOfNoDisconnect() {
    let harness = Harness()
    harness.connect()
    harness.say("RECEIPT/receipt-id:bye//^")
    #expect(harness.session.closeReason == nil && harness.disconnect() && harness.part(5).count == 5)
    harness.say("RECEIPT/receipt-id:bye//^")
    #expect(harness.session.closeReason == nil && harness.sent().hasSuffix("//^"))
    harness.say("RECEIPT/receipt-id:bye//^")
    #expect(harness.session.closeReason != nil)
  }

  /// However many acknowledgements wait, and of whatever size.
  @Test(arguments: 1...32)
  func roomForDisconnect(_ size: Int) throws {
    let harness = try subscribed { ($0.controlBytes, $0.heldMessages) = (128, 16) }
    for number in 1...16 { harness.say(Self.message(number, ack: String(repeating: "a", count: size))) }
    var refused: STOMPError? = nil
    while refused == nil, !harness.event().isEmpty {
      do throws(STOMPError) { try harness.session.acknowledge(harness.token) } catch { refused = error }
    }
    #expect(refused == .full)
    harness.session.beginDisconnect()
    #expect(harness.disconnect() && harness.sent().hasSuffix("^DISCONNECT/receipt:bye//^"))
  }

  // MARK: Messages

  /// One whose name has no room can't be acknowledged, and takes none of another one.
  @Test func aNameThatIsTooLong() throws {
    let harness = try subscribed { $0.heldBytes = 16 }
    let (fits, tooLong) = (String(repeating: "f", count: 16), String(repeating: "l", count: 17))
    harness.say(Self.message(1, ack: fits) + Self.message(2, ack: tooLong) + Self.message(3))
    #expect(harness.event() == "message 0 d \"1\"")
    let first = harness.token
    #expect(harness.event() == "message 0 d \"2\"" && harness.token == 0)
    #expect(harness.event() == "message 0 d \"3\"" && harness.session.heldCount == 2)
    try harness.session.acknowledge(first)
    try harness.session.acknowledge(harness.token)
    #expect(harness.sent() == "ACK/id:\(fits)//^ACK/id:a//^")
  }

  /// It has come, and was not handed out, when its subscription ends.
  @Test func aMessageOfASubscriptionThatHasEnded() throws {
    let harness = try subscribed()
    harness.say(Self.message(1))
    #expect(harness.session.heldCount == 1)
    try harness.session.unsubscribe(0, headers: Span(), cookie: 0)
    #expect(harness.event() == "message 0 d \"1\"" && harness.token == 0)
  }

  /// Confirmed on one connection, and refused on the next: the application has to know that it is gone.
  @Test func aSubscriptionThatIsRefusedLater() throws {
    let harness = Harness()
    _ = try harness.subscribe("d", cookie: 5)
    harness.connect()
    _ = harness.sent()
    harness.say("RECEIPT/receipt-id:s0//^")
    #expect(harness.events() == ["subscribed 0 5"])
    harness.session.connectionClosed()
    harness.connect()
    _ = harness.sent()
    harness.say("ERROR/receipt-id:s0/message:no//^")
    #expect(harness.events() == ["refused 0 5"])
    harness.session.connectionClosed()
    harness.connect()
    #expect(harness.sent() == "")
  }

  /// It was confirmed, and is unsubscribed from before anybody was told: there is one result, the last.
  @Test func aResultThatNobodyHasTaken() throws {
    let harness = Harness()
    _ = try harness.subscribe("d", cookie: 1)
    harness.connect()
    _ = harness.sent()
    harness.say("RECEIPT/receipt-id:s0//^")
    try harness.session.unsubscribe(0, headers: Span(), cookie: 2)
    #expect(harness.session.hasEvent == false && harness.events() == [])
    _ = harness.sent()
    harness.say("RECEIPT/receipt-id:s65536//^")
    #expect(harness.events() == ["unsubscribed 0 2"] && harness.session.hasEvent == false)
  }

  /// Half of the places are to be free, so that the application is not told of each.
  @Test func roomForHalfOfThem() {
    let harness = Harness { $0.outboxFrames = 4 }
    harness.connect()
    for _ in 1...4 { #expect(harness.send("1", receipt: true, quiet: true) == nil) }
    #expect(harness.send("1") == .full)
    _ = harness.sent()
    harness.say("RECEIPT/receipt-id:1//^")
    #expect(harness.events() == [])
    harness.say("RECEIPT/receipt-id:2//^")
    #expect(harness.events() == ["room"])
  }

  // MARK: Memory

  /// What is larger than any outbox is refused before a byte of it is read: its pointer may be wrong.
  @Test func largerThanAnyOutbox() {
    let harness = Harness()
    let few: [UInt8] = Array("abc".utf8)
    few.withUnsafeBufferPointer { bytes in
      let start = unsafe bytes.baseAddress!
      let all = unsafe Span(_unsafeStart: start, count: 1 << 62)
      let none = Span<UInt8>()
      func error(_ frame: borrowing OutgoingFrame) -> STOMPError? {
        do throws(STOMPError) {
          _ = try harness.session.send(frame)
          return nil
        } catch {
          return error
        }
      }
      #expect(
        error(OutgoingFrame(destination: all, contentType: none, headers: none, body: none)) == .tooLarge)
      let name = few.span
      #expect(
        error(OutgoingFrame(destination: name, contentType: all, headers: none, body: none)) == .tooLarge)
      #expect(
        error(OutgoingFrame(destination: name, contentType: none, headers: all, body: none)) == .tooLarge)
      var withoutLength = OutgoingFrame(destination: name, contentType: none, headers: none, body: all)
      withoutLength.omitsLength = true
      #expect(error(withoutLength) == .tooLarge)
      #expect(throws: STOMPError.tooLarge) {
        try harness.session.subscribe(to: all, .automatic, headers: none, cookie: 0)
      }
      #expect(throws: STOMPError.tooLarge) {
        try harness.session.subscribe(to: name, .automatic, headers: all, cookie: 0)
      }
    }
  }

  /// Before the block goes back to the application.
  @Test func secretsAreOverwritten() {
    let harness = Harness { ($0.login, $0.passcode) = ("me", "secret") }
    harness.session.wipeSecrets()
    harness.session.connectionOpened()
    #expect(harness.sent().allSatisfy { $0 == "^" })
  }
}
