public import MQTTWire
public import Storage

/// Messages of other threads: what the submitting thread checks, and what the owner does when it publishes
/// them.
extension Session {
  /// Checks what can be checked of a message without a session. `hasExpiry` says that it has an expiry
  /// beside its list of properties. Returns the Message Expiry Interval in that list, and the offset of its
  /// value.
  public static func check(
    _ message: borrowing Publish, hasExpiry: Bool, version: ProtocolVersion
  ) throws(SessionError) -> (seconds: UInt32, offset: Int)? {
    try validate(message.topic)
    return try validate(
      properties: message.properties, hasExpiry: hasExpiry, own: message.own, version: version)
  }

  /// Returns whether `publishChecked` would find room for the message.
  public func hasRoom(for message: borrowing Publish, _ options: PublishOptions, isExpired: Bool) -> Bool {
    guard state.outbox.reservation == nil else { return false }
    let endsAtOnce = end(of: message, isExpired: isExpired) != nil
    return options.isUrgent
      ? state.urgent.element.canAppend(
        message, options, endsAtOnce: endsAtOnce, version: identity.acceptedVersion, limits: connection.limits
      )
      : state.outbox.canAppend(
        message, options, endsAtOnce: endsAtOnce, version: identity.acceptedVersion, limits: connection.limits
      )
  }

  /// Adds a message that `check` accepted, and for which there is room, to the outbox, also while the
  /// application is disconnecting. A message that the server does not allow ends at once, and so does one
  /// with `isExpired`.
  public mutating func publishChecked(
    _ message: borrowing Publish, _ options: PublishOptions, isExpired: Bool, at now: Instant
  ) throws(SessionError) {
    var options = options
    if options.expiry != 0 { setExpiry(&options, at: now) }
    advance(to: now)
    let end = end(of: message, isExpired: isExpired)
    if options.isUrgent {
      try state.urgent.element.appendSubmitted(
        message, options, end, version: identity.acceptedVersion, limits: connection.limits,
        quota: &connection.quota)
    } else {
      try state.outbox.appendSubmitted(
        message, options, end, version: identity.acceptedVersion, limits: connection.limits,
        quota: &connection.quota)
    }
    counters.messagesPublished.increment()
  }

  /// Returns how a message ends that need not be queued.
  private func end(of message: borrowing Publish, isExpired: Bool) -> (DeliveryResult, UInt8?)? {
    if isExpired { return (.expired, nil) }
    if let limit = limit(message) { return (.aboveLimit, limit.reasonCode.rawValue) }
    let isOffline = policy.needsConnection && message.qos == .atMostOnce && !connection.isUp
    return isOffline ? (.disconnected, nil) : nil
  }

  private func limit(_ message: borrowing Publish) -> Limit? {
    if message.properties.count > 0, !identity.acceptedVersion.hasProperties { return .versionTooOld }
    let size = FixedHeader.packetSize(message.remainingLength(identity.acceptedVersion))
    return connection.limits.verdict(packetSize: size, MessageFlags(qos: message.qos, retain: message.retain))
  }
}
