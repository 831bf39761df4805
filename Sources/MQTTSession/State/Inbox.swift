import MQTTWire
import Storage

/// The receiver's side of QoS 1 and 2 (§4.3): which messages were handed out and not yet acknowledged, and for
/// which QoS 2 messages PUBREL has not come.
///
///                    handed out        accepted, and nothing in front    PUBREL
///     PUBLISH ─────────▶ pending ──────────▶ PUBACK, gone                          QoS 1
///                           └──────────────▶ PUBREC, awaiting PUBREL ───▶ gone     QoS 2
///
/// Pending messages are kept in the order in which they came, so that acknowledgements are sent in that order
/// [MQTT-4.6.0-2] [MQTT-4.6.0-3], whatever the order in which the application gives them. Messages of earlier
/// connections come first. One that is resent on this connection moves behind those that came before it.
public struct Inbox: ~Copyable {
  struct Entry: BitwiseCopyable {
    var token: UInt32
    let identifier: PacketIdentifier
    let qos: QoS
    /// The application has it.
    var isAccepted: Bool
    /// It was accepted before, and its PUBREC is only repeated.
    let isRepeatedPubrec: Bool
    var reasonCode: UInt8 = 0

    var acknowledgementType: ControlPacketType {
      @inline(__always) get { qos == .atLeastOnce ? .puback : .pubrec }
    }

    /// Whether its identifier will be put into `awaitingPubrel` and is not there yet.
    var needsIdentifierRoom: Bool { qos == .exactlyOnce && !isRepeatedPubrec }
  }

  /// What to do with a message that comes.
  enum Verdict: BitwiseCopyable {
    case deliver
    case duplicate  // the application has or had it: not again
    case repeatPubrec  // the same, and PUBREC goes at once
    case wait  // no room until the application acknowledges one
    case postpone  // no room for its identifier: it is left to a later connection
    case tooMany  // the server goes beyond Receive Maximum
  }

  var ring: FixedRing<Entry>
  /// Finds entries of `ring` by their identifiers: those of QoS 2 and, of QoS 1, those that have not come on this
  /// connection. No others are searched for.
  var index: HashIndex
  /// How many of them have not come on this connection, and cannot be acknowledged on it.
  var notRedelivered: Int {
    @inline(__always) get { Int(notRedeliveredCount) }
    @inline(__always) set { notRedeliveredCount = UInt16(truncatingIfNeeded: newValue) }
  }
  /// QoS 2 messages whose PUBREC is out; marked, those of this connection.
  var awaitingPubrel: IdentifierSet
  /// How many pending messages will have to get into it.
  var reserved: Int {
    @inline(__always) get { Int(reservedCount) }
    @inline(__always) set { reservedCount = UInt16(truncatingIfNeeded: newValue) }
  }
  /// No message of this session comes again on another connection (§4.1).
  var endsWithConnection = false
  /// Identifiers of this connection did not get into `awaitingPubrel`; only if `endsWithConnection`.
  var hasForgotten = false
  /// A message of QoS 2 was left to a later connection; so are all that come behind it, as they have to keep their
  /// order [MQTT-4.6.0-6].
  var isPostponing = false
  /// A QoS 2 identifier has found room on this connection, or PUBREL has freed some.
  var hasProgressed = false
  /// PUBREL has freed room since `forgetPubrels`.
  var hasReceivedPubrel = false
  /// How many connections in a row brought the backlog no further.
  var reconnectsWithoutProgress: UInt8 = 0
  private var lastToken: UInt32 = 0
  /// Whether the server has the session is known, not assumed: 3.1 does not say.
  var isSessionKnown = true
  /// The server had kept the session.
  var isResumed = false
  /// The server is past what it sends again [MQTT-4.6.0-1]: what has not come by now will never do.
  var redeliveryIsOver = false
  private let inPlace = InPlace()
  // There are at most 65,535 entries.
  private var notRedeliveredCount: UInt16 = 0
  private var reservedCount: UInt16 = 0
  private(set) var peak = 0

  /// The largest inbox without an index, in which all entries are compared.
  private static var entriesWithoutIndex: Int { 64 }

  static func linkCount(for entries: Int) -> Int {
    HashIndex.linkCount(for: entries, without: entriesWithoutIndex)
  }

  init(
    ring: consuming Table<Entry>, links: consuming Table<UInt16>, awaitingPubrel: consuming IdentifierSet
  ) {
    index = HashIndex(links: links)
    self.ring = FixedRing(ring)
    self.awaitingPubrel = awaitingPubrel
  }

  var maximum: Int { ring.capacity }
  var count: Int { ring.count &+ awaitingPubrel.count }

  /// Something may be ready to be acknowledged.
  var hasPending: Bool { ring.count > 0 }

  // MARK: Things that happened

  /// Adds a message that is being handed out, and returns its token.
  @inline(__always)
  mutating func add(_ identifier: PacketIdentifier, qos: QoS) -> UInt32 {
    append(
      Entry(token: nextToken(), identifier: identifier, qos: qos, isAccepted: false, isRepeatedPubrec: false))
    return lastToken
  }

  /// Accepts a message whose acknowledgement is the next to be sent, and removes it. Returns `nil` if it is
  /// not the next; `accept` remembers it then.
  @inline(__always)
  mutating func acceptNext(_ token: UInt32) -> Acknowledgement? {
    guard isNext(token) else { return nil }
    let entry = ring[at: notRedelivered]
    guard !entry.isAccepted else { return nil }
    // This one is neither in the index nor in front of others.
    if entry.qos == .atLeastOnce, notRedelivered == 0 { ring.removeFirst() } else { removeNext() }
    return Acknowledgement(type: entry.acknowledgementType, identifier: entry.identifier)
  }

  /// The same, for messages that are not plain.
  @inline(never)
  mutating func addOutOfLine(_ identifier: PacketIdentifier, qos: QoS) -> UInt32 { add(identifier, qos: qos) }

  /// Handles a PUBREL. Returns false if its message is not known.
  @inline(never)
  mutating func receivedPubrel(_ identifier: PacketIdentifier) -> Bool {
    // With PUBREL the server has shown that it has the PUBREC, which need not be repeated any more.
    if let index = index(of: identifier, qos: .exactlyOnce, before: ring.count),
      ring[at: index].isRepeatedPubrec
    {
      remove(at: index)
    }
    guard awaitingPubrel.remove(identifier.rawValue) else { return hasForgotten }
    hasReceivedPubrel = true
    hasProgressed = true
    return true
  }

  /// Returns whether a PUBREL is for a message that was not acknowledged on this connection.
  func isUnacknowledged(_ identifier: PacketIdentifier) -> Bool {
    guard let index = index(of: identifier, qos: .exactlyOnce, before: ring.count) else { return false }
    return index >= notRedelivered && !ring[at: index].isRepeatedPubrec
  }

  // MARK: Things the application wants

  /// Returns false if there is no such message, or if it was accepted before.
  mutating func accept(_ token: UInt32, reasonCode: UInt8) -> Bool {
    guard let index = index(of: token) else { return false }
    let slot = ring.slot(at: index)
    guard !ring[slot].isAccepted else { return false }
    ring[slot].isAccepted = true
    ring[slot].reasonCode = reasonCode
    return true
  }

  func identifier(of token: UInt32) -> PacketIdentifier? {
    guard let index = index(of: token) else { return nil }
    return ring[at: index].identifier
  }

  func isExactlyOnce(_ token: UInt32) -> Bool {
    guard let index = index(of: token) else { return false }
    return ring[at: index].qos == .exactlyOnce
  }

  func isPending(_ token: UInt32) -> Bool {
    guard let index = index(of: token) else { return false }
    return !ring[at: index].isAccepted
  }

  /// Returns whether the acknowledgement of a message is the next to be sent.
  @inline(__always)
  func isNext(_ token: UInt32) -> Bool {
    ring.count > notRedelivered && ring[at: notRedelivered].token == token
  }

  // MARK: Outputs

  /// The acknowledgement that may be sent now. `removeNext` follows when it is sent.
  var next: Acknowledgement? {
    guard ring.count > notRedelivered else { return nil }
    let entry = ring[at: notRedelivered]
    guard entry.isAccepted else { return nil }
    return Acknowledgement(
      type: entry.acknowledgementType, identifier: entry.identifier,
      rawReasonCode: entry.reasonCode)
  }

  @inline(never)
  mutating func removeNext() {
    // A PUBREC with a refusal ends the exchange, so no PUBREL follows [MQTT-4.3.3-9].
    let entry = ring[at: notRedelivered]
    if entry.qos == .exactlyOnce, entry.reasonCode < 0x80, !awaitingPubrel.insert(entry.identifier.rawValue) {
      hasForgotten = true
    }
    if index.isEmpty, notRedelivered == 0 {
      if entry.needsIdentifierRoom { reserved &-= 1 }
      ring.removeFirst()
    } else {
      remove(at: notRedelivered)
    }
  }

  // MARK: Helpers

  mutating func nextToken() -> UInt32 {
    lastToken = Self.token(after: lastToken)
    return lastToken
  }

  /// Tokens are numbers in a row, without 0.
  static func token(after token: UInt32) -> UInt32 { token == .max ? 1 : token &+ 1 }

  @inline(__always)
  mutating func append(_ entry: Entry) {
    ring.append(entry)
    if !index.isEmpty, entry.qos == .exactlyOnce { link(ring.count &- 1) }
    if entry.needsIdentifierRoom { reserved &+= 1 }
    peak = max(peak, count)
  }

  func index(of identifier: PacketIdentifier, qos: QoS, before end: Int) -> Int? {
    guard end > 0 else { return nil }
    guard index.isEmpty else { return indexedIndex(of: identifier, qos: qos, before: end) }
    for index in 0..<end {
      let entry = ring[at: index]
      if entry.identifier == identifier, entry.qos == qos { return index }
    }
    return nil
  }

  @inline(never)
  @_optimize(size)
  private func indexedIndex(of identifier: PacketIdentifier, qos: QoS, before end: Int) -> Int? {
    var first = end
    var candidate = index.first(UInt32(identifier.rawValue), of: 0)
    while let slot = candidate {
      if ring[slot].identifier == identifier, ring[slot].qos == qos {
        first = min(first, ring.index(of: slot))
      }
      candidate = index.next(slot, of: 0)
    }
    return first < end ? first : nil
  }

  /// Tokens grow along the ring, with gaps: so an entry is nearly always at the index that it would have without
  /// gaps.
  @inline(never)
  private func index(of token: UInt32) -> Int? {
    guard ring.count > 0 else { return nil }
    let distance = token &- ring[at: 0].token
    let guess = Int(truncatingIfNeeded: min(distance, UInt32(truncatingIfNeeded: ring.count &- 1)))
    return ring[at: guess].token == token ? guess : furtherIndex(of: token)
  }

  /// The messages that were resent have kept their tokens, and are behind those that were not. In each part tokens
  /// grow, if the server keeps the order [MQTT-4.6.0-1], and most of them are where they would be without gaps.
  @inline(never)
  @_optimize(size)
  private func furtherIndex(of token: UInt32) -> Int? {
    var low = notRedelivered
    var end = ring.count
    for _ in 0..<2 {
      var probe = low
      if low < end {
        let distance = token &- ring[at: low].token
        probe &+= Int(truncatingIfNeeded: min(distance, UInt32(truncatingIfNeeded: end &- 1 &- low)))
      }
      while low < end {
        let difference = token &- ring[at: probe].token
        if difference == 0 { return probe }
        if Int32(bitPattern: difference) < 0 { end = probe } else { low = probe &+ 1 }
        probe = (low &+ end) / 2
      }
      low = 0
      end = notRedelivered
    }
    for index in 0..<ring.count where ring[at: index].token == token { return index }
    return nil
  }

  /// Removes an entry, and moves those up that are before or behind it, whichever are fewer.
  @inline(never)
  @_optimize(size)
  mutating func remove(at gap: Int) {
    if ring[at: gap].needsIdentifierRoom { reserved &-= 1 }
    if isLinked(gap) { unlink(gap) }
    let isInFront = gap <= ring.count / 2
    let step = isInFront ? -1 : 1
    let end = isInFront ? 0 : ring.count &- 1
    var position = gap
    while position != end {
      move(position &+ step, to: position)
      position &+= step
    }
    if isInFront { ring.removeFirst() } else { ring.removeLast() }
    if gap < notRedelivered { notRedelivered &-= 1 }
  }

  // MARK: The index

  @inline(never)
  @_optimize(size)
  func isLinked(_ position: Int) -> Bool {
    !index.isEmpty && (position < notRedelivered || ring[at: position].qos == .exactlyOnce)
  }

  @inline(never)
  @_optimize(size)
  mutating func link(_ position: Int) {
    index.insert(ring.slot(at: position), UInt32(ring[at: position].identifier.rawValue))
  }

  @inline(never)
  @_optimize(size)
  mutating func unlink(_ position: Int) {
    index.remove(ring.slot(at: position), UInt32(ring[at: position].identifier.rawValue))
  }

  /// Copies an entry to another place, in the stead of the one there.
  @inline(never)
  @_optimize(size)
  mutating func move(_ position: Int, to target: Int) {
    let isLinked = isLinked(position)
    if isLinked { unlink(position) }
    ring[at: target] = ring[at: position]
    if isLinked { link(target) }
  }
}
