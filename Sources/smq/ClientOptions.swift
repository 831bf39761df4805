import CSwiftMQTT

/// The options of a client, according to the command line.
func clientOptions(_ arguments: Arguments, _ version: UInt32) throws(ExitError) -> MQTT.Options {
  var options = MQTT.Options()
  options.version = version
  options.flags = SMQ_OPTION_CLIENT_ID_AS_IS
  options.keepAlive = arguments.keepAlive
  options.clientID = clientID(arguments, version)
  options.userName = arguments.user ?? []
  options.password = arguments.password ?? []
  // An empty one differs from none (sections 3.1.3.5 and 3.1.3.6).
  if arguments.user != nil { options.flags |= SMQ_OPTION_USER_NAME }
  if arguments.password != nil { options.flags |= SMQ_OPTION_PASSWORD }
  options.inFlightMaximum = arguments.inFlight
  options.outboxBytes = 1_048_576
  setAddress(&options, arguments)
  try setTransport(&options, arguments)
  if arguments.isPersistent || !arguments.journal.isEmpty {
    options.flags |= SMQ_OPTION_KEEP_SESSION
  }
  options.inspect = arguments.inspectionSocket
  if !arguments.journal.isEmpty {
    options.journal = arguments.journal
    options.journalBatch = Keeping.batchBytes
    // What an earlier run has left has to fit as well, whatever that was given.
    options.outboxMessages = 4096
  }
  setWill(&options, arguments)
  if version == 5 { setProperties(&options, arguments) }
  let (status, offset) = MQTT.check(options)
  guard status == SMQ_OK else { throw rejected(status, offset, options, arguments) }
  return options
}

/// In 3.1 a client has to name itself, with at most 23 letters and digits; later the broker can assign a name.
private func clientID(_ arguments: Arguments, _ version: UInt32) -> [UInt8] {
  if let prefix = arguments.prefix { return prefix + decimal(Int64(System.processID)) }
  if let id = arguments.id { return id }
  return version == 3 ? randomID() : []
}

func randomID() -> [UInt8] {
  let letters = ascii("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
  return ascii("smq-") + System.random(19).map { letters[Int($0) % letters.count] }
}

private func setWill(_ options: inout MQTT.Options, _ arguments: Arguments) {
  guard let topic = arguments.willTopic else { return }
  var will = MQTT.Message(topic: topic, payload: arguments.willPayload ?? [])
  will.qos = arguments.willQoS ?? 0
  will.retain = arguments.willRetain
  if options.version == 5 { will.properties = arguments.properties.will }
  options.will = will
}

private func setProperties(_ options: inout MQTT.Options, _ arguments: Arguments) {
  let given = arguments.properties
  options.properties = given.connect
  if let expiry = arguments.expiry ?? given.sessionExpiry {
    options.sessionExpiry = expiry
    // With -c the library's 0 would mean forever.
    options.flags |= SMQ_OPTION_SESSION_EXPIRY
  }
  // Otherwise the broker learns the sizes of the client's memory.
  options.receiveMaximum = given.receiveMaximum == 0 ? 20 : given.receiveMaximum
  options.maximumPacket = given.maximumPacket == 0 ? MQTT.off : given.maximumPacket
  limitReceiving(&options)
  options.aliasesIn = given.topicAliasMaximum
  options.aliasesOut = given.topicAlias > 0 ? 1 : 0
}

/// The broker may only be told a maximum that the receive buffer does not exceed.
func limitReceiving(_ options: inout MQTT.Options) {
  if options.maximumPacket != 0 && options.maximumPacket < max(options.receiveBytes, 4096) {
    options.flags |= SMQ_OPTION_PARTS
    options.receiveBytes = max(64, options.maximumPacket)
  }
}
