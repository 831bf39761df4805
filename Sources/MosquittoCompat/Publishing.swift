// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// Messages out.

import CMosquitto
import Driver
import MQTTClient
import MQTTSession
import MQTTWire
import Storage

@c public func mosquitto_publish(
  _ mosq: OpaquePointer?, _ mid: UnsafeMutablePointer<Int32>?, _ topic: UnsafePointer<CChar>?,
  _ payloadlen: Int32, _ payload: UnsafeRawPointer?, _ qos: Int32, _ retain: Bool
) -> Int32 {
  unsafe mosquitto_publish_v5(mosq, mid, topic, payloadlen, payload, qos, retain, nil)
}

@c public func mosquitto_publish_v5(
  _ mosq: OpaquePointer?, _ mid: UnsafeMutablePointer<Int32>?, _ topic: UnsafePointer<CChar>?,
  _ payloadlen: Int32, _ payload: UnsafeRawPointer?, _ qos: Int32, _ retain: Bool,
  _ properties: OpaquePointer?
) -> Int32 {
  guard let instance = unsafe instance(mosq), 0...2 ~= qos,
    let level = QoS(rawValue: UInt8(truncatingIfNeeded: qos))
  else { return MOSQ_ERR_INVAL }
  return unsafe withOutgoing(properties) {
    unsafe publish(instance, mid, topic, payloadlen, payload, level, retain, $0)
  }
}

private func publish(
  _ instance: Instance, _ mid: UnsafeMutablePointer<Int32>?, _ given: UnsafePointer<CChar>?,
  _ payloadlen: Int32, _ payload: UnsafeRawPointer?, _ level: QoS, _ retain: Bool,
  _ properties: OpaquePointer?
) -> Int32 {
  if unsafe properties != nil {
    guard unsafe instance.pointee.version == UInt32(MQTT_PROTOCOL_V5) else { return MOSQ_ERR_NOT_SUPPORTED }
    let result = unsafe mosquitto_property_check_all(0x30, properties)
    guard result == MOSQ_ERR_SUCCESS else { return result }
  }
  unsafe instance.lock()
  defer { unsafe instance.unlockOrFree() }
  guard let topic = unsafe instance.topic(given, withAliasIn: properties) else { return MOSQ_ERR_INVAL }
  let name = unsafe span(topic)
  guard unsafe mosquitto_validate_utf8(topic, Int32(clamping: name.count)) == MOSQ_ERR_SUCCESS else {
    return MOSQ_ERR_MALFORMED_UTF8
  }
  guard payloadlen >= 0, Int(payloadlen) <= VariableByteInteger.maximum else { return MOSQ_ERR_PAYLOAD_SIZE }
  guard unsafe payloadlen == 0 || payload != nil, unsafe mosquitto_pub_topic_check(topic) == MOSQ_ERR_SUCCESS
  else {
    return MOSQ_ERR_INVAL
  }
  let number = unsafe instance.nextMid
  // What is refused takes no message id.
  func take() {
    unsafe instance.pointee.midCount = number.count
    unsafe mid?.pointee = Int32(number.mid)
  }
  guard let client = unsafe instance.pointee.client, unsafe client.pointee.state != .disconnected,
    unsafe !instance.pointee.isLeaving, unsafe instance.pointee.early == nil || level == .atMostOnce
  else {
    // As in libmosquitto: it says that there is no connection, and sends the message on the next one, unless it is of QoS 0.
    guard level != .atMostOnce else {
      take()
      return unsafe instance.resultOfNone()
    }
    let result = unsafe instance.keep(
      number, topic, name.count, payload, Int(payloadlen), level, retain, properties)
    if result == MOSQ_ERR_SUCCESS { take() }
    return unsafe result == MOSQ_ERR_SUCCESS && !instance.isGoingOut ? instance.resultOfNone() : result
  }
  let retain = unsafe retain && client.pointee.server?.retainAvailable ?? true
  // Under its alias alone if the program says so; but what may have to be sent again, on a connection that does not know the
  // alias, has its topic, too.
  let isNamed = unsafe level != .atMostOnce || !isEmpty(given)
  let result = unsafe instance.publish(
    number, isNamed ? name : Span(), spanOrNone(payload, Int(payloadlen)), level, retain, properties)
  // On its way out, the client takes nothing any more.
  if result == MOSQ_ERR_NO_CONN, level != .atMostOnce {
    let kept = unsafe instance.keep(
      number, topic, name.count, payload, Int(payloadlen), level, retain, properties)
    if kept == MOSQ_ERR_SUCCESS { take() }
    return kept == MOSQ_ERR_SUCCESS ? MOSQ_ERR_NO_CONN : kept
  }
  guard result == MOSQ_ERR_SUCCESS else { return result }
  take()
  unsafe instance.logPublish(
    isReceived: false, duplicate: false, qos: level.rawValue, retain: retain, mid: number.mid,
    topic: isEmpty(given) ? span(text("(null)")) : name, payloadSize: Int(payloadlen))
  return unsafe instance.flushAlone()
}

/// What a cookie says: the message id, above it what it is the id of, and of a message the QoS; in the upper half how many
/// ids were given by then. Nothing is shifted: `1 << 16` widens the 16, which the compiler takes for an allocation on armv7.
enum Cookie {
  static var publish: UInt64 { 0 }
  static var subscribe: UInt64 { 0x1_0000 }
  static var unsubscribe: UInt64 { 0x2_0000 }
  static var exactlyOnce: UInt64 { 0x4_0000 }

  static func of(_ mid: Mid) -> UInt64 { Counter(low: UInt32(mid.mid), high: mid.count).uint64 }

  static func mid(_ cookie: UInt64) -> Int32 { Int32(truncatingIfNeeded: cookie & 0xFFFF) }
  static func kind(_ cookie: UInt64) -> UInt64 { cookie & 0x3_0000 }
  static func isExactlyOnce(_ cookie: UInt64) -> Bool { cookie & exactlyOnce != 0 }
}

extension UnsafeMutablePointer where Pointee == Mosquitto {
  /// Into the outbox. With the lock held.
  fileprivate func publish(
    _ mid: Mid, _ topic: Span<UInt8>, _ payload: Span<UInt8>, _ qos: QoS, _ retain: Bool,
    _ properties: OpaquePointer?
  ) -> Int32 {
    guard let client = unsafe pointee.client else { return MOSQ_ERR_NO_CONN }
    let encoded = unsafe EncodedProperties(properties)
    defer { unsafe encoded.free() }
    let cookie = Cookie.publish | (qos == .exactlyOnce ? Cookie.exactlyOnce : 0) | Cookie.of(mid)
    let isQuiet = unsafe qos == .atMostOnce && !wantsPublished
    do throws(SessionError) {
      if unsafe encoded.span.count > 0 {
        let message = unsafe Publish(
          topic: topic, payload: payload, qos: qos, retain: retain, properties: encoded.span)
        _ = unsafe try client.pointee.publish(
          message, PublishOptions(cookie: cookie, isQuiet: isQuiet), at: client.pointee.time)
      } else {
        unsafe try client.pointee.publish(
          topic: topic, payload: payload, MessageFlags(qos: qos, retain: retain, isQuiet: isQuiet),
          cookie: cookie)
      }
      return MOSQ_ERR_SUCCESS
    } catch {
      return unsafe number(error)
    }
  }

  private var wantsPublished: Bool {
    unsafe pointee.callbacks.publish != nil || pointee.callbacks.publishV5 != nil
      || pointee.callbacks.log != nil
  }

  /// Without a connection: into the outbox if there is a client that takes it, else into a list of its own.
  fileprivate func keep(
    _ mid: Mid, _ topic: UnsafePointer<CChar>, _ topicSize: Int, _ payload: UnsafeRawPointer?,
    _ payloadSize: Int, _ qos: QoS, _ retain: Bool, _ properties: OpaquePointer?
  ) -> Int32 {
    // Behind those that are there already.
    if unsafe pointee.client != nil, unsafe !pointee.isOutdated, unsafe pointee.early == nil {
      let result = unsafe publish(
        mid, span(UnsafeRawPointer(topic), topicSize), spanOrNone(payload, payloadSize), qos, retain,
        properties)
      guard result == MOSQ_ERR_NO_CONN else { return result }
    }
    let size = topicSize &+ payloadSize
    // Now, as there is nobody to tell when the outbox refuses it.
    guard
      unsafe size &+ encodedSize(of: properties) &+ Self.mostOverhead
        <= Int(truncatingIfNeeded: Limits.outboxBytes)
    else { return MOSQ_ERR_OVERSIZE_PACKET }
    guard unsafe pointee.earlyCount < Limits.outboxMessages,
      unsafe pointee.earlyBytes &+ size <= Int(truncatingIfNeeded: Limits.outboxBytes)
    else { return MOSQ_ERR_NOMEM }
    var ownProperties: OpaquePointer? = nil
    let memory = unsafe shim_allocate(MemoryLayout<Mosquitto.EarlyMessage>.size)
    let ownTopic = unsafe shim_copy(topic, topicSize)
    let ownPayload = unsafe shim_copy(payload, payloadSize)
    guard let memory = unsafe memory, let ownTopic = unsafe ownTopic, let ownPayload = unsafe ownPayload,
      unsafe mosquitto_property_copy_all(&ownProperties, properties) == MOSQ_ERR_SUCCESS
    else {
      unsafe shim_free(memory)
      unsafe shim_free(ownTopic)
      unsafe shim_free(ownPayload)
      return MOSQ_ERR_NOMEM
    }
    let message = unsafe memory.bindMemory(to: Mosquitto.EarlyMessage.self, capacity: 1)
    unsafe message.initialize(
      to: Mosquitto.EarlyMessage(
        next: nil, mid: mid, topic: ownTopic, topicSize: topicSize, payload: ownPayload,
        payloadSize: payloadSize, qos: qos, retain: retain, properties: ownProperties))
    if let last = unsafe pointee.earlyLast {
      unsafe last.pointee.next = unsafe message
    } else {
      unsafe pointee.early = unsafe message
    }
    unsafe pointee.earlyLast = unsafe message
    unsafe pointee.earlyCount &+= 1
    unsafe pointee.earlyBytes &+= size
    return MOSQ_ERR_SUCCESS
  }

  /// Of PUBLISH, beside topic, payload and properties: Fixed Header, and what says how long the three are.
  private static var mostOverhead: Int { 5 + 2 + 2 + 4 }

  /// There is a connection, or an attempt, that takes what waits for room.
  fileprivate var isGoingOut: Bool {
    guard let client = unsafe pointee.client, unsafe !pointee.isLeaving else { return false }
    return unsafe client.pointee.state != .disconnected
  }

  /// What was published before there was a client, as far as there is room; the rest follows when there is.
  func publishEarly() {
    while let message = unsafe pointee.early {
      let result = unsafe publish(
        message.pointee.mid, span(UnsafeRawPointer(message.pointee.topic), message.pointee.topicSize),
        spanOrNone(UnsafeRawPointer(message.pointee.payload), message.pointee.payloadSize),
        message.pointee.qos, message.pointee.retain, message.pointee.properties)
      if result == MOSQ_ERR_NOMEM || result == MOSQ_ERR_NO_CONN { return }
      unsafe dropEarly()
    }
  }

  /// What a function returns if the core does not take something.
  func number(_ error: SessionError) -> Int32 {
    switch error {
    case .leaving, .offline, .state: MOSQ_ERR_NO_CONN
    case .full: MOSQ_ERR_NOMEM
    case .tooLarge: MOSQ_ERR_OVERSIZE_PACKET
    case .qosNotSupported: MOSQ_ERR_QOS_NOT_SUPPORTED
    case .retainNotSupported: MOSQ_ERR_RETAIN_NOT_SUPPORTED
    case .notSupported: MOSQ_ERR_NOT_SUPPORTED
    case .utf8: MOSQ_ERR_MALFORMED_UTF8
    case .property: MOSQ_ERR_PROTOCOL
    default: MOSQ_ERR_INVAL
    }
  }
}
