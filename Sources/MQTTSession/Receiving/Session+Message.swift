import MQTTWire
import Storage

/// Messages from the server (§3.3).
extension Session {
  /// Where the application finds the topic.
  enum Topic: BitwiseCopyable {
    case inPacket
    case alias(UInt16)
    case unknown  // an alias whose topic did not fit
  }

  /// What to do with a message of QoS 1 or 2.
  enum Admission: BitwiseCopyable {
    case handOut
    case drop  // there is no event
    case wait  // nothing behind it is read, or the connection is over
  }

  mutating func admit(_ identifier: PacketIdentifier, _ qos: QoS, duplicate: Bool) -> Admission {
    switch state.inbox.received(identifier, qos: qos, duplicate: duplicate, isStrict: version.hasProperties) {
    case .deliver: return .handOut
    case .duplicate:
      counters.messagesDuplicate.increment()
      return .drop
    case .repeatPubrec:
      counters.messagesDuplicate.increment()
      _ = control.append(Acknowledgement(type: .pubrec, identifier: identifier))
      return .drop
    case .postpone:
      counters.messagesPostponed.increment()
      return .drop
    case .wait:
      arrival.blockage = .inboxFull
      return .wait
    case .tooMany:
      violate(.receiveMaximum)
      return .wait
    }
  }

  // MARK: A whole message

  /// The result of parsing a message at the front of the buffer.
  enum Reception: BitwiseCopyable {
    case pending
    case finished  // there is no event
    case waits  // nothing behind it is read, or the connection is over
    case notPlain
  }

  /// Does the same, out of line, where the slow path follows.
  @inline(never)
  mutating func parsePlainMessageOutOfLine() -> Reception { parsePlainMessage() }

  /// Makes an event of the message at the front, if it is whole and plain. There must be no other event.
  @inline(always)
  mutating func parsePlainMessage() -> Reception {
    guard Feature.hasFastPaths, connection.isUp, !arrival.hasLarge,
      let found = receiver.plainMessage(hasProperties: version.hasProperties),
      found.packetSize <= identity.maximumPacketSize
    else { return .notPlain }
    guard found.qos == .atMostOnce else { return parseAcknowledgedMessage(found) }
    makePending(found, token: 0)
    return .pending
  }

  /// Does the same for QoS 1 and 2.
  @inline(never)
  private mutating func parseAcknowledgedMessage(_ found: ReceiveBuffer.PlainPacket) -> Reception {
    guard let identifier = receiver.identifier(of: found), control.hasRoom || connection.phase == .peerClosed
    else {
      return .notPlain
    }
    switch admit(identifier, found.qos, duplicate: false) {
    case .handOut:
      makePending(found, token: state.inbox.add(identifier, qos: found.qos))
      return .pending
    case .drop:
      finish(found.packetSize)
      return .finished
    case .wait: return .waits
    }
  }

  @inline(__always)
  private mutating func makePending(_ found: ReceiveBuffer.PlainPacket, token: UInt32) {
    assert(receiver.agreesWithReceivedPublish(found, version))
    counters.messagesReceived.increment()
    counters.packetsReceived.increment()
    arrival.event.set(
      plain: found.topic, found.payload, found.qos, retain: found.retain, token: token,
      packetSize: found.packetSize)
  }

  /// Handles a PUBLISH. Returns false if it has to wait.
  mutating func receivePublish(_ header: FixedHeader) throws(Malformed) -> Bool {
    guard connection.isUp else {
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
      case .handOut: token = state.inbox.addOutOfLine(identifier, qos: publish.qos)
      case .drop:
        finish(header.packetSize)
        return true
      case .wait: return false
      }
    }
    var event = event(publish, topic, at: offset)
    event.token = token
    event.responseCookie = matchResponse(publish.correlationData?.shifted(by: offset), event)
    counters.messagesReceived.increment()
    makePending(.message(event), header)
    return true
  }

  /// Removes the packet at the front.
  mutating func finish(_ packetSize: Int) {
    counters.packetsReceived.increment()
    receiver.consume(packetSize)
  }

  func event(_ publish: ReceivedPublish, _ topic: Topic, at offset: Int) -> MessageEvent {
    var topicRange = publish.topic.shifted(by: offset)
    var isAliased = false
    if case .alias(let alias) = topic {
      topicRange = receivedAliases.topic(Int(alias))
      isAliased = true
    }
    var isUnknown = false
    if case .unknown = topic { isUnknown = true }
    return MessageEvent(
      topic: topicRange, payload: publish.payload.shifted(by: offset),
      properties: publish.properties.shifted(by: offset), payloadOffset: 0,
      payloadSize: publish.payload.count,
      subscriptionIdentifier: publish.subscriptionIdentifier, token: 0, responseCookie: nil,
      isTopicAliased: isAliased, isLast: true, isOversize: isUnknown, qos: publish.qos,
      retain: publish.retain, duplicate: publish.duplicate)
  }

  /// Returns what a Topic Alias stands for (§3.3.2.3.4), or `nil` if for nothing; then the connection is
  /// being closed.
  mutating func resolve(_ publish: ReceivedPublish, at offset: Int) -> Topic? {
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

  mutating func matchResponse(_ correlation: ByteRange?, _ event: MessageEvent) -> UInt64? {
    guard state.responses.waiting > 0, let correlation else { return nil }
    state.outbox.locateRequests(&state.responses)
    let request = Self.match(
      &state.responses, correlation, in: receiver, topic: event.topic, of: receivedAliases,
      isAliased: event.isTopicAliased)
    guard let request else { return nil }
    updateOverdue()
    state.outbox.dismiss(request, isTimeUp: false, quota: &connection.quota)
    return request.cookie
  }

  private static func match(
    _ responses: inout PendingResponses, _ correlation: ByteRange, in receiver: borrowing ReceiveBuffer,
    topic: ByteRange, of aliases: borrowing ReceivedAliases, isAliased: Bool
  ) -> PendingResponses.Ended? {
    responses.match(
      receiver.bytes.extracting(correlation.range),
      topic: isAliased
        ? aliases.bytes.extracting(topic.range) : receiver.bytes.extracting(topic.range))
  }
}
