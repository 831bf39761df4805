import MQTTWire
import Storage

/// Message expiry (§3.3.2.3.3): messages that expire unsent, and the Message Expiry Interval of those that
/// are sent.
extension Outbox {
  /// Returns how many bounds `expiries` needs.
  static func expiryCount(_ descriptors: Int) -> Int {
    Feature.hasExpiry ? SlotMinima.boundCount(slots: descriptors) : 0
  }

  /// Completes the messages that have expired and were never sent.
  @inline(__always)
  mutating func expire(at second: UInt32, quota: inout SendQuota) {
    guard let due = nextExpiry, due <= second else { return }
    expireAll(at: second, quota: &quota)
  }

  @inline(never)
  private mutating func expireAll(at second: UInt32, quota: inout SendQuota) {
    shrinkWindow(&quota)
    // The oldest first.
    let head = descriptors.head
    expire(in: head..<descriptors.capacity, at: second)
    expire(in: 0..<head, at: second)
    let least = expiries.least
    nextExpiry = least < .max ? least : nil
  }

  @inline(never)
  private mutating func expire(in slots: Range<Int>, at second: UInt32) {
    let size = SlotMinima.groupSize
    var next = slots.lowerBound / size
    while let group = expiries.group(from: next, atMost: second), group &* size < slots.upperBound {
      var least = UInt32.max
      for slot in group &* size..<min(group &* size &+ size, descriptors.capacity) {
        let message = descriptors[slot]
        guard descriptors.index(of: slot) < descriptors.count, message.flags.contains(.expires),
          message.state.mayBePublished
        else { continue }
        // A message that was sent can still expire, because it may have to be resent.
        if message.expiresAt > second || slot < slots.lowerBound {
          least = min(least, message.expiresAt)
        } else if slot < slots.upperBound, isUnsent(slot) {
          withdraw(slot, .expired)
        }
      }
      expiries.set(group, least)
      next = group &+ 1
    }
  }

  /// Returns whether a message is queued of which no byte was ever sent.
  func isUnsent(_ slot: Int) -> Bool {
    descriptors[slot].state == .queued && !isBegun(slot) && !hasDuplicateFlag(descriptors[slot])
  }

  /// Completes a message that will never be sent.
  mutating func withdraw(_ slot: Int, _ result: DeliveryResult) {
    let message = descriptors[slot]
    let wasToEstablish = message.flags.contains(.hasAlias) && !message.flags.contains(.hasNoTopic)
    if wasToEstablish { loseAlias(message.tag) }
    complete(slot, result)
  }

  /// Handles that the message which was to establish an alias is not sent: the messages behind it that rely
  /// on the alias need their topic.
  private mutating func loseAlias(_ alias: UInt16) {
    aliases.lose(Int(alias))
    guard aliases.hasUsers(Int(alias)) else { return }
    var slot = descriptors.head
    for _ in 0..<descriptors.count {
      let message = descriptors[slot]
      if message.state == .queued, message.flags.contains(.hasNoTopic), message.tag == alias, !isBegun(slot) {
        descriptors[slot].flags.set(.needsTopic, true)
      }
      slot = descriptors.slot(after: slot)
    }
  }

  mutating func recordExpiry(_ slot: Int) {
    let second = descriptors[slot].expiresAt
    nextExpiry = Swift.min(nextExpiry ?? .max, second)
    expiries.add(second, at: slot)
  }

  /// Writes into the packet how much of the Message Expiry Interval is left [MQTT-3.3.2-6].
  mutating func writeExpiry(_ slot: Int, at second: UInt32) {
    let message = descriptors[slot]
    guard message.link != 0 else { return }
    let offset = message.start &+ Int(truncatingIfNeeded: message.link)
    guard let last = bytes.bytes.uint32(at: offset) else { return }
    // A message that was sent before is resent even when it has expired. A second that has begun counts as
    // a whole one, so that what is left may seem to be more than there was.
    let left = message.expiresAt > second ? Swift.min(message.expiresAt &- second, last) : 1
    var writer = unsafe bytes.writer(at: offset, count: 4)
    writer.put(left)
  }
}
