// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// From mosquitto_connect() to mosquitto_disconnect().

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

/// Debian's library is built without it, too.
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
  guard unsafe properties == nil || instance.pointee.version == UInt32(MQTT_PROTOCOL_V5),
    unsafe bindAddress == nil
  else { return MOSQ_ERR_NOT_SUPPORTED }
  guard port > 0 else {
    shim_set_errno(SystemError.connectionRefused)  // nobody ever listens there
    return MOSQ_ERR_ERRNO
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
  unsafe instance.lock()
  // A client that can go on knows of messages that were received or sent before.
  let isSame = unsafe instance.isSamePlace(host, UInt32(port), UInt32(keepalive)) && properties == nil
  unsafe free(&instance.pointee.host)
  unsafe mosquitto_property_free_all(&instance.pointee.connectProperties)
  unsafe instance.pointee.host = unsafe ownHost
  unsafe instance.pointee.port = UInt32(port)
  unsafe instance.pointee.keepAlive = UInt32(keepalive)
  unsafe instance.pointee.connectProperties = unsafe ownProperties
  if !isSame { unsafe instance.pointee.isOutdated = true }
  unsafe instance.unlock()
  return unsafe instance.open(waits: waits)
}

extension UnsafeMutablePointer where Pointee == Mosquitto {
  fileprivate func isSamePlace(_ host: UnsafePointer<CChar>, _ port: UInt32, _ keepAlive: UInt32) -> Bool {
    guard let own = unsafe pointee.host, unsafe pointee.connectProperties == nil else { return false }
    return unsafe shim_is_equal(own, host) && pointee.port == port && pointee.keepAlive == keepAlive
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
  guard unsafe properties == nil || instance.pointee.version == UInt32(MQTT_PROTOCOL_V5) else {
    return MOSQ_ERR_NOT_SUPPORTED
  }
  guard 0...255 ~= reason_code else { return MOSQ_ERR_INVAL }
  if unsafe properties != nil {
    let result = unsafe mosquitto_property_check_all(0xE0, properties)
    guard result == MOSQ_ERR_SUCCESS else { return result }
  }
  let code = UInt8(truncatingIfNeeded: reason_code)
  if unsafe shim_holds(instance.pointee.lock) {
    unsafe instance.pointee.wishToLeave = 256 | Int32(code)
    unsafe platform_wake(instance.pointee.event)
    return MOSQ_ERR_SUCCESS
  }
  unsafe instance.lock()
  let encoded = unsafe EncodedProperties(properties)
  let result = unsafe instance.leave(code, encoded.span)
  unsafe encoded.free()
  if result == MOSQ_ERR_SUCCESS, unsafe !instance.pointee.isThreaded, unsafe instance.pointee.looper == 0,
    unsafe !instance.isInCallback
  {
    unsafe instance.finishLeaving()
  }
  unsafe instance.unlockOrFree()
  return result
}

extension UnsafeMutablePointer where Pointee == Mosquitto {
  /// With the lock held.
  fileprivate func leave(_ reasonCode: UInt8, _ properties: Span<UInt8>) -> Int32 {
    unsafe pointee.isLeaving = true
    defer { unsafe wake() }
    guard unsafe hasConnection else {
      // To an on_connect that is told of a refusal the connection is still there: it ends as if asked for.
      guard unsafe pointee.isTellingRefusal, unsafe isInCallback else { return unsafe resultOfNone() }
      unsafe log(SHIM_SENDING_DISCONNECT)
      return MOSQ_ERR_SUCCESS
    }
    let attempt = unsafe pointee.attempt
    unsafe awaitConnack()
    // Another thread may have connected anew meanwhile, after this one wanted to leave.
    guard unsafe pointee.attempt == attempt else { return MOSQ_ERR_SUCCESS }
    guard unsafe hasConnection, let client = unsafe pointee.client else { return MOSQ_ERR_NO_CONN }
    do throws(SessionError) {
      unsafe try client.pointee.disconnect(
        drain: drainTime(of: client),
        reasonCode: pointee.version == UInt32(MQTT_PROTOCOL_V5) ? reasonCode : 0,
        properties: properties, at: client.pointee.time)
    } catch {
      unsafe pointee.isLeaving = false
      return MOSQ_ERR_INVAL
    }
    unsafe flush()
    unsafe log(SHIM_SENDING_DISCONNECT)
    return MOSQ_ERR_SUCCESS
  }

  /// How long what has not been sent may take to go out first: half a minute where the peer takes no more now; a moment
  /// where acknowledgements have to come before.
  private func drainTime(of client: UnsafeMutablePointer<Client>) -> UInt32 {
    if unsafe client.pointee.isBlockedSending { return 30_000 }
    return unsafe client.pointee.outboxNumbers.waitingSince == nil ? 0 : 1000
  }

  private var hasConnection: Bool {
    guard let client = unsafe pointee.client else { return false }
    return unsafe client.pointee.state != .disconnected
  }

  /// What was published before CONNACK has come is to go out, too: waits for it, no longer than two seconds. A loop in
  /// another thread reads it meanwhile.
  private func awaitConnack() {
    guard unsafe !isInCallback else { return }
    let attempt = unsafe pointee.attempt
    let end = platform_now_ms() &+ 2000
    while unsafe pointee.attempt == attempt, let client = unsafe pointee.client,
      unsafe client.pointee.state == .connecting, unsafe client.pointee.outboxNumbers.waitingSince != nil,
      Int32(bitPattern: end &- platform_now_ms()) > 0
    {
      if unsafe pointee.looper == 0 || pointee.looper == platform_thread_self() {
        _ = unsafe client.pointee.service(at: client.pointee.time)
      }
      unsafe pause(10)
    }
  }

  /// What a signal handler could not do. With the lock held.
  func leaveAsWished() {
    let wish = unsafe pointee.wishToLeave
    guard wish != 0 else { return }
    unsafe pointee.wishToLeave = 0
    _ = unsafe leave(UInt8(truncatingIfNeeded: wish), Span())
  }

  /// Where nobody runs a loop, on_disconnect is called in mosquitto_disconnect(): waits a moment for the server to
  /// close. What takes longer to send is left to a loop, if the program runs one. With the lock held.
  fileprivate func finishLeaving() {
    let attempt = unsafe pointee.attempt
    let last = platform_now_ms() &+ 2000
    var end = platform_now_ms() &+ 250
    while unsafe pointee.attempt == attempt, let client = unsafe pointee.client {
      _ = unsafe client.pointee.service(at: client.pointee.time)
      let isSending =
        unsafe client.pointee.isBlockedSending || client.pointee.outboxNumbers.waitingSince != nil
      if isSending { end = platform_now_ms() &+ 250 }
      _ = unsafe dispatch()
      if isSending, Int32(bitPattern: last &- platform_now_ms()) <= 0 { return }
      let left = Int32(bitPattern: end &- platform_now_ms())
      guard unsafe !pointee.isEndTold, unsafe pointee.attempt == attempt else { return }
      guard left > 0 else {
        unsafe pointee.isEndTold = true
        return unsafe tellEnd(MOSQ_ERR_SUCCESS, nil)
      }
      unsafe pause(min(left, 50))
    }
  }
}
