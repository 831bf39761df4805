import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

/// What goes out, in which order and in which pieces (D4).
@Suite struct TransmitTests {
  /// Control packets turn up between any two pieces; they go between packets, before the next message.
  @Test(arguments: bothVersions, [1, 2, 3, 5])
  func controlPacketsGoBetweenPackets(version: ProtocolVersion, piece: Int) throws {
    let harness = PublishTests.harness(version)
    var random = SeededRandom(seed: UInt64(piece))
    for _ in 1...30 { try harness.publish("abc", [1, 2, 3], qos: .atLeastOnce) }
    var sent: [UInt8] = []
    var arrivals: [Int] = []
    while let bytes = harness.transmit(piece) {
      sent += bytes
      if random.percent(15) {
        harness.receive(pubrec(UInt16(1000 + arrivals.count)))
        arrivals.append(sent.count)
      }
    }
    var messages: [[UInt8]] = []
    var answers = 0
    var offset = 0
    var lastMessage = 0
    for packet in packets(sent) {
      if packet[0] >> 4 == 3 {
        messages.append(packet)
        lastMessage = offset
      } else {
        #expect(packet == pubrel(UInt16(1000 + answers), version == .v5_0 ? 0x92 : 0))
        #expect(lastMessage < arrivals[answers], "a message began before the answer")
        answers += 1
      }
      offset += packet.count
    }
    #expect(answers == arrivals.count && answers > 10)
    let expected = (1...30).map { publish(version, "abc", [1, 2, 3], qos: .atLeastOnce, identifier: $0) }
    #expect(messages == expected)
  }

  /// Only the packet that was begun is finished; then control packets, then the rest.
  @Test func finishesTheOneUnderWay() throws {
    let harness = PublishTests.harness(.v3_1_1)
    for name in ["a", "b", "c"] { try harness.publish(name, [1, 2, 3]) }
    #expect(harness.transmit(10) == publish(.v3_1_1, "a", [1, 2, 3], qos: .atMostOnce) + [0x30, 6])
    harness.receive(pubrec(77))
    #expect(harness.transmit() == [0, 1, 0x62, 1, 2, 3])
    #expect(harness.transmit() == pubrel(77))
    #expect(harness.transmit() == publish(.v3_1_1, "c", [1, 2, 3], qos: .atMostOnce))
    #expect(harness.transmit() == nil)
  }

  /// A run that was prepared and not begun lets them past.
  @Test func beforeARunThatHasNotBegun() throws {
    let harness = PublishTests.harness(.v3_1_1)
    try harness.publish("a")
    let isPrepared = harness.session.prepareTransmit(at: harness.now)
    #expect(isPrepared)
    harness.receive(pubrec(77))
    #expect(harness.spans() == [pubrel(77), publish(.v3_1_1, "a", qos: .atMostOnce)])
  }

  @Test func controlQueueInPieces() throws {
    let harness = PublishTests.harness(.v5_0)
    try harness.publish("a")
    harness.receive(pubrec(1000) + pubrec(1001))
    var sent: [UInt8] = []
    for _ in 0..<7 { sent += try #require(harness.transmit(1)) }
    harness.receive(pubrec(1002))
    sent += harness.drain()
    #expect(
      sent == pubrel(1000, 0x92) + pubrel(1001, 0x92) + pubrel(1002, 0x92) + publish(.v5_0, qos: .atMostOnce))
  }

  @Test(arguments: bothVersions)
  func coalescing(version: ProtocolVersion) throws {
    let harness = PublishTests.harness(version, outboxMessages: 100)
    var expected: [UInt8] = []
    for index in 1...100 {
      let qos = allQoS[index % 3]
      try harness.publish("t/\(index)", [UInt8(index)], qos: qos)
      expected += publish(version, "t/\(index)", [UInt8(index)], qos: qos, identifier: UInt16(index))
    }
    let calls = harness.counters.sendCalls.uint64
    #expect(harness.spans() == [expected])
    #expect(harness.counters.sendCalls.uint64 == calls + 1)
    #expect(harness.counters.packetsSent.uint64 == 101)
  }

  /// Each packet counts once, when it is whole.
  @Test func packetsAreCounted() throws {
    let harness = PublishTests.harness(.v3_1_1)
    var expected: UInt64 = 1
    for batch: UInt16 in 1...4 {
      for identifier in 0..<batch { harness.receive(pubrec(1000 + identifier)) }
      try harness.publish("a")
      _ = harness.drain(piece: Int(batch) + 2)
      expected += UInt64(batch) + 1
      #expect(harness.counters.packetsSent.uint64 == expected)
    }
    try harness.publish("a")
    _ = harness.transmit(4)
    #expect(harness.counters.packetsSent.uint64 == expected)
  }

  /// What is published while a run is under way joins it.
  @Test func joinsTheRunUnderWay() throws {
    let harness = PublishTests.harness(.v3_1_1)
    try harness.publish("a")
    #expect(harness.transmit(3) == [0x30, 3, 0])
    try harness.publish("b")
    #expect(harness.spans() == [[1, 0x61] + publish(.v3_1_1, "b", qos: .atMostOnce)])
  }

  @Test func twoSpansAtTheWrap() throws {
    let harness = PublishTests.harness(.v3_1_1, outboxBytes: 64)
    let payload = [UInt8](repeating: 7, count: 15)
    for _ in 0..<3 { try harness.publish("a", payload, isQuiet: true) }
    #expect(harness.drain().count == 60)
    // Nothing is left: it begins at the front again.
    #expect(harness.outbox.bytes == 0)
    for _ in 0..<2 { try harness.publish("a", Array(payload.dropLast(2)), qos: .atLeastOnce) }
    _ = harness.drain()
    harness.receive(puback(4))
    // One more behind, 20 bytes, and one at the front; in between 4 bytes stay empty.
    for name in ["b", "c"] { try harness.publish(name, payload) }
    #expect(harness.outbox.bytes == 64)
    #expect(
      harness.spans() == [
        publish(.v3_1_1, "b", payload, qos: .atMostOnce), publish(.v3_1_1, "c", payload, qos: .atMostOnce),
      ])
    harness.receive(puback(5))
    #expect(harness.events() == [.delivered(0), .delivered(0), .delivered(0), .delivered(0)])
    #expect(harness.outbox.bytes == 0)
  }

  /// After a reconnect what is complete leaves a hole, which is stepped over.
  @Test func stepsOverHoles() throws {
    let harness = PublishTests.harness(.v3_1_1)
    for _ in 0..<5 { try harness.publish(qos: .atLeastOnce) }
    _ = harness.drain()
    harness.receive(puback(2) + puback(4))
    harness.reconnect(sessionPresent: true)
    #expect(
      harness.spans()
        == [1, 3, 5].map { publish(.v3_1_1, qos: .atLeastOnce, identifier: $0, duplicate: true) })
    #expect(!harness.wantsTransmit)
  }
}
