// What the command line says about the connection, for the options of a client.

/// The broker, for error texts; without what may be secret.
func brokerName(_ arguments: CommonArguments) -> Text {
  var name = brokerAddress(arguments)
  if !arguments.bind.isEmpty { name += " from \(arguments.bind.printable) (-A)" }
  if !arguments.proxy.isEmpty { name += " through \(BrokerURL(arguments.proxy).withoutLogin.shown)" }
  return name
}

private func brokerAddress(_ arguments: CommonArguments) -> Text {
  if !arguments.unix.isEmpty { return Text(arguments.unix.printable) }
  if !arguments.url.isEmpty { return BrokerURL(arguments.url).place.shown }
  let host: Text = arguments.host.isEmpty ? "localhost" : Text(arguments.host.printable)
  return "\(host) port \(arguments.effectivePort)"
}

extension CommonArguments {
  /// That of -h and -p.
  var effectivePort: Int {
    if port != 0 { return Int(port) }
    if isWebSocket { return wantsTLS ? 443 : 80 }
    return wantsTLS ? Program.securePort : Program.port
  }
}

func setAddress(_ options: inout ClientOptions, _ arguments: CommonArguments) {
  guard !arguments.url.isEmpty else {
    options.host = arguments.host.isEmpty ? ascii("localhost") : arguments.host
    options.port = arguments.port
    if !arguments.unix.isEmpty { options.host = absolute(arguments.unix) }
    return
  }
  var broker = BrokerURL(arguments.url).place
  // The command line takes precedence over the URL.
  if !broker.login.isEmpty && (arguments.user != nil || arguments.password != nil) {
    let colon = broker.login.firstIndex(of: 58) ?? broker.login.endIndex
    if arguments.user == nil { options.userName = decoded(broker.login[..<colon]) }
    if arguments.password == nil { options.password = decoded(broker.login[colon...].dropFirst()) }
    broker = broker.withoutLogin
  }
  // Any option of TLS asks for it, whatever the scheme says.
  if broker.isPlain && arguments.wantsTLS {
    var plain = ClientOptions()
    plain.url = broker.text
    // What is malformed keeps its place.
    if Library.check(plain).status == Status.ok { broker = broker.secured }
  }
  options.url = broker.text
}

/// The library takes a host that begins with a slash for a path.
private func absolute(_ path: [UInt8]) -> [UInt8] {
  path.first == 47 ? path : ascii("/proc/self/cwd/") + path
}

/// Whether the client tries the next server of -L at once, after this attempt has failed.
func nextFollows(_ event: Event, _ arguments: CommonArguments) -> Bool {
  event.retry == 0 && BrokerURL(arguments.url).servers.count > 1
}

func setTransport(_ options: inout ClientOptions, _ arguments: CommonArguments) throws(ExitError) {
  options.proxy = arguments.proxy
  options.bindDevice = arguments.interface
  options.dscp = arguments.dscp
  options.tcpKeepAlive = arguments.tcpKeepAlive
  options.bindAddress = try localAddress(arguments)
  if !arguments.webSocketPath.isEmpty { options.flags |= Library.webSocket }
  options.webSocketPath = arguments.webSocketPath
  options.webSocketHeaders = arguments.webSocketHeaders
  options.webSocketProtocol = arguments.webSocketProtocol
  let isPlain = BrokerURL(options.url).isPlain  // malformed, or it would be secured
  guard arguments.wantsTLS && !isPlain else { return }
  if arguments.tlsSettings == nil { arguments.tlsSettings = try TLSSettings(arguments.tls) }
  options.tls = arguments.tlsSettings
  options.alpn = arguments.tls.alpn
  options.tlsName = arguments.tls.name
  // Nobody looks at the name then.
  if arguments.isUnix && options.tlsName.isEmpty { options.tlsName = ascii("localhost") }
}

/// The address of -A, which may be a name: one of the family of the broker's.
private func localAddress(_ arguments: CommonArguments) throws(ExitError) -> [UInt8] {
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
