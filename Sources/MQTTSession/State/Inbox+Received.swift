import MQTTWire
import Storage

/// What is done with a PUBLISH of QoS 1 or 2 that comes, and what a new connection changes about those that came before.
extension Inbox {
  /// A PUBLISH came. If it is to be delivered, `add` follows when the application gets it.
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
      // The server has given that one up, and uses its identifier for another.
    }
    if qos == .exactlyOnce, let verdict = admitIdentifier(identifier, duplicate: duplicate, isStrict: isStrict) {
      return verdict
    }
    if let verdict = makeRoom(isStrict: isStrict) { return verdict }
    if !duplicate { redeliveryIsOver = true }
    return .deliver
  }

  /// Every pending QoS 2 message has its place in `awaitingPubrel` before it is handed out.
  private var hasIdentifierRoom: Bool { awaitingPubrel.count &+ reserved < awaitingPubrel.maximum }

  /// `nil`: the message may be handed out.
  ///
  /// What waits for PUBREL counts to Receive Maximum (§4.9). But Mosquitto 2.0 sends bursts, many times what it was told,
  /// and PUBREL lies behind them: not to read on would be a deadlock, and to end the connection a livelock.
  private mutating func admitIdentifier(
    _ identifier: PacketIdentifier, duplicate: Bool, isStrict: Bool
  ) -> Verdict? {
    if endsWithConnection {
      // Nothing is sent again but on a later connection [MQTT-4.4.0-1]; 3.1 and 3.1.1 allow it, with DUP [MQTT-3.3.1-1].
      return duplicate && hasForgotten ? repeatAcknowledgement(identifier, isStrict: isStrict) : nil
    }
    guard isPostponing || !hasIdentifierRoom else {
      hasProgressed = true
      return nil
    }
    isPostponing = true
    return .postpone
  }

  /// In 3.1 a server that has lost the session does not say so; but what it sends again has DUP (its §2.1).
  private func isNewInLostSession(_ duplicate: Bool) -> Bool { !isSessionKnown && !duplicate }

  /// Of QoS 1: messages are sent again in their order [MQTT-4.6.0-1], and those in front of one that has come will not.
  /// Of QoS 2 those that the application has done with go: see `reconnectForBacklog`.
  @inline(never)
  private mutating func dropSuperseded(_ qos: QoS, before end: Int) {
    var left = end
    var index = 0
    while index < left {
      let entry = ring[at: index]
      if entry.qos == qos, qos == .atLeastOnce || entry.isAccepted {
        remove(at: index)
        left &-= 1
      } else {
        index &+= 1
      }
    }
  }

  /// [MQTT-4.3.3-10]: PUBREC again, and nothing else.
  private mutating func repeatAcknowledgement(_ identifier: PacketIdentifier, isStrict: Bool) -> Verdict {
    guard index(of: identifier, qos: .exactlyOnce, before: ring.count) == nil else { return .duplicate }
    guard ring.count > notRedelivered else {
      _ = awaitingPubrel.insert(identifier.rawValue)
      return .repeatPubrec
    }
    // Behind those that came before it on this connection.
    if !awaitingPubrel.isMarked(identifier.rawValue), let verdict = makeRoom(isStrict: isStrict) {
      return verdict
    }
    // Else its PUBREC is on this connection already.
    guard !ring.isFull else { return .duplicate }
    append(
      Entry(token: nextToken(), identifier: identifier, qos: .exactlyOnce, isAccepted: true, isRepeatedPubrec: true)
    )
    return .duplicate
  }

  /// `nil`: there is room for one more.
  private mutating func makeRoom(isStrict: Bool) -> Verdict? {
    if ring.count &- notRedelivered >= ring.capacity {
      // Before 5.0 the server has not been told how many; it has to wait for the application, if that is what is
      // missing. So has one that kept the session: Mosquitto 2.0 sends all it has kept, whatever it was told, and
      // would do so on each connection that ended for it.
      return (!isStrict || isResumed) && ring.count > notRedelivered ? .wait : .tooMany
    }
    if ring.isFull { forgetNotRedelivered() }
    return nil
  }

  /// A message of an earlier connection that has not come again gives up its room, and its token. One of QoS 1 may be handed out
  /// once more; of QoS 2 the identifier is remembered, which has its place.
  private mutating func forgetNotRedelivered() {
    var index = 0
    while index &+ 1 < notRedelivered, ring[at: index].qos == .exactlyOnce { index &+= 1 }
    if ring[at: index].qos == .exactlyOnce { index = 0 }
    let entry = ring[at: index]
    remove(at: index)
    if entry.qos == .exactlyOnce { awaitingPubrel.insertUnmarked(entry.identifier.rawValue) }
  }

  /// The server kept the session, or it did not, and then everything in it is gone.
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
      notRedelivered = 0
      reserved = 0
      reconnectsWithoutProgress = 0
      return awaitingPubrel.removeAll()
    }
    awaitingPubrel.removeMarks()
    // What came again on the last connection is the beginning of what the server sends again; the others follow.
    for _ in 0..<notRedelivered { ring.rotate() }
    let seen = ring.count &- notRedelivered
    notRedelivered = 0
    var position = 0
    var index = 0
    while index < ring.count {
      let entry = ring[at: index]
      let wasUnseen = position >= seen
      position &+= 1
      if entry.isRepeatedPubrec || (entry.qos == .atLeastOnce && wasUnseen && redeliveryWasOver) {
        remove(at: index)
      } else {
        // Before 5.0 there is no refusing.
        if !version.hasProperties { ring[at: index].reasonCode = 0 }
        index &+= 1
      }
    }
    notRedelivered = ring.count
  }

  // MARK: A backlog that has no place

  /// Of the messages that were postponed one more will have a place on the next connection, unless the application holds
  /// so many that it has to acknowledge first. What may be acknowledged now goes first.
  var canReconnectForBacklog: Bool { isPostponing && next == nil && (reserved < awaitingPubrel.maximum || hasStranded) }

  /// The application has done with a message that has not come again: PUBREC cannot leave, and its place is taken in vain.
  private var hasStranded: Bool {
    for index in 0..<notRedelivered {
      let entry = ring[at: index]
      if entry.isAccepted, entry.qos == .exactlyOnce { return true }
    }
    return false
  }

  mutating func forgetPubrels() { hasReceivedPubrel = false }

  /// The connection is given up, so that the server sends again what was postponed. If two in a row got no further, the
  /// server does not know the identifiers either that take all the places: it has neither repeated nor released them.
  mutating func reconnectForBacklog() {
    reconnectsWithoutProgress = hasProgressed ? 0 : reconnectsWithoutProgress &+ 1
    guard reconnectsWithoutProgress >= 2 else { return }
    awaitingPubrel.removeUnmarked()
    dropSuperseded(.exactlyOnce, before: notRedelivered)
    reconnectsWithoutProgress = 0
  }
}
