import MQTTSession
import MQTTTransport
import MQTTWire

/// The end of a connection: the one the application wants, and every other.
extension Client where System: ~Copyable {
  /// Says goodbye when it is time, and closes when all is said.
  mutating func conclude(at now: Instant) {
    guard phase == .open else { return }
    let isTime = leaveDeadline?.isReached(at: now) ?? false
    if isLeaving, session.closeReason == nil, isDrained || isTime {
      guard queueDisconnect(at: now) else { return }
    }
    guard let ending = session.closeReason else { return }
    let deadline = farewellDeadline ?? now.advanced(by: Self.farewellTimeout)
    farewellDeadline = deadline
    if session.hasUnsentDisconnect, !deadline.isReached(at: now) { return }
    if fallsBack() { return reopen(at: now) }
    guard case .requested = ending.cause else { return end(ending) }
    // Without DISCONNECT on its way this is no farewell: the server will publish the Will.
    guard !session.hasUnsentDisconnect else { return end(.timeout) }
    guard !hasOwnTransport else { return end(.requested) }
    phase = .closing
    platform.finish(lane)
    watch(readable: true, writable: false)
    discard()
  }

  /// Whether the next connection is to use an older version. A client that is disconnecting opens no other.
  private mutating func fallsBack() -> Bool {
    !isLeaving && session.serverRejectedVersion && session.fallBack()
  }

  /// False: the connection is over, or there is no room for DISCONNECT yet.
  private mutating func queueDisconnect(at now: Instant) -> Bool {
    if !session.disconnect() {
      // What is in its way goes first, for as long as a farewell may take.
      let deadline = farewellDeadline ?? now.advanced(by: Self.farewellTimeout)
      farewellDeadline = deadline
      transmit(at: now)
      guard phase == .open, loss == nil else { return false }
      if !session.disconnect() {
        if deadline.isReached(at: now) { end(.timeout) }
        return false
      }
    }
    transmit(at: now)
    return phase == .open && loss == nil
  }

  /// What the server still says is of no interest; that it closes is.
  mutating func discard() {
    guard phase == .closing else { return }
    switch platform.discard(lane) {
    case .moved, .later: break
    case .closed, .failed: end(.requested)
    }
  }

  /// The network ended the connection. What the server had said before may still be there: acknowledgements,
  /// messages, and why it closed.
  mutating func lost(_ cause: Failure.Cause, at now: Instant) {
    loss = cause
    watch(readable: false, writable: false)
    receiveRest(at: now)
    // Servers that do not speak a version close the connection, or say so.
    if fallsBack() { return reopen(at: now) }
    settleLoss()
  }

  /// As far as the application has taken what came before.
  mutating func receiveRest(at now: Instant) {
    session.peerClosed()
    while platform.isOpen(lane), session.wantsReceive {
      if case .moved = receiveOnce(at: now) { continue }
      platform.close(lane)
    }
    if !session.hasUndeliveredEvent { platform.close(lane) }
  }

  /// Reports that the connection is gone as soon as everything it brought has been handed out. If there was a reason
  /// to end it already, that is the one to report; if the application wanted to leave, DISCONNECT must have gone out.
  mutating func settleLoss() {
    guard let loss, !platform.isOpen(lane), !session.hasUndeliveredEvent else { return }
    guard let ending = session.closeReason else { return end(loss) }
    if case .requested = ending.cause, session.wantsTransmit { return end(loss) }
    end(ending)
  }

  /// Begins again with the same address, in another version.
  private mutating func reopen(at now: Instant) {
    note(.fallback, Int(session.version.rawValue))
    platform.close(lane)
    session.connectionClosed()
    // What the last connection did not take is no affair of the next.
    unblock()
    loss = nil
    farewellDeadline = nil
    guard !hasOwnTransport else { return askForTransport() }
    race.beginAgain(with: lane)
    startNext(at: now)
  }

  private mutating func end(_ ending: CloseReason) {
    let cause: Failure.Cause =
      switch ending.cause {
      case .requested: .requested
      case .refused: .refused
      case .disconnected: .serverClosed
      case .malformed(let malformed): .malformed(malformed)
      case .violation(let violation): .violation(violation)
      case .backlog: .backlog
      case .keepAlive: .keepAlive
      case .ackTimeout: .timeout
      case .stream: .stream
      }
    var failure = Failure(cause: cause, stage: stage(of: cause))
    if case .ackTimeout = ending.cause { failure = Failure(cause: cause, stage: .answer) }
    failure.reasonCode = ending.reasonCode
    failure.reasonString = ending.reasonString
    failure.serverReference = ending.serverReference
    failure.properties = ending.properties
    end(failure)
  }

  mutating func end(_ cause: Failure.Cause) {
    end(Failure(cause: cause, stage: stage(of: cause)))
  }

  mutating func end(_ ended: Failure) {
    var failure = ended
    noteStability(at: now)
    endings.add(failure.cause)
    note(.ended, failure.cause.ordinal, Int(failure.stage.rawValue))
    // A look-up under way is left alone: the next attempt may use it.
    for index in 0..<Channel.lanes { platform.close(.lane(index)) }
    _ = try? platform.watch(.resolver, readable: false, writable: false)
    if isWanted, reconnects {
      let wait = waitForNext(failure)
      failure.retry = wait
      note(.waiting, Int(truncatingIfNeeded: wait))
      retrySince = now
      retryDeadline = now.advanced(by: wait)
      phase = .waiting
    } else {
      isWanted = false
      retryDeadline = nil
      phase = .disconnected
    }
    session.connectionClosed()
    isLeaving = false
    unblock()
    isQuestionOpen = false
    connectDeadline = nil
    leaveDeadline = nil
    farewellDeadline = nil
    loss = nil
    pullAgain = nil
    self.failure = failure
  }

  /// A server that another one points to, and the other servers of the round, do not wait; the next round does.
  private mutating func waitForNext(_ failure: Failure) -> UInt32 {
    if follow(failure) {
      note(.redirected, servers.count)
      return 0
    }
    let wasRedirected = redirect.isInUse
    redirect.ended(hasLasted: stableDeadline?.isReached(at: now) ?? false)
    if !wasRedirected, !session.isAccepted, round.advance() { return 0 }
    beginRound()
    // That connection did what it was for.
    if case .backlog = failure.cause { backoff.reset() }
    return backoff.next(random: platform.randomNumber())
  }

  private func stage(of cause: Failure.Cause) -> Failure.Stage {
    switch cause {
    case .requested: return .none
    case .keepAlive: return .keepAlive
    default: break
    }
    switch phase {
    case .disconnected, .waiting: return .none
    case .authorizing: return .credentials
    case .resolving: return .resolve
    case .connecting: return .connect
    case .open, .closing:
      return isLeaving ? .disconnect : session.isAccepted ? .connected : .connack
    }
  }
}
