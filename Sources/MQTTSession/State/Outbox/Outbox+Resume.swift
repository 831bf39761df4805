import MQTTWire
import Storage

/// The Session State across connections (§4.4): what is resent, and as what.
extension Outbox {
  /// Handles that the connection was lost. What was in the window is unsent again. The next connection
  /// shows whether the server has the rest.
  mutating func connectionLost() {
    batch.count = 0
    windowCount = 0
    windowBase = 0
    windowStart = 0
    windowEnd = 0
    prefixStart = 0
    prefixEnd = 0
    payloadLeft = 0
    readySlot = sendSlot
    pubrelsToCheck = 0
    resends = 0
    unacknowledged = 0
    stream?.sent = 0
    aliases.connectionLost()
    restartExpendable()
  }

  /// Queues everything that is not complete, in the original order [MQTT-4.6.0-1], as the Session State
  /// says (§4.4).
  mutating func connected(
    _ version: ProtocolVersion, sessionPresent: Bool, repeatsExactlyOnce: Bool, order: UInt16,
    quota: inout SendQuota, limits: ServerLimits
  ) {
    aliases.connected(maximum: limits.topicAliasMaximum)
    batch.count = 0
    var slot = descriptors.head
    var awaitingPubcomp = 0
    resends = 0
    resumedAt = order
    for _ in 0..<descriptors.count {
      resume(slot, sessionPresent: sessionPresent, repeatsExactlyOnce: repeatsExactlyOnce)
      if descriptors[slot].state == .pubrelSent { awaitingPubcomp &+= 1 }
      if descriptors[slot].state == .queued {
        adapt(slot, version: version)
        let message = descriptors[slot]
        var limit = limits.verdict(packetSize: packetSize(slot, version: version), message.flags)
        // Without Response Topic there could be no response.
        if message.flags.contains(.isRequest), !version.hasProperties { limit = .versionTooOld }
        if let limit {
          complete(slot, .aboveLimit, reasonCode: limit.reasonCode.rawValue)
        } else if message.flags.contains(.expires) {
          recordExpiry(slot)  // what has become a new message can expire again
        }
      } else if descriptors[slot].state == .reserved {
        adapt(slot, version: version)
      }
      if descriptors[slot].state == .queued, hasDuplicateFlag(descriptors[slot]) { resends &+= 1 }
      slot = descriptors.slot(after: slot)
    }
    recountBytes()
    sendSlot = descriptors.head
    readySlot = descriptors.head
    unsent = descriptors.count
    windowCount = 0
    // What still waits for PUBCOMP counts against Receive Maximum [MQTT-3.3.4-7]. If the server has lowered
    // Receive Maximum below their number, the quota is negative until enough of them are complete.
    quota.left &-= awaitingPubcomp
    unacknowledged = awaitingPubcomp
    pubrelSlot = descriptors.head
    pubrelsToCheck = known
  }

  private mutating func resume(_ slot: Int, sessionPresent: Bool, repeatsExactlyOnce: Bool) {
    let message = descriptors[slot]
    let isRepeated = message.qos == .atLeastOnce || repeatsExactlyOnce
    switch (message.state, sessionPresent) {
    case (.sent, true):
      // [MQTT-4.4.0-1], [MQTT-3.3.1-1]
      setDuplicateFlag(message, true)
      descriptors[slot].state = .queued
    case (.pubrelSent, _) where sessionPresent || DropIn.isOn:
      descriptors[slot].flags.set(.needsPubrel, !holdsPubrel(slot))
    case (.sent, false) where isRepeated:
      // In a new session it is a new message. But it may have arrived, so it is no longer expendable.
      setDuplicateFlag(message, DropIn.isOn)
      descriptors[slot].state = .queued
    case (.sent, false):
      // To resend it could deliver it twice, to drop it not at all: the application decides.
      complete(slot, .sessionLost)
    case (.pubrelSent, false):
      // PUBREC has shown that the server has it.
      complete(slot, .delivered)
    case (.queued, false) where hasDuplicateFlag(message):
      // It was sent in the lost session, and was waiting to be resent.
      guard isRepeated else { return complete(slot, .sessionLost) }
      setDuplicateFlag(message, DropIn.isOn)
    default: break
    }
  }

  func hasDuplicateFlag(_ message: Descriptor) -> Bool {
    bytes.bytes[message.start] & Publish.duplicateFlag != 0
  }

  mutating func setDuplicateFlag(_ message: Descriptor, _ isSet: Bool) {
    var packet = bytes.mutableBytes(in: message.start..<message.start &+ 1)
    let rest = packet[0] & ~Publish.duplicateFlag
    packet[0] = isSet ? rest | Publish.duplicateFlag : rest
  }

  /// Returns the identifier of the next message whose PUBREL is to be resent [MQTT-4.4.0-1].
  mutating func nextPubrel() -> PacketIdentifier? {
    while pubrelsToCheck > 0 {
      let slot = pubrelSlot
      pubrelSlot = descriptors.slot(after: slot)
      pubrelsToCheck &-= 1
      if descriptors[slot].state == .pubrelSent, descriptors[slot].flags.contains(.needsPubrel) {
        descriptors[slot].flags.set(.needsPubrel, false)
        return identifier(at: descriptors.index(of: slot))
      }
    }
    return nil
  }
}
