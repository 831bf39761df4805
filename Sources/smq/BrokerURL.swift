/// A URL in parts, as far as the command line needs them. HOST[:PORT] is mqtt://HOST[:PORT]. The library checks the whole.
struct BrokerURL {
  /// In lower case; empty: it is malformed.
  let scheme: [UInt8]
  /// USER[:PASSWORD], still percent-encoded.
  let login: [UInt8]
  /// HOST[:PORT] of each server; for unix:, the path.
  let servers: [[UInt8]]
  /// From the slash on: the topic of -L, or the path and query of a WebSocket.
  let rest: [UInt8]

  init(_ url: [UInt8]) {
    if url.lowercased.begins(with: "unix:/") {
      (scheme, login, servers, rest) = (ascii("unix"), [], [Array(url[5...])], [])
      return
    }
    let url = Self.scheme(missingIn: url) + url
    // A scheme may be in upper case (RFC 3986, section 3.1).
    let colon = url.firstIndex(of: 58) ?? 0
    guard colon > 0, Array(url[colon...]).begins(with: "://") else {
      (scheme, login, servers, rest) = ([], [], [url], [])
      return
    }
    scheme = Array(url[..<colon]).lowercased
    let behind = url[(colon + 3)...]
    let slash = behind.firstIndex { $0 == 47 || $0 == 63 } ?? url.endIndex
    let at = behind[..<slash].lastIndex(of: 64)
    login = at.map { Array(behind[..<$0]) } ?? []
    let list = behind[(at.map { $0 + 1 } ?? behind.startIndex)..<slash]
    servers = list.split(separator: 44, omittingEmptySubsequences: false).map { Array($0) }
    rest = Array(url[slash...])
  }

  /// mqtt://, if the text is a host rather than a URL.
  static func scheme(missingIn url: [UInt8]) -> [UInt8] {
    let colon = url.firstIndex(of: 58) ?? url.endIndex
    let isURL = Array(url[colon...]).begins(with: ":/")
    return url.isEmpty || isURL ? [] : ascii("mqtt://")
  }

  /// One of them with something replaced.
  private init(_ scheme: [UInt8], _ login: [UInt8], _ servers: [[UInt8]], _ rest: [UInt8]) {
    (self.scheme, self.login, self.servers, self.rest) = (scheme, login, servers, rest)
  }

  var isUnix: Bool { scheme == "unix" }
  var isWebSocket: Bool { scheme == "ws" || scheme == "wss" }
  var isSecure: Bool { scheme == "mqtts" || scheme == "wss" }
  /// What is behind the slash is a topic.
  var mayHaveTopic: Bool { scheme == "mqtt" || scheme == "mqtts" }
  var topic: [UInt8]? { mayHaveTopic && rest.first == 47 ? Array(rest.dropFirst()) : nil }

  var text: [UInt8] {
    if scheme.isEmpty || isUnix { return scheme + (isUnix ? [58] : []) + servers[0] }
    var text = scheme + ascii("://") + login + (login.isEmpty ? [] : [64])
    for (index, server) in servers.enumerated() { text += (index > 0 ? [44] : []) + server }
    return text + rest
  }

  var withoutTopic: BrokerURL { topic != nil ? BrokerURL(scheme, login, servers, []) : self }
  var withoutLogin: BrokerURL { BrokerURL(scheme, [], servers, rest) }
  func only(_ server: [UInt8]) -> BrokerURL { BrokerURL(scheme, login, [server], rest) }

  /// mqtt:// as mqtts://, to the same ports.
  var secured: BrokerURL {
    BrokerURL(
      ascii("mqtts"), login,
      servers.map { hostAndPort($0).port == 0 ? $0 + ascii(":1883") : $0 }, rest)
  }

  /// For error texts: a login and a query may be secret.
  var shown: Text {
    let path = rest.prefix { $0 != 63 }
    let query: StaticString = path.count < rest.count ? "?..." : ""
    let shown = BrokerURL(scheme, [], servers, Array(path))
    return "\(shown.text.printable)\(query)"
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

/// A server of a URL; the port is 0 if it has none.
func hostAndPort(_ server: [UInt8]) -> (host: [UInt8], port: UInt32) {
  let bracket = server.firstIndex(of: 93)
  let colon = server.lastIndex(of: 58)
  guard let colon, colon > (bracket ?? 0) else { return (server.filter { $0 != 91 && $0 != 93 }, 0) }
  let port = Array(server[(colon + 1)...]).number(in: 1...65_535) ?? 0
  return (server[..<colon].filter { $0 != 91 && $0 != 93 }, UInt32(port))
}

/// Without percent-encoding (RFC 3986, section 2.1).
func decoded(_ text: ArraySlice<UInt8>) -> [UInt8] {
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
