import MQTTWire
import Storage
import TestSupport
import Testing

@testable import MQTTSession

/// Keep Alive (§3.1.2.10), on a clock of our own.
@Suite struct KeepAliveTests {
  /// Connected at `start`, with an interval of 60 seconds unless said otherwise.
  static func rig(
    start: UInt32 = 0, keepAlive: UInt16 = 60, pingTimeout: UInt32 = 10_000,
    version: ProtocolVersion = .v3_1_1
  ) -> Rig {
    let rig = Rig(version, keepAlive: keepAlive, pingTimeout: pingTimeout)
    rig.now = Instant(milliseconds: start)
    rig.connect()
    _ = rig.events()
    return rig
  }

  /// Where the wrap of the clock falls before, into and behind the intervals.
  static let starts: [UInt32] = [0, 5000, 0x8000_0000 &- 30_000, 0 &- 30_000, 0 &- 59_000, 0 &- 65_000]

  @Test(arguments: starts)
  func wholeLife(start: UInt32) throws {
    let rig = Self.rig(start: start)
    func at(_ time: UInt32) { rig.now = Instant(milliseconds: start &+ time) }
    func tick() -> [UInt8] {
      rig.session.timedOut(at: rig.now)
      return rig.drain()
    }
    #expect(rig.nextDeadline == start &+ 59_000)
    at(58_999)
    #expect(tick() == [])
    at(59_000)
    #expect(tick() == pingreq)
    #expect(tick() == [])
    #expect(rig.nextDeadline == start &+ 69_000)
    at(60_000)
    rig.receive(pingresp)
    #expect(rig.nextDeadline == start &+ 118_000)
    // A packet each way puts it off.
    at(100_000)
    try rig.publish()
    _ = rig.drain()
    rig.receive(puback(9))
    #expect(rig.nextDeadline == start &+ 159_000)
    at(158_999)
    #expect(tick() == [])
    at(159_000)
    #expect(tick() == pingreq)
    // No answer.
    at(168_999)
    #expect(tick() == [])
    #expect(rig.ending == nil)
    at(169_000)
    #expect(tick() == [])
    #expect(rig.ending?.cause == .keepAlive)
    #expect(rig.nextDeadline == nil)
    #expect(!rig.isConnected)
    #expect(!rig.wantsReceive)
    #expect(!rig.wantsTransmit)
  }

  /// A timer fires late: the interval leaves room for that, an eighth, at most a second.
  @Test(arguments: [(1, 875), (2, 1750), (7, 6125), (8, 7000), (9, 8000), (60, 59_000), (65_535, 65_534_000)])
  func interval(seconds: Int, milliseconds: Int) {
    let rig = Self.rig(keepAlive: UInt16(seconds))
    #expect(rig.nextDeadline == UInt32(milliseconds))
    rig.now = Instant(milliseconds: UInt32(milliseconds) - 1)
    rig.session.timedOut(at: rig.now)
    #expect(rig.drain() == [])
    rig.now = Instant(milliseconds: UInt32(milliseconds))
    rig.session.timedOut(at: rig.now)
    #expect(rig.drain() == pingreq)
  }

  /// [MQTT-3.1.2-20]: with a server that answers at its leisure, and timers that are up to 100 ms late,
  /// the time between two packets never exceeds Keep Alive.
  @Test(arguments: [1, 2, 10, 60] as [UInt16])
  func gapNeverExceedsKeepAlive(keepAlive: UInt16) throws {
    let rig = Self.rig(keepAlive: keepAlive, pingTimeout: 900)
    var random = SeededRandom(seed: UInt64(keepAlive))
    var last: UInt32 = 0
    var widest: UInt32 = 0
    var pings = 0
    for _ in 0..<2000 {
      let deadline = try #require(rig.nextDeadline)
      let idle = Int(deadline - rig.now.milliseconds)
      let isBusy = random.percent(20)
      rig.now = rig.now.advanced(by: UInt32(isBusy ? random.below(idle + 1) : idle + random.below(100)))
      if isBusy {
        try rig.publish(isQuiet: true)
      }
      rig.session.timedOut(at: rig.now)
      let sent = rig.drain()
      if !sent.isEmpty {
        widest = max(widest, rig.now.milliseconds - last)
        last = rig.now.milliseconds
      }
      if packets(sent).contains(pingreq) {
        pings += 1
        rig.now = rig.now.advanced(by: UInt32(random.below(700)))
        rig.receive(pingresp)
      }
    }
    #expect(widest <= UInt32(keepAlive) * 1000)
    #expect(pings > 1000)
    #expect(rig.ending == nil)
  }

  /// The same where the server may take longer to answer than Keep Alive lasts: the absence of an answer
  /// does not release from sending.
  @Test func gapWhileAnAnswerIsDue() {
    let rig = Self.rig(keepAlive: 5, pingTimeout: 20_000)
    var last: UInt32 = 0
    var widest: UInt32 = 0
    for time: UInt32 in stride(from: 0, through: 19_000, by: 25) {
      rig.now = Instant(milliseconds: time)
      rig.session.timedOut(at: rig.now)
      if !rig.drain().isEmpty {
        widest = max(widest, time - last)
        last = time
      }
    }
    #expect(rig.ending == nil)
    #expect(max(widest, 19_000 - last) <= 5000)
  }

  @Test func onlyWhenIdle() throws {
    let rig = Self.rig(keepAlive: 10)
    for second: UInt32 in 1...100 {
      rig.now = Instant(milliseconds: second * 1000)
      rig.session.timedOut(at: rig.now)
      try rig.publish(isQuiet: true)
      #expect(rig.drain() == publish(.v3_1_1, qos: .atMostOnce))
      rig.receive(puback(9))
      #expect(rig.nextDeadline == second * 1000 + 9000)
    }
  }

  /// Whoever publishes all the time and hears nothing has to ask, and to find out that nobody is there.
  @Test func talkingToNobody() throws {
    let rig = Self.rig(keepAlive: 10, pingTimeout: 5000)
    var pings: [UInt32] = []
    for second: UInt32 in 1...14 {
      rig.now = Instant(milliseconds: second * 1000)
      rig.session.timedOut(at: rig.now)
      try rig.publish(isQuiet: true)
      if rig.drain().starts(with: pingreq) { pings.append(second) }
      #expect((rig.ending?.cause == .keepAlive) == (second >= 14))
    }
    #expect(pings == [9])
  }

  /// What is received does not count as sent.
  @Test func receivingDoesNotPutItOff() {
    let rig = Self.rig()
    rig.now = Instant(milliseconds: 58_000)
    rig.receive(puback(9) + pingresp)
    #expect(rig.nextDeadline == 59_000)
  }

  /// Every byte shows that the server lives: a large packet may be in front of PINGRESP.
  @Test func otherBytesExtendTheWait() {
    let rig = Self.rig()
    rig.now = Instant(milliseconds: 59_000)
    rig.session.timedOut(at: rig.now)
    _ = rig.drain()
    for time: UInt32 in [60_000, 69_999, 79_998] {
      rig.now = Instant(milliseconds: time)
      rig.session.timedOut(at: rig.now)
      #expect(rig.ending == nil)
      rig.receive(puback(9), piece: 1)
      #expect(rig.nextDeadline == time + 10_000)
    }
    rig.now = Instant(milliseconds: 89_997)
    rig.session.timedOut(at: rig.now)
    #expect(rig.ending == nil)
    rig.now = Instant(milliseconds: 89_998)
    rig.session.timedOut(at: rig.now)
    #expect(rig.ending?.cause == .keepAlive)
  }

  /// The time runs from CONNECT, not from CONNACK.
  @Test func lateConnack() {
    let rig = Rig()
    rig.open()
    rig.now = Instant(milliseconds: 25_000)
    rig.receive(connack(.v3_1_1))
    #expect(rig.nextDeadline == 59_000)
  }

  @Test func off() {
    let rig = Self.rig(keepAlive: 0)
    #expect(rig.nextDeadline == nil)
    rig.now = Instant(milliseconds: 0x7000_0000)
    rig.session.timedOut(at: rig.now)
    #expect(rig.drain() == [])
    #expect(rig.ending == nil)
  }

  @Test func newConnectionNewTime() {
    let rig = Self.rig()
    rig.now = Instant(milliseconds: 59_000)
    rig.session.timedOut(at: rig.now)
    _ = rig.drain()
    rig.lose()
    #expect(rig.nextDeadline == nil)
    rig.now = Instant(milliseconds: 100_000)
    rig.connect()
    #expect(rig.nextDeadline == 159_000)
  }

  /// A link that takes no bytes any more, with more answers waiting than the queue holds: the server has
  /// to be given up all the same, and until then there must be no deadline that has passed and stays.
  @Test func deadLinkWithAFullControlQueue() {
    let rig = Self.rig(version: .v5_0)
    for identifier: UInt16 in 1000..<1100 { rig.receive(pubrec(identifier)) }
    rig.now = Instant(milliseconds: 59_000)
    rig.session.timedOut(at: rig.now)
    #expect(rig.nextDeadline ?? 0 > 59_000)
    for time in stride(from: UInt32(60_000), through: 200_000, by: 1000) {
      rig.now = Instant(milliseconds: time)
      rig.session.timedOut(at: rig.now)
    }
    #expect(rig.ending?.cause == .keepAlive)
  }
}
