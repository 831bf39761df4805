import CTLSEngine
import Platform
import Storage

/// The handshakes: proxy, TLS, WebSocket, one after the other.
extension Layers {
  // MARK: Things that happened

  /// The next attempt is with this server; `host` ends with a zero.
  @inline(never)
  @_optimize(size)
  mutating func prepare(_ host: Span<UInt8>, port: UInt16) {
    end()
    texts.setServer(host, port: port)
    failure = LayerFailure()
    hasOpened = false
  }

  /// The network is there: the first handshake begins. `wallClock` is `nil` if nobody knows the time.
  @inline(never)
  @_optimize(size)
  mutating func begin(wallClock: Int64?) -> Opening {
    self.wallClock = wallClock
    hasReceived = false
    guard Feature.hasProxy, proxy != .none else { return beginTLS() }
    socks = SOCKS5()
    connect = HTTPConnect()
    stage = .proxy
    return sendRequest() ? .opening : .failed(.layer(.proxy))
  }

  /// Goes on as far as the bytes go that are there.
  @inline(never)
  @_optimize(size)
  mutating func advance() -> Opening {
    // Each turn ends a stage, or takes bytes of which there is a bounded number.
    while true {
      let result: Opening
      switch stage {
      case .idle: return .opening
      case .proxy: result = Feature.hasProxy ? talk(.proxy) : .opening
      case .tls: result = shakeHands()
      case .webSocket: result = Feature.hasWebSocket ? talk(.webSocket) : .opening
      case .open: return .open
      }
      guard case .open = result else { return result }
      // The stage is over.
      let next = stage == .proxy ? beginTLS() : stage == .tls ? beginWebSocket() : finishOpening()
      guard case .opening = next else { return next }
    }
  }

  /// The peer has closed while the layers opened. Who does not speak TLS, or does not want to, often closes.
  @inline(never)
  @_optimize(size)
  mutating func peerClosed() -> Layer? {
    guard stage == .tls else { return nil }
    tls.element.closed(hasReceived: hasReceived)
    return .tls
  }

  // MARK: The stages

  @_optimize(size)
  private mutating func beginTLS() -> Opening {
    guard hasTLS else { return beginWebSocket() }
    stage = .tls
    return Self.begin(&tls, texts, wallClock: wallClock) ? .opening : .failed(.layer(.tls))
  }

  // Static, because the compiler takes a span of one part of `self` for a hold on all of it.
  @_optimize(size)
  private static func begin(
    _ tls: inout OptionalSlot<TLSConnection>, _ texts: borrowing LayerTexts, wallClock: Int64?
  ) -> Bool {
    var name = InlineArray<256, UInt8>(repeating: 0)
    let certificateName = texts.certificateName
    for index in 0..<min(certificateName.count, 255) { name[index] = texts.bytes(certificateName)[index] }
    let bytes = name.span.extracting(first: min(certificateName.count, 255) &+ 1)
    var addresses = AddressList()
    let isAddress = addresses.append(numeric: bytes.extracting(first: bytes.count &- 1), port: 0)
    return tls.element.begin(
      TLSConnection.Target(
        name: bytes, address: isAddress ? addresses[0] : nil, port: texts.port, alpn: texts.alpn,
        now: wallClock))
  }

  private mutating func shakeHands() -> Opening {
    // What came behind the proxy's answer, though a TLS server does not speak first.
    while Self.talks, !incoming.isEmpty {
      let count = Self.move(incoming, into: &tls)
      guard count > 0 else { break }
      incoming.removeFirst(count)
      tls.element.received(count)
    }
    switch tls.element.handshake() {
    case .done: return .open
    case .needsBytes:
      hasMoreInside = false
      return .opening
    case .failed: return .failed(.layer(.tls))
    }
  }

  private static func move(
    _ incoming: borrowing ByteQueue, into tls: inout OptionalSlot<TLSConnection>
  ) -> Int {
    tls.change { tls in
      var room = tls.receiveBuffer()
      let count = min(room.count, incoming.count)
      copy(incoming.bytes.extracting(first: count), into: &room)
      return count
    }
  }

  @_optimize(size)
  private mutating func beginWebSocket() -> Opening {
    guard hasWebSocket else { return finishOpening() }
    stage = .webSocket
    upgrade = webSocket.element.begin()
    return sendRequest() ? .opening : .failed(.layer(.webSocket))
  }

  private mutating func finishOpening() -> Opening {
    stage = .open
    hasOpened = true
    // A request may have been a secret.
    if outgoing.isEmpty { outgoing.wipe() }
    return .open
  }

  // MARK: Requests and answers

  /// Hands the handshake what came in. `.open`: it is over.
  @_optimize(size)
  private mutating func talk(_ layer: Layer) -> Opening {
    while true {
      if nextStep != .needsBytes, !outgoing.isEmpty {
        // The request has to be whole, and the next one is behind it.
        hasMoreInside = false
        return .opening
      }
      let step = nextStep
      if step != .needsBytes { hasMoreInside = true }
      nextStep = .needsBytes
      switch step {
      case .needsBytes: break
      case .send: if !sendRequest() { return .failed(.layer(layer)) }
      case .done: return .open
      case .failed:
        noteFailure()
        return .failed(.layer(layer))
      }
      if incoming.isEmpty, isSecured {
        switch readIntoIncoming() {
        case .transferred: break
        case .wouldBlock: return .opening
        case .closed: return .failed(.closed)
        case .failed(let error): return .failed(.system(error))
        case .broken(let layer): return .failed(.layer(layer))
        }
      }
      guard !incoming.isEmpty else {
        hasMoreInside = false
        return .opening
      }
      var consumed = 0
      nextStep = answered(&consumed)
      incoming.removeFirst(consumed)
      // A refusal does not wait for what it refuses.
      if nextStep == .failed { outgoing.removeAll() }
    }
  }

  private mutating func answered(_ consumed: inout Int) -> HandshakeStep {
    if Feature.hasWebSocket, stage == .webSocket {
      return Self.receive(incoming, by: &upgrade, texts, &consumed)
    }
    guard Feature.hasProxy else { return .failed }
    return proxy == .socks5
      ? Self.receive(incoming, by: &socks, &consumed) : Self.receive(incoming, by: &connect, &consumed)
  }

  /// Queues the next message of the handshake, for the longest of which the plan has room. False: it cannot be
  /// written, because a server that another one pointed to has a name that no request may have.
  @inline(never)
  @_optimize(size)
  private mutating func sendRequest() -> Bool {
    outgoing.removeAll()
    let count =
      stage == .webSocket
      ? Self.request(of: upgrade, texts, into: &outgoing)
      : proxy == .socks5
        ? Self.request(of: &socks, texts, into: &outgoing) : Self.request(of: connect, texts, into: &outgoing)
    guard let count else { return false }
    outgoing.append(count)
    return true
  }

  // Static, because the compiler takes a span of one part of `self` for a hold on all of it.

  private static func receive(
    _ incoming: borrowing ByteQueue, by socks: inout SOCKS5, _ consumed: inout Int
  ) -> HandshakeStep { socks.receive(incoming.bytes, consumed: &consumed) }

  private static func receive(
    _ incoming: borrowing ByteQueue, by connect: inout HTTPConnect, _ consumed: inout Int
  ) -> HandshakeStep { connect.receive(incoming.bytes, consumed: &consumed) }

  private static func receive(
    _ incoming: borrowing ByteQueue, by upgrade: inout WebSocketHandshake, _ texts: borrowing LayerTexts,
    _ consumed: inout Int
  ) -> HandshakeStep {
    upgrade.receive(incoming.bytes, consumed: &consumed, subprotocols: texts.subprotocols)
  }

  private static func request(
    of connect: HTTPConnect, _ texts: borrowing LayerTexts, into outgoing: inout ByteQueue
  ) -> Int? {
    var room = outgoing.tail()
    return connect.request(
      host: texts.host, port: texts.port, user: texts.proxyUser, password: texts.proxyPassword, into: &room)
  }

  private static func request(
    of upgrade: WebSocketHandshake, _ texts: borrowing LayerTexts, into outgoing: inout ByteQueue
  ) -> Int? {
    var room = outgoing.tail()
    return upgrade.request(
      WebSocketRequest(
        path: texts.path, host: texts.requestHost, port: texts.port == texts.usualPort ? nil : texts.port,
        subprotocols: texts.subprotocols, headers: texts.headers), into: &room)
  }

  /// The proxy looks a name up; an address is one already.
  @_optimize(size)
  private static func request(
    of socks: inout SOCKS5, _ texts: borrowing LayerTexts, into outgoing: inout ByteQueue
  ) -> Int? {
    var room = outgoing.tail()
    var addresses = AddressList()
    var size = 0
    var bytes = InlineArray<16, UInt8>(repeating: 0)
    if addresses.append(numeric: texts.host, port: 0) {
      let address = addresses[0]
      size = address.isV4 ? 4 : 16
      for index in 0..<size { bytes[index] = address.bytes[address.isV4 ? index &+ 12 : index] }
    }
    return socks.request(
      SOCKS5.Destination(name: texts.host, address: bytes.span.extracting(first: size), port: texts.port),
      user: texts.proxyUser, password: texts.proxyPassword, into: &room)
  }

  private static func read(
    from tls: inout OptionalSlot<TLSConnection>, into incoming: inout ByteQueue
  ) -> Transfer {
    var room = incoming.tail()
    return tls.element.read(into: &room)
  }

  private mutating func readIntoIncoming() -> Transfer {
    incoming.removeAll()
    let result = Self.read(from: &tls, into: &incoming)
    if case .transferred(let count) = result {
      incoming.append(count)
    } else {
      hasMoreInside = false
    }
    return result
  }

  @_optimize(size)
  private mutating func noteFailure() {
    if stage == .webSocket {
      failure.httpStatus = upgrade.status
      failure.webSocketFault = upgrade.fault
      failure.setText(upgrade.text)
    } else if proxy == .http {
      failure.httpStatus = connect.status
      failure.setText(connect.text)
    } else {
      failure.socksReply = socks.reply
    }
  }
}
