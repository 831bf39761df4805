import MQTTWire
import Storage

/// The messages that may make room for others: how much room that is, which is the oldest, and those of a
/// topic.
extension Outbox {
  struct Expendable: BitwiseCopyable {
    /// How many there are, and how many bytes they have.
    fileprivate var count = 0
    fileprivate(set) var bytes = 0
    /// How many of them need no descriptor any more once they are dropped.
    fileprivate(set) var quiet = 0
    /// None is in front of this slot, but for one of which a part is sent; `nowhere`: there are none.
    fileprivate(set) var from = Expendable.nowhere
    /// While some are quiet, none of those is in front of this slot. It is never in front of `from`.
    fileprivate(set) var quietFrom = Expendable.nowhere

    fileprivate static var nowhere: Int { -1 }
  }

  /// Handles that a message is queued which has the flag.
  @inline(never)
  mutating func addExpendable(_ slot: Int) {
    let message = descriptors[slot]
    if expendable.from == Expendable.nowhere || isInFront(slot, of: expendable.from) {
      expendable.from = slot
    }
    expendable.count &+= 1
    expendable.bytes &+= message.size
    if message.flags.contains(.isQuiet) {
      if expendable.quiet == 0 || isInFront(slot, of: expendable.quietFrom) { expendable.quietFrom = slot }
      expendable.quiet &+= 1
    }
    if message.flags.contains(.isLatest) { link(slot) }
  }

  /// Takes the flag from a message, which is sent or has ended.
  @inline(never)
  mutating func removeExpendable(_ slot: Int) {
    let message = descriptors[slot]
    expendable.count &-= 1
    expendable.bytes &-= message.size
    if message.flags.contains(.isQuiet) { expendable.quiet &-= 1 }
    if expendable.count == 0 { expendable.from = Expendable.nowhere }
    if message.flags.contains(.isLatest) { unlink(slot) }
    descriptors[slot].flags.set(.isExpendable, false)
    descriptors[slot].flags.set(.isLatest, false)
  }

  private func isInFront(_ slot: Int, of other: Int) -> Bool {
    descriptors.index(of: slot) < descriptors.index(of: other)
  }

  /// Lets the search begin one slot later: the one where it would begin is not expendable, or about to be free.
  @inline(never)
  mutating func passExpendable() {
    let next = descriptors.slot(after: expendable.from)
    if expendable.quietFrom == expendable.from { expendable.quietFrom = next }
    expendable.from = next
  }

  /// Lets the searches begin at an index, if they would begin behind it. The one of which a part was sent may be
  /// dropped again when the connection is gone.
  @inline(never)
  mutating func restartExpendable(from index: Int = 0) {
    guard expendable.from != Expendable.nowhere else { return }
    let slot = descriptors.slot(at: index)
    if isInFront(slot, of: expendable.from) { expendable.from = slot }
    if isInFront(slot, of: expendable.quietFrom) { expendable.quietFrom = slot }
  }

  /// Counts the bytes again, after packets were adapted to a connection.
  @_optimize(size)
  mutating func recountBytes() {
    openBytes = 0
    expendable.bytes = 0
    var slot = first
    for _ in 0..<live {
      let message = descriptors[slot]
      if message.state.isOpen { openBytes &+= message.size }
      if message.state == .queued, message.flags.contains(.isExpendable) { expendable.bytes &+= message.size }
      slot = descriptors.slot(after: slot)
    }
  }

  // MARK: The oldest

  /// How many bytes those have that may be dropped: all but the one of which a part is sent.
  var expendableBytes: Int { expendable.bytes &- (isFirstBegun ? descriptors[sendSlot].size : 0) }

  /// Whether one may be dropped that needs no descriptor then.
  var hasQuietExpendable: Bool {
    expendable.quiet > (isFirstBegun && descriptors[sendSlot].flags.contains(.isQuiet) ? 1 : 0)
  }

  private var isFirstBegun: Bool { isBegun(sendSlot) && descriptors[sendSlot].flags.contains(.isExpendable) }

  /// Returns the slot of the oldest that may be dropped. A message whose end is reported keeps its descriptor
  /// until then.
  @_optimize(size)
  mutating func oldestExpendable(isQuiet: Bool) -> Int? {
    guard isQuiet ? hasQuietExpendable : expendableBytes > 0 else { return nil }
    let begun = isFirstBegun ? sendSlot : Expendable.nowhere
    var slot = isQuiet ? expendable.quietFrom : expendable.from
    while true {
      let (flags, state) = (descriptors[slot].flags, descriptors[slot].state)
      if flags.contains(.isExpendable), state == .queued, slot != begun, !isQuiet || flags.contains(.isQuiet)
      {
        return slot
      }
      guard slot != newestSlot else { return nil }
      slot = descriptors.slot(after: slot)
      if isQuiet { expendable.quietFrom = slot } else { passExpendable() }
    }
  }

  // MARK: Of a topic

  /// Adds a message to the chain of its topic. None in it that has the same topic is newer.
  mutating func link(_ slot: Int) {
    let hash = descriptors[slot].tag
    descriptors[slot].order = latest[hash]
    latest[hash] = UInt16(truncatingIfNeeded: slot)
  }

  @inline(never)
  private mutating func unlink(_ slot: Int) {
    let (hash, next) = (descriptors[slot].tag, descriptors[slot].order)
    var other = latest[hash]
    guard Int(other) != slot else { return latest[hash] = next }
    // It is in the chain.
    while Int(descriptors[Int(other)].order) != slot { other = descriptors[Int(other)].order }
    descriptors[Int(other)].order = next
  }

  /// Returns the first and the last queued message with this topic that a newer one replaces.
  func waiting(_ topic: Span<UInt8>) -> (oldest: Int, newest: Int)? {
    let hash = TopicHash.short(of: topic)
    var found: (oldest: Int, newest: Int)? = nil
    var link = latest[hash]
    while link != LatestChains.none {
      let slot = Int(link)
      let message = descriptors[slot]
      if message.tag == hash, !isBegun(slot), hasTopic(topic, message) {
        found = (slot, found?.newest ?? slot)
      }
      link = message.order
    }
    return found
  }

  private func hasTopic(_ topic: Span<UInt8>, _ message: Descriptor) -> Bool {
    let position = topicOffset(message)
    guard Int(bytes.bytes[position]) << 8 | Int(bytes.bytes[position &+ 1]) == topic.count else {
      return false
    }
    for index in 0..<topic.count where bytes.bytes[position &+ 2 &+ index] != topic[index] { return false }
    return true
  }

  /// Returns where the topic of a packet begins, with its length.
  func topicOffset(_ message: Descriptor) -> Int {
    var position = message.start &+ 1
    while bytes.bytes[position] >= 0x80 { position &+= 1 }
    return position &+ 1
  }
}
