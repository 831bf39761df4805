public import MQTTSession
import MQTTTransport
import MQTTWire
import Storage

/// One turn of the driver: what happened goes into the session, what the session wants goes out.
extension Client where System: ~Copyable {
  public enum WaitResult: BitwiseCopyable {
    case event
    case nothing  // the time is up, or a signal came
    case pointless  // nothing is going on, and no end was given; or the application has the transport
    case failed
  }

  /// Serves the client until there is an event; -1: as long as it takes. `untilWoken`: no longer than until another
  /// thread has wakened it.
  public mutating func wait(timeout: Int32, untilWoken: Bool = false) -> WaitResult {
    guard !hasOwnTransport else { return .pointless }
    var now = Instant(milliseconds: platform.now())
    session.release()
    let end = timeout < 0 ? nil : now.advanced(by: UInt32(timeout))
    serve(nil, at: now)
    // With events at hand there is no waiting; but whoever takes them slowly must not keep the
    // server waiting, so every millisecond there is a look at the socket.
    if hasEvent, now == lastPoll { return .event }
    if end == nil, isPointless, !hasEvent { return .pointless }

    while true {
      var pause: UInt32 = .max
      if let end { pause = end.remaining(at: now) }
      if let deadline = nextDeadline { pause = min(pause, deadline.remaining(at: now)) }
      if hasEvent || canTakeSubmissions(at: now) { pause = 0 }
      let result = platform.wait(timeout: pause == .max ? -1 : Int32(clamping: pause))
      now = Instant(milliseconds: platform.now())
      lastPoll = now
      switch result {
      case .failed: return .failed
      case .interrupted: return hasEvent ? .event : .nothing
      case .ready(let readiness):
        serve(readiness, at: now)
        if untilWoken, readiness.isReadable(.wakeUp) { return hasEvent ? .event : .nothing }
      }
      if hasEvent { return .event }
      if let end, end.isReached(at: now) { return .nothing }
      if end == nil, isPointless { return .pointless }
    }
  }

  /// Nothing will ever happen by itself, nor can another thread submit anything.
  private var isPointless: Bool { phase == .disconnected && nextDeadline == nil && !submissions.isOpen }

  /// Does what is due, without waiting. True: there is an event.
  public mutating func service(at now: Instant) -> Bool {
    session.release()
    var readiness = Readiness()
    if !hasOwnTransport, case .ready(let ready) = platform.wait(timeout: 0) { readiness = ready }
    serve(readiness, at: now)
    return hasEvent
  }

  /// Sends what is ready, and looks for nothing else. True: there is an event.
  public mutating func flush(at now: Instant) -> Bool {
    serve(nil, at: now)
    return hasEvent
  }

  /// `nil`: nobody has looked at the transport. What came in time may lie there unread, so nothing is too late yet.
  mutating func serve(_ readiness: Readiness?, at now: Instant) {
    let ready = readiness ?? Readiness()
    self.now = now
    outputSize = 0
    session.advance(to: now)
    takeSubmissions(at: now)
    if loss != nil {
      receiveRest(at: now)
      return settleLoss()
    }
    switch phase {
    case .disconnected, .waiting, .authorizing: break
    case .resolving: if ready.isReadable(.resolver) { finishResolving(at: now) }
    case .connecting: finishConnecting(ready, at: now)
    case .open:
      if ready.isWritable(lane), isBlocked {
        isBlocked = false
        note(.unblocked)
      }
      if ready.isReadable(lane) { receive(at: now) }
    case .closing: if ready.isReadable(lane) { discard() }
    }
    if readiness != nil { checkDeadlines(at: now) }
    noteTurn()
    guard phase == .open, loss == nil else { return }
    transmit(at: now)
    guard phase == .open, loss == nil else { return }
    conclude(at: now)
    watchTransport()
  }

  // MARK: Open

  private mutating func receive(at now: Instant) {
    switch receiveOnce(at: now) {
    case .moved, .later: break
    case .closed: lost(.closed, at: now)
    case .failed(let error): lost(.network(error), at: now)
    }
  }

  @inline(never)
  mutating func receiveOnce(at now: Instant) -> Transfer {
    guard session.wantsReceive else { return .later }
    let result = Self.receive(lane, of: &platform, into: &session)
    if case .moved(let count) = result {
      session.received(count, at: now)
    }
    return result
  }

  // Static, because the compiler takes a span of one part of `self` for a hold on all of it.

  private static func send(
    from session: borrowing Session, over lane: Channel, of platform: inout System
  ) -> Transfer {
    platform.send(lane, session.output)
  }

  private static func receive(
    _ lane: Channel, of platform: inout System, into session: inout Session
  ) -> Transfer {
    var space = session.receiveSpace
    return platform.receive(lane, into: &space)
  }

  mutating func transmit(at now: Instant) {
    guard !hasOwnTransport else { return }
    while !isBlocked {
      if session.pullOffset != nil { pullPayload(at: now) }
      guard session.wantsTransmit, session.prepareTransmit(at: now) else { return }
      switch Self.send(from: session, over: lane, of: &platform) {
      case .moved(let count):
        writeDeadline = nil
        session.transmitted(count, at: now)
      case .later: block(at: now)
      case .closed: return lost(.closed, at: now)
      case .failed(let error): return lost(.network(error), at: now)
      }
    }
  }

  /// The kernel takes nothing. That it says it would take something is not yet that it does.
  private mutating func block(at now: Instant) {
    isBlocked = true
    note(.blocked)
    if writeDeadline == nil, writeTimeout > 0 { writeDeadline = now.advanced(by: writeTimeout) }
  }

  mutating func unblock() {
    isBlocked = false
    writeDeadline = nil
  }

  /// Asks for the next bytes of the payload that is being sent.
  mutating func pullPayload(at now: Instant) {
    guard pullAgain == nil, let payloadSource, let offset = session.pullOffset else { return }
    switch Self.pull(from: payloadSource, offset, into: &session) {
    case .none: session.pullFailed()
    case .some(0): pullAgain = now.advanced(by: Self.pullPause)
    case .some(let count): session.pulled(count)
    }
  }

  private static func pull(
    from source: PayloadSource, _ offset: Int, into session: inout Session
  ) -> Int? {
    var space = session.pullSpace
    return source.supply(offset, into: &space)
  }

  private mutating func checkDeadlines(at now: Instant) {
    noteStability(at: now)
    // As long as its event is not taken the last connection is not over.
    if let retryDeadline, retryDeadline.isReached(at: now), failure == nil { return begin(at: now) }
    if let connectDeadline, connectDeadline.isReached(at: now) { return end(.timeout) }
    if phase == .connecting, let deadline = race.deadline, deadline.isReached(at: now) { startNext(at: now) }
    if phase == .closing, let farewellDeadline, farewellDeadline.isReached(at: now) {
      return end(.requested)
    }
    if let writeDeadline, writeDeadline.isReached(at: now) {
      // The kernel says that there is room when there is much; that it takes nothing at all is for it to say.
      isBlocked = false
      transmit(at: now)
      guard phase == .open, loss == nil else { return }
      if !isBlocked {
        // Nothing is left to send: it has expired, say.
        self.writeDeadline = nil
      } else if self.writeDeadline == writeDeadline {
        return end(Failure(cause: .timeout, stage: .write))
      }
    }
    if let deadline = session.nextDeadline, deadline.isReached(at: now) { session.timedOut(at: now) }
    if let pullAgain, pullAgain.isReached(at: now) { self.pullAgain = nil }
  }

  /// A connection that has lasted is a new beginning. No deadline: nobody has to wake up for it.
  mutating func noteStability(at now: Instant) {
    guard session.isAccepted else { return }
    connectDeadline = nil
    if stableDeadline == nil {
      stableDeadline = now.advanced(by: stableTime)
      note(.connected, Int(session.version.rawValue))
    }
    if let stableDeadline, stableDeadline.isReached(at: now) {
      backoff.reset()
      redirect.isGood()
      if !redirect.isInUse { round.isGood() }
    }
  }

  private mutating func watchTransport() {
    guard phase == .open else { return }
    isWatchingReceive = session.wantsReceive
    watch(readable: isWatchingReceive, writable: isBlocked)
  }

  mutating func watch(readable: Bool, writable: Bool) {
    guard !hasOwnTransport else { return }
    do throws(PlatformError) {
      try platform.watch(lane, readable: readable, writable: writable)
    } catch {
      end(.network(error.errno))
    }
  }
}
