import MQTTWire
public import Storage

/// Messages that were handed out in one call, before the last one, and are released with it. Their bytes are
/// still in the receive buffer, in front of what is unread.
struct MessageBatch: BitwiseCopyable {
  /// The tokens of those that are acknowledged when they are released; 0: none is.
  private(set) var firstToken: UInt32 = 0
  private(set) var lastToken: UInt32 = 0

  var isEmpty: Bool {
    @inline(__always) get { lastToken == 0 }
  }

  @inline(__always)
  mutating func append(_ token: UInt32) {
    if lastToken == 0 { firstToken = token }
    lastToken = token
  }
}

extension Session {
  /// Takes one more plain message without releasing the one that was handed out last, if that was a plain
  /// one and the next packet is another. Their bytes stay in place until `releaseEvent`, because nothing is
  /// received before, and nothing moves; and none is acknowledged before.
  @inline(__always)
  public mutating func takeAnotherPlainMessage() -> PlainMessage? {
    guard Feature.hasFastPaths, arrival.event.mayBeFollowed else { return nil }
    receiver.consume(arrival.event.bytes.count)
    let token = arrival.event.isHeld ? 0 : arrival.event.token
    // What is left of the event if none follows has no bytes. Nothing is parsed before it is released.
    arrival.event.forgetBytes()
    guard findPlainMessage() else { return nil }
    if token != 0 { arrival.batch.append(token) }
    return takePlainMessage()
  }

  /// Returns whether the next packet is a plain message that is to be handed out. It passes over those that
  /// are not, each of which takes bytes from the buffer.
  @inline(__always)
  private mutating func findPlainMessage() -> Bool {
    var reception = parsePlainMessage()
    while reception == .finished { reception = parsePlainMessageOutOfLine() }
    return reception == .pending
  }

  /// Accepts the messages of the batch, in the order in which they came. Tokens between theirs, if any, are
  /// of repeated PUBRECs, which are accepted already.
  @inline(never)
  mutating func acceptBatch() {
    let last = arrival.batch.lastToken
    var token = arrival.batch.firstToken
    arrival.batch = MessageBatch()
    while token != last {
      accept(token)
      token = Inbox.token(after: token)
    }
    accept(last)
  }
}
