import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

/// The deadline for answers does not strike while one may lie unread.
@Suite struct AckTimeoutTests {
  /// One that was published, and of which the acknowledgement comes while nobody looks.
  private static func harness(receiveBytes: Int = 4096) throws -> SessionHarness {
    let harness = SessionHarness(.v3_1_1) {
      $0.receiveBytes = receiveBytes
      $0.controlBytes = 32
      $0.ackTimeout = 500
    }
    harness.connect()
    _ = harness.events()
    try harness.publish("a", qos: .atLeastOnce, cookie: 7)
    _ = harness.drain()
    harness.now = harness.now.advanced(by: 800)
    return harness
  }

  private static let puback: [UInt8] = [0x40, 2, 0, 1]

  /// Behind packets that want answers for which there is no room.
  @Test func behindAnswersWithoutRoom() throws {
    let harness = try Self.harness()
    var releases: [UInt8] = []
    for identifier: UInt16 in 1...200 {
      releases += [0x62, 2, UInt8(identifier >> 8), UInt8(identifier & 255)]
    }
    #expect(harness.receive(releases + Self.puback) == [])
    harness.advanceClock(0)
    #expect(harness.ending == nil)
    for _ in 0..<100 where harness.events().isEmpty { _ = harness.drain() }
    #expect(harness.outboxNumbers.delivered.uint64 == 1)
    // But that was the last one.
    try harness.publish("a", qos: .atLeastOnce)
    _ = harness.drain()
    harness.advanceClock(499)
    #expect(harness.ending == nil)
    harness.advanceClock(1)
    #expect(harness.ending != nil)
  }

  /// Behind what filled the buffer, as long as nobody has looked whether there is more; once.
  @Test(arguments: [true, false]) func behindTheBuffer(comes: Bool) throws {
    let harness = try Self.harness(receiveBytes: 64)
    let message = [0x30, 60, 0, 1, 0x61] + [UInt8](repeating: 0, count: 57)
    // All of the buffer but the end of the message.
    let bytes = [0xD0, 0, 0xD0, 0, 0xD0, 0] + message
    #expect(harness.receive(Array(bytes.prefix(64))) == [])
    harness.advanceClock(0)
    #expect(harness.ending == nil)
    if comes {
      var rest = Array(bytes.dropFirst(64)) + Self.puback
      var told = 0
      while !rest.isEmpty {
        rest = harness.receive(rest)
        told += harness.events().count
      }
      #expect(told == 2)
      harness.advanceClock(10_000)
      #expect(harness.ending == nil)
    } else {
      harness.advanceClock(499)
      #expect(harness.ending == nil)
      harness.advanceClock(1)
      #expect(harness.ending != nil)
    }
  }

  /// Behind a message that is larger than the buffer and still coming.
  @Test func behindALargeMessage() throws {
    let harness = try Self.harness(receiveBytes: 64)
    let message = [0x30, 0xC8, 0x01, 0, 1, 0x61] + [UInt8](repeating: 0, count: 197)
    #expect(harness.receive(Array(message.prefix(30))) == [])
    harness.advanceClock(0)
    #expect(harness.ending == nil)
  }
}
