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
  if arguments.isPersistent {
    options.flags |= SMQ_OPTION_KEEP_SESSION
  }
  setWill(&options, arguments)
  if version == 5 { setProperties(&options, arguments) }
  let (status, offset) = MQTT.check(options)
  guard status == SMQ_OK else { throw rejected(status, offset, options, arguments) }
  return options
}

/// A scheme may be in upper case (RFC 3986, section 3.1).
private func isMQTT(_ url: [UInt8]) -> Bool { url.lowercased.begins(with: "mqtt://") }

/// The topic of -L, and the rest of the URL.
func splitURL(_ url: [UInt8]) -> (broker: [UInt8], topic: [UInt8]?) {
  guard isMQTT(url) else { return (url, nil) }
  guard let slash = url[7...].firstIndex(of: 47) else { return (url, nil) }
  return (Array(url[..<slash]), Array(url[(slash + 1)...]))
}

/// The broker, for error texts; without what may be secret.
func brokerName(_ arguments: Arguments) -> Text {
  let broker = brokerAddress(arguments)
  return arguments.bind.isEmpty ? broker : "\(broker) from \(arguments.bind.printable) (-A)"
}

private func brokerAddress(_ arguments: Arguments) -> Text {
  if !arguments.unix.isEmpty { return Text(arguments.unix.printable) }
  if !arguments.url.isEmpty { return Text(withoutLogin(splitURL(arguments.url).broker).printable) }
  let host: Text = arguments.host.isEmpty ? "localhost" : Text(arguments.host.printable)
  return "\(host) port \(arguments.port == 0 ? 1883 : Int(arguments.port))"
}

private func setAddress(_ options: inout MQTT.Options, _ arguments: Arguments) {
  if !arguments.url.isEmpty {
    options.url = splitURL(arguments.url).broker
    // The command line takes precedence over the URL.
    if arguments.user != nil || arguments.password != nil {
      let login = login(of: options.url)
      let colon = login.firstIndex(of: 58) ?? login.endIndex
      if arguments.user == nil { options.userName = decoded(login[..<colon]) }
      if arguments.password == nil { options.password = decoded(login[colon...].dropFirst()) }
      options.url = withoutLogin(options.url)
    }
    return
  }
  options.host = arguments.host.isEmpty ? ascii("localhost") : arguments.host
  options.port = arguments.port
  if !(arguments.unix.isEmpty && arguments.bind.isEmpty) { options.flags |= SMQ_OPTION_OWN_TRANSPORT }
}

/// Whether the client tries the next server of -L at once, after this attempt has failed.
func nextFollows(_ event: Event, _ arguments: Arguments) -> Bool {
  event.retry == 0 && splitURL(arguments.url).broker.contains(44)
}

/// USER:PASSWORD of a URL.
private func login(of url: [UInt8]) -> ArraySlice<UInt8> {
  guard let at = url.lastIndex(of: 64), isMQTT(url), at > 7 else { return [] }
  return url[7..<at]
}

private func withoutLogin(_ url: [UInt8]) -> [UInt8] {
  let login = login(of: url)
  return login.isEmpty ? url : Array(url[..<7] + url[(login.endIndex + 1)...])
}

/// Without percent-encoding (RFC 3986, section 2.1).
private func decoded(_ text: ArraySlice<UInt8>) -> [UInt8] {
  var result: [UInt8] = []
  var rest = text
  while let byte = rest.popFirst() {
    let digits = rest.prefix(2).compactMap { hexadecimalValue($0) }
    if byte == 37 && digits.count == 2 {
      result.append(digits[0] << 4 | digits[1])
      rest = rest.dropFirst(2)
    } else {
      result.append(byte)
    }
  }
  return result
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

/// The option with a value that is not UTF-8.
private func notUTF8(_ arguments: Arguments) -> StaticString {
  let texts: [(StaticString, [UInt8]?)] = [
    ("-i", arguments.id), ("-I", arguments.prefix), ("-u", arguments.user),
  ]
  for (name, text) in texts {
    // Here only UTF-8 matters.
    let letters = (text ?? []).filter { $0 != 35 && $0 != 43 }
    if MQTT.checkTopic(letters) == SMQ_ERR_UTF8 { return name }
  }
  return "-L"
}

private func isOfLater(_ url: [UInt8]) -> Bool {
  url.lowercased.begins(with: "mqtts:") || url.lowercased.begins(with: "ws")
}

private func rejected(_ status: Int, _ offset: Int, _ options: MQTT.Options, _ arguments: Arguments)
  -> ExitError
{
  // smq bench and smq check accept a URL without -L, too.
  let url: Text = arguments.command.set & Commands.mosquitto != 0 ? "-L" : "the URL"
  return switch status {
  case SMQ_ERR_URL:
    usageError(
      "\(url): malformed at byte \(offset): the form is mqtt://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]]...[/TOPIC]"
    )
  case SMQ_ERR_NOT_SUPPORTED where isOfLater(options.url):
    ExitError(text: "\(url): only mqtt:// can be used: there is no TLS and no WebSocket in libswiftmqtt yet")
  case SMQ_ERR_NOT_SUPPORTED where !options.url.isEmpty: usageError("\(url): it has to begin with mqtt://")
  case SMQ_ERR_CLIENT_ID: usageError("-i: this protocol version does not allow this Client Identifier")
  case SMQ_ERR_UTF8: usageError("\(notUTF8(arguments)): the text is not UTF-8")
  case SMQ_ERR_TOO_LARGE: usageError("--will-payload: it is larger than 65535 bytes")
  case SMQ_ERR_PROPERTY: usageError("-D: connect and will cannot carry these properties together")
  case SMQ_ERR_OPTION where options.host.count > 253: usageError("-h: the name is too long")
  case SMQ_ERR_OPTION where arguments.password != nil && options.userName.isEmpty:
    usageError("-P needs a user name (-u), except in 5.0")
  default: usageError("the options contradict each other: \(MQTT.statusText(status))")
  }
}
