import CMosquitto
import Driver
import MQTTClient
import MQTTSession
import MQTTWire
import Storage
import Transports

/// Events of the core, reported by the program's callbacks.
extension Mosquitto.Locked {
  /// Calls the callbacks for all that has happened. Returns what a loop returns: how the connection ended, if
  /// it did.
  ///
  /// Each function copies what it needs of the client before it calls a callback: afterwards there may be
  /// another client.
  mutating func dispatch() -> Int32 {
    while !state.isDestroyed, !state.isOpening {
      // Room comes without an event, too.
      sendQueuedSubscriptions()
      publishMessagesBeforeConnect()
      if callDeferred() { continue }
      if let failure = state.failureToTell {
        state.failureToTell = nil
        handle(failure)
        continue
      }
      guard hasClient, let event = client.nextEvent() else { break }
      handle(event)
      flush()
    }
    guard let result = state.endResult else { return MOSQ_ERR_SUCCESS }
    state.endResult = nil
    return result
  }

  private mutating func handle(_ event: ClientEvent) {
    switch event {
    case .engine(.connected(let connected)): handle(connected)
    case .engine(.message(let message)): deliver(take(message))
    case .engine(.handshake(let handshake)) where handshake.type == .pubrel:
      released(Cookie.mid(handshake.cookie))
    case .engine(.completed(let completion)): handle(completion)
    case .engine(.subscribeCompleted(let result)): handle(result)
    case .engine(.journal(let event)): handle(event)
    case .disconnected(let failure): handle(failure)
    default: break
    }
  }

  // MARK: Connections

  private mutating func handle(_ connected: ConnectedEvent) {
    state.isConnected = true
    if !connected.sessionPresent { settleUnreleased() }
    logConnectBehindProxy()
    var list = unsafe propertyList(connected.properties)
    unsafe takeAssignedID(list)
    log(SHIM_RECEIVED_CONNACK, 0)
    unsafe callConnect(0, connected.sessionPresent ? 1 : 0, list)
    unsafe mosquitto_property_free_all(&list)
  }

  /// A client without an identifier keeps the one that the server assigns, in the log and on the next
  /// connection.
  private mutating func takeAssignedID(_ list: OpaquePointer?) {
    guard unsafe state.id == nil else { return }
    let found = unsafe mosquitto_property_read_string(
      list, Int32(PropertyIdentifier.assignedClientIdentifier.rawValue), &state.id, false)
    if unsafe found != nil { state.areOptionsChanged = true }
  }

  private mutating func callConnect(_ code: Int32, _ flags: Int32, _ list: OpaquePointer?) {
    let callbacks = state.callbacks
    let user = unsafe state.user
    if let function = unsafe callbacks.connect { unsafe callProgram { unsafe function($0, user, code) } }
    if let function = unsafe callbacks.connectWithFlags {
      unsafe callProgram { unsafe function($0, user, code, flags) }
    }
    if let function = unsafe callbacks.connectV5 {
      unsafe callProgram { unsafe function($0, user, code, flags, list) }
    }
  }

  private mutating func handle(_ failure: ClientFailure) {
    state.isConnected = false
    guard !state.isEndReported else { return }
    if client.link.haveLayersOpened { logConnectBehindProxy() }
    let isSilent = isSilent(failure)
    let result = state.isDisconnecting ? MOSQ_ERR_SUCCESS : outcome(of: failure, isOpen: true)
    if case .layer(.tls) = failure.cause { state.isRefusedByTLS = true }
    var reported = result
    var list = unsafe propertyList(failure.details?.properties ?? .empty)
    // Before any callback, because one of them may connect anew.
    state.isEndReported = true
    state.endResult = result
    if state.isDisconnecting { writeJournal(hurries: true) }
    logFailureOfTLS(failure)
    guard !isSilent else { return }
    switch failure.cause {
    case .refused:
      let code = Int32(failure.details?.reasonCode ?? 0)
      log(SHIM_RECEIVED_CONNACK, code)
      state.isReportingRefusal = true
      unsafe callConnect(code, 0, list)
      state.isReportingRefusal = false
      // The program has called mosquitto_disconnect() meanwhile, so the end is no error any more.
      if state.isDisconnecting {
        reported = MOSQ_ERR_SUCCESS
        state.endResult = reported
      }
    case .serverClosed:
      reported = Int32(failure.details?.reasonCode ?? UInt8(MOSQ_ERR_CONN_LOST))
      log(SHIM_RECEIVED_DISCONNECT, reported)
    default: break
    }
    unsafe callDisconnect(reported, list)
    unsafe mosquitto_property_free_all(&list)
  }

  /// Calls on_disconnect. The caller has set `isEndReported`, because it is called once for each connection.
  mutating func callDisconnect(_ result: Int32, _ properties: OpaquePointer?) {
    let callbacks = state.callbacks
    let user = unsafe state.user
    if let function = unsafe callbacks.disconnect { unsafe callProgram { unsafe function($0, user, result) } }
    if let function = unsafe callbacks.disconnectV5 {
      unsafe callProgram { unsafe function($0, user, result, properties) }
    }
  }

  // MARK: Messages

  private mutating func handle(_ completion: Completion) {
    let code = Int32(completion.reasonCode ?? 0)
    guard Cookie.kind(completion.cookie) == Cookie.publish else {
      return callRefused(completion.cookie, completion.reasonCode)
    }
    guard !isOfEarlierProcess(completion.cookie) else { return }
    let mid = mid(of: completion.cookie)
    switch completion.result {
    case .delivered, .refused: break
    default: return  // It was not delivered: libmosquitto has no callback for that.
    }
    var list = unsafe propertyList(completion.properties)
    if completion.latency != nil { logAcknowledged(completion, mid, code) }
    unsafe callPublish(mid, code, list)
    unsafe mosquitto_property_free_all(&list)
  }

  mutating func callPublish(_ mid: Int32, _ code: Int32, _ list: OpaquePointer?) {
    let callbacks = state.callbacks
    let user = unsafe state.user
    if let function = unsafe callbacks.publish { unsafe callProgram { unsafe function($0, user, mid) } }
    if let function = unsafe callbacks.publishV5 {
      unsafe callProgram { unsafe function($0, user, mid, code, list) }
    }
  }

  /// The core reports a handshake when it is over, so its lines come together. A PUBREC that refuses ends it.
  private mutating func logAcknowledged(_ completion: Completion, _ mid: Int32, _ code: Int32) {
    guard Cookie.isExactlyOnce(completion.cookie) else {
      return log(SHIM_RECEIVED_PUBACK, mid, code)
    }
    log(SHIM_RECEIVED_PUBREC, mid)
    guard code < 0x80 else { return }
    log(SHIM_SENDING_PUBREL, mid)
    log(SHIM_RECEIVED_PUBCOMP, mid, code)
  }

  // MARK: Subscriptions

  /// Reports SUBSCRIBE or UNSUBSCRIBE that was not sent, or whose acknowledgement could not be read, as
  /// refused.
  mutating func callRefused(_ cookie: UInt64, _ reasonCode: UInt8?) {
    let mid = Cookie.mid(cookie)
    var code = Int32(reasonCode ?? 0x80)
    let callbacks = state.callbacks
    let user = unsafe state.user
    if Cookie.kind(cookie) == Cookie.subscribe {
      if let function = unsafe callbacks.subscribe {
        unsafe callProgram { unsafe function($0, user, mid, 1, &code) }
      }
      if let function = unsafe callbacks.subscribeV5 {
        unsafe callProgram { unsafe function($0, user, mid, 1, &code, nil) }
      }
    } else {
      if let function = unsafe callbacks.unsubscribe { unsafe callProgram { unsafe function($0, user, mid) } }
      if let function = unsafe callbacks.unsubscribeV5 {
        unsafe callProgram { unsafe function($0, user, mid, nil) }
      }
    }
  }

  private mutating func handle(_ result: SubscribeResult) {
    let mid = Cookie.mid(result.cookie)
    let callbacks = state.callbacks
    let user = unsafe state.user
    var list = unsafe propertyList(result.properties)
    defer { unsafe mosquitto_property_free_all(&list) }
    guard Cookie.kind(result.cookie) == Cookie.subscribe else {
      log(SHIM_RECEIVED_UNSUBACK)
      if let function = unsafe callbacks.unsubscribe { unsafe callProgram { unsafe function($0, user, mid) } }
      if let function = unsafe callbacks.unsubscribeV5 {
        unsafe callProgram { unsafe function($0, user, mid, list) }
      }
      return
    }
    let count = result.reasonCodes.count
    guard let memory = unsafe shim_allocate(count * MemoryLayout<Int32>.size) else { return }
    defer { unsafe shim_free(memory) }
    let granted = unsafe memory.bindMemory(to: Int32.self, capacity: count)
    do {
      let codes = bytes(result.reasonCodes)
      for index in 0..<count { unsafe granted[index] = Int32(codes[index]) }
    }
    log(SHIM_RECEIVED_SUBACK)
    if let function = unsafe callbacks.subscribe {
      unsafe callProgram { unsafe function($0, user, mid, Int32(count), granted) }
    }
    if let function = unsafe callbacks.subscribeV5 {
      unsafe callProgram { unsafe function($0, user, mid, Int32(count), granted, list) }
    }
  }
}
