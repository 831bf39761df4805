// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The loops: one step, without end, in a thread, and piece by piece in a loop of the program's own.

import CMosquitto
import CPlatform
import Driver
import MQTTClient
import Transports

// MARK: One step

@c public func mosquitto_loop(_ mosq: OpaquePointer?, _ timeout: Int32, _ max_packets: Int32) -> Int32 {
  guard let instance = unsafe instance(mosq), max_packets >= 1 else { return MOSQ_ERR_INVAL }
  let result = instance.step(timeout)
  instance.lock().unlockOrFree()
  return result
}

/// Without a connection, each call reports that to on_disconnect.
@c public func mosquitto_loop_read(_ mosq: OpaquePointer?, _ max_packets: Int32) -> Int32 {
  guard let instance = unsafe instance(mosq), max_packets >= 1 else { return MOSQ_ERR_INVAL }
  var result = instance.step(0)
  var locked = instance.lock()
  if result == MOSQ_ERR_NO_CONN {
    result = locked.state.isDisconnecting ? MOSQ_ERR_SUCCESS : MOSQ_ERR_NO_CONN
    unsafe locked.callDisconnect(result, nil)
  }
  locked.unlockOrFree()
  return result
}

@c public func mosquitto_loop_write(_ mosq: OpaquePointer?, _ max_packets: Int32) -> Int32 {
  unsafe instance(mosq)?.releaseFromJournal()
  return unsafe mosquitto_loop_read(mosq, max_packets)
}

@c public func mosquitto_loop_misc(_ mosq: OpaquePointer?) -> Int32 { unsafe mosquitto_loop(mosq, 0, 1) }

@c public func mosquitto_socket(_ mosq: OpaquePointer?) -> Int32 {
  guard let instance = unsafe instance(mosq) else { return -1 }
  return instance.lock().socket
}

@c public func mosquitto_want_write(_ mosq: OpaquePointer?) -> Bool {
  guard let instance = unsafe instance(mosq) else { return false }
  return instance.lock().wantsToWrite
}

// MARK: Without end

@c public func mosquitto_loop_forever(
  _ mosq: OpaquePointer?, _ timeout: Int32, _ max_packets: Int32
) -> Int32 {
  guard let instance = unsafe instance(mosq), max_packets >= 1 else { return MOSQ_ERR_INVAL }
  let result = instance.runForever(timeout)
  instance.lock().unlockOrFree()
  return result
}

@c public func mosquitto_loop_start(_ mosq: OpaquePointer?) -> Int32 {
  guard let instance = unsafe instance(mosq) else { return MOSQ_ERR_INVAL }
  var locked = instance.lock()
  if locked.state.isReleased, locked.state.hasThreadEnded { locked.join() }
  guard locked.state.thread == 0, !locked.state.isThreaded else { return MOSQ_ERR_INVAL }
  var wanted = platform_thread()
  wanted.takes_signals = 1
  // The thread waits for the lock, and so for its own number in the state.
  let error = unsafe platform_thread_start(
    &wanted,
    { argument in
      guard let argument = unsafe argument else { return nil }
      unsafe Instance(argument.assumingMemoryBound(to: Mosquitto.self)).runThread()
      return nil
    }, instance.pointer, &locked.state.thread)
  guard error == 0 else {
    shim_set_errno(error)
    return MOSQ_ERR_ERRNO
  }
  locked.state.isThreaded = true
  return MOSQ_ERR_SUCCESS
}

/// Waits for the thread, which ends with the connection once mosquitto_disconnect() was called; with `force`
/// at once.
@c public func mosquitto_loop_stop(_ mosq: OpaquePointer?, _ force: Bool) -> Int32 {
  guard let instance = unsafe instance(mosq) else { return MOSQ_ERR_INVAL }
  var locked = instance.lock()
  let result = locked.endThread(force)
  locked.unlockOrFree()
  return result
}

extension Instance {
  /// What made `mosquitto_want_write()` true is sent.
  fileprivate func releaseFromJournal() {
    var locked = lock()
    if locked.hasClient, locked.isHeldByJournal { locked.writeJournal(hurries: true) }
  }

  func stopThread() {
    var locked = lock()
    guard locked.state.thread != 0, !locked.state.isJoining else { return }
    locked.state.isStopping = true
    locked.wake()
    locked.join()
  }

  fileprivate func runThread() {
    _ = runForever(1000)
    var locked = lock()
    locked.state.hasThreadEnded = true
    guard locked.state.isDestroyed, !locked.state.isJoining else { return }
    platform_thread_detach(locked.state.thread)
    _ = consume locked
    free()
  }

  /// Waits for something to happen, no longer than `timeout` milliseconds (-1: 1,000), and does what is due.
  fileprivate func step(_ timeout: Int32) -> Int32 {
    var locked = lock()
    let before = locked.state.loopThread
    locked.state.loopThread = platform_thread_self()
    let result = locked.step(atMost: timeout < 0 ? 1000 : timeout)
    locked.state.loopThread = before
    return result
  }

  fileprivate func runForever(_ timeout: Int32) -> Int32 {
    var failures: UInt32 = 0
    waitForHost()
    while !isOver(MOSQ_ERR_SUCCESS) {
      let result = step(timeout)
      if isOver(result) { break }
      if needsNoConnection(result, &failures) { continue }
      guard mayReconnect(after: result), !isRefusedByTLS else { return result }
      waitForNextAttempt(failures)
      failures &+= 1
      let opened = open(waits: true, isAgain: true)
      // Files of TLS that cannot be read may be on their way to be replaced.
      guard
        opened == MOSQ_ERR_SUCCESS || opened == MOSQ_ERR_TLS || mayReconnect(after: opened) || isOver(opened)
      else { return opened }
    }
    return MOSQ_ERR_SUCCESS
  }

  // In functions of their own, because the lock is given up where they return.
  private var isRefusedByTLS: Bool { lock().state.isRefusedByTLS }

  private func isOver(_ result: Int32) -> Bool { lock().isLoopOver(result) }

  private func needsNoConnection(_ result: Int32, _ failures: inout UInt32) -> Bool {
    lock().needsNoConnection(result, &failures)
  }

  /// Whether another attempt can help.
  private func mayReconnect(after result: Int32) -> Bool {
    switch result {
    case MOSQ_ERR_NOMEM, MOSQ_ERR_PROTOCOL, MOSQ_ERR_INVAL, MOSQ_ERR_NOT_FOUND, MOSQ_ERR_TLS,
      MOSQ_ERR_PAYLOAD_SIZE, MOSQ_ERR_NOT_SUPPORTED, MOSQ_ERR_AUTH, MOSQ_ERR_ACL_DENIED, MOSQ_ERR_UNKNOWN,
      MOSQ_ERR_PROXY:
      false
    default: true
    }
  }

  /// A program may start the thread before mosquitto_connect() names the host.
  private func waitForHost() {
    var locked = lock()
    while locked.state.thread != 0, unsafe locked.state.host == nil, !locked.state.isStopping,
      !locked.state.isDestroyed
    {
      locked.waitInLoop(-1, -1)
    }
  }

  /// Waits as long as no other thread connects, or disconnects.
  private func waitForNextAttempt(_ failures: UInt32) {
    var locked = lock()
    let end = platform_now_ms() &+ min(locked.delay(after: failures), 2_000_000) &* 1000
    while !locked.isUnderWay, !locked.state.isStopping, !locked.state.isDisconnecting,
      !locked.state.isDestroyed
    {
      let left = Int32(bitPattern: end &- platform_now_ms())
      guard left > 0 else { return }
      locked.waitInLoop(-1, locked.untilJournal(atMost: left))
      locked.writeJournal()
    }
  }
}

extension Mosquitto.Locked {
  fileprivate mutating func endThread(_ force: Bool) -> Int32 {
    guard state.thread != 0, !state.isJoining, !state.isReleased else { return MOSQ_ERR_INVAL }
    if force { state.isStopping = true }
    wake()
    if state.thread == platform_thread_self() { state.isReleased = true } else { join() }
    return MOSQ_ERR_SUCCESS
  }

  /// Waits, without the lock, for the thread's end.
  fileprivate mutating func join() {
    let thread = state.thread
    state.isJoining = true
    withoutLock { platform_thread_join(thread) }
    state.thread = 0
    state.isThreaded = false
    state.isJoining = false
    state.isReleased = false
    state.hasThreadEnded = false
    state.isStopping = false
  }

  fileprivate mutating func step(atMost most: Int32) -> Int32 {
    disconnectIfPending()
    if state.isOpening {
      waitInLoop(-1, most)
      return MOSQ_ERR_SUCCESS
    }
    let isDue = hasToTell
    guard hasClient, client.state != .disconnected || client.hasEvent || isDue,
      !(state.isDisconnecting && state.isEndReported)
    else {
      writeJournal()
      return MOSQ_ERR_NO_CONN
    }
    expectJournal()
    let next = isDue ? 0 : client.nextTimeout(at: client.time)
    waitInLoop(client.descriptor, next < 0 ? most : min(next, most))
    // Another thread may have made a new client meanwhile, or be about to.
    guard !state.isOpening else { return MOSQ_ERR_SUCCESS }
    service()
    disconnectIfPending()
    return dispatch()
  }

  /// A loop has something to do that the client does not know of.
  private var hasToTell: Bool { !state.deferredCallbacks.isEmpty || state.failureToTell != nil }

  fileprivate var socket: Int32 { state.isEndReported || !hasClient ? -1 : client.socket }

  fileprivate var wantsToWrite: Bool {
    guard hasClient else { return false }
    if client.isBlockedSending || isHeldByJournal { return true }
    // Any piece of a loop calls the callbacks. A socket reports that it is connected by being writable.
    if !state.isEndReported, client.hasEvent || hasToTell { return true }
    if client.link.areLayersOpening { return client.link.hasUnsent }
    return client.state == .connecting && !client.isOpen
  }

  /// The loop is to end.
  fileprivate func isLoopOver(_ result: Int32) -> Bool {
    if state.isStopping || state.isDestroyed { return true }
    return state.isDisconnecting && (state.isEndReported || result != MOSQ_ERR_SUCCESS)
  }

  /// Nothing has ended the connection, or a callback or another thread has connected.
  fileprivate func needsNoConnection(_ result: Int32, _ failures: inout UInt32) -> Bool {
    if state.isConnected { failures = 0 }
    return result == MOSQ_ERR_SUCCESS || isUnderWay
  }

  /// In seconds.
  fileprivate func delay(after failures: UInt32) -> UInt32 {
    guard state.delayMaximum > state.delay else { return state.delay }
    let factor = min(failures, 16) + 1
    return min(
      state.doublesDelay ? state.delay &* factor &* factor : state.delay &* factor, state.delayMaximum)
  }
}
