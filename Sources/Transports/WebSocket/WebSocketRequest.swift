import Storage

/// What a WebSocket connection is asked for with (RFC 6455 section 4.1).
public struct WebSocketRequest: ~Escapable {
  /// With the query. Empty: the root.
  public var path: Span<UInt8>
  public var host: Span<UInt8>
  /// `nil`: that of the scheme, which is left out.
  public var port: UInt16?
  /// Separated by commas; empty: none.
  public var subprotocols: Span<UInt8>
  /// More header lines, each with CRLF at its end.
  public var headers: Span<UInt8>

  @_lifetime(copy path, copy host, copy subprotocols, copy headers)
  public init(
    path: Span<UInt8>, host: Span<UInt8>, port: UInt16?, subprotocols: Span<UInt8>, headers: Span<UInt8>
  ) {
    self.path = path
    self.host = host
    self.port = port
    self.subprotocols = subprotocols
    self.headers = headers
  }
}

extension WebSocketHandshake {
  /// Writes the request, and returns its size. `nil`: there is no room for it, or a part of it is not valid.
  @_optimize(size)
  public func request(_ request: borrowing WebSocketRequest, into target: inout MutableSpan<UInt8>) -> Int? {
    guard Self.isValid(path: request.path), Self.isValid(subprotocols: request.subprotocols),
      Self.isValid(headers: request.headers), HTTPText.isValid(host: request.host)
    else { return nil }
    var writer = RequestWriter(target._mutatingExtracting(...))
    writer.put("GET ")
    if request.path.count == 0 || request.path[0] != UInt8(ascii: "/") { writer.put(UInt8(ascii: "/")) }
    writer.put(request.path)
    writer.put(" HTTP/1.1\r\n")
    if !Self.hasHost(request.headers) {
      writer.put("Host: ")
      writer.put(host: request.host, port: request.port)
      writer.put("\r\n")
    }
    writer.put(
      "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ")
    putKey(into: &writer)
    if request.subprotocols.count > 0 {
      writer.put("\r\nSec-WebSocket-Protocol: ")
      writer.put(request.subprotocols)
    }
    writer.put("\r\n")
    writer.put(request.headers)
    writer.put("\r\n")
    return writer.size
  }

  // MARK: What a request may have

  /// A path begins with a slash, or is only a query, or is empty. It has printable ASCII characters only, because
  /// others are percent-encoded (RFC 3986), and no fragment (RFC 6455 section 3).
  @_optimize(size)
  public static func isValid(path: Span<UInt8>) -> Bool {
    for index in 0..<path.count {
      guard 0x21..<0x7F ~= path[index], path[index] != UInt8(ascii: "#") else { return false }
    }
    return path.count == 0 || path[0] == UInt8(ascii: "/") || path[0] == UInt8(ascii: "?")
  }

  /// Subprotocols are tokens that commas separate.
  @_optimize(size)
  public static func isValid(subprotocols: Span<UInt8>) -> Bool {
    var rest = subprotocols
    while rest.count > 0 { if !isToken(HTTPText.removeFirst(of: &rest)) { return false } }
    // A comma at the end would have another element behind it.
    return subprotocols.count == 0 || subprotocols[subprotocols.count &- 1] != UInt8(ascii: ",")
  }

  /// Header lines are whole: a name, a colon, a value, CRLF. They must not set what the handshake sets, nor
  /// announce a body. Host is an exception: it may be set once, for a server behind another name, and replaces
  /// the one of the URL.
  @_optimize(size)
  public static func isValid(headers: Span<UInt8>) -> Bool {
    var rest = headers
    var hosts = 0
    while rest.count > 0 {
      guard let line = removeLine(of: &rest) else { return false }
      var size = 0
      while size < line.count, line[size] != UInt8(ascii: ":") { size &+= 1 }
      let name = line.extracting(first: size)
      guard size < line.count, isToken(name), !isReserved(name) else { return false }
      for index in size..<line.count where !HTTPText.isFieldCharacter(line[index]) { return false }
      if isHost(name) { hosts &+= 1 }
    }
    return hosts <= 1
  }

  private static func isToken(_ text: Span<UInt8>) -> Bool {
    for index in 0..<text.count where !HTTPText.isTokenCharacter(text[index]) { return false }
    return text.count > 0
  }

  @_optimize(size)
  private static func isReserved(_ name: Span<UInt8>) -> Bool {
    isNamed(name, "upgrade") || isNamed(name, "connection") || isNamed(name, "content-length")
      || isNamed(name, "transfer-encoding") || begins(name, with: "sec-websocket-")
  }

  private static func isNamed(_ name: Span<UInt8>, _ word: StaticString) -> Bool {
    HTTPText.equals(name, word.bytes)
  }

  private static func begins(_ name: Span<UInt8>, with word: StaticString) -> Bool {
    HTTPText.begins(name, with: word.bytes)
  }

  private static func isHost(_ name: Span<UInt8>) -> Bool { isNamed(name, "host") }

  /// The lines are valid.
  @_optimize(size)
  private static func hasHost(_ headers: Span<UInt8>) -> Bool {
    var rest = headers
    while let line = removeLine(of: &rest) { if begins(line, with: "host:") { return true } }
    return false
  }

  /// Takes a line from the front, which it returns without its CRLF. `nil`: it has none.
  @_lifetime(copy lines)
  @_lifetime(lines: copy lines)
  @_optimize(size)
  @inline(never)
  private static func removeLine(of lines: inout Span<UInt8>) -> Span<UInt8>? {
    var end = 1
    while end < lines.count {
      if lines[end] == UInt8(ascii: "\n"), lines[end &- 1] == UInt8(ascii: "\r") {
        let line = lines.extracting(first: end &- 1)
        lines = lines.extracting(droppingFirst: end &+ 1)
        return line
      }
      end &+= 1
    }
    return nil
  }
}
