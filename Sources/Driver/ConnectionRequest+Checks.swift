public import Platform
public import Storage
public import Transports

/// What the driver is made with: the checks of hosts, numbers, TLS, WebSocket, proxies and sockets.
extension ConnectionRequest {
  /// What `sun_path` has room for, with a zero.
  private static var longestFile: Int { 107 }
  private static var longestRequest: UInt32 { 16_384 }

  /// A host is printable ASCII. The resolver will say whether it is a name.
  private static func checkHost(
    _ host: Span<UInt8>, isFile: Bool = false
  ) throws(ConnectionRequestError) {
    guard host.count > 0, host.count <= (isFile ? longestFile : 253) else { throw .option }
    for index in 0..<host.count where host[index] <= 0x20 || host[index] >= 0x7F { throw .option }
  }

  public func checkHosts(_ driver: borrowing DriverOptions) throws(ConnectionRequestError) {
    for index in 0..<driver.servers.count { try Self.checkHost(driver.host(index), isFile: isFile) }
  }

  /// Writes what has a range, and what needs no check.
  public func setNumbers(
    _ driver: inout DriverOptions, _ sockets: inout SocketOptions, _ numbers: inout NumberCheck
  ) {
    let day = NumberCheck.dayInMilliseconds
    driver.port = UInt16(truncatingIfNeeded: numbers.value(port, default: portOfServers, maximum: 65_535))
    driver.connectTimeout = numbers.value(connectTimeout, default: 30_000, maximum: day, off: 0)
    let shortest = numbers.value(reconnectMinimum, default: 1000, minimum: 10, maximum: day)
    let longest = numbers.value(
      reconnectMaximum, default: max(60_000, shortest), minimum: shortest, maximum: day)
    driver.stableTime = numbers.value(stableTime, default: 30_000, maximum: day)
    let jitter = numbers.value(jitter, default: Backoff.Jitter.full.rawValue, maximum: 3)
    driver.backoff = Backoff(
      shortest: shortest, longest: longest, jitter: Backoff.Jitter(rawValue: jitter) ?? .full)
    driver.writeTimeout = numbers.value(writeTimeout, default: 30_000, maximum: day, off: 0)
    let most = UInt32(AddressList.maximum)
    let addresses = numbers.value(addresses, default: most, maximum: most)
    driver.addresses = transport == .tcp ? Int(addresses) : 0
    driver.busyPoll = numbers.value(busyPoll, default: 0, maximum: 1_000_000)
    if driver.busyPoll > 0, ownTransport { numbers.areValid = false }
    driver.isShuffled = shuffle
    driver.asksCredentials = askCredentials
    driver.asksAddresses = ownResolver
    driver.isCallerDriven = ownTransport
    driver.reconnects = !noReconnect
    sockets.userTimeout = numbers.value(tcpUserTimeout, default: 0, maximum: day)
    sockets.keepAlive = numbers.value(tcpKeepAlive, default: 0, maximum: 32_767)
    sockets.differentiatedServices = numbers.value(dscp, default: 0, maximum: 63)
    sockets.busyPoll = driver.busyPoll
  }

  @_optimize(size)
  public func setSource(_ sockets: inout SocketOptions) throws(ConnectionRequestError) {
    guard sockets.setDevice(bindDevice), bindAddress.count == 0 || sockets.setSource(bindAddress) else {
      throw .option
    }
    // A timeout that no socket has does no harm; the others would be promises.
    guard
      transport == .tcp
        || (sockets.keepAlive | sockets.differentiatedServices == 0
          && bindDevice.count | bindAddress.count == 0)
    else { throw .option }
  }

  // MARK: Layers

  @_optimize(size)
  @_lifetime(layers: copy self)
  public func setLayers(_ layers: inout LayerOptions) throws(ConnectionRequestError) {
    try checkScheme()
    layers.tls = tls
    if tls != nil {
      // A certificate is for a name, which a file has not.
      guard !isFile || tlsName.count > 0 else { throw .option }
      if tlsName.count > 0 { try Self.checkHost(tlsName) }
      guard alpn.count <= 255, tls?.connectionBytes != nil else { throw .option }
      layers.tlsName = tlsName
      layers.alpn = alpn
    } else {
      guard tlsName.count == 0, alpn.count == 0 else { throw .option }
    }
    layers.usualPort = UInt16(truncatingIfNeeded: portOfServers)
    try setProxy(&layers)
    try setWebSocket(&layers)
  }

  /// The scheme, the engine and this build agree.
  @_optimize(size)
  private func checkScheme() throws(ConnectionRequestError) {
    guard Feature.hasWebSocket || !isWebSocket, Feature.hasProxy || proxy == .none, Feature.hasUnix || !isFile
    else { throw .notSupported }
    guard !webSocket || carrier == nil else { throw .option }
    guard let carrier else { return }
    if carrier.isSecure {
      guard tls != nil else { throw .notSupported }
    } else {
      // Nobody meant to send in plain what TLS was to protect.
      guard tls == nil || carrier == .file else { throw .option }
    }
  }

  @_optimize(size)
  @_lifetime(layers: copy self)
  private func setProxy(_ layers: inout LayerOptions) throws(ConnectionRequestError) {
    guard proxy != .none else { return }
    guard !isFile, proxyPort <= 65_535 else { throw .option }
    try Self.checkHost(proxyHost)
    if ownResolver {
      var addresses = AddressList()
      guard addresses.append(numeric: proxyHost, port: 0) else { throw .option }
    }
    guard proxyUser.count <= 255, proxyPassword.count <= 255 else { throw .option }
    // Basic has a colon between the two (RFC 7617 section 2).
    if proxy == .http {
      for index in 0..<proxyUser.count where proxyUser[index] == UInt8(ascii: ":") { throw .option }
    }
    layers.proxy = proxy
    layers.proxyHost = proxyHost
    layers.proxyPort = proxyPort != 0 ? UInt16(truncatingIfNeeded: proxyPort) : proxy == .socks5 ? 1080 : 80
    layers.proxyUser = proxyUser
    layers.proxyPassword = proxyPassword
  }

  @_optimize(size)
  @_lifetime(layers: copy self)
  private func setWebSocket(_ layers: inout LayerOptions) throws(ConnectionRequestError) {
    guard isWebSocket else {
      guard webSocketPath.count | webSocketHeaders.count | webSocketProtocol.count == 0,
        webSocketBytes | webSocketRequestBytes == 0
      else { throw .option }
      return
    }
    layers.isWebSocket = true
    layers.takesText = takesText
    layers.path = webSocketPath.count > 0 ? webSocketPath : usualPath.bytes
    layers.headers = webSocketHeaders
    layers.subprotocols = webSocketProtocol.count > 0 ? webSocketProtocol : usualSubprotocols.bytes
    guard LayerOptions.isValid(path: layers.path, headers: layers.headers), layers.subprotocols.count <= 255,
      WebSocketHandshake.isValid(subprotocols: layers.subprotocols),
      webSocketBytes == 0 || 256...65_536 ~= webSocketBytes, webSocketRequestBytes <= Self.longestRequest
    else { throw .option }
    layers.frameBytes = webSocketBytes == 0 ? 4096 : Int(webSocketBytes)
    layers.requestBytes = Int(webSocketRequestBytes)
  }
}

extension LayerOptions {
  /// Those of a WebSocket's request.
  public static func isValid(path: Span<UInt8>, headers: Span<UInt8>) -> Bool {
    path.count <= 4096 && headers.count <= 8192 && WebSocketHandshake.isValid(path: path)
      && WebSocketHandshake.isValid(headers: headers)
  }
}
