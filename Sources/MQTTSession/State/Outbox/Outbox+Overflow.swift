import MQTTWire
import Storage

/// The overflow policies: what happens to a message when the outbox is full (docs/decisions/0020).
///
/// Room comes back from the front only, and in front of what may be dropped is what the server has not acknowledged. So
/// what is left is packed, if that is what it takes.
extension Outbox {
  /// Takes a message in as it asks for. False: it was dropped itself.
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

  /// Drops the oldest of those that may be dropped until there is room; none, if there would be no room without them
  /// either.
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

  /// What is to be reported keeps its descriptor until it is.
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

  /// Whether there would be room without all that may be dropped.
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

  /// The newest packet may be another one now.
  private mutating func moveTailToNewest() {
    var slot = descriptors.tail
    for _ in 0..<live {
      slot = descriptors.slot(before: slot)
      if descriptors[slot].state.isOpen { return bytes.moveTail(to: descriptors[slot].end) }
    }
  }

  // MARK: Packing

  /// Whether a packet has room once all are packed. `isDropping`: without those that may be dropped.
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

  /// Moves the packets together, so that all the room there is lies in one piece: those up to the end of the ring as far up
  /// as they can go, and those that have wrapped as far down. No run may be under way but one packet that has been begun.
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
    // The packet that has been begun takes the window along.
    if windowCount > 0, slot == sendSlot {
      windowBase &+= distance
      windowStart &+= distance
      windowEnd &+= distance
    }
  }

  // MARK: The latest value

  /// Puts a message in the place of the last one with the same topic. False: there is none, or it is too small.
  private mutating func replace(
    _ publish: borrowing Publish, _ options: PublishOptions, version: ProtocolVersion, limits: ServerLimits,
    quota: inout SendQuota
  ) throws(SessionError) -> Bool {
    guard var slot = waiting(publish.topic)?.newest else { return false }
    let flags = publish.flags(options)
    let size = try checkedSize(publish, flags, isStream: false, version: version, limits: limits)
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

  /// Those before the newest are of no use any more: two were there if a part of one had been sent.
  private mutating func endOlder(_ topic: Span<UInt8>, quota: inout SendQuota) {
    while let (oldest, newest) = waiting(topic), oldest != newest {
      shrinkWindow(&quota)
      drop(oldest, .replaced)
    }
  }

  /// The first and the last message that wait with a topic and would be replaced.
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

  /// What is for a connection only ends with it.
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
