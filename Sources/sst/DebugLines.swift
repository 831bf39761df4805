import CSwiftSTOMP

/// The observer of -d: each step and each frame is a line on standard error.
final class DebugLines {
  private let log: LogLines

  init(_ arguments: Arguments, _ client: Client) {
    log = LogLines(arguments, descriptor: client.descriptor)
  }

  func frame(_ frame: DecodedPacket, isSent: Bool) {
    line("\(isSent ? "sends" as Text : "receives") \(frame.debugText)")
  }

  func entry(_ what: Int, _ number: Int, _ other: Int) {
    switch what {
    case SST_LOG_CONNECTED: line("is connected, with \(STOMP.versionName(UInt32(number)))")
    default: line(log.text(what, number, other) ?? "\(STOMP.logName(Int32(what))) \(number) \(other)")
    }
  }

  private func line(_ text: Text) { say("Client \(text)\n", to: 2) }
}

/// The first number of SST_LOG_ENDED, in the header's order.
let logEnds: [StaticString] = [
  "it was asked to disconnect", "the server refused CONNECT", "the server sent ERROR",
  "a frame could not be parsed", "the headers of a frame were too large", "no heart-beat came in time",
  "the source of a body failed", "the host name has no address", "the network failed",
  "the peer closed the connection", "the time was up", "there were no credentials",
  "the TLS connection failed", "the proxy refused", "the WebSocket failed",
]
