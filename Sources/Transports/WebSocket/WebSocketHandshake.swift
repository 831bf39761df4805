import Storage

/// Opens a WebSocket connection (RFC 6455 section 4): reads the reply to a `WebSocketRequest`.
public struct WebSocketHandshake: BitwiseCopyable {
  /// Why the connection cannot be used.
  public enum Fault: UInt8, BitwiseCopyable {
    case none
    /// The reply is no HTTP, or its head is too long.
    case malformed
    /// The status is not 101. `text` says more.
    case status
    // The status is 101, and this header line is missing or wrong.
    case upgrade, connection, accept, extensions, subprotocol
  }

  private var head = HTTPResponseHead()
  /// The random bytes that the key of the request is made of.
  let nonce: InlineArray<16, UInt8>
  private var seen = Seen()
  public private(set) var fault = Fault.none

  public init(nonce: InlineArray<16, UInt8>) { self.nonce = nonce }

  /// 0: there was no response yet.
  public var status: UInt16 { head.status }

  /// The reason phrase; of a redirection, its Location.
  public var text: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { head.text }
  }

  /// Reads from `bytes[consumed...]`, and adds to `consumed` what it has taken: frames may follow. `subprotocols`
  /// are those of the request.
  @_optimize(size)
  public mutating func receive(
    _ bytes: Span<UInt8>, consumed: inout Int, subprotocols: Span<UInt8>
  ) -> HandshakeStep {
    // Each turn takes a line at least, or is the last one.
    while true {
      switch head.next(bytes, &consumed) {
      case .needsBytes: return .needsBytes
      case .header: look(subprotocols)
      case .end:
        if 100..<200 ~= status, status != Self.switchingProtocols {
          head.restart()
          seen = Seen()
          continue
        }
        fault = status == Self.switchingProtocols ? seen.fault : .status
        return fault == .none ? .done : .failed
      case .malformed, .tooLong:
        fault = .malformed
        return .failed
      }
    }
  }

  private static var switchingProtocols: UInt16 { 101 }

  /// What the header lines so far had.
  private struct Seen: BitwiseCopyable {
    var upgrade = false
    var connection = false
    var accept = false
    var wrongAccept = false
    var extensions = false
    var subprotocol = false
    var wrongSubprotocol = false

    /// The rules of section 4.1, in its order.
    var fault: Fault {
      if !upgrade { return .upgrade }
      if !connection { return .connection }
      if !accept || wrongAccept { return .accept }
      if extensions { return .extensions }
      return wrongSubprotocol ? .subprotocol : .none
    }
  }

  /// Looks at the header line that the head has read. A reply without a subprotocol is accepted: some servers,
  /// and proxies in front of others, leave it out.
  @_optimize(size)
  private mutating func look(_ subprotocols: Span<UInt8>) {
    if head.isHeader("upgrade") {
      if HTTPText.list(head.value, contains: "websocket") { seen.upgrade = true }
    } else if head.isHeader("connection") {
      if HTTPText.list(head.value, contains: "upgrade") { seen.connection = true }
    } else if head.isHeader("sec-websocket-accept") {
      if seen.accept || !isAccept(head.value) { seen.wrongAccept = true }
      seen.accept = true
    } else if head.isHeader("sec-websocket-extensions") {
      seen.extensions = true
    } else if head.isHeader("sec-websocket-protocol") {
      if seen.subprotocol || !Self.list(subprotocols, has: head.value) { seen.wrongSubprotocol = true }
      seen.subprotocol = true
    }
  }

  /// Names of subprotocols are compared byte by byte.
  @_optimize(size)
  private static func list(_ offered: Span<UInt8>, has name: Span<UInt8>) -> Bool {
    var rest = offered
    // No element is empty, so that an empty name is none of them.
    while rest.count > 0 { if HTTPText.isSame(HTTPText.removeFirst(of: &rest), name) { return true } }
    return false
  }

  /// The key with a constant behind it, hashed (section 4.2.2, 5.4).
  @_optimize(size)
  private func isAccept(_ value: Span<UInt8>) -> Bool {
    var text = InlineArray<60, UInt8>(repeating: 0)
    var writer = RequestWriter(text.mutableSpan)
    putKey(into: &writer)
    writer.put("258EAFA5-E914-47DA-95CA-C5AB0DC85B11")
    var expected = InlineArray<28, UInt8>(repeating: 0)
    let digest = SHA1.hash(text.span)
    var encoded = RequestWriter(expected.mutableSpan)
    var base64 = Base64()
    base64.encode(digest.span, into: &encoded)
    base64.finish(into: &encoded)
    return HTTPText.isSame(expected.span, value)
  }

  func putKey(into writer: inout RequestWriter) {
    var base64 = Base64()
    base64.encode(nonce.span, into: &writer)
    base64.finish(into: &writer)
  }
}
