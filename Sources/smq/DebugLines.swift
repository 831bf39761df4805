import CSwiftMQTT

/// The observer of -d: each step and each packet is a line on standard error.
final class DebugLines: PacketObserver {
  private let log: LogLines
  private var facts = ConnectionFacts()

  init(_ arguments: Arguments, _ client: Client) {
    log = LogLines(arguments, descriptor: client.descriptor)
    facts.clientID = client.clientID
  }

  override func packet(_ packet: ObservedPacket) {
    let text = packetText(packet, &facts)
    line("\(packet.isSent ? "sends" as Text : "receives") \(text)")
  }

  override func entry(_ what: Int, _ number: Int, _ other: Int) {
    switch what {
    case SMQ_LOG_CONNECTED: line("is connected, with \(versionName(UInt32(number)))")
    case SMQ_LOG_PING: break  // the packet is shown
    case SMQ_LOG_PONG: line("had its PINGREQ answered in \(number) ms")
    case SMQ_LOG_HINT: line("was told that the network is \(number == 0 ? "down" as Text : "up")")
    case SMQ_LOG_FALLBACK: line("falls back to \(versionName(UInt32(number)))")
    case SMQ_LOG_REDIRECTED: line("was referred to \(log.server(number))")
    default: line(log.text(what, number, other) ?? "\(MQTT.logName(Int32(what))) \(number) \(other)")
    }
  }

  private func line(_ text: Text) {
    let name: Text = facts.clientID.isEmpty ? "" : " \(facts.clientID.escaped)"
    say("Client\(name) \(text)\n", to: 2)
  }
}

/// The first number of SMQ_LOG_ENDED, in the header's order.
let logEnds: [StaticString] = [
  "it was asked to disconnect", "the server refused CONNECT", "the server sent DISCONNECT",
  "a packet could not be parsed", "a packet was not allowed", "PINGREQ was not answered in time",
  "the source of a payload failed", "the host name has no address", "the network failed",
  "the peer closed the connection", "the time was up", "there were no credentials",
  "the TLS connection failed", "the proxy refused", "the WebSocket failed",
]
