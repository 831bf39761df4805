import Storage
public import Transports

/// What a caller asks of a connection, as it comes: nothing is checked yet, 0 is the default everywhere. The fields are
/// those of `smq_options` and `sst_options`, which explain them.
public struct ConnectionRequest: ~Copyable, ~Escapable {
  private let inPlace = InPlace()
  // What is usual in a protocol.
  public let usualPort: UInt16
  public let usualSecurePort: UInt16
  public let usualPath: StaticString
  public var usualSubprotocols: StaticString
  public var takesText = false

  public var noReconnect = false
  public var shuffle = false
  public var askCredentials = false
  public var ownResolver = false
  public var ownTransport = false
  /// One server, or the text that several are in.
  public var host: Span<UInt8>
  public var port: UInt32 = 0
  public var servers = HostPortList()
  public var connectTimeout: UInt32 = 0
  public var reconnectMinimum: UInt32 = 0
  public var reconnectMaximum: UInt32 = 0
  public var stableTime: UInt32 = 0
  public var jitter: UInt32 = 0
  public var writeTimeout: UInt32 = 0
  public var tcpUserTimeout: UInt32 = 0
  public var addresses: UInt32 = 0
  /// `nil`: a host is given.
  public var carrier: Carrier? = nil
  public var webSocket = false
  public var tls: TLSEngine? = nil
  public var tlsName: Span<UInt8>
  public var alpn: Span<UInt8>
  public var proxy = LayerOptions.ProxyKind.none
  public var proxyHost: Span<UInt8>
  public var proxyPort: UInt32 = 0
  public var proxyUser: Span<UInt8>
  public var proxyPassword: Span<UInt8>
  /// That of the URL, or its own option.
  public var webSocketPath: Span<UInt8>
  public var webSocketHeaders: Span<UInt8>
  public var webSocketProtocol: Span<UInt8>
  public var webSocketBytes: UInt32 = 0
  public var webSocketRequestBytes: UInt32 = 0
  public var bindDevice: Span<UInt8>
  public var bindAddress: Span<UInt8>
  public var dscp: UInt32 = 0
  public var tcpKeepAlive: UInt32 = 0
  public var busyPoll: UInt32 = 0

  @_lifetime(immortal)
  public init(port: UInt16, securePort: UInt16, path: StaticString, subprotocols: StaticString) {
    usualPort = port
    usualSecurePort = securePort
    usualPath = path
    usualSubprotocols = subprotocols
    host = Span()
    tlsName = Span()
    alpn = Span()
    proxyHost = Span()
    proxyUser = Span()
    proxyPassword = Span()
    webSocketPath = Span()
    webSocketHeaders = Span()
    webSocketProtocol = Span()
    bindDevice = Span()
    bindAddress = Span()
  }

  /// The server is a socket in the file system.
  public var isFile: Bool {
    if let carrier { return carrier == .file }
    return host.count > 0 && host[0] == UInt8(ascii: "/")
  }

  public var isWebSocket: Bool { carrier?.isWebSocket ?? webSocket }

  public var transport: AnyTransport.Kind { ownTransport ? .callerDriven : isFile ? .unix : .tcp }

  @_optimize(size)
  var portOfServers: UInt32 {
    if isWebSocket { return tls != nil ? 443 : 80 }
    return UInt32(tls != nil ? usualSecurePort : usualPort)
  }
}

/// What carries a protocol, as the scheme of a URL says it.
public enum Carrier: UInt8, BitwiseCopyable, Sendable {
  case tcp, tls, webSocket, secureWebSocket, file

  public var isSecure: Bool { self == .tls || self == .secureWebSocket }
  public var isWebSocket: Bool { self == .webSocket || self == .secureWebSocket }
  public var form: URLForm { self == .file ? .file : isWebSocket ? .serversAndPath : .servers }
}

/// Why a connection that is asked for can't be had.
public enum ConnectionRequestError: Error, BitwiseCopyable {
  case option  // a value out of range, or two that contradict each other
  case notSupported
}
