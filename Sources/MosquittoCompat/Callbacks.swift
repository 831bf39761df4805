// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// Which functions are to be called.

import CMosquitto

@c public func mosquitto_connect_callback_set(_ mosq: OpaquePointer?, _ function: mosq_on_connect?) {
  guard let instance = unsafe instance(mosq) else { return }
  unsafe instance.lock()
  unsafe instance.pointee.callbacks.connect = unsafe function
  unsafe instance.unlock()
}

@c public func mosquitto_connect_with_flags_callback_set(
  _ mosq: OpaquePointer?, _ function: mosq_on_connect_with_flags?
) {
  guard let instance = unsafe instance(mosq) else { return }
  unsafe instance.lock()
  unsafe instance.pointee.callbacks.connectWithFlags = unsafe function
  unsafe instance.unlock()
}

@c public func mosquitto_connect_v5_callback_set(_ mosq: OpaquePointer?, _ function: mosq_on_connect_v5?) {
  guard let instance = unsafe instance(mosq) else { return }
  unsafe instance.lock()
  unsafe instance.pointee.callbacks.connectV5 = unsafe function
  unsafe instance.unlock()
}

@c public func mosquitto_disconnect_callback_set(_ mosq: OpaquePointer?, _ function: mosq_on_disconnect?) {
  guard let instance = unsafe instance(mosq) else { return }
  unsafe instance.lock()
  unsafe instance.pointee.callbacks.disconnect = unsafe function
  unsafe instance.unlock()
}

@c public func mosquitto_disconnect_v5_callback_set(
  _ mosq: OpaquePointer?, _ function: mosq_on_disconnect_v5?
) {
  guard let instance = unsafe instance(mosq) else { return }
  unsafe instance.lock()
  unsafe instance.pointee.callbacks.disconnectV5 = unsafe function
  unsafe instance.unlock()
}

@c public func mosquitto_publish_callback_set(_ mosq: OpaquePointer?, _ function: mosq_on_publish?) {
  guard let instance = unsafe instance(mosq) else { return }
  unsafe instance.lock()
  unsafe instance.pointee.callbacks.publish = unsafe function
  unsafe instance.unlock()
}

@c public func mosquitto_publish_v5_callback_set(_ mosq: OpaquePointer?, _ function: mosq_on_publish_v5?) {
  guard let instance = unsafe instance(mosq) else { return }
  unsafe instance.lock()
  unsafe instance.pointee.callbacks.publishV5 = unsafe function
  unsafe instance.unlock()
}

@c public func mosquitto_message_callback_set(_ mosq: OpaquePointer?, _ function: mosq_on_message?) {
  guard let instance = unsafe instance(mosq) else { return }
  unsafe instance.lock()
  unsafe instance.pointee.callbacks.message = unsafe function
  unsafe instance.unlock()
}

@c public func mosquitto_message_v5_callback_set(_ mosq: OpaquePointer?, _ function: mosq_on_message_v5?) {
  guard let instance = unsafe instance(mosq) else { return }
  unsafe instance.lock()
  unsafe instance.pointee.callbacks.messageV5 = unsafe function
  unsafe instance.unlock()
}

@c public func mosquitto_subscribe_callback_set(_ mosq: OpaquePointer?, _ function: mosq_on_subscribe?) {
  guard let instance = unsafe instance(mosq) else { return }
  unsafe instance.lock()
  unsafe instance.pointee.callbacks.subscribe = unsafe function
  unsafe instance.unlock()
}

@c public func mosquitto_subscribe_v5_callback_set(_ mosq: OpaquePointer?, _ function: mosq_on_subscribe_v5?)
{
  guard let instance = unsafe instance(mosq) else { return }
  unsafe instance.lock()
  unsafe instance.pointee.callbacks.subscribeV5 = unsafe function
  unsafe instance.unlock()
}

@c public func mosquitto_unsubscribe_callback_set(_ mosq: OpaquePointer?, _ function: mosq_on_unsubscribe?) {
  guard let instance = unsafe instance(mosq) else { return }
  unsafe instance.lock()
  unsafe instance.pointee.callbacks.unsubscribe = unsafe function
  unsafe instance.unlock()
}

@c public func mosquitto_unsubscribe_v5_callback_set(
  _ mosq: OpaquePointer?, _ function: mosq_on_unsubscribe_v5?
) {
  guard let instance = unsafe instance(mosq) else { return }
  unsafe instance.lock()
  unsafe instance.pointee.callbacks.unsubscribeV5 = unsafe function
  unsafe instance.unlock()
}

@c public func mosquitto_log_callback_set(_ mosq: OpaquePointer?, _ function: mosq_on_log?) {
  guard let instance = unsafe instance(mosq) else { return }
  unsafe instance.lock()
  unsafe instance.pointee.callbacks.log = unsafe function
  unsafe instance.unlock()
}
