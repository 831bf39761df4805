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
    session.release()
    let end = timeout < 0 ? nil : now.advanced(by: UInt32(timeout))
    serve(.init(readable: false, writable: false), at: now)
    // With events at hand there is no waiting; but whoever takes them slowly must not keep the
    // server waiting, so every millisecond there is a look at the socket.
    if hasEvent, now == lastPoll { return .event }
    if end == nil, phase == .disconnected, !hasEvent, nextDeadline == nil { return .pointless }

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
      if end == nil, phase == .disconnected, nextDeadline == nil { return .pointless }
    }
  }

  /// Does what is due, without waiting. True: there is an event.
  public mutating func service(at now: Instant) -> Bool {
    session.release()
    var readiness = Poller.Readiness(readable: false, writable: false)
    if case .ready(let ready) = poller.wait(timeout: 0) { readiness = ready }
    serve(readiness, at: now)
    return hasEvent
  }

  private mutating func serve(_ ready: Poller.Readiness, at now: Instant) {
    if loss != nil { return settleLoss() }
    switch phase {
    case .disconnected: break
    case .resolving: if ready.readable { finishResolving(at: now) }
    case .connecting: if ready.readable || ready.writable { finishConnecting(at: now) }
    case .open:
      if ready.writable { isBlocked = false }
      if ready.readable { receive(at: now) }
    case .closing: if ready.readable { discard() }
    }
    checkDeadlines(at: now)
    guard phase == .open, loss == nil else { return }
    transmit(at: now)
    guard loss == nil else { return }
    conclude(at: now)
    watchTransport()
  }

  // MARK: Opening

  private mutating func finishResolving(at now: Instant) {
    // The answer closes the descriptor.
    poller.forget()
    switch resolver.answer() {
    case .none: watch(resolver.descriptor, readable: true, writable: false)
    case .addresses(let found): open(found, at: now)
    case .noAddress(let error): end(.resolve(error))
    case .failed(let error): end(.network(error))
    }
  }

  mutating func open(_ found: platform_addresses, at now: Instant) {
    addresses = found
    nextAddress = 0
    openNext(lastError: 0, at: now)
  }

  /// Tries the addresses one after the other, until one can be waited for. Each gets half of the time
  /// that is left, the last all of it, so that one which swallows everything does not keep the others
  /// from their turn.
  private mutating func openNext(lastError: Int32, at now: Instant) {
    phase = .connecting
    var lastErrno = lastError
    while nextAddress < addresses.count {
      let isLast = nextAddress &+ 1 == addresses.count
      addressDeadline = isLast ? nil : now.advanced(by: share(at: now))
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

  private func share(at now: Instant) -> UInt32 {
    guard let connectDeadline else { return Self.addressTimeout }
    return connectDeadline.remaining(at: now) / 2
  }

  private mutating func finishConnecting(at now: Instant) {
    let error = transport.outcome()
    guard error == 0 else { return openNext(lastError: error, at: now) }
    addressDeadline = nil
    phase = .open
    isBlocked = false
    isWatchingReceive = false
    session.connectionOpened()
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
  private mutating func receiveOnce(at now: Instant) -> Transfer {
    guard session.wantsReceive else { return .later }
    let result = Self.receive(from: &transport, into: &session)
    if case .moved(let count) = result {
      session.received(count, at: now)
    }
    return result
  }

  /// The connection is broken, but what the server had said before may still be there: acknowledgements,
  /// and why it closed.
  private mutating func receiveRest(at now: Instant) {
    while case .moved = receiveOnce(at: now) {}
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
    while !isBlocked {
      if session.pullOffset != nil { pullPayload(at: now) }
      guard session.prepareTransmit(at: now) else { return }
      switch Self.send(from: session, over: &transport) {
      case .moved(let count): session.transmitted(count, at: now)
      case .later: isBlocked = true
      case .closed:
        receiveRest(at: now)
        return lost(.closed, at: now)
      case .failed(let error):
        receiveRest(at: now)
        return lost(.network(error), at: now)
      }
    }
  }

  /// Asks for the next bytes of the payload that is being sent.
  private mutating func pullPayload(at now: Instant) {
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
    if session.isAccepted { connectDeadline = nil }
    if let connectDeadline, connectDeadline.isReached(at: now) { return end(.timeout) }
    if let addressDeadline, addressDeadline.isReached(at: now), phase == .connecting {
      return openNext(lastError: Self.timedOut, at: now)
    }
    if phase == .closing, let farewellDeadline, farewellDeadline.isReached(at: now) {
      return end(.requested)
    }
    if let deadline = session.nextDeadline, deadline.isReached(at: now) { session.timedOut(at: now) }
    if let pullAgain, pullAgain.isReached(at: now) { self.pullAgain = nil }
  }

  /// ETIMEDOUT, which is what the kernel would say in the end.
  private static var timedOut: Int32 { 110 }

  /// Says goodbye when it is time, and closes when all is said.
  private mutating func conclude(at now: Instant) {
    guard phase == .open else { return }
    let isTime = leaveDeadline?.isReached(at: now) ?? false
    if isLeaving, session.ending == nil, session.isDrained || isTime {
      guard sayFarewell(at: now) else { return }
    }
    guard let ending = session.ending else { return }
    let deadline = farewellDeadline ?? now.advanced(by: Self.farewellTimeout)
    farewellDeadline = deadline
    if session.hasUnsentFarewell, !deadline.isReached(at: now) { return }
    if session.isVersionRefused, session.fallBack() { return reopen(at: now) }
    guard case .requested = ending.cause else { return end(ending) }
    // Without DISCONNECT on its way this is no farewell: the server will publish the Will.
    guard !session.hasUnsentFarewell else { return end(.timeout) }
    phase = .closing
    transport.finish()
    watch(transport.descriptor, readable: true, writable: false)
    discard()
  }

  /// False: the connection is over, or there is no room for DISCONNECT yet.
  private mutating func sayFarewell(at now: Instant) -> Bool {
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
  private mutating func discard() {
    guard phase == .closing else { return }
    switch transport.discard() {
    case .moved, .later: break
    case .closed, .failed: end(.requested)
    }
  }

  private mutating func watchTransport() {
    guard phase == .open else { return }
    isWatchingReceive = session.wantsReceive
    watch(transport.descriptor, readable: isWatchingReceive, writable: isBlocked)
  }

  private mutating func watch(_ descriptor: Int32, readable: Bool, writable: Bool) {
    // Of a descriptor that is watched for nothing epoll still tells that it is broken, again and again.
    guard readable || writable else { return poller.forget() }
    do throws(PlatformError) {
      try poller.watch(descriptor, for: .init(readable: readable, writable: writable))
    } catch {
      end(.network(error.errno))
    }
  }

  // MARK: Ending

  /// The network ended the connection. If there was a reason to end it already, that is the one to
  /// report; if the application wanted to leave, DISCONNECT must have gone out.
  private mutating func lost(_ cause: Failure.Cause, at now: Instant) {
    // Servers that do not speak a version close the connection, or say so.
    if session.ending == nil, session.isUnheard, session.fallBack() { return reopen(at: now) }
    if session.ending == nil, session.peerClosed() {
      loss = cause
      poller.forget()
      transport.close()
      return
    }
    guard let ending = session.ending else { return end(cause) }
    if case .requested = ending.cause, session.wantsTransmit { return end(cause) }
    end(ending)
  }

  /// Reports that the connection is gone as soon as everything it brought has been handed out.
  mutating func settleLoss() {
    guard let loss, !session.isDelivering else { return }
    self.loss = nil
    if let ending = session.ending { end(ending) } else { end(loss) }
  }

  /// Begins again with the same address, in another version.
  private mutating func reopen(at now: Instant) {
    poller.forget()
    transport.close()
    session.connectionClosed()
    farewellDeadline = nil
    nextAddress = nextAddress == 0 ? 0 : nextAddress &- 1
    openNext(lastError: 0, at: now)
  }

  private mutating func end(_ ending: Ending) {
    let cause: Failure.Cause =
      switch ending.cause {
      case .requested: .requested
      case .refused: .refused
      case .disconnected: .serverClosed
      case .malformed(let malformed): .malformed(malformed)
      case .violation(let violation): .violation(violation)
      case .keepAlive: .keepAlive
      case .stream: .stream
      }
    var failure = Failure(cause: cause, stage: stage(of: cause))
    failure.reasonCode = ending.reasonCode
    failure.reasonString = ending.reasonString
    failure.serverReference = ending.serverReference
    failure.properties = ending.properties
    end(failure)
  }

  mutating func end(_ cause: Failure.Cause) {
    end(Failure(cause: cause, stage: stage(of: cause)))
  }

  private mutating func end(_ failure: Failure) {
    // A look-up under way is left alone: the next attempt may use it.
    poller.forget()
    transport.close()
    session.connectionClosed()
    phase = .disconnected
    isLeaving = false
    isBlocked = false
    connectDeadline = nil
    addressDeadline = nil
    leaveDeadline = nil
    farewellDeadline = nil
    loss = nil
    pullAgain = nil
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
    case .open, .closing:
      return isLeaving ? .disconnect : session.isAccepted ? .connected : .connack
    }
  }
}
