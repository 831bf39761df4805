import Platform
public import Storage
import Transports

/// The driver without a system's transport (`CallerDriven`): bytes and instants go in, bytes, events and one
/// deadline come out. The application opens its transport when the driver wants it, and closes it when the
/// connection has ended.
extension Driver where Engine: ~Copyable, Link: ~Copyable, System: ~Copyable {
  // MARK: Things that happened

  /// The transport is open. False: none is wanted.
  public mutating func opened(at now: Instant) -> Bool {
    guard isCallerDriven, phase.isOpening, link.stage == .connect else { return false }
    self.now = now
    proceed(link.connected(on: &system), at: now)
    return true
  }

  /// `count` bytes were written to the front of `receiveSpace`. False: there was not so much space.
  public mutating func received(_ count: Int, at now: Instant) -> Bool {
    let space = receiveSpace().count
    guard count >= 0, count <= space else { return false }
    self.now = now
    offeredBytes = 0
    if count > 0 {
      if link.isLayered { link.received(count) } else { engine.received(count, at: now) }
    }
    step(Readiness(), at: now)
    return true
  }

  /// `count` bytes from the front of `output` were taken. False: they were not so many, or are no longer
  /// there.
  public mutating func transmitted(_ count: Int, at now: Instant) -> Bool {
    guard count >= 0, count <= offeredBytes else { return false }
    self.now = now
    offeredBytes = 0
    if count > 0 {
      if link.isLayered { link.transmitted(count) } else { engine.transmitted(count, at: now) }
    }
    // What was sent may have made room for the rest of a handshake.
    if phase.isOpening { proceed(link.advance(Readiness(), on: &system, logger, at: now), at: now) }
    finishDisconnect(at: now)
    discard()
    return true
  }

  /// The transport is gone, or could not be opened; 0: the peer closed it. False: there was none.
  public mutating func closed(error: Int32, at now: Instant) -> Bool {
    guard isCallerDriven else { return false }
    self.now = now
    offeredBytes = 0
    let cause = error == 0 ? FailureCause.closed : .network(error)
    if phase.isOpening {
      if error == 0, let layer = link.peerClosed() { end(.layer(layer)) } else { end(cause) }
    } else if case .closing = phase {
      end(.requested)
    } else if isLive {
      transportEnded(cause, at: now)
    } else {
      return false
    }
    return true
  }

  // MARK: Outputs

  /// Where the next bytes go; empty if they have to wait.
  @_lifetime(&self)
  public mutating func receiveSpace() -> MutableSpan<UInt8> {
    guard isCallerDriven else { return MutableSpan() }
    if link.isLayered { return link.receiveSpace() }
    guard isLive, engine.wantsReceive else { return MutableSpan() }
    return engine.receiveSpace()
  }

  /// Looks for bytes to be sent. True: they are in `output`.
  public mutating func prepareTransmit(at now: Instant) -> Bool {
    guard isCallerDriven else { return false }
    if link.isLayered { return prepareLayers(at: now) }
    guard isLive else { return false }
    self.now = now
    offeredBytes = 0
    finishDisconnect(at: now)
    guard isOpen else { return false }
    if engine.wantsRefill {
      engine.refill(at: now)
      finishDisconnect(at: now)
      guard isOpen else { return false }
    }
    guard engine.prepareTransmit(at: now) else { return false }
    offeredBytes = engine.output.count
    return true
  }

  public var output: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get {
      if link.isLayered { return link.output }
      return engine.output
    }
  }

  /// `prepareTransmit` with layers, which take the engine's bytes, and have some of their own.
  @inline(never)
  @_optimize(size)
  private mutating func prepareLayers(at now: Instant) -> Bool {
    self.now = now
    offeredBytes = 0
    finishDisconnect(at: now)
    transmit(at: now)
    finishDisconnect(at: now)
    if case .broken(let layer) = link.flush(on: &system) {
      if isLive { transportEnded(.layer(layer), at: now) } else if phase.isOpening { end(.layer(layer)) }
    }
    offeredBytes = link.output.count
    return offeredBytes > 0
  }
}
