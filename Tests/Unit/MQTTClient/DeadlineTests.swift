import Driver
import MQTTSession
import MQTTWire
import Platform
import TestSupport
import Testing

@testable import MQTTClient

/// A server that acknowledges nothing, and a peer that takes nothing, though something still answers PINGREQ: to the
/// millisecond, on a virtual clock.
@Suite struct DeadlineTests {
  static func harness(
    _ world: World, answer: UInt32 = 5000, write: UInt32 = UInt32.max, keepAlive: UInt32 = 2
  )
    throws
    -> ClientHarness
  {
    let harness = try ReconnectTests.harness(world) {
      $0.ackTimeout = answer
      $0.connection.writeTimeout = write
      $0.keepAlive = keepAlive
      $0.pingTimeout = 1000
      $0.outboxBytes = 100_000
      $0.streamBytes = 64
    }
    harness.connect()
    #expect(harness.run(100).map(\.what) == [.connected])
    return harness
  }

  static func end(_ stage: FailureStage) -> ReportedEvent.What { .disconnected(.timeout, stage, retry: 1000) }

  // MARK: No answer

  enum Kind: CaseIterable { case atLeastOnce, pubrec, pubcomp, subscribe, unsubscribe }

  /// What is sent, and the type of the packet that is not answered.
  static func ask(_ harness: ClientHarness, _ kind: Kind) throws -> UInt8 {
    switch kind {
    case .atLeastOnce: try harness.publish("a")
    case .pubrec, .pubcomp: try harness.publish("a", qos: .exactlyOnce)
    case .subscribe: try harness.subscribe("a")
    case .unsubscribe: try harness.unsubscribe("a")
    }
    return [3, 3, 6, 8, 10][Kind.allCases.firstIndex(of: kind)!]
  }

  /// Exactly then, however often the server answers PINGREQ, on either side of the clock's wrap.
  @Test(arguments: Kind.allCases, [1000, UInt32.max - 2000])
  func ackTimeout(kind: Kind, start: UInt32) throws {
    let world = World(now: start)
    let harness = try Self.harness(world)
    world.server.ignores = [kind == .pubcomp ? 6 : try Self.ask(harness, kind)]
    if kind == .pubcomp { _ = try Self.ask(harness, kind) }
    // Sent now; PUBREL when PUBREC is there.
    let sent = world.now &+ (kind == .pubcomp ? world.server.delay : 0)
    let told = harness.run(5500)
    #expect(told.map(\.what) == [Self.end(.acknowledgement)])
    #expect(told.first?.time == sent &+ 5000)
    #expect(world.packets.contains { $0.first == 0xC0 })
    #expect(harness.client.failures.timeout == 1)
  }

  /// Any acknowledgement puts it off, whatever it is for; and with the last one it is over.
  @Test func progress() throws {
    let world = World()
    let harness = try Self.harness(world)
    world.server.ignores = [3]
    for cookie: UInt64 in 0..<4 { try harness.publish("a", cookie: cookie) }
    _ = harness.run(1)
    let publishes = world.bodies.filter { $0[0] >> 4 == 3 }
    #expect(publishes.count == 4)
    for packet in publishes.prefix(3) {
      #expect(harness.run(4900).isEmpty)
      world.say([0x40, 2, packet[5], packet[6]])
      #expect(harness.run(1).count == 1)
    }
    let last = world.now - 1
    let told = harness.run(5500)
    #expect(told.map(\.what) == [Self.end(.acknowledgement)])
    #expect(told.first?.time == last + 5000)
  }

  @Test func overWithTheLastAnswer() throws {
    let world = World()
    let harness = try Self.harness(world)
    for cookie: UInt64 in 0..<4 { try harness.publish("a", qos: .exactlyOnce, cookie: cookie) }
    try harness.subscribe("a")
    #expect(harness.run(60_000).count == 5)
    // The time begins with the next one, not with the last.
    world.server.ignores = [3]
    try harness.publish("a")
    let sent = world.now
    #expect(harness.run(6000).map(\.time) == [sent + 5000])
  }

  /// The next connection has its own time: what was in flight is sent again, and waits anew.
  @Test func theNextConnection() throws {
    let world = World()
    let harness = try Self.harness(world)
    world.server.ignores = [3]
    world.server.connack = [0x20, 2, 1, 0]
    try harness.publish("a")
    let told = harness.run(12_500)
    #expect(
      told.map(\.what) == [
        Self.end(.acknowledgement), .connected, .disconnected(.timeout, .acknowledgement, retry: 2000),
      ])
    #expect(told[2].time == told[1].time + 5000)
  }

  @Test func off() throws {
    let world = World()
    let harness = try Self.harness(world, answer: UInt32.max)
    world.server.ignores = [3, 8]
    try harness.publish("a")
    try harness.subscribe("a")
    #expect(harness.run(3_600_000).isEmpty)
    #expect(harness.state == .connected)
  }

  @Test func defaults() throws {
    let world = World()
    let harness = try Self.harness(world, answer: 0)
    world.server.ignores = [3]
    try harness.publish("a")
    let sent = world.now
    #expect(harness.run(40_000).first?.time == sent + 30_000)
  }

  /// As long as the program holds an event back, an answer may lie unread behind it.
  @Test func postponedByAnEvent() throws {
    let world = World()
    let harness = try Self.harness(world)
    world.server.ignores = [3]
    try harness.publish("a")
    _ = harness.run(1)
    let packet = world.bodies.first { $0[0] >> 4 == 3 }!
    world.say([0x30, 3, 0, 1, 0x61] + [0x40, 2, packet[5], packet[6]])
    for _ in 0..<40 {
      world.now += 1000
      #expect(harness.client.wait(timeout: 0) == .event)
    }
    #expect(harness.state == .connected)
    #expect(harness.take().map(\.what) == [.message, .completed(0)])
    #expect(harness.run(20_000).isEmpty)
  }

  /// The program was busy with something else for long. The answer has come meanwhile.
  @Test func theProgramWasAway() throws {
    let world = World()
    let harness = try Self.harness(world)
    world.server.ignores = [3]
    try harness.publish("a")
    _ = harness.run(1)
    let packet = world.bodies.first { $0[0] >> 4 == 3 }!
    world.now += 60_000
    world.say([0x40, 2, packet[5], packet[6]])
    #expect(harness.run(10).map(\.what) == [.completed(0)])
    #expect(harness.state == .connected)
  }

  /// A PUBLISH of which not all is sent waits for nothing yet: a long message on a slow link takes its time.
  @Test func aLongMessageOnASlowLink() throws {
    let world = World()
    let harness = try Self.harness(world, keepAlive: UInt32.max)
    try harness.publish("a", payload: 20_000)
    for _ in 0..<20 {
      world.room = 1000
      #expect(harness.run(1000).isEmpty)
    }
    #expect(harness.state == .connected)
    world.room = nil
    #expect(harness.run(10).map(\.what) == [.completed(0)])
  }

  /// Nor does one behind another that is answered meanwhile.
  @Test func aLongMessageBehindAShortOne() throws {
    let world = World()
    let harness = try Self.harness(world, keepAlive: UInt32.max)
    try harness.publish("a", cookie: 1)
    try harness.publish("a", payload: 20_000, cookie: 2)
    world.room = 100
    #expect(harness.run(100).map(\.what) == [.completed(1)])
    for _ in 0..<20 {
      world.room = 900
      #expect(harness.run(1000).isEmpty)
    }
    world.room = nil
    #expect(harness.run(10).map(\.what) == [.completed(2)])
    // And when all of it is sent, its time begins.
    world.server.ignores = [3]
    world.room = 10_000
    try harness.publish("a", payload: 20_000, cookie: 3)
    _ = harness.run(4000)
    world.room = nil
    _ = harness.run(1)
    let sent = world.now - 1
    let told = harness.run(6000)
    #expect(told.map(\.what) == [Self.end(.acknowledgement)])
    #expect(told.first?.time == sent + 5000)
  }

  /// Nor does a request that a message is in the way of.
  @Test func aRequestBehindALongMessage() throws {
    let world = World()
    let harness = try Self.harness(world, keepAlive: UInt32.max)
    try harness.publish("a", payload: 20_000, qos: .atMostOnce)
    world.room = 1000
    #expect(harness.run(1).isEmpty)
    try harness.subscribe("a")
    for _ in 0..<18 {
      world.room = 1000
      #expect(harness.run(1000).isEmpty)
    }
    #expect(harness.state == .connected)
    world.room = nil
    #expect(harness.run(10).map(\.what) == [.completed(0), .answered])
  }

  /// One that waits is given up though another is being sent.
  @Test func aShortOneInFrontOfALongOne() throws {
    let world = World()
    let harness = try Self.harness(world, keepAlive: UInt32.max)
    world.server.ignores = [3]
    try harness.publish("a", cookie: 1)
    try harness.publish("a", payload: 90_000, cookie: 2)
    let sent = world.now
    var told: [ReportedEvent] = []
    for _ in 0..<12 {
      world.room = 500
      told += harness.run(500)
    }
    #expect(told.first?.what == Self.end(.acknowledgement))
    #expect(told.first?.time == sent + 5000)
  }

  // MARK: Nothing is taken

  @Test(arguments: [1000, UInt32.max - 2000])
  func nothingIsTaken(start: UInt32) throws {
    let world = World(now: start)
    let harness = try Self.harness(world, answer: UInt32.max, write: 3000, keepAlive: UInt32.max)
    world.room = 10
    try harness.publish("a", payload: 1000, qos: .atMostOnce)
    let sent = world.now
    let told = harness.run(3500)
    #expect(told.map(\.what) == [Self.end(.write)])
    #expect(told.first?.time == sent &+ 3000)
    #expect(harness.client.failures.timeout == 1)
  }

  /// A byte is enough.
  @Test func aByteIsProgress() throws {
    let world = World()
    let harness = try Self.harness(world, answer: UInt32.max, write: 3000, keepAlive: UInt32.max)
    world.room = 10
    try harness.publish("a", payload: 1000, qos: .atMostOnce)
    _ = harness.run(1)
    for _ in 0..<5 {
      #expect(harness.run(2990).isEmpty)
      world.room = 1
    }
    #expect(harness.run(1).isEmpty)
    let last = world.now - 1
    let told = harness.run(3500)
    #expect(told.map(\.what) == [Self.end(.write)])
    #expect(told.first?.time == last + 3000)
    // The next connection begins with a fresh time.
    world.room = nil
    #expect(harness.run(5000).map(\.what) == [.connected, .completed(0)])
  }

  @Test func nothingToSendIsNoReason() throws {
    let world = World()
    let harness = try Self.harness(world, answer: UInt32.max, write: 3000, keepAlive: UInt32.max)
    world.room = 0
    #expect(harness.run(100_000).isEmpty)
    try harness.publish("a", qos: .atMostOnce)
    let sent = world.now
    #expect(harness.run(5000).map(\.time) == [sent + 3000])
  }

  /// What was to be sent has expired meanwhile: there is nothing to wait for, and nobody wakes up for it again and again.
  @Test func nothingIsLeftToSend() throws {
    let world = World()
    let harness = try ReconnectTests.harness(world) {
      $0.connection.writeTimeout = 3000
      $0.keepAlive = UInt32.max
      $0.submitMessages = 1
    }
    harness.connect()
    _ = harness.run(100)
    world.room = 0
    try harness.submit("a", qos: .atMostOnce, cookie: 1, expiry: 1)
    #expect(harness.run(2500).map(\.what) == [.completed(1)])
    world.now += 1000
    _ = harness.client.service(at: harness.now)
    let timeout = harness.client.nextTimeout(at: harness.now)
    #expect(timeout == -1)
    #expect(harness.state == .connected)
    // What comes later has a time of its own.
    try harness.submit("a", qos: .atMostOnce)
    _ = harness.client.service(at: harness.now)
    let sent = world.now
    #expect(harness.run(5000).map(\.time) == [sent + 3000])
  }

  @Test func writeOff() throws {
    let world = World()
    let harness = try Self.harness(world, answer: UInt32.max, keepAlive: UInt32.max)
    world.room = 0
    try harness.publish("a", qos: .atMostOnce)
    #expect(harness.run(1_000_000).isEmpty)
  }

  /// The program was busy for long, and the peer takes bytes again.
  @Test func awayWhileBlocked() throws {
    let world = World()
    let harness = try Self.harness(world, answer: UInt32.max, write: 3000, keepAlive: UInt32.max)
    world.room = 10
    try harness.publish("a", payload: 1000, qos: .atMostOnce)
    _ = harness.run(10)
    world.now += 60_000
    world.room = nil
    #expect(harness.run(10).map(\.what) == [.completed(0)])
    #expect(harness.state == .connected)
  }
}
