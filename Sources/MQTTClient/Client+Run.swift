import CPlatform
public import MQTTSession
import MQTTTransport

/// One turn of the driver: what happened goes into the session, what the session wants goes out.
extension Client {
  public enum WaitResult: BitwiseCopyable {
    case event
    case nothing  // the time is up, or a signal came
    case pointless  // nothing is going on, and no end was given
    case failed
  }

  /// Serves the client until there is an event; -1: as long as it takes.
  public mutating func wait(timeout: Int32) -> WaitResult {
    var now = Instant(milliseconds: Clock.milliseconds())
    let end = timeout < 0 ? nil : now.advanced(by: UInt32(timeout))
    serve(.init(readable: false, writable: false), at: now)
    // With events at hand there is no waiting; but whoever takes them slowly must not keep the
    // server waiting, so every millisecond there is a look at the socket.
    if hasEvent, now == lastPoll { return .event }
    if end == nil, phase == .disconnected, !hasEvent { return .pointless }

    while true {
      var pause: UInt32 = .max
      if let end { pause = end.remaining(at: now) }
      if let deadline = nextDeadline { pause = min(pause, deadline.remaining(at: now)) }
      if hasEvent { pause = 0 }
      let result = poller.wait(timeout: pause == .max ? -1 : Int32(clamping: pause))
      now = Instant(milliseconds: Clock.milliseconds())
      lastPoll = now
      switch result {
      case .failed: return .failed
      case .interrupted: return hasEvent ? .event : .nothing
      case .ready(let readiness): serve(readiness, at: now)
      }
      if hasEvent { return .event }
      if let end, end.isReached(at: now) { return .nothing }
      if end == nil, phase == .disconnected { return .pointless }
    }
  }

  /// Does what is due, without waiting. True: there is an event.
  public mutating func service(at now: Instant) -> Bool {
    var readiness = Poller.Readiness(readable: false, writable: false)
    if case .ready(let ready) = poller.wait(timeout: 0) { readiness = ready }
    serve(readiness, at: now)
    return hasEvent
  }

  private mutating func serve(_ ready: Poller.Readiness, at now: Instant) {
    switch phase {
    case .disconnected: return
    case .resolving: if ready.readable { finishResolving() }
    case .connecting: if ready.readable || ready.writable { finishConnecting() }
    case .open:
      if ready.writable { isBlocked = false }
      if ready.readable { receive(at: now) }
    }
    checkDeadlines(at: now)
    guard phase == .open else { return }
    transmit(at: now)
    conclude(at: now)
    watchTransport()
  }

  // MARK: Opening

  private mutating func finishResolving() {
    switch resolver.answer() {
    case .none: break
    case .addresses(let found):
      poller.forget()
      open(found)
    case .failed(let error): end(.resolve(error))
    }
  }

  mutating func open(_ found: platform_addresses) {
    addresses = found
    nextAddress = 0
    openNext(lastError: 0)
  }

  /// Tries the addresses one after the other, until one can be waited for.
  private mutating func openNext(lastError: Int32) {
    phase = .connecting
    var lastErrno = lastError
    while nextAddress < addresses.count {
      poller.forget()
      do throws(PlatformError) {
        defer { nextAddress += 1 }
        try transport.connect(to: addresses, at: nextAddress)
        try poller.watch(transport.descriptor, for: .init(readable: false, writable: true))
        return
      } catch {
        transport.close()
        lastErrno = error.errno
      }
    }
    end(.network(lastErrno))
  }

  private mutating func finishConnecting() {
    let error = transport.outcome()
    guard error == 0 else { return openNext(lastError: error) }
    phase = .open
    isBlocked = false
    session.connectionOpened()
  }

  // MARK: Open

  private mutating func receive(at now: Instant) {
    guard session.wantsReceive else { return }
    let result = Self.receive(from: &transport, into: &session)
    switch result {
    case .moved(let count):
      session.received(count, at: now)
      if session.isAccepted { connectDeadline = nil }
    case .later: break
    case .closed: lost(.closed)
    case .failed(let error): lost(.network(error))
    }
  }

  // Static, because the compiler takes a span of one part of `self` for a hold on all of it.

  private static func send(
    from session: borrowing Session, over transport: inout TCPTransport
  ) -> Transfer {
    transport.send(session.output)
  }

  private static func receive(
    from transport: inout TCPTransport, into session: inout Session
  ) -> Transfer {
    var space = session.receiveSpace
    return transport.receive(into: &space)
  }

  private mutating func transmit(at now: Instant) {
    while !isBlocked, session.prepareTransmit() {
      switch Self.send(from: session, over: &transport) {
      case .moved(let count): session.transmitted(count, at: now)
      case .later: isBlocked = true
      case .closed: return lost(.closed)
      case .failed(let error): return lost(.network(error))
      }
    }
  }

  private mutating func checkDeadlines(at now: Instant) {
    if let connectDeadline, connectDeadline.isReached(at: now) {
      return end(.timeout)
    }
    if let deadline = session.nextDeadline, deadline.isReached(at: now) { session.timedOut(at: now) }
  }

  /// Says goodbye when it is time, and closes when all is said.
  private mutating func conclude(at now: Instant) {
    guard phase == .open else { return }
    let isTime = leaveDeadline?.isReached(at: now) ?? false
    if isLeaving, session.ending == nil, session.isDrained || isTime {
      session.disconnect()
      transmit(at: now)
      guard phase == .open else { return }
      leaveDeadline = now.advanced(by: Self.farewellTimeout)
    }
    guard let ending = session.ending else { return }
    if session.wantsTransmit, leaveDeadline == nil { leaveDeadline = now.advanced(by: Self.farewellTimeout) }
    if session.wantsTransmit, let leaveDeadline, !leaveDeadline.isReached(at: now) { return }
    end(ending)
  }

  private mutating func watchTransport() {
    guard phase == .open else { return }
    do throws(PlatformError) {
      try poller.watch(
        transport.descriptor, for: .init(readable: session.wantsReceive, writable: isBlocked))
    } catch {
      lost(.network(error.errno))
    }
  }

  // MARK: Ending

  /// The network ended the connection. If the last word was said, that is no failure.
  private mutating func lost(_ cause: Failure.Cause) {
    if let ending = session.ending, !session.wantsTransmit { return end(ending) }
    end(cause)
  }

  private mutating func end(_ ending: Ending) {
    let cause: Failure.Cause =
      switch ending.cause {
      case .requested: .requested
      case .refused: .refused
      case .disconnected: .serverClosed
      case .malformed: .malformed
      case .protocolError: .protocolError
      case .receivedTooLarge: .receivedTooLarge
      case .keepAlive: .keepAlive
      }
    var failure = Failure(cause: cause, stage: stage(of: cause))
    failure.reasonCode = ending.reasonCode
    failure.reasonString = ending.reasonString
    failure.serverReference = ending.serverReference
    end(failure)
  }

  mutating func end(_ cause: Failure.Cause) {
    end(Failure(cause: cause, stage: stage(of: cause)))
  }

  private mutating func end(_ failure: Failure) {
    poller.forget()
    resolver.cancel()
    transport.close()
    session.connectionClosed()
    phase = .disconnected
    isLeaving = false
    isBlocked = false
    connectDeadline = nil
    leaveDeadline = nil
    self.failure = failure
  }

  private func stage(of cause: Failure.Cause) -> Failure.Stage {
    switch cause {
    case .requested: return .none
    case .keepAlive: return .keepAlive
    default: break
    }
    switch phase {
    case .disconnected: return .none
    case .resolving: return .resolve
    case .connecting: return .connect
    case .open: return isLeaving ? .disconnect : session.isAccepted ? .connected : .connack
    }
  }
}
