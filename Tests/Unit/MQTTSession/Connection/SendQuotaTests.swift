import MQTTWire
import Storage
import TestSupport
import Testing

@testable import MQTTSession

/// How many messages may be on their way at a time (§4.9, §3.3.4).
@Suite struct SendQuotaTests {
  @Test(arguments: [(3, 65_535), (65_535, 3), (3, 4), (4, 3)])
  func windowIsRespected(own: Int, server: Int) throws {
    let harness = PublishTests.harness(
      .v5_0, inFlightMaximum: own, properties: receiveMaximum(UInt16(server)))
    for _ in 0..<10 { try harness.publish(qos: .atLeastOnce) }
    #expect(packets(harness.drain()).count == 3)
    #expect(harness.outboxNumbers.inFlight == 3)
    #expect(!harness.wantsTransmit)
    harness.receive(puback(2))
    #expect(harness.outboxNumbers.inFlight == 2)
    #expect(harness.wantsTransmit)
    #expect(harness.drain() == publish(.v5_0, qos: .atLeastOnce, identifier: 4))
    harness.receive(puback(1) + puback(4) + puback(3))
    #expect(packets(harness.drain()).count == 3)
    #expect(harness.drain() == [])
  }

  /// What ends a message gives its place back, and nothing else does.
  @Test func returnedExactly() throws {
    let harness = PublishTests.harness(.v5_0, properties: receiveMaximum(4))
    for qos in [.atLeastOnce, .atLeastOnce, .exactlyOnce, .exactlyOnce] as [QoS] {
      try harness.publish(qos: qos)
    }
    _ = harness.drain()
    let steps: [([UInt8], Int)] = [
      (puback(99), 4), (pubcomp(98), 4), (pubrec(97, 0x80), 4), (pubrec(96), 4),
      (puback(1, 0x80), 3), (puback(1), 3), (puback(2), 2), (puback(2), 2),
      (pubrec(3), 2), (pubrec(3), 2), (pubcomp(3), 1), (pubcomp(3), 1),
      (pubrec(4, 0x97), 0), (pubrec(4, 0x97), 0), (pubcomp(4), 0), (puback(5), 0),
    ]
    for (packet, inFlight) in steps {
      harness.receive(packet)
      _ = harness.drain()
      #expect(harness.outboxNumbers.inFlight == inFlight, "\(packet)")
    }
    #expect(harness.ending == nil)
    // Four again, not more.
    for _ in 0..<6 { try harness.publish(qos: .atLeastOnce) }
    #expect(packets(harness.drain()).count == 4)
  }

  /// The order of messages is kept: QoS 0 waits behind a window that is full.
  @Test func qos0WaitsBehindAFullWindow() throws {
    let harness = PublishTests.harness(.v5_0, properties: receiveMaximum(1))
    try harness.publish("a", qos: .atLeastOnce)
    try harness.publish("b", qos: .exactlyOnce)
    try harness.publish("c", qos: .atMostOnce)
    #expect(harness.drain() == publish(.v5_0, "a", qos: .atLeastOnce, identifier: 1))
    #expect(!harness.wantsTransmit)
    harness.receive(puback(1))
    #expect(
      harness.drain()
        == publish(.v5_0, "b", qos: .exactlyOnce, identifier: 2) + publish(.v5_0, "c", qos: .atMostOnce))
  }

  @Test func qos0AloneNeedsNoWindow() throws {
    let harness = PublishTests.harness(.v5_0, properties: receiveMaximum(1))
    try harness.publish(qos: .atLeastOnce)
    _ = harness.drain()
    try harness.publish(qos: .atMostOnce)
    #expect(harness.wantsTransmit)
    #expect(harness.drain() == publish(.v5_0, qos: .atMostOnce))
    #expect(harness.outboxNumbers.inFlight == 1)
  }

  /// [MQTT-3.3.4-8]
  @Test func controlPacketsDoNotWait() throws {
    let harness = PublishTests.harness(.v5_0, properties: receiveMaximum(1))
    try harness.publish(qos: .exactlyOnce)
    try harness.publish(qos: .exactlyOnce)
    _ = harness.drain()
    harness.receive(pubrec(1))
    #expect(harness.drain() == pubrel(1))
    harness.now = Instant(milliseconds: 59_000)
    harness.session.timedOut(at: harness.now)
    #expect(harness.drain() == pingreq)
    _ = harness.session.disconnect()
    #expect(harness.drain() == [0xE0, 0])
  }

  /// The window is that of the connection; what was in flight before has to go through it again.
  @Test func smallerOnTheNextConnection() throws {
    let harness = PublishTests.harness(.v5_0, properties: receiveMaximum(4))
    for _ in 0..<4 { try harness.publish(qos: .atLeastOnce) }
    _ = harness.drain()
    harness.reconnect(sessionPresent: true, properties: receiveMaximum(2))
    #expect(harness.outboxNumbers.inFlightMaximum == 2)
    #expect(
      packets(harness.drain())
        == [1, 2].map { publish(.v5_0, qos: .atLeastOnce, identifier: $0, duplicate: true) })
    harness.receive(puback(1))
    #expect(harness.drain() == publish(.v5_0, qos: .atLeastOnce, identifier: 3, duplicate: true))
  }

  /// §4.9: a PUBCOMP for what an earlier connection sent raises the quota of this one never above its
  /// beginning.
  @Test func resentPubrelDoesNotWidenTheWindow() throws {
    let harness = PublishTests.harness(.v5_0, properties: receiveMaximum(2))
    try harness.publish(qos: .exactlyOnce)
    _ = harness.drain()
    harness.receive(pubrec(1))
    _ = harness.drain()
    harness.reconnect(sessionPresent: true, properties: receiveMaximum(2))
    #expect(harness.drain() == pubrel(1))
    harness.receive(pubcomp(1))
    #expect(harness.outboxNumbers.inFlight == 0)
    for _ in 0..<4 { try harness.publish(qos: .atLeastOnce) }
    #expect(packets(harness.drain()).count == 2)
  }

  /// [MQTT-3.3.4-7]: never more than Receive Maximum PUBLISH packets without PUBACK, PUBCOMP or a PUBREC
  /// that refuses. The PUBCOMP of a message that an earlier connection published ends none of them.
  @Test func pubcompOfAnEarlierConnectionMakesNoRoom() throws {
    let harness = PublishTests.harness(.v5_0, properties: receiveMaximum(2))
    try harness.publish(qos: .exactlyOnce)
    _ = harness.drain()
    harness.receive(pubrec(1))
    _ = harness.drain()
    for _ in 0..<3 { try harness.publish(qos: .atLeastOnce) }
    harness.reconnect(sessionPresent: true, properties: receiveMaximum(2))
    var published = packets(harness.drain()).filter { $0[0] >> 4 == 3 }.count
    #expect(published <= 2)
    harness.receive(pubcomp(1))
    published += packets(harness.drain()).filter { $0[0] >> 4 == 3 }.count
    #expect(published == 2)
    harness.receive(puback(2))
    #expect(harness.drain() == publish(.v5_0, qos: .atLeastOnce, identifier: 4))
  }
}
