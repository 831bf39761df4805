public import MQTTSession
import MQTTTransport

/// The client as an engine: bytes and instants go in, bytes, events and one deadline come out. Who has the transport
/// opens it when it is wanted, and closes it when the connection has ended.
extension Client where System: ~Copyable {
  mutating func askForTransport() {
    phase = .connecting
    isQuestionOpen = true
  }

  // MARK: Things that happened

  /// The transport is open. False: none is wanted.
  public mutating func opened(at now: Instant) -> Bool {
    guard hasOwnTransport, phase == .connecting else { return false }
    self.now = now
    isQuestionOpen = false
    beginSession()
    return true
  }

  /// `count` bytes were written to the front of `receiveSpace`. False: there was not so much space.
  public mutating func received(_ count: Int, at now: Instant) -> Bool {
    let space = receiveSpace.count
    guard count >= 0, count <= space else { return false }
    self.now = now
    outputSize = 0
    if count > 0 { session.received(count, at: now) }
    serve(Readiness(), at: now)
    return true
  }

  /// `count` bytes from the front of `output` were taken. False: they were not so many, or are no longer there.
  public mutating func transmitted(_ count: Int, at now: Instant) -> Bool {
    guard count >= 0, count <= outputSize else { return false }
    self.now = now
    outputSize = 0
    if count > 0 { session.transmitted(count, at: now) }
    conclude(at: now)
    return true
  }

  /// The transport is gone, or could not be opened; 0: the peer closed it. False: there was none.
  public mutating func closed(error: Int32, at now: Instant) -> Bool {
    guard hasOwnTransport else { return false }
    self.now = now
    outputSize = 0
    let cause = error == 0 ? Failure.Cause.closed : .network(error)
    switch phase {
    case .connecting: end(cause)
    case .open where loss == nil: lost(cause, at: now)
    default: return false
    }
    return true
  }

  // MARK: Outputs

  /// Where the next bytes go; empty if they have to wait.
  public var receiveSpace: MutableSpan<UInt8> {
    @_lifetime(&self)
    mutating get {
      guard hasOwnTransport, phase == .open, loss == nil, session.wantsReceive else { return MutableSpan() }
      return session.receiveSpace
    }
  }

  /// Looks for bytes to be sent. True: they are in `output`.
  public mutating func prepareTransmit(at now: Instant) -> Bool {
    guard hasOwnTransport, phase == .open, loss == nil else { return false }
    self.now = now
    outputSize = 0
    conclude(at: now)
    guard phase == .open else { return false }
    if session.pullOffset != nil {
      pullPayload(at: now)
      conclude(at: now)
      guard phase == .open else { return false }
    }
    guard session.prepareTransmit(at: now) else { return false }
    outputSize = session.output.count
    return true
  }

  public var output: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { session.output }
  }
}
