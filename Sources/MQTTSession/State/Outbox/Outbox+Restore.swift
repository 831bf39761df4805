import Journal
import MQTTWire
import Storage

/// Messages that an earlier process has accepted: they are put back before the first connection.
extension Outbox {
  /// Orders the messages that the journal has. Returns how many there are; `nil`: too many.
  @inline(never)
  @_optimize(size)
  mutating func orderFound() -> Int? {
    guard let count = stored.element.orderFound() else { return nil }
    // There the identifiers are in the cookies.
    guard !DropIn.isOn else { return count }
    for index in 0..<count {
      let message = stored.element[stored.element.found(at: index)]
      guard message.state != .queued, let identifier = PacketIdentifier(message.slot) else { continue }
      beginRestoring(identifier, offset: index)
      break
    }
    return count
  }

  /// Where the commit begins that has the message at an index of the order.
  func placeFound(at index: Int) -> UInt32 { stored.element[stored.element.found(at: index)].place }

  @_optimize(size)
  mutating func endRecovery(_ count: Int, _ space: LogSpace) {
    stored.element.endRecovery(count) { space.age(of: $0) }
    sendSlot = descriptors.head
    readySlot = descriptors.head
    unsent = descriptors.count
  }

  /// Chooses the identifier of the first message: `offset` messages behind it is one that has to get
  /// `identifier`.
  @_optimize(size)
  mutating func beginRestoring(_ identifier: PacketIdentifier, offset: Int) {
    guard identifiers.contains(identifier), offset < identifiers.count else { return }
    headIdentifier = identifiers.advanced(identifier, by: identifiers.count &- offset)
    nextIdentifier = headIdentifier
  }

  /// Puts a message back, as `version` has it: one that was stored without properties gets an empty list. Returns its
  /// slot; `nil`: it does not fit.
  @inline(never)
  @_optimize(size)
  mutating func restore(
    _ header: JournalRecord.MessageHeader, _ packet: Span<UInt8>, _ state: StoredMessages.State,
    identifier: UInt16, order: UInt16, second: UInt32, version: ProtocolVersion
  ) -> Int? {
    var flags = MessageFlags(kept: header.flags)
    let needsProperties = version.hasProperties && !flags.contains(.hasProperties)
    let oldLength = packet.count &- Self.fixedHeaderSize(packet)
    let size = needsProperties ? FixedHeader.packetSize(oldLength &+ 1) : packet.count
    let wanted = state == .queued ? nil : PacketIdentifier(identifier)
    if state != .queued {
      guard let wanted, DropIn.isOn || addGaps(before: wanted) else { return nil }
    }
    let head = live > 0 ? descriptors[first].start : nil
    guard descriptors.count < descriptors.capacity, messageCount < messageCapacity,
      let offset = bytes.room(for: size, head: head)
    else { return nil }
    bytes.open(at: offset, head: head)
    let slot = descriptors.tail
    flags.set(.hasProperties, flags.contains(.hasProperties) || needsProperties)
    flags.set(.isConsidered, true)
    flags.set(.isStored, true)
    flags.set(.mayLeave, state != .queued)
    if state != .queued { flags.set(.isExpendable, false) }
    if !flags.contains(.isExpendable) { flags.set(.isLatest, false) }
    descriptors.append(
      Descriptor(
        cookie: DropIn.isOn ? restoredCookie(wanted) : header.cookie.uint64,
        offset: UInt32(truncatingIfNeeded: offset),
        length: UInt32(truncatingIfNeeded: size), link: header.expiryOffset, expiresAt: 0,
        since: now.milliseconds, flags: flags, order: order, tag: 0, state: .queued, result: .delivered,
        reasonCode: 0))
    _ = unsafe bytes.append(size)
    var target = bytes.mutableBytes(in: offset..<offset &+ size)
    if needsProperties { Self.copyWithProperties(packet, into: &target) } else { copy(packet, into: &target) }
    setIdentifier(slot, DropIn.isOn ? cookieIdentifier(slot) : nextIdentifier)
    setDuplicateFlag(descriptors[slot], false)
    counted(slot, state, header, second: second)
    return slot
  }

  /// How many bytes the Fixed Header of a packet takes, which is well-formed.
  private static func fixedHeaderSize(_ packet: Span<UInt8>) -> Int {
    var size = 2
    while packet[size &- 1] & 0x80 != 0 { size &+= 1 }
    return size
  }

  /// Writes a PUBLISH with a Packet Identifier as 5.0 has it (§3.3.2.3): with a Property Length of 0.
  @inline(never)
  @_optimize(size)
  private static func copyWithProperties(_ packet: Span<UInt8>, into target: inout MutableSpan<UInt8>) {
    let start = fixedHeaderSize(packet)
    let topicSize = Int(packet[start]) << 8 | Int(packet[start &+ 1])
    let payload = start &+ 2 &+ topicSize &+ 2
    let header = target.count &- (packet.count &- start &+ 1)
    let middle = header &+ payload &- start
    var writer = ByteWriter(target._mutatingExtracting(0..<header))
    writer.put(packet[0])
    writer.put(variableByteInteger: packet.count &- start &+ 1)
    var beginning = target._mutatingExtracting(header..<middle)
    copy(packet.extracting(start..<payload), into: &beginning)
    target[middle] = 0
    var end = target._mutatingExtracting(middle &+ 1..<target.count)
    copy(packet.extracting(payload..<packet.count), into: &end)
  }

  @inline(never)
  @_optimize(size)
  private mutating func counted(
    _ slot: Int, _ state: StoredMessages.State, _ header: JournalRecord.MessageHeader, second: UInt32
  ) {
    let message = descriptors[slot]
    batch.count = 0
    nextIdentifier = identifiers.next(after: nextIdentifier)
    openBytes &+= message.size
    live &+= 1
    unsent &+= 1
    incomplete &+= 1
    if state != .queued { known = descriptors.count }
    if message.flags.contains(.expires) {
      descriptors[slot].expiresAt = second &+ header.expiry
      if state != .released { recordExpiry(slot) }
    }
    switch state {
    // It may have been sent.
    case .bound: descriptors[slot].state = .sent
    case .released: descriptors[slot].state = .pubrelSent
    default: break
    }
    if message.flags.contains(.isLatest) {
      let start = topicOffset(message) &+ 2
      let count = Int(bytes.bytes[start &- 2]) << 8 | Int(bytes.bytes[start &- 1])
      descriptors[slot].tag = TopicHash.short(of: bytes.bytes.extracting(start..<start &+ count))
    }
    if message.flags.contains(.isExpendable) { addExpendable(slot) }
  }

  /// Adds free descriptors up to the one that has an identifier. Returns false if there is no room for them.
  @inline(never)
  @_optimize(size)
  private mutating func addGaps(before wanted: PacketIdentifier) -> Bool {
    let count = identifiers.distance(from: nextIdentifier, to: wanted)
    guard count < descriptors.capacity &- descriptors.count else { return false }
    for _ in 0..<count {
      descriptors.append(
        Descriptor(
          cookie: 0, offset: UInt32(truncatingIfNeeded: bytes.tail), length: 0, link: 0, expiresAt: 0,
          since: 0,
          flags: MessageFlags(kept: 0), order: 0, tag: 0, state: .free, result: .delivered, reasonCode: 0))
      nextIdentifier = identifiers.next(after: nextIdentifier)
      if live > 0 { live &+= 1 } else { first = descriptors.tail }
      unsent &+= 1
      addGap()
    }
    return true
  }
}
