public import Driver
import Inspector
import Platform
public import STOMPSession
import STOMPWire
public import Storage
import Transports

/// STOMP, as the driver knows it.
public struct STOMPEngine: ~Copyable, ProtocolEngine {
  public typealias Event = STOMPEvent

  /// What ERROR says, as byte ranges of `receivedBytes`, which stay until the next connection is opened.
  public struct CloseDetails: BitwiseCopyable {
    public let message: ByteRange
    public let headers: ByteRange
    public let body: ByteRange
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
    @inline(__always) get { hasInspection ? deadlineWithInspection : session.nextDeadline }
  }
  @inline(never)
  private var deadlineWithInspection: Instant? {
    Instant.earlier(inspection.element.deadline, session.nextDeadline)
  }
  public mutating func nextEvent() -> STOMPEvent? { session.nextEvent(at: now) }
  @inline(__always)
  mutating func takeMessage() -> Bool { session.takeMessage(at: now) }
  public mutating func release() { session.release(at: now) }

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
      details: CloseDetails(message: reason.message, headers: reason.headers, body: reason.body))
  }
}
