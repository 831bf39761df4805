import MQTTWire
import Storage

/// Messages that lie one behind the other in the ring and are alike: they are sent, and end, all at once.
extension Outbox {
  /// The newest messages, as far as they are of one kind, contiguous, and nothing but messages to be sent; of the kind `other`
  /// it says nothing.
  struct Batch: BitwiseCopyable {
    enum Kind: BitwiseCopyable {
      /// QoS 0 without a completion: gone once they are sent.
      case atMostOnce
      /// QoS 1 and 2.
      case acknowledged
      /// QoS 0 with a completion.
      case other
    }

    var count = 0
    private(set) var kind = Kind.other

    @inline(__always)
    mutating func add(_ flags: MessageFlags) {
      let added: Kind =
        flags.isAcknowledged ? .acknowledged : flags.contains(.isQuiet) ? .atMostOnce : .other
      count = kind == added ? count &+ 1 : 1
      kind = added
    }
  }

  /// Adds all that may be sent to the window. False: `extendWindow` has to look at each.
  @inline(__always)
  mutating func extendWindowByBatch(_ quota: inout SendQuota) -> Bool {
    let added = unsent &- windowCount
    guard Feature.hasFastPaths, batch.count >= unsent, batch.kind != .other, added > 0 else { return false }
    if batch.kind == .acknowledged {
      guard quota.left >= added else { return false }
      quota.left &-= added
    }
    if windowCount == 0 {
      windowBase = descriptors[readySlot].start
      windowStart = windowBase
    }
    windowCount = unsent
    windowEnd = bytes.tail
    readySlot = descriptors.tail
    return true
  }

  /// All of the window was handed to the transport. False: `transmitted` has to look at each packet.
  @inline(__always)
  mutating func finishBatch(order: inout UInt16) -> Bool {
    guard Feature.hasFastPaths, batch.count >= unsent, windowCount == unsent, windowStart == windowEnd else {
      return false
    }
    switch batch.kind {
    case .other: return false
    case .atMostOnce:
      // In front of them nothing is left that waits for an acknowledgement, or for its completion to be taken.
      guard sendSlot == descriptors.head, descriptors.count == windowCount, live == descriptors.count else {
        return false
      }
      delivered.add(windowCount)
      incomplete &-= windowCount
      headIdentifier = nextIdentifier
      descriptors.removeAll()
      first = descriptors.tail
      known = 0
      live = 0
      // All is free: the same bytes again are in the processor's cache.
      bytes.removeAll()
      hasNewRoom = isStarved
    case .acknowledged:
      let packets = windowCount
      var slot = sendSlot
      known = max(known, descriptors.index(of: slot) &+ packets)
      unacknowledged &+= packets
      for _ in 0..<packets {
        descriptors[slot].state = .sent
        descriptors[slot].since = now.milliseconds
        descriptors[slot].order = order
        order &+= 1
        slot = descriptors.slot(after: slot)
      }
    }
    windowBase = windowEnd
    sendSlot = descriptors.tail
    unsent = 0
    windowCount = 0
    return true
  }
}
