// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The loops: one turn, for ever, in a thread, and piece by piece in a loop of the program's own.

import CMosquitto
import CPlatform
import Driver
import MQTTClient

// MARK: One turn

@c public func mosquitto_loop(_ mosq: OpaquePointer?, _ timeout: Int32, _ max_packets: Int32) -> Int32 {
  guard let instance = unsafe instance(mosq), max_packets >= 1 else { return MOSQ_ERR_INVAL }
  let result = unsafe instance.turn(timeout)
  unsafe instance.freeIfDestroyed()
  return result
}

/// Without a connection, on_disconnect is told so each time.
@c public func mosquitto_loop_read(_ mosq: OpaquePointer?, _ max_packets: Int32) -> Int32 {
  guard let instance = unsafe instance(mosq), max_packets >= 1 else { return MOSQ_ERR_INVAL }
  var result = unsafe instance.turn(0)
  if result == MOSQ_ERR_NO_CONN { result = unsafe instance.tellNoConnection() }
  unsafe instance.freeIfDestroyed()
  return result
}

@c public func mosquitto_loop_write(_ mosq: OpaquePointer?, _ max_packets: Int32) -> Int32 {
  unsafe mosquitto_loop_read(mosq, max_packets)
}

@c public func mosquitto_loop_misc(_ mosq: OpaquePointer?) -> Int32 { unsafe mosquitto_loop(mosq, 0, 1) }

@c public func mosquitto_socket(_ mosq: OpaquePointer?) -> Int32 {
  guard let instance = unsafe instance(mosq) else { return -1 }
  unsafe instance.lock()
  defer { unsafe instance.unlock() }
  return unsafe instance.pointee.isEndTold ? -1 : instance.pointee.client?.pointee.socket ?? -1
}

@c public func mosquitto_want_write(_ mosq: OpaquePointer?) -> Bool {
  guard let instance = unsafe instance(mosq) else { return false }
  unsafe instance.lock()
  defer { unsafe instance.unlock() }
  guard let client = unsafe instance.pointee.client else { return false }
  // A socket says that it stands by taking something; and what is to be told is told by whatever piece of a loop.
  return unsafe client.pointee.isBlockedSending
    || !instance.pointee.isEndTold && (client.pointee.hasEvent || instance.pointee.owed != nil)
    || client.pointee.state == .connecting && !client.pointee.isOpen
}

// MARK: For ever

@c public func mosquitto_loop_forever(
  _ mosq: OpaquePointer?, _ timeout: Int32, _ max_packets: Int32
) -> Int32 {
  guard let instance = unsafe instance(mosq), max_packets >= 1 else { return MOSQ_ERR_INVAL }
  let result = unsafe instance.turnForever(timeout)
  unsafe instance.freeIfDestroyed()
  return result
}

@c public func mosquitto_loop_start(_ mosq: OpaquePointer?) -> Int32 {
  guard let instance = unsafe instance(mosq) else { return MOSQ_ERR_INVAL }
  unsafe instance.lock()
  defer { unsafe instance.unlock() }
  if unsafe instance.pointee.isReleased, unsafe instance.pointee.hasThreadEnded { unsafe instance.join() }
  guard unsafe instance.pointee.thread == 0, unsafe !instance.pointee.isThreaded else {
    return MOSQ_ERR_INVAL
  }
  // The thread waits for the lock, and so for its handle.
  var wanted = platform_thread()
  wanted.takes_signals = 1
  let error = unsafe platform_thread_start(
    &wanted,
    { argument in
      guard let argument = unsafe argument else { return nil }
      unsafe Instance(OpaquePointer(argument)).runThread()
      return nil
    }, instance, &instance.pointee.thread)
  guard error == 0 else {
    shim_set_errno(error)
    return MOSQ_ERR_ERRNO
  }
  unsafe instance.pointee.isThreaded = true
  return MOSQ_ERR_SUCCESS
}

/// Waits for the thread, which ends with the connection once mosquitto_disconnect() was called; with `force` at once.
@c public func mosquitto_loop_stop(_ mosq: OpaquePointer?, _ force: Bool) -> Int32 {
  guard let instance = unsafe instance(mosq) else { return MOSQ_ERR_INVAL }
  let result = unsafe instance.endThread(force)
  unsafe instance.freeIfDestroyed()
  return result
}

extension UnsafeMutablePointer where Pointee == Mosquitto {
  func stopThread() {
    unsafe lock()
    defer { unsafe unlock() }
    guard unsafe pointee.thread != 0, unsafe !pointee.isJoining else { return }
    unsafe pointee.isStopping = true
    unsafe wake()
    unsafe join()
  }

  fileprivate func endThread(_ force: Bool) -> Int32 {
    unsafe lock()
    defer { unsafe unlock() }
    guard unsafe pointee.thread != 0, unsafe !pointee.isJoining, unsafe !pointee.isReleased else {
      return MOSQ_ERR_INVAL
    }
    if force { unsafe pointee.isStopping = true }
    unsafe wake()
    if unsafe pointee.thread == platform_thread_self() {
      unsafe pointee.isReleased = true
    } else {
      unsafe join()
    }
    return MOSQ_ERR_SUCCESS
  }

  /// Waits for the thread's end, without the lock, which is held before and afterwards.
  fileprivate func join() {
    let thread = unsafe pointee.thread
    unsafe pointee.isJoining = true
    unsafe unlock()
    platform_thread_join(thread)
    unsafe lock()
    unsafe pointee.thread = 0
    unsafe pointee.isThreaded = false
    unsafe pointee.isJoining = false
    unsafe pointee.isReleased = false
    unsafe pointee.hasThreadEnded = false
    unsafe pointee.isStopping = false
  }

  fileprivate func runThread() {
    _ = unsafe turnForever(1000)
    unsafe lock()
    unsafe pointee.hasThreadEnded = true
    let isDestroyed = unsafe pointee.isDestroyed && !pointee.isJoining
    if isDestroyed { unsafe platform_thread_detach(pointee.thread) }
    unsafe unlock()
    if isDestroyed { unsafe free() }
  }

  /// What mosquitto_destroy() left to the function in whose callback it was called.
  func freeIfDestroyed() {
    unsafe lock()
    unsafe unlockOrFree()
  }

  /// The same with the lock held, which is held no more afterwards: from then on another thread may destroy the instance.
  func unlockOrFree() {
    let isFree =
      unsafe pointee.isDestroyed && pointee.callers == nil && pointee.thread == 0 && pointee.looper == 0
    unsafe unlock()
    if isFree { unsafe free() }
  }

  /// Waits for something to happen, no longer than `timeout` milliseconds (-1: 1,000), and does what is due.
  fileprivate func turn(_ timeout: Int32) -> Int32 {
    unsafe lock()
    let looper = unsafe pointee.looper
    unsafe pointee.looper = platform_thread_self()
    defer {
      unsafe pointee.looper = looper
      unsafe unlock()
    }
    unsafe leaveAsWished()
    let most = timeout < 0 ? 1000 : timeout
    if unsafe pointee.isOpening {
      unsafe wait(-1, most)
      return MOSQ_ERR_SUCCESS
    }
    guard let client = unsafe pointee.client,
      unsafe client.pointee.state != .disconnected || client.pointee.hasEvent || pointee.owed != nil,
      unsafe !(pointee.isLeaving && pointee.isEndTold)
    else { return MOSQ_ERR_NO_CONN }
    let next = unsafe pointee.owed != nil ? 0 : client.pointee.nextTimeout(at: client.pointee.time)
    unsafe wait(client.pointee.descriptor, next < 0 ? most : min(next, most))
    // Another thread may have made a new one meanwhile, or be about to.
    guard unsafe !pointee.isOpening else { return MOSQ_ERR_SUCCESS }
    if let client = unsafe pointee.client { _ = unsafe client.pointee.service(at: client.pointee.time) }
    unsafe leaveAsWished()
    return unsafe dispatch()
  }

  fileprivate func tellNoConnection() -> Int32 {
    unsafe lock()
    defer { unsafe unlock() }
    let result = unsafe pointee.isLeaving ? MOSQ_ERR_SUCCESS : MOSQ_ERR_NO_CONN
    unsafe tellEnd(result, nil)
    return result
  }

  fileprivate func turnForever(_ timeout: Int32) -> Int32 {
    var failures: UInt32 = 0
    unsafe waitForHost()
    while unsafe !isOver(MOSQ_ERR_SUCCESS) {
      let result = unsafe turn(timeout)
      if unsafe isOver(result) { break }
      if unsafe isGoingOn(result, &failures) { continue }
      guard unsafe mayGoOn(after: result) else { return result }
      unsafe waitForNextAttempt(failures)
      failures &+= 1
      let opened = unsafe open(waits: true, isAgain: true)
      guard unsafe opened == MOSQ_ERR_SUCCESS || mayGoOn(after: opened) || isOver(opened) else {
        return opened
      }
    }
    return MOSQ_ERR_SUCCESS
  }

  /// The loop is to end.
  private func isOver(_ result: Int32) -> Bool {
    unsafe lock()
    defer { unsafe unlock() }
    if unsafe pointee.isStopping || pointee.isDestroyed { return true }
    return unsafe pointee.isLeaving && (pointee.isEndTold || result != MOSQ_ERR_SUCCESS)
  }

  /// There is no need to connect: nothing has happened, or a callback or another thread did.
  private func isGoingOn(_ result: Int32, _ failures: inout UInt32) -> Bool {
    unsafe lock()
    defer { unsafe unlock() }
    if unsafe pointee.isConnected { failures = 0 }
    return unsafe result == MOSQ_ERR_SUCCESS || isUnderWay
  }

  /// Whether another attempt can help.
  private func mayGoOn(after result: Int32) -> Bool {
    switch result {
    case MOSQ_ERR_NOMEM, MOSQ_ERR_PROTOCOL, MOSQ_ERR_INVAL, MOSQ_ERR_NOT_FOUND, MOSQ_ERR_TLS,
      MOSQ_ERR_PAYLOAD_SIZE, MOSQ_ERR_NOT_SUPPORTED, MOSQ_ERR_AUTH, MOSQ_ERR_ACL_DENIED, MOSQ_ERR_UNKNOWN,
      MOSQ_ERR_PROXY:
      false
    default: true
    }
  }

  /// A thread may be started before mosquitto_connect() says whereto.
  private func waitForHost() {
    unsafe lock()
    defer { unsafe unlock() }
    while unsafe pointee.thread != 0, unsafe pointee.host == nil, unsafe !pointee.isStopping,
      unsafe !pointee.isDestroyed
    {
      unsafe wait(-1, -1)
    }
  }

  /// As long as nobody else connects, or wants to leave.
  private func waitForNextAttempt(_ failures: UInt32) {
    unsafe lock()
    defer { unsafe unlock() }
    var seconds = unsafe pointee.delay
    if unsafe pointee.delayMaximum > pointee.delay {
      let factor = min(failures, 16)
      seconds =
        unsafe pointee.doublesDelay ? seconds &* (factor + 1) &* (factor + 1) : seconds &* (factor + 1)
      seconds = unsafe min(seconds, pointee.delayMaximum)
    }
    let end = platform_now_ms() &+ min(seconds, 2_000_000) &* 1000
    while unsafe !isUnderWay, unsafe !pointee.isStopping, unsafe !pointee.isLeaving,
      unsafe !pointee.isDestroyed
    {
      let left = Int32(bitPattern: end &- platform_now_ms())
      guard left > 0 else { return }
      unsafe wait(-1, left)
    }
  }
}
