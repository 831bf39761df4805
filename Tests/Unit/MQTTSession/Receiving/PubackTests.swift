import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

/// PUBREC and PUBREL with properties, in the middle of a delivery: is what they say handed out, and nothing held up?
@Suite struct PubackTests {
  /// Reason String "why" (§3.5.2.2.2), as a list and with its length.
  private let why = hex("1F 00 03 77 68 79")

  @Test func pubrec() throws {
    let harness = SessionHarness(.v5_0)
    harness.connect()
    _ = harness.event()
    try harness.publish(qos: .exactlyOnce, cookie: 7)
    _ = harness.drain()
    harness.receive(hex("50 0A 00 01 10 06") + why)
    #expect(harness.event() == .handshake(.pubrec, 7, 0x10, reason: "why".bytes, properties: why))
    #expect(harness.drain() == hex("62 02 00 01"))
    #expect(!harness.hasEvent)
    harness.receive(hex("70 02 00 01"))
    #expect(harness.events() == [.delivered(7)])
  }

  @Test func pubrecThatRefusesEndsTheMessage() throws {
    let harness = SessionHarness(.v5_0)
    harness.connect()
    _ = harness.event()
    try harness.publish(qos: .exactlyOnce, cookie: 7)
    _ = harness.drain()
    harness.receive(hex("50 0A 00 01 97 06") + why)
    #expect(harness.events() == [.refused(7, 0x97)])
  }

  @Test func pubrecOfQuietMessage() throws {
    let harness = SessionHarness(.v5_0)
    harness.connect()
    _ = harness.event()
    try harness.publish(qos: .exactlyOnce, cookie: 7, isQuiet: true)
    _ = harness.drain()
    harness.receive(hex("50 0A 00 01 00 06") + why)
    #expect(!harness.hasEvent)
    #expect(harness.drain() == hex("62 02 00 01"))
  }

  @Test func pubrel() {
    let harness = SessionHarness(.v5_0)
    harness.connect()
    _ = harness.event()
    harness.receive(publish(.v5_0, qos: .exactlyOnce, identifier: 3))
    guard case .message = harness.event() else { return #expect(Bool(false)) }
    harness.session.releaseEvent()
    #expect(harness.drain() == hex("50 02 00 03"))
    harness.receive(hex("62 0A 00 03 00 06") + why + hex("62 02 00 04"))
    // Its answer does not wait for the application.
    #expect(harness.drain() == hex("70 02 00 03"))
    #expect(harness.event() == .handshake(.pubrel, 0, 0, reason: "why".bytes, properties: why))
    #expect(harness.event() == nil)
    #expect(harness.drain() == hex("70 03 00 04 92"))
  }
}
