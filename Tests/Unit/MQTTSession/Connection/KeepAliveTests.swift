import MQTTWire
import Storage
import TestSupport
import Testing

@testable import MQTTSession

/// Keep Alive (§3.1.2.10), on a clock of our own.
@Suite struct KeepAliveTests {
  /// Connected at `start`, with an interval of 60 seconds unless said otherwise.
  static func harness(
    start: UInt32 = 0, keepAlive: UInt16 = 60, pingTimeout: UInt32 = 10_000,
    version: ProtocolVersion = .v3_1_1
  ) -> SessionHarness {
    let harness = SessionHarness(version, keepAlive: keepAlive, pingTimeout: pingTimeout)
    harness.now = Instant(milliseconds: start)
    harness.connect()
    _ = harness.events()
    return harness
  }

  /// Where the wrap of the clock falls before, into and behind the intervals.
  static let starts: [UInt32] = [0, 5000, 0x8000_0000 &- 30_000, 0 &- 30_000, 0 &- 59_000, 0 &- 65_000]

  @Test(arguments: starts)
  func wholeLife(start: UInt32) throws {
    let harness = Self.harness(start: start)
    func at(_ time: UInt32) { harness.now = Instant(milliseconds: start &+ time) }
    func tick() -> [UInt8] {
      harness.session.timedOut(at: harness.now)
      return harness.drain()
    }
    #expect(harness.nextDeadline == start &+ 59_000)
    at(58_999)
    #expect(tick() == [])
    at(59_000)
    #expect(tick() == pingreq)
    #expect(tick() == [])
    #expect(harness.nextDeadline == start &+ 69_000)
    at(60_000)
    harness.receive(pingresp)
    #expect(harness.nextDeadline == start &+ 118_000)
    // A packet each way puts it off.
    at(100_000)
    try harness.publish()
    _ = harness.drain()
    harness.receive(puback(9))
    #expect(harness.nextDeadline == start &+ 159_000)
    at(158_999)
    #expect(tick() == [])
    at(159_000)
    #expect(tick() == pingreq)
    // No answer.
    at(168_999)
    #expect(tick() == [])
    #expect(harness.ending == nil)
    at(169_000)
    #expect(tick() == [])
    #expect(harness.ending?.cause == .keepAlive)
    #expect(harness.nextDeadline == nil)
    #expect(!harness.isConnected)
    #expect(!harness.wantsReceive)
    #expect(!harness.wantsTransmit)
  }

  /// A timer fires late: the interval leaves room for that, an eighth, at most a second.
  @Test(arguments: [(1, 875), (2, 1750), (7, 6125), (8, 7000), (9, 8000), (60, 59_000), (65_535, 65_534_000)])
  func interval(seconds: Int, milliseconds: Int) {
    let harness = Self.harness(keepAlive: UInt16(seconds))
    #expect(harness.nextDeadline == UInt32(milliseconds))
    harness.now = Instant(milliseconds: UInt32(milliseconds) - 1)
    harness.session.timedOut(at: harness.now)
    #expect(harness.drain() == [])
    harness.now = Instant(milliseconds: UInt32(milliseconds))
    harness.session.timedOut(at: harness.now)
    #expect(harness.drain() == pingreq)
  }

  /// [MQTT-3.1.2-20]: with a server that answers at its leisure, and timers that are up to 100 ms late,
  /// the time between two packets never exceeds Keep Alive.
  @Test(arguments: [1, 2, 10, 60] as [UInt16])
  func gapNeverExceedsKeepAlive(keepAlive: UInt16) throws {
    let harness = Self.harness(keepAlive: keepAlive, pingTimeout: 900)
    var random = SeededRandom(seed: UInt64(keepAlive))
    var last: UInt32 = 0
    var widest: UInt32 = 0
    var pings = 0
    for _ in 0..<2000 {
      let deadline = try #require(harness.nextDeadline)
      let idle = Int(deadline - harness.now.milliseconds)
      let isBusy = random.percent(20)
      harness.now = harness.now.advanced(
        by: UInt32(isBusy ? random.below(idle + 1) : idle + random.below(100)))
      if isBusy {
        try harness.publish(isQuiet: true)
      }
      harness.session.timedOut(at: harness.now)
      let sent = harness.drain()
      if !sent.isEmpty {
        widest = max(widest, harness.now.milliseconds - last)
        last = harness.now.milliseconds
      }
      if packets(sent).contains(pingreq) {
        pings += 1
        harness.now = harness.now.advanced(by: UInt32(random.below(700)))
        harness.receive(pingresp)
      }
    }
    #expect(widest <= UInt32(keepAlive) * 1000)
    #expect(pings > 1000)
    #expect(harness.ending == nil)
  }

  /// The same where the server may take longer to answer than Keep Alive lasts: the absence of an answer
  /// does not release from sending.
  @Test func gapWhileAnAnswerIsDue() {
    let harness = Self.harness(keepAlive: 5, pingTimeout: 20_000)
    var last: UInt32 = 0
    var widest: UInt32 = 0
    for time: UInt32 in stride(from: 0, through: 19_000, by: 25) {
      harness.now = Instant(milliseconds: time)
      harness.session.timedOut(at: harness.now)
      if !harness.drain().isEmpty {
        widest = max(widest, time - last)
        last = time
      }
    }
    #expect(harness.ending == nil)
    #expect(max(widest, 19_000 - last) <= 5000)
  }

  @Test func onlyWhenIdle() throws {
    let harness = Self.harness(keepAlive: 10)
    for second: UInt32 in 1...100 {
      harness.now = Instant(milliseconds: second * 1000)
      harness.session.timedOut(at: harness.now)
      try harness.publish(isQuiet: true)
      #expect(harness.drain() == publish(.v3_1_1, qos: .atMostOnce))
      harness.receive(puback(9))
      #expect(harness.nextDeadline == second * 1000 + 9000)
    }
  }

  /// Whoever publishes all the time and hears nothing has to ask, and to find out that nobody is there.
  @Test func talkingToNobody() throws {
    let harness = Self.harness(keepAlive: 10, pingTimeout: 5000)
    var pings: [UInt32] = []
    for second: UInt32 in 1...14 {
      harness.now = Instant(milliseconds: second * 1000)
      harness.session.timedOut(at: harness.now)
      try harness.publish(isQuiet: true)
      if harness.drain().starts(with: pingreq) { pings.append(second) }
      #expect((harness.ending?.cause == .keepAlive) == (second >= 14))
    }
    #expect(pings == [9])
  }

  /// What is received does not count as sent.
  @Test func receivingDoesNotPutItOff() {
    let harness = Self.harness()
    harness.now = Instant(milliseconds: 58_000)
    harness.receive(puback(9) + pingresp)
    #expect(harness.nextDeadline == 59_000)
  }

  /// Every byte shows that the server lives: a large packet may be in front of PINGRESP.
  @Test func otherBytesExtendTheWait() {
    let harness = Self.harness()
    harness.now = Instant(milliseconds: 59_000)
    harness.session.timedOut(at: harness.now)
    _ = harness.drain()
    for time: UInt32 in [60_000, 69_999, 79_998] {
      harness.now = Instant(milliseconds: time)
      harness.session.timedOut(at: harness.now)
      #expect(harness.ending == nil)
      harness.receive(puback(9), piece: 1)
      #expect(harness.nextDeadline == time + 10_000)
    }
    harness.now = Instant(milliseconds: 89_997)
    harness.session.timedOut(at: harness.now)
    #expect(harness.ending == nil)
    harness.now = Instant(milliseconds: 89_998)
    harness.session.timedOut(at: harness.now)
    #expect(harness.ending?.cause == .keepAlive)
  }

  /// The time runs from CONNECT, not from CONNACK.
  @Test func lateConnack() {
    let harness = SessionHarness()
    harness.open()
    harness.now = Instant(milliseconds: 25_000)
    harness.receive(connack(.v3_1_1))
    #expect(harness.nextDeadline == 59_000)
  }

  @Test func off() {
    let harness = Self.harness(keepAlive: 0)
    #expect(harness.nextDeadline == nil)
    harness.now = Instant(milliseconds: 0x7000_0000)
    harness.session.timedOut(at: harness.now)
    #expect(harness.drain() == [])
    #expect(harness.ending == nil)
  }

  @Test func newConnectionNewTime() {
    let harness = Self.harness()
    harness.now = Instant(milliseconds: 59_000)
    harness.session.timedOut(at: harness.now)
    _ = harness.drain()
    harness.lose()
    #expect(harness.nextDeadline == nil)
    harness.now = Instant(milliseconds: 100_000)
    harness.connect()
    #expect(harness.nextDeadline == 159_000)
  }

  /// A link that takes no bytes any more, with more answers waiting than the queue holds: the server has
  /// to be given up all the same, and until then there must be no deadline that has passed and stays.
  @Test func deadLinkWithAFullControlQueue() {
    let harness = Self.harness(version: .v5_0)
    for identifier: UInt16 in 1000..<1100 { harness.receive(pubrec(identifier)) }
    harness.now = Instant(milliseconds: 59_000)
    harness.session.timedOut(at: harness.now)
    #expect(harness.nextDeadline ?? 0 > 59_000)
    for time in stride(from: UInt32(60_000), through: 200_000, by: 1000) {
      harness.now = Instant(milliseconds: time)
      harness.session.timedOut(at: harness.now)
    }
    #expect(harness.ending?.cause == .keepAlive)
  }
}
