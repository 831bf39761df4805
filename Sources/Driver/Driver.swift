public import Platform
public import Storage
public import Transports

public enum DriverState: BitwiseCopyable { case disconnected, connecting, connected, disconnecting, waiting }

public enum DriverEvent<Event, Details: BitwiseCopyable> {
  case engine(Event)
  case disconnected(ConnectionFailure<Details>)
  /// `credentialsAreSet` or `declineCredentials` is to be called.
  case credentialsWanted
  /// `provide(addresses:)` is to be called, for this name in `Driver.hostNames`.
  case addressesWanted(host: ByteRange, port: UInt16)
  /// `opened` or `closed` is to be called.
  case transportWanted(host: ByteRange, port: UInt16)
}

/// Why an answer of the application is refused.
public enum QueryError: Error, BitwiseCopyable {
  case token  // of another attempt
  case state  // it was not asked
  case option
}

/// Keeps a protocol connected: resolve, connect, live, wait, again; with one deadline and one descriptor
/// (D8). The only place where IO meets a protocol, and it knows no word of any.
///
/// Here is the state, and what can be asked of it. The way to a connection is in Driver+Open.swift, one step
/// of it in Driver+Run.swift, its end in Driver+End.swift, what the application wants in
/// Driver+Commands.swift.
public struct Driver<
  Engine: ProtocolEngine & ~Copyable, Link: Transport & ~Copyable, System: Platform & ~Copyable
>: ~Copyable {
  public typealias Event = DriverEvent<Engine.Event, Engine.CloseDetails>
  public typealias Failure = ConnectionFailure<Engine.CloseDetails>

  /// How long the end of a connection may take when everything else is over: the final packet has to leave behind
  /// what the system is still holding, and what the system has must arrive before the socket is closed.
  static var lingerTimeout: UInt32 { 2000 }

  public var engine: Engine
  public var link: Link
  var system: System
  var servers: ServerTable
  var round: ServerRound

  let defaultPort: UInt16
  let followsReferrals: Bool
  let asksCredentials: Bool
  let asksAddresses: Bool
  let reconnects: Bool
  /// The application wants a connection: where one ends, the next attempt follows.
  var isWanted = false
  private var serverNumber: UInt8 = 0
  var phase = Phase.disconnected
  private let inPlace = InPlace()

  var redirect = Redirect()
  var connectTimeout: UInt32
  let stableTime: UInt32
  let writeTimeout: UInt32
  let busyPoll: UInt32

  public internal(set) var attempt: UInt32 = 0
  public internal(set) var failures = FailureCounts()
  var timers = Timers()
  var backoff: Backoff
  /// The application has not taken the event of `lastFailure`.
  var hasFailureEvent = false
  /// The end of the last connection, or attempt.
  public internal(set) var lastFailure: Failure? = nil
  var lastPoll = Instant(milliseconds: 0)
  /// The last receive filled all the space, so there may be more.
  var hasMore = false
  /// The time of the last step.
  public internal(set) var now = Instant(milliseconds: 0)
  var logger = Log()
  /// How many bytes of `output` the application was offered, with a transport of its own. Whatever may move
  /// them, such as a command to the engine, sets it to 0.
  public var offeredBytes = 0

  /// The caller guarantees that `options` are those the plan was made with.
  /// `engine` is made where it stays: one that is handed over is copied.
  @inline(__always)
  public init(
    over link: consuming Link, on system: consuming System, _ options: borrowing DriverOptions,
    plan: DriverPlan,
    block: borrowing Arena, engine: (borrowing System) -> Engine
  ) {
    self.engine = engine(system)
    self.link = link
    self.system = system
    servers = ServerTable(entries: block.table(plan.servers), hosts: block.region(plan.hosts), options)
    round = ServerRound(count: options.servers.count, isShuffled: options.isShuffled)
    defaultPort = options.port
    followsReferrals = options.followsReferrals
    asksCredentials = options.asksCredentials
    asksAddresses = options.asksAddresses
    connectTimeout = options.connectTimeout
    reconnects = options.reconnects
    backoff = options.backoff
    stableTime = options.stableTime
    writeTimeout = options.writeTimeout
    busyPoll = options.busyPoll
    if self.link.isPolled {
      now = Instant(milliseconds: self.system.now())
      self.engine.advance(to: now)
    }
  }

  // MARK: Getters

  /// The end of the last connection, as long as the application has not taken the event.
  var failure: Failure? {
    get { hasFailureEvent ? lastFailure : nil }
    set {
      if let newValue { lastFailure = newValue }
      hasFailureEvent = newValue != nil
    }
  }

  /// The application has the transport, and the clock.
  public var isCallerDriven: Bool { !link.isPolled }

  /// The time: that of the system, or the last one the application told.
  public var time: Instant { link.isPolled ? Instant(milliseconds: system.now()) : now }

  public var state: DriverState {
    switch phase {
    case .disconnected: .disconnected
    case .waiting: .waiting
    case .closing: .disconnecting
    case .open(let connection) where connection.isLeaving || engine.wantsClose: .disconnecting
    case .open where engine.isAccepted: .connected
    default: .connecting
    }
  }

  /// Which of several servers the attempt, or the connection, is with: counted from 0, as the options have
  /// them; behind the last: one that another pointed to.
  public internal(set) var serverIndex: Int {
    get { Int(serverNumber) }
    set { serverNumber = UInt8(truncatingIfNeeded: newValue) }
  }

  /// The port of the server that the attempt, or the connection, is with.
  public var port: UInt16 { servers.port(serverIndex) }

  public var descriptor: Int32 { system.descriptor }

  /// The transport is open.
  public var isOpen: Bool { if case .open = phase { true } else { false } }

  /// The transport is open, and no error of it is known.
  var isLive: Bool {
    if case .open(let connection) = phase { connection.transportError == nil } else { false }
  }

  var isLeaving: Bool { if case .open(let connection) = phase { connection.isLeaving } else { false } }

  /// The last attempt, or connection, has ended, and the next one has not begun.
  public var isBetweenAttempts: Bool {
    switch phase {
    case .disconnected, .waiting: true
    case .authorizing, .opening, .open, .closing: false
    }
  }

  /// A name is being looked up.
  public var isResolving: Bool { phase.isOpening && link.stage == .resolve }

  /// There is something to send that the transport does not take at this moment.
  public var isBlockedSending: Bool {
    if case .open(let connection) = phase { connection.isBlocked } else { false }
  }

  /// Where the name is of which the addresses are wanted.
  public var hostNames: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { servers.bytes }
  }

  /// `nil`: nothing is logged.
  public var log: LogHook? {
    get { logger.hook }
    set {
      logger.hook = newValue
      engine.skipLog()
    }
  }

  // MARK: Outputs

  public var hasEvent: Bool {
    @inline(never) get { engine.hasEvent || hasFailureEvent || phase.hasPendingQuery }
  }

  /// In the order in which things happened: the end of a connection comes last.
  public mutating func nextEvent() -> Event? {
    offeredBytes = 0
    if let event = engine.nextEvent() { return .engine(event) }
    return nextOwnEvent()
  }

  /// The driver's own event, for when the engine has none.
  public mutating func nextOwnEvent() -> Event? {
    settleTransportError()
    if let failure {
      self.failure = nil
      return .disconnected(failure)
    }
    let host = servers.host(serverIndex)
    switch phase.pendingQuery {
    case .none: return nil
    case .credentials:
      phase = .authorizing(pendingQuery: nil)
      return .credentialsWanted
    case .addresses:
      phase = .opening(pendingQuery: nil)
      return .addressesWanted(host: host, port: port)
    case .transport:
      phase = .opening(pendingQuery: nil)
      return .transportWanted(host: host, port: port)
    }
  }

  /// When there is something to do even if the descriptor stays silent: milliseconds, -1 for never.
  public func nextTimeout(at now: Instant) -> Int32 {
    if hasEvent || engine.eventIsBorrowed || engine.hasWork(at: now) || hasBufferedInput { return 0 }
    if case .open(let connection) = phase {
      if connection.transportError != nil { return 0 }
      if engine.wantsClose, !engine.hasUnsentFinalPacket { return 0 }
      if link.isPolled, isReady(connection) { return 0 }
      if connection.isLeaving, !engine.wantsClose, engine.isDrained { return 0 }
    }
    guard let deadline = nextDeadline else { return -1 }
    return Int32(clamping: deadline.remaining(at: now))
  }

  /// There is something to do with the transport that the descriptor will not tell.
  private func isReady(_ connection: OpenConnection) -> Bool {
    if !connection.isBlocked, engine.wantsTransmit || link.hasUnsent { return true }
    // Taking an event has made room.
    if engine.wantsReceive, connection.receiveWatch == .off { return true }
    return engine.wantsRefill && engine.refillDeadline == nil
  }

  /// A layer of the transport has read more than it has handed out, and the next step goes on with it: the
  /// system will not tell.
  var hasBufferedInput: Bool {
    guard link.hasBuffered else { return false }
    switch phase {
    case .disconnected, .waiting, .authorizing: return false
    case .opening, .closing: return true
    case .open: return isLive && engine.wantsReceive
    }
  }

  public var nextDeadline: Instant? {
    @inline(never) get { earliestDeadline }
  }

  private var earliestDeadline: Instant? {
    guard !phase.isDisconnected else { return engine.nextDeadline }
    // A connection that is at its end waits for nothing else.
    if let linger = timers[.linger] { return Instant.earlier(linger, engine.refillDeadline) }
    var earliest = engine.nextDeadline
    if timers.areRunning { earliest = Instant.earlier(earliest, timers.next) }
    if phase.isOpening { earliest = Instant.earlier(earliest, link.deadline) }
    if let refill = engine.refillDeadline { earliest = Instant.earlier(earliest, refill) }
    return earliest
  }
}

extension Driver where Engine: ~Copyable, Link == AnyTransport, System == Linux {
  /// The socket of the connection, or the first of those that try to become it, for a program that wants to
  /// look at it; -1: there is none.
  public var socket: Int32 {
    guard isOpen || phase.isOpening, let socket = link.firstSocket(isOpen: isOpen) else { return -1 }
    return system.descriptor(of: socket)
  }
}
