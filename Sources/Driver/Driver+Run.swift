import Platform
public import Storage
import Transports

public enum WaitResult: BitwiseCopyable {
  case event
  case nothing  // the time is up, or a signal came
  case wouldWaitForever  // nothing is going on, and no end was given; or the application has the transport
  case failed
}

/// One step of the driver: what happened goes into the engine, what the engine wants goes out.
extension Driver where Engine: ~Copyable, Link: ~Copyable, System: ~Copyable {
  /// Keeps the connection going until there is an event; -1: as long as it takes. `untilWoken`: no longer
  /// than until another thread has wakened it.
  @_optimize(size)
  public mutating func wait(timeout: Int32, untilWoken: Bool = false) -> WaitResult {
    guard link.isPolled else { return .wouldWaitForever }
    var now = Instant(milliseconds: system.now())
    engine.release()
    let end = timeout < 0 ? nil : now.advanced(by: UInt32(timeout))
    step(nil, at: now, receives: goesOnReceiving)
    // With events to take this call does not wait. But a program that takes them slowly must not keep the
    // server waiting, so the socket is polled once in each millisecond.
    if hasEvent, now == lastPoll { return .event }
    if end == nil, wouldWaitForever, !hasEvent { return .wouldWaitForever }

    while true {
      var pause: UInt32 = .max
      if let end { pause = end.remaining(at: now) }
      if let deadline = nextDeadline { pause = min(pause, deadline.remaining(at: now)) }
      if hasEvent || engine.hasWork(at: now) || hasBufferedInput { pause = 0 }
      // Only a connection brings something that soon.
      let result = system.wait(
        timeout: pause == .max ? -1 : Int32(clamping: pause), busy: pause > 0 && isOpen ? busyPoll : 0)
      now = Instant(milliseconds: system.now())
      lastPoll = now
      switch result {
      case .failed: return .failed
      case .interrupted: return hasEvent ? .event : .nothing
      case .ready(let readiness):
        step(readiness, at: now)
        if untilWoken, readiness.isReadable(.wakeUp) { return hasEvent ? .event : .nothing }
      }
      if hasEvent { return .event }
      if let end, end.isReached(at: now) { return .nothing }
      if end == nil, wouldWaitForever { return .wouldWaitForever }
    }
  }

  /// The last receive left no space, so the rest is received without asking whether there is one: that is one
  /// system call for each full buffer.
  private var goesOnReceiving: Bool {
    @inline(__always) get { hasMore && canGoOnReceiving }
  }

  private var canGoOnReceiving: Bool {
    @inline(never) @_optimize(size) get { isLive && !hasEvent && engine.wantsReceive }
  }

  /// Nothing will ever happen by itself, nor can another thread give the engine anything to do.
  private var wouldWaitForever: Bool {
    phase.isDisconnected && nextDeadline == nil && !engine.isShared && !engine.isJournalWriting
  }

  /// Does what is due, without waiting. True: there is an event.
  public mutating func service(at now: Instant) -> Bool {
    engine.release()
    let goesOn = goesOnReceiving && now == lastPoll
    var readiness: Readiness? = nil
    if !goesOn {
      lastPoll = now
      readiness = Readiness()
      if link.isPolled, case .ready(let ready) = system.wait(timeout: 0) { readiness = ready }
    }
    step(readiness, at: now, receives: goesOn)
    return hasEvent
  }

  /// Releases the event and sends what is ready, after calls of the application. True: there is an event.
  @inline(never)
  @_optimize(size)
  public mutating func settle(at now: Instant) -> Bool {
    engine.release()
    return flush(at: now)
  }

  /// Sends what is ready, and looks for nothing else. True: there is an event.
  public mutating func flush(at now: Instant) -> Bool {
    step(nil, at: now)
    return hasEvent
  }

  /// `nil`: the system was not asked what is ready. What came in time may lie there unread, so no deadline
  /// counts yet. `receives`: there may be more to receive, whatever the system was asked.
  mutating func step(_ readiness: Readiness?, at now: Instant, receives: Bool = false) {
    let ready = readiness ?? Readiness()
    var isToldInVain = false
    self.now = now
    offeredBytes = 0
    engine.advance(to: now)
    engine.takeWork(at: now)
    switch phase {
    case .disconnected, .waiting, .authorizing: break
    case .opening: advanceOpening(ready, at: now)
    case .open(let connection):
      guard connection.transportError == nil else {
        receiveRest(at: now)
        return settleTransportError()
      }
      if connection.isBlocked, link.isWritable(ready) {
        setBlocked(false)
        logger(.unblocked)
      }
      if link.isReadable(ready) || link.hasBuffered || receives {
        isToldInVain = !engine.wantsReceive && link.isReadable(ready)
        receive(at: now)
      }
    case .closing: if link.isReadable(ready) || link.isWritable(ready) || link.hasBuffered { discard() }
    }
    if readiness != nil { checkDeadlines(at: now) }
    if engine.hasJournal, !isCallerDriven { serviceJournal(at: now) }
    if engine.hasInspection { Engine.serveReaders(of: &self, isReady: ready.isReady(.inspection), at: now) }
    if logger.isOn { engine.logStep(logger) }
    guard isLive else { return }
    transmit(at: now)
    guard isLive else { return }
    finishDisconnect(at: now, deadlinesCount: readiness != nil)
    watchTransport(isToldInVain: isToldInVain)
  }

  // What seldom happens is a function of its own, so that a step does not need the stack for it.

  @inline(never)
  private mutating func advanceOpening(_ ready: Readiness, at now: Instant) {
    proceed(link.advance(ready, on: &system, logger, at: now), at: now)
  }

  // MARK: Open

  private mutating func receive(at now: Instant) {
    switch receiveOnce(at: now) {
    case .transferred, .wouldBlock: break
    case .closed: transportEnded(.closed, at: now)
    case .failed(let error): transportEnded(.network(error), at: now)
    case .broken(let layer): transportEnded(.layer(layer), at: now)
    }
  }

  @inline(never)
  mutating func receiveOnce(at now: Instant) -> Transfer {
    guard engine.wantsReceive else { return .wouldBlock }
    let result = Self.receive(over: &link, of: &system, into: &engine, isFull: &hasMore)
    if case .transferred(let count) = result { engine.received(count, at: now) }
    return result
  }

  // Static, because the compiler takes a span of one part of `self` for a hold on all of it.
  private static func send(
    from engine: borrowing Engine, over link: inout Link, of system: inout System
  ) -> Transfer {
    let payload = engine.outputPayload
    return payload.isEmpty
      ? link.send(engine.output, on: &system) : link.send(engine.output, payload, on: &system)
  }

  private static func receive(
    over link: inout Link, of system: inout System, into engine: inout Engine, isFull: inout Bool
  ) -> Transfer {
    var space = engine.receiveSpace()
    let result = link.receive(into: &space, on: &system)
    if case .transferred(space.count) = result { isFull = true } else { isFull = false }
    return result
  }

  /// Hands bytes over until the transport takes no more, the engine has no more, or the connection ends.
  @inline(__always)
  mutating func transmit(at now: Instant) {
    // A transport of the application asks for them itself.
    if link.isPolled || link.isLayered { transmitAll(at: now) }
  }

  @inline(never)
  private mutating func transmitAll(at now: Instant) {
    while isLive, !isBlockedSending {
      if engine.wantsRefill { engine.refill(at: now) }
      guard engine.wantsTransmit, engine.prepareTransmit(at: now) else { return flushTransport(at: now) }
      let result = Self.send(from: engine, over: &link, of: &system)
      if case .wouldBlock = result, link.hasUnsent {
        // A layer has no room before the system takes some.
        let flushed = link.flush(on: &system)
        guard case .transferred = flushed else { return sendingEnded(flushed, at: now) }
        timers.stop(.write)
        continue
      }
      guard case .transferred(let count) = result else { return sendingEnded(result, at: now) }
      // What a layer has taken, the system may not have.
      if !link.hasUnsent { timers.stop(.write) }
      engine.transmitted(count, at: now)
    }
  }

  /// Hands the system what layers have taken, or say by themselves.
  @inline(never)
  @_optimize(size)
  private mutating func flushTransport(at now: Instant) {
    guard link.hasUnsent else { return }
    let result = link.flush(on: &system)
    if case .transferred = result {
      timers.stop(.write)
      guard link.hasUnsent else { return }
      return block(at: now)
    }
    sendingEnded(result, at: now)
  }

  @inline(never)
  @_optimize(size)
  private mutating func sendingEnded(_ result: Transfer, at now: Instant) {
    switch result {
    case .transferred, .wouldBlock: block(at: now)
    case .closed: transportEnded(.closed, at: now)
    case .failed(let error): transportEnded(.network(error), at: now)
    case .broken(let layer): transportEnded(.layer(layer), at: now)
    }
  }

  /// The system takes nothing. Only bytes that it takes stop the timer, not its word that it would take some.
  private mutating func block(at now: Instant) {
    // The application knows by itself what it could not send.
    guard link.isPolled else { return }
    setBlocked(true)
    logger(.blocked)
    if writeTimeout > 0 { timers.startIfStopped(.write, at: now.advanced(by: writeTimeout)) }
  }

  private mutating func setBlocked(_ isBlocked: Bool) {
    guard case .open(var connection) = phase else { return }
    connection.isBlocked = isBlocked
    phase = .open(connection)
  }

  @inline(never)
  private mutating func checkDeadlines(at now: Instant) {
    checkStability(at: now)
    // Nothing but the engine waits for anything while a connection is simply open.
    if timers.areRunning || phase.isOpening {
      guard checkTimers(at: now) else { return }
    }
    if isDue(engine.nextDeadline, at: now) || isDue(engine.refillDeadline, at: now) {
      engine.timedOut(at: now)
    }
  }

  /// Does what the driver and the transport have waited for. False: the engine has nothing to do then.
  @inline(never)
  private mutating func checkTimers(at now: Instant) -> Bool {
    if timers.isDue(.retry, at: now) {
      guard hasFailureEvent else {
        begin(at: now)
        return false
      }
      // The last connection is not over before the application has taken its end.
      timers.start(.retry, at: now)
    }
    if timers.isDue(.connect, at: now) {
      end(.timeout)
      return false
    }
    if phase.isOpening, let deadline = link.deadline, deadline.isReached(at: now) {
      proceed(link.timedOut(on: &system, logger, at: now), at: now)
    }
    if case .closing = phase, timers.isDue(.linger, at: now) {
      end(.requested)
      return false
    }
    if timers.isDue(.write, at: now) {
      let deadline = timers[.write]
      // The system tells of room only when there is much of it. An attempt shows whether it takes anything.
      setBlocked(false)
      transmit(at: now)
      guard isLive else { return false }
      if !isBlockedSending {
        // Nothing is left to send, because it has expired, for example.
        timers.stop(.write)
      } else if timers[.write] == deadline {
        end(Failure(.timeout, at: .write))
        return false
      }
    }
    return true
  }

  private func isDue(_ deadline: Instant?, at now: Instant) -> Bool { deadline?.isReached(at: now) ?? false }

  /// A connection that has lasted is a new beginning.
  mutating func checkStability(at now: Instant) {
    guard engine.isAccepted else { return }
    timers.stop(.connect)
    if !timers.isRunning(.stable) {
      timers.start(.stable, at: now.advanced(by: stableTime))
      logger(.connected, engine.versionNumber)
    }
    if timers.isDue(.stable, at: now) {
      backoff.reset()
      redirect.markGood()
      if !redirect.isInUse { round.markGood() }
      timers.start(.stable, at: now)
    }
  }

  /// `isToldInVain`: the system told of bytes for which there was no space.
  private mutating func watchTransport(isToldInVain: Bool) {
    guard link.isPolled, case .open(var connection) = phase, connection.transportError == nil else { return }
    let watch = connection.receiveWatch.next(wantsReceive: engine.wantsReceive, isToldInVain: isToldInVain)
    if connection.receiveWatch != watch {
      connection.receiveWatch = watch
      phase = .open(connection)
    }
    self.watch(readable: watch != .off, writable: connection.isBlocked)
  }

  mutating func watch(readable: Bool, writable: Bool) {
    do throws(PlatformError) {
      try link.watch(readable: readable, writable: writable, on: &system)
    } catch {
      end(.network(error.code))
    }
  }
}
