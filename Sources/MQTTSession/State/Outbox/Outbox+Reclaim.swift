import MQTTWire
import Storage

/// Descriptors in the middle: they can be closed up as long as the server knows no message behind them by its identifier.
extension Outbox {
  /// Closes the gap that a message leaves of which nobody has to hear any more, if those behind it were never sent: then
  /// they can move up, and take the identifiers of their new places.
  mutating func removeFree(_ gap: Int) {
    let place = descriptors.index(of: gap)
    guard place < descriptors.count, descriptors[gap].state == .free, place >= known, !isBegun(from: place)
    else {
      return
    }
    if place < descriptors.count &- 1 { moveCompletions(behind: place) }
    var slot = gap
    for index in place..<descriptors.count &- 1 {
      let next = descriptors.slot(after: slot)
      descriptors[slot] = descriptors[next]
      setIdentifier(slot, identifier(at: index))
      slot = next
    }
    if let moved = stream?.slot, descriptors.index(of: moved) > place {
      let slot = descriptors.slot(before: moved)
      stream?.slot = slot
    }
    if descriptors.count &- live > place { first = descriptors.slot(before: first) } else { live &-= 1 }
    if descriptors.count &- unsent > place {
      // It had been stepped over.
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

  /// When the outbox is full, those in the middle count, too, whose completion has been taken.
  @inline(never)
  mutating func reclaim() -> Bool {
    guard let slot = reclaimable else {
      // A program that tries again and again does not make it look through all of them each time.
      if !isIdentifierFixed { hasGap = false }
      return false
    }
    removeFree(slot)
    return true
  }

  private var reclaimable: Int? {
    guard hasGap else { return nil }
    for place in known..<max(known, descriptors.count) {
      let slot = descriptors.slot(at: place)
      if descriptors[slot].state == .free, !isBegun(from: place) { return slot }
    }
    return nil
  }

  /// The message at a place, which may have ended meanwhile, or one behind it is being sent, with its identifier.
  private func isBegun(from place: Int) -> Bool {
    isIdentifierFixed && descriptors[sendSlot].qos != .atMostOnce && descriptors.index(of: sendSlot) >= place
  }

  /// The identifier of the packet that is sent next cannot change: a part of it is out, or the prefix that goes before it names it.
  private var isIdentifierFixed: Bool { isInsidePacket || prefixEnd > 0 }

  /// Their list is linked by slot.
  private mutating func moveCompletions(behind place: Int) {
    var slot = firstCompleted
    while slot != Outbox.none {
      let next = descriptors[Int(truncatingIfNeeded: slot)].link
      descriptors[Int(truncatingIfNeeded: slot)].link = moved(next, behind: place)
      slot = next
    }
    firstCompleted = moved(firstCompleted, behind: place)
    lastCompleted = moved(lastCompleted, behind: place)
  }

  private func moved(_ link: UInt32, behind place: Int) -> UInt32 {
    guard link != Outbox.none else { return link }
    let slot = Int(truncatingIfNeeded: link)
    return descriptors.index(of: slot) > place
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
