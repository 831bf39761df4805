// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// These set the functions that the library calls.

import CMosquitto

@c public func mosquitto_connect_callback_set(_ mosq: OpaquePointer?, _ function: mosq_on_connect?) {
  guard let instance = unsafe instance(mosq) else { return }
  var locked = instance.lock()
  unsafe locked.state.callbacks.connect = unsafe function
}

@c public func mosquitto_connect_with_flags_callback_set(
  _ mosq: OpaquePointer?, _ function: mosq_on_connect_with_flags?
) {
  guard let instance = unsafe instance(mosq) else { return }
  var locked = instance.lock()
  unsafe locked.state.callbacks.connectWithFlags = unsafe function
}

@c public func mosquitto_connect_v5_callback_set(_ mosq: OpaquePointer?, _ function: mosq_on_connect_v5?) {
  guard let instance = unsafe instance(mosq) else { return }
  var locked = instance.lock()
  unsafe locked.state.callbacks.connectV5 = unsafe function
}

@c public func mosquitto_disconnect_callback_set(_ mosq: OpaquePointer?, _ function: mosq_on_disconnect?) {
  guard let instance = unsafe instance(mosq) else { return }
  var locked = instance.lock()
  unsafe locked.state.callbacks.disconnect = unsafe function
}

@c public func mosquitto_disconnect_v5_callback_set(
  _ mosq: OpaquePointer?, _ function: mosq_on_disconnect_v5?
) {
  guard let instance = unsafe instance(mosq) else { return }
  var locked = instance.lock()
  unsafe locked.state.callbacks.disconnectV5 = unsafe function
}

@c public func mosquitto_publish_callback_set(_ mosq: OpaquePointer?, _ function: mosq_on_publish?) {
  guard let instance = unsafe instance(mosq) else { return }
  var locked = instance.lock()
  unsafe locked.state.callbacks.publish = unsafe function
}

@c public func mosquitto_publish_v5_callback_set(_ mosq: OpaquePointer?, _ function: mosq_on_publish_v5?) {
  guard let instance = unsafe instance(mosq) else { return }
  var locked = instance.lock()
  unsafe locked.state.callbacks.publishV5 = unsafe function
}

@c public func mosquitto_message_callback_set(_ mosq: OpaquePointer?, _ function: mosq_on_message?) {
  guard let instance = unsafe instance(mosq) else { return }
  var locked = instance.lock()
  unsafe locked.state.callbacks.message = unsafe function
}

@c public func mosquitto_message_v5_callback_set(_ mosq: OpaquePointer?, _ function: mosq_on_message_v5?) {
  guard let instance = unsafe instance(mosq) else { return }
  var locked = instance.lock()
  unsafe locked.state.callbacks.messageV5 = unsafe function
}

@c public func mosquitto_subscribe_callback_set(_ mosq: OpaquePointer?, _ function: mosq_on_subscribe?) {
  guard let instance = unsafe instance(mosq) else { return }
  var locked = instance.lock()
  unsafe locked.state.callbacks.subscribe = unsafe function
}

@c public func mosquitto_subscribe_v5_callback_set(_ mosq: OpaquePointer?, _ function: mosq_on_subscribe_v5?)
{
  guard let instance = unsafe instance(mosq) else { return }
  var locked = instance.lock()
  unsafe locked.state.callbacks.subscribeV5 = unsafe function
}

@c public func mosquitto_unsubscribe_callback_set(_ mosq: OpaquePointer?, _ function: mosq_on_unsubscribe?) {
  guard let instance = unsafe instance(mosq) else { return }
  var locked = instance.lock()
  unsafe locked.state.callbacks.unsubscribe = unsafe function
}

@c public func mosquitto_unsubscribe_v5_callback_set(
  _ mosq: OpaquePointer?, _ function: mosq_on_unsubscribe_v5?
) {
  guard let instance = unsafe instance(mosq) else { return }
  var locked = instance.lock()
  unsafe locked.state.callbacks.unsubscribeV5 = unsafe function
}

@c public func mosquitto_log_callback_set(_ mosq: OpaquePointer?, _ function: mosq_on_log?) {
  guard let instance = unsafe instance(mosq) else { return }
  var locked = instance.lock()
  unsafe locked.state.callbacks.log = unsafe function
}
