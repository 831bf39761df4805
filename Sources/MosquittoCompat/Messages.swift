// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// These copy and free messages that a program keeps.

import CMosquitto

/// An empty payload is NULL in the copy.
@c public func mosquitto_message_copy(
  _ target: UnsafeMutablePointer<mosquitto_message>?, _ source: UnsafePointer<mosquitto_message>?
) -> Int32 {
  guard let target = unsafe target, let source = unsafe source, let topic = unsafe source.pointee.topic else {
    return Int32(MOSQ_ERR_INVAL)
  }
  var copy = unsafe source.pointee
  let size = unsafe Int(copy.payloadlen)
  guard size >= 0, unsafe size == 0 || copy.payload != nil else { return Int32(MOSQ_ERR_INVAL) }
  unsafe copy.topic = unsafe shim_copy(topic, shim_length(topic))
  unsafe copy.payload = unsafe size == 0 ? nil : UnsafeMutableRawPointer(shim_copy(copy.payload, size))
  guard unsafe copy.topic != nil, unsafe size == 0 || copy.payload != nil else {
    unsafe shim_free(copy.topic)
    unsafe shim_free(copy.payload)
    return Int32(MOSQ_ERR_NOMEM)
  }
  unsafe target.pointee = unsafe copy
  return Int32(MOSQ_ERR_SUCCESS)
}

@c public func mosquitto_message_free(
  _ message: UnsafeMutablePointer<UnsafeMutablePointer<mosquitto_message>?>?
) {
  guard let message = unsafe message?.pointee else { return }
  unsafe mosquitto_message_free_contents(message)
  unsafe shim_free(message)
}

@c public func mosquitto_message_free_contents(_ message: UnsafeMutablePointer<mosquitto_message>?) {
  guard let message = unsafe message else { return }
  unsafe shim_free(message.pointee.topic)
  unsafe shim_free(message.pointee.payload)
}
