import MQTTWire
import Storage

/// Taking messages in: each is encoded once, straight into the ring, and described.
///
/// There is one text for all of them. `smq_publish` has it compiled a second time, for a message that is no more than a topic
/// and a payload: then most of it is known and falls away.
extension Outbox {
  /// Takes a message in, or changes nothing.
  mutating func append(
    _ publish: borrowing Publish, _ options: PublishOptions, version: ProtocolVersion,
    limits: borrowing ServerLimits
  ) throws(SessionError) {
    if aliases.isInUse {
      try appendUnderAlias(publish, options, version: version, limits: limits)
    } else {
      try store(publish, options, version: version, limits: limits)
    }
  }

  /// Any message, as it is.
  @inline(never)
  mutating func store(
    _ publish: borrowing Publish, _ options: PublishOptions, version: ProtocolVersion,
    limits: borrowing ServerLimits
  ) throws(SessionError) {
    try store(publish, options, publish.flags(options), isPlain: false, version: version, limits: limits)
  }

  /// `flags` are those of the message. `isPlain`, a literal: it is no more than a topic and a payload, and the options are a
  /// cookie.
  @inline(always)
  mutating func store(
    _ publish: borrowing Publish, _ options: PublishOptions, _ flags: MessageFlags, isPlain: Bool,
    version: ProtocolVersion, limits: borrowing ServerLimits
  ) throws(SessionError) {
    let isStream = !isPlain && options.kind == .stream
    let size = try checkedSize(publish, flags, isStream: isStream, version: version, limits: limits)
    let tailBefore = tailOffset
    if stored == descriptors.count || tailOffset &+ size > roomEnd, let error = findRoom(size) { throw error }
    let (slot, offset, identifier) = (tail, tailOffset, newIdentifier(options.cookie))
    describe(slot, flags, cookie: options.cookie, offset: offset, size: size, version: version)
    if isPlain || !options.isSpecial {
      batch.add(flags)
    } else {
      batch.count = 0
      annotate(slot, options, publish, tailBefore: tailBefore, version: version)
    }
    appended(size)
    if isPlain {
      encode(publish, identifier, at: offset, size: size, version: version)
    } else {
      encodeOutOfLine(publish, identifier, at: offset, size: size, version: version)
    }
  }

  /// How many bytes a message takes here, if the server allows it.
  @inline(always)
  func checkedSize(
    _ publish: borrowing Publish, _ flags: MessageFlags, isStream: Bool, version: ProtocolVersion,
    limits: borrowing ServerLimits
  ) throws(SessionError) -> Int {
    // Before any sum: on 32 bits a payload of nearly 2 GiB would make it wrap.
    guard publish.payloadSize <= VariableByteInteger.maximum else { throw .tooLarge }
    let remainingLength = publish.remainingLength(version)
    guard remainingLength <= VariableByteInteger.maximum else { throw .tooLarge }
    let packetSize = FixedHeader.packetSize(remainingLength)
    let size = isStream ? packetSize &- publish.payloadSize : packetSize
    if let limit = limits.verdict(packetSize: packetSize, flags) { throw refusal(limit, size) }
    return size
  }

  @inline(never)
  private func refusal(_ limit: Limit, _ size: Int) -> SessionError {
    guard size <= bytes.count else { return .tooLarge }
    switch limit {
    case .qosNotSupported: return .qosNotSupported
    case .retainNotSupported: return .retainNotSupported
    default: return .tooLarge
    }
  }

  @inline(always)
  mutating func describe(
    _ slot: Int, _ flags: MessageFlags, cookie: UInt64, offset: Int, size: Int, version: ProtocolVersion
  ) {
    descriptors[slot] = Descriptor(
      cookie: cookie, offset: UInt32(truncatingIfNeeded: offset),
      length: UInt32(truncatingIfNeeded: size), link: 0, expiresAt: 0, since: now.milliseconds,
      flags: flags.adding(.hasProperties, if: version.hasProperties), order: 0, tag: 0, state: .queued,
      result: .delivered, reasonCode: 0)
  }

  /// The same where it is there once more for one use.
  @inline(never)
  mutating func encodeOutOfLine(
    _ publish: borrowing Publish, _ identifier: PacketIdentifier, at offset: Int, size: Int,
    version: ProtocolVersion
  ) {
    encode(publish, identifier, at: offset, size: size, version: version)
  }

  @inline(always)
  mutating func encode(
    _ publish: borrowing Publish, _ identifier: PacketIdentifier, at offset: Int, size: Int,
    version: ProtocolVersion
  ) {
    // `checkedSize` has it from the encoder.
    var writer = unsafe bytes.writer(at: offset, count: size)
    publish.encode(into: &writer, identifier: identifier, version: version)
  }

  /// The message behind the last one is there.
  @inline(always)
  private mutating func appended(_ size: Int) {
    tail = slot(after: tail)
    tailOffset &+= size
    nextIdentifier = identifiers.next(after: nextIdentifier)
    stored &+= 1
    live &+= 1
    unsent &+= 1
    incomplete &+= 1
  }

  // MARK: Room in the ring of bytes

  /// Looks for a descriptor, and for room for `size` bytes, and puts the tail there. Returns why there is none.
  @inline(never)
  private mutating func findRoom(_ size: Int) -> SessionError? {
    guard size <= bytes.count else { return .tooLarge }
    guard let offset = room(for: size), stored < descriptors.count || reclaim() else {
      isStarved = true
      return .full
    }
    if offset != tailOffset { batch.count = 0 }
    tailOffset = offset
    let head = live > 0 ? descriptors[first].start : 0
    roomEnd = head > offset ? head : bytes.count
    return nil
  }

  /// The next packet begins somewhere else than behind the last one.
  mutating func moveTail(to offset: Int) {
    tailOffset = offset
    roomEnd = 0
  }

  /// Where `size` bytes fit in one piece.
  func room(for size: Int) -> Int? {
    guard live > 0 else { return size <= bytes.count ? 0 : nil }
    return Self.room(for: size, head: descriptors[first].start, tail: tailOffset, capacity: bytes.count)
  }

  /// Behind the tail, or at the front once the head has moved.
  static func room(for size: Int, head: Int, tail: Int, capacity: Int) -> Int? {
    if tail > head {
      if capacity &- tail >= size { return tail }
      return head >= size ? 0 : nil
    }
    return head &- tail >= size ? tail : nil
  }
}
