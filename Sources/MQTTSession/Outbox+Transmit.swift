import Storage
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

  /// Whether `extendWindow` would find something, or has.
  func canTransmit(_ quota: SendQuota) -> Bool {
    if runCount > 0 { return true }
    guard unsent > 0 else { return false }
    let next = descriptors[readySlot]
    switch next.state {
    case .queued: return next.qos == .atMostOnce || quota.left > 0
    case .reserved: return false
    default: return true
    }
  }

  /// How long ago the message that is to be sent again next was sent, counted in messages of both lanes; `nil`: there is
  /// none.
  mutating func nextResend() -> UInt16? {
    guard resends > 0 else { return nil }
    while runCount == 0, unsent > 0, descriptors[readySlot].state != .queued { stepOver() }
    return age(descriptors[readySlot])
  }

  /// No more than 65,535 are on their way.
  private func age(_ message: Descriptor) -> UInt16 { resumedAt &- message.order }

  /// It has ended, or needs no PUBLISH any more.
  private mutating func stepOver() {
    readySlot = slot(after: readySlot)
    sendSlot = readySlot
    unsent &-= 1
  }

  /// What a run may take.
  enum ByteRange: BitwiseCopyable {
    case everything
    case resends(before: UInt16?)  // of the other lane's next one

    func takes(age: UInt16, isResend: Bool) -> Bool {
      guard case .resends(let other) = self else { return true }
      guard isResend else { return false }
      return other.map { age > $0 } ?? true
    }
  }

  /// Adds to the run what may be sent and lies right behind it.
  mutating func extendWindow(
    _ extent: ByteRange = .everything, version: ProtocolVersion, second: UInt32, quota: inout SendQuota
  ) {
    if case .everything = extent, extendRunByRow(&quota) { return }
    if runCount > 0, isAlone(descriptors[sendSlot]) { return }
    while runCount < unsent {
      let packet = descriptors[readySlot]
      guard packet.state == .queued else {
        // Ended, or needs no PUBLISH any more: stepped over where the run begins, else it ends here.
        guard runCount == 0, packet.state != .reserved else { return }
        stepOver()
        continue
      }
      guard extent.takes(age: age(packet), isResend: resends > 0 && hasDuplicateFlag(packet)) else { return }
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
        guard quota.left > 0 else { return }  // [MQTT-4.9.0-2]
        quota.left &-= 1
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
  mutating func transmitted(_ count: Int, order: inout UInt16) -> Int {
    if prefixStart < prefixEnd {
      precondition(count >= 0 && count <= prefixEnd &- prefixStart)
      prefixStart &+= count
      // Without payload and properties the prefix is the packet.
      guard prefixStart == prefixEnd, runStart == runEnd else { return 0 }
    } else {
      precondition(count >= 0 && count <= runEnd &- runStart)
      runStart &+= count
      let whole = runCount
      if finishRow(order: &order) { return whole }
    }
    var packets = 0
    while runCount > 0 {
      let slot = sendSlot
      let packet = descriptors[slot]
      guard packet.end <= runStart, !packet.flags.contains(.isStream) || isStreamSent else { break }
      runBase = packet.end
      finishSending(slot, order: &order)
      packets &+= 1
    }
    return packets
  }

  /// `count` bytes of the stream's payload were handed to the transport. Returns how many packets are whole now.
  mutating func transmittedStream(_ count: Int, order: inout UInt16) -> Int {
    stream?.sent &+= count
    guard isStreamSent else { return 0 }
    runBase = runStart
    finishSending(sendSlot, order: &order)
    return 1
  }

  private var isStreamSent: Bool {
    guard let stream else { return true }
    return stream.sent >= stream.payloadSize
  }

  private mutating func finishSending(_ slot: Int, order: inout UInt16) {
    prefixStart = 0
    prefixEnd = 0
    sendSlot = self.slot(after: slot)
    unsent &-= 1
    runCount &-= 1
    if descriptors[slot].qos == .atMostOnce {
      complete(slot, .delivered)
    } else {
      unacknowledged &+= 1
      known = max(known, distance(of: slot) &+ 1)
      descriptors[slot].state = .sent
      descriptors[slot].since = now.milliseconds
      if resends > 0, hasDuplicateFlag(descriptors[slot]) {
        // It keeps its order: the connection may end before the next one has been sent again.
        resends &-= 1
      } else {
        descriptors[slot].order = order
        order &+= 1
      }
    }
  }

  /// Whether the first byte of a message has been handed to the transport.
  func isBegun(_ slot: Int) -> Bool { runCount > 0 && slot == sendSlot && isInsidePacket }

  /// Takes back from the run what has not been begun.
  mutating func shrinkWindow(_ quota: inout SendQuota) {
    let kept = isInsidePacket ? 1 : 0
    while runCount > kept {
      runCount &-= 1
      readySlot = slot(before: readySlot)
      if descriptors[readySlot].qos != .atMostOnce { quota.left &+= 1 }
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

  /// What an acknowledgement did.
  struct Effect: BitwiseCopyable {
    let answer: Answer
    /// Of the message it was for.
    var slot: Int? = nil
    /// Somebody wants to know that it has ended.
    var isCompleted = false
    /// PUBREC has come, PUBCOMP not yet.
    var isReleased = false
    /// Of a message that somebody wants to hear of, even if it does not fail.
    var cookie: UInt64? = nil
  }

  /// PUBACK, PUBREC or PUBCOMP came. Before 5.0 it says nothing but that it came.
  mutating func acknowledged(
    _ packet: Acknowledgement, hasReasonCode: Bool, quota: inout SendQuota
  ) -> Effect {
    guard let slot = slot(of: packet.identifier) else { return Effect(answer: unknown(packet)) }
    let answer = acknowledged(slot, packet, hasReasonCode: hasReasonCode, quota: &quota)
    let message = descriptors[slot]
    return Effect(
      answer: answer, slot: slot, isCompleted: message.state == .completed,
      isReleased: message.state == .released, cookie: message.flags.contains(.isQuiet) ? nil : message.cookie)
  }

  private mutating func acknowledged(
    _ slot: Int, _ packet: Acknowledgement, hasReasonCode: Bool, quota: inout SendQuota
  ) -> Answer {
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
      quota.left &+= 1
      unacknowledged &-= 1
      noteLatency(slot)
      // PUBREC says more than the PUBCOMP that follows it.
      complete(slot, .delivered, reasonCode: message.answer ?? reasonCode)
      return .nothing
    case .refuse:
      quota.left &+= 1
      unacknowledged &-= 1
      noteLatency(slot)
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

  /// How long the server took.
  private mutating func noteLatency(_ slot: Int) {
    let latency = now.milliseconds &- descriptors[slot].since
    descriptors[slot].since = latency
    descriptors[slot].flags.set(.hasLatency, true)
    latencies.add(latency)
  }

  /// An identifier nothing waits for. A PUBREC is answered all the same, or the server would wait
  /// for ever; the others are what a server may send after a message was given up.
  private func unknown(_ packet: Acknowledgement) -> Answer {
    packet.type == .pubrec && !packet.isRefusal ? .pubrel(.packetIdentifierNotFound) : .nothing
  }
}
