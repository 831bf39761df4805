public import Driver
import Inspector
public import Journal
public import Platform
public import STOMPSession
import STOMPWire
public import Storage
import Transports

/// STOMP, as the driver knows it.
public struct STOMPEngine: ~Copyable, JournaledEngine {
  public typealias Event = STOMPEvent

  /// What ERROR says, as byte ranges of `receivedBytes`, which stay until the next connection is opened.
  public struct CloseDetails: BitwiseCopyable {
    public let message: ByteRange
    public let headers: ByteRange
    public let body: ByteRange
    /// Of the whole body, of which there may be less.
    public let bodySize: Int
  }

  public var session: STOMPSession
  public internal(set) var submissions: MPSCConsumer<FrameSubmission>
  var inspection: OptionalSlot<Inspection>
  /// The program's.
  var ownTap: FrameTap? = nil
  /// Of what happens now.
  private var now = Instant(milliseconds: 0)

  init(_ options: borrowing STOMPClientOptions, plan: borrowing STOMPClientPlan, block: borrowing Arena) {
    session = STOMPSession(options.session, plan: plan.session, block: block)
    submissions = MPSCConsumer(MPSCQueue(plan.submissions, in: block))
    inspection = OptionalSlot(plan.inspection, in: block) {
      Inspection(
        path: options.inspectionPath, in: block.region(plan.inspectionPath),
        buffer: block.region(plan.inspectionBytes))
    }
  }

  // MARK: Getters

  public var isAccepted: Bool { session.isAccepted }
  public var versionNumber: Int { Int(session.version.rawValue) }
  public var hasEvent: Bool { session.hasEvent }
  public var hasUndeliveredEvent: Bool { session.hasUndeliveredEvent }
  public var eventIsBorrowed: Bool { session.eventIsBorrowed }
  public var isDrained: Bool { session.isDrained && !submissions.hasCollected }
  public var receivedBytes: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { session.receivedBytes }
  }

  // MARK: Things that happened

  public mutating func advance(to now: Instant) {
    self.now = now
    session.advance(to: now)
  }
  public mutating func attemptBegins() { session.attemptBegins() }
  public mutating func opened() {
    if hasInspection { inspection.element.begin() }
    session.connectionOpened()
  }
  public mutating func received(_ count: Int, at now: Instant) { session.received(count, at: now) }
  public mutating func transmitted(_ count: Int, at now: Instant) { session.transmitted(count, at: now) }
  public mutating func timedOut(at now: Instant) { session.timedOut(at: now) }
  public mutating func peerClosed() { session.peerClosed() }
  public mutating func inputEnded(at now: Instant) { session.inputEnded(at: now) }
  public mutating func closed() { session.connectionClosed() }

  // MARK: Outputs

  public var wantsTransmit: Bool { session.wantsTransmit }
  public mutating func prepareTransmit(at now: Instant) -> Bool { session.prepareTransmit(at: now) }
  public var output: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { session.output }
  }

  public var wantsReceive: Bool { session.wantsReceive }
  @_lifetime(&self)
  public mutating func receiveSpace() -> MutableSpan<UInt8> { session.receiveSpace() }

  public var nextDeadline: Instant? {
    @inline(__always) get { hasJournal || hasInspection ? deadlineOfAll : session.nextDeadline }
  }
  @inline(never)
  private var deadlineOfAll: Instant? {
    let own = Instant.earlier(session.journalDeadline(at: now), session.nextDeadline)
    return hasInspection ? Instant.earlier(inspection.element.deadline, own) : own
  }
  public mutating func nextEvent() -> STOMPEvent? { session.nextEvent(at: now) }
  @inline(__always)
  mutating func takeMessage() -> Bool { session.takeMessage(at: now) }
  public mutating func release() { session.release(at: now) }

  // MARK: The journal

  public var hasJournal: Bool {
    @inline(__always) get { session.isJournaled }
  }
  public var isJournalWriting: Bool { session.isJournalWriting }
  /// Frames do not expire: the wall clock is not needed.
  public mutating func prepareJournal(at now: Instant, wallClock: UInt32) -> Bool {
    session.prepareJournal(at: now)
  }

  @_lifetime(&self)
  public mutating func journalBlocks() -> MutableSpan<UInt8> { session.journalBlocks }
  public var journalRuns: BlockRuns {
    let runs = session.journalRuns
    return BlockRuns(first: runs.first, second: runs.second)
  }
  public mutating func journalWritten(_ error: Int32, at now: Instant) {
    session.journalWritten(error, at: now)
  }

  public var journalOwner: Salt { FrameRecord.owner }

  @_lifetime(&self)
  public mutating func recoverySpace() -> MutableSpan<UInt8> { session.recoverySpace }
  public mutating func beginJournal(_ superblock: Superblock) { session.beginJournal(superblock) }
  public mutating func beginRecovery(_ superblock: Superblock) { session.beginRecovery(superblock) }
  public mutating func recoveryRead() { session.recoveryRead() }
  public mutating func recover(at now: Instant, wallClock: UInt32) -> RecoveryStep { session.recover() }
  public mutating func survey() -> RecoveryStep { session.survey() }
  public func move(to superblock: Superblock) -> LogMove? { session.move(to: superblock) }

  public mutating func hurryJournal() -> JournalTarget { session.hurryJournal() }
  public func isJournalDone(_ target: JournalTarget) -> Bool { session.isJournalDone(target) }
  public var isJournalPaused: Bool { session.isJournalPaused(at: now) }
  public var journalFailures: (count: UInt32, lastError: Int32) { session.journalFailures }

  // MARK: The end

  /// Takes what was submitted before, and leaves in the queue what is submitted from now on.
  mutating func beginDisconnect() {
    submissions.collect()
    session.beginDisconnect()
  }

  public var canSendFinalPacket: Bool { session.canSendDisconnect }
  public mutating func sendFinalPacket() -> Bool { session.disconnect(at: now) }
  public var hasUnsentFinalPacket: Bool { session.hasUnsentDisconnect }
  public var wantsClose: Bool { session.closeReason != nil }

  public var closeRequest: CloseRequest<CloseDetails>? {
    guard let reason = session.closeReason else { return nil }
    var stage: FailureStage? = nil
    let cause: FailureCause
    switch reason.cause {
    case .requested: cause = .requested
    case .refused: cause = .refused
    case .error: cause = .serverClosed
    case .malformed(let rule): cause = .malformed(rule: rule.rawValue)
    case .heartBeat: cause = .keepAlive
    case .receiptTimeout: (cause, stage) = (.timeout, .acknowledgement)
    case .headTooLarge: cause = .violation(rule: 0)
    }
    return CloseRequest(
      cause, stage: stage,
      details: CloseDetails(
        message: reason.message, headers: reason.headers, body: reason.body,
        bodySize: reason.bodySize))
  }
}
