import MQTTWire
import Testing

@testable import MQTTSession

/// `hasEvent` promises that `nextEvent` finds one, and nothing is left behind that it does not tell of.
@Suite struct EventsTests {
  /// The reply comes, and then its own message is refused.
  @Test func requestThatFailsAfterItsEnd() throws {
    let rig = Rig(.v5_0) { $0.replies = 4 }
    rig.connect()
    _ = rig.event()
    try rig.request(qos: .atLeastOnce, timeout: 1000, cookie: 5)
    _ = rig.drain()
    rig.pass(1001)
    #expect(rig.hasEvent)
    #expect(rig.events() == [.responseTimedOut(5)])
    rig.receive(hex("40 0A 00 01 97 06 1F 00 03 77 68 79"))
    #expect(!rig.hasEvent)
    #expect(rig.event() == nil)
    #expect(rig.isDrained)
    // What came behind it is not held up.
    rig.receive(publish(.v5_0, qos: .atMostOnce, identifier: 0))
    guard case .message = rig.event() else { return #expect(Bool(false)) }
  }

  /// Time is up for one request, and its reply comes before the application looks; for another it is not.
  @Test func replyAfterTheLastLook() throws {
    let rig = Rig(.v5_0) { $0.replies = 4 }
    rig.connect()
    _ = rig.event()
    try rig.request(timeout: 1000, cookie: 5)
    try rig.request(timeout: 3000, cookie: 6)
    let sent = packets(rig.drain())
    rig.pass(1001)
    #expect(rig.hasEvent)
    let correlation = Array(ReadPublish(sent[0], .v5_0).properties.suffix(8))
    rig.receive(publish(.v5_0, "r", qos: .atMostOnce, properties: correlationData(correlation)))
    guard case .message = rig.event() else { return #expect(Bool(false)) }
    #expect(!rig.hasEvent)
    #expect(rig.event() == nil)
    #expect(rig.nextDeadline == 3000)
    rig.pass(2000)
    #expect(rig.events() == [.responseTimedOut(6)])
    #expect(!rig.hasEvent)
  }
}
