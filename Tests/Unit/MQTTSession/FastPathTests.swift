import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

/// Plain messages, between messages and events that are not.
@Suite struct FastPathTests {
  private static func message(_ payload: UInt8, qos: UInt8 = 0, identifier: UInt8 = 5) -> [UInt8] {
    let rest: [UInt8] = [0, 1, 0x61] + (qos > 0 ? [0, identifier] : []) + [payload]
    return [0x30 | qos << 1, UInt8(rest.count)] + rest
  }

  /// What ended meanwhile is told before a message that has not been looked at.
  @Test func aCompletionComesFirst() throws {
    let harness = SessionHarness(.v3_1_1) { _ in }
    harness.connect()
    _ = harness.events()
    try harness.publish("a", cookie: 7, expiry: 1)
    harness.receive(Self.message(1) + Self.message(2) + Self.message(3))
    #expect(harness.event() == .message(ReceivedMessage("a", [1])))
    harness.advanceClock(2000)
    #expect(harness.event() == .failed(7, .expired))
    #expect(harness.events() == [.message(ReceivedMessage("a", [2])), .message(ReceivedMessage("a", [3]))])
  }

  /// A server that sends a message again, without DUP, before it has released it.
  @Test func exactlyOnce() {
    let harness = SessionHarness(.v3_1_1) { _ in }
    harness.connect()
    _ = harness.events()
    harness.receive(
      Self.message(1, qos: 2) + Self.message(1, qos: 2) + Self.message(2, qos: 2, identifier: 6))
    let told = harness.events()
    #expect(told.count == 2)
    #expect(told.last == .message(ReceivedMessage("a", [2], qos: .exactlyOnce)))
  }

  /// A message that waits for somebody to ask for it is nobody's yet.
  @Test func heldOnlyInHand() {
    let harness = SessionHarness(.v3_1_1) { _ in }
    harness.connect()
    _ = harness.events()
    harness.receive(Self.message(1, qos: 1))
    #expect(harness.hasEvent && !harness.hold())
    #expect(harness.event() == .message(ReceivedMessage("a", [1], qos: .atLeastOnce)))
    #expect(harness.hold())
  }

  /// Acknowledgements that had to wait for room leave as soon as there is some, whatever else is in the buffer.
  @Test func acknowledgementsDoNotWaitForMessages() throws {
    let harness = SessionHarness(.v3_1_1) {
      $0.holdsMessages = true
      $0.controlBytes = 32
    }
    harness.connect()
    _ = harness.events()
    var tokens: [UInt32] = []
    for identifier in 1...8 {
      harness.receive(Self.message(1, qos: 1, identifier: UInt8(identifier)))
      _ = harness.event()
      tokens.append(harness.token)
    }
    harness.receive(Self.message(2) + Self.message(3) + Self.message(4))
    #expect(harness.event() == .message(ReceivedMessage("a", [2])))
    for token in tokens { try harness.acknowledge(token) }
    #expect(harness.drain() == (1...8).flatMap { puback(UInt16($0)) })
  }

  /// The most there ever was does not become less.
  @Test func peaksStay() throws {
    let harness = SessionHarness(.v3_1_1) { _ in }
    harness.connect()
    _ = harness.events()
    try harness.publish("a", [0], qos: .atLeastOnce)
    let sent = harness.drain()
    harness.receive(Self.message(1) + puback(UInt16(sent[5]) << 8 | UInt16(sent[6])))
    #expect(harness.event() == .message(ReceivedMessage("a", [1])))
    for number in 1...4 { try harness.publish("a", [UInt8(number)], qos: .atLeastOnce) }
    _ = harness.events()
    #expect(harness.outbox.messagesPeak == 5)
  }

  /// A PINGRESP that lies unread behind acknowledgements that found no room.
  @Test func unreadPingresp() {
    let harness = SessionHarness(.v3_1_1) { $0.controlBytes = 32 }
    harness.connect()
    _ = harness.events()
    harness.advanceClock(60_000)
    #expect(harness.drain() == [0xC0, 0])
    harness.receive((1...7).flatMap { Self.message(1, qos: 1, identifier: UInt8($0)) } + [0xD0, 0])
    #expect(harness.events().count >= 5)
    harness.advanceClock(30_000)
    #expect(harness.ending == nil)
  }
}
