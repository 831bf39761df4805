public import MQTTWire

/// What the application wants: subscriptions, and requests with replies.
extension Session {
  /// Takes a SUBSCRIBE or UNSUBSCRIBE, or changes nothing. `identifier` is the Subscription Identifier; 0: none.
  public mutating func request<List: SubscriptionList & ~Copyable & ~Escapable>(
    _ type: ControlPacketType, _ list: consuming List, properties: Span<UInt8>, identifier: UInt32,
    cookie: UInt64
  ) throws(SessionError) {
    guard !isLeaving else { throw .leaving }
    var needs = try Self.validate(list, type, acceptedVersion)
    needs.identifier = identifier != 0
    if properties.count > 0 || identifier != 0 {
      guard acceptedVersion.hasProperties else { throw .option }
      guard
        PropertyReader.isValid(
          properties, in: .packet(type, from: .client), without: .subscriptionIdentifier)
      else { throw .property }
    }
    let count = list.count
    // Its answer, which has a byte for each filter, must fit.
    let answer = FixedHeader.packetSize(2 &+ count &+ (acceptedVersion.hasProperties ? 1 : 0))
    guard answer <= receiver.capacity else { throw .tooLarge }
    let request = SubscriptionRequest(
      type: type, list: list, properties: properties, subscriptionIdentifier: identifier)
    try requests.append(
      request, count: count, needs: needs, version: acceptedVersion, cookie: cookie, limits: limits)
  }

  private static func validate<List: SubscriptionList & ~Copyable & ~Escapable>(
    _ list: borrowing List, _ type: ControlPacketType, _ version: ProtocolVersion
  ) throws(SessionError) -> RequestQueue.Needs {
    var needs = RequestQueue.Needs()
    var size = 0
    for index in 0..<list.count {
      let filter = list.filter(at: index)
      do throws(TopicFilter.Fault) {
        try TopicFilter.validate(filter)
      } catch {
        if case .utf8 = error { throw .utf8 }
        throw .topicFilter
      }
      // Before any sum: 65,535 filters of 65,535 bytes are more than 32 bits count.
      size = min(size &+ filter.count &+ 3, VariableByteInteger.maximum &+ 1)
      let isShared = TopicFilter.isShared(filter)
      needs.shared = needs.shared || isShared
      needs.wildcard = needs.wildcard || TopicFilter.hasWildcard(filter)
      guard type == .subscribe else { continue }
      let options = list.options(at: index)
      // [MQTT-3.8.3-4]
      guard !(isShared && options.noLocal) else { throw .topicFilter }
      needs.noLocal = needs.noLocal || options.noLocal
      guard version.hasProperties || options.rawValue == options.maximumQoS.rawValue else { throw .option }
    }
    guard size <= VariableByteInteger.maximum else { throw .tooLarge }
    // An UNSUBSCRIBE asks for nothing that a server may lack.
    return type == .subscribe ? needs : RequestQueue.Needs()
  }

  // MARK: Requests with replies

  /// Publishes a request (§4.10.1). `message` has no Correlation Data yet.
  public mutating func publishRequest(
    _ message: borrowing Publish, _ handling: Handling, timeout: UInt32, at now: Instant
  ) throws(SessionError) {
    guard acceptedVersion.hasProperties, replies.capacity > 0 else { throw .notSupported }
    do throws(TopicName.Fault) {
      try TopicName.validate(message.own.responseTopic)
    } catch {
      if case .utf8 = error { throw .utf8 }
      throw .topicName
    }
    guard let place = replies.free else { throw .full }
    let correlation = replies.correlation(of: place)
    var handling = handling
    handling.isQuiet = true
    handling.replyTag = replies.tag(of: place)
    var request = copy message
    request.own.correlationData = correlation.span
    request.own.hasCorrelationData = true
    try publishSpecially(request, handling, at: now)
    replies.add(
      at: place, cookie: handling.cookie, slot: outbox.newestSlot, topic: message.own.responseTopic,
      deadline: now.advanced(by: timeout))
  }
}
