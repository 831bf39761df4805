import CSwiftMQTT

/// The observer of -d: each step and each packet is a line on standard error.
final class DebugLines: PacketObserver {
  /// Host and port of each server, in the order of the URL.
  private let servers: [Text]
  /// The client's own (`smq_fd`), by which the address of the connection is found.
  private let descriptor: Int32
  private var facts = ConnectionFacts()

  init(_ arguments: Arguments, _ client: Client) {
    servers = serverNames(arguments)
    descriptor = client.descriptor
    facts.clientID = client.clientID
  }

  override func packet(_ packet: ObservedPacket) {
    let text = packetText(packet, &facts)
    line("\(packet.isSent ? "sends" as Text : "receives") \(text)")
  }

  override func entry(_ what: Int, _ number: Int, _ other: Int) {
    switch what {
    case SMQ_LOG_ATTEMPT: line("connects to \(server(other)), attempt \(number)")
    case SMQ_LOG_LOOK_UP: line("looks up the name of \(server(number))")
    case SMQ_LOG_ADDRESSES: line("has \(number) \(number == 1 ? "address" as Text : "addresses") to try")
    case SMQ_LOG_ADDRESS: line("tries address \(number + 1)")
    case SMQ_LOG_ADDRESS_FAILED: line("could not use an address: \(System.errorText(Int32(other)))")
    case SMQ_LOG_OPENED: line("has an open network connection\(peer)")
    case SMQ_LOG_CONNECTED: line("is connected, with \(versionName(UInt32(number)))")
    case SMQ_LOG_ENDED: line("is disconnected: \(endText(number))\(stageText(other))")
    case SMQ_LOG_WAITING: line("waits \(number) ms before the next attempt")
    case SMQ_LOG_PING: break  // the packet is shown
    case SMQ_LOG_PONG: line("had its PINGREQ answered in \(number) ms")
    case SMQ_LOG_BLOCKED: line("waits until the kernel accepts more bytes")
    case SMQ_LOG_UNBLOCKED: line("sends on")
    case SMQ_LOG_HINT: line("was told that the network is \(number == 0 ? "down" as Text : "up")")
    case SMQ_LOG_FALLBACK: line("falls back to \(versionName(UInt32(number)))")
    case SMQ_LOG_REDIRECTED: line("was referred to \(server(number))")
    default: line("\(MQTT.logName(Int32(what))) \(number) \(other)")
    }
  }

  // ---- Helpers

  private func line(_ text: Text) {
    let name: Text = facts.clientID.isEmpty ? "" : " \(facts.clientID.escaped)"
    say("Client\(name) \(text)\n", to: 2)
  }

  private func server(_ index: Int) -> Text {
    servers.indices.contains(index) ? servers[index] : "the server that another one named"
  }

  /// The address that the connection goes to, of the broker or of its proxy.
  private var peer: Text {
    let peer = System.peer(of: descriptor)
    return peer.isEmpty ? "" : " to \(peer.escaped)"
  }

  private func endText(_ cause: Int) -> Text {
    ends.indices.contains(cause) ? Text(ends[cause].bytes) : "cause \(cause)"
  }

  private func stageText(_ stage: Int) -> Text {
    stage == 0 ? "" : " (\(MQTT.stageName(stage)))"
  }
}

/// The first number of SMQ_LOG_ENDED, in the header's order.
private let ends: [StaticString] = [
  "it was asked to disconnect", "the server refused CONNECT", "the server sent DISCONNECT",
  "a packet could not be parsed", "a packet was not allowed", "PINGREQ was not answered in time",
  "the source of a payload failed", "the host name has no address", "the network failed",
  "the peer closed the connection", "the time was up", "there were no credentials",
  "the TLS connection failed", "the proxy refused", "the WebSocket failed",
]

/// Those of the URL, or that of -h and -p or --unix.
private func serverNames(_ arguments: Arguments) -> [Text] {
  guard !arguments.url.isEmpty else {
    if arguments.isUnix { return [Text(arguments.unix.printable)] }
    let host: Text = arguments.host.isEmpty ? "localhost" : Text(arguments.host.printable)
    return ["\(host) port \(arguments.effectivePort)"]
  }
  let broker = BrokerURL(arguments.url)
  return broker.servers.map { server in
    if broker.isUnix { return Text(server.printable) }
    let (host, port) = hostAndPort(server)
    return "\(host.printable) port \(port == 0 ? broker.defaultPort : port)"
  }
}
