import CTLSEngine
public import Storage

/// What lies between the socket and the protocol, as the options have it.
public struct LayerOptions: ~Escapable {
  public enum ProxyKind: UInt8, BitwiseCopyable { case none, socks5, http }

  public var proxy = ProxyKind.none
  public var proxyHost: Span<UInt8>
  public var proxyPort: UInt16 = 0
  public var proxyUser: Span<UInt8>
  public var proxyPassword: Span<UInt8>
  /// `nil`: no TLS.
  public var tls: TLSEngine? = nil
  /// The name that the server's certificate has to be for; empty: the host.
  public var tlsName: Span<UInt8>
  public var alpn: Span<UInt8>
  public var isWebSocket = false
  /// With the query.
  public var path: Span<UInt8>
  /// Whole lines.
  public var headers: Span<UInt8>
  /// The subprotocols that are offered.
  public var subprotocols: Span<UInt8>
  /// Text frames are taken as well as binary ones.
  public var takesText = false
  /// The largest frame that is sent, with its header.
  public var frameBytes = 0
  /// Room for another path and other headers; 0: just these.
  public var requestBytes = 0
  /// The port that an HTTP request leaves out.
  public var usualPort: UInt16 = 0

  @_lifetime(immortal)
  public init() {
    proxyHost = Span()
    proxyUser = Span()
    proxyPassword = Span()
    tlsName = Span()
    alpn = Span()
    path = Span()
    headers = Span()
    subprotocols = Span()
  }

  public var areUsed: Bool { proxy != .none || tls != nil || isWebSocket }

  /// Room for path and headers.
  var requestCount: Int { max(path.count &+ headers.count, requestBytes) }

  /// The texts that stay as they are.
  var textCount: Int {
    proxyHost.count &+ 1 &+ proxyUser.count &+ proxyPassword.count &+ tlsName.count &+ 1 &+ alpn.count
      &+ subprotocols.count
  }

  /// The longest message of a handshake, or a frame.
  var outgoingCount: Int {
    guard proxy != .none || isWebSocket else { return 0 }
    // Names, and user names and passwords in base64, with what HTTP has around them.
    let connect = proxy == .none ? 0 : 1024 &+ 2 &* (proxyUser.count &+ proxyPassword.count)
    let upgrade = isWebSocket ? 512 &+ requestCount &+ subprotocols.count : 0
    return max(connect, max(upgrade, isWebSocket ? frameBytes : 0))
  }
}

/// Where the layers' state and buffers lie in the caller's block; nothing, if there are none.
public struct LayerPlan {
  let layers: ArenaSlice<Layers>
  let tls: ArenaSlice<TLSConnection>
  let tlsMemory: ArenaSlice<UInt64>
  let tlsFailure: ArenaSlice<smq_tls_failure>
  let webSocket: ArenaSlice<WebSocket>
  let texts: ArenaSlice<UInt8>
  let request: ArenaSlice<UInt8>
  let incoming: ArenaSlice<UInt8>
  let outgoing: ArenaSlice<UInt8>

  @_optimize(size)
  public init(_ options: borrowing LayerOptions, in plan: inout ArenaLayout) {
    let areUsed = options.areUsed
    let tlsBytes = options.tls?.connectionBytes ?? 0
    layers = plan.reserve(areUsed ? 1 : 0, of: Layers.self)
    tls = plan.reserve(options.tls == nil ? 0 : 1, of: TLSConnection.self)
    tlsMemory = plan.reserve(options.tls == nil ? 0 : (tlsBytes &+ 7) / 8, of: UInt64.self)
    tlsFailure = plan.reserve(options.tls == nil ? 0 : 1, of: smq_tls_failure.self)
    webSocket = plan.reserve(options.isWebSocket ? 1 : 0, of: WebSocket.self)
    texts = plan.reserve(areUsed ? Layers.hostSize &+ options.textCount : 0, of: UInt8.self)
    request = plan.reserve(options.isWebSocket ? options.requestCount : 0, of: UInt8.self)
    let takesReplies = options.proxy != .none || options.isWebSocket
    incoming = plan.reserve(takesReplies ? Layers.incomingSize : 0, of: UInt8.self)
    outgoing = plan.reserve(options.outgoingCount, of: UInt8.self)
  }
}
