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
    options.journalBatch = 131_072
    // What an earlier run has left has to fit as well, whatever that was given.
    options.outboxMessages = 4096
  }
  setWill(&options, arguments)
  if version == 5 { setProperties(&options, arguments) }
  let (status, offset) = MQTT.check(options)
  guard status == SMQ_OK else { throw rejected(status, offset, options, arguments) }
  return options
}

/// The broker, for error texts; without what may be secret.
func brokerName(_ arguments: Arguments) -> Text {
  var name = brokerAddress(arguments)
  if !arguments.bind.isEmpty { name += " from \(arguments.bind.printable) (-A)" }
  if !arguments.proxy.isEmpty { name += " through \(BrokerURL(arguments.proxy).withoutLogin.shown)" }
  return name
}

private func brokerAddress(_ arguments: Arguments) -> Text {
  if !arguments.unix.isEmpty { return Text(arguments.unix.printable) }
  if !arguments.url.isEmpty { return BrokerURL(arguments.url).withoutTopic.shown }
  let host: Text = arguments.host.isEmpty ? "localhost" : Text(arguments.host.printable)
  return "\(host) port \(arguments.effectivePort)"
}

extension Arguments {
  /// That of -h and -p.
  var effectivePort: Int {
    if port != 0 { return Int(port) }
    if isWebSocket { return wantsTLS ? 443 : 80 }
    return wantsTLS ? 8883 : 1883
  }
}

private func setAddress(_ options: inout MQTT.Options, _ arguments: Arguments) {
  guard !arguments.url.isEmpty else {
    options.host = arguments.host.isEmpty ? ascii("localhost") : arguments.host
    options.port = arguments.port
    if !arguments.unix.isEmpty { options.host = absolute(arguments.unix) }
    return
  }
  var broker = BrokerURL(arguments.url).withoutTopic
  // The command line takes precedence over the URL.
  if !broker.login.isEmpty && (arguments.user != nil || arguments.password != nil) {
    let colon = broker.login.firstIndex(of: 58) ?? broker.login.endIndex
    if arguments.user == nil { options.userName = decoded(broker.login[..<colon]) }
    if arguments.password == nil { options.password = decoded(broker.login[colon...].dropFirst()) }
    broker = broker.withoutLogin
  }
  // mosquitto_pub and its like take any option of TLS, and the port 8883, for mqtts://.
  if broker.scheme == "mqtt" && arguments.wantsTLS {
    var plain = MQTT.Options()
    plain.url = broker.text
    // What is malformed keeps its place.
    if MQTT.check(plain).status == SMQ_OK { broker = broker.secured }
  }
  options.url = broker.text
}

/// The library takes a host that begins with a slash for a path.
private func absolute(_ path: [UInt8]) -> [UInt8] {
  path.first == 47 ? path : ascii("/proc/self/cwd/") + path
}

/// Whether the client tries the next server of -L at once, after this attempt has failed.
func nextFollows(_ event: Event, _ arguments: Arguments) -> Bool {
  event.retry == 0 && BrokerURL(arguments.url).servers.count > 1
}

private func setTransport(_ options: inout MQTT.Options, _ arguments: Arguments) throws(ExitError) {
  options.proxy = arguments.proxy
  options.bindDevice = arguments.interface
  options.dscp = arguments.dscp
  options.tcpKeepAlive = arguments.tcpKeepAlive
  options.bindAddress = try localAddress(arguments)
  if !arguments.webSocketPath.isEmpty { options.flags |= SMQ_OPTION_WEBSOCKET }
  options.webSocketPath = arguments.webSocketPath
  options.webSocketHeaders = arguments.webSocketHeaders
  options.webSocketProtocol = arguments.webSocketProtocol
  let isMQTT = BrokerURL(options.url).scheme == "mqtt"  // malformed, or it would be mqtts
  guard arguments.wantsTLS && !isMQTT else { return }
  if arguments.tlsSettings == nil { arguments.tlsSettings = try TLSSettings(arguments.tls) }
  options.tls = arguments.tlsSettings
  options.alpn = arguments.tls.alpn
  options.tlsName = arguments.tls.name
  // Nobody looks at the name then.
  if arguments.isUnix && options.tlsName.isEmpty { options.tlsName = ascii("localhost") }
}

/// The address of -A, which may be a name, as with mosquitto_pub and its like: one of the family of the broker's.
private func localAddress(_ arguments: Arguments) throws(ExitError) -> [UInt8] {
  guard !arguments.bind.isEmpty else { return [] }
  let timeout = (arguments.timeout ?? 30) * 1000
  let (list, error) = System.addresses(of: arguments.bind, timeout: timeout)
  let addresses = list.split(separator: 32).map { Array($0) }
  guard error == 0, let first = addresses.first else {
    throw ExitError(
      text:
        "cannot connect to \(brokerName(arguments)): the name has no address: \(System.resolveText(error))")
  }
  func isIPv6(_ address: [UInt8]) -> Bool { address.contains(58) }
  guard addresses.contains(where: { isIPv6($0) != isIPv6(first) }) else { return first }
  let peer = arguments.proxy.isEmpty ? arguments.url : arguments.proxy
  let host = peer.isEmpty ? arguments.host : hostAndPort(BrokerURL(peer).servers[0]).host
  let remote = System.addresses(of: host.isEmpty ? ascii("localhost") : host, timeout: timeout).text
  let wanted = remote.split(separator: 32).first.map { isIPv6(Array($0)) } ?? false
  return addresses.first { isIPv6($0) == wanted } ?? first
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
