// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// These send SUBSCRIBE and UNSUBSCRIBE.

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
  return unsafe withUnsafePointer(to: &only) { unsafe subscribe(mosq, mid, $0, 1, qos, options, properties) }
}

@c public func mosquitto_subscribe_multiple(
  _ mosq: OpaquePointer?, _ mid: UnsafeMutablePointer<Int32>?, _ sub_count: Int32,
  _ sub: UnsafePointer<UnsafePointer<CChar>?>?, _ qos: Int32, _ options: Int32, _ properties: OpaquePointer?
) -> Int32 { unsafe subscribe(mosq, mid, sub, sub_count, qos, options, properties) }

@c public func mosquitto_unsubscribe(
  _ mosq: OpaquePointer?, _ mid: UnsafeMutablePointer<Int32>?, _ sub: UnsafePointer<CChar>?
) -> Int32 { unsafe mosquitto_unsubscribe_v5(mosq, mid, sub, nil) }

@c public func mosquitto_unsubscribe_v5(
  _ mosq: OpaquePointer?, _ mid: UnsafeMutablePointer<Int32>?, _ sub: UnsafePointer<CChar>?,
  _ properties: OpaquePointer?
) -> Int32 {
  var only = unsafe sub
  return unsafe withUnsafePointer(to: &only) { unsafe subscribe(mosq, mid, $0, 1, nil, 0, properties) }
}

@c public func mosquitto_unsubscribe_multiple(
  _ mosq: OpaquePointer?, _ mid: UnsafeMutablePointer<Int32>?, _ sub_count: Int32,
  _ sub: UnsafePointer<UnsafePointer<CChar>?>?, _ properties: OpaquePointer?
) -> Int32 { unsafe subscribe(mosq, mid, sub, sub_count, nil, 0, properties) }

/// `qos`: nil for UNSUBSCRIBE.
private func subscribe(
  _ mosq: OpaquePointer?, _ mid: UnsafeMutablePointer<Int32>?,
  _ filters: UnsafePointer<UnsafePointer<CChar>?>?, _ count: Int32, _ qos: Int32?, _ options: Int32,
  _ properties: OpaquePointer?
) -> Int32 {
  guard let instance = unsafe instance(mosq), unsafe qos == nil || count != 0 && filters != nil else {
    return MOSQ_ERR_INVAL
  }
  return unsafe withOutgoing(properties) { properties in
    guard unsafe properties == nil || instance.isVersion5 else { return MOSQ_ERR_NOT_SUPPORTED }
    guard 0...2 ~= qos ?? 0, options & 0x30 != 0x30, options & 0xC0 == 0 else { return MOSQ_ERR_INVAL }
    var locked = instance.lock()
    let result = unsafe locked.subscribe(mid, filters, count, qos, options, properties)
    locked.unlockOrFree()
    return result
  }
}

extension Mosquitto.Locked {
  fileprivate mutating func subscribe(
    _ mid: UnsafeMutablePointer<Int32>?, _ filters: UnsafePointer<UnsafePointer<CChar>?>?, _ count: Int32,
    _ qos: Int32?, _ options: Int32, _ properties: OpaquePointer?
  ) -> Int32 {
    // Without a connection the rest is not checked.
    guard hasConnection else { return resultWithoutConnection() }
    if unsafe properties != nil {
      let result = unsafe mosquitto_property_check_all(qos == nil ? 0xA0 : 0x80, properties)
      guard result == MOSQ_ERR_SUCCESS else { return result }
    }
    guard let filters = unsafe filters, count > 0 else { return MOSQ_ERR_INVAL }
    for index in 0..<Int(count) {
      guard let filter = unsafe filters[index], unsafe mosquitto_sub_topic_check(filter) == MOSQ_ERR_SUCCESS
      else { return MOSQ_ERR_INVAL }
      guard unsafe mosquitto_validate_utf8(filter, Int32(clamping: shim_length(filter))) == MOSQ_ERR_SUCCESS
      else { return MOSQ_ERR_MALFORMED_UTF8 }
    }
    let byte = (qos ?? 0) | (instance.isVersion5 ? options : 0)
    guard byte & 3 != 3 else { return MOSQ_ERR_INVAL }
    let list = unsafe Filters(first: filters, count: Int(count), options: UInt8(truncatingIfNeeded: byte))
    let number = nextMid
    let cookie = (qos == nil ? Cookie.unsubscribe : Cookie.subscribe) | Cookie.of(number)
    // They are sent in the order of the calls.
    var result = MOSQ_ERR_NOMEM
    if state.queuedSubscriptions.isEmpty { result = unsafe send(list, properties, cookie) }
    if result == MOSQ_ERR_NOMEM { result = unsafe enqueue(list, properties, cookie) }
    guard result == MOSQ_ERR_SUCCESS else { return result }
    state.midCount = number.count
    unsafe mid?.pointee = Int32(number.mid)
    for index in 0..<Int(count) {
      guard let filter = unsafe filters[index] else { continue }
      unsafe logSubscribe(number.mid, filter, options: qos == nil ? -1 : byte)
    }
    return flushWithoutLoop()
  }
}

/// The caller's array of C strings, valid during the call. All have the same options.
@safe struct Filters: SubscriptionList, BitwiseCopyable {
  let first: UnsafePointer<UnsafePointer<CChar>?>
  let count: Int
  let options: UInt8

  @_lifetime(borrow self)
  func filter(at index: Int) -> Span<UInt8> { unsafe spanOrNone(first[index]) }

  func options(at index: Int) -> SubscriptionOptions {
    SubscriptionOptions(
      maximumQoS: QoS(rawValue: options & 3) ?? .atMostOnce, noLocal: options & 4 != 0,
      retainAsPublished: options & 8 != 0,
      retainHandling: .init(rawValue: options >> 4) ?? .send)
  }
}
