import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

/// Whatever a server sends: no trap, and either it goes on or it has ended.
@Suite struct ReceivedFuzzTests {
  /// Feeds bytes to a session with messages in every state; says what was wrong.
  static func feed(
    _ bytes: [UInt8], _ version: ProtocolVersion, isConnected: Bool, random: inout SeededRandom
  ) throws -> String? {
    let harness = SessionHarness(version, outboxBytes: 256, outboxMessages: 8, receiveBytes: 64)
    for qos in allQoS { try harness.publish(qos: qos) }
    if isConnected {
      harness.connect()
      _ = harness.drain()
      harness.receive(pubrec(3))
      for qos in allQoS { try harness.publish(qos: qos) }
    } else {
      harness.open()
    }
    var rest = bytes
    while !rest.isEmpty, harness.wantsReceive {
      let piece = 1 + random.below(rest.count)
      rest = harness.receive(Array(rest.prefix(piece))) + rest.dropFirst(piece)
      if random.percent(50) || !harness.wantsReceive {
        let sent = packets(harness.drain(piece: 1 + random.below(30)))
        if let last = sent.last, firstPacketSize(last[...]) != last.count { return "not whole: \(last)" }
      }
      if random.percent(50) || !harness.wantsReceive { _ = harness.events() }
    }
    if let ending = harness.ending {
      if harness.isConnected || harness.wantsReceive || harness.nextDeadline != nil {
        return "ended, and goes on"
      }
      if ending.reasonString.end > 64 || ending.serverReference.end > 64 { return "an extent outside" }
    } else if !rest.isEmpty {
      return "stuck"
    }
    _ = harness.drain()
    if harness.wantsTransmit { return "transmits for ever" }
    // And there is a life after it.
    harness.lose()
    harness.connect(sessionPresent: true)
    return harness.isConnected ? nil : "no life after it"
  }

  static func check(_ runs: Int, seed: UInt64, _ make: (inout SeededRandom) -> [UInt8]) throws {
    var failures = 0
    var ended = 0
    for run in 0..<UInt64(runs) {
      var random = SeededRandom(seed: seed &+ run)
      let version: ProtocolVersion = random.percent(50) ? .v5_0 : .v3_1_1
      let isConnected = random.percent(70)
      let bytes = make(&random)
      if let fault = try feed(bytes, version, isConnected: isConnected, random: &random) {
        failures += 1
        if failures <= 5 { Issue.record("seed \(seed &+ run): \(fault); \(bytes)") }
      } else {
        ended += 1
      }
    }
    #expect(failures == 0)
    #expect(ended == runs)
  }

  @Test func randomBytes() throws {
    try Self.check(10_000, seed: 1_000_000) { random in
      let size = 1 + random.below(100)
      return random.bytes(size)
    }
  }

  /// Packets with a good type, flags and length, and anything inside.
  @Test func randomBodies() throws {
    try Self.check(10_000, seed: 2_000_000) { random in
      var bytes: [UInt8] = []
      for _ in 0..<1 + random.below(6) {
        let type = UInt8(1 + random.below(15))
        let flags: UInt8 = type == 6 || type == 8 || type == 10 ? 2 : type == 3 ? UInt8(random.below(16)) : 0
        let size = random.below(random.percent(20) ? 70 : 8)
        bytes += [type << 4 | flags, UInt8(size)]
        // Small numbers are identifiers, codes and lengths.
        bytes += (0..<size).map { _ in UInt8(random.below(random.percent(70) ? 8 : 256)) }
      }
      return bytes
    }
  }

  @Test func mutatedConversations() throws {
    let conversations = bothVersions.map { Array(ReceivedTests.conversation($0).joined()) }
    try Self.check(10_000, seed: 3_000_000) { random in
      var bytes = conversations[random.below(2)]
      if random.percent(60) { bytes.removeFirst(random.below(3) * 2) }
      for _ in 0..<1 + random.below(4) {
        let index = random.below(bytes.count)
        switch random.below(4) {
        case 0: bytes[index] = UInt8(truncatingIfNeeded: random.next())
        case 1: bytes[index] ^= 1 << UInt8(random.below(8))
        case 2: bytes.remove(at: index)
        default: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: index)
        }
      }
      return bytes
    }
  }
}
