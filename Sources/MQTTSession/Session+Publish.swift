public import MQTTWire
public import Storage

/// What the application wants: to publish messages.
extension Session {
  /// Adds a message that consists of a topic and a payload alone to the outbox, or changes nothing.
  ///
  /// It is inlined into `smq_publish`: what is known of such a message folds away there.
  @inline(__always)
  public mutating func publish(
    topic: Span<UInt8>, payload: Span<UInt8>, _ flags: MessageFlags, cookie: UInt64
  ) throws(SessionError) {
    try checkMayPublish(isAcknowledged: flags.isAcknowledged)
    guard TopicName.isValid(topic) else { throw Self.fault(of: topic) }
    if state.outbox.aliases.isInUse {
      try publishUnderAlias(topic: topic, payload: payload, flags, cookie: cookie)
    } else {
      try state.outbox.store(
        Publish(topic: topic, payload: payload, flags),
        PublishOptions(cookie: cookie, isQuiet: false), flags, isPlain: true,
        version: identity.acceptedVersion, limits: connection.limits)
    }
    counters.messagesPublished.increment()
  }

  @inline(never)
  private mutating func publishUnderAlias(
    topic: Span<UInt8>, payload: Span<UInt8>, _ flags: MessageFlags, cookie: UInt64
  ) throws(SessionError) {
    try state.outbox.append(
      Publish(topic: topic, payload: payload, flags),
      PublishOptions(cookie: cookie, isQuiet: flags.contains(.isQuiet)), version: identity.acceptedVersion,
      limits: connection.limits)
  }

  /// Does the same for a message with properties, an expiry, an overflow policy, or a payload that is
  /// written or read later. Returns false if it was dropped at once, according to its overflow policy. The
  /// message is consumed: adding its expiry to one that is borrowed would take another copy.
  @inline(never)
  @discardableResult
  public mutating func publish(
    _ message: consuming Publish, _ options: PublishOptions, at now: Instant
  ) throws(SessionError) -> Bool {
    try checkMayPublish(isAcknowledged: message.qos != .atMostOnce)
    // In the drop-in a Topic Alias may stand for the topic, and the program has established it.
    if !DropIn.isOn || message.topic.count > 0 { try Self.validate(message.topic) }
    let expiry = try Self.validate(
      properties: message.properties, hasExpiry: options.expiry != 0, own: message.own,
      version: identity.acceptedVersion)
    guard Feature.hasExpiry || expiry == nil else { throw .notSupported }
    if options.isUrgent {
      guard options.kind == .whole, options.responseTag == nil else { throw .option }
      guard state.hasUrgent else { throw .notSupported }
    }
    // Without a record of the message, its Packet Identifier could mean another one after a crash.
    if isJournaled, message.qos == .exactlyOnce {
      guard !options.isOutside, options.responseTag == nil, message.topic.count > 0 else {
        throw .notSupported
      }
    }
    // The message must be one that can be replaced itself, or the order would suffer.
    if options.overflow == .latest {
      guard options.kind == .whole, options.responseTag == nil else { throw .option }
    }
    if options.isStream {
      guard streamBuffer.count > 0 else { throw .notSupported }
      guard state.outbox.stream == nil else { throw .full }
    }
    var options = options
    if let expiry {
      options.expiry = expiry.seconds
      options.expiryInProperties = expiry.offset
    }
    if Feature.hasExpiry, options.expiry != 0 || expiry != nil { setExpiry(&options, at: now) }
    advance(to: now)
    if Feature.hasExpiry, options.expiry != 0, options.expiryInProperties == nil {
      message.own.messageExpiryInterval = options.expiry
    }
    guard try admit(message, options) else { return false }
    // A reserved message is counted when it is committed.
    if !options.isReserved { counters.messagesPublished.increment() }
    return true
  }

  /// Throws if no messages are accepted now.
  @inline(__always)
  private func checkMayPublish(isAcknowledged: Bool) throws(SessionError) {
    guard !isLeaving else { throw .leaving }
    guard !hasReservation else { throw .state }
    guard !policy.needsConnection || isAcknowledged || connection.isUp else { throw .offline }
  }

  /// Computes when a message expires, in seconds of the session's clock.
  mutating func setExpiry(_ options: inout PublishOptions, at now: Instant) {
    if state.earliestExpiry == nil { state.expiry.restart(at: now) } else { state.expiry.advance(to: now) }
    options.expiresAt = state.expiry.second(after: options.expiry, from: now)
  }

  private mutating func admit(
    _ message: borrowing Publish, _ options: PublishOptions
  ) throws(SessionError) -> Bool {
    if options.isUrgent {
      return try state.urgent.element.admit(
        message, options, version: identity.acceptedVersion, limits: connection.limits,
        quota: &connection.quota)
    }
    return try state.outbox.admit(
      message, options, version: identity.acceptedVersion, limits: connection.limits,
      quota: &connection.quota)
  }

  static func validate(_ topic: Span<UInt8>) throws(SessionError) {
    guard TopicName.isValid(topic) else { throw fault(of: topic) }
  }

  /// Returns what is wrong with a topic.
  @inline(never)
  private static func fault(of topic: Span<UInt8>) -> SessionError {
    do throws(TopicName.Fault) {
      try TopicName.validate(topic)
    } catch {
      if case .utf8 = error { return .utf8 }
    }
    return .topicName
  }

  /// Checks that a PUBLISH may have the list, and that the list has no property that the library sets
  /// itself. Returns its Message Expiry Interval, and the offset of that value in the list.
  static func validate(
    properties: Span<UInt8>, hasExpiry: Bool, own: borrowing Publish.OwnProperties, version: ProtocolVersion
  ) throws(SessionError) -> (seconds: UInt32, offset: Int)? {
    guard properties.count > 0 else { return nil }
    guard version.hasProperties else { throw .option }
    let hasReply = own.responseTopic.count > 0
    let hasCorrelation = own.hasCorrelationData
    var expiry: (seconds: UInt32, offset: Int)? = nil
    var reader = PropertyReader(properties, in: .packet(.publish, from: .client))
    do throws(Malformed) {
      while let property = try reader.next() {
        switch property.identifier {
        case .topicAlias: guard DropIn.isOn else { throw .propertyNotAllowed }
        case .messageExpiryInterval:
          if DropIn.isOn { break }  // it is sent as it is
          if hasExpiry { throw .propertyRepeated }
          expiry = (property.number, reader.position &- 4)  // a Four Byte Integer (§3.3.2.3.3)
        case .correlationData: if hasCorrelation { throw .propertyRepeated }
        case .responseTopic:
          if hasReply { throw .propertyRepeated }
          // [MQTT-3.3.2-13], [MQTT-3.3.2-14]
          guard (try? TopicName.validate(properties.extracting(property.text.range))) != nil else {
            throw .topicName
          }
        default: break
        }
      }
      return expiry
    } catch {
      throw .property
    }
  }

  // MARK: The payload stays where it is

  /// Adds a message whose payload is not copied: `payload` belongs to it until its completion is reported,
  /// so it always is. Returns false if it was dropped at once, according to its overflow policy.
  @inline(never)
  public mutating func publishReference(
    _ message: consuming Publish, _ options: PublishOptions, _ payload: LentBytes, at now: Instant
  ) throws(SessionError) -> Bool {
    guard state.outbox.references.capacity > 0 else { throw .notSupported }
    guard !options.isQuiet else { throw .option }
    guard let index = state.outbox.lend(payload) else { throw .full }
    var options = options
    options.kind = .reference
    options.reference = index
    var isAdded = false
    // An error leaves nothing behind, a message that was dropped neither.
    defer { if !isAdded { state.outbox.references.remove(Int(index)) } }
    isAdded = try publish(message, options, at: now)
    return isAdded
  }

  // MARK: Reserve, commit, abort

  public var hasReservation: Bool { Feature.hasReserve && state.outbox.reservation != nil }

  /// The space for the payload of the message that was published with `PublishOptions.Kind.reserved`.
  public var reservedPayload: MutableSpan<UInt8> {
    @_lifetime(&self)
    mutating get {
      guard let reservation = state.outbox.reservation else { return MutableSpan() }
      return state.outbox.reservedPayload(reservation)
    }
  }

  public mutating func commit(payloadSize: Int) throws(SessionError) {
    guard let reservation = state.outbox.reservation else { throw .state }
    guard payloadSize >= 0, payloadSize <= reservation.payloadSize else { throw .option }
    state.outbox.commit(reservation, payloadSize: payloadSize, limits: connection.limits)
    // The connection that it was for was lost. While it closes, a part of a message may have been sent: what
    // is left is dropped when it is closed.
    if policy.needsConnection, !connection.isUp, !connection.isClosing { state.outbox.dropAtMostOnce() }
    counters.messagesPublished.increment()
  }

  public mutating func abort() throws(SessionError) {
    guard let reservation = state.outbox.reservation else { throw .state }
    state.outbox.abort(reservation)
  }

  // MARK: The payload of a stream

  /// The offset of the next bytes of the payload that is being sent; `nil`: none are needed now.
  public var pullOffset: Int? {
    guard mayStream, state.outbox.isInsideStream, let stream = state.outbox.stream else { return nil }
    guard connection.stream.isEmpty, stream.sent < stream.payloadSize else { return nil }
    return stream.sent
  }

  /// Whether the payload of a stream may be sent. While the connection is being closed, it may if a control
  /// packet waits behind it.
  var mayStream: Bool {
    switch connection.phase {
    case .connected: true
    case .closing(after: .connecting), .closing(after: .connected): !control.isEmpty
    default: false
    }
  }

  /// The space for these bytes.
  public var pullSpace: MutableSpan<UInt8> {
    @_lifetime(&self)
    mutating get {
      let left = state.outbox.stream.map { $0.payloadSize &- $0.sent } ?? 0
      return streamBuffer.mutableBytes(in: 0..<min(left, streamBuffer.count))
    }
  }

  public mutating func pulled(_ count: Int) {
    precondition(count >= 0 && count <= streamBuffer.count)
    connection.stream = ByteRange(offset: 0, count: count)
  }

  /// Handles that the application cannot supply the rest of the payload: the packet that was begun cannot
  /// be completed.
  public mutating func pullFailed() {
    if let stream = state.outbox.stream { state.outbox.complete(stream.slot, .aborted) }
    close(CloseReason(cause: .stream), sending: nil)
  }

}
