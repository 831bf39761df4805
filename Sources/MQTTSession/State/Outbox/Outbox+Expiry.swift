import MQTTWire
import Storage

/// Message expiry (§3.3.2.3.3): messages that expire unsent, and the Message Expiry Interval of those that
/// are sent.
extension Outbox {
  /// Completes the messages that have expired and were never sent.
  mutating func expire(at second: UInt32, quota: inout SendQuota) {
    guard let due = nextExpiry, due <= second else { return }
    shrinkWindow(&quota)
    nextExpiry = nil
    var slot = descriptors.head
    for _ in 0..<descriptors.count {
      let message = descriptors[slot]
      if message.flags.contains(.expires), message.state.mayBePublished {
        // A message that was sent can still expire, because it may have to be resent.
        if message.expiresAt > second {
          recordExpiry(message.expiresAt)
        } else if message.state == .queued, !isBegun(slot), !hasDuplicateFlag(message) {
          withdraw(slot, .expired)
        }
      }
      slot = descriptors.slot(after: slot)
    }
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
    var slot = descriptors.head
    for _ in 0..<descriptors.count {
      let message = descriptors[slot]
      if message.state == .queued, message.flags.contains(.hasNoTopic), message.tag == alias, !isBegun(slot) {
        descriptors[slot].flags.set(.needsTopic, true)
      }
      slot = descriptors.slot(after: slot)
    }
  }

  mutating func recordExpiry(_ second: UInt32) { nextExpiry = Swift.min(nextExpiry ?? .max, second) }

  /// Writes into the packet how much of the Message Expiry Interval is left [MQTT-3.3.2-6].
  mutating func writeExpiry(_ slot: Int, at second: UInt32) {
    let message = descriptors[slot]
    guard message.link != 0 else { return }
    let offset = message.start &+ Int(truncatingIfNeeded: message.link)
    var last: UInt32 = 0
    for index in offset..<offset &+ 4 { last = last << 8 | UInt32(bytes.bytes[index]) }
    // A message that was sent before is resent even when it has expired. A second that has begun counts as
    // a whole one, so that what is left may seem to be more than there was.
    let left = message.expiresAt > second ? Swift.min(message.expiresAt &- second, last) : 1
    var writer = ByteWriter(bytes.mutableBytes(in: offset..<offset &+ 4))
    writer.put(left)
  }
}
