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
  /// How many of them have not come on this connection, and cannot be acknowledged on it.
  var notRedelivered = 0
  /// QoS 2 messages whose PUBREC is out; marked, those of this connection.
  var awaitingPubrel: IdentifierSet
  /// How many pending messages will have to get into it.
  var reserved = 0
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
  private(set) var peak = 0

  init(ring: consuming Table<Entry>, awaitingPubrel: consuming IdentifierSet) {
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
    removeNext()
    return Acknowledgement(type: entry.acknowledgementType, identifier: entry.identifier)
  }

  /// Handles a PUBREL. Returns false if its message is not known.
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

  @inline(__always)
  mutating func removeNext() {
    // A PUBREC with a refusal ends the exchange, so no PUBREL follows [MQTT-4.3.3-9].
    let entry = ring[at: notRedelivered]
    if entry.qos == .exactlyOnce, entry.reasonCode < 0x80, !awaitingPubrel.insert(entry.identifier.rawValue) {
      hasForgotten = true
    }
    remove(at: notRedelivered)
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
    if entry.needsIdentifierRoom { reserved &+= 1 }
    peak = max(peak, count)
  }

  func index(of identifier: PacketIdentifier, qos: QoS, before end: Int) -> Int? {
    for index in 0..<end {
      let entry = ring[at: index]
      if entry.identifier == identifier, entry.qos == qos { return index }
    }
    return nil
  }

  /// Tokens grow along the ring, with gaps. So an entry is at the index that it would have without gaps, or
  /// in front of it; or behind it, if the message was resent.
  private func index(of token: UInt32) -> Int? {
    guard ring.count > 0 else { return nil }
    let distance = token &- ring[at: 0].token
    let guess = Int(truncatingIfNeeded: min(distance, UInt32(truncatingIfNeeded: ring.count &- 1)))
    var index = guess
    while index >= 0 {
      if ring[at: index].token == token { return index }
      index &-= 1
    }
    index = guess &+ 1
    while index < ring.count {
      if ring[at: index].token == token { return index }
      index &+= 1
    }
    return nil
  }

  /// Removes an entry, which is nearly always the first.
  @inline(__always)
  mutating func remove(at index: Int) {
    if index < notRedelivered { notRedelivered &-= 1 }
    if ring[at: index].needsIdentifierRoom { reserved &-= 1 }
    if index > 0 { moveUp(to: index) }
    ring.removeFirst()
  }

  /// Closes the gap of an entry in the middle.
  @inline(never)
  private mutating func moveUp(to index: Int) {
    var position = index
    while position > 0 {
      ring[at: position] = ring[at: position &- 1]
      position &-= 1
    }
  }
}
