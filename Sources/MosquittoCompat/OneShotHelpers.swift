// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// Each of these does all in one call: it connects, subscribes, hands out messages, and disconnects.

import CMosquitto

@c public func mosquitto_subscribe_callback(
  _ callback: mosq_each_message?, _ userdata: UnsafeMutableRawPointer?, _ topic: UnsafePointer<CChar>?,
  _ qos: Int32, _ host: UnsafePointer<CChar>?, _ port: Int32, _ client_id: UnsafePointer<CChar>?,
  _ keepalive: Int32, _ clean_session: Bool, _ username: UnsafePointer<CChar>?,
  _ password: UnsafePointer<CChar>?, _ will: UnsafePointer<libmosquitto_will>?,
  _ tls: UnsafePointer<libmosquitto_tls>?
) -> Int32 {
  guard let callback = unsafe callback, let topic = unsafe topic else { return MOSQ_ERR_INVAL }
  guard unsafe tls == nil else { return MOSQ_ERR_NOT_SUPPORTED }
  var task = unsafe Task(callback: callback, user: userdata, topic: topic, qos: qos)
  return unsafe withUnsafeMutablePointer(to: &task) { task in
    guard let mosq = unsafe mosquitto_new(client_id, clean_session, task) else { return MOSQ_ERR_NOMEM }
    defer { unsafe mosquitto_destroy(mosq) }
    if let will = unsafe will {
      let result = unsafe mosquitto_will_set(
        mosq, will.pointee.topic, will.pointee.payloadlen, will.pointee.payload, will.pointee.qos,
        will.pointee.retain)
      guard result == MOSQ_ERR_SUCCESS else { return result }
    }
    if unsafe username != nil {
      let result = unsafe mosquitto_username_pw_set(mosq, username, password)
      guard result == MOSQ_ERR_SUCCESS else { return result }
    }
    unsafe mosquitto_connect_callback_set(mosq) { mosq, user, code in
      guard let task = unsafe user?.assumingMemoryBound(to: Task.self) else { return }
      if code == 0 {
        _ = unsafe mosquitto_subscribe(mosq, nil, task.pointee.topic, task.pointee.qos)
      } else {
        unsafe task.pointee.refusal = code
        _ = unsafe mosquitto_disconnect(mosq)
      }
    }
    unsafe mosquitto_message_callback_set(mosq) { mosq, user, message in
      guard let task = unsafe user?.assumingMemoryBound(to: Task.self), unsafe !task.pointee.isDone else {
        return
      }
      if unsafe task.pointee.callback(mosq, task.pointee.user, message) != 0 {
        unsafe task.pointee.isDone = true
        _ = unsafe mosquitto_disconnect(mosq)
      }
    }
    let connected = unsafe mosquitto_connect(mosq, host, port, keepalive)
    guard connected == MOSQ_ERR_SUCCESS else { return connected }
    let result = unsafe mosquitto_loop_forever(mosq, -1, 1)
    return unsafe task.pointee.refusal == 0 ? result : MOSQ_ERR_CONN_REFUSED
  }
}

/// `messages` becomes an array. The caller frees each message with mosquitto_message_free_contents(), and the
/// array with free().
@c public func mosquitto_subscribe_simple(
  _ messages: UnsafeMutablePointer<UnsafeMutablePointer<mosquitto_message>?>?, _ msg_count: Int32,
  _ want_retained: Bool, _ topic: UnsafePointer<CChar>?, _ qos: Int32, _ host: UnsafePointer<CChar>?,
  _ port: Int32, _ client_id: UnsafePointer<CChar>?, _ keepalive: Int32, _ clean_session: Bool,
  _ username: UnsafePointer<CChar>?, _ password: UnsafePointer<CChar>?,
  _ will: UnsafePointer<libmosquitto_will>?, _ tls: UnsafePointer<libmosquitto_tls>?
) -> Int32 {
  guard let messages = unsafe messages, unsafe topic != nil, msg_count > 0 else { return MOSQ_ERR_INVAL }
  unsafe messages.pointee = nil
  guard let memory = unsafe shim_allocate(Int(msg_count) * MemoryLayout<mosquitto_message>.stride) else {
    return MOSQ_ERR_NOMEM
  }
  let list = unsafe memory.bindMemory(to: mosquitto_message.self, capacity: Int(msg_count))
  var collection = unsafe Collection(list: list, wanted: msg_count, takesRetained: want_retained)
  let result = unsafe withUnsafeMutablePointer(to: &collection) { collection in
    unsafe mosquitto_subscribe_callback(
      { _, user, message in
        guard let collection = unsafe user?.assumingMemoryBound(to: Collection.self),
          let message = unsafe message
        else { return 1 }
        guard unsafe collection.pointee.takesRetained || !message.pointee.retain else { return 0 }
        let target = unsafe collection.pointee.list + Int(collection.pointee.count)
        let copied = unsafe mosquitto_message_copy(target, message)
        guard copied == MOSQ_ERR_SUCCESS else {
          unsafe collection.pointee.failure = copied
          return 1
        }
        unsafe collection.pointee.count += 1
        return unsafe collection.pointee.count == collection.pointee.wanted ? 1 : 0
      }, unsafe collection, unsafe topic, qos, unsafe host, port, unsafe client_id, keepalive, clean_session,
      unsafe username, unsafe password, unsafe will, unsafe tls)
  }
  guard result == MOSQ_ERR_SUCCESS, unsafe collection.failure == MOSQ_ERR_SUCCESS else {
    for index in unsafe 0..<Int(collection.count) { unsafe mosquitto_message_free_contents(list + index) }
    unsafe shim_free(list)
    return unsafe result == MOSQ_ERR_SUCCESS ? collection.failure : result
  }
  unsafe messages.pointee = unsafe list
  return MOSQ_ERR_SUCCESS
}

@unsafe private struct Task {
  let callback: mosq_each_message
  let user: UnsafeMutableRawPointer?
  let topic: UnsafePointer<CChar>
  let qos: Int32
  var refusal: Int32 = 0
  var isDone = false
}

@unsafe private struct Collection {
  let list: UnsafeMutablePointer<mosquitto_message>
  let wanted: Int32
  let takesRetained: Bool
  var count: Int32 = 0
  var failure: Int32 = 0
}
