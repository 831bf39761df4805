public import Platform
public import Storage
import Transports

/// The way from a name to an open connection.
extension Driver where Engine: ~Copyable, Link: ~Copyable, System: ~Copyable {
  /// Every server is to be tried once more.
  mutating func beginRound() { Self.begin(&round, system) }

  @_optimize(size)
  private static func begin(_ round: inout ServerRound, _ system: borrowing System) {
    round.begin { system.randomNumber() }
  }

  /// An attempt begins.
  mutating func begin(at now: Instant) {
    self.now = now
    engine.advance(to: now)
    attempt &+= 1
    timers.stop(.retry)
    timers.stop(.stable)
    timers.stop(.connect)
    engine.attemptBegins()
    if connectTimeout > 0 { timers.start(.connect, at: now.advanced(by: connectTimeout)) }
    serverIndex = redirect.isInUse ? servers.count : round.current
    logger(.attempt, Int(truncatingIfNeeded: attempt), serverIndex)
    if Feature.hasQuestions, asksCredentials {
      phase = .authorizing(pendingQuery: .credentials)
    } else {
      open(at: now)
    }
  }

  @_optimize(size)
  private mutating func open(at now: Instant) {
    phase = .opening(pendingQuery: nil)
    proceed(Self.open(servers, serverIndex, over: &link, on: &system, logger, at: now), at: now)
  }

  // Static, because the compiler takes a span of one part of `self` for a hold on all of it.
  @_optimize(size)
  private static func open(
    _ servers: borrowing ServerTable, _ index: Int, over link: inout Link, on system: inout System,
    _ log: Log,
    at now: Instant
  ) -> Opening {
    let host = servers.host(index)
    return link.open(
      index, servers.bytes.extracting(host.offset..<host.end &+ 1), port: servers.port(index), on: &system,
      log,
      at: now)
  }

  /// Acts on what has become of opening.
  mutating func proceed(_ opening: Opening, at now: Instant) {
    switch opening {
    case .opening: break
    case .open: beginConnection()
    case .needsAddresses where Feature.hasQuestions: phase = .opening(pendingQuery: .addresses)
    case .needsTransport where Feature.hasEngine: phase = .opening(pendingQuery: .transport)
    case .failed(.resolver(let error)): end(.resolve(error))
    case .failed(.system(let error)): end(.network(error))
    case .failed(.closed): end(.closed)
    case .failed(.layer(let layer)): end(.layer(layer))
    case .needsAddresses, .needsTransport: break
    }
  }

  mutating func beginConnection() {
    logger(.opened)
    timers.stop(.write)
    phase = .open(OpenConnection())
    hasMore = false
    offeredBytes = 0
    engine.opened()
  }

  // MARK: What the application was asked for

  /// Throws if an answer to `credentialsWanted` would come too late, or too early.
  public func expectCredentials(attempt: UInt32) throws(QueryError) {
    guard attempt == self.attempt else { throw .token }
    guard case .authorizing = phase else { throw .state }
  }

  /// The engine has the credentials that `expectCredentials` let through.
  public mutating func credentialsAreSet(at now: Instant) {
    self.now = now
    open(at: now)
  }

  /// There are no credentials now, or never.
  public mutating func declineCredentials(attempt: UInt32, isFinal: Bool, at now: Instant) throws(QueryError)
  {
    try expectCredentials(attempt: attempt)
    self.now = now
    if isFinal { isWanted = false }
    end(.declined)
  }

  /// The answer to `addressesWanted`, as many as the options have room for; none: there is no such name.
  @_optimize(size)
  public mutating func provide(addresses: AddressList, attempt: UInt32, at now: Instant) throws(QueryError) {
    guard asksAddresses else { throw .state }
    guard addresses.count <= link.addressCapacity else { throw .option }
    guard attempt == self.attempt else { throw .token }
    guard isResolving else { throw .state }
    self.now = now
    guard addresses.count > 0 else { return end(.resolve(SystemError.noSuchName)) }
    phase = .opening(pendingQuery: nil)
    proceed(link.provide(addresses, on: &system, logger, at: now), at: now)
  }
}
