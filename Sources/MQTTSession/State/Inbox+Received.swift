import MQTTWire
import Storage

/// What the inbox does with a PUBLISH of QoS 1 or 2, and what a new connection changes about those of
/// earlier connections.
extension Inbox {
  /// Decides about a PUBLISH that came. If it is to be delivered, `add` follows when the application gets
  /// it.
  mutating func received(
    _ identifier: PacketIdentifier, qos: QoS, duplicate: Bool, isStrict: Bool
  ) -> Verdict {
    if qos == .exactlyOnce, awaitingPubrel.contains(identifier.rawValue) {
      guard isNewInLostSession(duplicate), !awaitingPubrel.isMarked(identifier.rawValue) else {
        return repeatAcknowledgement(identifier, isStrict: isStrict)
      }
      _ = awaitingPubrel.remove(identifier.rawValue)
    }
    if let index = index(of: identifier, qos: qos, before: qos == .exactlyOnce ? ring.count : notRedelivered)
    {
      guard index < notRedelivered else { return .duplicate }
      let entry = ring[at: index]
      remove(at: index)
      if duplicate || (qos == .exactlyOnce && !isNewInLostSession(duplicate)) {
        dropSuperseded(.atLeastOnce, before: index)
        append(entry)
        return .duplicate
      }
      // The server has abandoned that message, and uses its identifier for another one.
    }
    if qos == .exactlyOnce,
      let verdict = admitIdentifier(identifier, duplicate: duplicate, isStrict: isStrict)
    {
      return verdict
    }
    if let verdict = makeRoom(isStrict: isStrict) { return verdict }
    if !duplicate { redeliveryIsOver = true }
    return .deliver
  }

  /// Whether one more identifier fits into `awaitingPubrel`. Every pending QoS 2 message has reserved its
  /// room there before it is handed out.
  private var hasIdentifierRoom: Bool { awaitingPubrel.count &+ reserved < awaitingPubrel.maximum }

  /// Returns `nil` if the message may be handed out, because there is room for its identifier.
  ///
  /// What waits for PUBREL counts against Receive Maximum (§4.9). But Mosquitto 2.0 sends bursts of many
  /// times that number, and PUBREL lies behind them: if the client stopped reading, it would wait forever,
  /// and if it closed the connection, every connection would end like that.
  private mutating func admitIdentifier(
    _ identifier: PacketIdentifier, duplicate: Bool, isStrict: Bool
  ) -> Verdict? {
    if endsWithConnection {
      // Messages are resent only on a later connection [MQTT-4.4.0-1], but 3.1 and 3.1.1 allow it on the
      // same one, with DUP [MQTT-3.3.1-1].
      return duplicate && hasForgotten ? repeatAcknowledgement(identifier, isStrict: isStrict) : nil
    }
    guard isPostponing || !hasIdentifierRoom else {
      hasProgressed = true
      return nil
    }
    isPostponing = true
    return .postpone
  }

  /// A server of 3.1 does not report that it has lost the session, but it sets DUP on what it resends (its
  /// §2.1).
  private func isNewInLostSession(_ duplicate: Bool) -> Bool { !isSessionKnown && !duplicate }

  /// Removes the entries in front of `end` that the server will not resend. For QoS 1 these are all,
  /// because messages are resent in their order [MQTT-4.6.0-1] and a later one has come. For QoS 2 they are
  /// those that the application has accepted: see `reconnectForBacklog`.
  @inline(never)
  @_optimize(size)
  private mutating func dropSuperseded(_ qos: QoS, before end: Int) {
    // From the last to the first, each that is left moves up to the last place that is free.
    var kept = end
    var position = end &- 1
    while position >= 0 {
      let entry = ring[at: position]
      if entry.qos == qos, qos == .atLeastOnce || entry.isAccepted {
        if entry.needsIdentifierRoom { reserved &-= 1 }
        if isLinked(position) { unlink(position) }
      } else {
        kept &-= 1
        if kept != position { move(position, to: kept) }
      }
      position &-= 1
    }
    notRedelivered &-= kept
    for _ in 0..<kept { ring.removeFirst() }
  }

  /// Repeats PUBREC for a message that is not delivered again [MQTT-4.3.3-10].
  private mutating func repeatAcknowledgement(_ identifier: PacketIdentifier, isStrict: Bool) -> Verdict {
    guard index(of: identifier, qos: .exactlyOnce, before: ring.count) == nil else { return .duplicate }
    guard ring.count > notRedelivered else {
      _ = awaitingPubrel.insert(identifier.rawValue)
      return .repeatPubrec
    }
    // The acknowledgement waits behind those of the messages that came before it on this connection.
    if !awaitingPubrel.isMarked(identifier.rawValue), let verdict = makeRoom(isStrict: isStrict) {
      return verdict
    }
    // If the ring is full, the PUBREC of this message was sent on this connection already.
    guard !ring.isFull else { return .duplicate }
    append(
      Entry(
        token: nextToken(), identifier: identifier, qos: .exactlyOnce, isAccepted: true,
        isRepeatedPubrec: true)
    )
    return .duplicate
  }

  /// Returns `nil` if there is room for one more message.
  private mutating func makeRoom(isStrict: Bool) -> Verdict? {
    if ring.count &- notRedelivered >= ring.capacity {
      // A server before 5.0 has not been told Receive Maximum, so it has to wait until the application
      // acknowledges a message. So has a server that kept the session: Mosquitto 2.0 resends everything it
      // has kept, whatever Receive Maximum says, and would do so on every further connection.
      return (!isStrict || isResumed) && ring.count > notRedelivered ? .wait : .tooMany
    }
    if ring.isFull { forgetNotRedelivered() }
    return nil
  }

  /// Removes a message of an earlier connection that has not been resent, and its token with it. A message
  /// of QoS 1 may then be handed out once more. For QoS 2 the identifier is remembered, in the room that it
  /// has reserved.
  private mutating func forgetNotRedelivered() {
    var index = 0
    while index &+ 1 < notRedelivered, ring[at: index].qos == .exactlyOnce { index &+= 1 }
    if ring[at: index].qos == .exactlyOnce { index = 0 }
    let entry = ring[at: index]
    remove(at: index)
    if entry.qos == .exactlyOnce { awaitingPubrel.insertUnmarked(entry.identifier.rawValue) }
  }

  /// Continues the session on a new connection. If the server did not keep it, everything in it is gone.
  mutating func connected(
    _ version: ProtocolVersion, sessionPresent: Bool, isKnown: Bool, endsWithConnection: Bool
  ) {
    isSessionKnown = isKnown
    isResumed = sessionPresent
    let redeliveryWasOver = redeliveryIsOver
    redeliveryIsOver = false
    self.endsWithConnection = endsWithConnection
    hasForgotten = false
    isPostponing = false
    hasProgressed = false
    guard sessionPresent else {
      ring.reset()
      index.removeAll()
      notRedelivered = 0
      reserved = 0
      reconnectsWithoutProgress = 0
      return awaitingPubrel.removeAll()
    }
    awaitingPubrel.removeMarks()
    // The messages that were resent on the last connection are the first that the server resends now. The
    // others follow them.
    for _ in 0..<notRedelivered { ring.rotate() }
    let seen = ring.count &- notRedelivered
    notRedelivered = 0
    var kept = 0
    for position in 0..<ring.count {
      let entry = ring[at: position]
      if entry.isRepeatedPubrec || (entry.qos == .atLeastOnce && position >= seen && redeliveryWasOver) {
        continue
      }
      ring[at: kept] = entry
      // Versions before 5.0 have no Reason Code with which to refuse a message.
      if !version.hasProperties { ring[at: kept].reasonCode = 0 }
      kept &+= 1
    }
    while ring.count > kept { ring.removeLast() }
    index.removeAll()
    for position in 0..<kept { link(position) }
    notRedelivered = ring.count
  }

  // MARK: A backlog without room

  /// Whether one more of the postponed messages will have room on the next connection. It will not if the
  /// application holds so many messages that it has to acknowledge some first. Acknowledgements that may be
  /// sent now are sent first.
  var canReconnectForBacklog: Bool {
    isPostponing && next == nil && (reserved < awaitingPubrel.maximum || hasStranded)
  }

  /// Whether the application has accepted a message that was not resent. Its PUBREC cannot be sent, and its
  /// room stays reserved for nothing.
  private var hasStranded: Bool {
    for index in 0..<notRedelivered {
      let entry = ring[at: index]
      if entry.isAccepted, entry.qos == .exactlyOnce { return true }
    }
    return false
  }

  mutating func forgetPubrels() { hasReceivedPubrel = false }

  /// Prepares for closing the connection, so that the server resends what was postponed. If two connections
  /// in a row made no progress, the server does not know the identifiers that take all the room either: it
  /// has neither resent their messages nor sent PUBREL.
  mutating func reconnectForBacklog() {
    reconnectsWithoutProgress = hasProgressed ? 0 : reconnectsWithoutProgress &+ 1
    guard reconnectsWithoutProgress >= 2 else { return }
    awaitingPubrel.removeUnmarked()
    dropSuperseded(.exactlyOnce, before: notRedelivered)
    reconnectsWithoutProgress = 0
  }
}
