import MQTTWire
import Storage

/// The receiver's side of QoS 1 and 2 (§4.3): which messages were handed out and not yet acknowledged, and
/// which QoS 2 ones the server has not yet released.
///
///                    handed out        accepted, and nothing in front    PUBREL
///     PUBLISH ─────────▶ pending ──────────▶ PUBACK, gone                          QoS 1
///                           └──────────────▶ PUBREC, awaitingPubrel ────────▶ gone     QoS 2
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
    let isRepeatedPubrec: Bool
    var reasonCode: UInt8 = 0

    var acknowledgementType: ControlPacketType {
      @inline(__always) get { qos == .atLeastOnce ? .puback : .pubrec }
    }

    /// Its identifier will get into `awaitingPubrel`, and is not there yet.
    var needsIdentifierRoom: Bool { qos == .exactlyOnce && !isRepeatedPubrec }
  }

  /// What is to be done with a message that comes.
  enum Verdict: BitwiseCopyable {
    case deliver
    case duplicate  // the application has or had it: not again
    case repeatPubrec  // the same, and PUBREC goes at once
    case wait  // no room until the application acknowledges one
    case postpone  // no place for its identifier: it is left to a later connection
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
  /// A QoS 2 message has got a place on this connection, or PUBREL has freed one.
  var hasProgressed = false
  /// PUBREL has freed a place since `forgetProgress`.
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

  /// The message is being handed out. Its token.
  @inline(__always)
  mutating func add(_ identifier: PacketIdentifier, qos: QoS) -> UInt32 {
    append(
      Entry(token: nextToken(), identifier: identifier, qos: qos, isAccepted: false, isRepeatedPubrec: false))
    return lastToken
  }

  /// The application has done with a message whose acknowledgement is the next to leave: takes it out. `nil`: it is not the
  /// next, and `accept` is to remember it.
  @inline(__always)
  mutating func acceptNext(_ token: UInt32) -> Acknowledgement? {
    guard isNext(token) else { return nil }
    let entry = ring[at: notRedelivered]
    guard !entry.isAccepted else { return nil }
    removeNext()
    return Acknowledgement(type: entry.acknowledgementType, identifier: entry.identifier)
  }

  /// PUBREL came. False: this message is not known.
  mutating func receivedPubrel(_ identifier: PacketIdentifier) -> Bool {
    // Its PUBREC need not be repeated any more.
    if let index = index(of: identifier, qos: .exactlyOnce, before: ring.count), ring[at: index].isRepeatedPubrec {
      remove(at: index)
    }
    guard awaitingPubrel.remove(identifier.rawValue) else { return hasForgotten }
    hasReceivedPubrel = true
    hasProgressed = true
    return true
  }

  /// A PUBREL for a message that was not acknowledged on this connection.
  func isUnacknowledged(_ identifier: PacketIdentifier) -> Bool {
    guard let index = index(of: identifier, qos: .exactlyOnce, before: ring.count) else { return false }
    return index >= notRedelivered && !ring[at: index].isRepeatedPubrec
  }

  // MARK: Things the application wants

  /// False: there is no such message, or it was accepted before.
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

  /// Whether the acknowledgement of a message would be the next to leave.
  @inline(__always)
  func isNext(_ token: UInt32) -> Bool {
    ring.count > notRedelivered && ring[at: notRedelivered].token == token
  }

  // MARK: Outputs

  /// The acknowledgement that may leave now; `removeNext` follows when it does.
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
    // With a refusal the exchange ends [MQTT-4.3.3-9].
    let entry = ring[at: notRedelivered]
    if entry.qos == .exactlyOnce, entry.reasonCode < 0x80, !awaitingPubrel.insert(entry.identifier.rawValue) {
      hasForgotten = true
    }
    remove(at: notRedelivered)
  }

  // MARK: Helpers

  mutating func nextToken() -> UInt32 {
    lastToken = lastToken == .max ? 1 : lastToken &+ 1
    return lastToken
  }

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

  /// Tokens grow along the ring, with gaps: it is where it would be without them, or before; or behind, if
  /// it came again.
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

  /// Nearly always it is the first.
  @inline(__always)
  mutating func remove(at index: Int) {
    if index < notRedelivered { notRedelivered &-= 1 }
    if ring[at: index].needsIdentifierRoom { reserved &-= 1 }
    if index > 0 { moveUp(to: index) }
    ring.removeFirst()
  }

  /// Closes the gap that one in the middle leaves.
  @inline(never)
  private mutating func moveUp(to index: Int) {
    var position = index
    while position > 0 {
      ring[at: position] = ring[at: position &- 1]
      position &-= 1
    }
  }
}
