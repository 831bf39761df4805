import Journal
import MQTTWire
import Storage

/// Adding messages: each is encoded once, straight into the ring, and gets a descriptor.
///
/// One text serves all messages. `smq_publish` has it compiled a second time for a message that consists of
/// a topic and a payload alone: most of what follows is then known and folds away.
extension Outbox {
  /// Adds a message, or changes nothing.
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

  /// Adds any message, without looking for a Topic Alias.
  @inline(never)
  mutating func store(
    _ publish: borrowing Publish, _ options: PublishOptions, version: ProtocolVersion,
    limits: borrowing ServerLimits
  ) throws(SessionError) {
    try store(publish, options, publish.flags(options), isPlain: false, version: version, limits: limits)
  }

  /// Adds a message whose flags are `flags`. `isPlain`, a literal, says that it consists of a topic and a
  /// payload alone and that a cookie is its only option.
  @inline(always)
  mutating func store(
    _ publish: borrowing Publish, _ options: PublishOptions, _ flags: MessageFlags, isPlain: Bool,
    version: ProtocolVersion, limits: borrowing ServerLimits
  ) throws(SessionError) {
    let isOutside = !isPlain && options.isOutside
    let size = try checkedSize(publish, flags, isOutside: isOutside, version: version, limits: limits)
    let tailBefore = bytes.tail
    if descriptors.count >= fullAt || !bytes.fits(size), let error = findRoom(size, flags) { throw error }
    let (slot, identifier) = (descriptors.tail, newIdentifier(options.cookie))
    descriptors.append(
      Descriptor(flags, cookie: options.cookie, offset: bytes.tail, size: size, since: now, version: version))
    if isPlain || !options.needsAnnotation {
      batch.add(flags)
    } else {
      batch.count = 0
      annotate(slot, options, publish, tailBefore: tailBefore, version: version)
    }
    appended(size)
    if isPlain {
      // `checkedSize` got the size from the encoder.
      var writer = unsafe bytes.append(size)
      publish.encode(into: &writer, identifier: identifier, version: version)
    } else {
      let offset = bytes.tail
      _ = unsafe bytes.append(size)
      encode(publish, identifier, at: offset, size: size, version: version)
    }
  }

  /// Returns how many bytes a message takes in the ring, if the server allows it.
  @inline(always)
  func checkedSize(
    _ publish: borrowing Publish, _ flags: MessageFlags, isOutside: Bool, version: ProtocolVersion,
    limits: borrowing ServerLimits
  ) throws(SessionError) -> Int {
    // This check comes before any sum, because on 32 bits a payload of nearly 2 GiB would make the sum
    // wrap.
    guard publish.payloadSize <= VariableByteInteger.maximum else { throw .tooLarge }
    let remainingLength = publish.remainingLength(version)
    guard remainingLength <= VariableByteInteger.maximum else { throw .tooLarge }
    let packetSize = FixedHeader.packetSize(remainingLength)
    let size = isOutside ? packetSize &- publish.payloadSize : packetSize
    if let limit = limits.verdict(packetSize: packetSize, flags) { throw refusal(limit, size) }
    return size
  }

  @inline(never)
  private func refusal(_ limit: Limit, _ size: Int) -> SessionError {
    guard size <= bytes.capacity else { return .tooLarge }
    switch limit {
    case .qosNotSupported: return .qosNotSupported
    case .retainNotSupported: return .retainNotSupported
    default: return .tooLarge
    }
  }

  /// Records in a descriptor what the options say of its message.
  @inline(never)
  mutating func annotate(
    _ slot: Int, _ options: PublishOptions, _ publish: borrowing Publish, tailBefore: Int,
    version: ProtocolVersion
  ) {
    if Feature.hasExpiry, options.expiresAt != 0 {
      descriptors[slot].flags.set(.expires, true)
      descriptors[slot].expiresAt = options.expiresAt
      recordExpiry(slot)
      if version.hasProperties {
        let payloadOffset = descriptors[slot].size &- (options.isOutside ? 0 : publish.payloadSize)
        let offset = publish.expiryOffset(payloadAt: payloadOffset, inProperties: options.expiryInProperties)
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
    case .reference:
      guard Feature.hasReferences else { break }
      descriptors[slot].flags.set(.isReference, true)
      descriptors[slot].tag = options.reference
    }
    // A stream cannot be replaced, and the program is told how a request ended.
    guard options.overflow != .refuse, !options.isStream, options.responseTag == nil else { return }
    descriptors[slot].flags.set(.isExpendable, true)
    if options.overflow == .latest {
      descriptors[slot].flags.set(.isLatest, true)
      descriptors[slot].tag = TopicHash.short(of: publish.topic)
    }
    if !options.isReserved { addExpendable(slot) }
  }

  /// Writes a packet of `size` bytes, which `checkedSize` got from the encoder, to its place in the ring.
  @inline(never)
  mutating func encode(
    _ publish: borrowing Publish, _ identifier: PacketIdentifier, at offset: Int, size: Int,
    version: ProtocolVersion
  ) {
    var writer = unsafe bytes.writer(at: offset, count: size)
    publish.encode(into: &writer, identifier: identifier, version: version)
  }

  /// Counts a message that was added.
  @inline(always)
  private mutating func appended(_ size: Int) {
    openBytes &+= size
    nextIdentifier = identifiers.next(after: nextIdentifier)
    live &+= 1
    unsent &+= 1
    incomplete &+= 1
  }

  // MARK: Room in the ring of bytes

  /// Looks for a descriptor and for room for `size` bytes, and moves the tail there. Returns the error if
  /// there is none.
  @inline(never)
  private mutating func findRoom(_ size: Int, _ flags: MessageFlags) -> SessionError? {
    guard size <= byteLimit else { return .tooLarge }
    if isJournaled, flags.isAcknowledged, !flags.contains(.isUnstored),
      let refusal = stored.element.refusal(of: size)
    {
      return refusal == .failed ? .journal : .tooLarge
    }
    guard openBytes &+ size <= byteLimit, let offset = room(for: size), ensureDescriptor() else {
      isStarved = true
      return .full
    }
    if offset != bytes.tail { batch.count = 0 }
    bytes.open(at: offset, head: oldestOffset)
    return nil
  }

  /// How many bytes all messages may have together.
  var byteLimit: Int { isJournaled ? bytes.capacity &- stored.element.reserve : bytes.capacity }

  /// Returns an offset at which `size` bytes fit in one piece.
  func room(for size: Int) -> Int? { bytes.room(for: size, head: oldestOffset) }

  /// The offset of the oldest message that has bytes.
  private var oldestOffset: Int? { live > 0 ? descriptors[first].start : nil }
}

extension Outbox.Descriptor {
  /// Makes the descriptor of a message that has not been sent.
  @inline(always)
  init(
    _ flags: MessageFlags, cookie: UInt64, offset: Int, size: Int, since now: Instant,
    version: ProtocolVersion
  ) {
    self.init(
      cookie: cookie, offset: UInt32(truncatingIfNeeded: offset),
      length: UInt32(truncatingIfNeeded: size), link: 0, expiresAt: 0, since: now.milliseconds,
      flags: flags.adding(.hasProperties, if: version.hasProperties), order: 0, tag: 0, state: .queued,
      result: .delivered, reasonCode: 0)
  }
}
