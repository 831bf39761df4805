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
    borrowing get {
      prefixStart < prefixEnd
        ? prefix.bytes.extracting(prefixStart..<prefixEnd) : bytes.bytes.extracting(runStart..<runEnd)
    }
  }

  /// True between the first and the last byte of a packet: nothing else may be sent then.
  var isInsidePacket: Bool { prefixStart > 0 || runStart > runBase || isInsideStream }

  /// The header of the stream is out: its payload is next.
  var isInsideStream: Bool {
    runCount > 0 && runStart == runEnd && descriptors[sendSlot].flags.contains(.isStream)
  }

  /// The rest of the packet that is being sent.
  var restOfPacket: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get {
      prefixStart < prefixEnd
        ? prefix.bytes.extracting(prefixStart..<prefixEnd)
        : bytes.bytes.extracting(runStart..<descriptors[sendSlot].end)
    }
  }

  /// Whether `extendRun` would find something, or has.
  var canTransmit: Bool {
    if runCount > 0 { return true }
    guard unsent > 0 else { return false }
    let next = descriptors[readySlot]
    switch next.state {
    case .queued: return next.qos == .atMostOnce || sendQuota > 0
    case .reserved: return false
    default: return true
    }
  }

  /// Adds to the run what may be sent and lies right behind it.
  mutating func extendRun(version: ProtocolVersion, second: UInt32) {
    if runCount > 0, isAlone(descriptors[sendSlot]) { return }
    while runCount < unsent {
      let packet = descriptors[readySlot]
      guard packet.state == .queued else {
        // Ended, or needs no PUBLISH any more: stepped over where the run begins, else it ends here.
        guard runCount == 0, packet.state != .reserved else { return }
        readySlot = slot(after: readySlot)
        sendSlot = readySlot
        unsent &-= 1
        continue
      }
      let offset = packet.start
      let isAlone = isAlone(packet)
      if runCount == 0 {
        runBase = offset
        runStart = offset
        runEnd = offset
      } else if offset != runEnd || isAlone {
        return  // the ring has wrapped, or the packet is not all in it
      }
      if packet.qos != .atMostOnce {
        guard sendQuota > 0 else { return }  // [MQTT-4.9.0-2]
        sendQuota &-= 1
      }
      if packet.flags.contains(.expires) { writeExpiry(readySlot, at: second) }
      if packet.flags.contains(.needsTopic) {
        runStart = buildPrefix(readySlot, version: version)
        runBase = runStart
      }
      runEnd = packet.end
      runCount &+= 1
      readySlot = slot(after: readySlot)
      if isAlone { return }
    }
  }

  /// A packet that is not all in the ring.
  private func isAlone(_ packet: Descriptor) -> Bool {
    packet.flags.contains(.isStream) || packet.flags.contains(.needsTopic)
  }

  /// `count` bytes of the run were handed to the transport. Returns how many packets are whole now.
  mutating func transmitted(_ count: Int) -> Int {
    if prefixStart < prefixEnd {
      precondition(count >= 0 && count <= prefixEnd &- prefixStart)
      prefixStart &+= count
      // Without payload and properties the prefix is the packet.
      guard prefixStart == prefixEnd, runStart == runEnd else { return 0 }
    } else {
      precondition(count >= 0 && count <= runEnd &- runStart)
      runStart &+= count
    }
    var packets = 0
    while runCount > 0 {
      let slot = sendSlot
      let packet = descriptors[slot]
      guard packet.end <= runStart, !packet.flags.contains(.isStream) || isStreamSent else { break }
      runBase = packet.end
      finishSending(slot)
      packets &+= 1
    }
    return packets
  }

  /// `count` bytes of the stream's payload were handed to the transport. Returns how many packets are whole now.
  mutating func transmittedStream(_ count: Int) -> Int {
    stream?.sent &+= count
    guard isStreamSent else { return 0 }
    runBase = runStart
    finishSending(sendSlot)
    return 1
  }

  private var isStreamSent: Bool {
    guard let stream else { return true }
    return stream.sent >= stream.payloadSize
  }

  private mutating func finishSending(_ slot: Int) {
    prefixStart = 0
    prefixEnd = 0
    sendSlot = self.slot(after: slot)
    unsent &-= 1
    runCount &-= 1
    if descriptors[slot].qos == .atMostOnce {
      complete(slot, .delivered)
    } else {
      descriptors[slot].state = .sent
    }
  }

  /// Whether the first byte of a message has been handed to the transport.
  func isBegun(_ slot: Int) -> Bool { runCount > 0 && slot == sendSlot && isInsidePacket }

  /// Takes back from the run what has not been begun.
  mutating func retractRun() {
    let kept = isInsidePacket ? 1 : 0
    while runCount > kept {
      runCount &-= 1
      readySlot = readySlot == 0 ? descriptors.count &- 1 : readySlot &- 1
      if descriptors[readySlot].qos != .atMostOnce { sendQuota &+= 1 }
    }
    if runCount == 0 {
      prefixEnd = 0
      runEnd = runStart
    } else {
      runEnd = descriptors[sendSlot].end
    }
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
    // A server may repeat PUBREC on a resumed session before our PUBLISH comes again. It will answer
    // that one too, and only then may PUBREL follow.
    guard message.state != .queued else { return .nothing }
    guard message.state == .sent || message.state == .released else { return unknown(packet) }
    let reasonCode = hasReasonCode ? packet.reasonCode : nil
    switch DeliveryHandshake.step(
      qos: message.qos, state: message.state, on: packet.type, isRefusal: packet.isRefusal)
    {
    case .complete:
      sendQuota &+= 1
      // PUBREC says more than the PUBCOMP that follows it.
      complete(slot, .delivered, reasonCode: message.answer ?? reasonCode)
      return .nothing
    case .refuse:
      sendQuota &+= 1
      complete(slot, .refused, reasonCode: reasonCode)
      return .nothing
    case .release:
      descriptors[slot].state = .released
      descriptors[slot].answer = reasonCode
      return .pubrel(.success)
    case .releaseAgain:
      return .pubrel(.success)
    case .violation:
      return .violation
    }
  }

  /// A message has ended, and somebody wants to know.
  func isCompleted(_ slot: Int) -> Bool { descriptors[slot].state == .completed }

  /// An identifier nothing waits for. A PUBREC is answered all the same, or the server would wait
  /// for ever; the others are what a server may send after a message was given up.
  private func unknown(_ packet: Acknowledgement) -> Answer {
    packet.type == .pubrec && !packet.isRefusal ? .pubrel(.packetIdentifierNotFound) : .nothing
  }

  /// The connection is gone. What the run had taken is unsent again; whether the server has the
  /// rest comes out on the next connection.
  mutating func connectionLost() {
    runCount = 0
    runBase = 0
    runStart = 0
    runEnd = 0
    prefixStart = 0
    prefixEnd = 0
    readySlot = sendSlot
    sendQuota = 0
    sendQuotaLimit = 0
    releasesToCheck = 0
    stream?.sent = 0
    aliases.connectionLost()
  }

  /// A connection is up: everything that is not complete is to be sent, in the original order
  /// [MQTT-4.6.0-1], as the Session State says (§4.4).
  mutating func connected(
    _ version: ProtocolVersion, sessionPresent: Bool, quota: Int, limits: ServerLimits
  ) {
    aliases.connected(maximum: limits.topicAliasMaximum)
    var slot = head
    var released = 0
    for _ in 0..<stored {
      resume(slot, sessionPresent: sessionPresent)
      if descriptors[slot].state == .released { released &+= 1 }
      if descriptors[slot].state == .queued {
        renew(slot, version: version)
        let message = descriptors[slot]
        let limit = limits.verdict(
          packetSize: packetSize(slot, version: version), qos: message.qos,
          retain: message.flags.contains(.retain))
        if let limit {
          complete(slot, .aboveLimit, reasonCode: limit.reasonCode.rawValue)
        } else if message.flags.contains(.expires) {
          noteExpiry(message.expiresAt)  // what has become a new message can expire again
        }
      } else if descriptors[slot].state == .reserved {
        renew(slot, version: version)
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
      descriptors[slot].flags.set(.needsRelease, true)
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

  func hasDuplicateFlag(_ message: Descriptor) -> Bool {
    bytes.bytes[message.start] & Publish.duplicateFlag != 0
  }

  private mutating func setDuplicateFlag(_ message: Descriptor, _ isSet: Bool) {
    let offset = message.start
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
      if descriptors[slot].state == .released, descriptors[slot].flags.contains(.needsRelease) {
        descriptors[slot].flags.set(.needsRelease, false)
        return identifier(at: distance(of: slot))
      }
    }
    return nil
  }
}
