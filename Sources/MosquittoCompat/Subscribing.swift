// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// SUBSCRIBE and UNSUBSCRIBE.

import CMosquitto
import Driver
import MQTTClient
import MQTTSession
import MQTTWire

@c public func mosquitto_subscribe(
  _ mosq: OpaquePointer?, _ mid: UnsafeMutablePointer<Int32>?, _ sub: UnsafePointer<CChar>?, _ qos: Int32
) -> Int32 { unsafe mosquitto_subscribe_v5(mosq, mid, sub, qos, 0, nil) }

@c public func mosquitto_subscribe_v5(
  _ mosq: OpaquePointer?, _ mid: UnsafeMutablePointer<Int32>?, _ sub: UnsafePointer<CChar>?, _ qos: Int32,
  _ options: Int32, _ properties: OpaquePointer?
) -> Int32 {
  var only = unsafe sub
  return unsafe withUnsafePointer(to: &only) { unsafe request(mosq, mid, $0, 1, qos, options, properties) }
}

@c public func mosquitto_subscribe_multiple(
  _ mosq: OpaquePointer?, _ mid: UnsafeMutablePointer<Int32>?, _ sub_count: Int32,
  _ sub: UnsafePointer<UnsafePointer<CChar>?>?, _ qos: Int32, _ options: Int32, _ properties: OpaquePointer?
) -> Int32 { unsafe request(mosq, mid, sub, sub_count, qos, options, properties) }

@c public func mosquitto_unsubscribe(
  _ mosq: OpaquePointer?, _ mid: UnsafeMutablePointer<Int32>?, _ sub: UnsafePointer<CChar>?
) -> Int32 { unsafe mosquitto_unsubscribe_v5(mosq, mid, sub, nil) }

@c public func mosquitto_unsubscribe_v5(
  _ mosq: OpaquePointer?, _ mid: UnsafeMutablePointer<Int32>?, _ sub: UnsafePointer<CChar>?,
  _ properties: OpaquePointer?
) -> Int32 {
  var only = unsafe sub
  return unsafe withUnsafePointer(to: &only) { unsafe request(mosq, mid, $0, 1, nil, 0, properties) }
}

@c public func mosquitto_unsubscribe_multiple(
  _ mosq: OpaquePointer?, _ mid: UnsafeMutablePointer<Int32>?, _ sub_count: Int32,
  _ sub: UnsafePointer<UnsafePointer<CChar>?>?, _ properties: OpaquePointer?
) -> Int32 { unsafe request(mosq, mid, sub, sub_count, nil, 0, properties) }

/// `qos`: nil for UNSUBSCRIBE.
private func request(
  _ mosq: OpaquePointer?, _ mid: UnsafeMutablePointer<Int32>?,
  _ filters: UnsafePointer<UnsafePointer<CChar>?>?, _ count: Int32, _ qos: Int32?, _ options: Int32,
  _ properties: OpaquePointer?
) -> Int32 {
  unsafe withOutgoing(properties) { unsafe ask(mosq, mid, filters, count, qos, options, $0) }
}

private func ask(
  _ mosq: OpaquePointer?, _ mid: UnsafeMutablePointer<Int32>?,
  _ filters: UnsafePointer<UnsafePointer<CChar>?>?, _ count: Int32, _ qos: Int32?, _ options: Int32,
  _ properties: OpaquePointer?
) -> Int32 {
  guard let instance = unsafe instance(mosq), unsafe qos == nil || count != 0 && filters != nil else {
    return MOSQ_ERR_INVAL
  }
  let is5 = unsafe instance.pointee.version == UInt32(MQTT_PROTOCOL_V5)
  guard unsafe properties == nil || is5 else { return MOSQ_ERR_NOT_SUPPORTED }
  guard 0...2 ~= qos ?? 0, options & 0x30 != 0x30, options & 0xC0 == 0 else { return MOSQ_ERR_INVAL }
  unsafe instance.lock()
  defer { unsafe instance.unlockOrFree() }
  // Without a connection the rest is not looked at.
  guard unsafe instance.pointee.client?.pointee.state ?? .disconnected != .disconnected else {
    return unsafe instance.resultOfNone()
  }
  if unsafe properties != nil {
    let result = unsafe mosquitto_property_check_all(qos == nil ? 0xA0 : 0x80, properties)
    guard result == MOSQ_ERR_SUCCESS else { return result }
  }
  guard let filters = unsafe filters, count > 0 else { return MOSQ_ERR_INVAL }
  for index in 0..<Int(count) {
    guard let filter = unsafe filters[index], unsafe mosquitto_sub_topic_check(filter) == MOSQ_ERR_SUCCESS
    else {
      return MOSQ_ERR_INVAL
    }
    guard unsafe mosquitto_validate_utf8(filter, Int32(clamping: shim_length(filter))) == MOSQ_ERR_SUCCESS
    else {
      return MOSQ_ERR_MALFORMED_UTF8
    }
  }
  let byte = (qos ?? 0) | (is5 ? options : 0)
  guard byte & 3 != 3 else { return MOSQ_ERR_INVAL }
  let list = unsafe Filters(first: filters, count: Int(count), options: UInt8(truncatingIfNeeded: byte))
  let number = unsafe instance.nextMid
  let cookie = (qos == nil ? Cookie.unsubscribe : Cookie.subscribe) | Cookie.of(number)
  // One behind the other.
  var result = MOSQ_ERR_NOMEM
  if unsafe instance.pointee.waiting == nil { result = unsafe instance.send(list, properties, cookie) }
  if result == MOSQ_ERR_NOMEM { result = unsafe instance.keep(list, properties, cookie) }
  guard result == MOSQ_ERR_SUCCESS else { return result }
  unsafe instance.pointee.midCount = number.count
  unsafe mid?.pointee = Int32(number.mid)
  for index in 0..<Int(count) {
    guard let filter = unsafe filters[index] else { continue }
    unsafe instance.logSubscribe(number.mid, filter, options: qos == nil ? -1 : byte)
  }
  return unsafe instance.flushAlone()
}

/// The caller's array of C strings, as long as the call lasts; all with the same options.
@unsafe struct Filters: SubscriptionList, BitwiseCopyable {
  let first: UnsafePointer<UnsafePointer<CChar>?>
  let count: Int
  let options: UInt8

  @_lifetime(borrow self)
  func filter(at index: Int) -> Span<UInt8> { unsafe spanOrNone(first[index]) }

  func options(at index: Int) -> SubscriptionOptions {
    unsafe SubscriptionOptions(
      maximumQoS: QoS(rawValue: options & 3) ?? .atMostOnce, noLocal: options & 4 != 0,
      retainAsPublished: options & 8 != 0,
      retainHandling: .init(rawValue: options >> 4) ?? .send)
  }
}
