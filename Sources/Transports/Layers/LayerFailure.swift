/// What the peer of a layer has said that ended an attempt, or a connection. What TLS says about itself is in
/// `Layers.tlsFailure`.
public struct LayerFailure: BitwiseCopyable {
  /// Of SOCKS5: the reply (RFC 1928 section 6), or one of `SOCKS5`'s own; -1: none.
  public var socksReply: Int32 = -1
  /// Of HTTP, as a proxy or as a web server; 0: none.
  public var httpStatus: UInt16 = 0
  /// Of WebSocket: the peer's, or the one that its fault was answered with; 0: none.
  public var closeCode: UInt16 = 0
  /// What was wrong with the answer of the web server.
  public var webSocketFault = WebSocketHandshake.Fault.none
  /// The reason that went with it, or where a redirection leads.
  public var text = InlineArray<125, UInt8>(repeating: 0)
  public var textCount: UInt8 = 0

  public init() {}

  mutating func setText(_ bytes: Span<UInt8>) {
    let count = min(bytes.count, text.count)
    for index in 0..<count { text[index] = bytes[index] }
    textCount = UInt8(truncatingIfNeeded: count)
  }
}
