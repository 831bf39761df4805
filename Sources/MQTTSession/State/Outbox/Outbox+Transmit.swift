import MQTTWire
import Storage

/// Sending from the outbox.
///
///         head            sendSlot        readySlot       tail
///     ─────┼───────────────┼───────────────┼───────────────┼─────
///          │ sent, waiting │ the window:   │ not yet ready │
///          │ for the server│ contiguous    │               │
extension Outbox {
  // MARK: Outputs

  /// The bytes that can be sent now in one piece: `windowPayload` follows. The window grows as far as quota
  /// and memory allow.
  var window: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get {
      if Feature.hasReferences, payloadLeft > 0, !hasWindowBytes { return windowPayload }
      return prefixStart < prefixEnd
        ? prefix.bytes.extracting(prefixStart..<prefixEnd) : bytes.bytes.extracting(windowStart..<windowEnd)
    }
  }

  /// Whether the window has bytes in the ring, or a prefix.
  var hasWindowBytes: Bool { windowStart < windowEnd || prefixStart < prefixEnd }

  /// Whether a packet is partly sent, so that nothing else may be sent.
  var isInsidePacket: Bool { prefixStart > 0 || windowStart > windowBase || isInsideStream }

  /// The rest of the packet that is being sent.
  var restOfPacket: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get {
      if Feature.hasReferences, payloadLeft > 0, !hasWindowBytes { return payloadOfPacket }
      return prefixStart < prefixEnd
        ? prefix.bytes.extracting(prefixStart..<prefixEnd)
        : bytes.bytes.extracting(windowStart..<descriptors[sendSlot].end)
    }
  }

  /// Returns whether there is a window, or `extendWindow` would make one.
  func canTransmit(_ quota: SendQuota) -> Bool {
    if windowCount > 0 { return true }
    guard unsent > 0 else { return false }
    let next = descriptors[readySlot]
    switch next.state {
    // What waits for the journal is found by its deadline: a loop would ask again and again.
    case .queued:
      return next.qos == .atMostOnce || (quota.left > 0 && !(isJournaled && waitsForJournal(next)))
    case .reserved: return false
    default: return true
    }
  }

  /// Returns how long ago the message that is to be resent next was sent, counted in messages of both
  /// queues. It is `nil` if there is none.
  mutating func nextResend() -> UInt16? {
    guard resends > 0 else { return nil }
    while windowCount == 0, unsent > 0, descriptors[readySlot].state != .queued { stepOver() }
    return age(descriptors[readySlot])
  }

  /// Returns the age. It does not wrap, because no more than 65,535 messages are in flight.
  private func age(_ message: Descriptor) -> UInt16 { resumedAt &- message.order }

  /// Moves past a message that has ended or needs no PUBLISH any more.
  private mutating func stepOver() {
    readySlot = descriptors.slot(after: readySlot)
    sendSlot = readySlot
    unsent &-= 1
  }

  /// What the window may take.
  enum ResendLimit: BitwiseCopyable {
    case everything
    case resends(before: UInt16?)  // of the other queue's next one

    func allows(age: UInt16, isResend: Bool) -> Bool {
      guard case .resends(let other) = self else { return true }
      guard isResend else { return false }
      return other.map { age > $0 } ?? true
    }
  }

  /// Whether something is queued behind the window.
  var mayExtendWindow: Bool {
    @inline(__always) get { windowCount < unsent }
  }

  /// Adds to the window what may be sent and is contiguous with it.
  mutating func extendWindow(
    _ range: ResendLimit = .everything, version: ProtocolVersion, second: UInt32, quota: inout SendQuota
  ) {
    if case .everything = range, extendWindowByBatch(&quota) { return }
    if windowCount > 0, payloadLeft > 0 || isAlone(descriptors[sendSlot]) { return }
    while windowCount < unsent {
      let packet = descriptors[readySlot]
      guard packet.state == .queued else {
        // A message that has ended or needs no PUBLISH any more is skipped if the window begins here.
        // Otherwise the window ends here.
        guard windowCount == 0, packet.state != .reserved else { return }
        stepOver()
        continue
      }
      if isJournaled, waitsForJournal(packet) { return }
      guard range.allows(age: age(packet), isResend: resends > 0 && hasDuplicateFlag(packet)) else { return }
      let offset = packet.start
      let endsWindow = packet.flags.containsAny(.isStream, .needsTopic, .isReference)
      if windowCount == 0 {
        windowBase = offset
        windowStart = offset
        windowEnd = offset
      } else if offset != windowEnd || (endsWindow && isAlone(packet)) {
        return  // the ring has wrapped, or the packet is not all in it
      }
      if packet.qos != .atMostOnce {
        guard quota.left > 0 else { return }  // [MQTT-4.9.0-2]
        quota.left &-= 1
      }
      if packet.flags.contains(.expires) { writeExpiry(readySlot, at: second) }
      if packet.flags.contains(.needsTopic) {
        windowStart = buildPrefix(readySlot, version: version)
        windowBase = windowStart
      }
      windowEnd = packet.end
      windowCount &+= 1
      readySlot = descriptors.slot(after: readySlot)
      if endsWindow { return beginPayload(packet) }
    }
  }

  /// Returns whether a packet is not wholly in the ring.
  private func isAlone(_ packet: Descriptor) -> Bool {
    packet.flags.contains(.isStream) || packet.flags.contains(.needsTopic)
  }

  /// Handles that `count` bytes of the window were handed to the transport. Returns how many packets are
  /// wholly sent.
  mutating func transmitted(_ count: Int, order: inout UInt16) -> Int {
    if prefixStart < prefixEnd {
      precondition(count >= 0 && count <= prefixEnd &- prefixStart)
      prefixStart &+= count
      // Without payload and properties the prefix is the packet.
      guard prefixStart == prefixEnd, windowStart == windowEnd else { return 0 }
    } else {
      let rest = windowEnd &- windowStart
      if Feature.hasReferences, count > rest {
        precondition(count &- rest <= payloadLeft)
        windowStart = windowEnd
        payloadLeft &-= count &- rest
      } else {
        precondition(count >= 0 && count <= rest)
        windowStart &+= count
      }
      let whole = windowCount
      if finishBatch(order: &order) { return whole }
    }
    var packets = 0
    while windowCount > 0 {
      let slot = sendSlot
      let packet = descriptors[slot]
      guard packet.end <= windowStart,
        !packet.flags.containsAny(.isStream, .isReference) || isPayloadSent(packet)
      else { break }
      windowBase = packet.end
      finishSending(slot, order: &order)
      packets &+= 1
    }
    return packets
  }

  mutating func finishSending(_ slot: Int, order: inout UInt16) {
    prefixStart = 0
    prefixEnd = 0
    sendSlot = descriptors.slot(after: slot)
    unsent &-= 1
    windowCount &-= 1
    if descriptors[slot].flags.contains(.isExpendable) { removeExpendable(slot) }
    if descriptors[slot].qos == .atMostOnce {
      complete(slot, .delivered)
    } else {
      unacknowledged &+= 1
      known = max(known, descriptors.index(of: slot) &+ 1)
      descriptors[slot].state = .sent
      descriptors[slot].since = now.milliseconds
      if resends > 0, hasDuplicateFlag(descriptors[slot]) {
        // It keeps its order, because the connection may end before the next one has been resent.
        resends &-= 1
      } else {
        descriptors[slot].order = order
        order &+= 1
      }
    }
  }

  /// Returns whether the first byte of a message has been handed to the transport.
  func isBegun(_ slot: Int) -> Bool { windowCount > 0 && slot == sendSlot && isInsidePacket }

  /// Removes from the window what is not partly sent.
  mutating func shrinkWindow(_ quota: inout SendQuota) {
    let kept = isInsidePacket ? 1 : 0
    while windowCount > kept {
      windowCount &-= 1
      payloadLeft = 0
      readySlot = descriptors.slot(before: readySlot)
      if descriptors[readySlot].qos != .atMostOnce { quota.left &+= 1 }
    }
    if windowCount == 0 {
      prefixEnd = 0
      windowEnd = windowStart
    } else {
      windowEnd = descriptors[sendSlot].end
    }
  }
}
