// The client of the core, made of what the program has set.

import CMosquitto
import CPlatform
import Driver
import MQTTClient
import MQTTSession
import MQTTWire
import Platform
import Storage
import Transports

extension Mosquitto.Locked {
  /// Makes a client that says in CONNECT what the program has set by now. If there is one, it stays otherwise
  /// what it is, with what is queued there and what it knows of messages.
  mutating func makeClientIfNeeded() -> Int32 {
    guard hasClient else { return makeClient(state.version, isNew: true) }
    guard state.areOptionsChanged else { return MOSQ_ERR_SUCCESS }
    let result = makeClient(state.version, isNew: false)
    if result == MOSQ_ERR_SUCCESS { return result }
    // It is of another version. What is queued was promised to be sent: it is sent first, to the new server.
    guard client.isDrained else {
      let result = makeClient(UInt32(client.version.rawValue), isNew: false)
      state.areOptionsChanged = true
      return result
    }
    freeClient()
    return makeClient(state.version, isNew: true)
  }

  /// `isNew`: a client is made; otherwise the one that there is gets the options.
  private mutating func makeClient(_ version: UInt32, isNew: Bool) -> Int32 {
    let is5 = version == UInt32(MQTT_PROTOCOL_V5)
    if unsafe state.id == nil, version == UInt32(MQTT_PROTOCOL_V31) { generateClientID() }
    var request = RequestedOptions()
    request.connection.noReconnect = true
    request.clientIDAsIs = true
    request.hold = true
    request.keepSession = !state.cleanSession
    request.connection.host = unsafe spanOrNone(state.host)
    request.connection.port = state.port
    setLayers(&request)
    request.protocolVersion = version
    request.anyClientID = true
    request.clientID = unsafe spanOrNone(state.id)
    request.userName = unsafe spanOrNone(state.userName)
    request.password = unsafe spanOrNone(state.password)
    request.credentialFlags =
      unsafe (state.userName == nil ? 0 : Connect.userNameFlag)
      | (state.password == nil ? 0 : Connect.passwordFlag)
    request.keepAlive = state.keepAlive == 0 ? .max : state.keepAlive
    // libmosquitto waits as long for PINGRESP. With 0 no PINGREQ is sent, and the core has a time of its own.
    request.pingTimeout = state.keepAlive &* 1000
    // CONNACK has as much time, but looking up the name and TCP have half a minute at least.
    request.connection.connectTimeout = state.keepAlive == 0 ? .max : max(state.keepAlive, 30) &* 1000
    // Only Keep Alive finds that the server is gone.
    request.ackTimeout = .max
    request.connection.writeTimeout = .max
    request.subscriptions = .max  // None: with libmosquitto the program resubscribes.
    request.inFlightMaximum = state.inFlightMaximum
    request.receiveMaximum = is5 ? state.receiveMaximum : 1024
    request.unreleasedMaximum = 4096
    request.subscribePackets = 256
    request.subscribeBytes = 262_144
    request.controlBytes = 4096
    request.outboxBytes = Limits.outboxBytes
    request.outboxMessages = Limits.outboxMessages
    request.receiveBytes = Limits.receiveBytes
    request.topicAliasBytes = UInt32(UTF8EncodedString.maximumSize)
    request.maximumPacketBytes = .max  // CONNECT says only what the program has set.

    let properties = encodedConnectProperties(is5)
    let willProperties = unsafe EncodedProperties(is5 ? state.will.properties : nil)
    defer {
      properties.free()
      willProperties.free()
    }
    request.properties = properties.span
    if is5 { unsafe readOptions(from: state.connectProperties, into: &request) }
    if let topic = unsafe state.will.topic {
      request.hasWill = true
      request.willTopic = unsafe span(UnsafePointer(topic))
      request.willPayload = unsafe spanOrNone(
        UnsafeRawPointer(state.will.payload), state.will.payloadSize)
      request.willQoS = state.will.qos
      request.willRetain = state.will.retain ? 1 : 0
      request.willProperties = willProperties.span
    }
    if isNew {
      let result = chooseJournal(keepsSession: request.keepSession)
      guard result == MOSQ_ERR_SUCCESS else { return result }
      chooseInspection()
      unsafe request.inspectionPath = spanOrNone(state.inspectPath)
    }
    setJournal(&request)
    var options: ClientOptions
    do throws(OptionsError) {
      options = try ClientOptions(checking: request)
    } catch {
      return MOSQ_ERR_INVAL
    }
    options.driver.hostBytes = 256
    options.driver.addresses = AddressList.maximum
    let layers = options.layers
    options.layers = LayerOptions()
    // There is room for whatever the program may set later, because this client stays; and libmosquitto
    // accepts more messages than the Receive Maximum that it announces.
    options.session.connectBytes = Self.connectBytes
    options.session.receiveMaximum = 65_535
    options.session.receiveBytes = Int(truncatingIfNeeded: Limits.receiveBytes)
    options.session.aliasesReceived = is5 ? Self.aliases : 0
    options.session.repeatsExactlyOnce = true
    options.session.dropsSubscribes = true
    var result = isNew ? allocateClient(options) : client.renew(options) ? MOSQ_ERR_SUCCESS : MOSQ_ERR_NOMEM
    if result == MOSQ_ERR_SUCCESS { result = replaceLayers(options.transport, layers) }
    if result == MOSQ_ERR_SUCCESS { state.areOptionsChanged = false }
    return result
  }

  /// This is room for any user name, password and Will, and some properties.
  private static var connectBytes: Int { 6 * 65_536 }
  /// Each has room for any topic, because a message whose topic is not known could not be handed out.
  private static var aliases: Int { 64 }

  private mutating func allocateClient(_ options: borrowing ClientOptions) -> Int32 {
    var plan = ArenaLayout()
    let slice = plan.reserve(1, of: Client.self)
    let journal = JournalPlan(options, in: &plan)
    let clientPlan = ClientPlan(options, in: &plan)
    guard let memory = unsafe shim_allocate(plan.byteCount) else { return MOSQ_ERR_NOMEM }
    do throws(PlatformError) {
      let platform = try Linux(SocketOptions.Stored())
      let block = unsafe Arena(start: memory)
      let client = unsafe block.start(of: slice)
      unsafe client.initialize(to: Client(options, plan: clientPlan, block: block, on: platform))
      unsafe state.client = unsafe client
      unsafe state.memory = unsafe memory
      let result = openJournal(options, journal, in: block)
      if result == MOSQ_ERR_SUCCESS { openInspection(options) }
      return result
    } catch {
      unsafe shim_free(memory)
      shim_set_errno(error.code)
      return MOSQ_ERR_ERRNO
    }
  }

  /// The properties that the program has set, in its order, and behind them Receive Maximum, if it is not
  /// among them.
  private func encodedConnectProperties(_ is5: Bool) -> EncodedProperties {
    guard is5 else { return unsafe EncodedProperties(nil) }
    var list: OpaquePointer? = nil
    defer { unsafe mosquitto_property_free_all(&list) }
    _ = unsafe mosquitto_property_copy_all(&list, state.connectProperties)
    let receiveMaximum = Int32(PropertyIdentifier.receiveMaximum.rawValue)
    if unsafe mosquitto_property_read_int16(list, receiveMaximum, nil, false) == nil {
      _ = unsafe mosquitto_property_add_int16(
        &list, receiveMaximum, UInt16(truncatingIfNeeded: state.receiveMaximum))
    }
    let aliasMaximum = Int32(PropertyIdentifier.topicAliasMaximum.rawValue)
    if let property = unsafe PropertyNode.find(aliasMaximum, .int16, in: list, skipFirst: false) {
      unsafe property.pointee.number = unsafe min(property.pointee.number, UInt32(Self.aliases))
    }
    return unsafe EncodedProperties(list)
  }

  /// Reads the properties that are options of the core.
  private func readOptions(from list: OpaquePointer?, into request: inout RequestedOptions) {
    var number32: UInt32 = 0
    var number16: UInt16 = 0
    if unsafe mosquitto_property_read_int32(
      list, Int32(PropertyIdentifier.sessionExpiryInterval.rawValue), &number32, false) != nil
    {
      request.sessionExpiry = number32
      if number32 == 0 {
        request.keepSession = false
      } else if unsafe state.id != nil {
        request.keepSession = true
      }
      // Clean Start begins a new session each time; the interval says how long the server keeps it
      // afterwards.
      if state.cleanSession { request.keepSession = false }
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
      request.topicAliasesIn = min(UInt32(number16), UInt32(Self.aliases))
    }
  }
}

/// How much a client takes at most, in bytes and messages, from the environment. libmosquitto has no limit.
enum Limits {
  static var outboxBytes: UInt32 {
    unsafe shim_environment(
      text("MOSQUITTO_OUTBOX_BYTES"), 1024, largest, hasJournals ? 4 << 20 : largest)
  }
  static var receiveBytes: UInt32 {
    unsafe shim_environment(text("MOSQUITTO_RECEIVE_BYTES"), 1024, largest, largest)
  }
  static var outboxMessages: UInt32 {
    unsafe shim_environment(text("MOSQUITTO_OUTBOX_MESSAGES"), 1, 65_000, hasJournals ? 10_000 : 65_000)
  }
  /// What a journal writes at once, and in it the largest message.
  static var commitBytes: Int { 262_144 }
  static func messageBytes(isStored: Bool) -> Int {
    let most = Int(truncatingIfNeeded: outboxBytes)
    guard isStored else { return most }
    let reserve = JournalLimits.reserve(messages: Int(truncatingIfNeeded: outboxMessages), bytes: most)
    return min(most &- reserve, JournalLimits.largestMessage(batchBytes: commitBytes, grows: true))
  }
  /// The file of a journal is twice as large as the outbox.
  static var hasJournals: Bool { shim_has_journals() }
  /// Memory that is not touched takes only addresses, of which a 32-bit process has few.
  private static var largest: UInt32 { MemoryLayout<Int>.size == 8 ? 64 << 20 : 8 << 20 }
}

extension Mosquitto.Locked {
  /// As libmosquitto does for a client of 3.1 without an identifier: `mosq-` and 18 letters or digits.
  fileprivate mutating func generateClientID() {
    guard let id = unsafe shim_copy(text("mosq-000000000000000000"), 23) else { return }
    for index in 5..<23 {
      let number = UInt8(truncatingIfNeeded: platform_random() % 62)
      let letter = number < 10 ? 0x30 &+ number : number < 36 ? 0x37 &+ number : 0x3D &+ number
      unsafe id[index] = CChar(bitPattern: letter)
    }
    unsafe state.id = unsafe id
  }
}
