import MQTTWire
import Storage

/// Messages that are contiguous in the ring and alike: they are sent and completed together.
extension Outbox {
  /// The newest messages, as far as they are of one kind, contiguous and queued.
  struct Batch: BitwiseCopyable {
    enum Kind: BitwiseCopyable {
      /// QoS 0 without a completion: gone once they are sent.
      case atMostOnce
      /// QoS 1 and 2.
      case acknowledged
      /// QoS 0 with a completion.
      case told
    }

    var count = 0
    private(set) var kind = Kind.told

    @inline(__always)
    mutating func add(_ flags: MessageFlags) {
      let added: Kind =
        flags.isAcknowledged ? .acknowledged : flags.contains(.isQuiet) ? .atMostOnce : .told
      count = kind == added ? count &+ 1 : 1
      kind = added
    }
  }

  /// Adds all that may be sent to the window. Returns false if `extendWindow` has to look at each message.
  @inline(__always)
  mutating func extendWindowByBatch(_ quota: inout SendQuota) -> Bool {
    let added = unsent &- windowCount
    guard Feature.hasFastPaths, batch.count >= unsent, added > 0 else { return false }
    if batch.kind == .acknowledged {
      guard quota.left >= added, !isJournaled else { return false }
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

  /// Handles that all of the window was handed to the transport. Returns false if `transmitted` has to look
  /// at each packet.
  @inline(__always)
  mutating func finishBatch(order: inout UInt16) -> Bool {
    guard Feature.hasFastPaths, batch.count >= unsent, windowCount == unsent, windowStart == windowEnd else {
      return false
    }
    switch batch.kind {
    case .atMostOnce:
      // No message in front of them waits for an acknowledgement, or for its completion to be taken.
      guard sendSlot == descriptors.head, descriptors.count == windowCount, live == descriptors.count else {
        return false
      }
      delivered.add(windowCount)
      incomplete &-= windowCount
      headIdentifier = nextIdentifier
      descriptors.removeAll()
      known = 0
      openBytes = 0
      freeAllBytes()
    case .told:
      var slot = sendSlot
      for _ in 0..<windowCount {
        descriptors[slot].state = .completed
        queueCompletion(slot)
        slot = descriptors.slot(after: slot)
      }
      delivered.add(windowCount)
      incomplete &-= windowCount
      openBytes &-= windowEnd &- windowBase
      if first == sendSlot { freeAllBytes() }
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

  /// Frees all bytes. The ring begins again at its first byte, which the processor's cache still has.
  @inline(__always)
  private mutating func freeAllBytes() {
    first = descriptors.tail
    live = 0
    bytes.removeAll()
    hasNewRoom = isStarved
  }
}
