/// A URL in parts, as far as the command line needs them. HOST[:PORT] has the scheme `plain`. The library checks the whole.
struct BrokerURL {
  /// In lower case; empty: it is malformed.
  let scheme: [UInt8]
  /// USER[:PASSWORD], still percent-encoded.
  let login: [UInt8]
  /// HOST[:PORT] of each server; for unix:, the path.
  let servers: [[UInt8]]
  /// From the slash on: the path and query of a WebSocket, or a topic.
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

  /// `plain`, if the text is a host rather than a URL.
  static func scheme(missingIn url: [UInt8]) -> [UInt8] {
    let colon = url.firstIndex(of: 58) ?? url.endIndex
    let isURL = Array(url[colon...]).begins(with: ":/")
    return url.isEmpty || isURL ? [] : plain.bytes + ascii("://")
  }

  /// One of them with something replaced.
  private init(_ scheme: [UInt8], _ login: [UInt8], _ servers: [[UInt8]], _ rest: [UInt8]) {
    (self.scheme, self.login, self.servers, self.rest) = (scheme, login, servers, rest)
  }

  var isUnix: Bool { scheme == "unix" }

  var text: [UInt8] {
    if scheme.isEmpty || isUnix { return scheme + (isUnix ? [58] : []) + servers[0] }
    var text = scheme + ascii("://") + login + (login.isEmpty ? [] : [64])
    for (index, server) in servers.enumerated() { text += (index > 0 ? [44] : []) + server }
    return text + rest
  }

  var withoutLogin: BrokerURL { BrokerURL(scheme, [], servers, rest) }
  func with(scheme: StaticString, servers: [[UInt8]], rest: [UInt8]) -> BrokerURL {
    BrokerURL(scheme.bytes, login, servers, rest)
  }
  func only(_ server: [UInt8]) -> BrokerURL { BrokerURL(scheme, login, [server], rest) }

  /// For error texts: a login and a query may be secret.
  var shown: Text {
    let path = rest.prefix { $0 != 63 }
    let query: StaticString = path.count < rest.count ? "?..." : ""
    let shown = BrokerURL(scheme, [], servers, Array(path))
    return "\(shown.text.printable)\(query)"
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
