import FixedMemory
import MQTTWire

/// The receiver's side of QoS 1 and 2 (§4.3): which messages were handed out and not yet acknowledged, and
/// which QoS 2 ones the server has not yet released.
///
///                    handed out        accepted, and nothing in front    PUBREL
///     PUBLISH ─────────▶ pending ──────────▶ PUBACK, gone                          QoS 1
///                           └──────────────▶ PUBREC, unreleased ────────▶ gone     QoS 2
///
/// Pending messages stand in the order in which they came on this connection, so that acknowledgements leave in
/// that order [MQTT-4.6.0-2] [MQTT-4.6.0-3] in whatever order the application gives them. In front of them are those
/// of earlier connections that have not come again.
public struct Inbox: ~Copyable {
  struct Entry: BitwiseCopyable {
    var serial: UInt32
    let identifier: PacketIdentifier
    let qos: QoS
    /// The application has it.
    var isAccepted: Bool
    /// It came on this connection; only then it can be acknowledged on it.
    var isSeen: Bool
    /// It was accepted before, and its PUBREC is only repeated.
    let isRepeat: Bool
    var reasonCode: UInt8
  }

  /// What is to be done with a message that comes.
  enum Verdict: BitwiseCopyable {
    case deliver
    case duplicate  // the application has or had it: not again
    case wait  // no room until one is acknowledged
    case tooMany  // the server goes beyond Receive Maximum
  }

  private var ring: Table<Entry>
  private var head = 0
  private var pending = 0
  private var seen = 0
  /// QoS 2 messages whose PUBREC is out; marked, those of this connection.
  private var unreleased: IdentifierSet
  private var lastSerial: UInt32 = 0
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
      // [MQTT-4.3.3-10]: PUBREC again, and nothing else.
      if pending < ring.count {
        append(identifier, qos: qos, isAccepted: true, isRepeat: true)
      }
      return .duplicate
    }
    if pending > seen || qos == .exactlyOnce, let index = index(of: identifier, qos: qos) {
      if ring[slot(index)].isSeen { return qos == .exactlyOnce ? .duplicate : .deliver }
      if qos == .exactlyOnce || duplicate {
        see(at: index)
        return .duplicate
      }
      remove(at: index)  // the server has given that one up, and uses its identifier for another
    }
    if seen &+ unreleased.markedCount >= ring.count {
      // Before 5.0 the server has not been told how many; it has to wait until an acknowledgement can leave, if
      // that is what is missing.
      return !isStrict && seen > 0 ? .wait : .tooMany
    }
    if pending == ring.count { remove(at: 0) }  // one that did not come again: else there would be room
    return .deliver
  }

  /// The message is being handed out. Its token.
  mutating func add(_ identifier: PacketIdentifier, qos: QoS) -> UInt32 {
    append(identifier, qos: qos, isAccepted: false, isRepeat: false)
    return lastSerial
  }

  /// PUBREL came. False: this message is not known.
  mutating func released(_ identifier: PacketIdentifier) -> Bool { unreleased.remove(identifier) }

  /// A PUBREL for a message that was not acknowledged on this connection.
  func isUnacknowledged(_ identifier: PacketIdentifier) -> Bool {
    guard let index = index(of: identifier, qos: .exactlyOnce) else { return false }
    return ring[slot(index)].isSeen
  }

  /// The server kept the session, or it did not, and then everything in it is gone.
  mutating func connected(sessionPresent: Bool) {
    guard sessionPresent else {
      head = 0
      pending = 0
      seen = 0
      return unreleased.removeAll()
    }
    unreleased.removeMarks()
    // A QoS 1 message that did not come again on the connection before will never do.
    var index = 0
    while index < pending {
      let entry = ring[slot(index)]
      if entry.isRepeat || (entry.qos == .atLeastOnce && !entry.isSeen) {
        remove(at: index)
      } else {
        if entry.isSeen { seen &-= 1 }
        ring[slot(index)].isSeen = false
        index &+= 1
      }
    }
  }

  // MARK: Things the application wants

  /// False: there is no such message, or it was accepted before.
  mutating func accept(_ serial: UInt32, reasonCode: UInt8) -> Bool {
    guard let index = index(of: serial) else { return false }
    let slot = slot(index)
    guard !ring[slot].isAccepted else { return false }
    ring[slot].isAccepted = true
    ring[slot].reasonCode = reasonCode
    return true
  }

  func isPending(_ serial: UInt32) -> Bool {
    guard let index = index(of: serial) else { return false }
    return !ring[slot(index)].isAccepted
  }

  /// Whether the acknowledgement of a message would be the next to leave.
  func isNext(_ serial: UInt32) -> Bool {
    guard let next = firstSeen else { return false }
    return ring[slot(next)].serial == serial
  }

  // MARK: Outputs

  /// The acknowledgement that may leave now; `removeNext` follows when it does.
  var next: Acknowledgement? {
    guard let index = firstSeen else { return nil }
    let entry = ring[slot(index)]
    guard entry.isAccepted else { return nil }
    return Acknowledgement(
      type: entry.qos == .atLeastOnce ? .puback : .pubrec, identifier: entry.identifier,
      rawReasonCode: entry.reasonCode)
  }

  mutating func removeNext() {
    guard let index = firstSeen else { return }
    let entry = ring[slot(index)]
    // With a refusal the exchange ends [MQTT-4.3.3-9].
    if entry.qos == .exactlyOnce, entry.reasonCode < 0x80 { unreleased.insert(entry.identifier) }
    remove(at: index)
  }

  // MARK: Helpers

  private mutating func append(
    _ identifier: PacketIdentifier, qos: QoS, isAccepted: Bool, isRepeat: Bool
  ) {
    lastSerial = lastSerial == .max ? 1 : lastSerial &+ 1
    ring[slot(pending)] = Entry(
      serial: lastSerial, identifier: identifier, qos: qos, isAccepted: isAccepted, isSeen: true,
      isRepeat: isRepeat, reasonCode: 0)
    pending &+= 1
    seen &+= 1
    peak = max(peak, count)
  }

  private var firstSeen: Int? { seen > 0 ? pending &- seen : nil }

  /// A message has come again: it takes its place among those of this connection.
  private mutating func see(at index: Int) {
    var entry = ring[slot(index)]
    remove(at: index)
    entry.isSeen = true
    ring[slot(pending)] = entry
    pending &+= 1
    seen &+= 1
  }

  private func index(of identifier: PacketIdentifier, qos: QoS) -> Int? {
    for index in 0..<pending {
      let entry = ring[slot(index)]
      if entry.identifier == identifier, entry.qos == qos { return index }
    }
    return nil
  }

  private func index(of serial: UInt32) -> Int? {
    guard pending > 0 else { return nil }
    // As long as nothing came again, serials grow along the ring, with gaps: it is where it would be without
    // them, or before.
    let distance = serial &- ring[head].serial
    let guess = Int(truncatingIfNeeded: min(distance, UInt32(truncatingIfNeeded: pending &- 1)))
    var index = guess
    while index >= 0 {
      if ring[slot(index)].serial == serial { return index }
      index &-= 1
    }
    index = guess &+ 1
    while index < pending {
      if ring[slot(index)].serial == serial { return index }
      index &+= 1
    }
    return nil
  }

  /// Nearly always the first.
  private mutating func remove(at index: Int) {
    if ring[slot(index)].isSeen { seen &-= 1 }
    var place = index
    while place > 0 {
      ring[slot(place)] = ring[slot(place &- 1)]
      place &-= 1
    }
    head = slot(1)
    pending &-= 1
  }

  @inline(__always)
  private func slot(_ index: Int) -> Int {
    let sum = head &+ index
    return sum >= ring.count ? sum &- ring.count : sum
  }
}
