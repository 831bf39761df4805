import Platform
public import Storage

/// What lies between a socket and the protocol: the request to a proxy, TLS, WebSocket, in this order from the
/// network up, each if the options have it.
///
/// It does no IO. Bytes of the network go into `receiveSpace()` and come out of `output`; `AnyTransport` moves
/// them for a socket, the application for a transport of its own. Bytes of the protocol go through `read` and
/// `write`. Layers+Opening.swift has the handshakes, one after the other.
///
///     protocol    read(into:)          write(_:)
///                      ▲                   │
///     WebSocket    in place            a frame, in `outgoing`
///     TLS          engine.read         engine.write
///                      ▲                   ▼
///     network     receiveSpace()        output
///
/// Without TLS, the bytes of an open connection need no buffer on their way in: `filter` works on them where
/// the protocol has them.
public struct Layers: ~Copyable {
  /// A name and a zero: the longest host of the options.
  static var hostSize: Int { 254 }
  /// What is read at a time while a proxy or a web server answers. Their answers are parsed byte by byte, so it
  /// bounds nothing else.
  static var incomingSize: Int { 512 }

  enum Stage: UInt8, BitwiseCopyable {
    case idle  // the network is not there yet
    case proxy, tls, webSocket
    case open
  }

  private let inPlace = InPlace()
  var stage = Stage.idle
  let proxy: LayerOptions.ProxyKind
  var tls: OptionalSlot<TLSConnection>
  var webSocket: OptionalSlot<WebSocket>
  // Only the one of the present stage is in use. They are no cases of an enum, as its payload would be copied
  // out and in again at each step.
  var socks = SOCKS5()
  var connect = HTTPConnect()
  var upgrade = WebSocketHandshake(nonce: InlineArray(repeating: 0))
  var texts: LayerTexts
  /// What came in while a proxy or a web server answered, and was not looked at yet.
  var incoming: ByteQueue
  /// Requests, and then frames, that the layer below has not taken yet.
  var outgoing: ByteQueue
  /// The engine may have more than it has handed out, and the network will not tell.
  var hasMoreInside = false
  /// TLS can say nothing more before what waits is sent, such as its part of a key update.
  var readsAfterSending = false
  /// Something has come from the network.
  var hasReceived = false
  /// Seconds since 1970, when the network was there; `nil`: nobody knows.
  var wallClock: Int64? = nil
  /// The last handshake has succeeded: what fails since is no opening.
  var hasOpened = false
  /// `finish` was called.
  var isFinishing = false
  /// Our close_notify is queued: nothing follows it.
  var hasFinishedTLS = false
  public internal(set) var failure = LayerFailure()
  /// What the last answer of a proxy or a web server asks for, if it came before all of its request was sent.
  var nextStep = HandshakeStep.needsBytes

  /// The caller guarantees that the plan was made with these options.
  @_optimize(size)
  init(_ options: borrowing LayerOptions, plan: LayerPlan, block: borrowing Arena) {
    proxy = Feature.hasProxy ? options.proxy : .none
    let engine = options.tls
    tls = OptionalSlot(plan.tls, in: block, ) {
      // The plan has room for it if there is an engine.
      unsafe TLSConnection(engine.unsafelyUnwrapped, in: block, plan.tlsMemory, failure: plan.tlsFailure)
    }
    let (frameBytes, takesText) = (options.frameBytes, options.takesText)
    webSocket = OptionalSlot(plan.webSocket, in: block, if: Feature.hasWebSocket) {
      WebSocket(largestFrame: frameBytes, takesText: takesText)
    }
    texts = LayerTexts(options, texts: block.region(plan.texts), request: block.region(plan.request))
    incoming = ByteQueue(region: block.region(plan.incoming))
    outgoing = ByteQueue(region: block.region(plan.outgoing))
  }

  /// The answers of a proxy or a web server are read.
  static var talks: Bool {
    @inline(always) get { Feature.hasProxy || Feature.hasWebSocket }
  }

  var hasTLS: Bool { !tls.isEmpty }
  var hasWebSocket: Bool {
    @inline(always) get { Feature.hasWebSocket && !webSocket.isEmpty }
  }
  /// TLS carries the bytes now.
  var isSecured: Bool { hasTLS && stage.rawValue >= Stage.tls.rawValue }

  // MARK: Bytes of the network

  /// The protocol has the space for the next bytes, and calls `filter` on them.
  var isDirect: Bool { stage == .open && !isSecured && incoming.isEmpty }

  /// Where the next bytes go; empty: what is there has to be read first.
  @_lifetime(&self)
  mutating func receiveSpace() -> MutableSpan<UInt8> {
    guard !isSecured else {
      return tls.mutableBytes { tls, hand in
        var space = tls.receiveBuffer()
        hand(&space)
      }
    }
    if incoming.isEmpty { incoming.compact() }
    return incoming.tail()
  }

  @inline(never)
  mutating func received(_ count: Int) {
    guard count > 0 else { return }
    hasReceived = true
    hasMoreInside = !isFinishing
    if isSecured { tls.element.received(count) } else { incoming.append(count) }
  }

  /// What waits to be sent. `settle` comes first.
  var output: Span<UInt8> {
    @_lifetime(borrow self)
    @inline(never)
    borrowing get {
      guard isSecured else { return outgoing.bytes }
      return tls.bytes { tls, hand in hand(tls.output) }
    }
  }

  mutating func transmitted(_ count: Int) {
    if isSecured {
      tls.element.transmitted(count)
      // In a handshake, it may have more to say.
      if readsAfterSending || stage == .tls { hasMoreInside = true }
      readsAfterSending = false
    } else {
      outgoing.removeFirst(count)
    }
  }

  var hasOutput: Bool {
    @inline(never) get { !outgoing.isEmpty || owesControlFrame || output.count > 0 }
  }

  /// Brings what waits as far down as there is room. `broken`: there will be none.
  @inline(never)
  @_optimize(size)
  mutating func settle() -> Transfer {
    queueControlFrame()
    guard isSecured, stage.rawValue > Stage.tls.rawValue else { return .wouldBlock }
    // Each turn takes bytes, of which there is a bounded number.
    while !outgoing.isEmpty, case .transferred(let count) = Self.write(outgoing, to: &tls) {
      outgoing.removeFirst(count)
    }
    if isFinishing, outgoing.isEmpty, !owesControlFrame, !hasFinishedTLS {
      hasFinishedTLS = true
      tls.element.finish()
    }
    return !outgoing.isEmpty && tls.element.isBroken ? .broken(.tls) : .wouldBlock
  }

  // Static, because the compiler takes a span of one part of `self` for a hold on all of it.
  private static func write(
    _ outgoing: borrowing ByteQueue, to tls: inout OptionalSlot<TLSConnection>
  ) -> Transfer {
    tls.element.write(outgoing.bytes)
  }
}
