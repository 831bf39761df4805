public import MQTTSession
public import MQTTTransport
public import MQTTWire
public import Storage

public enum ClientState: BitwiseCopyable { case disconnected, connecting, connected, disconnecting, waiting }

public enum ClientEvent {
  case session(SessionEvent)
  case disconnected(Failure)
  /// `provide(userName:password:)` or `withhold` is to be called.
  case credentialsWanted
  /// `provide(addresses:)` is to be called, for this name in `Client.hostNames`.
  case addressesWanted(host: ByteRange, port: UInt16)
  /// `opened` or `closed` is to be called.
  case transportWanted(host: ByteRange, port: UInt16)
}

/// The driver: brings a session and a platform together, with one deadline and one descriptor (D8).
/// The only place where IO meets protocol.
public struct Client<System: Platform & ~Copyable>: ~Copyable {
  enum Phase: BitwiseCopyable {
    case disconnected
    /// For the time of the next attempt.
    case waiting
    /// For the application's answer.
    case authorizing
    case resolving
    case connecting
    case open
    /// All is said; the server's side is still open.
    case closing
  }

  /// How long the last bytes may take when everything else is over: DISCONNECT has to get past what
  /// the kernel is still holding, and what the kernel has must arrive before the socket is closed.
  static var farewellTimeout: UInt32 { 2000 }
  /// When a stream that had nothing is asked again.
  static var pullPause: UInt32 { 10 }

  var session: Session
  var platform: System
  var servers: ServerTable
  var round: ServerRound

  // Side by side, as a gap between any two would be memory of every client.
  let defaultPort: UInt16
  let followsRedirects: Bool
  let asksCredentials: Bool
  let asksAddresses: Bool
  /// The application has the transport, and the clock: see Client+OwnTransport.swift.
  public let hasOwnTransport: Bool
  /// The application is to be asked what the phase is about.
  var isQuestionOpen = false
  let reconnects: Bool
  var phase = Phase.disconnected
  /// The connection, once the race is over.
  var lane = Channel.lane0
  /// The application wants a connection: where one ends, the next attempt follows.
  var isWanted = false
  /// The application wants to leave.
  var isLeaving = false
  /// The kernel takes no more bytes for now.
  var isBlocked = false
  /// The descriptor will tell when there is something to receive.
  var isWatchingReceive = false
  private let inPlace = InPlace()

  var redirect = Redirect()
  var connectTimeout: UInt32
  /// How long a connection has to last until a failure is the first of a new sequence.
  let stableTime: UInt32
  let writeTimeout: UInt32

  /// Whose name is being looked up.
  var resolving = 0
  var race: AddressRace
  public internal(set) var attempt: UInt32 = 0
  public internal(set) var endings = Failure.Counts()
  /// When the kernel should have taken some bytes.
  var writeDeadline: Instant? = nil
  var backoff: Backoff
  /// When the last attempt or connection ended, and when the next attempt begins.
  var retrySince = Instant(milliseconds: 0)
  var retryDeadline: Instant? = nil
  /// When this connection will have lasted.
  var stableDeadline: Instant? = nil
  var connectDeadline: Instant? = nil
  /// How long draining may take.
  var leaveDeadline: Instant? = nil
  /// How long the farewell may take.
  var farewellDeadline: Instant? = nil
  /// The end of the last connection, as long as the application has not taken the event.
  var failure: Failure? = nil
  /// The transport is gone, but messages that it brought are still to be handed out.
  var loss: Failure.Cause? = nil
  var lastPoll = Instant(milliseconds: 0)
  /// The time of the last turn.
  var now = Instant(milliseconds: 0)
  public var handlers: HandlerTable
  /// `nil`: nobody wants to know.
  public var log: LogHook? = nil {
    didSet { forgetUntold() }
  }
  /// Of the session's, those that were told.
  var toldPings: UInt32 = 0
  var toldPongs: UInt32 = 0
  public internal(set) var submissions: MPSCConsumer<Submission>
  var payloadSource: PayloadSource? = nil
  /// How many bytes the application has to send, with a transport of its own. Any other call may move them.
  var outputSize = 0
  var pullAgain: Instant? = nil

  /// The caller guarantees that `options` are those the plan was made with.
  public init(
    _ options: borrowing ClientOptions, plan: ClientPlan, block: borrowing Arena,
    on platform: consuming System
  ) {
    session = Session(
      options.session, plan: plan.session, block: block, random: platform.randomNumber())
    if options.session.connect.isClientIDTemplate {
      session.fillClientID { UInt8(truncatingIfNeeded: platform.randomNumber()) }
    }
    self.platform = platform
    handlers = HandlerTable(
      entries: block.table(plan.handlers), filters: block.region(plan.handlerFilters))
    submissions = MPSCConsumer(MPSCQueue(plan.submissions, in: block))
    servers = ServerTable(entries: block.table(plan.servers), hosts: block.region(plan.hosts), options)
    race = AddressRace(addresses: block.table(plan.addresses))
    round = ServerRound(count: options.servers.count, isShuffled: options.isShuffled)
    defaultPort = options.port
    followsRedirects = options.followsRedirects
    asksCredentials = options.asksCredentials
    asksAddresses = options.asksAddresses
    hasOwnTransport = options.hasOwnTransport
    connectTimeout = options.connectTimeout
    reconnects = options.reconnects
    backoff = options.backoff
    stableTime = options.stableTime
    writeTimeout = options.writeTimeout
    if !hasOwnTransport {
      now = Instant(milliseconds: self.platform.now())
      session.advance(to: now)
    }
  }

  // MARK: Getters

  /// The time: that of the platform, or the last one the application told.
  public var time: Instant { hasOwnTransport ? now : Instant(milliseconds: platform.now()) }

  public var state: ClientState {
    switch phase {
    case .disconnected: .disconnected
    case .waiting: .waiting
    case .closing: .disconnecting
    case .open where isLeaving || session.closeReason != nil: .disconnecting
    case .open where session.isAccepted: .connected
    default: .connecting
    }
  }

  /// Which of several servers the attempt, or the connection, is with: counted from 0, as the options have them;
  /// behind the last: one that another pointed to.
  public internal(set) var serverIndex = 0
  /// Of that server.
  public var port: UInt16 { servers.port(serverIndex) }
  public var descriptor: Int32 { platform.descriptor }

  /// The transport is open: CONNECT is on its way, or more.
  public var isOpen: Bool { phase == .open }

  /// A name is being looked up.
  public var isResolving: Bool { phase == .resolving }

  /// There is something to send that the transport does not take at this moment.
  public var isBlockedSending: Bool { phase == .open && isBlocked }
  public var counters: Counters { session.counters }
  public var outboxNumbers: OutboxNumbers { session.outboxNumbers }
  public var inboxNumbers: InboxNumbers { session.inboxNumbers }
  /// How long the oldest message that was not sent yet waits, as of the last turn; 0: none does.
  public var outboxAge: UInt32 {
    guard let since = session.outboxNumbers.waitingSince else { return 0 }
    return now.milliseconds &- since.milliseconds
  }
  public var version: ProtocolVersion { session.version }
  /// What the server can do; `nil` without a connection.
  public var server: ServerLimits? { session.isAccepted ? session.limits : nil }

  public var clientID: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { session.clientID }
  }

  /// Where the topic of a message is that came as a Topic Alias.
  public var aliasedTopics: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { session.aliasedTopics }
  }

  /// Where the Topic Filter of a subscription is that could not be made again.
  public var subscribedFilters: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { session.subscribedFilters }
  }

  /// Where the name is of which the addresses are wanted.
  public var hostNames: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { servers.bytes }
  }

  /// Where the extents of events point.
  public var receivedBytes: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { session.receivedBytes }
  }

  // MARK: Outputs

  public var hasEvent: Bool { session.hasEvent || failure != nil || isQuestionOpen }

  /// `advanceToNextEvent` has something to release.
  public var hasEventToRelease: Bool {
    @inline(__always) get { session.hasEventToRelease }
  }

  /// What comes next, where there is nothing to release.
  public var nextSource: EventSource {
    @inline(__always) mutating get {
      outputSize = 0
      return session.nextSource
    }
  }

  /// Releases the event before. What comes next is there to be taken; `none`: something else may be, which `take` knows.
  @inline(__always)
  public mutating func advanceToNextEvent() -> EventSource {
    outputSize = 0
    return session.advanceToNextEvent()
  }

  /// The next completion says no more than that its message has arrived.
  public var nextCompletionIsPlain: Bool {
    @inline(__always) get { session.nextCompletionIsPlain }
  }

  /// That of `EventSource.completion`.
  @inline(__always)
  public mutating func takeCompletion() -> Completion? { session.takeCompletion() }

  /// That of `EventSource.plainMessage`.
  @inline(__always)
  public mutating func takePlainMessage() -> PlainMessage { session.takePlainMessage() }

  /// The first entry of the table of handlers that matches the topic of a message.
  @inline(__always)
  public func firstHandler(
    of topic: ByteRange, isAliased: Bool
  ) -> (index: Int, handler: HandlerTable.Handler)? {
    guard !handlers.isEmpty else { return nil }
    return findHandler(of: topic, isAliased: isAliased)
  }

  @inline(never)
  private func findHandler(
    of topic: ByteRange, isAliased: Bool
  ) -> (index: Int, handler: HandlerTable.Handler)? {
    let name =
      isAliased
      ? session.aliasedTopics.extracting(topic.range) : session.receivedBytes.extracting(topic.range)
    guard let index = handlers.firstMatch(name, after: -1) else { return nil }
    return (index, handlers[index])
  }

  /// Before the block goes back to whoever it belongs to.
  public mutating func wipeSecrets() { session.wipeSecrets() }

  /// In the order in which things happened: the end of a connection comes last.
  public mutating func nextEvent() -> ClientEvent? { take(advanceToNextEvent()) }

  /// The event of the source that `advanceToNextEvent` has told.
  public mutating func take(_ source: EventSource) -> ClientEvent? {
    if let event = session.take(source) { return .session(event) }
    settleLoss()
    if let failure {
      self.failure = nil
      return .disconnected(failure)
    }
    guard isQuestionOpen else { return nil }
    isQuestionOpen = false
    let host = servers.host(serverIndex)
    switch phase {
    case .authorizing: return .credentialsWanted
    case .connecting: return .transportWanted(host: host, port: port)
    default: return .addressesWanted(host: host, port: port)
    }
  }

  /// When there is something to do even if the descriptor stays silent: milliseconds, -1 for never.
  public func nextTimeout(at now: Instant) -> Int32 {
    if hasEvent || session.eventIsBorrowed || loss != nil || canTakeSubmissions(at: now) { return 0 }
    if phase == .open {
      if session.closeReason != nil, !session.hasUnsentDisconnect { return 0 }
      if !hasOwnTransport, isReadyForTransport { return 0 }
    }
    if isLeaving, session.closeReason == nil, isDrained { return 0 }
    guard let deadline = nextDeadline else { return -1 }
    return Int32(clamping: deadline.remaining(at: now))
  }

  /// Nothing is left that should go out before DISCONNECT.
  public var isDrained: Bool { session.isDrained && !submissions.hasCollected }

  /// There is something to do with it that the descriptor will not tell.
  private var isReadyForTransport: Bool {
    if !isBlocked, session.wantsTransmit { return true }
    // Taking an event has made room.
    if session.wantsReceive, !isWatchingReceive { return true }
    return session.pullOffset != nil && pullAgain == nil
  }

  var nextDeadline: Instant? {
    @inline(never) get { earliestDeadline }
  }

  private var earliestDeadline: Instant? {
    guard phase != .disconnected else { return session.nextDeadline }
    if let farewellDeadline { return Instant.earlier(farewellDeadline, pullAgain) }
    let sending = Instant.earlier(writeDeadline, pullAgain)
    let opening = Instant.earlier(connectDeadline, phase == .connecting ? race.deadline : nil)
    let own = Instant.earlier(
      Instant.earlier(opening, retryDeadline), Instant.earlier(leaveDeadline, sending))
    return Instant.earlier(session.nextDeadline, own)
  }
}

extension Client where System == Linux {
  /// The socket of the connection, or the first of those that try to become it, for those who want to see it; -1: there
  /// is none.
  public var socket: Int32 {
    switch phase {
    case .open: return platform.socket(lane)
    case .connecting:
      for index in 0..<Channel.lanes where race.isRunning(.lane(index)) {
        return platform.socket(.lane(index))
      }
      return -1
    default: return -1
    }
  }
}
