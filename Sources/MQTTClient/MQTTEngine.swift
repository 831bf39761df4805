public import Driver
import Inspector
public import Journal
public import MQTTSession
import MQTTWire
public import Platform
public import Storage
public import Transports

/// MQTT, as the driver knows it: a session, what other threads have submitted to it, and where the payload of
/// a stream comes from.
public struct MQTTEngine: ~Copyable, JournaledEngine {
  public typealias Event = SessionEvent

  /// The byte ranges refer to `receivedBytes`, which stay until the next connection is opened.
  public struct CloseDetails: BitwiseCopyable {
    public let reasonCode: UInt8?
    public let reasonString: ByteRange
    public let serverReference: ByteRange
    public let properties: ByteRange
  }

  /// After how many milliseconds a stream that had nothing is asked again.
  static var pullPause: UInt32 { 10 }

  public var session: Session
  public internal(set) var submissions: MPSCConsumer<Submission>
  var payloadSource: PayloadSource? = nil
  public private(set) var refillDeadline: Instant? = nil
  /// How long a submission has waited is known, because other threads read the same clock. They cannot read
  /// one that is the application's own.
  let knowsAge: Bool
  /// The application has disconnected: what is submitted from now on stays in the queue.
  private(set) var isLeaving = false
  /// How many of the session's PINGREQ and PINGRESP were logged.
  private var loggedPings: UInt32 = 0
  private var loggedPongs: UInt32 = 0
  public internal(set) var tap: PacketTap

  init<System: Platform & ~Copyable>(
    _ options: borrowing ClientOptions, plan: borrowing ClientPlan, block: borrowing Arena,
    on system: borrowing System
  ) {
    session = Session(options.session, plan: plan.session, block: block, random: system.randomNumber())
    submissions = MPSCConsumer(MPSCQueue(plan.submissions, in: block))
    tap = PacketTap(
      trace: Feature.hasTap
        ? OptionalSlot(plan.trace, in: block) {
          PacketTrace(region: block.region(plan.traceBytes), longest: options.tracePacketBytes)
        } : OptionalSlot(),
      inspection: Feature.hasTap
        ? OptionalSlot(plan.inspection, in: block) {
          Inspection(
            path: options.inspectionPath, in: block.region(plan.inspectionPath),
            buffer: block.region(plan.inspectionBytes))
        } : OptionalSlot())
    knowsAge = !options.driver.isCallerDriven
    if options.session.connect.isClientIDTemplate {
      session.fillClientID { UInt8(truncatingIfNeeded: system.randomNumber()) }
    }
  }

  // MARK: Getters

  public var isAccepted: Bool { session.isAccepted }
  public var versionNumber: Int { Int(session.version.rawValue) }
  public var hasEvent: Bool { session.hasEvent }
  public var hasUndeliveredEvent: Bool { session.hasUndeliveredEvent }
  public var eventIsBorrowed: Bool { session.eventIsBorrowed }
  public var isDrained: Bool { session.isDrained && !hasCollected }

  public var receivedBytes: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { session.receivedBytes }
  }

  // MARK: Things that happened

  public mutating func advance(to now: Instant) { session.advance(to: now) }
  public mutating func attemptBegins() { session.connecting() }
  public mutating func opened() {
    if Feature.hasTap { tap.begin() }
    session.connectionOpened()
  }
  public mutating func received(_ count: Int, at now: Instant) {
    if Feature.hasTap, tap.isOn { receivedObserved(count, at: now) } else { session.received(count, at: now) }
  }
  public mutating func transmitted(_ count: Int, at now: Instant) {
    if Feature.hasTap, tap.isOn {
      transmittedObserved(count, at: now)
    } else {
      session.transmitted(count, at: now)
    }
  }
  public mutating func peerClosed() { session.peerClosed() }
  public mutating func probe(at now: Instant) { session.probe(at: now) }

  public mutating func timedOut(at now: Instant) {
    session.timedOut(at: now)
    if let deadline = refillDeadline, deadline.isReached(at: now) { refillDeadline = nil }
  }

  public mutating func closed() {
    session.connectionClosed()
    isLeaving = false
    refillDeadline = nil
  }

  // MARK: Outputs

  public var wantsTransmit: Bool { session.wantsTransmit }
  public var wantsReceive: Bool { session.wantsReceive }
  public var nextDeadline: Instant? {
    guard hasJournal || hasInspection else { return session.nextDeadline }
    let inspection = hasInspection ? tap.inspection.element.deadline : nil
    return Instant.earlier(inspection, Instant.earlier(session.journalDeadline, session.nextDeadline))
  }
  public mutating func prepareTransmit(at now: Instant) -> Bool { session.prepareTransmit(at: now) }
  public mutating func nextEvent() -> SessionEvent? { session.nextEvent() }
  public mutating func release() {
    if session.hasEventToRelease { session.releaseEvent() }
  }

  public var output: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { session.output }
  }

  public var outputPayload: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { session.outputPayload }
  }

  @_lifetime(&self)
  public mutating func receiveSpace() -> MutableSpan<UInt8> { session.receiveSpace }

  /// A message that streams is sent as far as its payload is here.
  public var wantsRefill: Bool { Feature.hasStreams && session.pullOffset != nil }

  public mutating func refill(at now: Instant) {
    guard Feature.hasStreams, refillDeadline == nil, let payloadSource, let offset = session.pullOffset else {
      return
    }
    switch Self.pull(from: payloadSource, offset, into: &session) {
    case .none: session.pullFailed()
    case .some(0): refillDeadline = now.advanced(by: Self.pullPause)
    case .some(let count): session.pulled(count)
    }
  }

  // Static, because the compiler takes a span of one part of `self` for a hold on all of it.
  private static func pull(from source: PayloadSource, _ offset: Int, into session: inout Session) -> Int? {
    var space = session.pullSpace
    return source.supply(offset, into: &space)
  }

  mutating func pull(from source: PayloadSource) {
    payloadSource = source
    refillDeadline = nil
  }

  @inline(never)
  public mutating func logStep(_ log: Log) {
    let counters = session.counters
    if counters.pings != loggedPings { log(.ping) }
    if counters.pongs != loggedPongs { log(.pong, Int(truncatingIfNeeded: counters.lastRoundTrip)) }
    skipLog()
  }

  public mutating func skipLog() {
    loggedPings = session.counters.pings
    loggedPongs = session.counters.pongs
  }

  // MARK: Who looks at packets

  /// `nil`: no function is told.
  public mutating func observe(_ hook: PacketHook?, at now: Instant) { tap.set(hook, of: session, at: now) }

  public mutating func clearTrace() { tap.clearTrace() }

  public var hasInspection: Bool {
    @inline(__always) get { Feature.hasTap && !tap.inspection.isEmpty }
  }

  @inline(never)
  @_optimize(size)
  public static func serveReaders<Link: Transport & ~Copyable, System: Platform & ~Copyable>(
    of client: inout Driver<MQTTEngine, Link, System>, isReady: Bool, at now: Instant
  ) {
    if isReady {
      let asks = client.engine.letReadersAsk(at: now)
      for reader in 0..<InspectionSocket.readers where asks[reader] {
        let numbers = Statistics(of: client)
        PacketTap.answer(reader, numbers, of: &client.engine.tap.inspection.element, at: now)
      }
    }
    client.engine.attendReaders(at: now)
  }

  private mutating func attendReaders(at now: Instant) { tap.attendReaders(of: session, at: now) }

  private mutating func letReadersAsk(at now: Instant) -> InlineArray<4, Bool> {
    tap.serveReaders(of: session, at: now)
  }

  @inline(never)
  private mutating func receivedObserved(_ count: Int, at now: Instant) {
    tap.receive(count, of: session, at: now)
    session.received(count, at: now)
    if !tap.isInStep { tap.catchUp(with: session, at: now) }
  }

  @inline(never)
  private mutating func transmittedObserved(_ count: Int, at now: Instant) {
    tap.send(count, of: session, at: now)
    session.transmitted(count, at: now)
    if !tap.isInStep { tap.catchUp(with: session, at: now) }
  }

  // MARK: The journal

  public var hasJournal: Bool {
    @inline(__always) get { session.isJournaled }
  }
  public var isJournalWriting: Bool { session.isJournalWriting }
  public mutating func prepareJournal(at now: Instant, wallClock: UInt32) -> Bool {
    session.prepareJournal(at: now, wallClock: wallClock)
  }

  @_lifetime(&self)
  public mutating func journalBlocks() -> MutableSpan<UInt8> { session.mutableJournalBlocks }

  public var journalRuns: BlockRuns {
    let runs = session.journalRuns
    return BlockRuns(first: runs.first, second: runs.second)
  }

  public mutating func journalWritten(_ error: Int32, at now: Instant) {
    session.journalWritten(error, at: now)
  }

  public var journalOwner: Salt { Salt(hashing: session.clientID) }
  @_lifetime(&self)
  public mutating func recoverySpace() -> MutableSpan<UInt8> { session.recoverySpace }
  public mutating func beginJournal(_ superblock: Superblock) { session.beginJournal(superblock) }
  public mutating func beginRecovery(_ superblock: Superblock) { session.beginRecovery(superblock) }
  public mutating func recoveryRead() { session.recoveryRead() }
  public mutating func recover(at now: Instant, wallClock: UInt32) -> RecoveryStep {
    session.recover(at: now, wallClock: wallClock)
  }
  public mutating func survey() -> RecoveryStep { session.survey() }
  public func move(to superblock: Superblock) -> LogMove? { session.move(to: superblock) }

  public mutating func hurryJournal() -> JournalTarget {
    _ = session.journalPosition()  // looks at what is new
    return session.hurryJournal()
  }
  public func isJournalDone(_ target: JournalTarget) -> Bool { session.isJournalDone(target) }
  public var isJournalPaused: Bool { session.isJournalPaused }
  public var journalFailures: (count: UInt32, lastError: Int32) { session.journalFailures }

  // MARK: The end

  public var canSendFinalPacket: Bool { session.canSendDisconnect }
  public mutating func sendFinalPacket() -> Bool { session.disconnect() }
  public var hasUnsentFinalPacket: Bool { session.hasUnsentDisconnect }
  public var wantsClose: Bool { session.closeReason != nil }

  /// Servers that do not speak a version close the connection, or say so.
  public mutating func fallBack() -> Bool {
    Feature.hasFallback && session.serverRejectedVersion && session.fallBack()
  }

  /// Takes what was submitted before, and leaves in the queue what is submitted from now on.
  mutating func beginDisconnect(reasonCode: UInt8, properties: Span<UInt8>) {
    if Feature.hasSubmit { submissions.collect() }
    isLeaving = true
    session.beginDisconnect(reasonCode: reasonCode, properties: properties)
  }

  public var closeRequest: CloseRequest<CloseDetails>? {
    @inline(never) get { request(of: session.closeReason) }
  }

  private func request(of reason: CloseReason?) -> CloseRequest<CloseDetails>? {
    guard let reason else { return nil }
    let details = CloseDetails(
      reasonCode: reason.reasonCode, reasonString: reason.reasonString,
      serverReference: reason.serverReference, properties: reason.properties)
    let cause: FailureCause
    var stage: FailureStage? = nil
    switch reason.cause {
    case .requested: cause = .requested
    case .refused: cause = .refused
    case .disconnected: cause = .serverClosed
    case .malformed(let malformed): cause = .malformed(rule: malformed.rawValue)
    case .violation(let violation): cause = .violation(rule: violation.rawValue)
    case .backlog: cause = .backlog
    case .keepAlive: cause = .keepAlive
    case .stream: cause = .stream
    case .ackTimeout: (cause, stage) = (.timeout, .acknowledgement)
    }
    return CloseRequest(cause, stage: stage, details: details)
  }

  /// Another server (§4.11): 0x9C Use another server, for now; 0x9D Server moved, for good.
  public func referral(in details: CloseDetails) -> Referral? {
    guard let reasonCode = details.reasonCode, !details.serverReference.isEmpty else { return nil }
    let isPermanent = reasonCode == ReasonCode.serverMoved.rawValue
    guard isPermanent || reasonCode == ReasonCode.useAnotherServer.rawValue else { return nil }
    return Referral(details.serverReference, isPermanent: isPermanent)
  }
}
