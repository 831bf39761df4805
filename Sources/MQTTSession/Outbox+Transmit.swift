import FixedMemory
import MQTTWire

/// Sending from the outbox, and what the server's acknowledgements do to it.
///
///         head            sendSlot        readySlot       tail
///     ─────┼───────────────┼───────────────┼───────────────┼─────
///          │ sent, waiting │ the run: one  │ not yet ready │
///          │ for the server│ piece of bytes│               │
extension Outbox {
  // MARK: Outputs

  /// The bytes that can be sent now in one piece; the run grows as far as quota and memory allow.
  var run: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { bytes.bytes.extracting(runStart..<runEnd) }
  }

  /// True between the first and the last byte of a packet: nothing else may be sent then.
  var isInsidePacket: Bool {
    runCount > 0 && runStart > Int(truncatingIfNeeded: descriptors[sendSlot].offset)
  }

  /// The rest of the packet that is being sent.
  var restOfPacket: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get {
      let packet = descriptors[sendSlot]
      return bytes.bytes.extracting(runStart..<Int(packet.offset) + Int(packet.length))
    }
  }

  /// Whether `extendRun` would find something, or has.
  var canTransmit: Bool {
    if runCount > 0 { return true }
    guard unsent > 0 else { return false }
    let next = descriptors[readySlot]
    return next.state != .queued || next.qos == .atMostOnce || sendQuota > 0
  }

  /// Adds to the run what may be sent and lies right behind it.
  mutating func extendRun() {
    while runCount < unsent {
      let packet = descriptors[readySlot]
      guard packet.state == .queued else {
        // Ended, or needs no PUBLISH any more: stepped over where the run begins, else it ends here.
        guard runCount == 0 else { return }
        readySlot = slot(after: readySlot)
        sendSlot = readySlot
        unsent &-= 1
        continue
      }
      let offset = Int(truncatingIfNeeded: packet.offset)
      if runCount == 0 {
        runStart = offset
        runEnd = offset
      } else if offset != runEnd {
        return  // the ring has wrapped
      }
      if packet.qos != .atMostOnce {
        guard sendQuota > 0 else { return }  // [MQTT-4.9.0-2]
        sendQuota &-= 1
      }
      runEnd &+= Int(truncatingIfNeeded: packet.length)
      runCount &+= 1
      readySlot = slot(after: readySlot)
    }
  }

  /// `count` bytes of the run were handed to the transport. Returns how many packets are whole now.
  mutating func transmitted(_ count: Int) -> Int {
    precondition(count >= 0 && count <= runEnd &- runStart)
    runStart &+= count
    var packets = 0
    while runCount > 0 {
      let slot = sendSlot
      let packet = descriptors[slot]
      guard Int(truncatingIfNeeded: packet.offset &+ packet.length) <= runStart else { break }
      sendSlot = self.slot(after: slot)
      unsent &-= 1
      runCount &-= 1
      packets &+= 1
      if packet.qos == .atMostOnce {
        complete(slot, .delivered)
      } else {
        descriptors[slot].state = .sent
      }
    }
    return packets
  }

  // MARK: Things that happened

  enum Answer: BitwiseCopyable {
    case nothing
    case pubrel(ReasonCode)
    case violation
  }

  /// PUBACK, PUBREC or PUBCOMP came. Before 5.0 it says nothing but that it came.
  mutating func acknowledged(_ packet: Acknowledgement, hasReasonCode: Bool) -> Answer {
    guard let slot = slot(of: packet.identifier) else { return unknown(packet) }
    let message = descriptors[slot]
    guard message.state == .sent || message.state == .released else { return unknown(packet) }
    let reasonCode = hasReasonCode ? packet.reasonCode : nil
    switch DeliveryHandshake.step(
      qos: message.qos, state: message.state, on: packet.type, isRefusal: packet.isRefusal)
    {
    case .complete:
      sendQuota &+= 1
      // PUBREC says more than the PUBCOMP that follows it.
      complete(slot, .delivered, reasonCode: message.reasonCode ?? reasonCode)
      return .nothing
    case .refuse:
      sendQuota &+= 1
      complete(slot, .refused, reasonCode: reasonCode)
      return .nothing
    case .release:
      descriptors[slot].state = .released
      descriptors[slot].reasonCode = reasonCode
      return .pubrel(.success)
    case .releaseAgain:
      return .pubrel(.success)
    case .violation:
      return .violation
    }
  }

  /// An identifier nothing waits for. A PUBREC is answered all the same, or the server would wait
  /// for ever; the others are what a server may send after a message was given up.
  private func unknown(_ packet: Acknowledgement) -> Answer {
    packet.type == .pubrec && !packet.isRefusal ? .pubrel(.packetIdentifierNotFound) : .nothing
  }

  /// The connection is gone. What the run had taken is unsent again; whether the server has the
  /// rest comes out on the next connection.
  mutating func connectionLost() {
    runCount = 0
    runStart = 0
    runEnd = 0
    readySlot = sendSlot
    sendQuota = 0
    sendQuotaLimit = 0
    releasesToCheck = 0
  }

  /// A connection is up: everything that is not complete is to be sent, in the original order
  /// [MQTT-4.6.0-1], as the Session State says (§4.4).
  mutating func connected(sessionPresent: Bool, quota: Int, limits: ServerLimits) {
    var slot = head
    var released = 0
    for _ in 0..<stored {
      resume(slot, sessionPresent: sessionPresent)
      let message = descriptors[slot]
      if message.state == .released { released &+= 1 }
      if message.state == .queued {
        let verdict = limits.verdict(
          packetSize: Int(truncatingIfNeeded: message.length), qos: message.qos,
          retain: message.retain)
        if verdict != .delivered { complete(slot, verdict) }
      }
      slot = self.slot(after: slot)
    }
    sendSlot = head
    readySlot = head
    unsent = stored
    runCount = 0
    // What still waits for PUBCOMP counts against Receive Maximum [MQTT-3.3.4-7]. If the server has
    // lowered that below their number, the quota is negative until enough of them are complete.
    sendQuota = quota &- released
    sendQuotaLimit = quota
    releaseSlot = head
    releasesToCheck = stored
  }

  private mutating func resume(_ slot: Int, sessionPresent: Bool) {
    let message = descriptors[slot]
    switch (message.state, sessionPresent) {
    case (.sent, true):
      // [MQTT-4.4.0-1], [MQTT-3.3.1-1]
      setDuplicateFlag(message, true)
      descriptors[slot].state = .queued
    case (.released, true):
      descriptors[slot].needsRelease = true
    case (.sent, false) where message.qos == .atLeastOnce:
      // A new session: a new message.
      setDuplicateFlag(message, false)
      descriptors[slot].state = .queued
    case (.sent, false):
      // Sending it again could deliver it twice, leaving it out not at all: the application decides.
      complete(slot, .sessionLost)
    case (.released, false):
      // PUBREC said that the server has it.
      complete(slot, .delivered)
    case (.queued, false) where hasDuplicateFlag(message):
      // It was sent in the session that is gone, and was waiting to be sent again.
      if message.qos == .exactlyOnce { return complete(slot, .sessionLost) }
      setDuplicateFlag(message, false)
    default: break
    }
  }

  private func hasDuplicateFlag(_ message: Descriptor) -> Bool {
    bytes.bytes[Int(truncatingIfNeeded: message.offset)] & Publish.duplicateFlag != 0
  }

  private mutating func setDuplicateFlag(_ message: Descriptor, _ isSet: Bool) {
    let offset = Int(truncatingIfNeeded: message.offset)
    var packet = bytes.mutableBytes
    let rest = packet[offset] & ~Publish.duplicateFlag
    packet[offset] = isSet ? rest | Publish.duplicateFlag : rest
  }

  /// The next message whose PUBREL is to be sent again [MQTT-4.4.0-1].
  mutating func nextRelease() -> PacketIdentifier? {
    while releasesToCheck > 0 {
      let slot = releaseSlot
      releaseSlot = self.slot(after: slot)
      releasesToCheck &-= 1
      if descriptors[slot].state == .released, descriptors[slot].needsRelease {
        descriptors[slot].needsRelease = false
        return identifier(at: distance(of: slot))
      }
    }
    return nil
  }
}
