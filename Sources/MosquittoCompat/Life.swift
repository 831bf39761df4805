// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// From mosquitto_new() to mosquitto_destroy().

import CMosquitto
import CPlatform
import Driver
import MQTTClient
import Platform

@c public func mosquitto_lib_version(
  _ major: UnsafeMutablePointer<Int32>?, _ minor: UnsafeMutablePointer<Int32>?,
  _ revision: UnsafeMutablePointer<Int32>?
) -> Int32 {
  unsafe major?.pointee = 2
  unsafe minor?.pointee = 0
  unsafe revision?.pointee = 11
  return 2_000_011
}

/// There is nothing to be done for all clients together.
@c public func mosquitto_lib_init() -> Int32 { MOSQ_ERR_SUCCESS }

@c public func mosquitto_lib_cleanup() -> Int32 { MOSQ_ERR_SUCCESS }

@c public func mosquitto_new(
  _ id: UnsafePointer<CChar>?, _ clean_session: Bool, _ object: UnsafeMutableRawPointer?
) -> OpaquePointer? {
  // Nobody could take up a session whose client has no name of its own.
  guard unsafe clean_session || id != nil else {
    shim_set_errno(SystemError.invalidArgument)
    return nil
  }
  guard let memory = unsafe shim_allocate(MemoryLayout<Mosquitto>.stride), let lock = unsafe shim_mutex()
  else {
    shim_set_errno(SystemError.outOfMemory)
    return nil
  }
  let instance = unsafe memory.bindMemory(to: Mosquitto.self, capacity: 1)
  unsafe instance.initialize(to: Mosquitto(lock: lock))
  unsafe instance.pointee.event = platform_event_open()
  let result = unsafe instance.name(id, clean_session, object)
  guard result == MOSQ_ERR_SUCCESS else {
    unsafe instance.free()
    shim_set_errno(result == MOSQ_ERR_NOMEM ? SystemError.outOfMemory : SystemError.invalidArgument)
    return nil
  }
  return unsafe instance.handle
}

@c public func mosquitto_reinitialise(
  _ mosq: OpaquePointer?, _ id: UnsafePointer<CChar>?, _ clean_session: Bool,
  _ object: UnsafeMutableRawPointer?
) -> Int32 {
  guard let instance = unsafe instance(mosq), unsafe clean_session || id != nil else { return MOSQ_ERR_INVAL }
  guard unsafe instance.mayEnd() else { return MOSQ_ERR_INVAL }
  unsafe instance.stopThread()
  let lock = unsafe instance.pointee.lock
  let event = unsafe instance.pointee.event
  unsafe instance.freeContents()
  unsafe instance.initialize(to: Mosquitto(lock: lock))
  unsafe instance.pointee.event = event
  return unsafe instance.name(id, clean_session, object)
}

@c public func mosquitto_destroy(_ mosq: OpaquePointer?) {
  guard let instance = unsafe instance(mosq) else { return }
  guard unsafe instance.mayEnd() else { return unsafe instance.endLater() }
  unsafe instance.stopThread()
  unsafe instance.free()
}

extension UnsafeMutablePointer where Pointee == Mosquitto {
  /// False: in a callback, whose caller goes on with the instance.
  fileprivate func mayEnd() -> Bool {
    unsafe lock()
    defer { unsafe unlock() }
    return unsafe !isInCallback
  }

  /// The function that called the callback frees it.
  fileprivate func endLater() {
    if unsafe !isThread { unsafe stopThread() }
    unsafe lock()
    unsafe pointee.isDestroyed = true
    unsafe unlock()
  }

  private var isThread: Bool {
    unsafe lock()
    defer { unsafe unlock() }
    return unsafe pointee.thread == platform_thread_self()
  }

  fileprivate func name(
    _ id: UnsafePointer<CChar>?, _ cleanSession: Bool, _ object: UnsafeMutableRawPointer?
  ) -> Int32 {
    unsafe pointee.cleanSession = cleanSession
    unsafe pointee.user = unsafe object ?? UnsafeMutableRawPointer(self)
    guard let id = unsafe id else { return MOSQ_ERR_SUCCESS }
    guard unsafe isEmpty(id) == false else { return MOSQ_ERR_INVAL }
    guard unsafe mosquitto_validate_utf8(id, Int32(clamping: shim_length(id))) == MOSQ_ERR_SUCCESS else {
      return MOSQ_ERR_MALFORMED_UTF8
    }
    unsafe pointee.id = unsafe copied(id)
    return unsafe pointee.id == nil ? MOSQ_ERR_NOMEM : MOSQ_ERR_SUCCESS
  }

  /// No thread uses it any more.
  func free() {
    unsafe freeContents()
    if unsafe pointee.event >= 0 { unsafe platform_close(pointee.event) }
    unsafe shim_mutex_free(pointee.lock)
    unsafe shim_free(self)
  }

  fileprivate func freeContents() {
    unsafe freeClient()
    unsafe freeEarly()
    unsafe freeWaiting()
    unsafe freeOwed()
    unsafe freeKept()
    unsafe freeAliases()
    unsafe clearWill()
    unsafe MosquittoCompat.free(&pointee.id)
    unsafe MosquittoCompat.free(&pointee.userName)
    unsafe MosquittoCompat.free(&pointee.password)
    unsafe MosquittoCompat.free(&pointee.host)
    unsafe mosquitto_property_free_all(&pointee.connectProperties)
  }

  /// What it has said of who it is goes before its memory does.
  func freeClient() {
    unsafe pointee.client?.pointee.wipeSecrets()
    unsafe pointee.client?.deinitialize(count: 1)
    unsafe pointee.client = nil
    unsafe shim_free(pointee.memory)
    unsafe pointee.memory = nil
  }

  func freeEarly() {
    while unsafe pointee.early != nil { unsafe dropEarly() }
  }

  /// The first of them.
  func dropEarly() {
    guard let message = unsafe pointee.early else { return }
    unsafe pointee.early = unsafe message.pointee.next
    if unsafe pointee.early == nil { unsafe pointee.earlyLast = nil }
    unsafe pointee.earlyCount &-= 1
    unsafe pointee.earlyBytes &-= message.pointee.topicSize &+ message.pointee.payloadSize
    unsafe shim_free(message.pointee.topic)
    unsafe shim_free(message.pointee.payload)
    unsafe mosquitto_property_free_all(&message.pointee.properties)
    unsafe shim_free(message)
  }

  func clearWill() {
    unsafe MosquittoCompat.free(&pointee.will.topic)
    unsafe MosquittoCompat.free(&pointee.will.payload)
    unsafe mosquitto_property_free_all(&pointee.will.properties)
    unsafe pointee.will = Mosquitto.Will()
  }
}
