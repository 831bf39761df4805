import STOMPWire
import Testing

@testable import STOMPSession

/// Messages whose body has no room in the buffer: in parts, or dropped.
struct LargeBodyTests {
  typealias Harness = STOMPHarness

  /// The head of a message with a body of 600 bytes; the buffer has 512.
  private static func message(_ length: String = "content-length:600/", end: String = "^") -> String {
    "MESSAGE/subscription:0/message-id:m/ack:a/destination:d/\(length)/" + String(repeating: "b", count: 600)
      + end
  }

  private func subscribed() throws -> Harness {
    let harness = Harness()
    _ = try harness.subscribe("d", .individual)
    harness.connect()
    _ = harness.sent()
    harness.say("RECEIPT/receipt-id:s0//^")
    _ = harness.events()
    return harness
  }

  /// It is acknowledged as a whole.
  @Test func theLastPartHasTheToken() throws {
    let harness = try subscribed()
    harness.say(Self.message())
    #expect(harness.event().hasSuffix("more") && harness.token == 0 && harness.session.heldCount == 1)
    #expect(harness.event().contains(" at ") && harness.token != 0 && harness.bodySize == 600)
    try harness.session.acknowledge(harness.token)
    #expect(harness.sent() == "ACK/id:a//^" && harness.event() == "")
  }

  /// One that was dropped can be acknowledged, or refused, as well, and its size is known.
  @Test(arguments: [1, 7, 1000])
  func oneThatWasDropped(_ piece: Int) throws {
    let harness = try subscribed()
    harness.say(Self.message(""), piece)
    #expect(harness.event() == "message 0 d \"\" oversize" && harness.bodySize == 600)
    try harness.session.acknowledge(harness.token, isAccepted: false)
    #expect(harness.sent() == "NACK/id:a//^" && harness.event() == "")
  }

  // MARK: ERROR

  /// What its event says, and how large the body is as far as anybody knows.
  private func failure(_ harness: Harness) -> String? {
    guard let reason = harness.session.closeReason else { return nil }
    guard case .error = reason.cause else { return "\(reason.cause)" }
    return
      "\(harness.received(reason.message)) \(harness.received(reason.body)) \(reason.body.count) of \(reason.bodySize)"
  }

  /// However an ERROR comes, in two pieces or byte by byte, its body is there as far as the buffer has room for it.
  @Test(arguments: [0, 1, 50, 468, 600], [true, false])
  func anErrorInTwoPieces(_ size: Int, _ hasLength: Bool) {
    let head = "ERROR/message:no/\(hasLength ? "content-length:\(size)/" : "")/"
    let text = head + String((0..<size).map { Character(UnicodeScalar(97 + UInt8($0 % 26))) }) + "^"
    let count = min(size, 512 - head.utf8.count)
    let isWhole = text.utf8.count <= 512
    let body = text.dropFirst(head.utf8.count).prefix(count)
    let expected = "no \(body) \(count) of \(hasLength || isWhole ? size : count)"
    // Behind another frame, too, so that it has to move to the front of the buffer.
    for before in ["", "RECEIPT/receipt-id:7/x:" + String(repeating: "x", count: 200) + "//^"] {
      for first in 1..<text.utf8.count {
        let harness = Harness()
        harness.connect()
        harness.say(before + text.prefix(first))
        if first < min(512, text.utf8.count) { #expect(failure(harness) == nil, "\(first)") }
        harness.say(String(text.dropFirst(first)))
        #expect(failure(harness) == expected, "\(first)")
      }
      let harness = Harness()
      harness.connect()
      harness.say(before + text, 1)
      #expect(failure(harness) == expected)
    }
  }

  /// Nothing comes behind its beginning: what came of the body is there, if the head is whole.
  @Test(arguments: ["", "content-length:5/", "content-length:600/"])
  func anErrorThatDoesNotComeToItsEnd(_ length: String) {
    let head = "ERROR/receipt-id:1/message:no/\(length)/"
    let text = head + "12345"
    for count in 1...text.utf8.count {
      for falls in ["closed", "silent", "late"] {
        let harness = Harness {
          if falls == "silent" { $0.heartBeat = HeartBeat(sends: 0, wants: 100) }
          if falls == "late" { $0.receiptTimeout = 100 }
        }
        harness.connect(more: falls == "silent" ? "heart-beat:100,0/" : "")
        #expect(harness.send("1", cookie: 5, receipt: true) == nil)
        _ = harness.sent()
        harness.say(String(text.prefix(count)))
        #expect(failure(harness) == nil)
        if falls == "closed" {
          harness.session.inputEnded(at: harness.now)
        } else {
          harness.now = harness.now.advanced(by: 1000)
          harness.session.timedOut(at: harness.now)
        }
        let here = count - head.utf8.count
        guard here >= 0 else {
          let reason = ["silent": "heartBeat", "late": "receiptTimeout"][falls]
          #expect(failure(harness) == reason, "\(count)")
          continue
        }
        let size = length.isEmpty ? here : length.contains("600") ? 600 : 5
        #expect(failure(harness) == "no \("12345".prefix(here)) \(here) of \(size)", "\(count)")
        harness.session.connectionClosed()
        #expect(harness.events() == ["completed 5 refused"])
      }
    }
  }

  /// The connection has ended, and a message in front of the ERROR was not taken yet.
  @Test func anErrorBehindAMessageThatWaits() throws {
    let harness = try subscribed()
    harness.say("MESSAGE/subscription:0/message-id:m/ack:a/destination:d//1^ERROR/message:no//wh")
    harness.session.inputEnded(at: harness.now)
    #expect(failure(harness) == nil)
    #expect(harness.events() == ["message 0 d \"1\""])
    #expect(failure(harness) == "no wh 2 of 2")
  }

  /// More than content-length says.
  @Test func withoutAZeroBehindIt() throws {
    let harness = try subscribed()
    harness.say(Self.message(end: "x^"))
    #expect(harness.event().hasSuffix("more") && harness.event() == "")
    guard case .malformed(.bodyEnd) = harness.session.closeReason?.cause else {
      Issue.record("\(String(describing: harness.session.closeReason))")
      return
    }
  }

  /// Whoever has not begun with it is not told of a beginning that has no end; a message that is whole stays.
  @Test(arguments: [true, false])
  func aConnectionThatEndsInTheMiddle(_ isLarge: Bool) throws {
    let harness = try subscribed()
    harness.say(isLarge ? Self.message() : "MESSAGE/subscription:0/message-id:m/ack:a/destination:d//1^")
    #expect(harness.session.hasEvent == true)
    harness.session.connectionClosed()
    #expect(harness.events() == (isLarge ? [] : ["message 0 d \"1\""]))
  }
}
