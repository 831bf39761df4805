// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// These connect and disconnect.

import CMosquitto
import CPlatform
import Driver
import MQTTClient
import MQTTSession
import Platform

// MARK: Connect

@c public func mosquitto_connect(
  _ mosq: OpaquePointer?, _ host: UnsafePointer<CChar>?, _ port: Int32, _ keepalive: Int32
) -> Int32 {
  unsafe connect(mosq, host, port, keepalive, nil, nil, waits: true)
}

@c public func mosquitto_connect_bind(
  _ mosq: OpaquePointer?, _ host: UnsafePointer<CChar>?, _ port: Int32, _ keepalive: Int32,
  _ bind_address: UnsafePointer<CChar>?
) -> Int32 {
  unsafe connect(mosq, host, port, keepalive, bind_address, nil, waits: true)
}

@c public func mosquitto_connect_bind_v5(
  _ mosq: OpaquePointer?, _ host: UnsafePointer<CChar>?, _ port: Int32, _ keepalive: Int32,
  _ bind_address: UnsafePointer<CChar>?, _ properties: OpaquePointer?
) -> Int32 {
  unsafe connect(mosq, host, port, keepalive, bind_address, properties, waits: true)
}

@c public func mosquitto_connect_async(
  _ mosq: OpaquePointer?, _ host: UnsafePointer<CChar>?, _ port: Int32, _ keepalive: Int32
) -> Int32 {
  unsafe connect(mosq, host, port, keepalive, nil, nil, waits: false)
}

@c public func mosquitto_connect_bind_async(
  _ mosq: OpaquePointer?, _ host: UnsafePointer<CChar>?, _ port: Int32, _ keepalive: Int32,
  _ bind_address: UnsafePointer<CChar>?
) -> Int32 {
  unsafe connect(mosq, host, port, keepalive, bind_address, nil, waits: false)
}

/// Debian builds libmosquitto without it, too.
@c public func mosquitto_connect_srv(
  _ mosq: OpaquePointer?, _ host: UnsafePointer<CChar>?, _ keepalive: Int32,
  _ bind_address: UnsafePointer<CChar>?
) -> Int32 { MOSQ_ERR_NOT_SUPPORTED }

@c public func mosquitto_reconnect(_ mosq: OpaquePointer?) -> Int32 {
  unsafe instance(mosq)?.open(waits: true) ?? MOSQ_ERR_INVAL
}

@c public func mosquitto_reconnect_async(_ mosq: OpaquePointer?) -> Int32 {
  unsafe instance(mosq)?.open(waits: false) ?? MOSQ_ERR_INVAL
}

private func connect(
  _ mosq: OpaquePointer?, _ host: UnsafePointer<CChar>?, _ port: Int32, _ keepalive: Int32,
  _ bindAddress: UnsafePointer<CChar>?, _ properties: OpaquePointer?, waits: Bool
) -> Int32 {
  unsafe withOutgoing(properties) { unsafe begin(mosq, host, port, keepalive, bindAddress, $0, waits: waits) }
}

private func begin(
  _ mosq: OpaquePointer?, _ host: UnsafePointer<CChar>?, _ port: Int32, _ keepalive: Int32,
  _ bindAddress: UnsafePointer<CChar>?, _ properties: OpaquePointer?, waits: Bool
) -> Int32 {
  guard let instance = unsafe instance(mosq) else { return MOSQ_ERR_INVAL }
  let checked = unsafe mosquitto_property_check_all(connectCommand, properties)
  guard checked == MOSQ_ERR_SUCCESS else { return checked }
  guard let host = unsafe host, 0...65_535 ~= port, keepalive == 0 || 5...65_535 ~= keepalive else {
    return MOSQ_ERR_INVAL
  }
  guard unsafe properties == nil || instance.isVersion5, unsafe bindAddress == nil else {
    return MOSQ_ERR_NOT_SUPPORTED
  }
  var ownProperties: OpaquePointer? = nil
  if unsafe properties != nil {
    let result = unsafe mosquitto_property_copy_all(&ownProperties, properties)
    guard result == MOSQ_ERR_SUCCESS else { return result }
  }
  guard let ownHost = unsafe copied(host) else {
    unsafe mosquitto_property_free_all(&ownProperties)
    return MOSQ_ERR_NOMEM
  }
  unsafe instance.lock().setServer(ownHost, UInt32(port), UInt32(keepalive), ownProperties)
  return instance.open(waits: waits)
}

extension Mosquitto.Locked {
  /// Takes the host and the properties over.
  fileprivate consuming func setServer(
    _ host: Mosquitto.Text, _ port: UInt32, _ keepAlive: UInt32, _ properties: OpaquePointer?
  ) {
    // A client that can go on knows of messages that were received or sent before.
    if unsafe !isSame(host, port, keepAlive) || properties != nil { state.areOptionsChanged = true }
    unsafe MosquittoCompat.free(&state.host)
    unsafe mosquitto_property_free_all(&state.connectProperties)
    unsafe state.host = unsafe host
    state.port = port
    state.keepAlive = keepAlive
    unsafe state.connectProperties = unsafe properties
  }

  private func isSame(_ host: Mosquitto.Text, _ port: UInt32, _ keepAlive: UInt32) -> Bool {
    guard let own = unsafe state.host, unsafe state.connectProperties == nil else { return false }
    return unsafe shim_is_equal(own, host) && state.port == port && state.keepAlive == keepAlive
  }
}

private var connectCommand: Int32 { 0x10 }

// MARK: Disconnect

@c public func mosquitto_disconnect(_ mosq: OpaquePointer?) -> Int32 {
  unsafe mosquitto_disconnect_v5(mosq, 0, nil)
}

@c public func mosquitto_disconnect_v5(
  _ mosq: OpaquePointer?, _ reason_code: Int32, _ properties: OpaquePointer?
) -> Int32 {
  unsafe withOutgoing(properties) { unsafe disconnect(mosq, reason_code, $0) }
}

private func disconnect(_ mosq: OpaquePointer?, _ reason_code: Int32, _ properties: OpaquePointer?) -> Int32 {
  guard let instance = unsafe instance(mosq) else { return MOSQ_ERR_INVAL }
  guard unsafe properties == nil || instance.isVersion5 else { return MOSQ_ERR_NOT_SUPPORTED }
  guard 0...255 ~= reason_code else { return MOSQ_ERR_INVAL }
  if unsafe properties != nil {
    let result = unsafe mosquitto_property_check_all(0xE0, properties)
    guard result == MOSQ_ERR_SUCCESS else { return result }
  }
  let code = UInt8(truncatingIfNeeded: reason_code)
  guard !instance.isLockedByCaller else {
    instance.disconnectLater(code)
    return MOSQ_ERR_SUCCESS
  }
  var locked = instance.lock()
  let encoded = unsafe EncodedProperties(properties)
  let result = locked.disconnect(code, encoded.span)
  encoded.free()
  if result == MOSQ_ERR_SUCCESS, !locked.state.isThreaded, locked.state.loopThread == 0, !locked.isInCallback
  {
    locked.finishDisconnect()
  }
  locked.unlockOrFree()
  return result
}

extension Instance {
  /// For a signal handler whose thread holds the lock: the thread disconnects when it next looks.
  fileprivate func disconnectLater(_ reasonCode: UInt8) {
    unsafe pointer.pointee.pendingDisconnect = 256 | Int32(reasonCode)
    unsafe platform_wake(pointer.pointee.event)
  }
}

extension Mosquitto.Locked {
  fileprivate mutating func disconnect(_ reasonCode: UInt8, _ properties: Span<UInt8>) -> Int32 {
    state.isDisconnecting = true
    let result = queueDisconnect(reasonCode, properties)
    let number = shim_errno()
    writeJournal(hurries: true)
    shim_set_errno(number)
    wake()
    return result
  }

  private mutating func queueDisconnect(_ reasonCode: UInt8, _ properties: Span<UInt8>) -> Int32 {
    guard hasConnection else {
      // To an on_connect that is called with a refusal the connection still exists: it ends as if the program
      // had asked for it.
      guard state.isReportingRefusal, isInCallback else { return resultWithoutConnection() }
      log(SHIM_SENDING_DISCONNECT)
      return MOSQ_ERR_SUCCESS
    }
    let attempt = state.attempt
    awaitConnack()
    // Another thread may have connected anew meanwhile, after this one wanted to disconnect.
    guard state.attempt == attempt else { return MOSQ_ERR_SUCCESS }
    guard hasConnection else { return MOSQ_ERR_NO_CONN }
    do throws(SessionError) {
      try client.disconnect(
        drain: drainTime, reasonCode: instance.isVersion5 ? reasonCode : 0, properties: properties,
        at: client.time)
    } catch {
      state.isDisconnecting = false
      return MOSQ_ERR_INVAL
    }
    flush()
    log(SHIM_SENDING_DISCONNECT)
    return MOSQ_ERR_SUCCESS
  }

  /// How long what has not been sent may take to be sent before DISCONNECT: half a minute if the peer accepts
  /// no more now, a second if acknowledgements have to come before.
  private var drainTime: UInt32 {
    if client.isBlockedSending { return 30_000 }
    return client.outboxNumbers.waitingSince == nil ? 0 : 1000
  }

  /// Messages that were published before CONNACK are to be sent, too: waits for it, no longer than two
  /// seconds. A loop in another thread reads it meanwhile.
  private mutating func awaitConnack() {
    guard !isInCallback else { return }
    let attempt = state.attempt
    let end = platform_now_ms() &+ 2000
    while state.attempt == attempt, hasClient, client.state == .connecting,
      client.outboxNumbers.waitingSince != nil, Int32(bitPattern: end &- platform_now_ms()) > 0
    {
      if state.loopThread == 0 || state.loopThread == platform_thread_self() { service() }
      waitForClient(atMost: 10)
    }
  }

  /// Does what a signal handler could not do.
  mutating func disconnectIfPending() {
    let pending = state.pendingDisconnect
    guard pending != 0 else { return }
    state.pendingDisconnect = 0
    _ = disconnect(UInt8(truncatingIfNeeded: pending), Span())
  }

  /// Where no thread runs a loop, mosquitto_disconnect() calls on_disconnect: it waits a moment for the
  /// server to close. What takes longer to send is left to a loop, if the program runs one.
  fileprivate mutating func finishDisconnect() {
    let attempt = state.attempt
    let last = platform_now_ms() &+ 2000
    var end = platform_now_ms() &+ 250
    while state.attempt == attempt, hasClient {
      service()
      let isSending = client.isBlockedSending || client.outboxNumbers.waitingSince != nil
      if isSending { end = platform_now_ms() &+ 250 }
      _ = dispatch()
      if isSending, Int32(bitPattern: last &- platform_now_ms()) <= 0 { return }
      let left = Int32(bitPattern: end &- platform_now_ms())
      guard !state.isEndReported, state.attempt == attempt else { return }
      guard left > 0 else {
        state.isEndReported = true
        return unsafe callDisconnect(MOSQ_ERR_SUCCESS, nil)
      }
      waitForClient(atMost: min(left, 50))
    }
  }
}
