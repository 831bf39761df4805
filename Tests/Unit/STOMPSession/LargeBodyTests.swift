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
