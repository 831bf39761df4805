import MQTTWire
import Storage

/// Messages that are more than bytes to be sent: those that expire, wait for a reply, have their payload written later, or
/// never have it here.
extension Outbox {
  /// Notes in a descriptor what is special about its message.
  @inline(never)
  mutating func annotate(
    _ slot: Int, _ options: PublishOptions, _ publish: borrowing Publish, tailBefore: Int,
    version: ProtocolVersion
  ) {
    descriptors[slot].flags.set(.isExpendable, options.overflow != .refuse)
    if options.overflow == .latest {
      descriptors[slot].flags.set(.isLatest, true)
      descriptors[slot].tag = Self.hash(publish.topic)
    }
    if Feature.hasExpiry, options.expiresAt != 0 {
      descriptors[slot].flags.set(.expires, true)
      descriptors[slot].expiresAt = options.expiresAt
      recordExpiry(options.expiresAt)
      if version.hasProperties {
        let offset = publish.expiryOffset(
          publish.remainingLength(version), inProperties: options.expiryInProperties)
        descriptors[slot].link = UInt32(truncatingIfNeeded: offset)
      }
    }
    if Feature.hasReplies, let tag = options.responseTag {
      descriptors[slot].flags.set(.isRequest, true)
      descriptors[slot].tag = tag
    }
    switch options.kind {
    case .whole: break
    case .reserved:
      guard Feature.hasReserve else { break }
      descriptors[slot].state = .reserved
      reservation = Reservation(
        slot: slot, payloadSize: publish.payloadSize, tailOffset: live > 0 ? tailBefore : 0)
    case .stream:
      guard Feature.hasStreams else { break }
      descriptors[slot].flags.set(.isStream, true)
      stream = OutgoingStream(slot: slot, payloadSize: publish.payloadSize)
    }
  }

  // MARK: Expiry

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

  // MARK: Requests

  /// The slot of the message that was taken in last.
  var newestSlot: Int { descriptors.slot(at: descriptors.count &- 1) }

  /// The end of a request has been told: of its message nobody wants to hear any more. If its time was up and the
  /// message was never sent, it never will be.
  mutating func dismiss(_ request: PendingResponses.Ended, isTimeUp: Bool, quota: inout SendQuota) {
    guard let slot = slot(of: request) else { return }
    switch descriptors[slot].state {
    case .completed: dropCompletion(slot)
    default:
      descriptors[slot].flags.set(.isDismissed, true)
      guard isTimeUp, descriptors[slot].state == .queued else { return }
      shrinkWindow(&quota)
      if !isBegun(slot), !hasDuplicateFlag(descriptors[slot]) { complete(slot, .expired) }
    }
  }

  /// Where the message of a request is, if it is there: what was dropped before it has moved it.
  private func slot(of request: PendingResponses.Ended) -> Int? {
    if isOf(request, request.slot) { return request.slot }
    var slot = descriptors.head
    for _ in 0..<descriptors.count {
      if isOf(request, slot) { return slot }
      slot = descriptors.slot(after: slot)
    }
    return nil
  }

  private func isOf(_ request: PendingResponses.Ended, _ slot: Int) -> Bool {
    guard descriptors.index(of: slot) < descriptors.count else { return false }
    let message = descriptors[slot]
    return message.flags.contains(.isRequest) && message.tag == request.tag
      && message.cookie == request.cookie
      && message.state != .free && message.state != .reserved
  }

  // MARK: Reserve, commit, abort

  /// Where the payload of the reservation goes.
  @_lifetime(&self)
  mutating func reservedPayload(_ reservation: Reservation) -> MutableSpan<UInt8> {
    let end = descriptors[reservation.slot].end
    return bytes.mutableBytes(in: end &- reservation.payloadSize..<end)
  }

  mutating func commit(_ reservation: Reservation, payloadSize: Int, limits: ServerLimits) {
    let slot = reservation.slot
    self.reservation = nil
    descriptors[slot].state = .queued
    // Its time may have come while nothing could be done about it.
    if descriptors[slot].flags.contains(.expires) { recordExpiry(descriptors[slot].expiresAt) }
    if payloadSize < reservation.payloadSize { shrink(slot, by: reservation.payloadSize &- payloadSize) }
    // The server may be another one than when the room was reserved.
    let message = descriptors[slot]
    let limit = limits.verdict(packetSize: message.size, message.flags)
    if let limit { complete(slot, .aboveLimit, reasonCode: limit.reasonCode.rawValue) }
  }

  mutating func abort(_ reservation: Reservation) {
    self.reservation = nil
    removeNewest(tailOffset: reservation.tailOffset)
  }

  /// Takes bytes off the end of the newest packet, and puts its header right.
  private mutating func shrink(_ slot: Int, by count: Int) {
    let message = descriptors[slot]
    var headerSize = 2
    while bytes.bytes[message.start &+ headerSize &- 1] >= 0x80 { headerSize &+= 1 }
    let first = bytes.bytes[message.start]
    let remainingLength = message.size &- headerSize &- count
    let start =
      message.start &+ headerSize &- 1 &- VariableByteInteger.encodedSize(remainingLength)
    var header = ByteWriter(bytes.mutableBytes(in: start..<message.start &+ headerSize))
    header.put(first)
    header.put(variableByteInteger: remainingLength)
    let shift = UInt32(truncatingIfNeeded: start &- message.start)
    descriptors[slot].offset = message.offset &+ shift
    descriptors[slot].length = message.length &- shift &- UInt32(truncatingIfNeeded: count)
    if message.link != 0 { descriptors[slot].link = message.link &- shift }
    bytes.moveTail(to: message.end &- count)
  }
}
