public import MQTTWire
public import Storage

/// Messages of other threads: what is checked there, and what is left to do when their turn comes.
extension Session {
  /// What can be said of a message without a session. `hasExpiry`: it has one beside its list of properties. Returns the
  /// Message Expiry Interval in that list, and where its value is.
  public static func check(
    _ message: borrowing Publish, hasExpiry: Bool, version: ProtocolVersion
  ) throws(SessionError) -> (seconds: UInt32, offset: Int)? {
    try validate(message.topic)
    return try validate(
      properties: message.properties, hasExpiry: hasExpiry, own: message.own, version: version)
  }

  /// `publishChecked` would find room for the message.
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

  /// Takes a message into the outbox that `check` has let pass and for which there is room; also while the application
  /// is leaving. One that the server does not allow ends at once. `isExpired`: so does this one.
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

  /// How a message ends that need not be queued.
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
