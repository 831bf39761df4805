import MQTTWire
import Storage

/// Messages that expire (§3.3.2.3.3): how one ends that was never sent, and how the others say what is left of their
/// time.
extension Outbox {
  /// Ends what is of no use any more and was never sent.
  mutating func expire(at second: UInt32, quota: inout SendQuota) {
    guard let due = nextExpiry, due <= second else { return }
    shrinkWindow(&quota)
    nextExpiry = nil
    var slot = descriptors.head
    for _ in 0..<descriptors.count {
      let message = descriptors[slot]
      if message.flags.contains(.expires), message.state.mayBePublished {
        // The time of what was sent goes on: it may have to be sent again.
        if message.expiresAt > second {
          recordExpiry(message.expiresAt)
        } else if message.state == .queued, !isBegun(slot), !hasDuplicateFlag(message) {
          withdraw(slot, .expired)
        }
      }
      slot = descriptors.slot(after: slot)
    }
  }

  /// Ends a message that will never be sent.
  mutating func withdraw(_ slot: Int, _ result: DeliveryResult) {
    let message = descriptors[slot]
    let wasToEstablish = message.flags.contains(.hasAlias) && !message.flags.contains(.hasNoTopic)
    if wasToEstablish { loseAlias(message.tag) }
    complete(slot, result)
  }

  /// The message that was to establish an alias is not sent: those that rely on it, which are behind it, need their
  /// topic.
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

  /// Writes into the packet how long it is still of use [MQTT-3.3.2-6].
  mutating func writeExpiry(_ slot: Int, at second: UInt32) {
    let message = descriptors[slot]
    guard message.link != 0 else { return }
    let offset = message.start &+ Int(truncatingIfNeeded: message.link)
    var last: UInt32 = 0
    for index in offset..<offset &+ 4 { last = last << 8 | UInt32(bytes.bytes[index]) }
    // One that was sent before is sent again, whatever its time. A second that has begun counts as a whole one,
    // so what is left may seem to be more than there was.
    let left = message.expiresAt > second ? Swift.min(message.expiresAt &- second, last) : 1
    var writer = ByteWriter(bytes.mutableBytes(in: offset..<offset &+ 4))
    writer.put(left)
  }
}
