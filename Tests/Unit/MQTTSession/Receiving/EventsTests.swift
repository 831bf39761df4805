import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

/// `hasEvent` promises that `nextEvent` finds one, and nothing is left behind that it does not tell of.
@Suite struct EventsTests {
  /// The reply comes, and then its own message is refused.
  @Test func requestThatFailsAfterItsEnd() throws {
    let harness = SessionHarness(.v5_0) { $0.replies = 4 }
    harness.connect()
    _ = harness.event()
    try harness.request(qos: .atLeastOnce, timeout: 1000, cookie: 5)
    _ = harness.drain()
    harness.advanceClock(1001)
    #expect(harness.hasEvent)
    #expect(harness.events() == [.responseTimedOut(5)])
    harness.receive(hex("40 0A 00 01 97 06 1F 00 03 77 68 79"))
    #expect(!harness.hasEvent)
    #expect(harness.event() == nil)
    #expect(harness.isDrained)
    // What came behind it is not held up.
    harness.receive(publish(.v5_0, qos: .atMostOnce, identifier: 0))
    guard case .message = harness.event() else { return #expect(Bool(false)) }
  }

  /// Time is up for one request, and its reply comes before the application looks; for another it is not.
  @Test func replyAfterTheLastLook() throws {
    let harness = SessionHarness(.v5_0) { $0.replies = 4 }
    harness.connect()
    _ = harness.event()
    try harness.request(timeout: 1000, cookie: 5)
    try harness.request(timeout: 3000, cookie: 6)
    let sent = packets(harness.drain())
    harness.advanceClock(1001)
    #expect(harness.hasEvent)
    let correlation = Array(ReadPublish(sent[0], .v5_0).properties.suffix(8))
    harness.receive(publish(.v5_0, "r", qos: .atMostOnce, properties: correlationData(correlation)))
    guard case .message = harness.event() else { return #expect(Bool(false)) }
    #expect(!harness.hasEvent)
    #expect(harness.event() == nil)
    #expect(harness.nextDeadline == 3000)
    harness.advanceClock(2000)
    #expect(harness.events() == [.responseTimedOut(6)])
    #expect(!harness.hasEvent)
  }

  /// A message that came alone, and one that comes behind it.
  @Test func messages() {
    let harness = SessionHarness(.v3_1_1)
    harness.connect()
    _ = harness.event()
    #expect(!harness.hasEvent)
    let message = publish(.v3_1_1, qos: .atMostOnce, identifier: 0)
    for count in 1...2 {
      harness.receive(Array(repeating: message, count: count).joined().map { $0 })
      // What lies behind the first is parsed when that is released.
      #expect(harness.hasEvent)
      for _ in 0..<count {
        guard case .message = harness.event() else { return #expect(Bool(false)) }
      }
      #expect(!harness.hasEvent)
      // It releases the last one.
      #expect(harness.event() == nil)
    }
  }
}
