// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// From mosquitto_connect() to mosquitto_disconnect().

import CMosquitto
import CPlatform
import FixedMemory
import MQTTClient
import MQTTSession
import MQTTTransport
import MQTTWire

// MARK: Connect

@c public func mosquitto_connect(
  _ mosq: OpaquePointer?, _ host: UnsafePointer<CChar>?, _ port: Int32, _ keepalive: Int32
) -> Int32 {
  unsafe connect(mosq, host, port, keepalive, nil, nil, waits: true)
}

@c public func mosquitto_connect_bind(
  _ mosq: OpaquePointer?, _ host: UnsafePointer<CChar>?, _ port: Int32, _ keepalive: Int32,
  _ bind_address: UnsafePointer<CChar>?
) -> Int32 {
  unsafe connect(mosq, host, port, keepalive, bind_address, nil, waits: true)
}

@c public func mosquitto_connect_bind_v5(
  _ mosq: OpaquePointer?, _ host: UnsafePointer<CChar>?, _ port: Int32, _ keepalive: Int32,
  _ bind_address: UnsafePointer<CChar>?, _ properties: OpaquePointer?
) -> Int32 {
  unsafe connect(mosq, host, port, keepalive, bind_address, properties, waits: true)
}

@c public func mosquitto_connect_async(
  _ mosq: OpaquePointer?, _ host: UnsafePointer<CChar>?, _ port: Int32, _ keepalive: Int32
) -> Int32 {
  unsafe connect(mosq, host, port, keepalive, nil, nil, waits: false)
}

@c public func mosquitto_connect_bind_async(
  _ mosq: OpaquePointer?, _ host: UnsafePointer<CChar>?, _ port: Int32, _ keepalive: Int32,
  _ bind_address: UnsafePointer<CChar>?
) -> Int32 {
  unsafe connect(mosq, host, port, keepalive, bind_address, nil, waits: false)
}

/// Debian's library is built without it, too.
@c public func mosquitto_connect_srv(
  _ mosq: OpaquePointer?, _ host: UnsafePointer<CChar>?, _ keepalive: Int32,
  _ bind_address: UnsafePointer<CChar>?
) -> Int32 { MOSQ_ERR_NOT_SUPPORTED }

@c public func mosquitto_reconnect(_ mosq: OpaquePointer?) -> Int32 {
  guard let instance = unsafe instance(mosq), unsafe instance.pointee.host != nil else {
    return MOSQ_ERR_INVAL
  }
  return unsafe instance.open(waits: true)
}

@c public func mosquitto_reconnect_async(_ mosq: OpaquePointer?) -> Int32 {
  guard let instance = unsafe instance(mosq), unsafe instance.pointee.host != nil else {
    return MOSQ_ERR_INVAL
  }
  return unsafe instance.open(waits: false)
}

private func connect(
  _ mosq: OpaquePointer?, _ host: UnsafePointer<CChar>?, _ port: Int32, _ keepalive: Int32,
  _ bindAddress: UnsafePointer<CChar>?, _ properties: OpaquePointer?, waits: Bool
) -> Int32 {
  guard let instance = unsafe instance(mosq), let host = unsafe host, unsafe !isEmpty(host),
    0...65_535 ~= port,
    keepalive == 0 || 5...65_535 ~= keepalive
  else { return MOSQ_ERR_INVAL }
  guard unsafe bindAddress == nil else { return MOSQ_ERR_NOT_SUPPORTED }
  guard port > 0 else {
    shim_set_errno(111)  // ECONNREFUSED: nobody ever listens there
    return MOSQ_ERR_ERRNO
  }
  if unsafe properties != nil {
    guard unsafe instance.pointee.version == UInt32(MQTT_PROTOCOL_V5) else { return MOSQ_ERR_NOT_SUPPORTED }
    let result = unsafe mosquitto_property_check_all(connectCommand, properties)
    guard result == MOSQ_ERR_SUCCESS else { return result }
  }
  var ownProperties: OpaquePointer? = nil
  if unsafe properties != nil {
    let result = unsafe mosquitto_property_copy_all(&ownProperties, properties)
    guard result == MOSQ_ERR_SUCCESS else { return result }
  }
  guard let ownHost = unsafe copied(host) else {
    unsafe mosquitto_property_free_all(&ownProperties)
    return MOSQ_ERR_NOMEM
  }
  unsafe instance.lock()
  unsafe free(&instance.pointee.host)
  unsafe mosquitto_property_free_all(&instance.pointee.connectProperties)
  unsafe instance.pointee.host = unsafe ownHost
  unsafe instance.pointee.port = UInt32(port)
  unsafe instance.pointee.keepAlive = UInt32(keepalive)
  unsafe instance.pointee.connectProperties = unsafe ownProperties
  unsafe instance.pointee.isOutdated = true
  unsafe instance.unlock()
  return unsafe instance.open(waits: waits)
}

private var connectCommand: Int32 { 0x10 }

// MARK: Disconnect

@c public func mosquitto_disconnect(_ mosq: OpaquePointer?) -> Int32 {
  unsafe mosquitto_disconnect_v5(mosq, 0, nil)
}

@c public func mosquitto_disconnect_v5(
  _ mosq: OpaquePointer?, _ reason_code: Int32, _ properties: OpaquePointer?
) -> Int32 {
  guard let instance = unsafe instance(mosq), 0...255 ~= reason_code else { return MOSQ_ERR_INVAL }
  if unsafe properties != nil {
    guard unsafe instance.pointee.version == UInt32(MQTT_PROTOCOL_V5) else { return MOSQ_ERR_NOT_SUPPORTED }
    let result = unsafe mosquitto_property_check_all(0xE0, properties)
    guard result == MOSQ_ERR_SUCCESS else { return result }
  }
  unsafe instance.lock()
  unsafe instance.pointee.isLeaving = true
  guard let client = unsafe instance.pointee.client, unsafe client.pointee.state != .disconnected else {
    unsafe instance.wake()
    unsafe instance.unlock()
    return MOSQ_ERR_NO_CONN
  }
  let encoded = unsafe EncodedProperties(properties)
  do throws(SessionError) {
    // What the kernel has not taken goes out first, as far as it does in a second.
    unsafe try client.pointee.disconnect(
      drain: client.pointee.isBlockedSending ? 1000 : 0,
      reasonCode: instance.pointee.version == UInt32(MQTT_PROTOCOL_V5) ? UInt8(reason_code) : 0,
      properties: encoded.span, at: client.pointee.time)
  } catch {
    unsafe encoded.free()
    unsafe instance.unlock()
    return MOSQ_ERR_INVAL
  }
  unsafe encoded.free()
  unsafe instance.flush()
  unsafe instance.log(SHIM_SENDING_DISCONNECT)
  unsafe instance.wake()
  let tellsHere =
    unsafe !instance.pointee.isThreaded && instance.pointee.thread == nil && !instance.isInCallback
  unsafe instance.unlock()
  if tellsHere { unsafe instance.finishLeaving() }
  return MOSQ_ERR_SUCCESS
}

extension UnsafeMutablePointer where Pointee == Mosquitto {
  /// Without a thread, on_disconnect is called in mosquitto_disconnect(): waits a moment for the server to close.
  fileprivate func finishLeaving() {
    guard let client = unsafe pointee.client else { return }
    let end = unsafe client.pointee.time.advanced(by: 250)
    while unsafe client.pointee.state != .disconnected {
      let left = unsafe end.remaining(at: client.pointee.time)
      guard left > 0 else { break }
      _ = unsafe shim_poll(client.pointee.descriptor, -1, Int32(min(left, 50)))
      _ = unsafe client.pointee.service(at: client.pointee.time)
      _ = unsafe dispatch()
    }
    unsafe pointee.endResult = nil
    guard unsafe client.pointee.state != .disconnected else { return }
    unsafe lock()
    unsafe tellEnd(MOSQ_ERR_SUCCESS, nil)
    unsafe unlock()
  }

  // MARK: The attempt

  /// Begins a connection; waits until the transport stands, or cannot.
  func open(waits: Bool) -> Int32 {
    unsafe lock()
    defer { unsafe unlock() }
    unsafe closeOld()
    let result = unsafe makeClientIfNeeded()
    guard result == MOSQ_ERR_SUCCESS, let client = unsafe pointee.client else { return result }
    guard unsafe client.pointee.connect(at: client.pointee.time) else { return MOSQ_ERR_INVAL }
    unsafe pointee.isLeaving = false
    unsafe pointee.isEndTold = false
    unsafe pointee.endResult = nil
    unsafe wake()
    if !waits {
      unsafe publishEarly()
      unsafe log(SHIM_SENDING_CONNECT)
      return MOSQ_ERR_SUCCESS
    }
    while unsafe !client.pointee.isOpen {
      _ = unsafe shim_poll(client.pointee.descriptor, -1, client.pointee.nextTimeout(at: client.pointee.time))
      _ = unsafe client.pointee.service(at: client.pointee.time)
      guard unsafe client.pointee.state == .disconnected else { continue }
      while let event = unsafe client.pointee.nextEvent() {
        guard case .disconnected(let failure) = event else { continue }
        return unsafe outcome(of: failure, isOpen: false)
      }
    }
    unsafe publishEarly()
    unsafe log(SHIM_SENDING_CONNECT)
    return MOSQ_ERR_SUCCESS
  }

  /// What is left of the last connection goes without a word, as nobody waits for it.
  private func closeOld() {
    guard let client = unsafe pointee.client,
      unsafe client.pointee.state != .disconnected || client.pointee.hasEvent
    else {
      return
    }
    do throws(SessionError) {
      unsafe try client.pointee.disconnect(
        drain: 0, reasonCode: 0, properties: Span(), at: client.pointee.time)
    } catch {
      return unsafe freeClient()
    }
    let end = unsafe client.pointee.time.advanced(by: 2500)
    while unsafe client.pointee.state != .disconnected, unsafe !end.isReached(at: client.pointee.time) {
      _ = unsafe client.pointee.service(at: client.pointee.time)
      while unsafe client.pointee.nextEvent() != nil { continue }
      _ = unsafe shim_poll(client.pointee.descriptor, -1, 20)
    }
    while unsafe client.pointee.nextEvent() != nil { continue }
  }

  private func makeClientIfNeeded() -> Int32 {
    if let client = unsafe pointee.client {
      guard unsafe pointee.isOutdated else { return MOSQ_ERR_SUCCESS }
      // What waits there was promised to be sent: it goes to the new server, but with what was set before.
      guard unsafe client.pointee.isDrained else {
        return unsafe client.pointee.setServer(
          spanOrNone(pointee.host), port: UInt16(truncatingIfNeeded: pointee.port))
          ? MOSQ_ERR_SUCCESS : MOSQ_ERR_INVAL
      }
      unsafe freeClient()
    }
    let result = unsafe makeClient()
    guard result == MOSQ_ERR_SUCCESS else { return result }
    unsafe pointee.isOutdated = false
    return MOSQ_ERR_SUCCESS
  }

  private func makeClient() -> Int32 {
    let is5 = unsafe pointee.version == UInt32(MQTT_PROTOCOL_V5)
    if unsafe pointee.id == nil, unsafe pointee.version == UInt32(MQTT_PROTOCOL_V31) { unsafe makeUpID() }
    var request = RequestedOptions()
    request.noReconnect = true
    request.clientIDAsIs = true
    request.hold = true
    request.keepSession = unsafe !pointee.cleanSession
    request.host = unsafe spanOrNone(pointee.host)
    request.port = unsafe pointee.port
    request.protocolVersion = unsafe pointee.version
    request.clientID = unsafe spanOrNone(pointee.id)
    request.userName = unsafe spanOrNone(pointee.userName)
    request.password = unsafe spanOrNone(pointee.password)
    request.keepAlive = unsafe pointee.keepAlive == 0 ? .max : pointee.keepAlive
    request.subscriptions = .max  // none: libmosquitto leaves subscribing again to the program
    request.inFlightMaximum = unsafe pointee.inFlightMaximum
    request.receiveMaximum = unsafe is5 ? pointee.receiveMaximum : 1024
    request.unreleasedMaximum = 4096
    request.requests = 256
    request.requestBytes = 262_144
    request.controlBytes = 4096
    request.outboxBytes = Limits.outboxBytes
    request.outboxMessages = Limits.outboxMessages
    request.receiveBytes = Limits.receiveBytes

    let properties = unsafe EncodedProperties(pointee.connectProperties) { isConnectOption($0) }
    let willProperties = unsafe EncodedProperties(pointee.will.properties)
    defer {
      unsafe properties.free()
      unsafe willProperties.free()
    }
    request.properties = unsafe properties.span
    unsafe readOptions(from: pointee.connectProperties, into: &request)
    if let topic = unsafe pointee.will.topic {
      request.hasWill = true
      request.willTopic = unsafe span(UnsafePointer(topic))
      request.willPayload = unsafe spanOrNone(
        UnsafeRawPointer(pointee.will.payload), pointee.will.payloadSize)
      request.willQoS = unsafe pointee.will.qos
      request.willRetain = unsafe pointee.will.retain ? 1 : 0
      request.willProperties = unsafe willProperties.span
    }
    return unsafe makeClient(request)
  }

  private func makeClient(_ request: RequestedOptions) -> Int32 {
    var options: ClientOptions
    do throws(OptionsError) {
      options = try ClientOptions(checking: request)
    } catch {
      return MOSQ_ERR_INVAL
    }
    options.hostBytes = 256
    var plan = MemoryPlan()
    let place = plan.reserve(1, of: Client.self)
    let clientPlan = ClientPlan(options, in: &plan)
    guard let memory = unsafe shim_allocate(plan.byteCount) else { return MOSQ_ERR_NOMEM }
    do throws(PlatformError) {
      let platform = try Linux(userTimeout: 0)
      let block = unsafe MemoryBlock(start: memory)
      let client = unsafe block.start(of: place)
      unsafe client.initialize(to: Client(options, plan: clientPlan, block: block, on: platform))
      unsafe pointee.client = unsafe client
      unsafe pointee.memory = unsafe memory
      return MOSQ_ERR_SUCCESS
    } catch {
      unsafe shim_free(memory)
      shim_set_errno(error.errno)
      return MOSQ_ERR_ERRNO
    }
  }

  private func readOptions(from list: OpaquePointer?, into request: inout RequestedOptions) {
    var number32: UInt32 = 0
    var number16: UInt16 = 0
    if unsafe mosquitto_property_read_int32(
      list, Int32(PropertyIdentifier.sessionExpiryInterval.rawValue), &number32, false) != nil
    {
      request.sessionExpiry = number32
      if number32 == 0 {
        request.keepSession = false
      } else if unsafe pointee.id != nil {
        request.keepSession = true
      }
      // Clean Start begins it anew; the interval says how long it is kept afterwards.
      if unsafe pointee.cleanSession, request.keepSession { request.newSession = true }
    }
    if unsafe mosquitto_property_read_int16(
      list, Int32(PropertyIdentifier.receiveMaximum.rawValue), &number16, false) != nil
    {
      request.receiveMaximum = UInt32(number16)
    }
    if unsafe mosquitto_property_read_int32(
      list, Int32(PropertyIdentifier.maximumPacketSize.rawValue), &number32, false) != nil
    {
      request.maximumPacketBytes = number32
    }
    if unsafe mosquitto_property_read_int16(
      list, Int32(PropertyIdentifier.topicAliasMaximum.rawValue), &number16, false) != nil
    {
      request.topicAliasesIn = UInt32(min(number16, 1024))
    }
  }

  // MARK: How it ended

  /// What a function returns, and on_disconnect tells, of an end.
  func outcome(of failure: Failure, isOpen: Bool) -> Int32 {
    switch failure.cause {
    case .requested: return MOSQ_ERR_SUCCESS
    case .refused:
      return unsafe pointee.version == UInt32(MQTT_PROTOCOL_V5) ? MOSQ_ERR_PROTOCOL : MOSQ_ERR_CONN_REFUSED
    case .serverClosed, .closed: return MOSQ_ERR_CONN_LOST
    case .malformed: return MOSQ_ERR_MALFORMED_PACKET
    case .violation: return MOSQ_ERR_PROTOCOL
    case .keepAlive: return MOSQ_ERR_KEEPALIVE
    case .stream, .withheld: return MOSQ_ERR_UNKNOWN
    case .resolve(let number):
      shim_set_errno(number)
      return MOSQ_ERR_EAI
    case .network(let number):
      shim_set_errno(number)
      return isOpen ? MOSQ_ERR_CONN_LOST : MOSQ_ERR_ERRNO
    case .timeout:
      shim_set_errno(110)  // ETIMEDOUT
      return isOpen ? MOSQ_ERR_CONN_LOST : MOSQ_ERR_ERRNO
    }
  }
}

/// A property of CONNECT that the core sets itself.
private func isConnectOption(_ identifier: UInt8) -> Bool {
  identifier == PropertyIdentifier.sessionExpiryInterval.rawValue
    || identifier == PropertyIdentifier.receiveMaximum.rawValue
    || identifier == PropertyIdentifier.maximumPacketSize.rawValue
    || identifier == PropertyIdentifier.topicAliasMaximum.rawValue
}

/// How much a client takes at most; libmosquitto knows no bound. In bytes and messages, from the environment.
private enum Limits {
  static var outboxBytes: UInt32 {
    unsafe shim_environment(text("MOSQUITTO_OUTBOX_BYTES"), 1024, largest, largest)
  }
  static var receiveBytes: UInt32 {
    unsafe shim_environment(text("MOSQUITTO_RECEIVE_BYTES"), 1024, largest, largest)
  }
  static var outboxMessages: UInt32 {
    unsafe shim_environment(text("MOSQUITTO_OUTBOX_MESSAGES"), 1, 65_000, 65_000)
  }
  /// What is not touched takes no memory, only addresses, of which a 32-bit process has few.
  private static var largest: UInt32 { MemoryLayout<Int>.size == 8 ? 64 << 20 : 8 << 20 }
}

extension UnsafeMutablePointer where Pointee == Mosquitto {
  /// What libmosquitto calls a client of 3.1 that has no name: `mosq-` and 18 letters or digits.
  fileprivate func makeUpID() {
    guard let id = unsafe shim_copy(text("mosq-000000000000000000"), 23) else { return }
    for index in 5..<23 {
      let number = UInt8(truncatingIfNeeded: platform_random() % 62)
      let letter = number < 10 ? 0x30 &+ number : number < 36 ? 0x37 &+ number : 0x3D &+ number
      unsafe id[index] = CChar(bitPattern: letter)
    }
    unsafe pointee.id = unsafe id
  }
}
