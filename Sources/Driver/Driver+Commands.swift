public import Platform
public import Storage
import Transports

/// Things the application wants of the driver.
extension Driver where Engine: ~Copyable, Link: ~Copyable, System: ~Copyable {
  /// Starts to connect. False: it is about to already, there is a connection, or its end has not been taken.
  public mutating func connect(at now: Instant) -> Bool {
    guard phase.isDisconnected, !hasFailureEvent else { return false }
    isWanted = true
    beginRound()
    begin(at: now)
    return true
  }

  /// The next attempt goes to this server, which has to be the only one.
  public func canSetServer(hostSize: Int) -> Bool {
    phase.isDisconnected && servers.count == 1 && servers.hasRoom(for: hostSize)
  }

  /// Names the server of the next attempt. The caller guarantees `canSetServer`.
  public mutating func setServer(_ host: Span<UInt8>, port: UInt16, connectTimeout: UInt32) {
    // A look-up under way is known by the server's index, and would be taken for one of this name.
    if servers.set(0, host, port: port) { system.cancelResolving() }
    redirect = Redirect()
    self.connectTimeout = connectTimeout
  }

  /// Changes what the next attempts go through. The caller guarantees `canSetServer`.
  public mutating func changeLink(_ change: (inout Link) -> Void) {
    // A look-up under way may be of a proxy that there was before.
    system.cancelResolving()
    change(&link)
  }

  /// Disconnects when everything is sent and acknowledged, or after `drain` milliseconds. True: the engine has
  /// to be told. False: it was told before, or no peer is there to send the final packet to.
  public mutating func beginDisconnect(drain: UInt32, at now: Instant) -> Bool {
    self.now = now
    offeredBytes = 0
    isWanted = false
    guard case .open(var connection) = phase, engine.canSendFinalPacket, isLive else {
      giveUp()
      return false
    }
    timers.stop(.connect)
    let time = engine.isAccepted ? drain : 0
    timers.startOrHasten(.leave, at: now.advanced(by: time))
    let wasLeaving = connection.isLeaving
    if !wasLeaving || time == 0 { connection.leaving = time == 0 ? .atOnce : .drained }
    phase = .open(connection)
    return !wasLeaving
  }

  /// Closes the transport without a final packet, so that the server takes the connection for lost (and
  /// publishes the Will).
  @_optimize(size)
  public mutating func cutOff(at now: Instant) {
    self.now = now
    offeredBytes = 0
    isWanted = false
    guard isLive else { return giveUp() }
    end(Failure(.closed, at: .connected))
  }

  /// There is no peer to send the final packet to.
  @_optimize(size)
  private mutating func giveUp() {
    switch phase {
    case .disconnected, .closing: break
    case .waiting where hasFailureEvent:
      // The event that is still to be taken says it all.
      lastFailure?.retry = nil
      phase = .disconnected
      timers.stop(.retry)
    case .open where !isLive: break
    default: end(.requested)
    }
  }

  /// The network is there again, or the machine woke up: a wait becomes as short as the backoff allows, and a
  /// connection is probed.
  @inline(never)
  @_optimize(size)
  public mutating func hintUp(at now: Instant) {
    self.now = now
    offeredBytes = 0
    logger(.hint, 1)
    if case .waiting(let since) = phase {
      timers.startOrHasten(.retry, at: since.advanced(by: backoff.shortest))
    }
    engine.probe(at: now)
  }

  /// The application says that the network is gone: a connection is probed.
  public mutating func hintDown(at now: Instant) {
    self.now = now
    offeredBytes = 0
    logger(.hint, 0)
    engine.probe(at: now)
  }

  /// What ends a wait from any other thread; `nil`: the system has no descriptor left for it.
  public mutating func wakeUp() -> WakeUp? { try? system.wakeUp() }
}
