import MQTTSession
import MQTTTransport
import Testing

@testable import MQTTClient

/// What one attempt, or one connection, leaves behind for the next; and what is told of them, in which order.
@Suite struct AttemptTests {
  private static func rig(
    _ world: World, url: String? = nil, configure: (inout RequestedOptions) -> Void = { _ in }
  ) throws -> ClientRig {
    try ClientRig(world, url: url) {
      $0.jitter = Backoff.Jitter.none.rawValue
      configure(&$0)
    }
  }

  // MARK: Leaving

  /// Closing without a word is the end of it in every state, as leaving is: in a wait, and in an attempt.
  @Test(arguments: [true, false])
  func cutOff(whileWaiting: Bool) throws {
    let world = World()
    world.addresses = [whileWaiting ? .refuses(after: 0) : .blackHole]
    let rig = try Self.rig(world)
    rig.connect()
    _ = rig.run(500)
    #expect(rig.state == (whileWaiting ? .waiting : .connecting))
    rig.client.cutOff(at: rig.now)
    #expect(
      rig.take().map(\.what).last == .disconnected(.requested, whileWaiting ? .none : .connect, retry: nil))
    #expect(rig.state == .disconnected)
    _ = rig.client.wait(timeout: 60_000)
    #expect(world.attempts.count == 1)
  }

  /// What is asked for later does not prolong what was asked for before, but shortens it.
  @Test(arguments: [(500, 5000, 500), (5000, 500, 500)] as [(UInt32, UInt32, UInt32)])
  func leavingTwice(first: UInt32, second: UInt32, end: UInt32) throws {
    let world = World()
    let rig = try Self.rig(world)
    rig.connect()
    _ = rig.run(100)
    world.server.ignores = [3]
    try rig.publish("a")
    _ = rig.run(10)
    let start = world.now
    try rig.disconnect(drain: first)
    try rig.disconnect(drain: second)
    let told = rig.run(8000)
    #expect(told.map(\.what) == [.disconnected(.requested, .none, retry: nil)])
    #expect(told.map(\.time) == [start + end + world.server.delay])
  }

  /// Before the server has said that it accepts there is nothing to be drained.
  @Test func leavingBeforeItIsAccepted() throws {
    let world = World()
    world.server.connack = nil
    let rig = try Self.rig(world)
    rig.connect()
    _ = rig.run(100)
    try rig.publish("a")
    let start = world.now
    try rig.disconnect(drain: 5000)
    #expect(rig.run(8000).map(\.time) == [start + world.server.delay])
  }

  /// A server that does not close its side is not waited for.
  @Test func theServerStaysOpen() throws {
    let world = World()
    let rig = try Self.rig(world)
    rig.connect()
    _ = rig.run(100)
    world.server.delay = 100_000
    let start = world.now
    try rig.disconnect()
    let told = rig.run(10_000)
    #expect(told.map(\.what) == [.disconnected(.requested, .none, retry: nil)])
    #expect(told.map(\.time) == [start + 2000])
    #expect(world.lanes.allSatisfy { $0 == nil })
  }

  // MARK: Falling back

  /// CONNECT did not get through, and the server closed: the attempt in the older version has nothing to do with that. The
  /// time in which the kernel should have taken it is over before this one is there, and nobody turns in circles for it.
  @Test func whatTheLastConnectionDidNotTake() throws {
    let world = World()
    world.room = 5
    let rig = try Self.rig(world) {
      $0.protocolVersion = 5
      $0.fallback = true
      $0.writeTimeout = 2000
    }
    rig.connect()
    #expect(rig.run(100).isEmpty)
    #expect(rig.client.isBlockedSending)
    world.addresses = [.opens(after: 5000)]
    world.breakConnections()
    world.room = nil
    _ = rig.run(10)
    #expect(rig.state == .connecting)
    let before = world.wakeUps
    #expect(rig.run(6000).map(\.what) == [.connected])
    #expect(world.wakeUps - before < 10)
    #expect(rig.client.version == .v3_1_1)
  }

  /// The address that answered is the one to go on with.
  @Test func theSameAddress() throws {
    let world = World()
    world.addresses = [.refuses(after: 1), .opens(after: 1)]
    world.server.judge = { packet in packet[2 + 2 + 4 + 0] == 5 ? 0x84 : 0 }
    let rig = try Self.rig(world) {
      $0.protocolVersion = 5
      $0.fallback = true
    }
    rig.connect()
    #expect(rig.run(100).map(\.what) == [.connected])
    #expect(world.tried.map(\.address) == [0, 1, 1])
  }

  // MARK: Why

  /// Of several addresses the last that failed says why.
  @Test func theReasonOfTheLast() throws {
    let world = World()
    world.addresses = [.noRoute, .refuses(after: 5)]
    let rig = try Self.rig(world)
    rig.connect()
    _ = rig.client.wait(timeout: 100)
    guard case .disconnected(let failure) = rig.client.nextEvent() else {
      Issue.record("no end")
      return
    }
    guard case .network(let error) = failure.cause else {
      Issue.record("\(failure.cause)")
      return
    }
    #expect(error == 111)
  }

  // MARK: Redirects

  private static func redirected(_ world: World, _ url: String) throws -> ClientRig {
    try rig(world, url: url) {
      $0.protocolVersion = 5
      $0.redirect = true
    }
  }

  /// So many and no more follow each other at once.
  @Test func hops() throws {
    let world = World()
    world.pointing = ["a": (0x9C, "b"), "b": (0x9C, "a")]
    let rig = try Self.redirected(world, "mqtt://a")
    rig.connect()
    #expect(rig.run(500).map(\.retry) == [0, 0, 0, 0, 1000])
    #expect(world.attempts.count == 5)
  }

  /// They are counted anew after a connection that lasted.
  @Test func hopsAfterAConnectionThatLasted() throws {
    let world = World()
    world.pointing = ["a": (0x9C, "b")]
    let rig = try Self.redirected(world, "mqtt://a")
    rig.connect()
    for _ in 0..<7 {
      _ = rig.run(40_000)
      #expect(rig.state == .connected)
      world.breakConnections()
    }
    #expect(world.looked.count == 14)
  }

  // MARK: Events at hand

  /// A program that takes its events slowly does not keep the driver from the socket.
  @Test func slowEvents() throws {
    let world = World()
    let rig = try Self.rig(world) { $0.keepAlive = 2 }
    rig.connect()
    _ = rig.run(100)
    try rig.publish("a", cookie: 1)
    _ = rig.client.wait(timeout: 100)
    #expect(rig.client.hasEvent)
    let before = world.wakeUps
    // At one moment it looks once, however often it is asked.
    for _ in 0..<5 { _ = rig.client.wait(timeout: 1000) }
    #expect(world.wakeUps - before <= 1)
    world.now &+= 5
    _ = rig.client.wait(timeout: 1000)
    #expect(world.wakeUps - before >= 1)
  }

  // MARK: The log

  private final class Log {
    var lines: [String] = []

    static let told: LogHook.Function = { user, level, what, number, other in
      guard let user, let name = LogHook.What(rawValue: what) else { return }
      unsafe Unmanaged<Log>.fromOpaque(user).takeUnretainedValue().lines.append(
        "\(level) \(name) \(number) \(other)")
    }
  }

  /// All of it, in the order in which it happens: an end before the attempt that follows it, each with its numbers.
  @Test func everything() throws {
    let world = World()
    world.addresses = [.refuses(after: 1)]
    let log = Log()
    let rig = try Self.rig(world)
    rig.client.log = unsafe LogHook(Log.told, user: Unmanaged.passUnretained(log).toOpaque(), level: .debug)
    rig.connect()
    _ = rig.run(10)
    world.addresses = [.opens(after: 1)]
    _ = rig.run(1100)
    try rig.disconnect()
    _ = rig.run(100)
    #expect(
      log.lines == [
        "2 attempt 1 0", "3 lookUp 0 0", "3 addresses 1 0", "3 address 0 0", "1 addressFailed 0 111",
        "2 ended 8 2", "2 waiting 1000 0",
        "2 attempt 2 0", "3 lookUp 0 0", "3 addresses 1 0", "3 address 0 0", "3 opened 0 0",
        "2 connected 4 0",
        "2 ended 0 0",
      ])
    withExtendedLifetime(log) {}
  }

  @Test(arguments: [
    (LogHook.Level.warning, ["addressFailed"]), (.info, ["attempt", "addressFailed", "ended", "waiting"]),
  ])
  func levels(level: LogHook.Level, names: [String]) throws {
    let world = World()
    world.addresses = [.refuses(after: 1)]
    let log = Log()
    let rig = try Self.rig(world)
    rig.client.log = unsafe LogHook(Log.told, user: Unmanaged.passUnretained(log).toOpaque(), level: level)
    rig.connect()
    _ = rig.run(10)
    #expect(log.lines.map { String($0.split(separator: " ")[1]) } == names)
    withExtendedLifetime(log) {}
  }
}
