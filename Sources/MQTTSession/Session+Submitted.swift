public import FixedMemory
public import MQTTWire

/// Messages of other threads: what is checked there, and what is left to do when their turn comes.
extension Session {
  /// What can be said of a message without a session. `hasExpiry`: it has one beside its list of properties. Returns the
  /// Message Expiry Interval in that list, and where its value is.
  public static func check(
    _ message: borrowing Publish, hasExpiry: Bool, version: ProtocolVersion
  ) throws(SessionError) -> (seconds: UInt32, offset: Int)? {
    try validate(message.topic)
    try validate(properties: message.properties, hasExpiry: hasExpiry, own: message.own, version: version)
    return expiry(in: message.properties)
  }

  /// `publishChecked` would find room for the message.
  public func hasRoom(for message: borrowing Publish) -> Bool {
    guard outbox.reservation == nil else { return false }
    return outbox.hasRoom(FixedHeader.packetSize(message.remainingLength(acceptedVersion)), limits: limits)
  }

  /// Takes a message into the outbox that `check` has let pass and for which there is room; also while the application
  /// is leaving. One that the server does not allow ends at once. `isExpired`: so does this one.
  public mutating func publishChecked(
    _ message: borrowing Publish, _ handling: Handling, isExpired: Bool, at now: Instant
  ) throws(SessionError) {
    var handling = handling
    if handling.expiry != 0 {
      if outbox.nextExpiry == nil { clock.restart(at: now) } else { clock.advance(to: now) }
      handling.expiresAt = clock.second(after: handling.expiry, from: now)
    }
    let limit = limit(message)
    if limit == nil, !isExpired, outbox.aliases.isInUse {
      try outbox.appendUnderAlias(message, handling, version: acceptedVersion, limits: limits)
    } else {
      // What will not be sent has no limits; nor may a Topic Alias depend on it.
      try outbox.storeAside(message, handling, version: acceptedVersion, limits: ServerLimits())
    }
    counters.messagesPublished.increment()
    if isExpired {
      outbox.complete(outbox.newestSlot, .expired)
    } else if let limit {
      outbox.complete(outbox.newestSlot, .aboveLimit, reasonCode: limit.reasonCode.rawValue)
    }
  }

  private func limit(_ message: borrowing Publish) -> Limit? {
    if message.properties.count > 0, !acceptedVersion.hasProperties { return .versionTooOld }
    let size = FixedHeader.packetSize(message.remainingLength(acceptedVersion))
    return limits.verdict(packetSize: size, qos: message.qos, retain: message.retain)
  }
}

extension Outbox {
  /// Whether a packet of this size could be appended now.
  func hasRoom(_ packetSize: Int, limits: ServerLimits) -> Bool {
    // The Topic Alias that may be established with it.
    let tallest = packetSize &+ Publish.topicAliasSize
    let isAliased = aliases.isInUse && tallest <= min(bytes.count, limits.maximumPacketSize)
    let size = isAliased ? tallest : packetSize
    guard stored > 0 else { return size <= bytes.count }
    guard stored < descriptors.count else { return false }
    return Self.place(size, head: descriptors[head].start, tail: tailOffset, capacity: bytes.count) != nil
  }
}
