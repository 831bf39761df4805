/// What the entries of a client's log say, as far as they are the same in both libraries.
struct LogLines {
  /// Host and port of each server, in the order of the URL.
  private let servers: [Text]
  /// The client's own, by which the address of the connection is found.
  private let descriptor: Int32

  init(_ arguments: CommonArguments, descriptor: Int32) {
    servers = serverNames(arguments)
    self.descriptor = descriptor
  }

  /// `nil`: the entry is the program's own.
  func text(_ what: Int, _ number: Int, _ other: Int) -> Text? {
    switch what {
    case LogEntry.attempt: "connects to \(server(other)), attempt \(number)"
    case LogEntry.lookUp: "looks up the name of \(server(number))"
    case LogEntry.addresses: "has \(number) \(number == 1 ? "address" as Text : "addresses") to try"
    case LogEntry.address: "tries address \(number + 1)"
    case LogEntry.addressFailed: "could not use an address: \(System.errorText(Int32(other)))"
    case LogEntry.opened: "has an open network connection\(peer)"
    case LogEntry.ended: "is disconnected: \(endText(number))\(stageText(other))"
    case LogEntry.waiting: "waits \(number) ms before the next attempt"
    case LogEntry.blocked: "waits until the kernel accepts more bytes"
    case LogEntry.unblocked: "sends on"
    default: nil
    }
  }

  func server(_ index: Int) -> Text {
    servers.indices.contains(index) ? servers[index] : "the server that another one named"
  }

  /// The address that the connection goes to, of the broker or of its proxy.
  private var peer: Text {
    let peer = System.peer(of: descriptor)
    return peer.isEmpty ? "" : " to \(peer.escaped)"
  }

  private func endText(_ cause: Int) -> Text {
    logEnds.indices.contains(cause) ? Text(logEnds[cause].bytes) : "cause \(cause)"
  }

  private func stageText(_ stage: Int) -> Text {
    stage == 0 ? "" : " (\(Library.stageName(stage)))"
  }
}

/// Those of the URL, or that of -h and -p or --unix.
private func serverNames(_ arguments: CommonArguments) -> [Text] {
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
