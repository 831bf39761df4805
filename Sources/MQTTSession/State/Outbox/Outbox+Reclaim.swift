import MQTTWire
import Storage

/// Freeing descriptors in the middle. The gap can be closed as long as the server knows no message behind
/// it by its identifier.
extension Outbox {
  /// Closes the gap of a message about which nothing remains to be reported, if those behind it were never
  /// sent: they move up, and get the identifiers that belong to their new indexes.
  mutating func removeFree(_ gap: Int) {
    let gapIndex = descriptors.index(of: gap)
    guard gapIndex < descriptors.count, descriptors[gap].state == .free, gapIndex >= known,
      !isBegun(from: gapIndex)
    else {
      return
    }
    if gapIndex < descriptors.count &- 1 { moveCompletions(behind: gapIndex) }
    var slot = gap
    for index in gapIndex..<descriptors.count &- 1 {
      let next = descriptors.slot(after: slot)
      descriptors[slot] = descriptors[next]
      setIdentifier(slot, identifier(at: index))
      slot = next
    }
    if Feature.hasStreams, let moved = stream?.slot, descriptors.index(of: moved) > gapIndex {
      let slot = descriptors.slot(before: moved)
      stream?.slot = slot
    }
    if descriptors.count &- live > gapIndex { first = descriptors.slot(before: first) } else { live &-= 1 }
    if descriptors.count &- unsent > gapIndex {
      // `sendSlot` had moved past it.
      sendSlot = descriptors.slot(before: sendSlot)
      readySlot = descriptors.slot(before: readySlot)
    } else {
      unsent &-= 1
    }
    forgetNewest()
    bytes.forgetRoom()
    hasNewRoom = isStarved
  }

  /// Whether there is a descriptor for one more message.
  var hasDescriptor: Bool { descriptors.count < descriptors.capacity || reclaimable != nil }

  /// Frees a descriptor in the middle whose completion has been taken, when the outbox is full.
  @inline(never)
  mutating func reclaim() -> Bool {
    guard let slot = reclaimable else {
      // A program that tries again and again must not make the outbox search all of them each time.
      if !isIdentifierFixed { hasGap = false }
      return false
    }
    removeFree(slot)
    return true
  }

  private var reclaimable: Int? {
    guard hasGap else { return nil }
    for gapIndex in known..<max(known, descriptors.count) {
      let slot = descriptors.slot(at: gapIndex)
      if descriptors[slot].state == .free, !isBegun(from: gapIndex) { return slot }
    }
    return nil
  }

  /// Returns whether the message at an index, which may have ended meanwhile, or one behind it is about to be
  /// sent with its identifier.
  private func isBegun(from gapIndex: Int) -> Bool {
    isIdentifierFixed && descriptors[sendSlot].qos != .atMostOnce
      && descriptors.index(of: sendSlot) >= gapIndex
  }

  /// The identifier of the packet that is sent next cannot change: a part of the packet was sent, or the prefix
  /// that is sent before it names the identifier.
  private var isIdentifierFixed: Bool { isInsidePacket || prefixEnd > 0 }

  /// Adapts the list of completions, which is linked by slot.
  private mutating func moveCompletions(behind gapIndex: Int) {
    var slot = firstCompleted
    while slot != Outbox.none {
      let next = descriptors[Int(truncatingIfNeeded: slot)].link
      descriptors[Int(truncatingIfNeeded: slot)].link = moved(next, behind: gapIndex)
      slot = next
    }
    firstCompleted = moved(firstCompleted, behind: gapIndex)
    lastCompleted = moved(lastCompleted, behind: gapIndex)
  }

  private func moved(_ link: UInt32, behind gapIndex: Int) -> UInt32 {
    guard link != Outbox.none else { return link }
    let slot = Int(truncatingIfNeeded: link)
    return descriptors.index(of: slot) > gapIndex
      ? UInt32(truncatingIfNeeded: descriptors.slot(before: slot)) : link
  }

  private mutating func setIdentifier(_ slot: Int, _ identifier: PacketIdentifier) {
    let message = descriptors[slot]
    guard message.state.isOpen, message.qos != .atMostOnce else { return }
    var position = message.start &+ 1
    while bytes.bytes[position] >= 0x80 { position &+= 1 }
    position &+= 1
    position &+= 2 &+ (Int(bytes.bytes[position]) << 8 | Int(bytes.bytes[position &+ 1]))
    var writer = ByteWriter(bytes.mutableBytes(in: position..<position &+ 2))
    writer.put(identifier.rawValue)
  }
}
