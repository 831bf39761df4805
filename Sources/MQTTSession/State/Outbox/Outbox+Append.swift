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
    let isStream = !isPlain && options.isStream
    let size = try checkedSize(publish, flags, isStream: isStream, version: version, limits: limits)
    let tailBefore = bytes.tail
    if descriptors.isFull || !bytes.fits(size), let error = findRoom(size) { throw error }
    let (slot, identifier) = (descriptors.tail, newIdentifier(options.cookie))
    descriptors.append(
      Descriptor(flags, cookie: options.cookie, offset: bytes.tail, size: size, since: now, version: version))
    if isPlain || !options.isSpecial {
      batch.add(flags)
    } else {
      batch.count = 0
      annotate(slot, options, publish, tailBefore: tailBefore, version: version)
    }
    appended()
    if isPlain {
      // `checkedSize` has it from the encoder.
      var writer = unsafe bytes.append(size)
      publish.encode(into: &writer, identifier: identifier, version: version)
    } else {
      let offset = bytes.tail
      _ = unsafe bytes.append(size)
      encode(publish, identifier, at: offset, size: size, version: version)
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
    guard size <= bytes.capacity else { return .tooLarge }
    switch limit {
    case .qosNotSupported: return .qosNotSupported
    case .retainNotSupported: return .retainNotSupported
    default: return .tooLarge
    }
  }

  /// Writes a packet of `size` bytes, as `checkedSize` has it from the encoder, to where it belongs.
  @inline(never)
  mutating func encode(
    _ publish: borrowing Publish, _ identifier: PacketIdentifier, at offset: Int, size: Int,
    version: ProtocolVersion
  ) {
    var writer = unsafe bytes.writer(at: offset, count: size)
    publish.encode(into: &writer, identifier: identifier, version: version)
  }

  /// The message behind the last one is there.
  @inline(always)
  private mutating func appended() {
    nextIdentifier = identifiers.next(after: nextIdentifier)
    live &+= 1
    unsent &+= 1
    incomplete &+= 1
  }

  // MARK: Room in the ring of bytes

  /// Looks for a descriptor, and for room for `size` bytes, and puts the tail there. Returns why there is none.
  @inline(never)
  private mutating func findRoom(_ size: Int) -> SessionError? {
    guard size <= bytes.capacity else { return .tooLarge }
    guard let offset = room(for: size), !descriptors.isFull || reclaim() else {
      isStarved = true
      return .full
    }
    if offset != bytes.tail { batch.count = 0 }
    bytes.open(at: offset, head: oldestOffset)
    return nil
  }

  /// Where `size` bytes fit in one piece.
  func room(for size: Int) -> Int? { bytes.room(for: size, head: oldestOffset) }

  /// Where the oldest message begins that has bytes.
  private var oldestOffset: Int? { live > 0 ? descriptors[first].start : nil }
}

extension Outbox.Descriptor {
  /// Of a message that has not been sent.
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
