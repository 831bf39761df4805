import MQTTWire
import Storage

/// The receiver's side of QoS 1 and 2 (§4.3): which messages were handed out and not yet acknowledged, and
/// which QoS 2 ones the server has not yet released.
///
///                    handed out        accepted, and nothing in front    PUBREL
///     PUBLISH ─────────▶ pending ──────────▶ PUBACK, gone                          QoS 1
///                           └──────────────▶ PUBREC, unreleased ────────▶ gone     QoS 2
///
/// Pending messages stand in the order in which they came, so that acknowledgements leave in that order
/// [MQTT-4.6.0-2] [MQTT-4.6.0-3] in whatever order the application gives them. In front are those of earlier
/// connections; one that comes again on this one moves behind what came before it.
public struct Inbox: ~Copyable {
  struct Entry: BitwiseCopyable {
    var token: UInt32
    let identifier: PacketIdentifier
    let qos: QoS
    /// The application has it.
    var isAccepted: Bool
    /// It was accepted before, and its PUBREC is only repeated.
    let isRepeat: Bool
    var reasonCode: UInt8 = 0

    var acknowledgementType: ControlPacketType {
      @inline(__always) get { qos == .atLeastOnce ? .puback : .pubrec }
    }

    /// Its identifier will get into `unreleased`, and is not there yet.
    var needsPlace: Bool { qos == .exactlyOnce && !isRepeat }
  }

  /// What is to be done with a message that comes.
  enum Verdict: BitwiseCopyable {
    case deliver
    case duplicate  // the application has or had it: not again
    case answerAgain  // the same, and PUBREC goes at once
    case wait  // no room until the application acknowledges one
    case postpone  // no place for its identifier: it is left to a later connection
    case tooMany  // the server goes beyond Receive Maximum
  }

  private var ring: Table<Entry>
  private var head = 0
  private var pending = 0
  /// How many of them have not come on this connection, and cannot be acknowledged on it.
  private var notRedelivered = 0
  /// QoS 2 messages whose PUBREC is out; marked, those of this connection.
  private var unreleased: IdentifierSet
  /// How many pending messages will have to get into it.
  private var reserved = 0
  /// No message of this session comes again on another connection (§4.1).
  private var endsWithConnection = false
  /// Identifiers of this connection did not get into `unreleased`; only if `endsWithConnection`.
  private var hasForgotten = false
  /// A message of QoS 2 was left to a later connection; so are all that come behind it, as they have to keep their
  /// order [MQTT-4.6.0-6].
  private(set) var isPostponing = false
  /// A QoS 2 message has got a place on this connection, or PUBREL has freed one.
  private var hasProgressed = false
  /// PUBREL has freed a place since `forgetProgress`.
  private(set) var hasReleased = false
  /// How many connections in a row brought the backlog no further.
  private var fruitless: UInt8 = 0
  private var lastToken: UInt32 = 0
  /// Whether the server has the session is known, not assumed: 3.1 does not say.
  private var isSessionKnown = true
  /// The server had kept the session.
  private var isResumed = false
  /// The server is past what it sends again [MQTT-4.6.0-1]: what has not come by now will never do.
  private var redeliveryIsOver = false
  private(set) var peak = 0

  init(ring: consuming Table<Entry>, unreleased: consuming IdentifierSet) {
    self.ring = ring
    self.unreleased = unreleased
  }

  var maximum: Int { ring.count }
  var count: Int { pending &+ unreleased.count }

  /// Something may be ready to be acknowledged.
  var hasPending: Bool { pending > 0 }

  // MARK: Things that happened

  /// A PUBLISH came. If it is to be delivered, `add` follows when the application gets it.
  mutating func received(
    _ identifier: PacketIdentifier, qos: QoS, duplicate: Bool, isStrict: Bool
  ) -> Verdict {
    if qos == .exactlyOnce, unreleased.contains(identifier) {
      guard isNewInLostSession(duplicate), !unreleased.isMarked(identifier) else {
        return repeatAcknowledgement(identifier, isStrict: isStrict)
      }
      _ = unreleased.remove(identifier)
    }
    if let index = index(of: identifier, qos: qos, before: qos == .exactlyOnce ? pending : notRedelivered) {
      guard index < notRedelivered else { return .duplicate }
      let entry = ring[slot(index)]
      remove(at: index)
      if duplicate || (qos == .exactlyOnce && !isNewInLostSession(duplicate)) {
        dropSuperseded(.atLeastOnce, before: index)
        append(entry)
        return .duplicate
      }
      // The server has given that one up, and uses its identifier for another.
    }
    if qos == .exactlyOnce, let verdict = makePlace(identifier, duplicate: duplicate, isStrict: isStrict) {
      return verdict
    }
    if let verdict = makeRoom(isStrict: isStrict) { return verdict }
    if !duplicate { redeliveryIsOver = true }
    return .deliver
  }

  /// Every pending QoS 2 message has its place in `unreleased` before it is handed out.
  private var hasPlace: Bool { unreleased.count &+ reserved < unreleased.maximum }

  /// `nil`: the message may be handed out.
  ///
  /// What waits for PUBREL counts to Receive Maximum (§4.9). But Mosquitto 2.0 sends bursts, many times what it was told,
  /// and PUBREL lies behind them: not to read on would be a deadlock, and to end the connection a livelock.
  private mutating func makePlace(
    _ identifier: PacketIdentifier, duplicate: Bool, isStrict: Bool
  ) -> Verdict? {
    if endsWithConnection {
      // Nothing is sent again but on a later connection [MQTT-4.4.0-1]; 3.1 and 3.1.1 allow it, with DUP [MQTT-3.3.1-1].
      return duplicate && hasForgotten ? repeatAcknowledgement(identifier, isStrict: isStrict) : nil
    }
    guard isPostponing || !hasPlace else {
      hasProgressed = true
      return nil
    }
    isPostponing = true
    return .postpone
  }

  /// In 3.1 a server that has lost the session does not say so; but what it sends again has DUP (its §2.1).
  private func isNewInLostSession(_ duplicate: Bool) -> Bool { !isSessionKnown && !duplicate }

  /// Of QoS 1: messages are sent again in their order [MQTT-4.6.0-1], and those in front of one that has come will not.
  /// Of QoS 2 those that the application has done with go: see `passOn`.
  @inline(never)
  private mutating func dropSuperseded(_ qos: QoS, before end: Int) {
    var left = end
    var index = 0
    while index < left {
      let entry = ring[slot(index)]
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
    guard index(of: identifier, qos: .exactlyOnce, before: pending) == nil else { return .duplicate }
    guard pending > notRedelivered else {
      _ = unreleased.insert(identifier)
      return .answerAgain
    }
    // Behind those that came before it on this connection.
    if !unreleased.isMarked(identifier), let verdict = makeRoom(isStrict: isStrict) { return verdict }
    // Else its PUBREC is on this connection already.
    guard pending < ring.count else { return .duplicate }
    append(
      Entry(token: nextToken(), identifier: identifier, qos: .exactlyOnce, isAccepted: true, isRepeat: true)
    )
    return .duplicate
  }

  /// `nil`: there is room for one more.
  private mutating func makeRoom(isStrict: Bool) -> Verdict? {
    if pending &- notRedelivered >= ring.count {
      // Before 5.0 the server has not been told how many; it has to wait for the application, if that is what is
      // missing. So has one that kept the session: Mosquitto 2.0 sends all it has kept, whatever it was told, and
      // would do so on each connection that ended for it.
      return (!isStrict || isResumed) && pending > notRedelivered ? .wait : .tooMany
    }
    if pending == ring.count { forgetNotRedelivered() }
    return nil
  }

  /// A message of an earlier connection that has not come again gives up its room, and its token. One of QoS 1 may be handed out
  /// once more; of QoS 2 the identifier is remembered, which has its place.
  private mutating func forgetNotRedelivered() {
    var index = 0
    while index &+ 1 < notRedelivered, ring[slot(index)].qos == .exactlyOnce { index &+= 1 }
    if ring[slot(index)].qos == .exactlyOnce { index = 0 }
    let entry = ring[slot(index)]
    remove(at: index)
    if entry.qos == .exactlyOnce { unreleased.insertUnmarked(entry.identifier) }
  }

  /// The message is being handed out. Its token.
  @inline(__always)
  mutating func add(_ identifier: PacketIdentifier, qos: QoS) -> UInt32 {
    append(
      Entry(token: nextToken(), identifier: identifier, qos: qos, isAccepted: false, isRepeat: false))
    return lastToken
  }

  /// The application has done with a message whose acknowledgement is the next to leave: takes it out. `nil`: it is not the
  /// next, and `accept` is to remember it.
  @inline(__always)
  mutating func acceptNext(_ token: UInt32) -> Acknowledgement? {
    guard isNext(token) else { return nil }
    let entry = ring[slot(notRedelivered)]
    guard !entry.isAccepted else { return nil }
    removeNext()
    return Acknowledgement(type: entry.acknowledgementType, identifier: entry.identifier)
  }

  /// PUBREL came. False: this message is not known.
  mutating func released(_ identifier: PacketIdentifier) -> Bool {
    // Its PUBREC need not be repeated any more.
    if let index = index(of: identifier, qos: .exactlyOnce, before: pending), ring[slot(index)].isRepeat {
      remove(at: index)
    }
    guard unreleased.remove(identifier) else { return hasForgotten }
    hasReleased = true
    hasProgressed = true
    return true
  }

  /// A PUBREL for a message that was not acknowledged on this connection.
  func isUnacknowledged(_ identifier: PacketIdentifier) -> Bool {
    guard let index = index(of: identifier, qos: .exactlyOnce, before: pending) else { return false }
    return index >= notRedelivered && !ring[slot(index)].isRepeat
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
      head = 0
      pending = 0
      notRedelivered = 0
      reserved = 0
      fruitless = 0
      return unreleased.removeAll()
    }
    unreleased.removeMarks()
    // What came again on the last connection is the beginning of what the server sends again; the others follow.
    for _ in 0..<notRedelivered {
      let entry = ring[head]
      head = slot(1)
      ring[slot(pending &- 1)] = entry
    }
    let seen = pending &- notRedelivered
    notRedelivered = 0
    var place = 0
    var index = 0
    while index < pending {
      let entry = ring[slot(index)]
      let wasUnseen = place >= seen
      place &+= 1
      if entry.isRepeat || (entry.qos == .atLeastOnce && wasUnseen && redeliveryWasOver) {
        remove(at: index)
      } else {
        // Before 5.0 there is no refusing.
        if !version.hasProperties { ring[slot(index)].reasonCode = 0 }
        index &+= 1
      }
    }
    notRedelivered = pending
  }

  // MARK: Things the application wants

  /// False: there is no such message, or it was accepted before.
  mutating func accept(_ token: UInt32, reasonCode: UInt8) -> Bool {
    guard let index = index(of: token) else { return false }
    let slot = slot(index)
    guard !ring[slot].isAccepted else { return false }
    ring[slot].isAccepted = true
    ring[slot].reasonCode = reasonCode
    return true
  }

  func identifier(of token: UInt32) -> PacketIdentifier? {
    guard let index = index(of: token) else { return nil }
    return ring[slot(index)].identifier
  }

  func isPending(_ token: UInt32) -> Bool {
    guard let index = index(of: token) else { return false }
    return !ring[slot(index)].isAccepted
  }

  /// Whether the acknowledgement of a message would be the next to leave.
  @inline(__always)
  func isNext(_ token: UInt32) -> Bool {
    pending > notRedelivered && ring[slot(notRedelivered)].token == token
  }

  // MARK: Outputs

  /// The acknowledgement that may leave now; `removeNext` follows when it does.
  var next: Acknowledgement? {
    guard pending > notRedelivered else { return nil }
    let entry = ring[slot(notRedelivered)]
    guard entry.isAccepted else { return nil }
    return Acknowledgement(
      type: entry.acknowledgementType, identifier: entry.identifier,
      rawReasonCode: entry.reasonCode)
  }

  @inline(__always)
  mutating func removeNext() {
    // With a refusal the exchange ends [MQTT-4.3.3-9].
    let entry = ring[slot(notRedelivered)]
    if entry.qos == .exactlyOnce, entry.reasonCode < 0x80, !unreleased.insert(entry.identifier) {
      hasForgotten = true
    }
    remove(at: notRedelivered)
  }

  // MARK: A backlog that has no place

  /// Of the messages that were postponed one more will have a place on the next connection, unless the application holds
  /// so many that it has to acknowledge first. What may be acknowledged now goes first.
  var mayPassOn: Bool { isPostponing && next == nil && (reserved < unreleased.maximum || hasStranded) }

  /// The application has done with a message that has not come again: PUBREC cannot leave, and its place is taken in vain.
  private var hasStranded: Bool {
    for index in 0..<notRedelivered {
      let entry = ring[slot(index)]
      if entry.isAccepted, entry.qos == .exactlyOnce { return true }
    }
    return false
  }

  mutating func forgetReleased() { hasReleased = false }

  /// The connection is given up, so that the server sends again what was postponed. If two in a row got no further, the
  /// server does not know the identifiers either that take all the places: it has neither repeated nor released them.
  mutating func passOn() {
    fruitless = hasProgressed ? 0 : fruitless &+ 1
    guard fruitless >= 2 else { return }
    unreleased.removeUnmarked()
    dropSuperseded(.exactlyOnce, before: notRedelivered)
    fruitless = 0
  }

  // MARK: Helpers

  private mutating func nextToken() -> UInt32 {
    lastToken = lastToken == .max ? 1 : lastToken &+ 1
    return lastToken
  }

  @inline(__always)
  private mutating func append(_ entry: Entry) {
    ring[slot(pending)] = entry
    pending &+= 1
    if entry.needsPlace { reserved &+= 1 }
    peak = max(peak, count)
  }

  private func index(of identifier: PacketIdentifier, qos: QoS, before end: Int) -> Int? {
    for index in 0..<end {
      let entry = ring[slot(index)]
      if entry.identifier == identifier, entry.qos == qos { return index }
    }
    return nil
  }

  /// Tokens grow along the ring, with gaps: it is where it would be without them, or before; or behind, if
  /// it came again.
  private func index(of token: UInt32) -> Int? {
    guard pending > 0 else { return nil }
    let distance = token &- ring[head].token
    let guess = Int(truncatingIfNeeded: min(distance, UInt32(truncatingIfNeeded: pending &- 1)))
    var index = guess
    while index >= 0 {
      if ring[slot(index)].token == token { return index }
      index &-= 1
    }
    index = guess &+ 1
    while index < pending {
      if ring[slot(index)].token == token { return index }
      index &+= 1
    }
    return nil
  }

  /// Nearly always it is the first.
  @inline(__always)
  private mutating func remove(at index: Int) {
    if index < notRedelivered { notRedelivered &-= 1 }
    if ring[slot(index)].needsPlace { reserved &-= 1 }
    if index > 0 { moveUp(to: index) }
    head = slot(1)
    pending &-= 1
  }

  /// Closes the gap that one in the middle leaves.
  @inline(never)
  private mutating func moveUp(to index: Int) {
    var place = index
    while place > 0 {
      ring[slot(place)] = ring[slot(place &- 1)]
      place &-= 1
    }
  }

  @inline(__always)
  private func slot(_ index: Int) -> Int {
    let sum = head &+ index
    return sum >= ring.count ? sum &- ring.count : sum
  }
}
