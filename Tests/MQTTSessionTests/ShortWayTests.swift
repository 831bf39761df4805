import MQTTWire
import Testing

@testable import MQTTSession

/// Where the short way must leave it to the long one.
@Suite struct ShortWayTests {
  private static func message(_ payload: UInt8, qos: UInt8 = 0, identifier: UInt8 = 5) -> [UInt8] {
    let rest: [UInt8] = [0, 1, 0x61] + (qos > 0 ? [0, identifier] : []) + [payload]
    return [0x30 | qos << 1, UInt8(rest.count)] + rest
  }

  /// What ended meanwhile is told before a message that has not been looked at.
  @Test func aCompletionComesFirst() throws {
    let rig = Rig(.v3_1_1) { _ in }
    rig.connect()
    _ = rig.events()
    try rig.publishSpecially("a", cookie: 7, expiry: 1)
    rig.receive(Self.message(1) + Self.message(2) + Self.message(3))
    #expect(rig.event() == .message(ReceivedMessage("a", [1])))
    rig.pass(2000)
    #expect(rig.event() == .failed(7, .expired))
    #expect(rig.events() == [.message(ReceivedMessage("a", [2])), .message(ReceivedMessage("a", [3]))])
  }

  /// A server that sends a message again, without DUP, before it has released it.
  @Test func exactlyOnce() {
    let rig = Rig(.v3_1_1) { _ in }
    rig.connect()
    _ = rig.events()
    rig.receive(Self.message(1, qos: 2) + Self.message(1, qos: 2) + Self.message(2, qos: 2, identifier: 6))
    let told = rig.events()
    #expect(told.count == 2)
    #expect(told.last == .message(ReceivedMessage("a", [2], qos: .exactlyOnce)))
  }

  /// A message that waits for somebody to ask for it is nobody's yet.
  @Test func heldOnlyInHand() {
    let rig = Rig(.v3_1_1) { _ in }
    rig.connect()
    _ = rig.events()
    rig.receive(Self.message(1, qos: 1))
    #expect(rig.hasEvent && !rig.hold())
    #expect(rig.event() == .message(ReceivedMessage("a", [1], qos: .atLeastOnce)))
    #expect(rig.hold())
  }
}
