/// What there is between this machine and the broker, according to the command line.
extension CommonArguments {
  private var nameOfURL: Text { command.set & Commands.withURL != 0 ? "-L" : "a URL" }

  var isWebSocket: Bool { url.isEmpty ? !webSocketPath.isEmpty : BrokerURL(url).isWebSocket }
  var isUnix: Bool { url.isEmpty ? !unix.isEmpty : BrokerURL(url).isUnix }

  /// Any option of TLS, the scheme of the URL, or a port that stands for TLS.
  var wantsTLS: Bool {
    if tls.first != nil { return true }
    let secret = Program.impliesTLS
    guard !url.isEmpty else { return secret != 0 && unix.isEmpty && port == secret && webSocketPath.isEmpty }
    let broker = BrokerURL(url)
    return broker.isSecure
      || secret != 0 && broker.isPlain && broker.servers.allSatisfy { hostAndPort($0).port == secret }
  }

  /// Something besides TCP carries the protocol.
  var isLayered: Bool { wantsTLS || isWebSocket || hasProxy }
  var hasProxy: Bool { !proxy.isEmpty }
  var hasProxyLogin: Bool { !BrokerURL(proxy).login.isEmpty }

  /// Throws if options contradict each other.
  func checkPlaces() throws(ExitError) {
    // A URL, or a path, names the broker completely.
    let places: [(name: Text, isGiven: Bool)] = [
      (nameOfURL, !url.isEmpty), ("--unix", !unix.isEmpty), ("-h", !host.isEmpty), ("-p", port != 0),
      ("--ws-path", !webSocketPath.isEmpty),
    ]
    let given = places.filter { $0.isGiven }
    if given.count > 1 && !(url.isEmpty && unix.isEmpty) {
      throw usageError("\(given[0].name) and \(given[1].name) cannot be used together")
    }
    let ofNetwork: [(name: Text, isGiven: Bool)] = [
      ("-A", !bind.isEmpty), ("--interface", !interface.isEmpty), ("--dscp", dscp > 0),
      ("--tcp-keepalive", tcpKeepAlive > 0), ("--proxy", !proxy.isEmpty),
    ]
    if isUnix, let one = ofNetwork.first(where: { $0.isGiven }) {
      throw usageError("\(one.name) is not for a socket in the file system")
    }
    let ofWebSocket: [(name: Text, isGiven: Bool)] = [
      ("--ws-header", !webSocketHeaders.isEmpty), ("--ws-protocol", !webSocketProtocol.isEmpty),
    ]
    if !isWebSocket, let one = ofWebSocket.first(where: { $0.isGiven }) {
      throw usageError("\(one.name) needs a WebSocket: ws:// or wss://, or --ws-path")
    }
    if let option = tls.first, !url.isEmpty, isWebSocket, !BrokerURL(url).isSecure {
      throw usageError("\(option) needs TLS, and ws:// is without it: use wss://")
    }
    if wantsTLS && isUnix && tls.name.isEmpty && !tls.isInsecure && tls.psk.isEmpty {
      throw usageError(
        "TLS over a socket in the file system needs --tls-name: the name that the certificate is for")
    }
  }
}
