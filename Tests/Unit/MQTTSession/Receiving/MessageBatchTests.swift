import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

/// Several messages that are handed out in one call, and released together.
@Suite struct MessageBatchTests {
  private static func message(_ payload: UInt8, qos: UInt8 = 0, identifier: UInt8 = 5) -> [UInt8] {
    let rest: [UInt8] = [0, 1, 0x61] + (qos > 0 ? [0, identifier] : []) + [payload]
    return [0x30 | qos << 1, UInt8(rest.count)] + rest
  }

  private static func connected(
    _ configure: (inout SessionHarness.Options) -> Void = { _ in }
  ) -> SessionHarness {
    let harness = SessionHarness(.v3_1_1, configure: configure)
    harness.connect()
    _ = harness.events()
    return harness
  }

  /// Takes an event, and the messages that may follow it.
  private static func batch(_ harness: SessionHarness) -> [ReportedEvent] {
    guard let first = harness.event() else { return [] }
    var events = [first]
    while let message = harness.session.takeAnotherPlainMessage() {
      events.append(ReportedEvent(.message(MessageEvent(message)), harness))
    }
    return events
  }

  @Test func allThatAreThere() {
    let harness = Self.connected()
    harness.receive((1...5).flatMap { Self.message($0) })
    #expect(Self.batch(harness) == (1...5).map { .message(ReceivedMessage("a", [$0])) })
    #expect(Self.batch(harness).isEmpty)
  }

  /// None is acknowledged before the next call, and then each, in order.
  @Test func acknowledgedTogether() {
    let harness = Self.connected()
    harness.receive(
      Self.message(1, qos: 1, identifier: 1) + Self.message(2) + Self.message(3, qos: 2, identifier: 2)
        + Self.message(4, qos: 1, identifier: 3))
    #expect(Self.batch(harness).count == 4)
    #expect(harness.drain().isEmpty)
    #expect(harness.event() == nil)
    #expect(harness.drain() == puback(1) + [0x50, 2, 0, 2] + puback(3))
  }

  /// The bytes of those before stay as they are, also when more arrives.
  @Test func bytesStayUntilTheyAreReleased() {
    let harness = Self.connected { $0.receiveBytes = 64 }
    harness.receive((1...3).flatMap { Self.message($0) })
    let first = harness.event()
    let second = harness.session.takeAnotherPlainMessage()
    let third = harness.session.takeAnotherPlainMessage()
    #expect(harness.session.takeAnotherPlainMessage() == nil)
    // As much as fits behind them, which has to wait there.
    harness.receive((4...9).flatMap { Self.message($0) })
    #expect(first == .message(ReceivedMessage("a", [1])))
    #expect(second.map { harness.received($0.payload) } == [2])
    #expect(third.map { harness.received($0.payload) } == [3])
    #expect(Self.batch(harness) == (4...9).map { .message(ReceivedMessage("a", [$0])) })
  }

  /// What is no plain message ends a batch, and comes next.
  @Test func anotherPacketEndsIt() throws {
    let harness = Self.connected()
    try harness.publish("b", [0], qos: .atLeastOnce, cookie: 8)
    let sent = harness.drain()
    harness.receive(Self.message(1) + puback(UInt16(sent[5]) << 8 | UInt16(sent[6])) + Self.message(2))
    #expect(Self.batch(harness) == [.message(ReceivedMessage("a", [1]))])
    #expect(harness.event() == .delivered(8))
    #expect(Self.batch(harness) == [.message(ReceivedMessage("a", [2]))])
  }

  /// Messages beyond the inbox wait until those that have it are released.
  @Test func noMoreThanTheInboxTakes() {
    let harness = Self.connected { $0.receiveMaximum = 2 }
    harness.receive((1...5).flatMap { Self.message($0, qos: 1, identifier: $0) })
    #expect(Self.batch(harness).count == 2)
    #expect(Self.batch(harness).count == 2)
    #expect(harness.drain() == puback(1) + puback(2))
    #expect(Self.batch(harness).count == 1)
    #expect(Self.batch(harness).isEmpty)
    #expect(harness.drain() == puback(3) + puback(4) + puback(5))
  }

  @Test func theLastOneCanBeHeld() throws {
    let harness = Self.connected()
    harness.receive((1...3).flatMap { Self.message($0, qos: 1, identifier: $0) })
    #expect(harness.event() != nil)
    var token: UInt32 = 0
    while let message = harness.session.takeAnotherPlainMessage() { token = message.token }
    #expect(harness.hold())
    #expect(harness.event() == nil)
    #expect(harness.drain() == puback(1) + puback(2))
    try harness.acknowledge(token)
    #expect(harness.drain() == puback(3))
  }

  @Test func eachIsHeldIfAllAre() throws {
    let harness = Self.connected { $0.holdsMessages = true }
    harness.receive((1...3).flatMap { Self.message($0, qos: 1, identifier: $0) })
    #expect(harness.event() != nil)
    var tokens = [harness.token]
    while let message = harness.session.takeAnotherPlainMessage() { tokens.append(message.token) }
    #expect(harness.event() == nil)
    #expect(harness.drain().isEmpty)
    for token in tokens { try harness.acknowledge(token) }
    #expect(harness.drain() == puback(1) + puback(2) + puback(3))
  }

  /// The application may acknowledge one by itself before the batch is released.
  @Test func acknowledgedByHand() throws {
    let harness = Self.connected()
    harness.receive((1...3).flatMap { Self.message($0, qos: 1, identifier: $0) })
    #expect(harness.event() != nil)
    try harness.acknowledge(harness.token)
    #expect(harness.drain() == puback(1))
    while harness.session.takeAnotherPlainMessage() != nil {}
    #expect(harness.event() == nil)
    #expect(harness.drain() == puback(2) + puback(3))
  }

  /// A lost connection keeps what was handed out, and the server's repetition is not handed out again.
  @Test func theConnectionIsLost() {
    let harness = Self.connected { $0.keepSession = true }
    harness.receive((1...3).flatMap { Self.message($0, qos: 1, identifier: $0) })
    #expect(Self.batch(harness).count == 3)
    harness.lose()
    #expect(harness.event() == nil)
    harness.reconnect(sessionPresent: true)
    _ = harness.events()
    harness.receive((1...3).flatMap { Self.message($0, qos: 1, identifier: $0).with(duplicate: true) })
    #expect(harness.events().isEmpty)
    #expect(harness.drain() == puback(1) + puback(2) + puback(3))
  }

  /// Nothing that belongs to an event that is no plain message is freed by it.
  @Test func nothingFollowsAnotherEvent() throws {
    let harness = SessionHarness(.v5_0) { _ in }
    harness.connect()
    #expect(harness.session.takeAnotherPlainMessage() == nil)
    _ = harness.events()
    // With a User Property, which is no plain message, and one behind it that is.
    let properties: [UInt8] = [7, 0x26, 0, 1, 0x6B, 0, 1, 0x76]
    harness.receive([0x30, 12, 0, 1, 0x61] + properties + [1] + [0x30, 5, 0, 1, 0x61, 0, 2])
    #expect(harness.event() != nil)
    #expect(harness.session.takeAnotherPlainMessage() == nil)
    #expect(harness.event() == .message(ReceivedMessage("a", [2])))
    #expect(harness.event() == nil)
  }
}

extension [UInt8] {
  fileprivate func with(duplicate: Bool) -> [UInt8] { [self[0] | (duplicate ? 8 : 0)] + dropFirst() }
}
