// The client of the core, made of what the program has set.

import CMosquitto
import CPlatform
import Driver
import MQTTClient
import MQTTSession
import MQTTWire
import Platform
import Storage

extension UnsafeMutablePointer where Pointee == Mosquitto {
  /// A client that says in CONNECT what the program has set, by now; one that is there stays what it is otherwise, with
  /// what waits there and what it knows of messages.
  func makeClientIfNeeded() -> Int32 {
    guard let client = unsafe pointee.client else {
      return unsafe make(pointee.version, { unsafe $0.makeClient($1) })
    }
    guard unsafe pointee.isOutdated else { return MOSQ_ERR_SUCCESS }
    let result = unsafe make(pointee.version, { unsafe $0.renewClient($1) })
    if result == MOSQ_ERR_SUCCESS { return result }
    // Of another version. What waits was promised to be sent: it goes out first, to the new server.
    guard unsafe client.pointee.isDrained else {
      let result = unsafe make(UInt32(client.pointee.version.rawValue), { unsafe $0.renewClient($1) })
      unsafe pointee.isOutdated = true
      return result
    }
    unsafe freeClient()
    return unsafe make(pointee.version, { unsafe $0.makeClient($1) })
  }

  private func make(_ version: UInt32, _ make: (Self, borrowing ClientOptions) -> Int32) -> Int32 {
    let is5 = version == UInt32(MQTT_PROTOCOL_V5)
    if unsafe pointee.id == nil, version == UInt32(MQTT_PROTOCOL_V31) { unsafe makeUpID() }
    var request = RequestedOptions()
    request.noReconnect = true
    request.clientIDAsIs = true
    request.hold = true
    request.keepSession = unsafe !pointee.cleanSession
    request.host = unsafe spanOrNone(pointee.host)
    request.port = unsafe pointee.port
    request.protocolVersion = version
    request.anyClientID = true
    request.clientID = unsafe spanOrNone(pointee.id)
    request.userName = unsafe spanOrNone(pointee.userName)
    request.password = unsafe spanOrNone(pointee.password)
    request.credentialFlags =
      unsafe (pointee.userName == nil ? 0 : Connect.userNameFlag)
      | (pointee.password == nil ? 0 : Connect.passwordFlag)
    request.keepAlive = unsafe pointee.keepAlive == 0 ? .max : pointee.keepAlive
    // As long as libmosquitto waits for the answer; 0, with which no question is asked, is the core's own time.
    request.pingTimeout = unsafe pointee.keepAlive &* 1000
    // CONNACK has as much time, and looking up the name and TCP half a minute at least.
    request.connectTimeout = unsafe pointee.keepAlive == 0 ? .max : max(pointee.keepAlive, 30) &* 1000
    // Keep Alive alone tells who is gone.
    request.answerTimeout = .max
    request.writeTimeout = .max
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
    request.topicAliasBytes = UInt32(UTF8EncodedString.maximumSize)
    request.maximumPacketBytes = .max  // nothing is said that the program has not said

    let properties = unsafe encodedConnectProperties(is5)
    let willProperties = unsafe EncodedProperties(is5 ? pointee.will.properties : nil)
    defer {
      unsafe properties.free()
      unsafe willProperties.free()
    }
    request.properties = unsafe properties.span
    if is5 { unsafe readOptions(from: pointee.connectProperties, into: &request) }
    if let topic = unsafe pointee.will.topic {
      request.hasWill = true
      request.willTopic = unsafe span(UnsafePointer(topic))
      request.willPayload = unsafe spanOrNone(
        UnsafeRawPointer(pointee.will.payload), pointee.will.payloadSize)
      request.willQoS = unsafe pointee.will.qos
      request.willRetain = unsafe pointee.will.retain ? 1 : 0
      request.willProperties = unsafe willProperties.span
    }
    var options: ClientOptions
    do throws(OptionsError) {
      options = try ClientOptions(checking: request)
    } catch {
      return MOSQ_ERR_INVAL
    }
    options.driver.hostBytes = 256
    // Room for whatever the program may set later, as this client is to stay; and libmosquitto takes more than it says.
    options.session.connectBytes = unsafe Self.connectBytes
    options.session.receiveMaximum = 65_535
    options.session.receiveBytes = Int(truncatingIfNeeded: Limits.receiveBytes)
    options.session.aliasesReceived = is5 ? unsafe Self.aliases : 0
    options.session.repeatsExactlyOnce = true
    options.session.forgetsRequests = true
    let result = unsafe make(self, options)
    if result == MOSQ_ERR_SUCCESS { unsafe pointee.isOutdated = false }
    return result
  }

  /// Room for any name, password and Will, and some properties.
  private static var connectBytes: Int { 6 * 65_536 }
  /// Each has room for any topic, as a message whose topic is not known could not be handed out.
  private static var aliases: Int { 64 }

  private func renewClient(_ options: borrowing ClientOptions) -> Int32 {
    guard let client = unsafe pointee.client, unsafe client.pointee.renew(options) else {
      return MOSQ_ERR_NOMEM
    }
    return MOSQ_ERR_SUCCESS
  }

  private func makeClient(_ options: borrowing ClientOptions) -> Int32 {
    var plan = ArenaLayout()
    let place = plan.reserve(1, of: Client.self)
    let clientPlan = ClientPlan(options, in: &plan)
    guard let memory = unsafe shim_allocate(plan.byteCount) else { return MOSQ_ERR_NOMEM }
    do throws(PlatformError) {
      let platform = try Linux(userTimeout: 0)
      let block = unsafe Arena(start: memory)
      let client = unsafe block.start(of: place)
      unsafe client.initialize(to: Client(options, plan: clientPlan, block: block, on: platform))
      unsafe pointee.client = unsafe client
      unsafe pointee.memory = unsafe memory
      return MOSQ_ERR_SUCCESS
    } catch {
      unsafe shim_free(memory)
      shim_set_errno(error.code)
      return MOSQ_ERR_ERRNO
    }
  }

  /// What the program has said, in its order, and behind it Receive Maximum, if it is not among it.
  private func encodedConnectProperties(_ is5: Bool) -> EncodedProperties {
    guard is5 else { return unsafe EncodedProperties(nil) }
    var list: OpaquePointer? = nil
    defer { unsafe mosquitto_property_free_all(&list) }
    _ = unsafe mosquitto_property_copy_all(&list, pointee.connectProperties)
    let receiveMaximum = Int32(PropertyIdentifier.receiveMaximum.rawValue)
    if unsafe mosquitto_property_read_int16(list, receiveMaximum, nil, false) == nil {
      _ = unsafe mosquitto_property_add_int16(
        &list, receiveMaximum, UInt16(truncatingIfNeeded: pointee.receiveMaximum))
    }
    let aliasMaximum = Int32(PropertyIdentifier.topicAliasMaximum.rawValue)
    if let property = unsafe PropertyNode.find(aliasMaximum, .int16, in: list, skipFirst: false) {
      unsafe property.pointee.number = unsafe min(property.pointee.number, UInt32(Self.aliases))
    }
    return unsafe EncodedProperties(list)
  }

  /// What of it the core goes by.
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
      // Clean Start begins it anew each time; the interval says how long it is kept afterwards.
      if unsafe pointee.cleanSession { request.keepSession = false }
    } else {
      request.statesExpiry = true
    }
    if unsafe mosquitto_property_read_int16(
      list, Int32(PropertyIdentifier.receiveMaximum.rawValue), &number16, false) != nil
    {
      request.receiveMaximum = UInt32(number16)
    }
    if unsafe mosquitto_property_read_int32(
      list, Int32(PropertyIdentifier.maximumPacketSize.rawValue), &number32, false) != nil
    {
      request.receiveBytes = max(64, min(request.receiveBytes, number32))
      request.maximumPacketBytes = max(request.receiveBytes, min(number32, 268_435_460))
    }
    if unsafe mosquitto_property_read_int16(
      list, Int32(PropertyIdentifier.topicAliasMaximum.rawValue), &number16, false) != nil
    {
      request.topicAliasesIn = unsafe min(UInt32(number16), UInt32(Self.aliases))
    }
  }
}

/// How much a client takes at most; libmosquitto knows no bound. In bytes and messages, from the environment.
enum Limits {
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
