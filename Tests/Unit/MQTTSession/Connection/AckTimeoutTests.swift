import MQTTWire
import Testing

@testable import MQTTSession

/// The deadline for answers does not strike while one may lie unread.
@Suite struct AckTimeoutTests {
  /// One that was published, and of which the acknowledgement comes while nobody looks.
  private static func rig(receiveBytes: Int = 4096) throws -> Rig {
    let rig = Rig(.v3_1_1) {
      $0.receiveBytes = receiveBytes
      $0.controlBytes = 32
      $0.answerTimeout = 500
    }
    rig.connect()
    _ = rig.events()
    try rig.publish("a", qos: .atLeastOnce, cookie: 7)
    _ = rig.drain()
    rig.now = rig.now.advanced(by: 800)
    return rig
  }

  private static let puback: [UInt8] = [0x40, 2, 0, 1]

  /// Behind packets that want answers for which there is no room.
  @Test func behindAnswersWithoutRoom() throws {
    let rig = try Self.rig()
    var releases: [UInt8] = []
    for identifier: UInt16 in 1...200 {
      releases += [0x62, 2, UInt8(identifier >> 8), UInt8(identifier & 255)]
    }
    #expect(rig.receive(releases + Self.puback) == [])
    rig.pass(0)
    #expect(rig.ending == nil)
    for _ in 0..<100 where rig.events().isEmpty { _ = rig.drain() }
    #expect(rig.outboxNumbers.delivered.uint64 == 1)
    // But that was the last one.
    try rig.publish("a", qos: .atLeastOnce)
    _ = rig.drain()
    rig.pass(499)
    #expect(rig.ending == nil)
    rig.pass(1)
    #expect(rig.ending != nil)
  }

  /// Behind what filled the buffer, as long as nobody has looked whether there is more; once.
  @Test(arguments: [true, false]) func behindTheBuffer(comes: Bool) throws {
    let rig = try Self.rig(receiveBytes: 64)
    let message = [0x30, 60, 0, 1, 0x61] + [UInt8](repeating: 0, count: 57)
    // All of the buffer but the end of the message.
    let bytes = [0xD0, 0, 0xD0, 0, 0xD0, 0] + message
    #expect(rig.receive(Array(bytes.prefix(64))) == [])
    rig.pass(0)
    #expect(rig.ending == nil)
    if comes {
      var rest = Array(bytes.dropFirst(64)) + Self.puback
      var told = 0
      while !rest.isEmpty {
        rest = rig.receive(rest)
        told += rig.events().count
      }
      #expect(told == 2)
      rig.pass(10_000)
      #expect(rig.ending == nil)
    } else {
      rig.pass(499)
      #expect(rig.ending == nil)
      rig.pass(1)
      #expect(rig.ending != nil)
    }
  }
}
