import Platform
import Storage
import Transports

/// The end of a connection: the one the application wants, and every other.
extension Driver where Engine: ~Copyable, Link: ~Copyable, System: ~Copyable {
  /// Sends the final packet when it is time, and closes when all is sent. `deadlinesCount`: the system was
  /// asked what is ready, so nothing that came in time lies there unread.
  @inline(__always)
  mutating func finishDisconnect(at now: Instant, deadlinesCount: Bool = true) {
    if isLeaving || engine.wantsClose { proceedToEnd(at: now, deadlinesCount: deadlinesCount) }
  }

  @inline(never)
  private mutating func proceedToEnd(at now: Instant, deadlinesCount: Bool) {
    guard case .open(let connection) = phase else { return }
    if connection.isLeaving, !engine.wantsClose,
      engine.isDrained || connection.leaving == .atOnce || (deadlinesCount && timers.isDue(.leave, at: now))
    {
      guard sendFinalPacket(at: now, deadlinesCount: deadlinesCount) else { return }
    }
    guard engine.wantsClose else { return }
    timers.startIfStopped(.linger, at: now.advanced(by: Self.lingerTimeout))
    let isTimeUp = deadlinesCount && timers.isDue(.linger, at: now)
    if engine.hasUnsentFinalPacket || link.hasUnsent, !isTimeUp { return }
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

  /// The next connection is to be one to the same server, in another way. A client that is leaving opens
  /// none.
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
    // An engine may wait for an answer to it, and has its own time for that.
    timers.stop(.leave)
    if !engine.wantsClose { timers.stop(.linger) }
    transmit(at: now)
    return isLive
  }

  /// Discards what the server still sends. When the server closes, the connection is over.
  @inline(never)
  mutating func discard() {
    guard case .closing = phase else { return }
    switch link.discard(on: &system) {
    // A layer that has said its last word needs no room any more.
    case .transferred, .wouldBlock: watch(readable: true, writable: false)
    case .closed, .failed, .broken: end(.requested)
    }
  }

  /// The network ended the connection. What the server had said before may still be there: acknowledgements,
  /// messages, and why it closed.
  @inline(never)
  mutating func transportEnded(_ cause: FailureCause, at now: Instant) {
    setTransportError(cause)
    // A layer may have a last word, of which as much is sent as the system takes now.
    if case .layer = cause { _ = link.flush(on: &system) }
    watch(readable: false, writable: false)
    receiveRest(at: now)
    // Servers that do not speak a version close the connection, or say so; those that refuse a certificate
    // have not seen a version.
    if !isBrokenByTLS, fallsBack() { return reopen(at: now) }
    settleTransportError()
  }

  private mutating func setTransportError(_ cause: FailureCause) {
    guard case .open(var connection) = phase else { return }
    connection.transportError = cause
    phase = .open(connection)
  }

  private var isBrokenByTLS: Bool {
    if case .open(let connection) = phase, case .layer(.tls) = connection.transportError {
      true
    } else {
      false
    }
  }

  /// Receives as long as the application has taken what came before.
  @inline(never)
  mutating func receiveRest(at now: Instant) {
    engine.peerClosed()
    while link.isOpen(on: system), engine.wantsReceive {
      let result = receiveOnce(at: now)
      if case .transferred = result { continue }
      // The peer may have said why before its system ended the connection.
      if case .broken(let layer) = result { setTransportError(.layer(layer)) }
      link.close(on: &system)
    }
    if !engine.hasUndeliveredEvent { link.close(on: &system) }
    if !link.isOpen(on: system) { engine.inputEnded(at: now) }
  }

  /// Reports that the connection is gone as soon as everything it brought has been handed out. If there was a
  /// reason to end it already, that is the one to report; if the application wanted to leave, the final
  /// packet must have gone out.
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
  @inline(never)
  @_optimize(size)
  private mutating func reopen(at now: Instant) {
    logger(.fallback, engine.versionNumber)
    link.close(on: &system)
    engine.closed()
    // What the last connection did not take does not concern the next one.
    timers.stop(.write)
    timers.stop(.linger)
    phase = .opening(pendingQuery: nil)
    proceed(Self.reopen(servers, serverIndex, over: &link, on: &system, logger, at: now), at: now)
  }

  // Static, because the compiler takes a span of one part of `self` for a hold on all of it.
  private static func reopen(
    _ servers: borrowing ServerTable, _ index: Int, over link: inout Link, on system: inout System,
    _ log: Log, at now: Instant
  ) -> Opening {
    let host = servers.host(index)
    return link.reopen(
      servers.bytes.extracting(host.offset..<host.end &+ 1), port: servers.port(index), on: &system, log,
      at: now)
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
    // In TLS 1.3 the server looks at the client's certificate when the client's handshake is over.
    if case .layer(.tls) = cause, !isOpen || (!engine.isAccepted && !isLeaving) { return .tls }
    switch phase {
    case .disconnected, .waiting: return .none
    case .authorizing: return .credentials
    case .opening: return FailureStage(link.stage)
    case .open(let connection) where !connection.isLeaving:
      return engine.isAccepted ? .connected : .accept
    case .open, .closing: return .disconnect
    }
  }
}
