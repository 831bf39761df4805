import CMosquitto
import Driver
import MQTTClient
import MQTTSession
import MQTTWire
import Storage

/// What has happened, told by the program's callbacks.
extension UnsafeMutablePointer where Pointee == Mosquitto {
  /// Hands out all there is. What a loop returns: how the connection ended, if it did. With the lock held.
  ///
  /// Each `tell` takes what it needs of the client before it calls anybody: afterwards there may be another one.
  func dispatch() -> Int32 {
    while unsafe !pointee.isDestroyed, unsafe !pointee.isOpening {
      // Room comes without an event, too.
      unsafe sendWaiting()
      unsafe publishEarly()
      if let owed = unsafe takeOwed() {
        switch unsafe owed {
        case .published(let mid, let code): unsafe tellPublished(mid, code, nil)
        case .arrived(let arrived): unsafe tell(arrived)
        case .released(let arrived): unsafe handOut(arrived)
        }
        continue
      }
      guard let client = unsafe pointee.client, let event = unsafe client.pointee.nextEvent() else { break }
      unsafe tell(event, of: client)
      unsafe flush()
    }
    guard let result = unsafe pointee.endResult else { return MOSQ_ERR_SUCCESS }
    unsafe pointee.endResult = nil
    return result
  }

  private func tell(_ event: ClientEvent, of client: UnsafeMutablePointer<Client>) {
    switch event {
    case .engine(.connected(let connected)): unsafe tell(connected, of: client)
    case .engine(.message(let message)): unsafe tell(take(message, of: client))
    case .engine(.handshake(let handshake)) where handshake.type == .pubrel:
      unsafe tellReleased(Cookie.mid(handshake.cookie))
    case .engine(.completed(let completion)): unsafe tell(completion, of: client)
    case .engine(.answered(let answer)): unsafe tell(answer, of: client)
    case .disconnected(let failure): unsafe tell(failure, of: client)
    default: break
    }
  }

  // MARK: Connections

  private func tell(_ connected: ConnectedEvent, of client: UnsafeMutablePointer<Client>) {
    unsafe pointee.isConnected = true
    if !connected.sessionPresent { unsafe settleKept() }
    var list = unsafe self.list(connected.properties, of: client)
    unsafe takeAssignedID(list)
    unsafe log(SHIM_RECEIVED_CONNACK, 0)
    unsafe tellConnect(0, connected.sessionPresent ? 1 : 0, list)
    unsafe mosquitto_property_free_all(&list)
  }

  /// The name that the server gave to one without is its name from now on: in the log, and on the next connection.
  private func takeAssignedID(_ list: OpaquePointer?) {
    guard unsafe pointee.id == nil else { return }
    let found = unsafe mosquitto_property_read_string(
      list, Int32(PropertyIdentifier.assignedClientIdentifier.rawValue), &pointee.id, false)
    if unsafe found != nil { unsafe pointee.isOutdated = true }
  }

  private func tellConnect(_ code: Int32, _ flags: Int32, _ list: OpaquePointer?) {
    let callbacks = unsafe pointee.callbacks
    let user = unsafe pointee.user
    if let function = unsafe callbacks.connect { unsafe outside { unsafe function(handle, user, code) } }
    if let function = unsafe callbacks.connectWithFlags {
      unsafe outside { unsafe function(handle, user, code, flags) }
    }
    if let function = unsafe callbacks.connectV5 {
      unsafe outside { unsafe function(handle, user, code, flags, list) }
    }
  }

  private func tell(_ failure: ClientFailure, of client: UnsafeMutablePointer<Client>) {
    unsafe pointee.isConnected = false
    guard unsafe !pointee.isEndTold else { return }
    let result = unsafe pointee.isLeaving ? MOSQ_ERR_SUCCESS : outcome(of: failure, isOpen: true)
    var told = result
    var list = unsafe self.list(failure.details?.properties ?? .empty, of: client)
    // Before any callback, as one of them may connect anew.
    unsafe pointee.isEndTold = true
    unsafe pointee.endResult = result
    switch failure.cause {
    case .refused:
      let code = Int32(failure.details?.reasonCode ?? 0)
      unsafe log(SHIM_RECEIVED_CONNACK, code)
      unsafe pointee.isTellingRefusal = true
      unsafe tellConnect(code, 0, list)
      unsafe pointee.isTellingRefusal = false
      // The program has called mosquitto_disconnect() meanwhile: that is no error any more.
      if unsafe pointee.isLeaving {
        told = MOSQ_ERR_SUCCESS
        unsafe pointee.endResult = told
      }
    case .serverClosed:
      told = Int32(failure.details?.reasonCode ?? UInt8(MOSQ_ERR_CONN_LOST))
      unsafe log(SHIM_RECEIVED_DISCONNECT, told)
    default: break
    }
    unsafe tellEnd(told, list)
    unsafe mosquitto_property_free_all(&list)
  }

  /// on_disconnect, once for each connection: `isEndTold` is set already. With the lock held.
  func tellEnd(_ result: Int32, _ properties: OpaquePointer?) {
    let callbacks = unsafe pointee.callbacks
    let user = unsafe pointee.user
    if let function = unsafe callbacks.disconnect { unsafe outside { unsafe function(handle, user, result) } }
    if let function = unsafe callbacks.disconnectV5 {
      unsafe outside { unsafe function(handle, user, result, properties) }
    }
  }

  // MARK: Messages

  private func tell(_ completion: Completion, of client: UnsafeMutablePointer<Client>) {
    let mid = Cookie.mid(completion.cookie)
    let code = Int32(completion.reasonCode ?? 0)
    guard Cookie.kind(completion.cookie) == Cookie.publish else {
      return unsafe tellRefused(completion.cookie, completion.reasonCode)
    }
    switch completion.result {
    case .delivered, .refused: break
    default: return  // nobody has it: libmosquitto has no word for that
    }
    var list = unsafe self.list(completion.properties, of: client)
    if completion.latency != nil { unsafe logAcknowledged(completion, mid, code) }
    unsafe tellPublished(mid, code, list)
    unsafe mosquitto_property_free_all(&list)
  }

  private func tellPublished(_ mid: Int32, _ code: Int32, _ list: OpaquePointer?) {
    let callbacks = unsafe pointee.callbacks
    let user = unsafe pointee.user
    if let function = unsafe callbacks.publish { unsafe outside { unsafe function(handle, user, mid) } }
    if let function = unsafe callbacks.publishV5 {
      unsafe outside { unsafe function(handle, user, mid, code, list) }
    }
  }

  /// The core tells of a handshake when it is over, so its lines come together; a PUBREC that refuses ends it.
  private func logAcknowledged(_ completion: Completion, _ mid: Int32, _ code: Int32) {
    guard Cookie.isExactlyOnce(completion.cookie) else {
      return unsafe log(SHIM_RECEIVED_PUBACK, mid, code)
    }
    unsafe log(SHIM_RECEIVED_PUBREC, mid)
    guard code < 0x80 else { return }
    unsafe log(SHIM_SENDING_PUBREL, mid)
    unsafe log(SHIM_RECEIVED_PUBCOMP, mid, code)
  }

  // MARK: Subscriptions

  /// A request that was not sent, or whose answer could not be read, was refused. With the lock held.
  func tellRefused(_ cookie: UInt64, _ reasonCode: UInt8?) {
    let mid = Cookie.mid(cookie)
    var code = Int32(reasonCode ?? 0x80)
    let callbacks = unsafe pointee.callbacks
    let user = unsafe pointee.user
    if Cookie.kind(cookie) == Cookie.subscribe {
      if let function = unsafe callbacks.subscribe {
        unsafe outside { unsafe function(handle, user, mid, 1, &code) }
      }
      if let function = unsafe callbacks.subscribeV5 {
        unsafe outside { unsafe function(handle, user, mid, 1, &code, nil) }
      }
    } else {
      if let function = unsafe callbacks.unsubscribe { unsafe outside { unsafe function(handle, user, mid) } }
      if let function = unsafe callbacks.unsubscribeV5 {
        unsafe outside { unsafe function(handle, user, mid, nil) }
      }
    }
  }

  private func tell(_ answer: SubscribeResult, of client: UnsafeMutablePointer<Client>) {
    let mid = Cookie.mid(answer.cookie)
    let callbacks = unsafe pointee.callbacks
    let user = unsafe pointee.user
    var list = unsafe self.list(answer.properties, of: client)
    defer { unsafe mosquitto_property_free_all(&list) }
    guard Cookie.kind(answer.cookie) == Cookie.subscribe else {
      unsafe log(SHIM_RECEIVED_UNSUBACK)
      if let function = unsafe callbacks.unsubscribe { unsafe outside { unsafe function(handle, user, mid) } }
      if let function = unsafe callbacks.unsubscribeV5 {
        unsafe outside { unsafe function(handle, user, mid, list) }
      }
      return
    }
    let count = answer.reasonCodes.count
    guard let memory = unsafe shim_allocate(count * MemoryLayout<Int32>.size) else { return }
    defer { unsafe shim_free(memory) }
    let granted = unsafe memory.bindMemory(to: Int32.self, capacity: count)
    let codes = unsafe bytes(answer.reasonCodes, of: client)
    for index in 0..<count { unsafe granted[index] = Int32(codes[index]) }
    unsafe log(SHIM_RECEIVED_SUBACK)
    if let function = unsafe callbacks.subscribe {
      unsafe outside { unsafe function(handle, user, mid, Int32(count), granted) }
    }
    if let function = unsafe callbacks.subscribeV5 {
      unsafe outside { unsafe function(handle, user, mid, Int32(count), granted, list) }
    }
  }

  // MARK: Copies

  func copy(_ span: Span<UInt8>) -> UnsafeMutablePointer<CChar>? {
    unsafe span.withUnsafeBytes { unsafe shim_copy($0.baseAddress, $0.count) }
  }

  /// They lie in the client's block, and stay what they are until the event is released.
  @_lifetime(immortal)
  func bytes(
    _ extent: ByteRange, of client: UnsafeMutablePointer<Client>, isAliased: Bool = false
  ) -> Span<UInt8> {
    guard !extent.isEmpty,
      let start = unsafe isAliased ? startOfTopics(client.pointee) : startOfBytes(client.pointee)
    else { return Span() }
    return unsafe span(start + extent.offset, extent.count)
  }

  func list(_ extent: ByteRange, of client: UnsafeMutablePointer<Client>) -> OpaquePointer? {
    guard !extent.isEmpty else { return nil }
    return unsafe propertyList(of: bytes(extent, of: client))
  }
}

private func startOfBytes(_ client: borrowing Client) -> UnsafeRawPointer? {
  unsafe client.receivedBytes.withUnsafeBytes { $0.baseAddress }
}

private func startOfTopics(_ client: borrowing Client) -> UnsafeRawPointer? {
  unsafe client.aliasedTopics.withUnsafeBytes { $0.baseAddress }
}
