import Storage
import MQTTWire

/// A PUBLISH from the server that is larger than the receive buffer, on its way through it.
struct IncomingMessage: BitwiseCopyable {
  enum Stage: BitwiseCopyable {
    /// The header stays at the front of the buffer; the payload passes behind it.
    case payload
    /// Not even the header fits.
    case header(HeaderWalk)
    /// Behind that.
    case rest
  }

  var stage: Stage
  /// What the application is told, as far as it is told anything.
  var event: MessageEvent
  let header: FixedHeader
  var identifier: PacketIdentifier?
  /// Bytes at the front of the buffer that stay there.
  let headerSize: Int
  /// Bytes that are still to come.
  var remaining: Int
  /// In parts; else the payload is dropped.
  let isDelivered: Bool
  /// Nothing is told: it was handed out before, or is left to a later connection.
  var isDropped: Bool
  /// The Correlation Data in the header.
  var correlation: ByteRange? = nil
}

/// Messages from the server (§3.3).
extension Session {
  /// Topic Name or Topic Alias, as the application gets it.
  private enum Topic: BitwiseCopyable {
    case inPacket
    case alias(UInt16)
    case unknown  // an alias whose topic did not fit
  }

  /// What is done with a message of QoS 1 or 2.
  enum Admission: BitwiseCopyable {
    case handOut
    case drop  // nothing is told
    case wait  // nothing behind it is read, or the connection is over
  }

  mutating func admit(_ identifier: PacketIdentifier, _ qos: QoS, duplicate: Bool) -> Admission {
    switch inbox.received(identifier, qos: qos, duplicate: duplicate, isStrict: version.hasProperties) {
    case .deliver: return .handOut
    case .duplicate:
      counters.messagesDuplicate.increment()
      return .drop
    case .answerAgain:
      counters.messagesDuplicate.increment()
      _ = control.append(Acknowledgement(type: .pubrec, identifier: identifier))
      return .drop
    case .postpone:
      counters.messagesPostponed.increment()
      return .drop
    case .wait:
      isStalled = true
      return .wait
    case .tooMany:
      violate(.receiveMaximum)
      return .wait
    }
  }

  // MARK: A whole message

  /// False: it has to wait.
  mutating func receivePublish(_ header: FixedHeader) throws(Malformed) -> Bool {
    guard phase == .connected else {
      violate(.unexpectedPacket)
      return false
    }
    let publish = try ReceivedPublish(
      parsing: receiver.body(of: header), flags: header.flags, version: version)
    let offset = receiver.position &+ header.size
    guard let topic = resolve(publish, at: offset) else { return false }
    var token: UInt32 = 0
    if let identifier = publish.identifier {
      switch admit(identifier, publish.qos, duplicate: publish.duplicate) {
      case .handOut: token = inbox.add(identifier, qos: publish.qos)
      case .drop:
        counters.packetsReceived.increment()
        receiver.consume(header.packetSize)
        return true
      case .wait: return false
      }
    }
    var event = event(publish, topic, at: offset)
    event.token = token
    event.replyCookie = matchResponse(publish.correlationData?.shifted(by: offset), event)
    counters.messagesReceived.increment()
    show(.message(event), header)
    return true
  }

  private func event(_ publish: ReceivedPublish, _ topic: Topic, at offset: Int) -> MessageEvent {
    var place = publish.topic.shifted(by: offset)
    var isAliased = false
    if case .alias(let alias) = topic {
      place = receivedAliases.topic(Int(alias))
      isAliased = true
    }
    var isUnknown = false
    if case .unknown = topic { isUnknown = true }
    return MessageEvent(
      topic: place, payload: publish.payload.shifted(by: offset),
      properties: publish.properties.shifted(by: offset), payloadOffset: 0,
      payloadSize: publish.payload.count,
      subscriptionIdentifier: publish.subscriptionIdentifier, token: 0, replyCookie: nil,
      isTopicAliased: isAliased, isFirst: true, isLast: true, isOversize: isUnknown, qos: publish.qos,
      retain: publish.retain, duplicate: publish.duplicate)
  }

  /// What a Topic Alias stands for (§3.3.2.3.4). `nil`: for nothing; the connection is over.
  private mutating func resolve(_ publish: ReceivedPublish, at offset: Int) -> Topic? {
    guard publish.topicAlias != 0 else { return .inPacket }
    let alias = Int(publish.topicAlias)
    guard alias <= receivedAliases.maximum else {
      violate(.topicAlias)
      return nil
    }
    guard publish.topic.isEmpty else {
      Self.set(&receivedAliases, alias, to: publish.topic.shifted(by: offset), in: receiver)
      return .inPacket
    }
    switch receivedAliases.state(alias) {
    case .known: return .alias(publish.topicAlias)
    case .tooLong: return .unknown
    case .unknown:
      violate(.unknownTopicAlias)
      return nil
    }
  }

  // Static, because the compiler takes a span of one part of `self` for a hold on all of it.
  private static func set(
    _ aliases: inout ReceivedAliases, _ alias: Int, to topic: ByteRange, in receiver: borrowing ReceiveBuffer
  ) {
    aliases.set(alias, to: receiver.bytes.extracting(topic.range))
  }

  private mutating func matchResponse(_ correlation: ByteRange?, _ event: MessageEvent) -> UInt64? {
    guard replies.waiting > 0, let correlation else { return nil }
    let request = Self.take(
      &replies, correlation, in: receiver, topic: event.topic, of: receivedAliases,
      isAliased: event.isTopicAliased)
    guard let request else { return nil }
    settleReplyCheck()
    outbox.dismiss(request, isTimeUp: false, quota: &quota)
    return request.cookie
  }

  private static func take(
    _ replies: inout PendingResponses, _ correlation: ByteRange, in receiver: borrowing ReceiveBuffer,
    topic: ByteRange, of aliases: borrowing ReceivedAliases, isAliased: Bool
  ) -> PendingResponses.Ended? {
    replies.take(
      receiver.bytes.extracting(correlation.range),
      topic: isAliased
        ? aliases.bytes.extracting(topic.range) : receiver.bytes.extracting(topic.range))
  }

  // MARK: A message larger than the buffer

  private mutating func begin(_ message: IncomingMessage) {
    incoming = message
    updateFastPath()
  }

  mutating func endIncoming() {
    incoming = nil
    updateFastPath()
  }

  /// False: more bytes are needed, or it has to wait.
  mutating func beginLarge(_ header: FixedHeader) throws(Malformed) -> Bool {
    let isFull = receiver.unread.count == receiver.capacity
    guard
      let size = ReceivedPublish.variableHeaderSize(
        of: receiver.unread.extracting(header.size...), flags: header.flags, version: version)
    else {
      return isFull ? try beginWithoutHeader(header) : false
    }
    guard size <= header.remainingLength else { throw .truncated }
    let headerSize = header.size &+ size
    // The header stays at the front. A payload that had to pass through the few bytes behind a long topic would take a
    // system call, and an event, for each of them.
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
    event.isOversize = event.isOversize || !deliversParts
    begin(
      IncomingMessage(
        stage: .payload, event: event, header: header, identifier: publish.identifier,
        headerSize: headerSize, remaining: event.payloadSize, isDelivered: deliversParts && !isDropped,
        isDropped: isDropped, correlation: publish.correlationData?.shifted(by: header.size)))
    return true
  }

  /// Topic and properties are too large: of the message only its size will be known.
  private mutating func beginWithoutHeader(_ header: FixedHeader) throws(Malformed) -> Bool {
    guard let qos = QoS(rawValue: header.flags >> 1 & 3) else { throw .qos }
    guard qos != .atMostOnce || header.flags & Publish.duplicateFlag == 0 else { throw .duplicateFlag }
    let size = header.size
    let topicSize = 2 &+ (Int(receiver.unread[size]) << 8 | Int(receiver.unread[size &+ 1]))
    guard topicSize <= header.remainingLength else { throw .truncated }
    let event = MessageEvent(
      topic: .empty, payload: .empty, properties: .empty, payloadOffset: 0, payloadSize: 0,
      subscriptionIdentifier: 0, token: 0, replyCookie: nil, isTopicAliased: false, isFirst: true,
      isLast: true, isOversize: true, qos: qos, retain: header.flags & Publish.retainFlag != 0,
      duplicate: header.flags & Publish.duplicateFlag != 0)
    begin(
      IncomingMessage(
        stage: .header(HeaderWalk(skip: topicSize, hasTopic: topicSize > 2)), event: event, header: header,
        identifier: nil,
        headerSize: 0, remaining: header.remainingLength, isDelivered: false, isDropped: false))
    receiver.consume(size)
    return true
  }

  /// Goes on with the message that is on its way. False: more bytes are needed, or it has to wait.
  mutating func receiveMore() throws(Malformed) -> Bool {
    guard let message = incoming else { return false }
    switch message.stage {
    case .payload: return receivePayload(message)
    case .header(let walk): return try walkHeader(message, walk)
    case .rest:
      let count = min(receiver.unread.count, message.remaining)
      receiver.consume(count)
      incoming?.remaining = message.remaining &- count
      guard message.remaining == count else { return false }
      finishDropped(message)
      return true
    }
  }

  private mutating func receivePayload(_ message: IncomingMessage) -> Bool {
    let count = min(receiver.unread.count &- message.headerSize, message.remaining)
    let isLast = count == message.remaining
    guard message.isDelivered else {
      receiver.removeRange(at: message.headerSize, count: count)
      incoming?.remaining = message.remaining &- count
      guard isLast else { return false }
      finishDropped(message)
      return true
    }
    guard isLast || !receiver.hasTailSpace else { return false }
    var event = message.event
    event.payload = ByteRange(offset: receiver.position &+ message.headerSize, count: count)
    event.payloadOffset = event.payloadSize &- message.remaining
    event.isFirst = event.payloadOffset == 0
    event.isLast = isLast
    if isLast {
      if let identifier = message.identifier { event.token = inbox.add(identifier, qos: event.qos) }
      event.replyCookie = matchResponse(message.correlation, event)
      endIncoming()
      counters.messagesReceived.increment()
      show(.message(event), message.header)
      viewRelease = .consume(message.headerSize &+ count)
    } else {
      incoming?.remaining = message.remaining &- count
      view = .message(event)
      viewRelease = .cut(at: message.headerSize, count: count)
    }
    return true
  }

  /// The end of a message whose payload nobody gets. It is acknowledged like any other: else the server would
  /// send it again on every connection.
  private mutating func finishDropped(_ message: IncomingMessage) {
    endIncoming()
    counters.packetsReceived.increment()
    guard !message.isDropped else {
      receiver.consume(message.headerSize)
      return
    }
    var event = message.event
    if let identifier = message.identifier { event.token = inbox.add(identifier, qos: event.qos) }
    event.replyCookie = matchResponse(message.correlation, event)
    event.payload = .empty
    counters.messagesReceived.increment()
    counters.messagesOversize.increment()
    view = .message(event)
    viewRelease = .consume(message.headerSize)
  }
}
