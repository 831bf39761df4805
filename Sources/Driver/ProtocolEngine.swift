public import Platform
public import Storage
public import Transports

/// What the driver needs of a protocol: bytes and instants go in; bytes, events and one deadline come out. It
/// does no IO.
///
/// Four families, in this order: getters, things that happened, outputs, the end of a connection. What the
/// application wants of the protocol is between the two of them; the driver does not see it.
public protocol ProtocolEngine: ~Copyable {
  /// What it has to tell the application.
  associatedtype Event
  /// What the peer said of the end of a connection, as byte ranges of `receivedBytes`.
  associatedtype CloseDetails: BitwiseCopyable

  // MARK: Getters

  /// The server has accepted this connection, whatever has become of it since.
  var isAccepted: Bool { get }
  /// Which version of the protocol it speaks, for the log.
  var versionNumber: Int { get }
  var hasEvent: Bool { get }
  /// What the transport brought has not all been handed out.
  var hasUndeliveredEvent: Bool { get }
  /// The application has an event, which keeps others waiting.
  var eventIsBorrowed: Bool { get }
  /// Nothing is left that should go out before the end.
  var isDrained: Bool { get }
  /// Where `CloseDetails` and events point.
  var receivedBytes: Span<UInt8> { @_lifetime(borrow self) borrowing get }
  /// Another thread may give it something to do at any time.
  var isShared: Bool { get }
  /// Something from another thread waits that `takeWork` would take.
  func hasWork(at now: Instant) -> Bool

  // MARK: Things that happened

  /// The time of what happens now.
  mutating func advance(to now: Instant)
  /// Takes what other threads gave it, as far as there is room.
  mutating func takeWork(at now: Instant)
  /// An attempt to connect begins.
  mutating func attemptBegins()
  /// The transport is open.
  mutating func opened()
  /// `count` bytes were written to the front of `receiveSpace()`.
  mutating func received(_ count: Int, at now: Instant)
  /// `count` bytes from the front of `output`, and of `outputPayload` behind it, were handed to the
  /// transport.
  mutating func transmitted(_ count: Int, at now: Instant)
  /// `nextDeadline` or `refillDeadline` has been reached.
  mutating func timedOut(at now: Instant)
  /// The peer takes nothing any more; what it had sent before can still be received.
  mutating func peerClosed()
  /// Nothing can be received any more, now that it has all that came.
  mutating func inputEnded(at now: Instant)
  /// The transport is closed, by either side.
  mutating func closed()

  // MARK: Outputs

  /// `prepareTransmit` might find something; asks without changing anything.
  var wantsTransmit: Bool { get }
  /// Looks for bytes to send. True: they are in `output`.
  mutating func prepareTransmit(at now: Instant) -> Bool
  var output: Span<UInt8> { @_lifetime(borrow self) borrowing get }
  /// What follows `output` and is somewhere else: a transport that can takes both in one call.
  var outputPayload: Span<UInt8> { @_lifetime(borrow self) borrowing get }

  var wantsReceive: Bool { get }
  /// Where the next bytes go. A method, as Swift 6.3.1 compiles no property of this type in generic code: "is
  /// borrowed and cannot be consumed".
  @_lifetime(&self) mutating func receiveSpace() -> MutableSpan<UInt8>

  /// Before it can send more it has to ask the application for bytes, with `refill`; not before
  /// `refillDeadline`, if there is one.
  var wantsRefill: Bool { get }
  mutating func refill(at now: Instant)
  var refillDeadline: Instant? { get }

  /// When `timedOut` needs to be called, if nothing else happens.
  var nextDeadline: Instant? { get }
  /// The next thing that the application should know. Releases the event before.
  mutating func nextEvent() -> Event?
  /// The application is done with the event that it has.
  mutating func release()
  /// Looks whether the server is there.
  mutating func probe(at now: Instant)
  /// Logs what the engine did by itself since the last call of this or of `skipLog`.
  mutating func logStep(_ log: Log)
  mutating func skipLog()

  // MARK: The journal

  /// It has something to write to a file, at times.
  var hasJournal: Bool { get }
  /// A commit was prepared, and `journalWritten` not called.
  var isJournalWriting: Bool { get }
  /// Looks for something to write. True: it is in `journalBlocks()`, and goes to `journalRuns`.
  mutating func prepareJournal(at now: Instant, wallClock: UInt32) -> Bool
  @_lifetime(&self) mutating func journalBlocks() -> MutableSpan<UInt8>
  var journalRuns: BlockRuns { get }
  /// It is durable: `error` 0; or it failed, with the system's number.
  mutating func journalWritten(_ error: Int32, at now: Instant)

  // MARK: Programs that look on

  /// It has a socket to which programs connect that want to know what goes on.
  var hasInspection: Bool { get }
  /// Sends them what is due. `isReady`: something has happened at the socket.
  static func serveReaders<Link: Transport & ~Copyable, System: Platform & ~Copyable>(
    of driver: inout Driver<Self, Link, System>, isReady: Bool, at now: Instant)

  // MARK: The end

  /// The connection is far enough for the packet that ends it.
  var canSendFinalPacket: Bool { get }
  /// Queues the packet that ends the connection. False: there is no room for it yet.
  mutating func sendFinalPacket() -> Bool
  /// The final packet, or what is queued before it, was not handed to the transport.
  var hasUnsentFinalPacket: Bool { get }
  /// It wants the connection closed: `closeRequest` says why.
  var wantsClose: Bool { get }
  var closeRequest: CloseRequest<CloseDetails>? { get }
  /// The server does not take it as it is. True: the same server is to be asked again at once, in another
  /// way.
  mutating func fallBack() -> Bool
  /// The server that the server pointed to at the end.
  func referral(in details: CloseDetails) -> Referral?
}

/// Why an engine wants its connection closed.
public struct CloseRequest<Details: BitwiseCopyable>: BitwiseCopyable {
  public let cause: FailureCause
  /// `nil`: where the driver is.
  public let stage: FailureStage?
  public let details: Details

  public init(_ cause: FailureCause, stage: FailureStage? = nil, details: Details) {
    self.cause = cause
    self.stage = stage
    self.details = details
  }
}

/// `host[:port]`, somewhere in `ProtocolEngine.receivedBytes`, and for how long that is so.
public struct Referral: BitwiseCopyable {
  public let reference: ByteRange
  public let isPermanent: Bool

  public init(_ reference: ByteRange, isPermanent: Bool) {
    self.reference = reference
    self.isPermanent = isPermanent
  }
}

// Most protocols do not have these.
extension ProtocolEngine where Self: ~Copyable {
  public var isShared: Bool { false }
  public var outputPayload: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { Span() }
  }
  public func hasWork(at now: Instant) -> Bool { false }
  public mutating func takeWork(at now: Instant) {}
  public mutating func attemptBegins() {}
  public mutating func inputEnded(at now: Instant) {}
  public var wantsRefill: Bool { false }
  public mutating func refill(at now: Instant) {}
  public var refillDeadline: Instant? { nil }
  public mutating func probe(at now: Instant) {}
  public mutating func logStep(_ log: Log) {}
  public mutating func skipLog() {}
  public var hasJournal: Bool { false }
  public var isJournalWriting: Bool { false }
  public mutating func prepareJournal(at now: Instant, wallClock: UInt32) -> Bool { false }
  @_lifetime(&self)
  public mutating func journalBlocks() -> MutableSpan<UInt8> { MutableSpan() }
  public var journalRuns: BlockRuns { BlockRuns(first: (0, 0), second: (0, 0)) }
  public mutating func journalWritten(_ error: Int32, at now: Instant) {}
  public var hasInspection: Bool { false }
  public static func serveReaders<Link: Transport & ~Copyable, System: Platform & ~Copyable>(
    of driver: inout Driver<Self, Link, System>, isReady: Bool, at now: Instant
  ) {}
  public mutating func fallBack() -> Bool { false }
  public func referral(in details: CloseDetails) -> Referral? { nil }
}
