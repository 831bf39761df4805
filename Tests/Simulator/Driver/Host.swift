import Driver
import Platform
import TestSupport

/// What one client's platform stands on: its descriptors, its resolver, and who waits for what.
final class Host {
  let world: DriverWorld
  let network: Network
  let number: Int
  unowned var program: Program! = nil
  private var random: SeededRandom

  private(set) var sockets: [Wire?] = [nil, nil, nil, nil]
  private var watched = [(readable: Bool, writable: Bool)](repeating: (false, false), count: Channel.count)
  private var lookUp: (host: String, port: UInt16, hasAnswer: Bool)? = nil
  private var lookUps = 0
  /// The server that the attempt is for.
  private var target = (host: "", port: UInt16(0))
  /// A real one, because a submitter writes to a real descriptor.
  private var wakeUpSource: WakeUpSource? = nil
  private(set) var isWoken = false

  /// Counts everything that shows that a turn was of use.
  var activity = 0
  private var lastActivity = -1
  private var lastTime = UInt64.max
  private var idleWaits = 0
  private(set) var waits = 0

  /// When each address was tried in this attempt.
  var tried: [(scope: UInt32, time: UInt64)] = []

  init(_ world: DriverWorld, _ network: Network, _ number: Int) {
    self.world = world
    self.network = network
    self.number = number
    random = SeededRandom(seed: world.random.next())
  }

  func randomNumber() -> UInt32 { UInt32(truncatingIfNeeded: random.next() >> 32) }

  var openSockets: Int { sockets.count { $0 != nil } }

  // MARK: Waiting

  var readiness: UInt32 {
    var bits: UInt32 = 0
    for index in 0..<Channel.sockets {
      guard let wire = sockets[index] else { continue }
      if watched[index].readable, wire.isReadable { bits |= 1 << (2 * UInt32(index)) }
      if watched[index].writable, wire.isWritable { bits |= 2 << (2 * UInt32(index)) }
      // As epoll does with an error.
      if watched[index].readable || watched[index].writable, wire.error != nil {
        bits |= 3 << (2 * UInt32(index))
      }
    }
    if watched[Int(Channel.resolver.rawValue)].readable, lookUp?.hasAnswer == true {
      bits |= 1 << (2 * UInt32(Channel.resolver.rawValue))
    }
    if isWoken { bits |= 1 << (2 * UInt32(Channel.wakeUp.rawValue)) }
    return bits
  }

  func wait(_ timeout: Int32) -> PollResult {
    waits += 1
    if world.failure != nil { return .failed(1) }
    countWait(timeout)
    if timeout != 0, readiness == 0 {
      guard timeout > 0 else {
        world.failure = Failure("\(number): waits without end, and was not asked to")
        return .failed(1)
      }
      world.block(program, until: world.now + UInt64(timeout)) { readiness != 0 }
      if world.failure != nil { return .failed(1) }
      if random.percent(1) { return .interrupted }
    }
    let ready = readiness
    if isWoken {
      isWoken = false
      activity += 1
      world.counts[.wokenUp] += 1
    }
    return .ready(Readiness(bits: ready))
  }

  /// Nothing may be looked at again and again, with nothing done and no time passed.
  private func countWait(_ timeout: Int32) {
    idleWaits = world.now == lastTime && activity == lastActivity ? idleWaits + 1 : 0
    lastTime = world.now
    lastActivity = activity
    if idleWaits > 12 {
      world.failure =
        world.failure
        ?? Failure(
          "\(number): \(idleWaits) turns for nothing, ready for \(String(readiness, radix: 2)), timeout \(timeout)"
        )
    }
  }

  func watch(_ channel: Channel, _ readable: Bool, _ writable: Bool) {
    watched[Int(channel.rawValue)] = (readable, writable)
  }

  // MARK: Other threads

  func wakeUp() throws(PlatformError) -> WakeUp {
    if wakeUpSource == nil { wakeUpSource = try WakeUpSource() }
    return try wakeUpSource!.wakeUp()
  }

  /// A thread has submitted something.
  func lookForWakeUp() {
    if wakeUpSource?.take() == true { isWoken = true }
  }

  // MARK: Names

  func wants(_ host: String, _ port: UInt16) {
    target = (host, port)
    program.looksUp()
  }

  func resolve(_ host: String, _ port: UInt16) {
    activity += 1
    lookUps += 1
    let number = lookUps
    lookUp = (host, port, false)
    let delay: Int
    switch network.place(host).name {
    case .silent: return
    case .found(let after), .unknown(let after): delay = after
    }
    world.after(delay) { [self] () throws(Failure) in if number == lookUps { lookUp?.hasAnswer = true } }
  }

  /// One that no answer came to, at last.
  func answerLookUp() { lookUp?.hasAnswer = true }

  var isResolving: Bool { lookUp != nil }

  func resolved() -> Resolution {
    guard let lookUp, lookUp.hasAnswer else { return .pending }
    activity += 1
    self.lookUp = nil
    watched[Int(Channel.resolver.rawValue)] = (false, false)
    if case .unknown = network.place(lookUp.host).name { return .noAddress(-2) }
    return .addresses(network.addresses(of: lookUp.host, port: lookUp.port))
  }

  func cancelResolving() {
    activity += 1
    lookUps += 1
    lookUp = nil
    watched[Int(Channel.resolver.rawValue)] = (false, false)
  }

  // MARK: Connections

  func connect(_ socket: Int, _ scope: UInt32, _ port: UInt16) throws(PlatformError) {
    activity += 1
    let host = network.hosts[Int(scope / 16)]
    if (host, port) != target {
      world.failure =
        world.failure
        ?? Failure("\(number): connects to \(host):\(port) instead of \(target.host):\(target.port)")
    }
    program.tries(scope, running: openSockets)
    sockets[socket] = try network.connect(to: scope, from: number)
  }

  func close(_ socket: Int) {
    if sockets[socket] != nil { activity += 1 }
    sockets[socket]?.close()
    sockets[socket] = nil
    watched[socket] = (false, false)
  }

  func send(_ socket: Int, _ bytes: [UInt8]) -> Transfer {
    guard let wire = sockets[socket] else { return .failed(9) }
    guard let count = wire.send(bytes) else {
      world.counts[.blocked] += 1
      return .wouldBlock
    }
    activity += 1
    return count > 0 ? .transferred(count) : .failed(Int32(-count))
  }

  func receive(_ socket: Int, _ limit: Int) -> (bytes: [UInt8], Transfer) {
    guard let wire = sockets[socket] else { return ([], .failed(9)) }
    let bytes = wire.receive(world.portion(of: limit))
    activity += 1
    if !bytes.isEmpty { return (bytes, .transferred(bytes.count)) }
    if let error = wire.error { return ([], .failed(error)) }
    guard !wire.hasEnded else { return ([], .closed) }
    activity -= 1
    return ([], .wouldBlock)
  }

  func discard(_ socket: Int) -> Transfer {
    guard let wire = sockets[socket] else { return .closed }
    activity += 1
    wire.discard()
    if let error = wire.error { return .failed(error) }
    return wire.hasEnded ? .closed : .wouldBlock
  }
}

/// A descriptor that a submitter can write to.
private final class WakeUpSource {
  private var linux: Linux

  init() throws(PlatformError) { linux = try Linux(SocketOptions.Stored()) }

  func wakeUp() throws(PlatformError) -> WakeUp { try linux.wakeUp() }

  func take() -> Bool {
    guard case .ready(let ready) = linux.wait(timeout: 0) else { return false }
    return ready.isReadable(.wakeUp)
  }
}

/// The platform of a simulated client.
struct SimulatedPlatform: ~Copyable, Platform {
  let host: Host

  var descriptor: Int32 { 99 }
  func now() -> UInt32 { host.world.clock }
  func randomNumber() -> UInt32 { host.randomNumber() }
  func fillRandom(_ bytes: inout MutableSpan<UInt8>) {
    for index in 0..<bytes.count { bytes[index] = UInt8(truncatingIfNeeded: host.randomNumber()) }
  }
  func wallClock() -> Int64 { 1_800_000_000 }
  func wait(timeout: Int32, busy: UInt32) -> PollResult { host.wait(timeout) }
  func watch(_ channel: Channel, readable: Bool, writable: Bool) throws(PlatformError) {
    host.watch(channel, readable, writable)
  }
  func wakeUp() throws(PlatformError) -> WakeUp { try host.wakeUp() }

  func numeric(_ name: Span<UInt8>, port: UInt16) -> AddressList? {
    let text = Self.text(name)
    host.wants(text, port)
    return text.first?.isNumber == true ? host.network.addresses(of: text, port: port) : nil
  }
  func resolve(_ name: Span<UInt8>, port: UInt16) throws(PlatformError) {
    host.resolve(Self.text(name), port)
  }
  var isResolving: Bool { host.isResolving }
  func resolved() -> Resolution { host.resolved() }
  func cancelResolving() { host.cancelResolving() }

  private static func text(_ name: Span<UInt8>) -> String {
    var bytes: [UInt8] = []
    for index in 0..<name.count where name[index] != 0 { bytes.append(name[index]) }
    return String(decoding: bytes, as: UTF8.self)
  }

  func connect(_ socket: Channel, to address: IPAddress, port: UInt16) throws(PlatformError) {
    try host.connect(Int(socket.rawValue), address.scope, port)
  }
  func connectError(_ socket: Channel) -> Int32 {
    guard let wire = host.sockets[Int(socket.rawValue)] else { return 9 }
    return wire.outcome ?? 115
  }
  func isOpen(_ socket: Channel) -> Bool { host.sockets[Int(socket.rawValue)] != nil }
  func send(_ socket: Channel, _ bytes: Span<UInt8>) -> Transfer {
    let copy = [UInt8](unsafeUninitializedCapacity: bytes.count) { copy, count in
      for index in 0..<bytes.count { unsafe copy[index] = bytes[index] }
      count = bytes.count
    }
    return host.send(Int(socket.rawValue), copy)
  }
  func receive(_ socket: Channel, into space: inout MutableSpan<UInt8>) -> Transfer {
    let (bytes, result) = host.receive(Int(socket.rawValue), space.count)
    for index in 0..<bytes.count { space[index] = bytes[index] }
    return result
  }
  func shutdownWrite(_ socket: Channel) { host.sockets[Int(socket.rawValue)]?.finish() }
  func discard(_ socket: Channel) -> Transfer { host.discard(Int(socket.rawValue)) }
  func close(_ socket: Channel) { host.close(Int(socket.rawValue)) }
}
