import Platform
import Storage
import Transports

/// The end of a connection: the one the application wants, and every other.
extension Driver where Engine: ~Copyable, Link: ~Copyable, System: ~Copyable {
  /// Sends the final packet when it is time, and closes when all is sent. `deadlinesCount`: the system was asked what is ready,
  /// so nothing that came in time lies there unread.
  mutating func finishDisconnect(at now: Instant, deadlinesCount: Bool = true) {
    guard case .open(let connection) = phase else { return }
    if connection.isLeaving, !engine.wantsClose,
      engine.isDrained || connection.leaving == .atOnce || (deadlinesCount && timers.isDue(.leave, at: now))
    {
      guard sendFinalPacket(at: now, deadlinesCount: deadlinesCount) else { return }
    }
    guard engine.wantsClose else { return }
    timers.startIfStopped(.linger, at: now.advanced(by: Self.lingerTimeout))
    let isTimeUp = deadlinesCount && timers.isDue(.linger, at: now)
    if engine.hasUnsentFinalPacket, !isTimeUp { return }
    if fallsBack() { return reopen(at: now) }
    guard let request = engine.closeRequest else { return }
    guard case .requested = request.cause else { return end(request) }
    // Without the final packet on its way the peer does not know that the end was meant.
    guard !engine.hasUnsentFinalPacket else { return end(.timeout) }
    phase = .closing
    link.shutdownWrite(on: &system)
    watch(readable: true, writable: false)
    discard()
  }

  /// The next connection is to be one to the same server, in another way. A client that is leaving opens none.
  private mutating func fallsBack() -> Bool { !isLeaving && engine.fallBack() }

  /// False: the connection is over, or there is no room for the final packet yet.
  private mutating func sendFinalPacket(at now: Instant, deadlinesCount: Bool) -> Bool {
    if !engine.sendFinalPacket() {
      // What is queued before it is sent first, for as long as the end may take.
      timers.startIfStopped(.linger, at: now.advanced(by: Self.lingerTimeout))
      transmit(at: now)
      guard isLive else { return false }
      if !engine.sendFinalPacket() {
        if deadlinesCount, timers.isDue(.linger, at: now) { end(.timeout) }
        return false
      }
    }
    transmit(at: now)
    return isLive
  }

  /// Discards what the server still sends. When the server closes, the connection is over.
  @inline(never)
  mutating func discard() {
    guard case .closing = phase else { return }
    switch link.discard(on: &system) {
    case .transferred, .wouldBlock: break
    case .closed, .failed: end(.requested)
    }
  }

  /// The network ended the connection. What the server had said before may still be there: acknowledgements,
  /// messages, and why it closed.
  @inline(never)
  mutating func transportEnded(_ cause: FailureCause, at now: Instant) {
    if case .open(var connection) = phase {
      connection.transportError = cause
      phase = .open(connection)
    }
    watch(readable: false, writable: false)
    receiveRest(at: now)
    // Servers that do not speak a version close the connection, or say so.
    if fallsBack() { return reopen(at: now) }
    settleTransportError()
  }

  /// Receives as long as the application has taken what came before.
  @inline(never)
  mutating func receiveRest(at now: Instant) {
    engine.peerClosed()
    while link.isOpen(on: system), engine.wantsReceive {
      if case .transferred = receiveOnce(at: now) { continue }
      link.close(on: &system)
    }
    if !engine.hasUndeliveredEvent { link.close(on: &system) }
  }

  /// Reports that the connection is gone as soon as everything it brought has been handed out. If there was a
  /// reason to end it already, that is the one to report; if the application wanted to leave, the final packet
  /// must have gone out.
  @inline(never)
  mutating func settleTransportError() {
    guard case .open(let connection) = phase, let cause = connection.transportError,
      !link.isOpen(on: system), !engine.hasUndeliveredEvent
    else { return }
    guard let request = engine.closeRequest else { return end(cause) }
    if case .requested = request.cause, engine.wantsTransmit { return end(cause) }
    end(request)
  }

  /// Begins again with the same peer, in another way.
  private mutating func reopen(at now: Instant) {
    logger(.fallback, engine.versionNumber)
    link.close(on: &system)
    engine.closed()
    // What the last connection did not take does not concern the next one.
    timers.stop(.write)
    timers.stop(.linger)
    phase = .opening(pendingQuery: nil)
    proceed(link.reopen(on: &system, logger, at: now), at: now)
  }

  @inline(never)
  private mutating func end(_ request: CloseRequest<Engine.CloseDetails>) {
    end(Failure(request.cause, at: request.stage ?? stage(of: request.cause), details: request.details))
  }

  @inline(never)
  mutating func end(_ cause: FailureCause) { end(Failure(cause, at: stage(of: cause))) }

  mutating func end(_ ended: Failure) {
    var failure = ended
    checkStability(at: now)
    failures.add(failure.cause)
    logger(.ended, failure.cause.ordinal, Int(failure.stage.rawValue))
    link.close(on: &system)
    timers.stopAll(but: .stable)
    if isWanted, reconnects {
      let wait = waitForNext(failure)
      failure.retry = wait
      logger(.waiting, Int(truncatingIfNeeded: wait))
      timers.start(.retry, at: now.advanced(by: wait))
      phase = .waiting(since: now)
    } else {
      isWanted = false
      phase = .disconnected
    }
    engine.closed()
    self.failure = failure
  }

  /// A server that another one points to, and the other servers of the round, do not wait; the next round
  /// does.
  private mutating func waitForNext(_ failure: Failure) -> UInt32 {
    if follow(failure) {
      logger(.redirected, servers.count)
      return 0
    }
    let wasRedirected = redirect.isInUse
    redirect.ended(hasLasted: timers.isDue(.stable, at: now))
    if !wasRedirected, !engine.isAccepted, round.advance() { return 0 }
    beginRound()
    // The connection ended because it had done what it was for, so that is no failure.
    if case .backlog = failure.cause { backoff.reset() }
    return backoff.next(random: system.randomNumber())
  }

  private func stage(of cause: FailureCause) -> FailureStage {
    switch cause {
    case .requested: return .none
    case .keepAlive: return .keepAlive
    default: break
    }
    switch phase {
    case .disconnected, .waiting: return .none
    case .authorizing: return .credentials
    case .opening: return link.stage == .resolve ? .resolve : .connect
    case .open(let connection) where !connection.isLeaving: return engine.isAccepted ? .connected : .accept
    case .open, .closing: return .disconnect
    }
  }
}
