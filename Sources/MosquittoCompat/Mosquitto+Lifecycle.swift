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

/// There is nothing to do for all clients together.
@c public func mosquitto_lib_init() -> Int32 { MOSQ_ERR_SUCCESS }

@c public func mosquitto_lib_cleanup() -> Int32 { MOSQ_ERR_SUCCESS }

@c public func mosquitto_new(
  _ id: UnsafePointer<CChar>?, _ clean_session: Bool, _ object: UnsafeMutableRawPointer?
) -> OpaquePointer? {
  // No client could resume a session without a Client Identifier.
  guard unsafe clean_session || id != nil else {
    shim_set_errno(SystemError.invalidArgument)
    return nil
  }
  guard let memory = unsafe shim_allocate(MemoryLayout<Mosquitto>.stride), let lock = unsafe shim_mutex()
  else {
    shim_set_errno(SystemError.outOfMemory)
    return nil
  }
  let pointer = unsafe memory.bindMemory(to: Mosquitto.self, capacity: 1)
  unsafe pointer.initialize(to: Mosquitto(lock: lock))
  let instance = unsafe Instance(pointer)
  let result = unsafe instance.initialize(platform_event_open(), id, clean_session, object)
  guard result == MOSQ_ERR_SUCCESS else {
    instance.free()
    shim_set_errno(result == MOSQ_ERR_NOMEM ? SystemError.outOfMemory : SystemError.invalidArgument)
    return nil
  }
  return unsafe instance.handle
}

@c public func mosquitto_reinitialise(
  _ mosq: OpaquePointer?, _ id: UnsafePointer<CChar>?, _ clean_session: Bool,
  _ object: UnsafeMutableRawPointer?
) -> Int32 {
  guard let instance = unsafe instance(mosq), unsafe clean_session || id != nil, !instance.isInCallback else {
    return MOSQ_ERR_INVAL
  }
  instance.stopThread()
  return unsafe instance.initialize(nil, id, clean_session, object)
}

@c public func mosquitto_destroy(_ mosq: OpaquePointer?) {
  guard let instance = unsafe instance(mosq) else { return }
  guard !instance.isInCallback else { return instance.destroyLater() }
  instance.stopThread()
  instance.free()
}

extension Instance {
  /// The calling thread is in a callback, and the function that called it goes on with the instance.
  fileprivate var isInCallback: Bool { lock().isInCallback }

  private var isLoopThread: Bool { lock().state.thread == platform_thread_self() }

  /// The function that called the callback frees the instance.
  fileprivate func destroyLater() {
    if !isLoopThread { stopThread() }
    var locked = lock()
    locked.state.isDestroyed = true
  }

  /// Sets the state to that of a new instance; with this event, or with its own.
  fileprivate func initialize(
    _ event: Int32?, _ id: UnsafePointer<CChar>?, _ cleanSession: Bool, _ object: UnsafeMutableRawPointer?
  ) -> Int32 {
    var locked = lock()
    locked.freeContents()
    let event = event ?? locked.state.event
    unsafe locked.state = Mosquitto(lock: locked.state.lock)
    locked.state.event = event
    locked.state.cleanSession = cleanSession
    unsafe locked.state.user = unsafe object ?? UnsafeMutableRawPointer(pointer)
    guard let id = unsafe id else { return MOSQ_ERR_SUCCESS }
    guard unsafe isEmpty(id) == false else { return MOSQ_ERR_INVAL }
    guard unsafe mosquitto_validate_utf8(id, Int32(clamping: shim_length(id))) == MOSQ_ERR_SUCCESS else {
      return MOSQ_ERR_MALFORMED_UTF8
    }
    unsafe locked.state.id = unsafe copied(id)
    return unsafe locked.state.id == nil ? MOSQ_ERR_NOMEM : MOSQ_ERR_SUCCESS
  }

  /// No thread uses the instance any more.
  func free() {
    var locked = lock()
    locked.freeContents()
    if locked.state.event >= 0 { platform_close(locked.state.event) }
    let mutex = unsafe locked.state.lock
    _ = consume locked
    unsafe shim_mutex_free(mutex)
    unsafe shim_free(pointer)
  }
}

extension Mosquitto.Locked {
  fileprivate mutating func freeContents() {
    takeRestIntoJournal()
    freeClient()
    unsafe shim_tls_free(state.tls)
    unsafe state.tls = nil
    state.proxy.free()
    freeMessagesBeforeConnect()
    freeQueuedSubscriptions()
    freeDeferredCallbacks()
    freeUnreleased()
    freeAliases()
    clearWill()
    unsafe MosquittoCompat.free(&state.id)
    unsafe MosquittoCompat.free(&state.journalPath)
    unsafe MosquittoCompat.free(&state.inspectPath)
    unsafe MosquittoCompat.free(&state.userName)
    unsafe MosquittoCompat.free(&state.password)
    unsafe MosquittoCompat.free(&state.host)
    unsafe mosquitto_property_free_all(&state.connectProperties)
  }

  /// The credentials in the client's memory are overwritten before the memory is freed.
  mutating func freeClient() {
    if hasClient, client.hasJournal { _ = client.syncJournal(timeout: 5000) }
    if hasClient { client.wipeSecrets() }
    unsafe state.client?.deinitialize(count: 1)
    unsafe state.client = nil
    unsafe shim_free(state.memory)
    unsafe state.memory = nil
    unsafe shim_free(state.layerMemory)
    unsafe state.layerMemory = nil
  }

  mutating func clearWill() {
    unsafe MosquittoCompat.free(&state.will.topic)
    unsafe MosquittoCompat.free(&state.will.payload)
    unsafe mosquitto_property_free_all(&state.will.properties)
    state.will = Mosquitto.Will()
  }
}
