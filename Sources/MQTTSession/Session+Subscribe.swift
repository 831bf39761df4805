public import MQTTWire
import Storage

/// What the application wants: to subscribe, and to publish requests with responses.
extension Session {
  /// Queues a SUBSCRIBE, or changes nothing. `identifier` is the Subscription Identifier; 0 stands for none.
  @inline(__always)
  public mutating func subscribe<List: SubscriptionList & ~Copyable & ~Escapable>(
    _ list: consuming List, properties: Span<UInt8>, identifier: UInt32, cookie: UInt64
  ) throws(SessionError) {
    try enqueue(.subscribe, list, properties: properties, identifier: identifier, cookie: cookie)
  }

  /// Queues an UNSUBSCRIBE, or changes nothing.
  @inline(__always)
  public mutating func unsubscribe<List: SubscriptionList & ~Copyable & ~Escapable>(
    _ list: consuming List, properties: Span<UInt8>, cookie: UInt64
  ) throws(SessionError) {
    try enqueue(.unsubscribe, list, properties: properties, identifier: 0, cookie: cookie)
  }

  private mutating func enqueue<List: SubscriptionList & ~Copyable & ~Escapable>(
    _ type: ControlPacketType, _ list: consuming List, properties: Span<UInt8>, identifier: UInt32,
    cookie: UInt64
  ) throws(SessionError) {
    guard !isLeaving else { throw .leaving }
    var needs = try Self.validate(list, type, identity.acceptedVersion)
    needs.identifier = identifier != 0
    if properties.count > 0 || identifier != 0 {
      guard identity.acceptedVersion.hasProperties else { throw .option }
      // In the drop-in the Subscription Identifier is among the properties.
      guard
        DropIn.isOn
          ? PropertyReader.isValid(properties, in: .packet(type, from: .client))
          : PropertyReader.isValid(
            properties, in: .packet(type, from: .client), without: .subscriptionIdentifier)
      else { throw .property }
    }
    let count = list.count
    // Its acknowledgement, which has a byte for each filter, must fit into the receive buffer.
    let subackSize = FixedHeader.packetSize(2 &+ count &+ (identity.acceptedVersion.hasProperties ? 1 : 0))
    guard subackSize <= receiver.capacity else { throw .tooLarge }
    // A subscription that could not be made again is refused now. Otherwise it would be lost later without
    // a report.
    guard type == .unsubscribe || state.subscriptions.capacity == 0 || state.subscriptions.hasRoom(for: list)
    else { throw .full }
    let packet = SubscribePacket(
      type: type, list: list, properties: properties,
      subscriptionIdentifier: DropIn.isOn ? 0 : identifier)
    try state.subscribeQueue.append(
      packet, count: count, needs: needs, version: identity.acceptedVersion, cookie: cookie,
      limits: connection.limits)
    guard state.subscriptions.capacity > 0 else { return }
    for index in 0..<count {
      let filter = packet.list.filter(at: index)
      if type == .subscribe {
        state.subscriptions.add(filter, packet.list.options(at: index), identifier: identifier)
      } else {
        state.subscriptions.remove(filter)
      }
    }
  }

  // MARK: Subscribing again

  /// Records in the table what a SUBACK granted; without `codes`, that the SUBSCRIBE failed.
  @inline(never)
  @_optimize(size)
  mutating func recordSuback(_ slot: Int, _ codes: ByteRange?) {
    guard state.subscriptions.capacity > 0 else { return }
    Self.recordSuback(&state.subscriptions, state.subscribeQueue, slot, codes, receiver)
  }

  // Static, because the compiler takes a span of one part of `self` for a hold on all of it.
  private static func recordSuback(
    _ subscriptions: inout SubscriptionTable, _ queue: borrowing SubscribeQueue, _ slot: Int,
    _ codes: ByteRange?,
    _ receiver: borrowing ReceiveBuffer
  ) {
    var position = 0
    var index = 0
    while let filter = queue.filter(of: slot, at: &position) {
      let isRefused = codes.map { receiver.bytes[$0.offset &+ index] >= 0x80 } ?? true
      subscriptions.acknowledged(queue.filters.extracting(filter.range), isRefused: isRefused)
      index &+= 1
    }
  }

  /// Whether `resubscribe` would find something to do.
  var canResubscribe: Bool {
    guard let slot = state.subscriptions.firstLost else { return false }
    return state.subscribeQueue.hasRoom(resubscriptionSize(slot))
  }

  /// Returns the size of the SUBSCRIBE for one entry of the table.
  private func resubscriptionSize(_ slot: Int) -> Int {
    let identifier = state.subscriptions[slot].identifier
    let properties =
      !version.hasProperties
      ? 0
      : 1
        + (identifier == 0
          ? 0 : 1 + VariableByteInteger.encodedSize(Int(truncatingIfNeeded: identifier)))
    return FixedHeader.packetSize(2 &+ properties &+ 3 &+ state.subscriptions.filter(slot).count)
  }

  /// Queues a SUBSCRIBE for each lost subscription, as long as there is room. The others follow when
  /// acknowledgements come.
  mutating func resubscribe() {
    while let slot = state.subscriptions.firstLost, state.subscribeQueue.hasRoom(resubscriptionSize(slot)) {
      let isTaken = Self.enqueueResubscription(
        slot, state.subscriptions, in: &state.subscribeQueue, version, limits)
      state.subscriptions.markResubscribing(slot)
      // The packet is above a limit of this server.
      if !isTaken { state.subscriptions.refuse(slot, ReasonCode.implementationSpecificError.rawValue) }
    }
  }

  /// Handles the acknowledgement of a SUBSCRIBE that resubscribes.
  mutating func resubscribeCompleted(_ slot: Int, reasonCode: UInt8) {
    Self.resubscribeCompleted(&state.subscriptions, state.subscribeQueue, slot, reasonCode)
  }

  private static func resubscribeCompleted(
    _ subscriptions: inout SubscriptionTable, _ queue: borrowing SubscribeQueue, _ slot: Int,
    _ reasonCode: UInt8
  ) {
    var position = 0
    guard let filter = queue.filter(of: slot, at: &position) else { return }
    let text = queue.filters.extracting(filter.range)
    if reasonCode >= 0x80 { subscriptions.refuse(text, reasonCode) } else { subscriptions.grant(text) }
  }

  private static func enqueueResubscription(
    _ slot: Int, _ subscriptions: borrowing SubscriptionTable, in queue: inout SubscribeQueue,
    _ version: ProtocolVersion, _ limits: ServerLimits
  ) -> Bool {
    let entry = subscriptions[slot]
    let filter = subscriptions.bytes.extracting(subscriptions.filter(slot).range)
    let list = Resubscription(filter, entry)
    var needs = SubscribeQueue.Needs()
    needs.shared = TopicFilter.isShared(filter)
    needs.wildcard = TopicFilter.hasWildcard(filter)
    needs.identifier = entry.identifier != 0
    needs.noLocal = list.options(at: 0).noLocal
    let packet = SubscribePacket(
      type: .subscribe, list: list, properties: Span(),
      subscriptionIdentifier: version.hasProperties ? entry.identifier : 0)
    do throws(SessionError) {
      try queue.append(
        packet, count: 1, needs: needs, version: version, cookie: 0,
        isResubscription: true, limits: limits)
      return true
    } catch {
      return false
    }
  }

  private static func validate<List: SubscriptionList & ~Copyable & ~Escapable>(
    _ list: borrowing List, _ type: ControlPacketType, _ version: ProtocolVersion
  ) throws(SessionError) -> SubscribeQueue.Needs {
    var needs = SubscribeQueue.Needs()
    var size = 0
    for index in 0..<list.count {
      let filter = list.filter(at: index)
      do throws(TopicFilter.Fault) {
        try TopicFilter.validate(filter)
      } catch {
        if case .utf8 = error { throw .utf8 }
        throw .topicFilter
      }
      // This bound comes before the next sum: 65,535 filters of 65,535 bytes are more than 32 bits can
      // count.
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
    // An UNSUBSCRIBE needs nothing that a server may lack.
    return type == .subscribe ? needs : SubscribeQueue.Needs()
  }

  // MARK: Requests with responses

  /// Publishes a request (§4.10.1). `message` has no Correlation Data yet. Returns false if it was dropped
  /// at once, according to its overflow policy.
  public mutating func publishRequest(
    _ request: consuming Publish, _ options: PublishOptions, timeout: UInt32, at now: Instant
  ) throws(SessionError) -> Bool {
    guard identity.acceptedVersion.hasProperties, state.responses.capacity > 0 else { throw .notSupported }
    do throws(TopicName.Fault) {
      try TopicName.validate(request.own.responseTopic)
    } catch {
      if case .utf8 = error { throw .utf8 }
      throw .topicName
    }
    guard let index = state.responses.free else { throw .full }
    let correlation = state.responses.correlation(of: index)
    var options = options
    options.isQuiet = true
    options.responseTag = state.responses.tag(of: index)
    request.own.correlationData = correlation.span
    request.own.hasCorrelationData = true
    guard try publish(copy request, options, at: now) else { return false }
    state.responses.add(
      at: index, cookie: options.cookie, slot: state.outbox.newestSlot, topic: request.own.responseTopic,
      deadline: now.advanced(by: timeout))
    return true
  }
}
