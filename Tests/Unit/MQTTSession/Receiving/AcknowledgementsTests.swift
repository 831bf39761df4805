import MQTTWire
import Testing

@testable import MQTTSession

/// PUBREC and PUBREL with properties, in the middle of a delivery: is what they say handed out, and nothing held up?
@Suite struct AcknowledgementsTests {
  /// Reason String "why" (§3.5.2.2.2), as a list and with its length.
  private let why = hex("1F 00 03 77 68 79")

  @Test func pubrec() throws {
    let rig = Rig(.v5_0)
    rig.connect()
    _ = rig.event()
    try rig.publish(qos: .exactlyOnce, cookie: 7)
    _ = rig.drain()
    rig.receive(hex("50 0A 00 01 10 06") + why)
    #expect(rig.event() == .handshake(.pubrec, 7, 0x10, reason: "why".bytes, properties: why))
    #expect(rig.drain() == hex("62 02 00 01"))
    #expect(!rig.hasEvent)
    rig.receive(hex("70 02 00 01"))
    #expect(rig.events() == [.delivered(7)])
  }

  @Test func pubrecThatRefusesEndsTheMessage() throws {
    let rig = Rig(.v5_0)
    rig.connect()
    _ = rig.event()
    try rig.publish(qos: .exactlyOnce, cookie: 7)
    _ = rig.drain()
    rig.receive(hex("50 0A 00 01 97 06") + why)
    #expect(rig.events() == [.refused(7, 0x97)])
  }

  @Test func pubrecOfQuietMessage() throws {
    let rig = Rig(.v5_0)
    rig.connect()
    _ = rig.event()
    try rig.publish(qos: .exactlyOnce, cookie: 7, isQuiet: true)
    _ = rig.drain()
    rig.receive(hex("50 0A 00 01 00 06") + why)
    #expect(!rig.hasEvent)
    #expect(rig.drain() == hex("62 02 00 01"))
  }

  @Test func pubrel() {
    let rig = Rig(.v5_0)
    rig.connect()
    _ = rig.event()
    rig.receive(publish(.v5_0, qos: .exactlyOnce, identifier: 3))
    guard case .message = rig.event() else { return #expect(Bool(false)) }
    rig.session.release()
    #expect(rig.drain() == hex("50 02 00 03"))
    rig.receive(hex("62 0A 00 03 00 06") + why + hex("62 02 00 04"))
    // Its answer does not wait for the application.
    #expect(rig.drain() == hex("70 02 00 03"))
    #expect(rig.event() == .handshake(.pubrel, 0, 0, reason: "why".bytes, properties: why))
    #expect(rig.event() == nil)
    #expect(rig.drain() == hex("70 03 00 04 92"))
  }
}
