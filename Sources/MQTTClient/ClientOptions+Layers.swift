import Driver
import MQTTWire
import Platform
import Storage
import Transports

/// The options of what carries MQTT: TLS, WebSocket, proxies, sockets.
extension ClientOptions {
  /// What `sun_path` has room for, with a zero.
  static var longestFile: Int { 107 }
  static var longestPath: Int { 4096 }
  static var longestHeaders: Int { 8192 }
  private static var longestRequest: UInt32 { 16_384 }

  /// The server is a socket in the file system.
  static func isUnix(_ request: borrowing RequestedOptions) -> Bool {
    if let scheme = request.scheme { return scheme == .unix }
    return request.host.count > 0 && request.host[0] == UInt8(ascii: "/")
  }

  private static func isWebSocket(_ request: borrowing RequestedOptions) -> Bool {
    request.scheme?.isWebSocket ?? request.webSocket
  }

  @_optimize(size)
  static func usualPort(_ request: borrowing RequestedOptions) -> UInt32 {
    let isSecure = request.tls != nil
    return isWebSocket(request) ? (isSecure ? 443 : 80) : (isSecure ? 8883 : 1883)
  }

  @_optimize(size)
  @_lifetime(layers: copy request)
  static func setLayers(
    _ request: borrowing RequestedOptions, _ layers: inout LayerOptions, _ version: ProtocolVersion,
    isUnix: Bool
  ) throws(OptionsError) {
    try checkScheme(request)
    layers.tls = request.tls
    if request.tls != nil {
      // A certificate is for a name, which a file has not.
      guard !isUnix || request.tlsName.count > 0 else { throw .option }
      if request.tlsName.count > 0 { try checkHost(request.tlsName) }
      guard request.alpn.count <= 255, request.tls?.connectionBytes != nil else { throw .option }
      layers.tlsName = request.tlsName
      layers.alpn = request.alpn
    } else {
      guard request.tlsName.count == 0, request.alpn.count == 0 else { throw .option }
    }
    layers.usualPort = UInt16(truncatingIfNeeded: usualPort(request))
    try setProxy(request, &layers, isUnix: isUnix)
    try setWebSocket(request, &layers, version)
  }

  /// The scheme, the engine and this build agree.
  @_optimize(size)
  private static func checkScheme(_ request: borrowing RequestedOptions) throws(OptionsError) {
    guard Feature.hasWebSocket || !isWebSocket(request),
      Feature.hasProxy || request.proxy == .none, Feature.hasUnix || !isUnix(request)
    else { throw .notSupported(at: 0) }
    guard !request.webSocket || request.scheme == nil else { throw .option }
    guard let scheme = request.scheme else { return }
    if scheme.isSecure {
      guard request.tls != nil else { throw .notSupported(at: 0) }
    } else {
      // Nobody meant to send in plain what TLS was to protect.
      guard request.tls == nil || scheme == .unix else { throw .option }
    }
  }

  @_optimize(size)
  @_lifetime(layers: copy request)
  private static func setProxy(
    _ request: borrowing RequestedOptions, _ layers: inout LayerOptions, isUnix: Bool
  ) throws(OptionsError) {
    guard request.proxy != .none else { return }
    guard !isUnix, request.proxyPort <= 65_535 else { throw .option }
    try checkHost(request.proxyHost)
    if request.ownResolver {
      var addresses = AddressList()
      guard addresses.append(numeric: request.proxyHost, port: 0) else { throw .option }
    }
    guard request.proxyUser.count <= 255, request.proxyPassword.count <= 255 else { throw .option }
    // Basic has a colon between the two (RFC 7617 section 2).
    if request.proxy == .http {
      for index in 0..<request.proxyUser.count where request.proxyUser[index] == UInt8(ascii: ":") {
        throw .option
      }
    }
    layers.proxy = request.proxy
    layers.proxyHost = request.proxyHost
    layers.proxyPort =
      request.proxyPort != 0
      ? UInt16(truncatingIfNeeded: request.proxyPort)
      : request.proxy == .socks5 ? 1080 : 80
    layers.proxyUser = request.proxyUser
    layers.proxyPassword = request.proxyPassword
  }

  @_optimize(size)
  @_lifetime(layers: copy request)
  private static func setWebSocket(
    _ request: borrowing RequestedOptions, _ layers: inout LayerOptions, _ version: ProtocolVersion
  ) throws(OptionsError) {
    guard isWebSocket(request) else {
      guard
        request.webSocketPath.count | request.webSocketHeaders.count | request.webSocketProtocol.count == 0,
        request.webSocketBytes | request.webSocketRequestBytes == 0
      else { throw .option }
      return
    }
    layers.isWebSocket = true
    layers.path = request.webSocketPath.count > 0 ? request.webSocketPath : usualPath.bytes
    layers.headers = request.webSocketHeaders
    layers.subprotocols =
      request.webSocketProtocol.count > 0
      ? request.webSocketProtocol : version.isV31 ? subprotocols31.bytes : subprotocols.bytes
    guard layers.path.count <= longestPath, layers.headers.count <= longestHeaders,
      layers.subprotocols.count <= 255,
      WebSocketHandshake.isValid(path: layers.path), WebSocketHandshake.isValid(headers: layers.headers),
      WebSocketHandshake.isValid(subprotocols: layers.subprotocols),
      request.webSocketBytes == 0 || 256...65_536 ~= request.webSocketBytes,
      request.webSocketRequestBytes <= longestRequest
    else { throw .option }
    layers.frameBytes = request.webSocketBytes == 0 ? 4096 : Int(request.webSocketBytes)
    layers.requestBytes = Int(request.webSocketRequestBytes)
  }

  static var usualPath: StaticString { "/mqtt" }
  /// Those of section 6, and of 3.1's servers.
  private static var subprotocols: StaticString { "mqtt" }
  private static var subprotocols31: StaticString { "mqttv3.1, mqtt" }

  @_optimize(size)
  static func sockets(
    _ request: borrowing RequestedOptions, userTimeout: UInt32, keepAlive: UInt32, dscp: UInt32,
    busyPoll: UInt32, isTCP: Bool
  ) throws(OptionsError) -> SocketOptions {
    var sockets = SocketOptions()
    sockets.userTimeout = userTimeout
    sockets.keepAlive = keepAlive
    sockets.differentiatedServices = dscp
    sockets.busyPoll = busyPoll
    guard sockets.setDevice(request.bindDevice),
      request.bindAddress.count == 0 || sockets.setSource(request.bindAddress)
    else { throw .option }
    // A timeout that no socket has does no harm; the others would be promises.
    guard isTCP || (keepAlive | dscp == 0 && request.bindDevice.count | request.bindAddress.count == 0) else {
      throw .option
    }
    return sockets
  }
}
