import Driver
import MQTTSession
import MQTTWire
import Platform
import TestSupport
import Testing
import Transports

@testable import MQTTClient

/// What becomes of single attempts to connect and of their ends: what is told of them, in which order, and when.
@Suite struct AttemptTests {
  /// A connection that is there.
  static func connected(_ world: World, configure: (inout RequestedOptions) -> Void = { _ in }) throws
    -> ClientHarness
  {
    let harness = try ReconnectTests.harness(world, configure: configure)
    harness.connect()
    #expect(harness.run(100).map(\.what) == [.connected])
    return harness
  }

  // MARK: Why

  /// Of several addresses the last that failed says why.
  @Test(
    arguments: [
      ([World.Address.noRoute, .refuses(after: 10)], 111), ([.refuses(after: 10), .noRoute], 101),
      ([.refuses(after: 300), .refuses(after: 10)], 111),
    ] as [([World.Address], Int32)])
  func theLastError(addresses: [World.Address], errno: Int32) throws {
    let world = World()
    world.addresses = addresses
    let harness = try ReconnectTests.harness(world) { $0.connection.noReconnect = true }
    harness.connect()
    while !harness.client.hasEvent { _ = harness.client.wait(timeout: 1000) }
    guard case .disconnected(let failure) = harness.client.nextEvent(),
      case .network(let error) = failure.cause
    else { throw Unexpected() }
    #expect(error == errno)
  }

  private struct Unexpected: Error {}

  // MARK: An older version

  private static func olderOnly(_ packet: [UInt8]) -> UInt8 { packet[8] == 5 ? 0x84 : 0 }

  /// The address that answered is the one to begin again with.
  @Test func theOlderVersionGoesToTheSameAddress() throws {
    let world = World()
    world.addresses = [.refuses(after: 1), .opens(after: 1)]
    world.server.judge = Self.olderOnly
    let harness = try ReconnectTests.harness(world) {
      $0.protocolVersion = 5
      $0.fallback = true
    }
    harness.connect()
    #expect(harness.run(100).map(\.what) == [.connected])
    #expect(world.tried.map(\.address) == [0, 1, 1])
  }

  /// What the kernel did not take of the last CONNECT is no affair of the attempt that follows.
  @Test func theOlderVersionAfterABlockedOne() throws {
    let world = World()
    world.room = 5
    let harness = try ReconnectTests.harness(world) {
      $0.protocolVersion = 5
      $0.fallback = true
      $0.connection.writeTimeout = 3000
    }
    harness.connect()
    #expect(harness.run(100).isEmpty)
    world.addresses = [.opens(after: 5000)]
    world.room = nil
    world.breakConnections()
    #expect(harness.run(6000).map(\.what) == [.connected])
    let version = harness.client.version
    #expect(version == .v3_1_1)
  }

  /// The server hangs up on CONNECT while the program leaves: there is no other connection, and an end.
  @Test func noOlderVersionForOneThatLeaves() throws {
    let world = World()
    world.server.connack = nil
    let harness = try ReconnectTests.harness(world) {
      $0.protocolVersion = 5
      $0.fallback = true
    }
    harness.connect()
    #expect(harness.run(100).isEmpty)
    try harness.disconnect()
    world.addresses = [.blackHole]
    world.breakConnections()
    // It looks at the transport first.
    _ = harness.client.service(at: harness.now)
    #expect(harness.run(1000).count == 1)
    #expect(world.tried.count == 1)
    #expect(harness.client.nextTimeout(at: harness.now) != 0)
  }

  // MARK: Redirects (§4.11)

  private static func redirected(_ world: World) throws -> ClientHarness {
    try ClientHarness(world, url: "mqtt://a") {
      $0.protocolVersion = 5
      $0.redirect = true
      $0.connection.reconnectMinimum = 1000
      $0.connection.jitter = Backoff.Jitter.none.rawValue
    }
  }

  /// Four of them are followed at once, the fifth is not.
  @Test func fourRedirects() throws {
    let world = World()
    world.pointing = ["a": (0x9C, "b"), "b": (0x9C, "a")]
    let harness = try Self.redirected(world)
    harness.connect()
    #expect(harness.run(900).map(\.retry) == [0, 0, 0, 0, 1000])
  }

  /// A connection that lasted begins the count anew.
  @Test func redirectsOfDays() throws {
    let world = World()
    world.pointing["a"] = (0x9C, "other")
    let harness = try Self.redirected(world)
    harness.connect()
    for _ in 0..<8 {
      let told = harness.run(40_000)
      #expect(told.last?.what == .connected)
      #expect(world.looked.last == "other:1883")
      world.breakConnections()
    }
  }

  // MARK: Leaving

  /// A server that does not close its side is waited for, but not for long.
  @Test func theServerDoesNotClose() throws {
    let world = World()
    let harness = try Self.connected(world)
    world.server.delay = 100_000
    try harness.disconnect()
    let start = world.now
    let told = harness.run(5000)
    #expect(told.map(\.what) == [.disconnected(.requested, .none, retry: nil)])
    #expect(told.map(\.time) == [start + 2000])
  }

  /// Who asks again can be in more of a hurry, not in less.
  @Test(arguments: [(1000, 10_000), (10_000, 1000)] as [(UInt32, UInt32)])
  func leavingTwice(first: UInt32, second: UInt32) throws {
    let world = World()
    world.server.ignores = [3]
    let harness = try Self.connected(world)
    try harness.publish("a")
    let start = world.now
    try harness.disconnect(drain: first)
    try harness.disconnect(drain: second)
    let told = harness.run(5000)
    #expect(told.map(\.what) == [.disconnected(.requested, .none, retry: nil)])
    #expect(told.map(\.time) == [start + 1000 + world.server.delay])
  }

  /// What came in time counts, though the program looks for it late, and only sends at first.
  @Test func drainingAProgramThatIsLate() throws {
    let world = World()
    let harness = try Self.connected(world)
    try harness.publish("a", cookie: 5)
    _ = harness.client.flush(at: harness.now)
    try harness.disconnect(drain: 1000)
    _ = harness.client.flush(at: harness.now)
    world.now &+= 1500
    _ = harness.client.flush(at: harness.now)
    let told = harness.run(5000)
    #expect(told.map(\.what).contains(.completed(5)))
    #expect(told.last?.what == .disconnected(.requested, .none, retry: nil))
  }

  /// There is no draining where nothing may be sent yet.
  @Test func leavingBeforeItIsAccepted() throws {
    let world = World()
    world.server.connack = nil
    let harness = try ReconnectTests.harness(world)
    harness.connect()
    #expect(harness.run(100).isEmpty)
    try harness.publish("a")
    let start = world.now
    try harness.disconnect(drain: 5000)
    let told = harness.run(10_000)
    #expect(told.map(\.what) == [.disconnected(.requested, .none, retry: nil)])
    #expect(told.map(\.time) == [start + world.server.delay])
  }

  /// Without a word is without another attempt, too.
  @Test func cuttingOffAWait() throws {
    let world = World()
    world.addresses = [.refuses(after: 0)]
    let harness = try ReconnectTests.harness(world)
    harness.connect()
    #expect(harness.run(500).map(\.retry) == [1000])
    harness.client.cutOff(at: harness.now)
    #expect(harness.take().map(\.what) == [.disconnected(.requested, .none, retry: nil)])
    #expect(harness.run(60_000).isEmpty)
    #expect(world.attempts.count == 1)
  }

  // MARK: Waiting

  /// Whoever waits for each event looks at the socket once in a millisecond, not for each of them.
  @Test func eventsAtHandAreNotWaitedFor() throws {
    let world = World()
    let harness = try Self.connected(world)
    world.say([0x30, 3, 0, 1, 0x61])
    #expect(harness.client.wait(timeout: 1000) == .event)
    let before = world.wakeUps
    for _ in 0..<10 { #expect(harness.client.wait(timeout: 1000) == .event) }
    #expect(world.wakeUps == before)
    world.now += 1
    #expect(harness.client.wait(timeout: 1000) == .event)
    #expect(world.wakeUps == before + 1)
  }

  // MARK: The log

  private final class Log {
    struct Line: Equatable {
      let level: Int32
      let what: LogHook.Step
      var numbers: [Int32] = []
    }
    var lines: [Line] = []
  }

  /// What a failed attempt tells, in the order in which it happens.
  @Test(arguments: [1, 2, 3] as [Int32])
  func log(level: Int32) throws {
    let world = World()
    world.addresses = [.refuses(after: 1)]
    let harness = try ReconnectTests.harness(world)
    let log = Log()
    let told: LogHook.Function = { user, level, what, number, other in
      guard let user, let what = LogHook.Step(rawValue: what) else { return }
      let log = unsafe Unmanaged<Log>.fromOpaque(user).takeUnretainedValue()
      log.lines.append(Log.Line(level: level, what: what, numbers: [number, other]))
    }
    harness.client.log = unsafe LogHook(
      told, user: Unmanaged.passUnretained(log).toOpaque(), level: LogHook.Level(rawValue: level)!)
    harness.connect()
    _ = harness.run(100)
    let all = [
      Log.Line(level: 2, what: .attempt, numbers: [1, 0]),
      Log.Line(level: 3, what: .lookUp, numbers: [0, 0]),
      Log.Line(level: 3, what: .addresses, numbers: [1, 0]),
      Log.Line(level: 3, what: .address, numbers: [0, 0]),
      Log.Line(level: 1, what: .addressFailed, numbers: [0, 111]),
      Log.Line(level: 2, what: .ended, numbers: [8, 2]),
      Log.Line(level: 2, what: .waiting, numbers: [1000, 0]),
    ]
    #expect(log.lines == all.filter { $0.level <= level })
  }
}
