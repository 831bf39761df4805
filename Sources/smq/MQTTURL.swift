// What the URLs of MQTT are like.

extension BrokerURL {
  static let plain: StaticString = "mqtt"

  var isPlain: Bool { scheme == Self.plain }
  var isWebSocket: Bool { scheme == "ws" || scheme == "wss" }
  var isSecure: Bool { scheme == "mqtts" || scheme == "wss" }
  /// What is behind the slash is a topic.
  private var mayHaveTopic: Bool { scheme == "mqtt" || scheme == "mqtts" }
  var topic: [UInt8]? { mayHaveTopic && rest.first == 47 ? Array(rest.dropFirst()) : nil }
  /// What names the server, and nothing else.
  var place: BrokerURL {
    topic != nil ? with(scheme: scheme == "mqtt" ? "mqtt" : "mqtts", servers: servers, rest: []) : self
  }

  /// mqtt:// as mqtts://, to the same ports.
  var secured: BrokerURL {
    with(
      scheme: "mqtts", servers: servers.map { hostAndPort($0).port == 0 ? $0 + ascii(":1883") : $0 },
      rest: rest)
  }

  /// The port that the scheme stands for.
  var defaultPort: UInt32 {
    switch scheme {
    case let scheme where scheme == "mqtts": 8883
    case let scheme where scheme == "ws": 80
    case let scheme where scheme == "wss": 443
    default: 1883
    }
  }
}
