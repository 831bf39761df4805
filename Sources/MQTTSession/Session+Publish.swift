public import Storage
public import MQTTWire

/// What the application wants: messages to be published, and their end.
extension Session {
  /// Takes a message into the outbox, or changes nothing.
  @inline(never)
  public mutating func publish(
    _ message: borrowing Publish, _ handling: PublishOptions
  ) throws(SessionError) {
    if message.isPlain, !handling.needsCare,
      publishPlain(
        topic: message.topic, payload: message.payload,
        MessageFlags(qos: message.qos, retain: message.retain, isQuiet: handling.isQuiet),
        cookie: handling.cookie)
    {
      return
    }
    guard !isLeaving else { throw .leaving }
    guard outbox.reservation == nil else { throw .state }
    guard !needsConnection || message.qos != .atMostOnce || phase == .connected else { throw .offline }
    try Self.validate(message.topic)
    try outbox.append(message, handling, version: acceptedVersion, limits: limits)
    counters.messagesPublished.increment()
  }

  /// Publishes a message with properties, an expiry, a wish of its own or in another way than whole. False: it was
  /// dropped at once, as it asked for.
  @inline(never)
  @discardableResult
  public mutating func publish(
    _ message: borrowing Publish, _ handling: PublishOptions, at now: Instant
  ) throws(SessionError) -> Bool {
    guard !isLeaving else { throw .leaving }
    guard outbox.reservation == nil else { throw .state }
    guard !needsConnection || message.qos != .atMostOnce || phase == .connected else { throw .offline }
    // In the drop-in a Topic Alias may stand for it, and the program knows which.
    if !DropIn.isOn || message.topic.count > 0 { try Self.validate(message.topic) }
    let expiry = try Self.validate(
      properties: message.properties, hasExpiry: handling.expiry != 0, own: message.own,
      version: acceptedVersion)
    if handling.isUrgent {
      guard handling.kind == .whole, handling.replyTag == nil else { throw .option }
      guard !urgent.isEmpty else { throw .notSupported }
    }
    // It has to be one that can be replaced itself, or the order would suffer.
    if handling.overflow == .latest {
      guard handling.kind == .whole, handling.replyTag == nil else { throw .option }
    }
    if handling.kind == .stream {
      guard streamBuffer.count > 0 else { throw .notSupported }
      guard outbox.stream == nil else { throw .full }
    }
    var handling = handling
    if let expiry {
      handling.expiry = expiry.seconds
      handling.expiryInProperties = expiry.offset
    }
    if handling.expiry != 0 || expiry != nil {
      if isNothingExpiring { clock.restart(at: now) } else { clock.advance(to: now) }
      handling.expiresAt = clock.second(after: handling.expiry, from: now)
    }
    advance(to: now)
    guard try admit(message, handling) else { return false }
    // What is reserved may yet be aborted.
    if handling.kind != .reserved { counters.messagesPublished.increment() }
    return true
  }

  var isNothingExpiring: Bool { earliestExpiry == nil }

  private mutating func admit(
    _ message: borrowing Publish, _ handling: PublishOptions
  ) throws(SessionError) -> Bool {
    var message = copy message
    if handling.expiry != 0, handling.expiryInProperties == nil {
      message.own.messageExpiryInterval = handling.expiry
    }
    if handling.isUrgent {
      return try urgent.element.admit(
        message, handling, version: acceptedVersion, limits: limits, quota: &quota)
    }
    return try outbox.admit(message, handling, version: acceptedVersion, limits: limits, quota: &quota)
  }

  @inline(__always)
  static func validate(_ topic: Span<UInt8>) throws(SessionError) {
    do throws(TopicName.Fault) {
      try TopicName.validate(topic)
    } catch {
      if case .utf8 = error { throw .utf8 }
      throw .topicName
    }
  }

  /// The list must be one a PUBLISH may have, and not say what the library says itself. Returns its Message Expiry
  /// Interval, and where in the list that stands.
  static func validate(
    properties: Span<UInt8>, hasExpiry: Bool, own: borrowing Publish.OwnProperties, version: ProtocolVersion
  ) throws(SessionError) -> (seconds: UInt32, offset: Int)? {
    guard properties.count > 0 else { return nil }
    guard version.hasProperties else { throw .option }
    let hasReply = own.responseTopic.count > 0
    let hasCorrelation = own.hasCorrelationData
    var expiry: (seconds: UInt32, offset: Int)? = nil
    var reader = PropertyReader(properties, place: .packet(.publish, from: .client))
    do throws(Malformed) {
      while let property = try reader.next() {
        switch property.identifier {
        case .topicAlias: guard DropIn.isOn else { throw .propertyNotAllowed }
        case .messageExpiryInterval:
          if DropIn.isOn { break }  // it goes as it is
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

  // MARK: Reserve, commit, abort

  public var hasReservation: Bool { outbox.reservation != nil }

  /// Where the payload goes of the message that was published with `PublishOptions.Kind.reserved`.
  public var reservedPayload: MutableSpan<UInt8> {
    @_lifetime(&self)
    mutating get {
      guard let reservation = outbox.reservation else { return MutableSpan() }
      return outbox.reservedPayload(reservation)
    }
  }

  public mutating func commit(payloadSize: Int) throws(SessionError) {
    guard let reservation = outbox.reservation else { throw .state }
    guard payloadSize >= 0, payloadSize <= reservation.payloadSize else { throw .option }
    outbox.commit(reservation, payloadSize: payloadSize, limits: limits)
    // The connection that it was for is gone.
    if needsConnection, phase != .connected { outbox.dropAtMostOnce() }
    counters.messagesPublished.increment()
  }

  public mutating func abort() throws(SessionError) {
    guard let reservation = outbox.reservation else { throw .state }
    outbox.abort(reservation)
  }

  // MARK: The payload of a stream

  /// Where the next bytes of the payload that is being sent begin in it; `nil`: none are needed now.
  public var pullOffset: Int? {
    guard mayStream, outbox.isInsideStream, let stream = outbox.stream else { return nil }
    guard streamStart == streamEnd, stream.sent < stream.payloadSize else { return nil }
    return stream.sent
  }

  /// Also at the end, if there is something to say behind it.
  var mayStream: Bool { (phase == .connected || (phase == .ending && !control.isEmpty)) && !isPeerGone }

  /// Where they go.
  public var pullSpace: MutableSpan<UInt8> {
    @_lifetime(&self)
    mutating get {
      let left = outbox.stream.map { $0.payloadSize &- $0.sent } ?? 0
      return streamBuffer.mutableBytes(in: 0..<min(left, streamBuffer.count))
    }
  }

  public mutating func pulled(_ count: Int) {
    precondition(count >= 0 && count <= streamBuffer.count)
    streamStart = 0
    streamEnd = count
  }

  /// There will be no more: the packet that was begun cannot be ended.
  public mutating func pullFailed() {
    if let stream = outbox.stream { outbox.complete(stream.slot, .aborted) }
    end(CloseReason(cause: .stream), saying: nil)
  }

  // MARK: Leaving

  /// Whether DISCONNECT could say so; changes nothing.
  public func checkDisconnect(reasonCode: UInt8, properties: Span<UInt8>) throws(SessionError) {
    guard Disconnect.isAllowedFromClient(reasonCode, version) else { throw .reasonCode }
    if properties.count > 0 {
      guard version.hasProperties else { throw .property }
      try validateDisconnect(properties)
      let size = FixedHeader.packetSize(Disconnect.remainingLength(properties: properties))
      guard properties.count <= farewell.count, size <= control.capacity else { throw .tooLarge }
    }
  }

  /// No more messages: the application wants to leave when all is drained, and DISCONNECT is to say what
  /// `checkDisconnect` allowed.
  public mutating func beginDisconnect(reasonCode: UInt8, properties: Span<UInt8>) {
    guard !isLeaving else { return }
    isLeaving = true
    farewellReason = reasonCode
    farewellSize = properties.count
    farewellExpiry = Self.sessionExpiry(in: properties)
    guard properties.count > 0 else { return }
    var place = farewell.mutableBytes(in: 0..<properties.count)
    copy(properties, into: &place)
  }

  /// Where the Session Expiry Interval is in a list.
  private static func sessionExpiry(in properties: Span<UInt8>) -> Range<Int> {
    var reader = PropertyReader(properties, place: .packet(.disconnect, from: .client))
    var start = 0
    while let property = try? reader.next() {
      if property.identifier == .sessionExpiryInterval { return start..<reader.position }
      start = reader.position
    }
    return 0..<0
  }

  private func validateDisconnect(_ properties: Span<UInt8>) throws(SessionError) {
    var reader = PropertyReader(properties, place: .packet(.disconnect, from: .client))
    do throws(Malformed) {
      while let property = try reader.next() {
        // A session that was to end with the connection cannot be kept now (§3.14.2.2.2).
        if property.identifier == .sessionExpiryInterval, property.number != 0, ownSessionExpiry == 0 {
          throw .propertyValue
        }
      }
    } catch {
      throw .property
    }
  }

  /// DISCONNECT is the last packet [MQTT-3.14.4-1]; `closeReason` tells when the transport may go. False: there is no
  /// room for it yet.
  public mutating func disconnect() -> Bool {
    guard phase != .disconnected else { return true }
    guard canSendDisconnect, !isPeerGone else {
      end(CloseReason(cause: .requested), saying: nil)
      return true
    }
    guard queueDisconnect() else { return false }
    closeReason = CloseReason(cause: .requested)
    phase = .ending
    return true
  }

  /// CONNECT is out as a whole: from then on the server would publish the Will [MQTT-3.1.2-8]. Nobody has to wait for
  /// CONNACK (§3.1.4).
  public var canSendDisconnect: Bool { phase == .connected || phase == .awaitingConnack }

  private mutating func queueDisconnect() -> Bool {
    let packet = Disconnect(rawReasonCode: farewellReason)
    // Texts that would make it too large stay out [MQTT-3.14.2-3] [MQTT-3.14.2-4].
    if let range = fitting(0..<farewellSize) ?? fitting(farewellExpiry) {
      return Self.append(packet, to: &control, properties: farewell, range)
    }
    // Without its Reason Code it would discard the Will: if there is no byte for that, it stays out too.
    let isSayable = packet.encodedSize(version) <= limits.maximumPacketSize
    return !isSayable || control.append(packet, version: version)
  }

  private func fitting(_ range: Range<Int>) -> Range<Int>? {
    let size = FixedHeader.packetSize(Disconnect.remainingLengthWithProperties(range.count))
    return range.isEmpty || size > limits.maximumPacketSize ? nil : range
  }

  // Static, because the compiler takes a span of one part of `self` for a hold on all of it.
  private static func append(
    _ packet: Disconnect, to control: inout ControlQueue, properties: borrowing Region, _ range: Range<Int>
  ) -> Bool {
    control.append(packet, properties: properties.bytes.extracting(range))
  }
}
