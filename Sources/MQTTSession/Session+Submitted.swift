public import Storage
public import MQTTWire

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
  public func hasRoom(for message: borrowing Publish, _ handling: PublishOptions, isExpired: Bool) -> Bool {
    guard outbox.reservation == nil else { return false }
    let endsAtOnce = end(of: message, isExpired: isExpired) != nil
    return handling.isUrgent
      ? urgent.element.mayTake(
        message, handling, endsAtOnce: endsAtOnce, version: acceptedVersion, limits: limits)
      : outbox.mayTake(message, handling, endsAtOnce: endsAtOnce, version: acceptedVersion, limits: limits)
  }

  /// Takes a message into the outbox that `check` has let pass and for which there is room; also while the application
  /// is leaving. One that the server does not allow ends at once. `isExpired`: so does this one.
  public mutating func publishChecked(
    _ message: borrowing Publish, _ handling: PublishOptions, isExpired: Bool, at now: Instant
  ) throws(SessionError) {
    var handling = handling
    if handling.expiry != 0 {
      if isNothingExpiring { clock.restart(at: now) } else { clock.advance(to: now) }
      handling.expiresAt = clock.second(after: handling.expiry, from: now)
    }
    advance(to: now)
    let end = end(of: message, isExpired: isExpired)
    if handling.isUrgent {
      try urgent.element.take(message, handling, end, version: acceptedVersion, limits: limits, quota: &quota)
    } else {
      try outbox.take(message, handling, end, version: acceptedVersion, limits: limits, quota: &quota)
    }
    counters.messagesPublished.increment()
  }

  /// How a message ends that need not be queued.
  private func end(of message: borrowing Publish, isExpired: Bool) -> (Outcome, UInt8?)? {
    if isExpired { return (.expired, nil) }
    if let limit = limit(message) { return (.aboveLimit, limit.reasonCode.rawValue) }
    let isOffline = needsConnection && message.qos == .atMostOnce && phase != .connected
    return isOffline ? (.disconnected, nil) : nil
  }

  private func limit(_ message: borrowing Publish) -> Limit? {
    if message.properties.count > 0, !acceptedVersion.hasProperties { return .versionTooOld }
    let size = FixedHeader.packetSize(message.remainingLength(acceptedVersion))
    return limits.verdict(packetSize: size, qos: message.qos, retain: message.retain)
  }
}

extension Outbox {
  /// Whether a message could be taken in now. One that ends at once needs no bytes.
  func mayTake(
    _ message: borrowing Publish, _ handling: PublishOptions, endsAtOnce: Bool, version: ProtocolVersion,
    limits: ServerLimits
  ) -> Bool {
    if endsAtOnce { return hasDescriptor }
    let room = roomNeeded(message, handling, version: version, limits: limits)
    guard room <= bytes.count else { return false }
    if hasDescriptor, place(room) != nil { return true }
    return handling.overflow != .refuse && canMakeRoom(for: room)
  }

  mutating func take(
    _ message: borrowing Publish, _ handling: PublishOptions, _ end: (Outcome, UInt8?)?, version: ProtocolVersion,
    limits: ServerLimits, quota: inout SendQuota
  ) throws(SessionError) {
    if let (outcome, reasonCode) = end {
      guard stored < descriptors.count || reclaim() else { throw .full }
      return note(handling, qos: message.qos, outcome, reasonCode: reasonCode)
    }
    let wasStarved = isStarved
    do throws(SessionError) {
      _ = try admit(message, handling, version: version, limits: limits, quota: &quota)
    } catch {
      // Who submits is not told of room.
      isStarved = wasStarved
      throw error
    }
  }

  /// The end of a message that never was in the ring.
  private mutating func note(_ handling: PublishOptions, qos: QoS, _ outcome: Outcome, reasonCode: UInt8?) {
    count(outcome)
    var flags = MessageFlags(qos: qos)
    flags.set(.isQuiet, handling.isQuiet)
    noteCompletion(
      of: Descriptor(
        cookie: handling.cookie, offset: 0, length: 0, link: 0, expiresAt: 0, since: 0, flags: flags,
        order: 0,
        tag: 0, state: .completed, outcome: outcome, reasonCode: 0),
      outcome, reasonCode: reasonCode)
  }
}
