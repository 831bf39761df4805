import STOMPWire
import Storage
import TestSupport
import Testing

@testable import STOMPSession

private typealias Harness = STOMPHarness

@Suite struct STOMPSessionTests {
  // MARK: Connecting

  @Test func connect() {
    let harness = Harness {
      ($0.login, $0.passcode, $0.heartBeat) = ("me", "a:b", HeartBeat(sends: 100, wants: 200))
      $0.headers = [("client-id", "gw1")]
    }
    harness.session.connectionOpened()
    #expect(
      harness.sent(7)
        == "CONNECT/accept-version:1.0,1.1,1.2/host:h/heart-beat:100,200/client-id:gw1/login:me/passcode:a:b//^"
    )
    #expect(!harness.session.isAccepted && harness.event() == "")
    harness.say("CONNECTED/version:1.1/server:x//^//")
    #expect(harness.session.isConnected && harness.event() == "connected v11" && harness.event() == "")
  }

  /// A server of 1.0 knows neither version nor host; one version alone is offered alone.
  @Test(arguments: [
    (STOMPVersion.v10, STOMPVersion.v10, "CONNECT//^"), (.v12, .v12, "CONNECT/accept-version:1.2/host:h//^"),
    (.v11, .v12, "CONNECT/accept-version:1.1,1.2/host:h//^"),
  ])
  func whatIsOffered(_ oldest: STOMPVersion, _ newest: STOMPVersion, _ frame: String) {
    let harness = Harness { ($0.oldest, $0.newest) = (oldest, newest) }
    harness.session.connectionOpened()
    #expect(harness.sent() == frame)
  }

  @Test(arguments: [
    ("CONNECTED//^", "connected v10"), ("CONNECTED/session:1//^", "connected v10"),
    ("CONNECTED/version:1.2//^", "connected v12"), ("//CONNECTED/version:1.1//^", "connected v11"),
  ])
  func whatIsAgreed(_ text: String, _ event: String) {
    let harness = Harness()
    harness.session.connectionOpened()
    _ = harness.sent()
    harness.say(text, 3)
    #expect(harness.event() == event)
  }

  @Test(arguments: [
    ("CONNECTED/version:1.3//^", MalformedFrame.version), ("CONNECTED/version:1.0//^", .version),
    ("CONNECTED//^", .version),
    ("RECEIPT/receipt-id:1//^", .order), ("MESSAGE/destination:a/message-id:1/subscription:1//^", .order),
    ("CONNECTED/version:1.2/heart-beat:1//^", .heartBeat), ("HTTP/1.1 400 Bad Request/", .command),
  ])
  func whatIsNoAnswer(_ text: String, _ error: MalformedFrame) {
    let harness = Harness { $0.oldest = .v11 }
    harness.session.connectionOpened()
    _ = harness.sent()
    harness.say(text)
    guard case .malformed(error) = harness.session.closeReason?.cause else {
      Issue.record("\(String(describing: harness.session.closeReason))")
      return
    }
    #expect(harness.event() == "" && !harness.session.wantsReceive)
  }

  @Test func refused() {
    let harness = Harness()
    harness.session.connectionOpened()
    _ = harness.sent()
    harness.say("ERROR/message:no/content-length:4//why?^")
    guard let reason = harness.session.closeReason, case .refused = reason.cause else {
      Issue.record("not refused")
      return
    }
    #expect(harness.received(reason.message) == "no" && harness.received(reason.body) == "why?")
    #expect(harness.session.isAccepted == false)
  }

  // MARK: Sending

  @Test func aMessage() {
    let harness = Harness()
    harness.connect()
    #expect(harness.send("hello", cookie: 7, headers: [("x:y", "1\n2")], type: "text/plain") == nil)
    #expect(
      harness.sent(5)
        == "SEND/destination:/queue/a/content-type:text/plain/content-length:5/x\\cy:1\\n2//hello^")
    #expect(harness.events() == ["completed 7 delivered"] && harness.session.isDrained)
  }

  @Test func withoutALength() {
    let harness = Harness()
    harness.connect()
    #expect(
      harness.send("hello", omitsLength: true) == nil && harness.send("a\0b", omitsLength: true) == .body)
    #expect(harness.sent() == "SEND/destination:/queue/a//hello^")
  }

  /// It waits for the connection.
  @Test func beforeTheConnection() {
    let harness = Harness()
    #expect(harness.send("1") == nil && harness.sent() == "")
    harness.session.connectionOpened()
    #expect(!harness.sent().contains("SEND"))
    harness.say("CONNECTED/version:1.2//^")
    #expect(harness.sent() == "SEND/destination:/queue/a/content-length:1//1^")
  }

  /// RabbitMQ confirms in any order.
  @Test func receipts() {
    let harness = Harness()
    harness.connect()
    for number in 1...3 { #expect(harness.send("\(number)", cookie: UInt64(number), receipt: true) == nil) }
    let sent = harness.sent()
    #expect(sent.contains("receipt:1/") && sent.contains("receipt:2/") && sent.contains("receipt:3/"))
    #expect(harness.events() == [] && !harness.session.isDrained)
    harness.say(
      "RECEIPT/receipt-id:3//^/RECEIPT/receipt-id:1//^RECEIPT/receipt-id:1//^RECEIPT/receipt-id:99//^")
    #expect(harness.events() == ["completed 3 delivered", "completed 1 delivered"])
    harness.say("RECEIPT/receipt-id:x//^RECEIPT/receipt-id:4294967298//^RECEIPT/receipt-id:2//^")
    #expect(harness.events() == ["completed 2 delivered"] && harness.session.isDrained)
  }

  @Test func quietOnes() {
    let harness = Harness()
    harness.connect()
    for number in 1...100 {
      #expect(harness.send("\(number)", cookie: UInt64(number), quiet: true) == nil)
      _ = harness.sent()
    }
    #expect(harness.events() == [])
    #expect(harness.send("a", cookie: 1, receipt: true, quiet: true) == nil)
    _ = harness.sent()
    harness.session.connectionClosed()
    #expect(harness.events() == ["completed 1 unknown"])
  }

  @Test func whatCannotBeSent() {
    let harness = Harness { $0.outboxBytes = 256 }
    harness.connect()
    #expect(harness.send("", to: "") == .destination && harness.send("", to: "a\0") == .destination)
    #expect(harness.send("", headers: [("", "")]) == .header && harness.send("", type: "\u{0}") == .header)
    #expect(harness.send(String(repeating: "x", count: 256)) == .tooLarge)
    #expect(harness.send("", transaction: 1) == .transaction)
    #expect(harness.sent() == "" && harness.session.isDrained)
  }

  @Test func room() {
    let harness = Harness { ($0.outboxFrames, $0.outboxBytes) = (4, 4096) }
    harness.connect()
    for _ in 0..<4 { #expect(harness.send("a", quiet: true) == nil) }
    #expect(harness.send("a") == .full && harness.events() == [])
    _ = harness.sent()
    #expect(harness.events() == ["room"] && harness.send("a") == nil)
  }

  /// `sendPlain` writes what `send` writes, with a destination and a body of each size.
  @Test(arguments: ["1.0", "1.1", "1.2"])
  func plainFrames(_ version: String) throws {
    let (one, other) = (Harness { $0.outboxBytes = 4096 }, Harness { $0.outboxBytes = 4096 })
    for harness in [one, other] { harness.connect(version) }
    for size in Array(1...36) + [254, 255, 256] {
      for bodySize in [0, 1, 9, 10, 11, 99, 100, 999, 1000, 1001] {
        let destination = [UInt8](repeating: 0x71, count: size)
        let body = [UInt8](repeating: 0, count: bodySize)
        let isSent = one.session.sendPlain(to: destination.span, body.span, isQuiet: true, cookie: 3)
        #expect(isSent)
        var frame = OutgoingFrame(
          destination: destination.span, contentType: Span(), headers: Span(), body: body.span)
        (frame.cookie, frame.isQuiet) = (3, true)
        try other.session.send(frame)
        #expect(one.sent() == other.sent())
      }
    }
    #expect(one.session.outboxCounts.delivered.low == other.session.outboxCounts.delivered.low)
  }

  /// What is more than plain, or refused, changes nothing.
  @Test func whatIsNotPlain() {
    let harness = Harness()
    harness.connect()
    func send(_ destination: [UInt8], _ count: Int) -> Bool {
      harness.session.sendPlain(
        to: destination.span, [UInt8](repeating: 1, count: count).span, isQuiet: false, cookie: 0)
    }
    #expect(!send([], 1) && !send(Array("/queue/a:b".utf8), 1) && !send(Array("/queue/ä".utf8), 1))
    #expect(!send(Array("q".utf8), 2048) && harness.sent() == "")
    for _ in 0..<16 { #expect(send(Array("q".utf8), 1)) }
    #expect(!send(Array("q".utf8), 1) && harness.session.outboxCounts.frames == 16)
    harness.session.beginDisconnect()
    #expect(!send(Array("q".utf8), 1))
  }

  /// Whatever the sizes, all bytes arrive in order, and none is written over.
  @Test func theRingGoesRound() {
    var random = SeededRandom(seed: 3)
    let harness = Harness { ($0.outboxBytes, $0.outboxFrames) = (700, 8) }
    harness.connect()
    var waiting: [String] = []
    var arrived = ""
    for number in 0..<5000 {
      let body = "\(number):" + String(repeating: "x", count: Int.random(in: 0...120, using: &random))
      if harness.send(body, quiet: true) == nil { waiting.append("//" + body + "^") }
      if Bool.random(using: &random) {
        arrived = harness.sent(Int.random(in: 1...200, using: &random))
        for body in waiting {
          guard let range = arrived.firstRange(of: body) else {
            Issue.record("\(body) is not in \(arrived)")
            return
          }
          arrived = String(arrived[range.upperBound...])
        }
        waiting = []
      }
    }
  }

  // MARK: A connection that breaks

  @Test func whatBecomesOfMessages() {
    let harness = Harness()
    harness.connect()
    _ = harness.send("1", cookie: 1, receipt: true)
    _ = harness.send("2", cookie: 2, receipt: true, again: true)
    _ = harness.send("3", cookie: 3, receipt: true)
    _ = harness.send("4", cookie: 4, receipt: true, again: true)
    _ = harness.sent()
    harness.say("RECEIPT/receipt-id:4//^")
    _ = harness.send("5", cookie: 5)
    harness.session.connectionClosed()
    #expect(harness.events() == ["completed 4 delivered", "completed 1 unknown", "completed 3 unknown"])
    harness.connect()
    #expect(
      harness.sent()
        == "SEND/destination:/queue/a/content-length:1/receipt:2//2^SEND/destination:/queue/a/content-length:1//5^"
    )
    harness.say("RECEIPT/receipt-id:2//^")
    #expect(
      harness.events() == ["completed 5 delivered", "completed 2 delivered"] && harness.session.isDrained)
  }

  /// The part of a frame that was sent counts for nothing.
  @Test func inTheMiddleOfAFrame() {
    let harness = Harness()
    harness.connect()
    _ = harness.send("1", cookie: 1)
    #expect(harness.transmit(10))
    harness.session.connectionClosed()
    harness.connect()
    #expect(harness.sent() == "SEND/destination:/queue/a/content-length:1//1^")
  }

  @Test func anError() {
    let harness = Harness()
    harness.connect()
    for number in 1...3 { _ = harness.send("\(number)", cookie: UInt64(number), receipt: true) }
    _ = harness.sent()
    harness.say("ERROR/receipt-id:2/message:no//text^RECEIPT/receipt-id:3//^")
    guard case .error = harness.session.closeReason?.cause else {
      Issue.record("no error")
      return
    }
    harness.session.connectionClosed()
    #expect(harness.events() == ["completed 2 refused", "completed 1 unknown", "completed 3 unknown"])
  }

  // MARK: Subscriptions

  @Test func subscriptions() throws {
    let harness = Harness()
    #expect(try harness.subscribe("/topic/a", cookie: 5) == 0)
    #expect(
      try harness.subscribe("/queue/b:c", .individual, headers: [("selector", "x > 1")], cookie: 6) == 1)
    harness.connect()
    #expect(
      harness.sent(3)
        == "SUBSCRIBE/id:0/destination:/topic/a/ack:auto/receipt:s0//^"
        + "SUBSCRIBE/id:1/destination:/queue/b\\cc/ack:client-individual/receipt:s1/selector:x > 1//^")
    harness.say(
      "RECEIPT/receipt-id:s1//^RECEIPT/receipt-id:s0//^RECEIPT/receipt-id:s0//^RECEIPT/receipt-id:s9//^")
    #expect(Set(harness.events()) == ["subscribed 0 5", "subscribed 1 6"])
    // On another connection they are made again, and nobody is told.
    harness.session.connectionClosed()
    harness.connect("1.1")
    #expect(harness.sent().filter { $0 == "^" }.count == 2)
    harness.say("RECEIPT/receipt-id:s1//^RECEIPT/receipt-id:s0//^")
    #expect(harness.events() == [])
    try harness.session.unsubscribe(0, headers: Span(), cookie: 8)
    #expect(throws: STOMPError.subscription) {
      try harness.session.unsubscribe(0, headers: Span(), cookie: 8)
    }
    #expect(throws: STOMPError.subscription) {
      try harness.session.unsubscribe(2, headers: Span(), cookie: 8)
    }
    #expect(harness.sent() == "UNSUBSCRIBE/id:0/receipt:s65536//^")
    harness.say("RECEIPT/receipt-id:s65536//^")
    #expect(harness.events() == ["unsubscribed 0 8"])
    #expect(try harness.subscribe("/topic/new") == 0)
  }

  @Test func whatCannotBeSubscribedTo() throws {
    let harness = Harness { ($0.subscriptions, $0.newest) = (1, .v10) }
    #expect(throws: STOMPError.version) { try harness.subscribe("a", .individual) }
    #expect(throws: STOMPError.destination) { try harness.subscribe("") }
    #expect(throws: STOMPError.header) { try harness.subscribe("a", headers: [("a\n", "b")]) }
    #expect(throws: STOMPError.tooLarge) { try harness.subscribe(String(repeating: "a", count: 200)) }
    _ = try harness.subscribe("a", .client)
    #expect(throws: STOMPError.full) { try harness.subscribe("b") }
  }

  @Test func aSubscriptionThatIsRefused() throws {
    let harness = Harness()
    _ = try harness.subscribe("/bad", cookie: 4)
    harness.connect()
    _ = harness.sent()
    harness.say("ERROR/receipt-id:s0/message:unknown destination//^")
    harness.session.connectionClosed()
    #expect(harness.events() == ["refused 0 4"])
    harness.connect()
    #expect(harness.sent() == "")
  }

  /// Neither confirmed nor made again.
  @Test func anUnsubscribeThatTheConnectionAnswers() throws {
    let harness = Harness()
    _ = try harness.subscribe("/topic/a", cookie: 1)
    harness.connect()
    _ = harness.sent()
    harness.say("RECEIPT/receipt-id:s0//^")
    #expect(harness.events() == ["subscribed 0 1"])
    try harness.session.unsubscribe(0, headers: Span(), cookie: 2)
    harness.session.connectionClosed()
    #expect(harness.events() == ["unsubscribed 0 2"])
    harness.connect()
    #expect(harness.sent() == "")
  }

  // MARK: Messages

  static let message =
    "MESSAGE/subscription:0/message-id:m1/destination:topic.a/ack:a\\c1/content-length:5//hello^"

  @Test(arguments: 1...20)
  func messages(_ piece: Int) throws {
    let harness = Harness()
    _ = try harness.subscribe("/topic/a")
    harness.connect()
    _ = harness.sent()
    harness.say("RECEIPT/receipt-id:s0//^")
    #expect(harness.events() == ["subscribed 0 0"])
    let text = Self.message + "///" + Self.message.replacing("content-length:5/", with: "") + "/"
    let bytes = Array(text.utf8.map { $0 == UInt8(ascii: "^") ? 0 : $0 == UInt8(ascii: "/") ? 10 : $0 })
    var rest = bytes
    var found: [String] = []
    while !rest.isEmpty, harness.session.closeReason == nil {
      rest = Array(rest.suffix(harness.receive(rest, piece)))
      found += harness.events()
    }
    #expect(found.count == 2 && found.allSatisfy { $0 == "message 0 topic.a \"hello\"" })
    #expect(harness.token == 0)
  }

  @Test func aMessageOfNoSubscription() {
    let harness = Harness()
    harness.connect()
    harness.say(
      "MESSAGE/subscription:7/message-id:1/destination:a//x^MESSAGE/subscription:q/message-id:1/destination:a//y^"
    )
    #expect(harness.events() == ["message -1 a \"x\"", "message -1 a \"y\""])
  }

  @Test func aBodyWithZeros() {
    let harness = Harness()
    harness.connect()
    harness.say("MESSAGE/subscription:7/message-id:1/destination:a/content-length:3//x^y^")
    #expect(harness.events() == ["message -1 a \"x^y\""])
  }

  @Test(arguments: [
    ("MESSAGE/subscription:7/message-id:1/destination:a/content-length:1//xy^", MalformedFrame.bodyEnd),
    ("CONNECTED/version:1.2//^", .order), ("SEND/destination:a//^", .command),
    ("MESSAGE/destination:a//^", .missingHeader),
  ])
  func whatAServerMayNotSay(_ text: String, _ error: MalformedFrame) {
    let harness = Harness()
    harness.connect()
    harness.say(text)
    guard case .malformed(error) = harness.session.closeReason?.cause else {
      Issue.record("\(String(describing: harness.session.closeReason))")
      return
    }
  }

  @Test func headersWithoutAnEnd() {
    let harness = Harness()
    harness.connect()
    harness.say("MESSAGE/x:" + String(repeating: "y", count: 600))
    guard case .headTooLarge = harness.session.closeReason?.cause else {
      Issue.record("no reason")
      return
    }
  }

  /// A body that is larger than the buffer comes in parts.
  @Test(arguments: [1, 2, 100, 511, 512, 513, 10_000], [1, 7, 10_000])
  func aLargeBody(_ size: Int, _ piece: Int) {
    let harness = Harness()
    harness.connect()
    let body = (0..<size).map { UInt8(ascii: "a") + UInt8($0 % 26) }
    let head = Array("MESSAGE\nsubscription:7\nmessage-id:1\ndestination:d\ncontent-length:\(size)\n\n".utf8)
    var rest = head + body + [0] + Array("\nRECEIPT\nreceipt-id:1\n\n\0".utf8)
    var arrived = ""
    var events = 0
    var isOver = false
    while !rest.isEmpty, harness.session.closeReason == nil {
      rest = Array(rest.suffix(harness.receive(rest, piece)))
      for event in harness.events() {
        #expect(event.hasPrefix("message -1 d ") && !isOver)
        isOver = !event.contains(" more")
        if events > 0 { #expect(event.hasSuffix(" at \(arrived.utf8.count)")) }
        arrived += event.split(separator: "\"")[1]
        events += 1
      }
    }
    #expect(
      arrived == String(decoding: body, as: UTF8.self) && isOver
        && (events > 1) == (head.count + size + 1 > 512))
    #expect(harness.session.closeReason == nil)
  }

  /// Without a length nobody knows where the parts end until the last one.
  @Test(arguments: [400, 600, 5000], [1, 100_000])
  func aLargeBodyWithoutALength(_ size: Int, _ piece: Int) {
    let harness = Harness()
    harness.connect()
    let text = "MESSAGE/subscription:7/message-id:1/destination:d//" + String(repeating: "x", count: size)
    harness.say(text + "^MESSAGE/subscription:7/message-id:1/destination:e//y^", piece)
    let first =
      size > 450 ? "message -1 d \"\" oversize" : "message -1 d \"\(String(repeating: "x", count: size))\""
    #expect(harness.events() == [first, "message -1 e \"y\""])
  }

  // MARK: Acknowledgements

  private static func delivered(_ number: Int, _ name: String) -> String {
    "MESSAGE/subscription:0/message-id:m\(number)/destination:d/ack:\(name)//\(number)^"
  }

  @Test(arguments: [
    ("1.2", "ACK/id:a\\c1//^NACK/id:a2//^"),
    ("1.1", "ACK/message-id:m1/subscription:0//^NACK/message-id:m2/subscription:0//^"),
  ])
  func individual(_ version: String, _ frames: String) throws {
    let harness = Harness()
    _ = try harness.subscribe("d", .individual)
    harness.connect(version)
    _ = harness.sent()
    harness.say(Self.delivered(1, "a\\c1") + Self.delivered(2, "a2"))
    #expect(harness.event() == "message 0 d \"1\"")
    let first = harness.token
    #expect(harness.event() == "message 0 d \"2\"" && first != 0 && harness.token != first)
    try harness.session.acknowledge(first)
    try harness.session.acknowledge(harness.token, isAccepted: false)
    #expect(throws: STOMPError.token) { try harness.session.acknowledge(first) }
    #expect(harness.sent() == frames)
  }

  @Test func version10() throws {
    let harness = Harness { $0.newest = .v10 }
    _ = try harness.subscribe("d", .client)
    harness.session.connectionOpened()
    _ = harness.sent()
    harness.say("CONNECTED//^")
    _ = harness.event()
    _ = harness.sent()
    harness.say("MESSAGE/subscription:0/destination:d/message-id: m1//1^")
    #expect(harness.event() == "message 0 d \"1\"")
    #expect(throws: STOMPError.version) { try harness.session.acknowledge(harness.token, isAccepted: false) }
    try harness.session.acknowledge(harness.token)
    #expect(harness.sent() == "ACK/message-id:m1//^")
  }

  /// ACK in this mode acknowledges those before, too.
  @Test func cumulative() throws {
    let harness = Harness()
    _ = try harness.subscribe("d", .client)
    harness.connect()
    _ = harness.sent()
    var tokens: [UInt64] = []
    for number in 1...3 {
      harness.say(Self.delivered(number, "a\(number)"))
      #expect(harness.event() == "message 0 d \"\(number)\"")
      tokens.append(harness.token)
    }
    try harness.session.acknowledge(tokens[1])
    #expect(throws: STOMPError.token) { try harness.session.acknowledge(tokens[0]) }
    try harness.session.acknowledge(tokens[2])
    #expect(harness.sent() == "ACK/id:a2//^ACK/id:a3//^" && harness.session.held.count == 0)
  }

  /// Those of another subscription, and those that came when the slot was another one's, are not.
  @Test func cumulativeWithinASubscription() throws {
    let harness = Harness()
    _ = try harness.subscribe("d", .client)
    _ = try harness.subscribe("e", .client)
    harness.connect()
    _ = harness.sent()
    var tokens: [UInt64] = []
    for (number, slot) in [(1, 1), (2, 0)] {
      harness.say("MESSAGE/subscription:\(slot)/message-id:m/destination:d/ack:a\(number)//\(number)^")
      #expect(harness.event() == "message \(slot) d \"\(number)\"")
      tokens.append(harness.token)
    }
    _ = harness.event()
    try harness.session.acknowledge(tokens[1])
    try harness.session.unsubscribe(1, headers: Span(), cookie: 0)
    _ = harness.sent()
    harness.say("RECEIPT/receipt-id:s65537//^")
    _ = harness.events()
    #expect(try harness.subscribe("f", .individual) == 1)
    #expect(throws: STOMPError.token) { try harness.session.acknowledge(tokens[0]) }
    #expect(harness.session.held.count == 0)
  }

  /// As many as there is room for; the next one waits for ACK.
  @Test func tooManyThatWait() throws {
    let harness = Harness()
    _ = try harness.subscribe("d", .individual)
    harness.connect()
    _ = harness.sent()
    harness.say((1...6).map { Self.delivered($0, "a\($0)") }.joined())
    var tokens: [UInt64] = []
    for number in 1...4 {
      #expect(harness.event() == "message 0 d \"\(number)\"")
      tokens.append(harness.token)
    }
    #expect(harness.event() == "" && !harness.session.wantsReceive)
    try harness.session.acknowledge(tokens[0])
    harness.session.resume(at: harness.now)
    #expect(harness.event() == "message 0 d \"5\"" && harness.event() == "")
  }

  /// A token of an old connection is refused: the server delivers the message again.
  @Test func tokensOfAnOldConnection() throws {
    let harness = Harness()
    _ = try harness.subscribe("d", .individual)
    harness.connect()
    _ = harness.sent()
    harness.say(Self.delivered(1, "a1"))
    #expect(harness.event() == "message 0 d \"1\"")
    let old = harness.token
    harness.session.connectionClosed()
    #expect(throws: STOMPError.state) { try harness.session.acknowledge(old) }
    harness.connect()
    _ = harness.sent()
    harness.say(Self.delivered(1, "b1"))
    #expect(harness.event() == "message 0 d \"1\"" && harness.token != old)
    #expect(throws: STOMPError.token) { try harness.session.acknowledge(old) }
    try harness.session.acknowledge(harness.token)
    #expect(harness.sent() == "ACK/id:b1//^")
  }

  /// Some servers have no ack header, and take the message-id for it; an empty one names nothing.
  @Test func anAckWithoutItsName() throws {
    let harness = Harness()
    _ = try harness.subscribe("d", .client)
    harness.connect()
    _ = harness.sent()
    harness.say("MESSAGE/subscription:0/message-id:m1/destination:d//1^")
    #expect(harness.event() == "message 0 d \"1\"")
    try harness.session.acknowledge(harness.token)
    #expect(harness.sent() == "ACK/id:m1//^")
    harness.session.release(at: harness.now)
    harness.say("MESSAGE/subscription:0/message-id:/destination:d//1^")
    guard case .malformed(.missingHeader) = harness.session.closeReason?.cause else {
      Issue.record("no reason")
      return
    }
  }

  /// The server owes receipts, and sends none for so long; any of them begins the time anew.
  @Test func aReceiptThatDoesNotCome() throws {
    let harness = Harness { $0.receiptTimeout = 1000 }
    harness.connect()
    #expect(harness.session.nextDeadline == nil)
    #expect(
      harness.send("1", cookie: 1, receipt: true) == nil && harness.send("2", cookie: 2, receipt: true) == nil
    )
    _ = harness.sent()
    harness.now = harness.now.advanced(by: 900)
    harness.say("RECEIPT/receipt-id:1//^")
    #expect(harness.events() == ["completed 1 delivered"])
    harness.now = harness.now.advanced(by: 999)
    harness.session.timedOut(at: harness.now)
    #expect(harness.session.closeReason == nil)
    harness.now = harness.now.advanced(by: 1)
    harness.session.timedOut(at: harness.now)
    guard case .receiptTimeout = harness.session.closeReason?.cause else {
      Issue.record("no reason")
      return
    }
    harness.session.connectionClosed()
    #expect(harness.events() == ["completed 2 unknown"])
    // On the next connection nothing is due.
    harness.connect()
    #expect(harness.session.nextDeadline == nil)
  }

  /// Of a subscription, too; and what is unsubscribed is due until its receipt comes.
  @Test func aReceiptOfASubscription() throws {
    let harness = Harness { $0.receiptTimeout = 1000 }
    let slot = try harness.subscribe("d")
    harness.connect()
    _ = harness.sent()
    #expect(harness.session.nextDeadline == harness.now.advanced(by: 1000))
    harness.say("RECEIPT/receipt-id:s0//^")
    #expect(harness.session.nextDeadline == nil)
    try harness.session.unsubscribe(slot, headers: Span(), cookie: 0)
    _ = harness.sent()
    #expect(harness.session.nextDeadline == harness.now.advanced(by: 1000))
    harness.say("RECEIPT/receipt-id:s65536//^")
    #expect(harness.session.nextDeadline == nil)
  }

  /// Messages that come on do not put it off.
  @Test func aReceiptThatMessagesHide() throws {
    let harness = Harness { $0.receiptTimeout = 500 }
    _ = try harness.subscribe("d")
    harness.connect()
    _ = harness.sent()
    harness.say("RECEIPT/receipt-id:s0//^")
    #expect(harness.events().count == 1 && harness.send("1", receipt: true) == nil)
    _ = harness.sent()
    for _ in 1...5 {
      #expect(harness.session.closeReason == nil)
      harness.now = harness.now.advanced(by: 100)
      harness.say("MESSAGE/subscription:0/message-id:m/destination:d//1^")
      #expect(harness.events().count == 1)
      harness.session.timedOut(at: harness.now)
    }
    guard case .receiptTimeout = harness.session.closeReason?.cause else {
      Issue.record("no reason")
      return
    }
  }

  /// The receipt of SUBSCRIBE says nothing of UNSUBSCRIBE, nor that of UNSUBSCRIBE of the next subscription there.
  @Test func aReceiptOfTheFrameBefore() throws {
    let harness = Harness()
    harness.connect()
    let slot = try harness.subscribe("a", cookie: 1)
    #expect(harness.sent().contains("receipt:s0/"))
    try harness.session.unsubscribe(slot, headers: Span(), cookie: 2)
    #expect(harness.sent() == "UNSUBSCRIBE/id:0/receipt:s65536//^")
    harness.say("RECEIPT/receipt-id:s0//^")
    #expect(harness.events() == [] && harness.session.receiptsDue == 1)
    harness.say("RECEIPT/receipt-id:s65536//^")
    #expect(harness.events() == ["unsubscribed 0 2"])
    #expect(try harness.subscribe("b", cookie: 3) == slot)
    #expect(harness.sent().contains("receipt:s131072/"))
    harness.say("RECEIPT/receipt-id:s65536//^RECEIPT/receipt-id:s0//^")
    #expect(harness.events() == [])
    harness.say("ERROR/receipt-id:s131072/message:no//^")
    harness.session.connectionClosed()
    #expect(harness.events() == ["refused 0 3"])
  }

  /// An ERROR may come instead: nothing else is due before the drain is over.
  @Test func drainingWaitsForSubscriptions() throws {
    let harness = Harness()
    harness.connect()
    _ = try harness.subscribe("a")
    #expect(harness.session.isDrained == false)
    _ = harness.sent()
    #expect(harness.session.isDrained == false)
    harness.say("RECEIPT/receipt-id:s0//^")
    #expect(harness.session.isDrained == true)
  }

  /// Numbers from before the first one that waits, and from behind the last one.
  @Test(arguments: ["1", "0", "4294967295", "2147483649", "3"])
  func aReceiptOfNothing(_ number: String) {
    let harness = Harness()
    harness.connect()
    _ = harness.send("1", cookie: 1, receipt: true)
    _ = harness.sent()
    harness.say("RECEIPT/receipt-id:1//^")
    #expect(
      harness.events() == ["completed 1 delivered"] && harness.send("2", cookie: 2, receipt: true) == nil)
    _ = harness.sent()
    harness.say("RECEIPT/receipt-id:\(number)//^")
    #expect(harness.events() == [] && harness.session.closeReason == nil)
  }

  /// What waits for bytes is told when there are as many, and not before.
  @Test func roomForBytes() {
    let harness = Harness {
      $0.outboxBytes = 300
      $0.outboxFrames = 16
    }
    let body = String(repeating: "x", count: 200)
    #expect(harness.send(body) == nil && harness.send(body) == .full)
    #expect(harness.event() == "" && !harness.session.hasEvent)
    harness.connect()
    _ = harness.sent()
    #expect(harness.events() == ["completed 0 delivered", "room"])
    #expect(harness.send(body) == nil)
  }

  /// The server knows nothing of a subscription that was not made on this connection.
  @Test func unsubscribingBetweenConnections() throws {
    let harness = Harness()
    let slot = try harness.subscribe("d", cookie: 1)
    harness.connect()
    _ = harness.sent()
    harness.say("RECEIPT/receipt-id:s0//^")
    #expect(harness.events() == ["subscribed 0 1"])
    harness.session.connectionClosed()
    try harness.session.unsubscribe(slot, headers: Span(), cookie: 2)
    #expect(harness.events() == ["unsubscribed 0 2"])
    #expect(throws: STOMPError.subscription) {
      try harness.session.unsubscribe(slot, headers: Span(), cookie: 3)
    }
    harness.connect()
    #expect(harness.sent() == "" && harness.session.isDrained)
  }

  /// What was written for one version, and means something else in that of the connection, is not sent.
  @Test(arguments: [
    ("1.2", "plain", true), ("1.1", "plain", true), ("1.0", "plain", true), ("1.2", "a:b", true),
    ("1.1", "a:b", true),
    ("1.0", "a:b", false), ("1.2", "a\rb", true), ("1.1", "a\rb", false), ("1.0", "a\\b", false),
  ])
  func framesOfAnotherVersion(_ version: String, _ destination: String, _ fits: Bool) throws {
    let harness = Harness()
    #expect(harness.send("1", to: destination, cookie: 1) == nil)
    _ = try harness.subscribe(destination, cookie: 2)
    harness.connect(version)
    #expect(harness.sent().isEmpty == !fits)
    if !fits {
      #expect(harness.events() == ["completed 1 version", "version 0 2"] && harness.session.isDrained)
    }
  }

  /// The other way round: 1.0 has no escapes, and what was written without them would be read as some.
  @Test func framesOfAnOlderVersion() throws {
    let harness = Harness()
    harness.connect("1.0")
    harness.session.connectionClosed()
    #expect(harness.send("1", to: "a\\n", cookie: 1) == nil && harness.send("2", to: "b", cookie: 2) == nil)
    harness.connect("1.2")
    #expect(harness.sent() == "SEND/destination:b/content-length:1//2^")
    #expect(harness.events() == ["completed 1 version", "completed 2 delivered"])
  }

  /// 1.0 has no client-individual.
  @Test func anAckModeOfAnotherVersion() throws {
    let harness = Harness()
    _ = try harness.subscribe("d", .individual, cookie: 1)
    harness.connect("1.0")
    #expect(harness.sent() == "" && harness.events() == ["version 0 1"])
    #expect(try harness.subscribe("e", cookie: 2) == 0)
  }

  @Test func countersOfWhatWasDone() throws {
    let harness = Harness()
    harness.connect()
    _ = try harness.subscribe("d", .individual)
    _ = harness.send("1", cookie: 1, receipt: true)
    _ = harness.send("2", cookie: 2, receipt: true)
    _ = harness.sent()
    #expect(harness.session.receiptsDue == 3 && harness.session.outboxCounts.frames == 2)
    harness.say("RECEIPT/receipt-id:1//^MESSAGE/subscription:0/message-id:m/ack:a/destination:d//1^")
    _ = harness.events()
    #expect(harness.session.heldCount == 1)
    try harness.session.acknowledge(harness.token)
    _ = harness.sent()
    harness.session.connectionClosed()
    _ = harness.events()
    let (counters, outbox) = (harness.session.counters, harness.session.outboxCounts)
    #expect(counters.connections == 1 && counters.messagesReceived.uint64 == 1)
    // CONNECT, SUBSCRIBE, two SEND, ACK; CONNECTED, RECEIPT, MESSAGE.
    #expect(counters.framesSent.uint64 == 5 && counters.framesReceived.uint64 == 3)
    #expect(
      outbox.delivered.uint64 == 1 && outbox.failed.uint64 == 1 && outbox.frames == 0 && outbox.bytes == 0)
    #expect(outbox.framesPeak == 2 && outbox.bytesPeak > 100)
  }

  /// What waits for a slow application may be life. Its time begins when the application takes it, and no deadline passes
  /// meanwhile.
  @Test func aSlowApplication() throws {
    let harness = Harness {
      $0.heartBeat = HeartBeat(sends: 0, wants: 100)
      $0.receiptTimeout = 50
      $0.heldMessages = 1
    }
    _ = try harness.subscribe("d", .individual)
    harness.connect("1.2", more: "heart-beat:100,0/")
    _ = harness.sent()
    let message = "MESSAGE/subscription:0/message-id:m/ack:a/destination:d//1^"
    harness.say("RECEIPT/receipt-id:s0//^" + message + message)
    _ = harness.event()
    #expect(harness.event().hasPrefix("message") && harness.send("x", receipt: true) == nil)
    _ = harness.sent()
    harness.now = harness.now.advanced(by: 1000)
    harness.session.timedOut(at: harness.now)
    #expect(harness.session.closeReason == nil && harness.session.nextDeadline == nil)
    // The second one has to wait until the first one is acknowledged.
    #expect(harness.event() == "" && harness.session.nextDeadline == nil)
    harness.now = harness.now.advanced(by: 1000)
    try harness.session.acknowledge(harness.token)
    harness.session.resume(at: harness.now)
    harness.session.timedOut(at: harness.now)
    #expect(harness.session.closeReason == nil && harness.event().hasPrefix("message"))
    harness.session.release(at: harness.now)
    harness.session.advance(to: harness.now)
    #expect(harness.session.nextDeadline == harness.now.advanced(by: 50))
  }

  /// "Clients MUST NOT send any more frames after the DISCONNECT frame is sent": not even if an ACK is being sent.
  @Test func leavingInTheMiddleOfAnAck() throws {
    let harness = Harness()
    _ = try harness.subscribe("d", .individual)
    harness.connect()
    _ = harness.sent()
    harness.say("RECEIPT/receipt-id:s0//^MESSAGE/subscription:0/message-id:m/ack:a/destination:d//1^")
    _ = harness.events()
    try harness.session.acknowledge(harness.token)
    #expect(harness.part(3).count == 3)
    _ = try harness.subscribe("e")
    harness.session.beginDisconnect()
    #expect(harness.disconnect())
    #expect(harness.sent() == "/id:a//^DISCONNECT/receipt:bye//^")
    // What was not sent waits for the next connection.
    harness.session.connectionClosed()
    harness.connect()
    #expect(harness.sent().contains("id:1/destination:e/"))
  }

  /// Other credentials, in the room that there is for them, from the next CONNECT on.
  @Test func credentialsThatChange() throws {
    let harness = Harness {
      $0.credentialBytes = 10
      $0.newest = .v10
    }
    func set(_ login: String, _ passcode: String) throws {
      let (login, passcode) = (Array(login.utf8), Array(passcode.utf8))
      try harness.session.setCredentials(login: login.span, passcode: passcode.span)
    }
    harness.session.connectionOpened()
    #expect(harness.sent() == "CONNECT//^")
    harness.session.connectionClosed()
    try set("me", "12345678")
    harness.session.connectionOpened()
    #expect(harness.sent() == "CONNECT/login:me/passcode:12345678//^")
    harness.session.connectionClosed()
    #expect(throws: STOMPError.tooLarge) { try set("me2", "12345678") }
    #expect(throws: STOMPError.header) { try set("a\nb", "") }
    try set("", "x")
    harness.session.connectionOpened()
    #expect(harness.sent() == "CONNECT/passcode:x//^")
  }

  // MARK: Transactions

  @Test func transactions() throws {
    let harness = Harness()
    _ = try harness.subscribe("d", .individual)
    #expect(throws: STOMPError.state) { try harness.session.begin() }
    harness.connect()
    _ = harness.sent()
    harness.say(Self.delivered(1, "a1"))
    #expect(harness.event() == "message 0 d \"1\"")
    let one = try harness.session.begin()
    let two = try harness.session.begin()
    #expect((one, two) == (1, 2))
    #expect(throws: STOMPError.full) { try harness.session.begin() }
    #expect(harness.send("x", transaction: one) == nil)
    try harness.session.acknowledge(harness.token, transaction: one)
    try harness.session.commit(one, cookie: 9)
    try harness.session.abort(two, cookie: 10)
    #expect(throws: STOMPError.transaction) { try harness.session.commit(one, cookie: 9) }
    #expect(harness.send("x", transaction: two) == .transaction)
    #expect(
      harness.sent()
        == "BEGIN/transaction:1//^BEGIN/transaction:2//^SEND/destination:/queue/a/content-length:1/transaction:1//x^"
        + "ACK/id:a1/transaction:1//^COMMIT/transaction:1/receipt:5//^ABORT/transaction:2/receipt:6//^")
    harness.say("RECEIPT/receipt-id:6//^RECEIPT/receipt-id:5//^")
    #expect(harness.events() == ["completed 0 delivered", "completed 10 delivered", "completed 9 delivered"])
    #expect(try harness.session.begin() == 3)
  }

  @Test func transactionsEndWithTheirConnection() throws {
    let harness = Harness()
    harness.connect()
    let one = try harness.session.begin()
    _ = try harness.session.begin()
    _ = harness.send("in", cookie: 1, transaction: one)
    _ = harness.send("out", cookie: 2)
    harness.session.connectionClosed()
    // Nobody waits for BEGIN.
    #expect(harness.events() == ["completed 1 connectionLost", "lost 2"])
    harness.connect()
    #expect(harness.sent().hasSuffix("//out^") && harness.send("in", transaction: one) == .transaction)
  }

  // MARK: Heart-beats

  @Test func heartBeats() {
    let harness = Harness { $0.heartBeat = HeartBeat(sends: 100, wants: 500) }
    harness.connect("1.2", more: "heart-beat:400,200/")
    // Every 200 ms at least; the server every 500.
    #expect(harness.sent() == "")
    func pass(_ milliseconds: UInt32) {
      harness.now = harness.now.advanced(by: milliseconds)
      harness.session.timedOut(at: harness.now)
    }
    pass(159)
    #expect(harness.sent() == "" && harness.session.nextDeadline == harness.now.advanced(by: 1))
    pass(1)
    // The driver has to see that there is something to send, and that there is no other deadline meanwhile.
    #expect(harness.session.wantsTransmit && harness.session.nextDeadline != harness.now)
    pass(0)
    #expect(harness.sent() == "/" && harness.sent() == "" && !harness.session.wantsTransmit)
    pass(100)
    _ = harness.send("x")
    #expect(harness.sent().hasPrefix("SEND"))
    pass(100)
    #expect(harness.sent() == "")
    harness.say("/")
    harness.now = harness.now.advanced(by: 1249)
    harness.session.timedOut(at: harness.now)
    #expect(harness.session.closeReason == nil)
    harness.now = harness.now.advanced(by: 1)
    harness.session.timedOut(at: harness.now)
    guard case .heartBeat = harness.session.closeReason?.cause else {
      Issue.record("alive")
      return
    }
  }

  @Test func noHeartBeats() {
    let harness = Harness { $0.heartBeat = HeartBeat(sends: 100, wants: 100) }
    harness.connect("1.2")
    #expect(harness.session.nextDeadline == nil)
    harness.session.connectionClosed()
    harness.connect("1.0", more: "heart-beat:10,10/")
    #expect(harness.session.nextDeadline == nil)
  }

  // MARK: Leaving

  /// "To do a graceful shutdown": a receipt for DISCONNECT, and nothing behind it.
  @Test func leaving() throws {
    let harness = Harness()
    harness.connect()
    _ = harness.send("last", cookie: 1, receipt: true)
    harness.session.beginDisconnect()
    #expect(harness.send("late") == .leaving)
    #expect(throws: STOMPError.leaving) { try harness.session.begin() }
    #expect(harness.sent().hasSuffix("//last^"))
    harness.say("RECEIPT/receipt-id:1//^")
    #expect(harness.session.isDrained && harness.session.canSendDisconnect)
    #expect(harness.disconnect() && harness.disconnect())
    #expect(harness.sent(4) == "DISCONNECT/receipt:bye//^" && harness.session.closeReason == nil)
    harness.say("RECEIPT/receipt-id:bye//^")
    guard case .requested = harness.session.closeReason?.cause else {
      Issue.record("not left")
      return
    }
    #expect(!harness.session.wantsReceive && harness.sent() == "")
  }

  /// A server that closes, or says nothing more, has not refused anything.
  @Test(arguments: [true, false])
  func theReceiptDoesNotCome(_ closes: Bool) {
    let harness = Harness()
    harness.connect()
    #expect(harness.disconnect())
    _ = harness.sent()
    #expect(
      harness.session.closeReason == nil && harness.session.nextDeadline == harness.now.advanced(by: 5000))
    if closes {
      harness.session.peerClosed()
    } else {
      harness.now = harness.now.advanced(by: 5000)
      harness.session.timedOut(at: harness.now)
    }
    guard case .requested = harness.session.closeReason?.cause else {
      Issue.record("not left")
      return
    }
  }

  /// The drain took too long: DISCONNECT goes behind the frame that is being sent, and the others stay.
  @Test(arguments: [0, 1, 20])
  func disconnectIsTheLast(_ sent: Int) {
    let harness = Harness()
    harness.connect()
    for body in ["1", "2", "3"] { _ = harness.send(body, quiet: true) }
    #expect(harness.part(sent).count == sent)
    #expect(harness.disconnect())
    let rest = harness.sent()
    #expect(sent == 0 ? rest == "DISCONNECT/receipt:bye//^" : rest.hasSuffix("//1^DISCONNECT/receipt:bye//^"))
    harness.session.connectionClosed()
    harness.connect()
    #expect(harness.sent().filter { $0 == "^" }.count == (sent == 0 ? 3 : 2))
  }

  /// It has five seconds, sent or not; and what the server says in between is why the connection ends.
  @Test(arguments: [true, false])
  func disconnectThatIsNotSent(_ isRefused: Bool) {
    let harness = Harness()
    harness.connect()
    _ = harness.send("1")
    _ = harness.part(3)
    #expect(harness.disconnect())
    #expect(harness.session.nextDeadline == harness.now.advanced(by: 5000))
    harness.session.peerClosed()
    #expect(harness.session.closeReason == nil)
    if isRefused {
      harness.say("ERROR/message:no//^")
      guard case .error = harness.session.closeReason?.cause else {
        Issue.record("no reason")
        return
      }
      #expect(harness.session.hasUnsentDisconnect == false)
    } else {
      harness.now = harness.now.advanced(by: 5000)
      harness.session.timedOut(at: harness.now)
      guard case .requested = harness.session.closeReason?.cause else {
        Issue.record("not left")
        return
      }
      #expect(harness.session.hasUnsentDisconnect == true)
    }
  }

  /// Room for ACK is told, too.
  @Test func roomForAcknowledgements() throws {
    let harness = Harness { ($0.controlBytes, $0.heldMessages) = (100, 8) }
    _ = try harness.subscribe("d", .individual)
    harness.connect()
    _ = harness.sent()
    harness.say("RECEIPT/receipt-id:s0//^")
    var tokens: [UInt64] = []
    for _ in 1...8 {
      harness.say("MESSAGE/subscription:0/message-id:m/ack:a/destination:d//1^")
      _ = harness.events()
      tokens.append(harness.token)
    }
    var refused: STOMPError? = nil
    for token in tokens where refused == nil {
      do throws(STOMPError) { try harness.session.acknowledge(token) } catch { refused = error }
    }
    #expect(refused == .full && harness.event() == "")
    _ = harness.sent()
    #expect(harness.session.hasEvent && harness.events() == ["room"] && !harness.session.hasEvent)
  }

  /// The server takes back what was not acknowledged; and what still comes blocks nothing.
  @Test func unsubscribingWithMessagesThatWait() throws {
    let harness = Harness { $0.heldMessages = 1 }
    let slot = try harness.subscribe("d", .individual)
    harness.connect()
    _ = harness.sent()
    let message = "MESSAGE/subscription:0/message-id:m/ack:a/destination:d//1^"
    harness.say("RECEIPT/receipt-id:s0//^" + message + message + message)
    #expect(harness.events().count == 2 && !harness.session.wantsReceive)
    let token = harness.token
    try harness.session.unsubscribe(slot, headers: Span(), cookie: 3)
    #expect(harness.session.heldCount == 0)
    #expect(throws: STOMPError.token) { try harness.session.acknowledge(token) }
    harness.session.resume(at: harness.now)
    _ = harness.sent()
    #expect(harness.events().count == 2 && harness.token == 0)
    harness.say("RECEIPT/receipt-id:s65536//^")
    #expect(harness.events() == ["unsubscribed 0 3"])
  }

  /// The head alone fills the buffer: no byte of the body would ever have room.
  @Test(arguments: ["content-length:1000/", ""], [0, 1])
  func aHeadThatFillsTheBuffer(_ length: String, _ room: Int) throws {
    let harness = Harness()
    _ = try harness.subscribe("d")
    harness.connect()
    _ = harness.sent()
    harness.say("RECEIPT/receipt-id:s0//^")
    _ = harness.events()
    let head = "MESSAGE/subscription:0/message-id:m/destination:d/\(length)"
    let filling = 512 - room - head.utf8.count - "x:".utf8.count - 2
    harness.say(
      head + "x:" + String(repeating: "y", count: filling) + "//" + String(repeating: "b", count: 1000) + "^")
    if room > 0 {
      #expect(harness.events().isEmpty == false && harness.session.closeReason == nil)
      return
    }
    guard case .headTooLarge = harness.session.closeReason?.cause else {
      Issue.record("no reason")
      return
    }
  }

  /// A server that does not wait for CONNECT.
  @Test func connectedTooEarly() {
    let harness = Harness()
    harness.session.connectionOpened()
    _ = harness.part(3)
    harness.say("CONNECTED/version:1.2//^")
    guard case .malformed(.order) = harness.session.closeReason?.cause else {
      Issue.record("no reason")
      return
    }
  }

  /// The connection ended behind it: it is as whole as a message that came in one piece.
  @Test func theLastPartOutlastsTheConnection() throws {
    let harness = Harness()
    _ = try harness.subscribe("d")
    harness.connect()
    _ = harness.sent()
    harness.say("RECEIPT/receipt-id:s0//^")
    _ = harness.events()
    harness.say(
      "MESSAGE/subscription:0/message-id:m/destination:d/content-length:600//"
        + String(repeating: "b", count: 600) + "^")
    #expect(harness.event().hasSuffix("more"))
    harness.session.release(at: harness.now)
    harness.say("")
    #expect(harness.session.hasEvent == true)
    harness.session.connectionClosed()
    let last = harness.events()
    #expect(last.count == 1 && last[0].contains(" at "))
  }

  /// The program has made the list by hand.
  @Test(arguments: ["receipt", "destination", "transaction"])
  func aHeaderThatTheLibraryWrites(_ name: String) throws {
    let harness = Harness()
    #expect(harness.send("1", headers: [(name, "x")]) == .header)
    #expect(throws: STOMPError.header) { try harness.subscribe("d", headers: [(name, "x")]) }
  }

  /// The version that is spoken does not have it, although one that is offered has.
  @Test func individualOnAnOlderConnection() throws {
    let harness = Harness()
    harness.connect("1.0")
    #expect(throws: STOMPError.version) { try harness.subscribe("d", .individual) }
    harness.session.connectionClosed()
    #expect(try harness.subscribe("d", .individual) == 0)
  }
}
