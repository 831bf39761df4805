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
        if room(for: size) != nil { return true }
        if hasRoomPacked(size, isDropping: false) {
          pack()
          return true
        }
      }
      guard let slot = oldestExpendable(isQuiet: needsDescriptor) else { return false }
      drop(slot, .dropped)
    }
  }

  /// A message whose end is reported keeps its descriptor until then.
  private func oldestExpendable(isQuiet: Bool) -> Int? {
    var slot = first
    for _ in 0..<live {
      if isExpendable(slot), !isQuiet || descriptors[slot].flags.contains(.isQuiet) { return slot }
      slot = descriptors.slot(after: slot)
    }
    return nil
  }

  private func isExpendable(_ slot: Int) -> Bool {
    let message = descriptors[slot]
    return message.state == .queued && message.flags.contains(.isExpendable)
      && !message.flags.contains(.isStream)
      && !message.flags.contains(.isRequest) && !isBegun(slot) && !hasDuplicateFlag(message)
  }

  /// Returns whether there would be room without all messages that may be dropped.
  func canMakeRoom(for size: Int) -> Bool {
    if !hasDescriptor, oldestExpendable(isQuiet: true) == nil { return false }
    return hasRoomPacked(size, isDropping: true)
  }

  private mutating func drop(_ slot: Int, _ result: DeliveryResult) {
    recordPeaks()
    withdraw(slot, result)
    removeFree(slot)
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

  /// Returns whether a packet has room once all are packed; with `isDropping`, without those that may be
  /// dropped.
  private func hasRoomPacked(_ size: Int, isDropping: Bool) -> Bool {
    var room = bytes.capacity
    var slot = first
    for _ in 0..<live {
      let message = descriptors[slot]
      if message.state.isOpen, !isDropping || !isExpendable(slot) { room &-= message.size }
      slot = descriptors.slot(after: slot)
    }
    return size <= room
  }

  /// Moves the packets together, so that all free bytes are in one piece: the packets up to the end of the
  /// ring as far up as they can go, and those that have wrapped as far down. The window must be empty
  /// except for one packet that is partly sent.
  private mutating func pack() {
    guard live > 0 else { return }
    batch.count = 0
    let front = descriptors[first].start
    var limit = bytes.capacity
    var slot = descriptors.tail
    for _ in 0..<live {
      slot = descriptors.slot(before: slot)
      let message = descriptors[slot]
      guard message.state.isOpen, message.start >= front else { continue }
      limit &-= message.size
      move(slot, to: limit)
    }
    bytes.moveTail(to: bytes.capacity)
    var end = 0
    slot = first
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
    let size = try checkedSize(publish, flags, isOutside: false, version: version, limits: limits)
    let message = descriptors[slot]
    let needsCompletion = !message.flags.contains(.isQuiet)
    guard size <= message.size, !needsCompletion || hasDescriptor else { return false }
    shrinkWindow(&quota)
    if needsCompletion, descriptors.count == descriptors.capacity, reclaim() {
      slot = waiting(publish.topic)?.newest ?? slot
    }
    count(.replaced)
    if needsCompletion { appendCompletion(of: message, .replaced) }
    let identifier = identifier(at: descriptors.index(of: slot))
    let offset = message.end &- size
    descriptors[slot] = Descriptor(
      flags, cookie: options.cookie, offset: offset, size: size, since: now, version: version)
    encode(publish, identifier, at: offset, size: size, version: version)
    annotate(slot, options, publish, tailBefore: bytes.tail, version: version)
    return true
  }

  /// Ends the messages before the newest. There are two if a part of one had been sent.
  private mutating func endOlder(_ topic: Span<UInt8>, quota: inout SendQuota) {
    while let (oldest, newest) = waiting(topic), oldest != newest {
      shrinkWindow(&quota)
      drop(oldest, .replaced)
    }
  }

  /// Returns the first and the last queued message with this topic that a newer one replaces.
  private func waiting(_ topic: Span<UInt8>) -> (oldest: Int, newest: Int)? {
    let hash = Self.hash(topic)
    var found: (oldest: Int, newest: Int)? = nil
    var slot = first
    for _ in 0..<live {
      let message = descriptors[slot]
      if message.flags.contains(.isLatest), message.tag == hash, isExpendable(slot), hasTopic(topic, message)
      {
        found = (found?.oldest ?? slot, slot)
      }
      slot = descriptors.slot(after: slot)
    }
    return found
  }

  private func hasTopic(_ topic: Span<UInt8>, _ message: Descriptor) -> Bool {
    var position = message.start &+ 1
    while bytes.bytes[position] >= 0x80 { position &+= 1 }
    position &+= 1
    guard Int(bytes.bytes[position]) << 8 | Int(bytes.bytes[position &+ 1]) == topic.count else {
      return false
    }
    position &+= 2
    for index in 0..<topic.count where bytes.bytes[position &+ index] != topic[index] { return false }
    return true
  }

  static func hash(_ topic: Span<UInt8>) -> UInt16 { UInt16(truncatingIfNeeded: TopicHash.of(topic)) }

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
