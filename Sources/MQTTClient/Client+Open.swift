public import CPlatform
public import MQTTSession
import MQTTTransport
import MQTTWire
import Storage

/// From a name to an open connection.
extension Client where System: ~Copyable {
  /// Every server is to be tried once more.
  mutating func beginRound() { Self.begin(&round, platform) }

  private static func begin(_ round: inout ServerRound, _ platform: borrowing System) {
    round.begin { platform.randomNumber() }
  }

  /// An attempt begins.
  mutating func begin(at now: Instant) {
    self.now = now
    session.advance(to: now)
    attempt &+= 1
    retryDeadline = nil
    stableDeadline = nil
    session.connecting()
    connectDeadline = connectTimeout == 0 ? nil : now.advanced(by: connectTimeout)
    serverIndex = redirect.isInUse ? servers.count : round.current
    note(.attempt, Int(truncatingIfNeeded: attempt), serverIndex)
    guard asksCredentials else { return lookUp(at: now) }
    phase = .authorizing
    isQuestionOpen = true
  }

  // MARK: What the application is asked for

  /// The answer to `credentialsWanted`. Only that of this attempt counts.
  public mutating func provide(
    userName: Span<UInt8>, password: Span<UInt8>, attempt: UInt32, at now: Instant
  ) throws(SessionError) {
    try check(attempt, .authorizing)
    try session.setCredentials(userName: userName, password: password)
    self.now = now
    isQuestionOpen = false
    lookUp(at: now)
  }

  /// There are no credentials now, or never.
  public mutating func withhold(attempt: UInt32, isFinal: Bool, at now: Instant) throws(SessionError) {
    try check(attempt, .authorizing)
    self.now = now
    if isFinal { isWanted = false }
    end(.withheld)
  }

  /// The answer to `addressesWanted`, as many as the options have room for; none: there is no such name.
  public mutating func provide(
    addresses: platform_addresses, attempt: UInt32, at now: Instant
  ) throws(SessionError) {
    guard asksAddresses else { throw .state }
    guard Int(addresses.count) <= race.capacity else { throw .option }
    try check(attempt, .resolving)
    self.now = now
    isQuestionOpen = false
    if addresses.count == 0 { end(.resolve(Self.noName)) } else { open(addresses, at: now) }
  }

  private func check(_ attempt: UInt32, _ phase: Phase) throws(SessionError) {
    guard attempt == self.attempt else { throw .token }
    guard self.phase == phase else { throw .state }
  }

  /// EAI_NONAME
  private static var noName: Int32 { -2 }

  // MARK: The name

  private mutating func lookUp(at now: Instant) {
    guard !hasOwnTransport else { return askForTransport() }
    let host = servers.host(serverIndex)
    let port = servers.port(serverIndex)
    if let numeric = Self.numeric(servers, host, port, on: platform) { return open(numeric, at: now) }
    phase = .resolving
    note(.lookUp, serverIndex)
    guard !asksAddresses else {
      isQuestionOpen = true
      return
    }
    do throws(PlatformError) {
      // A look-up of this name that an earlier attempt did not wait for is still under way: one is enough. If its
      // answer has come since, it is old.
      if platform.isResolving, resolving == serverIndex, case .none = platform.resolved() {
      } else {
        resolving = serverIndex
        try Self.resolve(servers, host, port, on: &platform)
      }
      try platform.watch(.resolver, readable: true, writable: false)
    } catch {
      end(.network(error.errno))
    }
  }

  mutating func finishResolving(at now: Instant) {
    switch platform.resolved() {
    case .none: break
    case .addresses(let found): open(found, at: now)
    case .noAddress(let error): end(.resolve(error))
    case .failed(let error): end(.network(error))
    }
  }

  private mutating func open(_ found: platform_addresses, at now: Instant) {
    race.begin(found)
    note(.addresses, race.count)
    startNext(at: now)
  }

  /// The next address begins beside those that are under way.
  mutating func startNext(at now: Instant) {
    phase = .connecting
    while race.hasNext {
      let lane = race.start(at: now)
      note(.address, Int(truncatingIfNeeded: race.index) &- 1)
      do throws(PlatformError) {
        try platform.connect(lane, to: race.address, port: race.port)
        return try platform.watch(lane, readable: false, writable: true)
      } catch {
        platform.close(lane)
        fail(lane, error.errno)
      }
    }
    if race.isLost { end(.network(race.lastError)) }
  }

  mutating func finishConnecting(_ ready: Readiness, at now: Instant) {
    var hasFailed = false
    for index in 0..<Channel.lanes {
      let lane = Channel.lane(index)
      guard race.isRunning(lane), ready.isReady(lane) else { continue }
      let error = platform.outcome(lane)
      guard error != 0 else { return win(lane) }
      platform.close(lane)
      fail(lane, error)
      hasFailed = true
    }
    if hasFailed { startNext(at: now) }
  }

  private mutating func fail(_ lane: Channel, _ error: Int32) {
    note(.addressFailed, Int(lane.rawValue), Int(error))
    race.failed(lane, error)
  }

  private mutating func win(_ lane: Channel) {
    for index in 0..<Channel.lanes where Channel.lane(index) != lane { platform.close(.lane(index)) }
    self.lane = lane
    beginSession()
  }

  mutating func beginSession() {
    note(.opened)
    phase = .open
    unblock()
    isWatchingReceive = false
    outputSize = 0
    session.connectionOpened()
  }

  // Static, because the compiler takes a span of one part of `self` for a hold on all of it.

  private static func numeric(
    _ servers: borrowing ServerTable, _ host: ByteRange, _ port: UInt16, on platform: borrowing System
  ) -> platform_addresses? {
    platform.numeric(servers.bytes.extracting(host.offset..<host.end &+ 1), port: port)
  }

  private static func resolve(
    _ servers: borrowing ServerTable, _ host: ByteRange, _ port: UInt16, on platform: inout System
  ) throws(PlatformError) {
    try platform.resolve(servers.bytes.extracting(host.offset..<host.end &+ 1), port: port)
  }
}
