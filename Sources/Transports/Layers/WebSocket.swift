import Storage

/// A WebSocket: what comes in, what goes out, and random numbers for its handshake and its masks.
struct WebSocket: ~Copyable {
  var reader = WebSocketReader()
  var keys = MaskingKeys()
  private var hasClosed = false
  /// The room may be larger, for a long request.
  private let largestFrame: Int

  init(largestFrame: Int, takesText: Bool) {
    self.largestFrame = largestFrame
    reader.takesText = takesText
  }

  mutating func reset() {
    let takesText = reader.takesText
    reader = WebSocketReader()
    reader.takesText = takesText
  }

  /// The next connection begins.
  @inline(never)
  @_optimize(size)
  mutating func begin() -> WebSocketHandshake {
    reset()
    hasClosed = false
    var nonce = InlineArray<16, UInt8>(repeating: 0)
    for word in 0..<4 {
      let key = keys.next()?.value ?? 0
      for byte in 0..<4 { nonce[4 &* word &+ byte] = UInt8(truncatingIfNeeded: key >> (8 &* UInt32(byte))) }
    }
    return WebSocketHandshake(nonce: nonce)
  }

  /// There may not be enough random numbers for what is written next: a handshake, or two frames.
  var needsKeys: Bool { keys.count < 16 }

  /// Writes a frame with as many bytes as there is room for, and says how many.
  mutating func put(_ bytes: Span<UInt8>, into room: inout MutableSpan<UInt8>) -> (payload: Int, frame: Int) {
    let count = min(bytes.count, WebSocketWriter.largestPayload(in: min(room.count, largestFrame)))
    guard count > 0, let key = keys.next() else { return (0, 0) }
    return (count, WebSocketWriter.frame(.binary, bytes.extracting(first: count), key: key, into: &room))
  }

  /// `isFinishing`: it is the client that closes.
  func owesControlFrame(isFinishing: Bool) -> Bool {
    !hasClosed && (reader.isPongOwed || reader.isOver || isFinishing)
  }

  /// Writes the control frame that is due: the answer to a Ping, or Close.
  @_optimize(size)
  mutating func putControl(into room: inout MutableSpan<UInt8>, isFinishing: Bool) -> Int {
    if reader.isOver || isFinishing {
      guard let key = keys.next() else { return 0 }
      hasClosed = true
      // The answer to Close repeats its code (section 5.5.1).
      let code = reader.violation ?? reader.closeCode ?? WebSocketStatus.normal
      return code == WebSocketStatus.noCode
        ? WebSocketWriter.frame(.close, Span(), key: key, into: &room)
        : WebSocketWriter.close(code: code, reason: Span(), key: key, into: &room)
    }
    guard let key = keys.next() else { return 0 }
    let size = WebSocketWriter.frame(.pong, reader.pongPayload, key: key, into: &room)
    reader.answeredPing()
    return size
  }
}
