// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The options that a program sets before it connects.

import CMosquitto
import Driver
import MQTTClient
import MQTTWire

@c public func mosquitto_user_data_set(_ mosq: OpaquePointer?, _ object: UnsafeMutableRawPointer?) {
  guard let instance = unsafe instance(mosq) else { return }
  var locked = instance.lock()
  unsafe locked.state.user = unsafe object
}

@c public func mosquitto_userdata(_ mosq: OpaquePointer?) -> UnsafeMutableRawPointer? {
  guard let instance = unsafe instance(mosq) else { return nil }
  // A callback that the program has set in its SSL_CTX runs while this thread holds the lock.
  if instance.isLockedByCaller { return unsafe instance.pointer.pointee.user }
  return unsafe instance.lock().state.user
}

// MARK: The Will, user name and password

@c public func mosquitto_will_set(
  _ mosq: OpaquePointer?, _ topic: UnsafePointer<CChar>?, _ payloadlen: Int32,
  _ payload: UnsafeRawPointer?, _ qos: Int32, _ retain: Bool
) -> Int32 {
  unsafe mosquitto_will_set_v5(mosq, topic, payloadlen, payload, qos, retain, nil)
}

/// Takes the properties over if it succeeds.
@c public func mosquitto_will_set_v5(
  _ mosq: OpaquePointer?, _ topic: UnsafePointer<CChar>?, _ payloadlen: Int32,
  _ payload: UnsafeRawPointer?, _ qos: Int32, _ retain: Bool, _ properties: OpaquePointer?
) -> Int32 {
  guard let instance = unsafe instance(mosq) else { return MOSQ_ERR_INVAL }
  let checked = unsafe mosquitto_property_check_all(willCommand, properties)
  guard checked == MOSQ_ERR_SUCCESS else { return checked }
  guard let topic = unsafe topic, unsafe !isEmpty(topic), 0...2 ~= qos else { return MOSQ_ERR_INVAL }
  guard payloadlen >= 0, Int(payloadlen) <= VariableByteInteger.maximum else { return MOSQ_ERR_PAYLOAD_SIZE }
  guard unsafe payloadlen == 0 || payload != nil else { return MOSQ_ERR_INVAL }
  guard unsafe mosquitto_pub_topic_check(topic) == MOSQ_ERR_SUCCESS else { return MOSQ_ERR_INVAL }
  guard unsafe mosquitto_validate_utf8(topic, Int32(clamping: shim_length(topic))) == MOSQ_ERR_SUCCESS else {
    return MOSQ_ERR_MALFORMED_UTF8
  }
  guard unsafe properties == nil || instance.isVersion5 else {
    return MOSQ_ERR_NOT_SUPPORTED
  }
  guard let ownTopic = unsafe copied(topic) else { return MOSQ_ERR_NOMEM }
  guard let ownPayload = unsafe shim_copy(payload, Int(payloadlen)) else {
    unsafe shim_free(ownTopic)
    return MOSQ_ERR_NOMEM
  }
  var locked = instance.lock()
  locked.clearWill()
  locked.state.will = unsafe Mosquitto.Will(
    topic: ownTopic, payload: ownPayload, payloadSize: Int(payloadlen),
    qos: UInt8(truncatingIfNeeded: qos), retain: retain, properties: properties)
  locked.state.areOptionsChanged = true
  return MOSQ_ERR_SUCCESS
}

/// The number that libmosquitto has for the Will among those of the types of packets.
private var willCommand: Int32 { 0x100 }

@c public func mosquitto_will_clear(_ mosq: OpaquePointer?) -> Int32 {
  guard let instance = unsafe instance(mosq) else { return MOSQ_ERR_INVAL }
  var locked = instance.lock()
  locked.clearWill()
  locked.state.areOptionsChanged = true
  return MOSQ_ERR_SUCCESS
}

@c public func mosquitto_username_pw_set(
  _ mosq: OpaquePointer?, _ username: UnsafePointer<CChar>?, _ password: UnsafePointer<CChar>?
) -> Int32 {
  guard let instance = unsafe instance(mosq) else { return MOSQ_ERR_INVAL }
  if let username = unsafe username {
    let size = unsafe shim_length(username)
    guard size <= UTF8EncodedString.maximumSize else { return MOSQ_ERR_INVAL }
    guard unsafe mosquitto_validate_utf8(username, Int32(size)) == MOSQ_ERR_SUCCESS else {
      return MOSQ_ERR_MALFORMED_UTF8
    }
  } else if !instance.isVersion5 {
    guard unsafe password == nil else { return MOSQ_ERR_INVAL }
  }
  let ownName = unsafe username.flatMap { unsafe copied($0) }
  let ownPassword = unsafe password.flatMap { unsafe copied($0) }
  guard unsafe (ownName == nil) == (username == nil), unsafe (ownPassword == nil) == (password == nil) else {
    unsafe shim_free(ownName)
    unsafe shim_free(ownPassword)
    return MOSQ_ERR_NOMEM
  }
  var locked = instance.lock()
  unsafe MosquittoCompat.free(&locked.state.userName)
  unsafe MosquittoCompat.free(&locked.state.password)
  unsafe locked.state.userName = unsafe ownName
  unsafe locked.state.password = unsafe ownPassword
  locked.state.areOptionsChanged = true
  return MOSQ_ERR_SUCCESS
}

// MARK: Numbers

@c public func mosquitto_int_option(_ mosq: OpaquePointer?, _ option: Int32, _ value: Int32) -> Int32 {
  guard let instance = unsafe instance(mosq) else { return MOSQ_ERR_INVAL }
  if let result = unsafe setTLSNumber(mosq, option, value) { return result }
  var locked = instance.lock()
  switch option {
  case Int32(MOSQ_OPT_PROTOCOL_VERSION):
    guard Int32(MQTT_PROTOCOL_V31)...Int32(MQTT_PROTOCOL_V5) ~= value else { return MOSQ_ERR_INVAL }
    locked.state.version = UInt32(value)
  case Int32(MOSQ_OPT_RECEIVE_MAXIMUM):
    guard 0...65_535 ~= value else { return MOSQ_ERR_INVAL }
    locked.state.receiveMaximum = value == 0 ? 65_535 : UInt32(value)
  case Int32(MOSQ_OPT_SEND_MAXIMUM):
    guard 0...65_535 ~= value else { return MOSQ_ERR_INVAL }
    locked.state.inFlightMaximum = value == 0 ? 65_535 : UInt32(value)
    // Programs set it between mosquitto_connect() and CONNACK, too.
    if locked.hasClient { locked.client.setInFlightMaximum(value == 0 ? 65_535 : Int(value)) }
    return MOSQ_ERR_SUCCESS
  case Int32(MOSQ_OPT_TCP_NODELAY): return MOSQ_ERR_SUCCESS  // It is always set.
  default: return MOSQ_ERR_INVAL
  }
  locked.state.areOptionsChanged = true
  return MOSQ_ERR_SUCCESS
}

@c public func mosquitto_string_option(
  _ mosq: OpaquePointer?, _ option: Int32, _ value: UnsafePointer<CChar>?
) -> Int32 {
  guard unsafe instance(mosq) != nil else { return MOSQ_ERR_INVAL }
  switch option {
  case Int32(MOSQ_OPT_TLS_ENGINE), Int32(MOSQ_OPT_TLS_KEYFORM), Int32(MOSQ_OPT_TLS_ENGINE_KPASS_SHA1),
    Int32(MOSQ_OPT_TLS_ALPN):
    return unsafe setTLSText(mosq, option, value)
  case Int32(MOSQ_OPT_BIND_ADDRESS): return unsafe value == nil ? MOSQ_ERR_SUCCESS : MOSQ_ERR_NOT_SUPPORTED
  default: return MOSQ_ERR_INVAL
  }
}

@c public func mosquitto_void_option(
  _ mosq: OpaquePointer?, _ option: Int32, _ value: UnsafeMutableRawPointer?
) -> Int32 {
  guard unsafe instance(mosq) != nil else { return MOSQ_ERR_INVAL }
  guard option == Int32(MOSQ_OPT_SSL_CTX) else { return MOSQ_ERR_INVAL }
  return unsafe setTLSContext(mosq, value)
}

@c public func mosquitto_opts_set(
  _ mosq: OpaquePointer?, _ option: Int32, _ value: UnsafeMutableRawPointer?
) -> Int32 {
  guard let value = unsafe value else { return MOSQ_ERR_INVAL }
  switch option {
  case Int32(MOSQ_OPT_PROTOCOL_VERSION):
    return unsafe mosquitto_int_option(mosq, option, value.load(as: Int32.self))
  default: return unsafe mosquitto_void_option(mosq, option, value)
  }
}

@c public func mosquitto_max_inflight_messages_set(_ mosq: OpaquePointer?, _ maximum: UInt32) -> Int32 {
  unsafe mosquitto_int_option(mosq, Int32(MOSQ_OPT_SEND_MAXIMUM), Int32(clamping: maximum))
}

@c public func mosquitto_reconnect_delay_set(
  _ mosq: OpaquePointer?, _ delay: UInt32, _ maximum: UInt32, _ exponential: Bool
) -> Int32 {
  guard let instance = unsafe instance(mosq) else { return MOSQ_ERR_INVAL }
  var locked = instance.lock()
  locked.state.delay = delay == 0 ? 1 : delay
  locked.state.delayMaximum = max(maximum, locked.state.delay)
  locked.state.doublesDelay = exponential
  return MOSQ_ERR_SUCCESS
}

/// It has no effect, as in libmosquitto: messages are resent on a new connection only [MQTT-4.4.0-1].
@c public func mosquitto_message_retry_set(_ mosq: OpaquePointer?, _ seconds: UInt32) {}

@c public func mosquitto_threaded_set(_ mosq: OpaquePointer?, _ threaded: Bool) -> Int32 {
  guard let instance = unsafe instance(mosq) else { return MOSQ_ERR_INVAL }
  var locked = instance.lock()
  locked.state.isThreaded = threaded
  return MOSQ_ERR_SUCCESS
}
