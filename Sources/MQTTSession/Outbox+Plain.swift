import Storage
import MQTTWire

/// The short way for what most messages are: a topic and a payload, nothing else, and alike one after the other. It does
/// what the long way does, for all of them at once, and where it does not apply it says so and changes nothing.
extension Outbox {
  /// The newest messages, as far as they are plain, of one kind, and lie one behind the other in the ring; of the kind
  /// `other` it says nothing.
  struct Row: BitwiseCopyable {
    enum Kind: BitwiseCopyable {
      /// QoS 0 of which nobody wants to hear: gone once they are sent.
      case atMostOnce
      /// QoS 1 and 2.
      case acknowledged
      /// QoS 0 of which somebody wants to hear.
      case other
    }

    var count = 0
    private(set) var kind = Kind.other

    @inline(__always)
    mutating func add(_ added: Kind) {
      count = kind == added ? count &+ 1 : 1
      kind = added
    }
  }

  // MARK: What the application wants

  /// Takes a message in, if it is as simple as that. The topic is valid, and the flags are allowed by the rules.
  @inline(__always)
  mutating func appendPlain(
    topic: Span<UInt8>, payload: Span<UInt8>, _ plainFlags: MessageFlags, cookie: UInt64, _ rules: FastPathLimits
  ) -> Bool {
    guard !aliases.isInUse, reservation == nil, payload.count < Self.plainMaximum else { return false }
    let isAcknowledged = plainFlags.qos != .atMostOnce
    let remainingLength =
      2 &+ topic.count &+ payload.count &+ Int(truncatingIfNeeded: rules.propertyBytes)
      &+ (isAcknowledged ? 2 : 0)
    let size = remainingLength &+ (remainingLength < 128 ? 2 : 3)
    guard size <= Int(truncatingIfNeeded: rules.maximumSize), stored < descriptors.count else { return false }
    guard tailOffset &+ size <= roomEnd || findRoom(size) else { return false }

    assert(live == 0 || place(size) == tailOffset)
    let offset = tailOffset
    let identifier = newIdentifier(cookie)
    let flags = plainFlags.adding(MessageFlags.propertyBit(rules.propertyBytes))
    descriptors[tail] = Descriptor(
      cookie: cookie, offset: UInt32(truncatingIfNeeded: offset), length: UInt32(truncatingIfNeeded: size),
      link: 0, expiresAt: 0, since: now.milliseconds, flags: flags, order: 0, tag: 0,
      state: .queued, outcome: .delivered, reasonCode: 0)
    row.add(isAcknowledged ? .acknowledged : flags.contains(.isQuiet) ? .atMostOnce : .other)
    appended(size)

    // These are the parts of which `size` is the sum.
    var writer = bytes.writer(at: offset, count: size)
    unsafe writer.put(ControlPacketType.publish.rawValue << 4 | flags.publishFlags)
    if remainingLength < 128 {
      unsafe writer.put(UInt8(truncatingIfNeeded: remainingLength))
    } else {
      unsafe writer.put(UInt8(truncatingIfNeeded: remainingLength) | 0x80)
      unsafe writer.put(UInt8(truncatingIfNeeded: remainingLength >> 7))
    }
    unsafe writer.put(UInt16(truncatingIfNeeded: topic.count))
    unsafe writer.put(topic)
    if isAcknowledged { unsafe writer.put(identifier.rawValue) }
    if rules.propertyBytes > 0 { unsafe writer.put(UInt8(0)) }
    unsafe writer.put(payload)
    return true
  }

  /// The largest packet whose Remaining Length has two bytes. (A payload of that size is refused before any sum.)
  static var plainMaximum: Int { 16_386 }

  /// Looks for a place for `size` bytes, and puts the tail there. False: there is none.
  @inline(never)
  mutating func findRoom(_ size: Int) -> Bool {
    guard let offset = place(size) else { return false }
    if offset != tailOffset { row.count = 0 }
    tailOffset = offset
    let head = live > 0 ? descriptors[first].start : 0
    roomEnd = head > offset ? head : bytes.count
    return true
  }

  // MARK: Things that happened

  /// PUBACK, or PUBCOMP of QoS 2, says that a message has arrived. False: `acknowledged` has to look at it.
  @inline(__always)
  mutating func completePlain(
    _ identifier: PacketIdentifier, _ qos: QoS, hasReasonCode: Bool, quota: inout SendQuota
  ) -> Bool {
    guard let slot = slot(of: identifier) else { return false }
    let message = descriptors[slot]
    let state = qos == .exactlyOnce ? DeliveryState.released : .sent
    guard message.state == state, message.flags.isPlain(qos) else { return false }
    quota.left &+= 1
    unacknowledged &-= 1
    incomplete &-= 1
    delivered.increment()
    let latency = now.milliseconds &- message.since
    latencies.add(latency)
    if message.flags.contains(.isQuiet) {
      descriptors[slot].state = .free
      if slot == first { giveBytesBack() }
      collect(slot)
      return true
    }
    var flags = message.flags.adding(MessageFlags.Flag.hasLatency.bit)
    if hasReasonCode {
      // Of QoS 2, PUBREC has said it.
      flags = flags.adding(MessageFlags.Flag.hasReasonCode.bit)
      descriptors[slot].reasonCode = ReasonCode.success.rawValue
    }
    descriptors[slot].since = latency
    descriptors[slot].flags = flags
    descriptors[slot].state = .completed
    queueCompletion(slot)
    if slot == first { giveBytesBack() }
    return true
  }

  /// PUBREC says that a message has arrived. False: `acknowledged` has to look at it.
  @inline(__always)
  mutating func releasePlain(_ identifier: PacketIdentifier, hasReasonCode: Bool) -> Bool {
    guard let slot = slot(of: identifier) else { return false }
    let message = descriptors[slot]
    guard message.state == .sent, message.flags.qos == .exactlyOnce else { return false }
    descriptors[slot].state = .released
    descriptors[slot].answer = hasReasonCode ? ReasonCode.success.rawValue : nil
    return true
  }

  // MARK: Outputs

  /// `takeCompletion` would find that of a message which has arrived, and is no request.
  @inline(__always)
  var hasPlainCompletion: Bool {
    guard firstCompleted != Outbox.none else { return false }
    let slot = Int(truncatingIfNeeded: firstCompleted)
    return descriptors[slot].outcome == .delivered && !descriptors[slot].flags.contains(.isRequest)
  }

  /// Adds to the run all that may be sent. False: `extendWindow` has to look at each.
  @inline(__always)
  mutating func extendRunByRow(_ quota: inout SendQuota) -> Bool {
    let added = unsent &- runCount
    guard row.count >= unsent, row.kind != .other, added > 0 else { return false }
    if row.kind == .acknowledged {
      guard quota.left >= added else { return false }
      quota.left &-= added
    }
    if runCount == 0 {
      runBase = descriptors[readySlot].start
      runStart = runBase
    }
    runCount = unsent
    runEnd = tailOffset
    readySlot = tail
    return true
  }

  /// All of the run was handed to the transport. False: `transmitted` has to look at each packet.
  @inline(__always)
  mutating func finishRow(order: inout UInt16) -> Bool {
    guard row.count >= unsent, runCount == unsent, runStart == runEnd else { return false }
    switch row.kind {
    case .other: return false
    case .atMostOnce:
      // In front of them nothing is left that waits for an answer, or to be told.
      guard sendSlot == head, stored == runCount, live == stored else { return false }
      delivered.add(runCount)
      incomplete &-= runCount
      headIdentifier = nextIdentifier
      head = tail
      first = tail
      known = 0
      stored = 0
      live = 0
      // All is free: the same bytes again are in the processor's cache.
      tailOffset = 0
      roomEnd = bytes.count
      hasNewRoom = isStarved
    case .acknowledged:
      let packets = runCount
      var slot = sendSlot
      known = max(known, distance(of: slot) &+ packets)
      unacknowledged &+= packets
      for _ in 0..<packets {
        descriptors[slot].state = .sent
        descriptors[slot].since = now.milliseconds
        descriptors[slot].order = order
        order &+= 1
        slot = self.slot(after: slot)
      }
    }
    runBase = runEnd
    sendSlot = tail
    unsent = 0
    runCount = 0
    return true
  }
}
