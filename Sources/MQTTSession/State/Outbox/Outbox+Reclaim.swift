import Journal
import MQTTWire
import Storage

/// Gaps: free descriptors behind older messages. They stay until a message needs a descriptor and there is no
/// other; then all are closed at once. That takes a step for each message behind them, so a large ring has
/// some descriptors more than messages: it fills up with gaps only after as many messages have ended, which
/// pays for it.
///
/// A gap can be closed as long as the server knows no message behind it by its identifier.
extension Outbox {
  /// Returns how many descriptors a ring has for so many messages.
  static func descriptorCount(messages: Int, _ identifiers: IdentifierRange) -> Int {
    messages < 512 ? messages : min(messages &+ messages / 8, identifiers.count)
  }

  /// Whether there is a descriptor for one more message.
  var hasDescriptor: Bool {
    descriptors.count < most || (messageCount < messageCapacity && firstGap != nil)
  }

  /// Makes sure that there is a descriptor for one more message, closing the gaps if it takes that.
  @inline(never)
  mutating func ensureDescriptor() -> Bool {
    if descriptors.count < most { return true }
    guard messageCount < messageCapacity else { return false }
    guard let gap = firstGap else {
      // A program that tries again and again must not make the outbox search all of them each time.
      if !isIdentifierFixed { mayHaveGaps = false }
      return false
    }
    closeGaps(from: gap)
    return true
  }

  /// Handles that a descriptor behind older ones is free.
  @inline(never)
  mutating func addGap() {
    mayHaveGaps = true
    gaps &+= 1
    gapsChanged()
    hasNewRoom = isStarved
  }

  mutating func gapsChanged() { fullAt = isJournaled ? 0 : most }

  /// How many descriptors may be in use.
  private var most: Int { min(messageCapacity &+ gaps, descriptors.capacity) }

  /// The index of the first gap that can be closed.
  private var firstGap: Int? {
    @inline(never) get {
      guard mayHaveGaps, gaps > 0 else { return nil }
      var index = known
      // The packet that is sent next keeps its identifier.
      if isIdentifierFixed, descriptors[sendSlot].qos != .atMostOnce {
        index = max(index, descriptors.index(of: sendSlot) &+ 1)
      }
      while index < descriptors.count {
        if descriptors[at: index].state == .free { return index }
        index &+= 1
      }
      return nil
    }
  }

  /// The identifier of the packet that is sent next cannot change: a part of the packet was sent, or the
  /// prefix that is sent before it names the identifier.
  private var isIdentifierFixed: Bool { isInsidePacket || prefixEnd > 0 }

  /// Moves the messages behind a gap up, and those behind the next ones. They get the identifiers that belong
  /// to their new indexes.
  @_optimize(size)
  private mutating func closeGaps(from gap: Int) {
    let (firstLive, firstUnsent) = (descriptors.count &- live, descriptors.count &- unsent)
    let streamIndex = stream.map { descriptors.index(of: $0.slot) }
    moveCompletions(behind: gap)
    latest.removeAll()
    expiries.removeAll()
    var target = 0
    for index in 0..<descriptors.count {
      let slot = descriptors.slot(at: target)
      let message = descriptors[at: index]
      if index >= gap, message.state == .free {
        if index >= firstLive { live &-= 1 }
        if index >= firstUnsent { unsent &-= 1 }
        continue
      }
      if target < index {
        if message.flags.contains(.isStored) {
          stored.element.moved(from: descriptors.slot(at: index), to: slot)
        }
        descriptors[slot] = message
        setIdentifier(slot, identifier(at: target))
        if message.flags.contains(.isRequest) { hasMovedRequests = true }
        if streamIndex == index { stream?.slot = slot }
      }
      if message.flags.contains(.isLatest) { link(slot) }
      if message.flags.contains(.expires), message.state.mayBePublished {
        expiries.add(message.expiresAt, at: slot)
      }
      target &+= 1
    }
    gaps &-= descriptors.count &- target
    restartExpendable(from: gap)
    while descriptors.count > target { descriptors.removeLast() }
    first = descriptors.slot(at: target &- live)
    sendSlot = descriptors.slot(at: target &- unsent)
    readySlot = descriptors.slot(sendSlot, plus: windowCount)
    // Those in front of a packet that is partly sent are left.
    mayHaveGaps = isIdentifierFixed
    gapsChanged()
    numbersChanged()
    bytes.forgetRoom()
    hasNewRoom = isStarved
  }

  /// Adapts the list of completions, which is linked by slot, to what `closeGaps` is about to do. What is
  /// complete does not expire, so its slot to be is noted there.
  @_optimize(size)
  private mutating func moveCompletions(behind gap: Int) {
    guard hasCompletion else { return }
    var target = gap
    for index in gap..<descriptors.count where descriptors[at: index].state != .free {
      if descriptors[at: index].state == .completed {
        descriptors[at: index].expiresAt = UInt32(truncatingIfNeeded: descriptors.slot(at: target))
      }
      target &+= 1
    }
    var link = firstCompleted
    while link != Outbox.none {
      let slot = Int(truncatingIfNeeded: link)
      link = descriptors[slot].link
      descriptors[slot].link = moved(link, behind: gap)
    }
    firstCompleted = moved(firstCompleted, behind: gap)
    lastCompleted = moved(lastCompleted, behind: gap)
  }

  private func moved(_ link: UInt32, behind gap: Int) -> UInt32 {
    guard link != Outbox.none else { return link }
    let slot = Int(truncatingIfNeeded: link)
    return descriptors.index(of: slot) > gap ? descriptors[slot].expiresAt : link
  }

  mutating func setIdentifier(_ slot: Int, _ identifier: PacketIdentifier) {
    let message = descriptors[slot]
    guard message.state.isOpen, message.qos != .atMostOnce else { return }
    var position = topicOffset(message)
    position &+= 2 &+ (Int(bytes.bytes[position]) << 8 | Int(bytes.bytes[position &+ 1]))
    var writer = ByteWriter(bytes.mutableBytes(in: position..<position &+ 2))
    writer.put(identifier.rawValue)
  }
}
