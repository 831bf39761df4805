public import Platform
public import Storage

/// TCP: looks the server's name up, and lets its addresses race (RFC 8305).
public struct TCP: ~Copyable, SocketTransport {
  private var race: AddressRace
  /// The connection, once the race is over.
  public private(set) var socket = Channel.socket0
  public private(set) var stage = OpeningStage.resolve
  /// The application finds the addresses of a name.
  private let asksAddresses: Bool
  /// The server whose name is being looked up. The driver cancels the look-up when it
  /// puts another server in its place.
  private var resolving: UInt8 = 0

  public init(addresses: consuming Table<IPAddress>, asksAddresses: Bool) {
    race = AddressRace(addresses: addresses)
    self.asksAddresses = asksAddresses
  }

  // MARK: Getters

  public var deadline: Instant? { stage == .connect ? race.deadline : nil }
  public var addressCapacity: Int { race.capacity }

  /// The socket of the connection, or the first of those that try to become it.
  public func firstSocket(isOpen: Bool) -> Channel? {
    if isOpen { return socket }
    for index in 0..<AddressRace.sockets where race.isRunning(.socket(index)) { return .socket(index) }
    return nil
  }

  // MARK: The name

  @inline(never)
  @_optimize(size)
  public mutating func open<System: Platform & ~Copyable>(
    _ server: Int, _ host: Span<UInt8>, port: UInt16, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening {
    if let numeric = system.numeric(host, port: port) { return begin(numeric, on: &system, log, at: now) }
    stage = .resolve
    log(.lookUp, server)
    guard !Feature.hasQuestions || !asksAddresses else { return .needsAddresses }
    do throws(PlatformError) {
      // A look-up of this name that an earlier attempt did not wait for is still under way: one is enough. If
      // its answer has come since, it is old.
      if system.isResolving, Int(resolving) == server, case .pending = system.resolved() {
      } else {
        resolving = UInt8(truncatingIfNeeded: server)
        try system.resolve(host, port: port)
      }
      try system.watch(.resolver, readable: true, writable: false)
    } catch {
      return .failed(.system(error.code))
    }
    return .opening
  }

  public mutating func provide<System: Platform & ~Copyable>(
    _ addresses: AddressList, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening {
    begin(addresses, on: &system, log, at: now)
  }

  @_optimize(size)
  public mutating func advance<System: Platform & ~Copyable>(
    _ ready: Readiness, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening {
    switch stage {
    case .resolve:
      ready.isReadable(.resolver) ? finishResolving(on: &system, log, at: now) : .opening
    default: finishConnecting(ready, on: &system, log, at: now)
    }
  }

  @_optimize(size)
  private mutating func finishResolving<System: Platform & ~Copyable>(
    on system: inout System, _ log: Log, at now: Instant
  ) -> Opening {
    switch system.resolved() {
    case .pending: .opening
    case .addresses(let found): begin(found, on: &system, log, at: now)
    case .noAddress(let error): .failed(.resolver(error))
    case .failed(let error): .failed(.system(error))
    }
  }

  // MARK: The race

  @_optimize(size)
  private mutating func begin<System: Platform & ~Copyable>(
    _ found: AddressList, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening {
    stage = .connect
    race.begin(found)
    log(.addresses, race.count)
    return startNext(on: &system, log, at: now)
  }

  public mutating func reopen<System: Platform & ~Copyable>(
    _ host: Span<UInt8>, port: UInt16, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening {
    race.beginAgain(with: socket)
    return startNext(on: &system, log, at: now)
  }

  public mutating func timedOut<System: Platform & ~Copyable>(
    on system: inout System, _ log: Log, at now: Instant
  ) -> Opening {
    startNext(on: &system, log, at: now)
  }

  /// The next address begins beside those that are under way.
  @inline(never)
  @_optimize(size)
  private mutating func startNext<System: Platform & ~Copyable>(
    on system: inout System, _ log: Log, at now: Instant
  ) -> Opening {
    while race.hasNext {
      let attempt = race.start(at: now)
      log(.address, Int(truncatingIfNeeded: race.index) &- 1)
      do throws(PlatformError) {
        try system.connect(attempt, to: race.address, port: race.port)
        try system.watch(attempt, readable: false, writable: true)
        return .opening
      } catch {
        fail(attempt, error.code, on: &system, log)
      }
    }
    return race.isLost ? .failed(.system(race.lastError)) : .opening
  }

  @_optimize(size)
  private mutating func finishConnecting<System: Platform & ~Copyable>(
    _ ready: Readiness, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening {
    var hasFailed = false
    for index in 0..<AddressRace.sockets {
      let attempt = Channel.socket(index)
      guard race.isRunning(attempt), ready.isReady(attempt) else { continue }
      let error = system.connectError(attempt)
      guard error != 0 else { return win(attempt, on: &system) }
      fail(attempt, error, on: &system, log)
      hasFailed = true
    }
    return hasFailed ? startNext(on: &system, log, at: now) : .opening
  }

  @inline(never)
  @_optimize(size)
  private mutating func fail<System: Platform & ~Copyable>(
    _ attempt: Channel, _ error: Int32, on system: inout System, _ log: Log
  ) {
    system.close(attempt)
    log(.addressFailed, Int(attempt.rawValue), Int(error))
    race.failed(attempt, error)
  }

  @_optimize(size)
  private mutating func win<System: Platform & ~Copyable>(
    _ winner: Channel, on system: inout System
  ) -> Opening {
    closeSockets(but: Int(winner.rawValue), on: &system)
    socket = winner
    return .open
  }

  @inline(never)
  @_optimize(size)
  private func closeSockets<System: Platform & ~Copyable>(but winner: Int, on system: inout System) {
    for index in 0..<AddressRace.sockets where index != winner { system.close(.socket(index)) }
  }

  // MARK: The end

  /// A look-up under way is left alone: the next attempt may use it.
  public mutating func close<System: Platform & ~Copyable>(on system: inout System) {
    closeSockets(but: -1, on: &system)
    _ = try? system.watch(.resolver, readable: false, writable: false)
  }
}
