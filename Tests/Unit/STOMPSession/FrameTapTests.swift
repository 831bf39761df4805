import STOMPWire
import TestSupport
import Testing

@testable import STOMPSession

/// Who looks on is told each frame once, as it went over the connection, however the bytes came and went.
struct FrameTapTests {
  typealias Harness = STOMPHarness

  /// What was told, as lines: which way, the bytes, and the length if not all of them are there.
  final class Record {
    var lines: [String] = []

    func tap(showsSecrets: Bool = false) -> FrameTap {
      unsafe FrameTap(
        { user, frame in
          let record = unsafe Unmanaged<Record>.fromOpaque(user!).takeUnretainedValue()
          let frame = unsafe frame.assumingMemoryBound(to: ObservedFrame.self).pointee
          let text = unsafe Harness.shown(Array(frame.bytes))
          let more = unsafe frame.length == frame.bytes.count ? "" : " of \(frame.length)"
          record.lines.append((unsafe frame.direction == .sent ? "> " : "< ") + text + more)
        }, user: Unmanaged.passUnretained(self).toOpaque(), showsSecrets: showsSecrets)
    }
  }

  private static func message(_ body: String) -> String {
    "MESSAGE/subscription:0/message-id:m/ack:a/destination:d//\(body)^"
  }

  /// In pieces of every size, both ways.
  @Test(arguments: [1, 2, 3, 7, 20, 1000])
  func everyFrame(_ piece: Int) throws {
    let (harness, record) = (
      Harness {
        ($0.login, $0.passcode, $0.urgentFrames, $0.urgentBytes) = ("me", "secret", 2, 200)
        $0.heartBeat = HeartBeat(sends: 100, wants: 0)
      }, Record()
    )
    harness.session.observe(record.tap())
    func send() { while harness.part(piece).count > 0 {} }
    func say(_ text: String) { harness.say(text, piece) }
    _ = try harness.subscribe("d", .individual)
    harness.session.connectionOpened()
    send()
    say("/CONNECTED/version:1.2/heart-beat:0,100//^")
    _ = harness.events()
    send()
    say("/RECEIPT/receipt-id:s0//^" + Self.message("1"))
    _ = harness.events()
    harness.now = harness.now.advanced(by: 90)
    harness.session.timedOut(at: harness.now)
    // A heart-beat, an acknowledgement behind it, and frames of both outboxes.
    try harness.session.acknowledge(harness.token)
    for urgent in [false, true] { #expect(harness.send("x\ny", urgent: urgent) == nil) }
    send()
    harness.session.beginDisconnect()
    #expect(harness.disconnect())
    send()
    say("RECEIPT/receipt-id:bye//^")
    #expect(
      record.lines == [
        "> CONNECT/accept-version:1.0,1.1,1.2/host:h/heart-beat:100,0/login:me/passcode: of 86",
        "< CONNECTED/version:1.2/heart-beat:0,100//^",
        "> SUBSCRIBE/id:0/destination:d/ack:client-individual/receipt:s0//^",
        "< RECEIPT/receipt-id:s0//^", "< " + Self.message("1"), "> ACK/id:a//^",
        "> SEND/destination:/queue/a/content-length:3//x/y^",
        "> SEND/destination:/queue/a/content-length:3//x/y^",
        "> DISCONNECT/receipt:bye//^", "< RECEIPT/receipt-id:bye//^",
      ])
  }

  /// Of the passcode nobody is told but who asks for it. A header of the program's is not taken for it.
  @Test func secrets() {
    for (passcode, showsSecrets, end) in [
      ("s", false, "/login:me/passcode:"), ("s", true, "/login:me/passcode:s//^"),
      ("", false, "/login:me//^"),
    ] {
      let (harness, record) = (
        Harness {
          ($0.login, $0.passcode) = ("me", passcode)
          $0.headers = [("x-passcode", "y")]
        }, Record()
      )
      harness.session.observe(record.tap(showsSecrets: showsSecrets))
      harness.session.connectionOpened()
      _ = harness.sent()
      #expect(record.lines.count == 1 && record.lines[0].contains("/x-passcode:y" + end))
      #expect(record.lines[0].contains("passcode:s") == showsSecrets)
    }
  }

  /// A message that has to wait for the application is told once; one that is too large, with its beginning.
  @Test func messagesThatWaitOrAreLarge() throws {
    let (harness, record) = (Harness { ($0.heldMessages, $0.receiveBytes) = (1, 128) }, Record())
    _ = try harness.subscribe("d", .individual)
    harness.connect()
    _ = harness.sent()
    harness.session.observe(record.tap())
    harness.say(Self.message("1") + Self.message("2"))
    _ = harness.events()
    try harness.session.acknowledge(harness.token)
    harness.session.resume(at: harness.now)
    _ = harness.events()
    #expect(record.lines == ["< " + Self.message("1"), "< " + Self.message("2")])
    try harness.session.acknowledge(harness.token)
    record.lines = []
    for length in ["content-length:300/", ""] {
      harness.say(
        "MESSAGE/subscription:0/message-id:m/destination:d/\(length)/" + String(repeating: "b", count: 300)
          + "^")
      _ = harness.events()
      if !length.isEmpty { try harness.session.acknowledge(harness.token) }
    }
    #expect(record.lines.count == 2)
    #expect(record.lines[0].hasSuffix("bbb of 371") && record.lines[1].hasSuffix("bbb of 0"))
  }

  /// What ends a connection, whether it is a frame or not.
  @Test(arguments: [
    ("HTTP/1.1 400 no/", "< HTTP/1.1 400 no/ of 0"), ("ERROR/message:no//why^", "< ERROR/message:no//why^"),
    ("RECEIPT/receipt-id:1/content-length:1//xy^", "< RECEIPT/receipt-id:1/content-length:1//xy"),
  ])
  func theLastOne(_ text: String, _ told: String) {
    let (harness, record) = (Harness(), Record())
    harness.connect()
    harness.session.observe(record.tap())
    harness.say(text.replacing("HTTP/1.1", with: "HTTP!1.1"))
    #expect(
      record.lines == [told.replacing("HTTP/1.1", with: "HTTP!1.1")] && harness.session.closeReason != nil)
  }

  /// An ERROR for which there is no room is told as it came, with its escapes, and as far as the event has it.
  @Test(arguments: ["content-length:600/", ""])
  func anErrorThatIsLarge(_ length: String) {
    let text = "ERROR/message:a\\cb/\(length)x\\\\y:z//"
    for first in 1..<text.utf8.count + 20 {
      let (harness, record) = (Harness { $0.receiveBytes = 128 }, Record())
      harness.connect()
      harness.session.observe(record.tap())
      let whole = text + String(repeating: "b", count: 600) + "^"
      harness.say(String(whole.prefix(first)))
      #expect(record.lines.isEmpty && harness.session.closeReason == nil)
      harness.say(String(whole.dropFirst(first)))
      let size = length.isEmpty ? 0 : text.utf8.count + 601
      #expect(record.lines == ["< \(whole.prefix(128)) of \(size)"], "\(first)")
      #expect(harness.session.closeReason.map { harness.received($0.message) } == "a:b")
    }
  }

  /// One that does not come to its end, wherever that is.
  @Test func anErrorThatDoesNotComeToItsEnd() {
    let text = "ERROR/message:a\\cb//why^"
    for count in 1..<text.utf8.count {
      let (harness, record) = (Harness(), Record())
      harness.connect()
      harness.session.observe(record.tap())
      harness.say(String(text.prefix(count)))
      harness.session.inputEnded(at: harness.now)
      let hasHead = count >= text.utf8.count - 4
      #expect(record.lines == (hasHead ? ["< \(text.prefix(count)) of 0"] : []), "\(count)")
    }
  }

  /// From the middle of a connection on, and of an acknowledgement that is being sent.
  @Test func fromTheMiddleOn() throws {
    let (harness, record) = (Harness(), Record())
    _ = try harness.subscribe("d", .individual)
    harness.connect()
    _ = harness.sent()
    harness.say("RECEIPT/receipt-id:s0//^" + Self.message("1") + Self.message("2"))
    var tokens: [UInt64] = []
    while !harness.event().isEmpty { tokens.append(harness.token) }
    for token in Set(tokens) where token != 0 { try harness.session.acknowledge(token) }
    #expect(harness.part(4).count == 4)
    harness.session.observe(record.tap())
    #expect(harness.sent().hasSuffix("^") && record.lines == ["> ACK/id:a//^"])
    // One that waits, and of which nothing was sent.
    record.lines = []
    harness.say(Self.message("3"))
    _ = harness.events()
    try harness.session.acknowledge(harness.token)
    harness.session.observe(record.tap())
    _ = harness.sent()
    #expect(record.lines.last == "> ACK/id:a//^")
    record.lines = ["before"]
    harness.session.observe(nil)
    #expect(harness.send("1") == nil && harness.sent().isEmpty == false && record.lines.count == 1)
  }
}
