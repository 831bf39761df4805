import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

/// What goes out, in which order and in which pieces (D4).
@Suite struct TransmitTests {
  /// Control packets turn up between any two pieces; they go between packets, before the next message.
  @Test(arguments: bothVersions, [1, 2, 3, 5])
  func controlPacketsGoBetweenPackets(version: ProtocolVersion, piece: Int) throws {
    let rig = PublishTests.rig(version)
    var random = SeededRandom(seed: UInt64(piece))
    for _ in 1...30 { try rig.publish("abc", [1, 2, 3], qos: .atLeastOnce) }
    var sent: [UInt8] = []
    var arrivals: [Int] = []
    while let bytes = rig.transmit(piece) {
      sent += bytes
      if random.percent(15) {
        rig.receive(pubrec(UInt16(1000 + arrivals.count)))
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
    let rig = PublishTests.rig(.v3_1_1)
    for name in ["a", "b", "c"] { try rig.publish(name, [1, 2, 3]) }
    #expect(rig.transmit(10) == publish(.v3_1_1, "a", [1, 2, 3], qos: .atMostOnce) + [0x30, 6])
    rig.receive(pubrec(77))
    #expect(rig.transmit() == [0, 1, 0x62, 1, 2, 3])
    #expect(rig.transmit() == pubrel(77))
    #expect(rig.transmit() == publish(.v3_1_1, "c", [1, 2, 3], qos: .atMostOnce))
    #expect(rig.transmit() == nil)
  }

  /// A run that was prepared and not begun lets them past.
  @Test func beforeARunThatHasNotBegun() throws {
    let rig = PublishTests.rig(.v3_1_1)
    try rig.publish("a")
    let isPrepared = rig.session.prepareTransmit(at: rig.now)
    #expect(isPrepared)
    rig.receive(pubrec(77))
    #expect(rig.spans() == [pubrel(77), publish(.v3_1_1, "a", qos: .atMostOnce)])
  }

  @Test func controlQueueInPieces() throws {
    let rig = PublishTests.rig(.v5_0)
    try rig.publish("a")
    rig.receive(pubrec(1000) + pubrec(1001))
    var sent: [UInt8] = []
    for _ in 0..<7 { sent += try #require(rig.transmit(1)) }
    rig.receive(pubrec(1002))
    sent += rig.drain()
    #expect(
      sent == pubrel(1000, 0x92) + pubrel(1001, 0x92) + pubrel(1002, 0x92) + publish(.v5_0, qos: .atMostOnce))
  }

  @Test(arguments: bothVersions)
  func coalescing(version: ProtocolVersion) throws {
    let rig = PublishTests.rig(version, outboxMessages: 100)
    var expected: [UInt8] = []
    for index in 1...100 {
      let qos = allQoS[index % 3]
      try rig.publish("t/\(index)", [UInt8(index)], qos: qos)
      expected += publish(version, "t/\(index)", [UInt8(index)], qos: qos, identifier: UInt16(index))
    }
    let calls = rig.counters.sendCalls.uint64
    #expect(rig.spans() == [expected])
    #expect(rig.counters.sendCalls.uint64 == calls + 1)
    #expect(rig.counters.packetsSent.uint64 == 101)
  }

  /// Each packet counts once, when it is whole.
  @Test func packetsAreCounted() throws {
    let rig = PublishTests.rig(.v3_1_1)
    var expected: UInt64 = 1
    for batch: UInt16 in 1...4 {
      for identifier in 0..<batch { rig.receive(pubrec(1000 + identifier)) }
      try rig.publish("a")
      _ = rig.drain(piece: Int(batch) + 2)
      expected += UInt64(batch) + 1
      #expect(rig.counters.packetsSent.uint64 == expected)
    }
    try rig.publish("a")
    _ = rig.transmit(4)
    #expect(rig.counters.packetsSent.uint64 == expected)
  }

  /// What is published while a run is under way joins it.
  @Test func joinsTheRunUnderWay() throws {
    let rig = PublishTests.rig(.v3_1_1)
    try rig.publish("a")
    #expect(rig.transmit(3) == [0x30, 3, 0])
    try rig.publish("b")
    #expect(rig.spans() == [[1, 0x61] + publish(.v3_1_1, "b", qos: .atMostOnce)])
  }

  @Test func twoSpansAtTheWrap() throws {
    let rig = PublishTests.rig(.v3_1_1, outboxBytes: 64)
    let payload = [UInt8](repeating: 7, count: 15)
    for _ in 0..<3 { try rig.publish("a", payload, isQuiet: true) }
    #expect(rig.drain().count == 60)
    // Nothing is left: it begins at the front again.
    #expect(rig.outbox.bytes == 0)
    for _ in 0..<2 { try rig.publish("a", Array(payload.dropLast(2)), qos: .atLeastOnce) }
    _ = rig.drain()
    rig.receive(puback(4))
    // One more behind, 20 bytes, and one at the front; in between 4 bytes stay empty.
    for name in ["b", "c"] { try rig.publish(name, payload) }
    #expect(rig.outbox.bytes == 64)
    #expect(
      rig.spans() == [
        publish(.v3_1_1, "b", payload, qos: .atMostOnce), publish(.v3_1_1, "c", payload, qos: .atMostOnce),
      ])
    rig.receive(puback(5))
    #expect(rig.events() == [.delivered(0), .delivered(0), .delivered(0), .delivered(0)])
    #expect(rig.outbox.bytes == 0)
  }

  /// After a reconnect what is complete leaves a hole, which is stepped over.
  @Test func stepsOverHoles() throws {
    let rig = PublishTests.rig(.v3_1_1)
    for _ in 0..<5 { try rig.publish(qos: .atLeastOnce) }
    _ = rig.drain()
    rig.receive(puback(2) + puback(4))
    rig.reconnect(sessionPresent: true)
    #expect(
      rig.spans() == [1, 3, 5].map { publish(.v3_1_1, qos: .atLeastOnce, identifier: $0, duplicate: true) })
    #expect(!rig.wantsTransmit)
  }
}
