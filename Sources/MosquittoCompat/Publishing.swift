// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// These publish messages.

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
    guard instance.isVersion5 else { return MOSQ_ERR_NOT_SUPPORTED }
    let result = unsafe mosquitto_property_check_all(0x30, properties)
    guard result == MOSQ_ERR_SUCCESS else { return result }
  }
  var locked = instance.lock()
  let result = unsafe locked.publish(mid, given, payloadlen, payload, level, retain, properties)
  locked.unlockOrFree()
  return result
}

extension Mosquitto.Locked {
  fileprivate mutating func publish(
    _ mid: UnsafeMutablePointer<Int32>?, _ given: UnsafePointer<CChar>?, _ payloadlen: Int32,
    _ payload: UnsafeRawPointer?, _ level: QoS, _ retain: Bool, _ properties: OpaquePointer?
  ) -> Int32 {
    guard let topic = unsafe topic(given, withAliasIn: properties) else { return MOSQ_ERR_INVAL }
    let name = unsafe span(topic)
    guard unsafe mosquitto_validate_utf8(topic, Int32(clamping: name.count)) == MOSQ_ERR_SUCCESS else {
      return MOSQ_ERR_MALFORMED_UTF8
    }
    guard payloadlen >= 0, Int(payloadlen) <= VariableByteInteger.maximum else {
      return MOSQ_ERR_PAYLOAD_SIZE
    }
    guard unsafe payloadlen == 0 || payload != nil,
      unsafe mosquitto_pub_topic_check(topic) == MOSQ_ERR_SUCCESS
    else { return MOSQ_ERR_INVAL }
    let number = nextMid
    guard hasConnection, !state.isDisconnecting, state.messagesBeforeConnect.isEmpty || level == .atMostOnce
    else {
      // As in libmosquitto: it returns that there is no connection, and sends the message on the next one,
      // unless it is QoS 0.
      guard level != .atMostOnce else {
        unsafe assign(number, mid)
        return resultWithoutConnection()
      }
      let result = unsafe keepUntilConnected(
        number, topic, name.count, payload, Int(payloadlen), level, retain, properties)
      guard result == MOSQ_ERR_SUCCESS else { return result }
      unsafe assign(number, mid)
      return hasConnection && !state.isDisconnecting ? result : resultWithoutConnection()
    }
    let retain = retain && client.server?.retainAvailable ?? true
    // QoS 0 is sent under its alias alone if the program wants that. What may have to be resent, on a
    // connection that does not know the alias, has its topic, too.
    let isNamed = unsafe level != .atMostOnce || !isEmpty(given)
    let result = unsafe publish(
      number, isNamed ? name : Span(), spanOrNone(payload, Int(payloadlen)), level, retain, properties)
    // A client that disconnects takes no more messages.
    if result == MOSQ_ERR_NO_CONN, level != .atMostOnce {
      let kept = unsafe keepUntilConnected(
        number, topic, name.count, payload, Int(payloadlen), level, retain, properties)
      guard kept == MOSQ_ERR_SUCCESS else { return kept }
      unsafe assign(number, mid)
      return MOSQ_ERR_NO_CONN
    }
    guard result == MOSQ_ERR_SUCCESS else { return result }
    unsafe assign(number, mid)
    unsafe logPublish(
      isReceived: false, duplicate: false, qos: level.rawValue, retain: retain, mid: number.mid,
      topic: isEmpty(given) ? span(text("(null)")) : name, payloadSize: Int(payloadlen))
    return flushWithoutLoop()
  }

  /// A message that is refused is assigned no message id.
  private mutating func assign(_ number: Mid, _ mid: UnsafeMutablePointer<Int32>?) {
    state.midCount = number.count
    unsafe mid?.pointee = Int32(number.mid)
  }

  /// Puts a message into the outbox.
  mutating func publish(
    _ mid: Mid, _ topic: Span<UInt8>, _ payload: Span<UInt8>, _ qos: QoS, _ retain: Bool,
    _ properties: OpaquePointer?
  ) -> Int32 {
    guard hasClient else { return MOSQ_ERR_NO_CONN }
    let encoded = unsafe EncodedProperties(properties)
    defer { encoded.free() }
    let cookie = Cookie.publish | (qos == .exactlyOnce ? Cookie.exactlyOnce : 0) | Cookie.of(mid)
    let isQuiet = qos == .atMostOnce && !reportsPublished
    do throws(SessionError) {
      if encoded.span.count > 0 {
        let message = Publish(
          topic: topic, payload: payload, qos: qos, retain: retain, properties: encoded.span)
        _ = try client.publish(message, PublishOptions(cookie: cookie, isQuiet: isQuiet), at: client.time)
      } else {
        try client.publish(
          topic: topic, payload: payload, MessageFlags(qos: qos, retain: retain, isQuiet: isQuiet),
          cookie: cookie)
      }
      return MOSQ_ERR_SUCCESS
    } catch {
      return result(of: error)
    }
  }

  /// A callback or a line of log reports that a message was published.
  private var reportsPublished: Bool {
    let callbacks = state.callbacks
    return unsafe callbacks.publish != nil || callbacks.publishV5 != nil || callbacks.log != nil
  }

  /// What a function returns if the core refuses something.
  func result(of error: SessionError) -> Int32 {
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
