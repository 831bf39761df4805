import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

/// Which numbers messages get (§2.2.1).
@Suite struct PacketIdentifierTests {
  static func identifier(_ packet: [UInt8]) -> UInt16 { UInt16(packet[5]) << 8 | UInt16(packet[6]) }

  @Test(arguments: [1, 2, 65_014, 65_023] as [UInt16])
  func inOrderAndNeverZero(first: UInt16) throws {
    let harness = PublishTests.harness(.v3_1_1, firstIdentifier: first)
    for _ in 0..<12 { try harness.publish(qos: .atLeastOnce) }
    var expected = Int(first)
    for packet in packets(harness.drain()) {
      #expect(Int(Self.identifier(packet)) == expected)
      expected = expected == 65_023 ? 1 : expected + 1
    }
  }

  /// The acknowledgements find their messages on both sides of the wrap.
  @Test func acknowledgementsAroundTheWrap() throws {
    let harness = PublishTests.harness(.v3_1_1, firstIdentifier: 65_018)
    for cookie in 0..<12 { try harness.publish(qos: .exactlyOnce, cookie: UInt64(cookie)) }
    let identifiers = packets(harness.drain()).map(Self.identifier)
    #expect(identifiers == [65_018, 65_019, 65_020, 65_021, 65_022, 65_023, 1, 2, 3, 4, 5, 6])
    for identifier in identifiers.reversed() { harness.receive(pubrec(identifier)) }
    #expect(packets(harness.drain()) == identifiers.reversed().map { pubrel($0) })
    harness.reconnect(sessionPresent: true)
    #expect(packets(harness.drain()) == identifiers.map { pubrel($0) })
    for identifier in identifiers.reversed() { harness.receive(pubcomp(identifier)) }
    #expect(
      harness.events() == [.connected(sessionPresent: true)] + (0..<12).reversed().map { .delivered($0) })
    #expect(harness.outbox.messages == 0)
  }

  /// 200,000 messages in a row, up to 500 of them in use at a time, acknowledged in random order.
  @Test func noneIsUsedTwiceAtATime() throws {
    let harness = PublishTests.harness(
      .v3_1_1, outboxBytes: 8192, outboxMessages: 500, firstIdentifier: 40_000)
    var random = SeededRandom(seed: 1)
    var inUse: [UInt16] = []
    var isInUse = [Bool](repeating: false, count: 65_536)
    var published = 0
    var wrong: [UInt16] = []
    let total = 200_000
    while published < total || !inUse.isEmpty {
      var batch = 0
      while published < total, batch < 100 {
        do {
          try harness.publish(qos: .atLeastOnce, isQuiet: true)
        } catch {
          break
        }
        published += 1
        batch += 1
      }
      for packet in packets(harness.drain()) {
        let identifier = Self.identifier(packet)
        if isInUse[Int(identifier)] || identifier == 0 { wrong.append(identifier) }
        isInUse[Int(identifier)] = true
        inUse.append(identifier)
      }
      // The oldest is always among them, so that it goes on.
      var answers: [UInt8] = []
      for turn in 0..<min(inUse.count, 60) {
        let identifier = inUse.remove(at: turn < 20 ? 0 : random.below(inUse.count))
        isInUse[Int(identifier)] = false
        answers += puback(identifier)
      }
      harness.receive(answers)
    }
    #expect(wrong == [])
    #expect(published == total)
    #expect(harness.outbox.messages == 0)
    #expect(harness.outbox.messagesPeak > 100)
    #expect(harness.counters.messagesPublished.uint64 == UInt64(total))
  }

  /// QoS 0 skips its number and never shows it; all the numbers come round.
  @Test func everyNumberIsUsed() throws {
    let harness = PublishTests.harness(.v3_1_1, outboxBytes: 65_536, outboxMessages: 1000)
    var seen = [Int](repeating: 0, count: 65_536)
    for _ in 0..<66 {
      for _ in 0..<1000 { try harness.publish(qos: .atLeastOnce, isQuiet: true) }
      var answers: [UInt8] = []
      for packet in packets(harness.drain()) {
        seen[Int(Self.identifier(packet))] += 1
        answers += puback(Self.identifier(packet))
      }
      harness.receive(answers)
    }
    #expect(seen[0] == 0)
    #expect(seen[1...65_023].allSatisfy { $0 == 1 || $0 == 2 })
    // Those are for requests.
    #expect(seen[65_280...].allSatisfy { $0 == 0 })
    #expect(seen.reduce(0, +) == 66_000)
  }
}
