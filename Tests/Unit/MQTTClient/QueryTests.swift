import Driver
import MQTTSession
import MQTTWire
import Platform
import TestSupport
import Testing

@testable import MQTTClient

/// What a client asks its program for: credentials and addresses, attempt by attempt.
@Suite struct QueryTests {
  static func harness(
    _ world: World = World(), version: UInt32 = 4, configure: (inout RequestedOptions) -> Void = { _ in }
  ) throws -> ClientHarness {
    try ReconnectTests.harness(world) {
      $0.protocolVersion = version
      $0.connection.askCredentials = true
      $0.connection.connectTimeout = 5000
      configure(&$0)
    }
  }

  /// CONNECT, by the book (§3.1), of a client that keeps its session.
  static func connect(_ level: UInt8, userName: String, password: String, keepAlive: UInt8 = 60) -> [UInt8] {
    func text(_ text: String) -> [UInt8] {
      [UInt8(text.utf8.count >> 8), UInt8(text.utf8.count & 255)] + Array(text.utf8)
    }
    var flags: UInt8 = 0
    if !userName.isEmpty { flags |= 0x80 }
    if !password.isEmpty { flags |= 0x40 }
    var body = text(level == 3 ? "MQIsdp" : "MQTT") + [level, flags, 0, keepAlive]
    // Session Expiry Interval, Receive Maximum, and Maximum Packet Size: the receive buffer.
    if level == 5 { body += [13, 0x11, 255, 255, 255, 255, 0x21, 0, 64, 0x27, 0, 0, 16, 0] }
    body += text("abc")
    if !userName.isEmpty { body += text(userName) }
    if !password.isEmpty { body += text(password) }
    let length =
      body.count < 128 ? [UInt8(body.count)] : [UInt8(body.count & 127 | 128), UInt8(body.count >> 7)]
    return [0x10] + length + body
  }

  // MARK: Credentials

  @Test(arguments: [3, 4, 5] as [UInt8])
  func askedFor(level: UInt8) throws {
    let world = World()
    let harness = try Self.harness(world, version: UInt32(level))
    harness.connect()
    #expect(harness.state == .connecting)
    #expect(harness.run(2000).map(\.what) == [.credentialsWanted])
    // Nothing has begun.
    #expect(world.looked == [])
    try harness.provide("me", "secret")
    #expect(harness.run(100).map(\.what) == [.connected])
    #expect(world.bodies[0] == Self.connect(level, userName: "me", password: "secret"))
  }

  /// Each attempt asks, and each CONNECT says what was answered to it: longer, shorter, across 128 bytes of Remaining
  /// Length and back, with and without a password, and none at all.
  @Test(arguments: [3, 4, 5] as [UInt8])
  func ofAnyLength(level: UInt8) throws {
    let world = World()
    let harness = try Self.harness(world, version: UInt32(level)) { $0.credentialBytes = 400 }
    let lengths =
      [(1, 0), (1, 1), (0, 0), (200, 200), (2, 0)] + (90..<115).map { ($0, 3) }
      + (90..<115).reversed().map { (3, $0) }
    world.server.judge = { _ in level == 5 ? 0x87 : 5 }
    harness.connect()
    for (name, secret) in lengths {
      let (name, secret) = (String(repeating: "n", count: name), String(repeating: "s", count: secret))
      while harness.client.state != .connecting { _ = harness.run(1000) }
      _ = harness.take()
      try harness.provide(name, secret)
      let told = harness.run(10)
      #expect(told.first.map { $0.what == .disconnected(.refused, .accept, retry: $0.retry) } == true)
      #expect(world.bodies.last == Self.connect(level, userName: name, password: secret))
    }
    #expect(world.bodies.count == lengths.count)
  }

  @Test func limits() throws {
    let harness = try Self.harness(version: 4) {
      $0.credentialBytes = 10
      $0.fallback = false
    }
    #expect(throws: SessionError.state) { try harness.provide("a", "b") }
    harness.connect()
    #expect(throws: SessionError.tooLarge) { try harness.provide("12345", "123456") }
    #expect(throws: SessionError.tooLarge) { try harness.provide("12345678901", "") }
    #expect(throws: SessionError.option) { try harness.provide("", "b") }
    let (bad, empty) = ([0xFF] as [UInt8], [] as [UInt8])
    #expect(throws: SessionError.utf8) {
      try harness.client.provide(userName: bad.span, password: empty.span, attempt: 1, at: harness.now)
    }
    #expect(harness.take().map(\.what) == [.credentialsWanted])
    try harness.provide("12345", "12345")
    #expect(harness.run(10).map(\.what) == [.connected])
  }

  /// A password alone, where 5.0 alone may be spoken [MQTT-3.1.2-22] (3.1.1).
  @Test func aPasswordAlone() throws {
    for fallback in [false, true] {
      let world = World()
      let harness = try Self.harness(world, version: 5) { $0.fallback = fallback }
      harness.connect()
      guard !fallback else {
        #expect(throws: SessionError.option) { try harness.provide("", "secret") }
        continue
      }
      try harness.provide("", "secret")
      #expect(harness.run(10).map(\.what) == [.connected])
      #expect(world.bodies[0][9] & 0xC0 == 0x40)
    }
  }

  /// Too late, too early, and to another attempt.
  @Test func lateAnswers() throws {
    let world = World()
    let harness = try Self.harness(world)
    harness.connect()
    #expect(throws: SessionError.token) { try harness.provide("a", "b", attempt: 2) }
    #expect(throws: QueryError.token) { try harness.decline(attempt: 0) }
    #expect(throws: QueryError.state) { try harness.provide(addresses: 1) }
    #expect(
      harness.run(5500).map(\.what) == [
        .credentialsWanted, .disconnected(.timeout, .credentials, retry: 1000),
      ])
    // The attempt is over, and the next has not begun.
    #expect(throws: SessionError.state) { try harness.provide("a", "b", attempt: 1) }
    #expect(throws: QueryError.state) { try harness.decline(attempt: 1) }
    #expect(harness.run(1000).map(\.what) == [.credentialsWanted])
    #expect(throws: SessionError.token) { try harness.provide("a", "b", attempt: 1) }
    #expect(throws: QueryError.token) { try harness.decline(attempt: 1) }
    try harness.provide("a", "b", attempt: 2)
    // Once is enough.
    #expect(throws: SessionError.state) { try harness.provide("a", "b", attempt: 2) }
    #expect(harness.run(100).map(\.what) == [.connected])
    #expect(throws: QueryError.state) { try harness.decline(attempt: 2) }
    #expect(harness.state == .connected)
  }

  /// The timeout of the attempt holds from its beginning, the answer included.
  @Test func connectTimeout() throws {
    for answered in [false, true] {
      let world = World()
      world.server.connack = nil
      let harness = try Self.harness(world)
      harness.connect()
      let begun = world.now
      _ = harness.run(3000)
      if answered { try harness.provide("a", "b") }
      let told = harness.run(2500)
      #expect(told.map(\.what) == [.disconnected(.timeout, answered ? .accept : .credentials, retry: 1000)])
      #expect(told.first?.time == begun + 5000)
    }
    let harness = try Self.harness { $0.connection.connectTimeout = UInt32.max }
    harness.connect()
    #expect(harness.run(10_000_000).map(\.what) == [.credentialsWanted])
  }

  /// An event that was not taken is of no use any more once the attempt is over.
  @Test func anUntakenQuestion() throws {
    let harness = try Self.harness()
    harness.connect()
    harness.world.now += 5000
    _ = harness.client.wait(timeout: 0)
    #expect(harness.take().map(\.what) == [.disconnected(.timeout, .credentials, retry: 1000)])
    // Answered before it was taken: there is no question any more.
    let early = try Self.harness()
    early.connect()
    try early.provide("a", "b")
    #expect(early.run(100).map(\.what) == [.connected])
  }

  @Test func withheld() throws {
    let world = World()
    let harness = try Self.harness(world)
    harness.connect()
    var waits: [UInt32] = []
    while waits.count < 4 {
      for event in harness.run(1) {
        guard event.what == .credentialsWanted else { continue }
        try harness.decline()
        let told = harness.take()
        waits += told.compactMap(\.retry)
        #expect(told.map(\.what) == [.disconnected(.declined, .credentials, retry: waits.last)])
      }
    }
    #expect(waits == [1000, 2000, 4000, 8000])
    #expect(harness.client.failures.declined == 4)
    #expect(harness.run(8100).map(\.what) == [.credentialsWanted])
    try harness.decline(isFinal: true)
    #expect(harness.take().map(\.what) == [.disconnected(.declined, .credentials, retry: nil)])
    #expect(harness.state == .disconnected)
    #expect(harness.run(100_000).isEmpty)
    #expect(world.bodies.isEmpty && world.looked.isEmpty)
    #expect(harness.connect())
    try harness.provide("a", "b")
    #expect(harness.run(100).map(\.what) == [.connected])
  }

  /// A server that refuses them is asked again through the backoff, and never faster; a fresh token is let in.
  @Test(arguments: [(4, 4), (4, 5), (5, 0x86), (5, 0x87)] as [(UInt32, UInt8)])
  func refused(version: UInt32, code: UInt8) throws {
    let world = World()
    let harness = try Self.harness(world, version: version)
    world.server.judge = { $0.suffix(2) == Array("t5".utf8) ? 0 : code }
    harness.connect()
    var told: [ReportedEvent] = []
    var asked: [UInt32] = []
    while harness.state != .connected, world.now < 200_000 {
      for event in harness.run(1) {
        told.append(event)
        guard event.what == .credentialsWanted else { continue }
        asked.append(event.time)
        try harness.provide("me", "t\(asked.count)")
      }
    }
    #expect(asked.count == 5)
    let waits = told.compactMap(\.retry)
    #expect(waits == [1000, 2000, 4000, 8000])
    for (index, wait) in waits.enumerated() { #expect(asked[index + 1] - asked[index] >= wait) }
    #expect(world.bodies.filter { $0[0] == 0x10 }.map { $0.last } == (1...5).map { UInt8(ascii: "0") + $0 })
  }

  /// Several servers: each attempt asks, and the wait comes when all have refused.
  @Test func everyServerAsks() throws {
    let world = World()
    world.server.judge = { _ in 5 }
    let harness = try ClientHarness(world, url: "mqtt://a,b") {
      $0.connection.askCredentials = true
      $0.connection.jitter = Backoff.Jitter.none.rawValue
    }
    harness.connect()
    var waits: [UInt32] = []
    var asked = 0
    while waits.count < 4, world.now < 100_000 {
      for event in harness.run(1) {
        if let retry = event.retry { waits.append(retry) }
        guard event.what == .credentialsWanted else { continue }
        asked += 1
        try harness.provide("n", "p")
      }
    }
    #expect(asked == 4)
    #expect(waits == [0, 1000, 0, 2000])
    #expect(world.looked == ["a:1883", "b:1883", "a:1883", "b:1883"])
  }

  @Test func leavingWhileAsked() throws {
    for isTaken in [true, false] {
      let world = World()
      let harness = try Self.harness(world)
      harness.connect()
      if isTaken { #expect(harness.take().map(\.what) == [.credentialsWanted]) }
      try harness.disconnect(drain: 1000)
      #expect(harness.take().map(\.what) == [.disconnected(.requested, .none, retry: nil)])
      #expect(harness.state == .disconnected)
      #expect(throws: SessionError.state) { try harness.provide("a", "b") }
      #expect(harness.run(100_000).isEmpty)
      #expect(world.bodies.isEmpty)
      #expect(harness.connect())
      #expect(harness.take().map(\.what) == [.credentialsWanted])
    }
  }

  /// The older version that the same attempt falls back to says the same; nobody is asked twice.
  @Test func fallingBack() throws {
    let world = World()
    world.server.judge = { packet in
      let level = packet[1] < 128 ? packet[4 + Int(packet[3])] : packet[5 + Int(packet[4])]
      return level == 5 ? 0x84 : level == 4 ? 1 : 0
    }
    let harness = try Self.harness(world, version: 5) { $0.fallback = true }
    harness.connect()
    try harness.provide("me", "secret")
    #expect(harness.run(100).map(\.what) == [.connected])
    #expect(world.bodies.count == 3)
    #expect(world.bodies[1] == Self.connect(4, userName: "me", password: "secret"))
    #expect(world.bodies[2] == Self.connect(3, userName: "me", password: "secret"))
    // The next attempt asks again, and knows the version.
    world.breakConnections()
    #expect(
      harness.run(2000).map(\.what) == [.disconnected(.closed, .connected, retry: 1000), .credentialsWanted])
    try harness.provide("you", "")
    #expect(harness.run(100).map(\.what) == [.connected])
    #expect(world.bodies[3] == Self.connect(3, userName: "you", password: ""))
  }

  // MARK: Addresses

  static func addressRig(_ world: World, url: String? = nil, room: UInt32 = 0) throws -> ClientHarness {
    try ClientHarness(world, url: url) {
      $0.connection.addresses = room
      $0.connection.ownResolver = true
      $0.connection.jitter = Backoff.Jitter.none.rawValue
      $0.connection.connectTimeout = 5000
    }
  }

  @Test(arguments: [1, 2, 8])
  func addresses(count: Int) throws {
    let world = World()
    world.addresses = [World.Address](repeating: .refuses(after: 1), count: count - 1) + [.opens(after: 1)]
    let harness = try Self.addressRig(world)
    harness.connect()
    #expect(harness.run(1000).map(\.what) == [.addressesWanted(1883)])
    #expect(throws: SessionError.state) { try harness.provide("a", "b") }
    #expect(throws: QueryError.token) { try harness.provide(addresses: 1, attempt: 0) }
    try harness.provide(addresses: count)
    #expect(throws: QueryError.state) { try harness.provide(addresses: count) }
    #expect(harness.run(100).map(\.what) == [.connected])
    #expect(world.tried.map(\.address) == Array(0..<count))
    #expect(world.looked.isEmpty)
  }

  /// More than there is room for are no answer.
  @Test(arguments: [1, 3, 7])
  func tooManyAddresses(room: Int) throws {
    let world = World()
    world.addresses = [World.Address](repeating: .refuses(after: 1), count: 8)
    let harness = try Self.addressRig(world, room: UInt32(room))
    harness.connect()
    for count in [room + 1, 8] {
      #expect(throws: QueryError.option) { try harness.provide(addresses: count) }
      #expect(throws: QueryError.option) { try harness.provide(addresses: count, attempt: 0) }
    }
    #expect(harness.run(10).map(\.what) == [.addressesWanted(1883)])
    #expect(world.tried.isEmpty)
    try harness.provide(addresses: room)
    #expect(harness.run(100).map(\.what) == [.disconnected(.network, .connect, retry: 1000)])
    #expect(world.tried.map(\.address) == Array(0..<room))
  }

  @Test func noAddress() throws {
    let world = World()
    let harness = try Self.addressRig(world)
    harness.connect()
    try harness.provide(addresses: 0)
    #expect(harness.take().map(\.what) == [.disconnected(.resolve, .resolve, retry: 1000)])
    #expect(harness.run(1100).map(\.what) == [.addressesWanted(1883)])
    let begun = world.now - 100
    let told = harness.run(6000)
    #expect(told.first?.what == .disconnected(.timeout, .resolve, retry: 2000))
    #expect(told.first.map { $0.time == begun + 5000 } == true)
    #expect(throws: QueryError.state) { try harness.provide(addresses: 1, attempt: 2) }
    try harness.disconnect()
  }

  /// A host that is an address is nothing to ask about; a name in the same list is.
  @Test func numericHosts() throws {
    let world = World()
    world.numericHosts = ["192.0.2.1", "::1"]
    world.server.judge = { _ in 5 }
    let harness = try Self.addressRig(world, url: "mqtt://192.0.2.1,name:1884,[::1]:1885")
    harness.connect()
    var told = harness.run(100)
    #expect(told.map(\.what) == [.disconnected(.refused, .accept, retry: 0), .addressesWanted(1884)])
    try harness.provide(addresses: 1)
    told = harness.run(100)
    #expect(
      told.map(\.what) == [
        .disconnected(.refused, .accept, retry: 0), .disconnected(.refused, .accept, retry: 1000),
      ])
    #expect(world.bodies.count == 3)
  }

  /// Without the options nothing is asked, and answers are of no use.
  @Test func unasked() throws {
    let harness = try ReconnectTests.harness()
    harness.connect()
    #expect(throws: SessionError.state) { try harness.provide("a", "b") }
    #expect(throws: QueryError.state) { try harness.decline() }
    #expect(throws: QueryError.state) { try harness.provide(addresses: 1) }
    #expect(harness.run(100).map(\.what) == [.connected])
  }
}
