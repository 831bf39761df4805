import MQTTWire
import Storage

/// A PUBLISH from the server that is larger than the receive buffer, while it is being received.
struct LargeMessage: BitwiseCopyable {
  enum Stage: BitwiseCopyable {
    /// The header stays at the front of the buffer; the payload passes behind it.
    case payload
    /// Not even the header fits.
    case header(HeaderScan)
    /// What follows the header.
    case rest
  }

  var stage: Stage
  /// The event, as far as the application gets one.
  var event: MessageEvent
  var identifier: PacketIdentifier?
  /// Bytes at the front of the buffer that stay there.
  let headerSize: Int
  /// Bytes that are still to come.
  var remaining: Int
  /// The payload is delivered in parts; otherwise it is dropped.
  let isDelivered: Bool
  /// There is no event: the message was handed out before, or is left to a later connection.
  var isDropped: Bool
  /// The Correlation Data in the header.
  var correlation: ByteRange? = nil
}

/// A message that is larger than the receive buffer (§3.3) is delivered in parts, or without its payload.
extension Session {
  /// Begins to receive a large message. Returns false if more bytes are needed or it has to wait.
  mutating func beginLarge(_ header: FixedHeader) throws(Malformed) -> Bool {
    let isFull = receiver.unread.count == receiver.capacity
    guard Feature.hasParts else { return isFull ? try beginWithoutHeader(header) : false }
    guard
      let size = ReceivedPublish.variableHeaderSize(
        of: receiver.unread.extracting(header.size...), flags: header.flags, version: version)
    else {
      return isFull ? try beginWithoutHeader(header) : false
    }
    guard size <= header.remainingLength else { throw .truncated }
    let headerSize = header.size &+ size
    // The header stays at the front. If little room were left behind a long topic, each few bytes of
    // payload would take a system call and an event.
    guard receiver.capacity &- headerSize >= receiver.capacity / 4 else {
      return isFull ? try beginWithoutHeader(header) : false
    }
    guard headerSize <= receiver.unread.count else { return false }
    let publish = try ReceivedPublish(
      parsing: receiver.unread.extracting(header.size..<headerSize), flags: header.flags, version: version)
    guard let topic = resolve(publish, at: receiver.position &+ header.size) else { return false }
    var isDropped = false
    if let identifier = publish.identifier {
      switch admit(identifier, publish.qos, duplicate: publish.duplicate) {
      case .handOut: break
      case .drop: isDropped = true
      case .wait: return false
      }
    }
    receiver.compact()
    var event = event(publish, topic, at: header.size)
    event.payloadSize = header.remainingLength &- size
    event.isOversize = event.isOversize || !policy.deliversParts
    arrival.begin(
      LargeMessage(
        stage: .payload, event: event, identifier: publish.identifier,
        headerSize: headerSize, remaining: event.payloadSize, isDelivered: policy.deliversParts && !isDropped,
        isDropped: isDropped, correlation: publish.correlationData?.shifted(by: header.size)))
    return true
  }

  /// Begins with a message whose topic and properties are too large: the application will learn only its
  /// size.
  private mutating func beginWithoutHeader(_ header: FixedHeader) throws(Malformed) -> Bool {
    guard let qos = QoS(rawValue: header.flags >> 1 & 3) else { throw .qos }
    guard qos != .atMostOnce || header.flags & Publish.duplicateFlag == 0 else { throw .duplicateFlag }
    let size = header.size
    let topicSize = 2 &+ (Int(receiver.unread[size]) << 8 | Int(receiver.unread[size &+ 1]))
    guard topicSize <= header.remainingLength else { throw .truncated }
    let event = MessageEvent(
      topic: .empty, payload: .empty, properties: .empty, payloadOffset: 0, payloadSize: 0,
      subscriptionIdentifier: 0, token: 0, responseCookie: nil, isTopicAliased: false,
      isLast: true, isOversize: true, qos: qos, retain: header.flags & Publish.retainFlag != 0,
      duplicate: header.flags & Publish.duplicateFlag != 0)
    arrival.begin(
      LargeMessage(
        stage: .header(HeaderScan(skip: topicSize, hasTopic: topicSize > 2)), event: event, identifier: nil,
        headerSize: 0, remaining: header.remainingLength, isDelivered: false, isDropped: false))
    receiver.consume(size)
    return true
  }

  /// Continues to receive the message. Returns false if more bytes are needed or it has to wait.
  mutating func receiveMore() throws(Malformed) -> Bool {
    guard let message = arrival.large else { return false }
    switch message.stage {
    case .payload:
      guard Feature.hasParts else { return false }
      return receivePayload(message)
    case .header(let scan): return try scanHeader(message, scan)
    case .rest:
      let count = min(receiver.unread.count, message.remaining)
      receiver.consume(count)
      arrival.large?.remaining = message.remaining &- count
      guard message.remaining == count else { return false }
      finishDropped(message)
      return true
    }
  }

  private mutating func receivePayload(_ message: LargeMessage) -> Bool {
    if arrival.isLent { return receiveLentPayload(message) }
    let count = min(receiver.unread.count &- message.headerSize, message.remaining)
    let isLast = count == message.remaining
    guard message.isDelivered else {
      receiver.removeRange(at: message.headerSize, count: count)
      arrival.large?.remaining = message.remaining &- count
      guard isLast else { return false }
      finishDropped(message)
      return true
    }
    guard isLast || !receiver.hasTailSpace else { return false }
    let payload = ByteRange(offset: receiver.position &+ message.headerSize, count: count)
    makePart(message, payload, isLent: false)
    return true
  }

  /// Makes an event of a part, which is in the receive buffer behind the header, or in lent memory.
  @inline(never)
  mutating func makePart(_ message: LargeMessage, _ payload: ByteRange, isLent: Bool) {
    let buffered = isLent ? 0 : payload.count
    var event = message.event
    event.payload = payload
    event.isLent = isLent
    event.payloadOffset = event.payloadSize &- message.remaining
    event.isLast = payload.count == message.remaining
    if event.isLast {
      if let identifier = message.identifier {
        event.token = state.inbox.addOutOfLine(identifier, qos: event.qos)
      }
      event.responseCookie = matchResponse(message.correlation, event)
      arrival.endLarge()
      counters.messagesReceived.increment()
      counters.packetsReceived.increment()
      arrival.event.set(.message(event), ByteRange(offset: 0, count: message.headerSize &+ buffered))
    } else {
      arrival.large?.remaining = message.remaining &- payload.count
      arrival.event.set(.message(event), ByteRange(offset: message.headerSize, count: buffered))
    }
  }

  /// Ends a message whose payload was dropped. It is acknowledged like any other, or the server would
  /// resend it on every connection.
  private mutating func finishDropped(_ message: LargeMessage) {
    arrival.endLarge()
    counters.packetsReceived.increment()
    guard !message.isDropped else {
      receiver.consume(message.headerSize)
      return
    }
    var event = message.event
    if let identifier = message.identifier {
      event.token = state.inbox.addOutOfLine(identifier, qos: event.qos)
    }
    event.responseCookie = matchResponse(message.correlation, event)
    event.payload = .empty
    counters.messagesReceived.increment()
    counters.messagesOversize.increment()
    arrival.event.set(.message(event), ByteRange(offset: 0, count: message.headerSize))
  }
}
