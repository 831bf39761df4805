// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The loops: one turn, for ever, in a thread, and piece by piece in a loop of the program's own.

import CMosquitto
import MQTTClient

// MARK: One turn

@c public func mosquitto_loop(_ mosq: OpaquePointer?, _ timeout: Int32, _ max_packets: Int32) -> Int32 {
  guard let instance = unsafe instance(mosq), max_packets >= 1 else { return MOSQ_ERR_INVAL }
  let result = unsafe instance.turn(timeout)
  unsafe instance.freeIfDestroyed()
  return result
}

@c public func mosquitto_loop_read(_ mosq: OpaquePointer?, _ max_packets: Int32) -> Int32 {
  guard let instance = unsafe instance(mosq), max_packets >= 1 else { return MOSQ_ERR_INVAL }
  let result = unsafe instance.turn(0)
  unsafe instance.freeIfDestroyed()
  return result
}

@c public func mosquitto_loop_write(_ mosq: OpaquePointer?, _ max_packets: Int32) -> Int32 {
  unsafe mosquitto_loop_read(mosq, max_packets)
}

@c public func mosquitto_loop_misc(_ mosq: OpaquePointer?) -> Int32 { unsafe mosquitto_loop_read(mosq, 1) }

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
  return unsafe instance.pointee.client?.pointee.isBlockedSending ?? false
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
  guard let instance = unsafe instance(mosq), unsafe instance.pointee.thread == nil else {
    return MOSQ_ERR_INVAL
  }
  unsafe instance.pointee.isStopping = false
  unsafe instance.pointee.isThreaded = true
  unsafe instance.pointee.thread = unsafe shim_thread(
    { argument in
      guard let argument = unsafe argument else { return }
      _ = unsafe Instance(OpaquePointer(argument)).turnForever(1000)
    }, unsafe instance)
  guard unsafe instance.pointee.thread == nil else { return MOSQ_ERR_SUCCESS }
  unsafe instance.pointee.isThreaded = false
  return MOSQ_ERR_ERRNO
}

/// Waits for the thread, which ends with the connection once mosquitto_disconnect() was called; with `force` at once.
@c public func mosquitto_loop_stop(_ mosq: OpaquePointer?, _ force: Bool) -> Int32 {
  guard let instance = unsafe instance(mosq), let thread = unsafe instance.pointee.thread else {
    return MOSQ_ERR_INVAL
  }
  unsafe instance.lock()
  if force { unsafe instance.pointee.isStopping = true }
  unsafe instance.wake()
  unsafe instance.unlock()
  unsafe shim_join(thread)
  unsafe instance.pointee.thread = nil
  unsafe instance.pointee.isThreaded = false
  return MOSQ_ERR_SUCCESS
}

extension UnsafeMutablePointer where Pointee == Mosquitto {
  func stopThread() {
    if unsafe pointee.thread != nil { _ = unsafe mosquitto_loop_stop(handle, true) }
  }

  func freeIfDestroyed() {
    if unsafe pointee.isDestroyed, unsafe pointee.caller == 0, unsafe pointee.thread == nil { unsafe free() }
  }

  /// Waits for something to happen, no longer than `timeout` milliseconds (-1: 1,000), and does what is due.
  fileprivate func turn(_ timeout: Int32) -> Int32 {
    unsafe lock()
    guard let client = unsafe pointee.client,
      unsafe client.pointee.state != .disconnected || client.pointee.hasEvent,
      unsafe !(pointee.isLeaving && pointee.isEndTold)
    else {
      unsafe unlock()
      return MOSQ_ERR_NO_CONN
    }
    let next = unsafe client.pointee.nextTimeout(at: client.pointee.time)
    let most = timeout < 0 ? 1000 : timeout
    let descriptor = unsafe client.pointee.descriptor
    unsafe unlock()
    if unsafe shim_poll(descriptor, pointee.event, next < 0 ? most : min(next, most)) & 2 != 0 {
      unsafe shim_calm(pointee.event)
    }
    unsafe lock()
    // Another thread may have made a new one meanwhile.
    if let client = unsafe pointee.client { _ = unsafe client.pointee.service(at: client.pointee.time) }
    unsafe unlock()
    return unsafe dispatch()
  }

  fileprivate func turnForever(_ timeout: Int32) -> Int32 {
    var failures: UInt32 = 0
    while true {
      var result = MOSQ_ERR_SUCCESS
      while result == MOSQ_ERR_SUCCESS, unsafe !pointee.isStopping {
        result = unsafe turn(timeout)
        if unsafe pointee.isConnected { failures = 0 }
        if unsafe pointee.isLeaving, unsafe pointee.isEndTold { return MOSQ_ERR_SUCCESS }
      }
      if unsafe pointee.isStopping || pointee.isLeaving { return MOSQ_ERR_SUCCESS }
      guard unsafe mayGoOn(after: result) else { return result }
      unsafe waitForNextAttempt(failures)
      failures &+= 1
      if unsafe pointee.isStopping || pointee.isLeaving { return MOSQ_ERR_SUCCESS }
      guard unsafe pointee.host != nil else { return MOSQ_ERR_INVAL }
      let opened = unsafe open(waits: true)
      guard unsafe opened == MOSQ_ERR_SUCCESS || mayGoOn(after: opened) else { return opened }
    }
  }

  /// Whether another attempt can help.
  private func mayGoOn(after result: Int32) -> Bool {
    switch result {
    case MOSQ_ERR_NOMEM, MOSQ_ERR_PROTOCOL, MOSQ_ERR_INVAL, MOSQ_ERR_NOT_FOUND, MOSQ_ERR_TLS,
      MOSQ_ERR_PAYLOAD_SIZE, MOSQ_ERR_NOT_SUPPORTED, MOSQ_ERR_AUTH, MOSQ_ERR_ACL_DENIED, MOSQ_ERR_UNKNOWN,
      MOSQ_ERR_EAI, MOSQ_ERR_PROXY:
      false
    default: true
    }
  }

  private func waitForNextAttempt(_ failures: UInt32) {
    var seconds = unsafe pointee.delay
    if unsafe pointee.delayMaximum > pointee.delay {
      let factor = min(failures, 16)
      seconds = unsafe pointee.doublesDelay ? seconds &* (1 << factor) : seconds &* (factor + 1)
      seconds = unsafe min(seconds, pointee.delayMaximum)
    }
    if unsafe shim_poll(-1, pointee.event, Int32(clamping: seconds &* 1000)) != 0 {
      unsafe shim_calm(pointee.event)
    }
  }
}
