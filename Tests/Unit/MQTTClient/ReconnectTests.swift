import Driver
import MQTTSession
import Platform
import TestSupport
import Testing

@testable import MQTTClient

extension FailureStage: @unchecked Sendable {}

/// Does a client stay connected, without ever becoming a storm? On a virtual clock: hours take no time.
@Suite struct ReconnectTests {
  static func harness(
    _ world: World = World(), shortest: UInt32 = 1000, longest: UInt32 = 30_000,
    jitter: Backoff.Jitter = .none, configure: (inout RequestedOptions) -> Void = { _ in }
  ) throws -> ClientHarness {
    try ClientHarness(world) {
      $0.connection.reconnectMinimum = shortest
      $0.connection.reconnectMaximum = longest
      $0.connection.jitter = jitter.rawValue
      configure(&$0)
    }
  }

  // MARK: Waits

  /// Never above the bound, whatever the server refuses with; on either side of the clock's wrap.
  @Test(arguments: [1000, UInt32.max - 20_000])
  func doublesUpToTheBound(start: UInt32) throws {
    let world = World(now: start)
    world.addresses = [.refuses(after: 0)]
    let harness = try Self.harness(world)
    harness.connect()
    let told = harness.run(200_000)
    #expect(
      told.map(\.retry).prefix(9) == [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000, 30_000])
    for (index, one) in told.enumerated() {
      #expect(one.what == .disconnected(.network, .connect, retry: one.retry))
      if index > 0 { #expect(one.time &- told[index - 1].time == (told[index - 1].retry ?? 0) + 1) }
    }
    #expect(harness.state == .waiting)
  }

  @Test func refusalsWaitToo() throws {
    let world = World()
    world.server.connack = [0x20, 2, 0, 4]  // bad user name or password
    let harness = try Self.harness(world)
    harness.connect()
    let told = harness.run(60_000)
    #expect(told.allSatisfy { $0.what == .disconnected(.refused, .accept, retry: $0.retry) })
    #expect(told.map(\.retry) == [1000, 2000, 4000, 8000, 16_000, 30_000])
  }

  /// A server that accepts and hangs up: no more attempts a minute than with one that is not there.
  @Test(arguments: [Backoff.Jitter.full, .decorrelated, .none])
  func flappingServer(jitter: Backoff.Jitter) throws {
    let world = World()
    world.server.lifetime = 0
    let harness = try Self.harness(world, longest: 60_000, jitter: jitter)
    harness.connect()
    _ = harness.run(10 * 60_000)
    let early = world.attempts.count
    _ = harness.run(60 * 60_000)
    let perMinute = Double(world.attempts.count - early) / 60
    #expect(perMinute < 4, "\(perMinute) attempts a minute")
    #expect(perMinute > 0.5)
  }

  @Test(arguments: [(29_000, [1000, 2000]), (30_500, [1000, 1000])] as [(UInt32, [UInt32])])
  func onlyAStableConnectionIsANewBeginning(lifetime: UInt32, waits: [UInt32]) throws {
    let world = World()
    world.server.lifetime = lifetime
    let harness = try Self.harness(world)
    harness.connect()
    let told = harness.run(2 * lifetime + 10_000).filter { $0.what != .connected }
    #expect(told.map(\.retry).prefix(2) == waits[...].map { $0 }[...])
    #expect(told.allSatisfy { $0.what == .disconnected(.closed, .connected, retry: $0.retry) })
  }

  @Test func theNextAttemptWaitsForTheEventOfTheLast() throws {
    let world = World()
    world.addresses = [.refuses(after: 0)]
    let harness = try Self.harness(world)
    harness.connect()
    for _ in 0..<100 {
      _ = harness.client.wait(timeout: 1000)
      // With an event at hand no wait takes any time.
      world.now += 100
    }
    #expect(world.attempts.count == 1)
    #expect(harness.take().count == 1)
    _ = harness.run(1001)
    #expect(world.attempts.count == 2)
  }

  @Test func onlyOnce() throws {
    let world = World()
    world.addresses = [.refuses(after: 0)]
    let harness = try Self.harness(world) { $0.connection.noReconnect = true }
    harness.connect()
    #expect(harness.run(100_000).map(\.what) == [.disconnected(.network, .connect, retry: nil)])
    #expect(world.attempts.count == 1)
    #expect(harness.state == .disconnected)
    #expect(harness.connect())
  }

  // MARK: What is wanted

  @Test func leavingEndsTheWait() throws {
    let world = World()
    world.addresses = [.refuses(after: 0)]
    let harness = try Self.harness(world)
    harness.connect()
    _ = harness.run(1500)
    #expect(!harness.connect())
    try harness.disconnect()
    #expect(harness.take().map(\.what) == [.disconnected(.requested, .none, retry: nil)])
    #expect(harness.state == .disconnected)
    _ = harness.client.wait(timeout: 60_000)
    #expect(world.attempts.count == 2)
    #expect(harness.connect())
  }

  /// The event that was still to be taken says that nothing follows.
  @Test func leavingWhileAFailureIsUntaken() throws {
    let world = World()
    world.addresses = [.refuses(after: 0)]
    let harness = try Self.harness(world)
    harness.connect()
    _ = harness.client.wait(timeout: 1000)
    try harness.disconnect()
    #expect(harness.take().map(\.what) == [.disconnected(.network, .connect, retry: nil)])
    #expect(harness.state == .disconnected)
  }

  @Test func whatIsQueuedGoesOutOnTheNextConnection() throws {
    let world = World()
    world.server.lifetime = 10_000
    let harness = try Self.harness(world)
    harness.connect()
    _ = harness.run(100)
    world.breakConnections()
    for cookie: UInt64 in 1...5 { try harness.publish("a", cookie: cookie) }
    let told = harness.run(5000)
    let completed = told.compactMap { if case .completed(let cookie) = $0.what { Int(cookie) } else { nil } }
    #expect(completed == [1, 2, 3, 4, 5])
  }

  // MARK: Deadlines

  /// Each stage has its name, and the attempt its end, to the millisecond.
  @Test func connectTimeout() throws {
    for stage in [FailureStage.resolve, .connect, .accept] {
      let world = World()
      switch stage {
      case .resolve: world.name = .never
      case .connect: world.addresses = [.blackHole, .blackHole, .blackHole]
      default: world.server.connack = nil
      }
      let harness = try Self.harness(world) { $0.connection.connectTimeout = 5000 }
      harness.connect()
      let told = harness.run(5500)
      #expect(told.map(\.what) == [.disconnected(.timeout, stage, retry: 1000)])
      #expect(told.map(\.time) == [6000])
    }
  }

  @Test func unknownName() throws {
    let world = World()
    world.name = .unknown(after: 20)
    let harness = try Self.harness(world)
    harness.connect()
    #expect(harness.run(500).map(\.what) == [.disconnected(.resolve, .resolve, retry: 1000)])
  }

  // MARK: Addresses (RFC 8305)

  @Test(
    arguments: [
      // What becomes of each, which are tried when, and when the connection is there.
      ([World.Address.opens(after: 100), .opens(after: 1)], [0], 100),
      ([.opens(after: 300), .opens(after: 10)], [0, 250], 260),
      ([.opens(after: 300), .opens(after: 100)], [0, 250], 300),
      ([.blackHole, .opens(after: 20)], [0, 250], 270),
      ([.refuses(after: 30), .opens(after: 20)], [0, 30], 50),
      ([.noRoute, .opens(after: 20)], [0, 0], 20),
      ([.noRoute, .noRoute, .opens(after: 20)], [0, 0, 0], 20),
      ([.blackHole, .blackHole, .blackHole, .blackHole, .opens(after: 20)], [0, 250, 500, 750, 2750], 2770),
      ([.blackHole, .refuses(after: 300), .opens(after: 500)], [0, 250, 500], 1000),
    ] as [([World.Address], [UInt32], UInt32)])
  func addressesRace(addresses: [World.Address], times: [UInt32], connected: UInt32) throws {
    let world = World()
    world.addresses = addresses
    world.server.delay = 0
    let harness = try Self.harness(world)
    harness.connect()
    let start = world.now + 1  // the look-up
    let told = harness.run(10_000)
    #expect(told.map(\.what) == [.connected])
    #expect(told.first?.time == start + connected)
    #expect(world.tried.map(\.time) == times.map { start + $0 })
    #expect(world.tried.map(\.address) == Array(0..<times.count))
    // The others are closed.
    #expect(world.sockets.count { $0 != nil } == 1)
  }

  /// Of more than there is room for, the first.
  @Test(arguments: [1, 3, 8])
  func theFirstAddresses(room: Int) throws {
    let world = World()
    world.addresses = [World.Address](repeating: .refuses(after: 1), count: 8)
    let harness = try Self.harness(world) { $0.connection.addresses = UInt32(room) }
    harness.connect()
    #expect(harness.run(100).map(\.what) == [.disconnected(.network, .connect, retry: 1000)])
    #expect(world.tried.map(\.address) == Array(0..<room))
  }

  // MARK: Several servers

  /// In their order, without a pause; then the wait, and the next round.
  @Test func rounds() throws {
    let world = World()
    world.refusing = ["a", "b", "c"]
    let harness = try ClientHarness(world, url: "mqtt://a,b:1884,c") {
      $0.connection.reconnectMinimum = 1000
      $0.connection.jitter = Backoff.Jitter.none.rawValue
    }
    harness.connect()
    let told = harness.run(4000)
    #expect(told.map(\.retry) == [0, 0, 1000, 0, 0, 2000, 0, 0, 4000])
    #expect(
      world.looked
        == Array(repeatElement(["a:1883", "b:1884", "c:1883"], count: 3).joined()))
  }

  /// The one a connection to lasted comes first in the next round; one that did not last is not good.
  @Test(arguments: [(40_000, "b"), (10_000, "a")] as [(UInt32, String)])
  func theGoodOneFirst(lifetime: UInt32, first: String) throws {
    let world = World()
    world.refusing = ["a", "c"]
    let harness = try ClientHarness(world, url: "mqtt://a,b,c") {
      $0.connection.jitter = Backoff.Jitter.none.rawValue
    }
    harness.connect()
    _ = harness.run(lifetime)
    #expect(world.looked == ["a:1883", "b:1883"])
    #expect(harness.client.serverIndex == 1)
    world.breakConnections()
    world.refusing = ["a", "b", "c"]
    _ = harness.run(2000)
    #expect(world.looked[2] == "\(first):1883")
    #expect(Set(world.looked[2..<5]).count == 3)
  }

  /// A fleet spreads.
  @Test func shuffled() throws {
    var firsts: [String: Int] = [:]
    for seed in 0..<200 {
      let world = World()
      world.random = World.LCG(state: UInt32(seed) &* 7919)
      let harness = try ClientHarness(world, url: "mqtt://a,b,c,d") { $0.connection.shuffle = true }
      harness.connect()
      firsts[world.looked[0], default: 0] += 1
    }
    #expect(firsts.count == 4 && firsts.values.allSatisfy { $0 > 20 }, "\(firsts)")
  }

  /// A look-up that hangs is not taken for that of the next server.
  @Test func aNameThatHangs() throws {
    let world = World()
    world.name = .never
    let harness = try ClientHarness(world, url: "mqtt://a,b") { $0.connection.connectTimeout = 5000 }
    harness.connect()
    _ = harness.run(4999)
    world.name = .found(after: 1)
    #expect(harness.run(100).map(\.what) == [.disconnected(.timeout, .resolve, retry: 0), .connected])
    #expect(world.looked == ["a:1883", "b:1883"])
  }

  /// A look-up that is under way is one of the server that stood there before.
  @Test(arguments: [("a", 1884), ("a", 1883), ("c", 1883)] as [(String, UInt32)])
  func anotherServerDuringALookUp(host: String, port: UInt32) throws {
    let world = World()
    world.name = .found(after: 8000)
    let harness = try ClientHarness(world, url: "mqtt://a") {
      $0.connection.connectTimeout = 5000
      $0.connection.noReconnect = true
    }
    harness.connect()
    #expect(harness.run(5000).map(\.what) == [.disconnected(.timeout, .resolve, retry: nil)])
    #expect(harness.renew(host: host, port: port))
    harness.connect()
    // One is enough for the same server.
    let isSame = host == "a" && port == 1883
    #expect(harness.run(4999).map(\.what) == (isSame ? [.connected] : []))
    #expect(world.looked == (isSame ? ["a:1883"] : ["a:1883", "\(host):\(port)"]))
    world.name = .found(after: 1)
    if !isSame {
      _ = harness.run(1)
      harness.connect()
      #expect(harness.run(4000).map(\.what) == [.connected])
    }
    #expect(world.ports == [UInt16(port)])
  }

  // MARK: Redirects (§4.11)

  /// So it is with a server that another one points to.
  @Test func anotherRedirectDuringALookUp() throws {
    let world = World()
    world.numericHosts = ["10.0.0.1"]
    world.pointing["10.0.0.1"] = (0x9C, "b:1884")
    world.name = .never
    let harness = try ClientHarness(world, url: "mqtt://10.0.0.1") {
      $0.protocolVersion = 5
      $0.redirect = true
      $0.connection.connectTimeout = 5000
      $0.connection.jitter = Backoff.Jitter.none.rawValue
    }
    harness.connect()
    #expect(
      harness.run(5500).map(\.what) == [
        .disconnected(.refused, .accept, retry: 0), .disconnected(.timeout, .resolve, retry: 1000),
      ])
    world.pointing["10.0.0.1"] = (0x9C, "c:1885")
    world.name = .found(after: 1)
    #expect(
      harness.run(2000).map(\.what) == [.disconnected(.refused, .accept, retry: 0), .connected])
    #expect(world.looked == ["b:1884", "c:1885"])
    #expect(world.ports == [1883, 1883, 1885])
  }

  private static func redirected(
    _ world: World, _ url: String = "mqtt://a,b", follows: Bool = true
  ) throws -> ClientHarness {
    try ClientHarness(world, url: url) {
      $0.protocolVersion = 5
      $0.redirect = follows
      $0.connection.jitter = Backoff.Jitter.none.rawValue
    }
  }

  @Test(arguments: [
    ("other", "other:1883"), ("other:1884", "other:1884"), ("[::1]:1885 next", "::1:1885"),
    ("192.0.2.1 [::2]", "192.0.2.1:1883"),
  ])
  func followed(reference: String, looked: String) throws {
    let world = World()
    world.pointing["a"] = (0x9C, reference)
    let harness = try Self.redirected(world)
    harness.connect()
    #expect(harness.run(100).map(\.what) == [.disconnected(.refused, .accept, retry: 0), .connected])
    #expect(world.looked == ["a:1883", looked])
    #expect(harness.client.serverIndex == 2)
  }

  /// Not asked for; or nothing that one could connect to; or not before 5.0.
  @Test(arguments: ["", "mqtt://h", "a b:0", "h:0", "x?y", String(repeating: "h", count: 120) + ":99999"])
  func notFollowed(reference: String) throws {
    let world = World()
    world.pointing["a"] = (0x9C, reference == "a b:0" ? "other" : reference)
    let harness = try Self.redirected(world, follows: reference != "a b:0")
    harness.connect()
    _ = harness.run(100)
    #expect(world.looked == ["a:1883", "b:1883"])
    #expect(harness.state == .connected)
  }

  /// Servers that point to each other make no storm.
  @Test func loops() throws {
    let world = World()
    world.pointing = ["a": (0x9C, "b"), "b": (0x9C, "a")]
    let harness = try Self.redirected(world, "mqtt://a")
    harness.connect()
    _ = harness.run(600_000)
    let early = world.attempts.count
    _ = harness.run(600_000)
    #expect(world.looked.prefix(5) == ["a:1883", "b:1883", "a:1883", "b:1883", "a:1883"])
    #expect(world.attempts.count - early <= 11, "\(world.attempts.count - early) in ten minutes")
  }

  /// Moved for good: it comes first as long as connections to it last. Else the servers of the options are next.
  @Test(
    arguments: [(0x9D, 40_000, "other"), (0x9D, 10_000, "a"), (0x9C, 40_000, "a")]
      as [(UInt8, UInt32, String)])
  func moved(code: UInt8, lifetime: UInt32, next: String) throws {
    let world = World()
    world.pointing["a"] = (code, "other")
    let harness = try Self.redirected(world)
    harness.connect()
    _ = harness.run(lifetime)
    #expect(world.looked == ["a:1883", "other:1883"])
    world.breakConnections()
    _ = harness.run(1500)
    #expect(world.looked[2] == "\(next):1883")
  }

  /// Longer than two instants can be compared.
  @Test func movedForMonths() throws {
    let world = World()
    world.pointing["a"] = (0x9D, "other")
    let harness = try ClientHarness(world, url: "mqtt://a,b") {
      $0.protocolVersion = 5
      $0.redirect = true
      $0.keepAlive = 65_535
      $0.connection.jitter = Backoff.Jitter.none.rawValue
    }
    harness.connect()
    for _ in 0..<4 { _ = harness.run(10 * 86_400_000) }
    #expect(harness.state == .connected)
    world.breakConnections()
    _ = harness.run(1500)
    #expect(world.looked == ["a:1883", "other:1883", "other:1883"])
  }

  /// A program that takes the end of its connection months later is connected again at once.
  @Test func anEndThatIsTakenLate() throws {
    let world = World()
    world.addresses = [.refuses(after: 0)]
    let harness = try Self.harness(world)
    harness.connect()
    for _ in 0..<5 where !harness.client.hasEvent { _ = harness.client.wait(timeout: 10) }
    for _ in 0..<4 {
      world.now &+= 10 * 86_400_000
      _ = harness.client.service(at: harness.now)
    }
    #expect(world.attempts.count == 1)
    #expect(harness.take().map(\.retry) == [1000])
    _ = harness.client.service(at: harness.now)
    #expect(world.attempts.count == 2)
  }

  @Test func theOtherIsNotThere() throws {
    let world = World()
    world.pointing["a"] = (0x9C, "other")
    world.refusing = ["other"]
    let harness = try Self.redirected(world)
    harness.connect()
    let told = harness.run(20_000)
    #expect(told.map(\.retry).prefix(3) == [0, 1000, 0])
    #expect(world.looked.prefix(4) == ["a:1883", "other:1883", "a:1883", "other:1883"])
  }

  // MARK: Hints

  /// However often: no attempt sooner than the shortest wait after the last one.
  @Test func hintsShortenAWait() throws {
    let world = World()
    world.addresses = [.refuses(after: 0)]
    let harness = try Self.harness(world, longest: 60_000)
    harness.connect()
    _ = harness.run(70_000)
    let before = world.attempts.count
    for _ in 0..<600 {
      harness.client.hintUp(at: harness.now)
      _ = harness.run(100)
    }
    let gaps = zip(world.attempts.dropFirst(), world.attempts).map { $0 - $1 }.dropFirst(before)
    #expect(gaps.allSatisfy { $0 >= 1000 && $0 < 1200 }, "\(gaps)")
    // Without hints the backoff is where it was.
    let told = harness.run(70_000)
    #expect(told.last?.retry == 60_000)
  }

  @Test(arguments: [true, false])
  func hintsLookAtAConnection(isUp: Bool) throws {
    let world = World()
    let harness = try Self.harness(world) { $0.pingTimeout = 3000 }
    harness.connect()
    _ = harness.run(1000)
    if isUp { harness.client.hintUp(at: harness.now) } else { harness.client.hintDown(at: harness.now) }
    #expect(harness.run(5000).isEmpty)
    #expect(world.packets.count { $0.first == 0xC0 } == 1)
    world.server.answersPings = false
    if isUp { harness.client.hintUp(at: harness.now) } else { harness.client.hintDown(at: harness.now) }
    let told = harness.run(3500)
    #expect(told.map(\.what) == [.disconnected(.keepAlive, .keepAlive, retry: 1000)])
  }

  // MARK: Idle

  /// An idle client wakes for Keep Alive, and for nothing else.
  @Test func wakesOnlyForKeepAlive() throws {
    let world = World()
    let harness = try Self.harness(world)
    harness.connect()
    _ = harness.run(1000)
    let before = world.wakeUps
    _ = harness.run(24 * 3_600_000)
    let pings = world.packets.count { $0.first == 0xC0 }
    #expect(pings >= 24 * 60 && pings < 24 * 62)
    // Once to send PINGREQ, once for the answer; at the end of each wait, which is 24 days at most.
    #expect(world.wakeUps - before <= 2 * pings + 2, "\(world.wakeUps - before)")
  }

  /// The machine slept for an hour, and the monotonic clock did not: it looks like a jump.
  @Test(arguments: [1000, UInt32.max - 1_800_000])
  func jump(start: UInt32) throws {
    let world = World(now: start)
    let harness = try Self.harness(world)
    harness.connect()
    _ = harness.run(1000)
    world.now &+= 3_600_000
    let told = harness.run(30_000)
    #expect(told.isEmpty)
    #expect(harness.state == .connected)
    #expect(world.packets.count { $0.first == 0xC0 } == 1)
  }
}
