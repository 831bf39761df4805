// What the URLs of STOMP are like.

extension BrokerURL {
  static let plain: StaticString = "stomp"

  var isPlain: Bool { scheme == Self.plain }
  var isWebSocket: Bool { isOne(of: ["ws", "stomp+ws", "wss", "stomp+wss"]) }
  var isSecure: Bool { isOne(of: ["stomps", "stomp+ssl", "stomp+tls", "wss", "stomp+wss"]) }
  /// What names the server, and nothing else.
  var place: BrokerURL { self }

  /// stomp:// as stomps://, to the same ports.
  var secured: BrokerURL {
    with(
      scheme: "stomps", servers: servers.map { hostAndPort($0).port == 0 ? $0 + ascii(":61613") : $0 },
      rest: rest)
  }

  /// The port that the scheme stands for.
  var defaultPort: UInt32 {
    if isWebSocket { return isSecure ? 443 : 80 }
    return isSecure ? 61614 : 61613
  }

  private func isOne(of schemes: [StaticString]) -> Bool { schemes.contains { scheme == $0 } }
}
