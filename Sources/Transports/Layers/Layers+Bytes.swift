import CTLSEngine
public import Platform
public import Storage

/// The bytes of the protocol, once the layers are open; and their end.
extension Layers {
  /// Where opening is; `nil`: it has not begun, or is over.
  var openingStage: OpeningStage? {
    switch stage {
    case .idle, .open: nil
    case .proxy: .proxy
    case .tls: .tls
    case .webSocket: .webSocket
    }
  }

  // MARK: In

  /// Fills `space` from its front with what has come already. `wouldBlock`: bytes of the network are needed.
  @inline(never)
  @_optimize(size)
  mutating func read(into space: inout MutableSpan<UInt8>) -> Transfer {
    guard hasMoreInside else { return hasFinishedTLS ? .closed : .wouldBlock }
    var count = 0
    // Each turn takes bytes that are there.
    while count < space.count {
      let result = readOnce(into: &space, from: count)
      switch result {
      case .transferred(let more): count &+= more
      case .wouldBlock:
        hasMoreInside = false
        readsAfterSending = isSecured && output.count > 0
        return count > 0 ? .transferred(count) : .wouldBlock
      case .closed, .failed, .broken: return count > 0 ? .transferred(count) : result
      }
    }
    return .transferred(count)
  }

  /// `transferred` may be none: a frame without a payload.
  private mutating func readOnce(into space: inout MutableSpan<UInt8>, from offset: Int) -> Transfer {
    if let end = webSocketEnd() { return end }
    var rest = space._mutatingExtracting(droppingFirst: offset)
    let raw: Int
    if !incoming.isEmpty {
      raw = min(incoming.count, rest.count)
      copy(incoming.bytes.extracting(first: raw), into: &rest)
      incoming.removeFirst(raw)
    } else if isSecured {
      let result = tls.element.read(into: &rest)
      guard case .transferred(let count) = result else { return result }
      raw = count
    } else {
      return .wouldBlock
    }
    return .transferred(filter(&rest, raw))
  }

  /// `count` bytes of the network are at the front of `space`: returns how many of the protocol are there then.
  @inline(never)
  mutating func filter(_ space: inout MutableSpan<UInt8>, _ count: Int) -> Int {
    guard hasWebSocket else { return count }
    var frames = space._mutatingExtracting(first: count)
    let payload = webSocket.element.reader.received(&frames)
    // What ends the connection is read after the payload before it.
    if webSocket.element.reader.isOver { hasMoreInside = true }
    return payload
  }

  /// The server has closed the WebSocket, or broken a rule of it.
  private mutating func webSocketEnd() -> Transfer? {
    guard hasWebSocket, webSocket.element.reader.isOver else { return nil }
    let reader = webSocket.element.reader
    failure.closeCode = reader.violation ?? reader.closeCode ?? 0
    failure.setText(reader.closeReason)
    return .broken(.webSocket)
  }

  // MARK: Out

  /// Takes bytes from the front, which then count as sent. `wouldBlock`: what waits has to be sent first.
  @inline(never)
  @_optimize(size)
  mutating func write(_ bytes: Span<UInt8>) -> Transfer {
    guard stage == .open, !isFinishing else { return .wouldBlock }
    guard hasWebSocket else { return isSecured ? tls.element.write(bytes) : writePlain(bytes) }
    if case .broken(let layer) = settle() { return .broken(layer) }
    guard outgoing.isEmpty, !webSocket.element.reader.isOver else { return .wouldBlock }
    let count = Self.put(bytes, by: &webSocket, into: &outgoing)
    return count > 0 ? .transferred(count) : .wouldBlock
  }

  // Static, because the compiler takes a span of one part of `self` for a hold on all of it.
  private static func put(
    _ bytes: Span<UInt8>, by webSocket: inout OptionalSlot<WebSocket>, into outgoing: inout ByteQueue
  ) -> Int {
    var room = outgoing.tail()
    let written = webSocket.element.put(bytes, into: &room)
    outgoing.append(written.frame)
    return written.payload
  }

  /// An answer to a Ping, or Close.
  var owesControlFrame: Bool {
    guard hasWebSocket, stage == .open else { return false }
    return webSocket.element.owesControlFrame(isFinishing: isFinishing)
  }

  /// A Pong or a Close that has to be sent goes ahead of data, between two frames.
  mutating func queueControlFrame() {
    guard outgoing.isEmpty, owesControlFrame else { return }
    Self.putControl(by: &webSocket, into: &outgoing, isFinishing: isFinishing)
  }

  private static func putControl(
    by webSocket: inout OptionalSlot<WebSocket>, into outgoing: inout ByteQueue, isFinishing: Bool
  ) {
    var room = outgoing.tail()
    let size = webSocket.element.putControl(into: &room, isFinishing: isFinishing)
    outgoing.append(size)
  }

  /// Random numbers are needed before the next frame, or the handshake.
  var needsKeys: Bool { hasWebSocket && webSocket.element.needsKeys }

  mutating func stockKeys(_ bytes: Span<UInt8>) { webSocket.element.keys.refill(bytes) }

  /// Bytes go through as they are, and none wait.
  var isTransparent: Bool { stage == .open && !hasTLS && !hasWebSocket && outgoing.isEmpty }

  private mutating func writePlain(_ bytes: Span<UInt8>) -> Transfer {
    guard outgoing.isEmpty, outgoing.capacity > 0 else { return .wouldBlock }
    let count = min(bytes.count, outgoing.capacity)
    var room = outgoing.tail()
    copy(bytes.extracting(first: count), into: &room)
    outgoing.append(count)
    return .transferred(count)
  }

  // MARK: The end

  /// What waits will not be sent any more. What the peer has said by then may say why.
  mutating func sendingFailed() { outgoing.removeAll() }

  /// The connection ends in order: what says so waits to be sent.
  mutating func finish() {
    isFinishing = true
    // Nobody reads any more.
    hasMoreInside = false
    readsAfterSending = false
  }

  /// What says so has been sent.
  mutating func hasShutDown() { isFinishing = false }

  /// Ends in any state, and overwrites what was secret.
  @inline(never)
  @_optimize(size)
  mutating func end() {
    if hasTLS { tls.element.end() }
    stage = .idle
    incoming.removeAll()
    outgoing.removeAll()
    incoming.wipe()
    outgoing.wipe()
    socks = SOCKS5()
    connect = HTTPConnect()
    upgrade = WebSocketHandshake(nonce: InlineArray(repeating: 0))
    if hasWebSocket { webSocket.element.reset() }
    nextStep = .needsBytes
    hasMoreInside = false
    readsAfterSending = false
    isFinishing = false
    hasFinishedTLS = false
  }
}
