import Journal
import MQTTWire
import Storage

/// The overflow policies: what happens to a message when the outbox is full (docs/decisions/0020).
///
/// Room is freed at the front only, and in front of a message that may be dropped there may be messages
/// that the server has not acknowledged. So the remaining packets are moved together if that is what it
/// takes.
extension Outbox {
  /// Adds a message according to its overflow policy. Returns false if the message itself was dropped.
  @inline(never)
  mutating func admit(
    _ publish: borrowing Publish, _ options: PublishOptions, version: ProtocolVersion, limits: ServerLimits,
    quota: inout SendQuota
  ) throws(SessionError) -> Bool {
    if options.overflow == .latest {
      if try replace(publish, options, version: version, limits: limits, quota: &quota) {
        endOlder(publish.topic, quota: &quota)
        return true
      }
    }
    let wasStarved = isStarved
    do throws(SessionError) {
      try append(publish, options, version: version, limits: limits)
    } catch {
      guard error == .full, options.overflow != .refuse else { throw error }
      isStarved = wasStarved
      if options.overflow == .dropNewest {
        dropped.increment()
        return false
      }
      let room = roomNeeded(publish, options, version: version, limits: limits)
      guard makeRoom(for: room, quota: &quota) else {
        isStarved = true
        throw .full
      }
      try append(publish, options, version: version, limits: limits)
    }
    if options.overflow == .latest { endOlder(publish.topic, quota: &quota) }
    return true
  }

  // MARK: The oldest make room

  /// Drops the oldest of the messages that may be dropped until there is room, or none if dropping all of
  /// them would not make enough room.
  private mutating func makeRoom(for size: Int, quota: inout SendQuota) -> Bool {
    guard canMakeRoom(for: size) else { return false }
    shrinkWindow(&quota)
    while true {
      let needsDescriptor = !hasDescriptor
      if !needsDescriptor {
        if size <= byteLimit &- openBytes {
          if room(for: size) == nil { pack() }
          return true
        }
      }
      guard let slot = oldestExpendable(isQuiet: needsDescriptor) else { return false }
      let (dropped, older) = (descriptors[slot], descriptors.index(of: slot) &- descriptors.index(of: first))
      drop(slot, .dropped)
      if older > 0, room(for: size) == nil { closeHole(of: dropped, slot, older: older) }
    }
  }

  /// Returns whether there would be room without all messages that may be dropped.
  @inline(never)
  func canMakeRoom(for size: Int) -> Bool {
    guard hasDescriptor || hasQuietExpendable else { return false }
    return size <= byteLimit &- openBytes &+ expendableBytes
  }

  private mutating func drop(_ slot: Int, _ result: DeliveryResult) {
    recordPeaks()
    withdraw(slot, result)
    moveTailToNewest()
  }

  /// Moves the tail to the end of the newest packet, which may be another one now.
  private mutating func moveTailToNewest() {
    var slot = descriptors.tail
    for _ in 0..<live {
      slot = descriptors.slot(before: slot)
      if descriptors[slot].state.isOpen { return bytes.moveTail(to: descriptors[slot].end) }
    }
  }

  // MARK: Packing

  /// Moves the packets in front of one that was dropped up into its room, unless they have wrapped: so that all
  /// the room is in front of the oldest. As a rule few are in front of it, those that are in flight.
  private mutating func closeHole(of dropped: Descriptor, _ slot: Int, older: Int) {
    guard descriptors[first].start < dropped.start else { return }
    moveUp(older, before: slot, to: dropped.end)
    moveTailToNewest()
  }

  /// Moves the last `count` packets in front of a slot as far up as they can go, but for those that have wrapped.
  private mutating func moveUp(_ count: Int, before end: Int, to limit: Int) {
    batch.count = 0
    let front = descriptors[first].start
    var limit = limit
    var slot = end
    for _ in 0..<count {
      slot = descriptors.slot(before: slot)
      let message = descriptors[slot]
      guard message.state.isOpen, message.start >= front else { continue }
      limit &-= message.size
      move(slot, to: limit)
    }
  }

  /// Moves the packets together, so that all free bytes are in one piece: the packets up to the end of the
  /// ring as far up as they can go, and those that have wrapped as far down. The window must be empty
  /// except for one packet that is partly sent.
  @_optimize(size)
  private mutating func pack() {
    guard live > 0 else { return }
    let front = descriptors[first].start
    moveUp(live, before: descriptors.tail, to: bytes.capacity)
    bytes.moveTail(to: bytes.capacity)
    var end = 0
    var slot = first
    for _ in 0..<live {
      let message = descriptors[slot]
      if message.state.isOpen, message.start < front {
        move(slot, to: end)
        end &+= message.size
        bytes.moveTail(to: end)
      }
      slot = descriptors.slot(after: slot)
    }
  }

  private mutating func move(_ slot: Int, to offset: Int) {
    let message = descriptors[slot]
    let distance = offset &- message.start
    guard distance != 0 else { return }
    bytes.move(from: message.start, to: offset, count: message.size)
    descriptors[slot].offset = UInt32(truncatingIfNeeded: offset)
    // The packet that is partly sent moves the window with it.
    if windowCount > 0, slot == sendSlot {
      windowBase &+= distance
      windowStart &+= distance
      windowEnd &+= distance
    }
  }

  // MARK: The latest value

  /// Replaces the last message with the same topic. Returns false if there is none, or if it is too small.
  private mutating func replace(
    _ publish: borrowing Publish, _ options: PublishOptions, version: ProtocolVersion, limits: ServerLimits,
    quota: inout SendQuota
  ) throws(SessionError) -> Bool {
    guard var slot = waiting(publish.topic)?.newest else { return false }
    let flags = publish.flags(options)
    if isJournaled {
      guard mayReplace(slot, by: flags) else { return false }
      if flags.isAcknowledged, !flags.contains(.isUnstored), stored.element.isRefusing { throw .journal }
    }
    let size = try checkedSize(publish, flags, isOutside: false, version: version, limits: limits)
    let message = descriptors[slot]
    let needsCompletion = !message.flags.contains(.isQuiet)
    guard size <= message.size, !needsCompletion || hasDescriptor else { return false }
    shrinkWindow(&quota)
    if needsCompletion, ensureDescriptor() { slot = waiting(publish.topic)?.newest ?? slot }
    removeExpendable(slot)
    let wasStored = message.flags.contains(.isStored)
    count(.replaced)
    if needsCompletion { appendCompletion(of: descriptors[slot], .replaced) }
    openBytes &+= size &- message.size
    let identifier = identifier(at: descriptors.index(of: slot))
    let offset = message.end &- size
    descriptors[slot] = Descriptor(
      flags, cookie: options.cookie, offset: offset, size: size, since: now, version: version)
    encode(publish, identifier, at: offset, size: size, version: version)
    annotate(slot, options, publish, tailBefore: bytes.tail, version: version)
    if isJournaled {
      replaced(slot, wasStored: wasStored, wasConsidered: message.flags.contains(.isConsidered))
    }
    return true
  }

  /// Ends the messages before the newest. There are two if a part of one had been sent.
  private mutating func endOlder(_ topic: Span<UInt8>, quota: inout SendQuota) {
    while let (oldest, newest) = waiting(topic), oldest != newest {
      shrinkWindow(&quota)
      drop(oldest, .replaced)
    }
  }

  // MARK: Without a connection

  /// Drops the QoS 0 messages, which are for one connection only.
  mutating func dropAtMostOnce() {
    batch.count = 0
    var slot = first
    for _ in 0..<live {
      let message = descriptors[slot]
      let next = descriptors.slot(after: slot)
      if message.state == .queued, message.qos == .atMostOnce { withdraw(slot, .disconnected) }
      slot = next
    }
  }
}
