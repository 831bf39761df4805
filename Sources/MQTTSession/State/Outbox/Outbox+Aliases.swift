import MQTTWire
import Storage

/// Messages with a Topic Alias, and how they are sent on a connection on which it means nothing
/// (docs/decisions/0015).
extension Outbox {
  @inline(never)
  mutating func appendUnderAlias(
    _ publish: borrowing Publish, _ options: PublishOptions, version: ProtocolVersion, limits: ServerLimits
  ) throws(SessionError) {
    let mayHaveAlias = mayHaveAlias(publish, options, version: version, limits: limits)
    let choice = mayHaveAlias ? aliases.choice(for: publish.topic) : .none
    switch choice {
    case .none:
      try store(publish, options, version: version, limits: limits)
    case .establish(let index), .use(let index):
      var isEstablished = false
      if case .use = choice { isEstablished = true }
      let short = publish.under(
        alias: UInt16(truncatingIfNeeded: index &+ 1), isEstablished: isEstablished)
      try store(short, options, version: version, limits: limits)
      let slot = newestSlot
      batch.count = 0
      descriptors[slot].flags.set(.hasAlias, true)
      descriptors[slot].flags.set(.hasNoTopic, isEstablished)
      descriptors[slot].tag = UInt16(truncatingIfNeeded: index)
    }
    aliases.commit(choice, topic: publish.topic)
  }

  /// The message has to fit with both topic and alias, because on the next connection it may have to be
  /// resent with its topic.
  private func mayHaveAlias(
    _ publish: borrowing Publish, _ options: PublishOptions, version: ProtocolVersion, limits: ServerLimits
  ) -> Bool {
    guard aliases.isInUse, options.kind == .whole, options.responseTag == nil, options.overflow != .latest
    else { return false }
    // What a journal has must mean the same on every connection.
    guard !isJournaled || publish.qos == .atMostOnce else { return false }
    let size = FixedHeader.packetSize(publish.remainingLength(version) &+ Publish.topicAliasSize)
    return size <= min(bytes.capacity, limits.maximumPacketSize)
  }

  /// Returns how many bytes a message may take in the ring.
  func roomNeeded(
    _ publish: borrowing Publish, _ options: PublishOptions, version: ProtocolVersion, limits: ServerLimits
  ) -> Int {
    // A message that establishes an alias has both topic and alias.
    let isAliased = mayHaveAlias(publish, options, version: version, limits: limits)
    let length = publish.remainingLength(version) &+ (isAliased ? Publish.topicAliasSize : 0)
    let size = FixedHeader.packetSize(length)
    return options.isOutside ? size &- publish.payloadSize : size
  }

  /// Adapts a packet to a new connection, on which its alias means nothing, and which may have an older
  /// version without properties. What is left is moved up against the payload. The room in front of it is
  /// freed with the rest.
  mutating func adapt(_ slot: Int, version: ProtocolVersion) {
    guard Feature.hasFallback || Feature.hasTopicAliases else { return }
    let message = descriptors[slot]
    let losesProperties = message.flags.contains(.hasProperties) && !version.hasProperties
    let hasAlias = message.flags.contains(.hasAlias)
    guard losesProperties || hasAlias else { return }
    guard !message.flags.contains(.hasNoTopic) else {
      descriptors[slot].flags.set(.needsTopic, true)
      return
    }
    let parts = PacketParts(bytes.bytes, message, version)
    let beginning = parts.topic.count &+ parts.propertyLengthSize
    let remainingLength = beginning &+ parts.tailSize &+ payloadOutside(slot)
    let start =
      parts.tail &- beginning &- 1 &- VariableByteInteger.encodedSize(remainingLength)
    let target = parts.tail &- beginning
    let first = bytes.bytes[message.start]
    bytes.move(from: parts.topic.offset, to: target, count: parts.topic.count)
    var header = ByteWriter(bytes.mutableBytes(in: start..<target))
    header.put(first)
    header.put(variableByteInteger: remainingLength)
    if version.hasProperties {
      var length = ByteWriter(bytes.mutableBytes(in: target &+ parts.topic.count..<parts.tail))
      length.put(variableByteInteger: parts.propertyLength)
    }
    let shift = UInt32(truncatingIfNeeded: start &- message.start)
    descriptors[slot].offset = message.offset &+ shift
    descriptors[slot].length = message.length &- shift
    if message.link != 0 { descriptors[slot].link = version.hasProperties ? message.link &- shift : 0 }
    descriptors[slot].flags.set(.hasAlias, false)
    descriptors[slot].flags.set(.hasProperties, version.hasProperties)
  }

  /// Writes the beginning of a packet that has no topic of its own. Returns where in the ring the packet
  /// continues.
  mutating func buildPrefix(_ slot: Int, version: ProtocolVersion) -> Int {
    let message = descriptors[slot]
    let parts = PacketParts(bytes.bytes, message, version)
    let first = bytes.bytes[message.start]
    prefixEnd = Self.encodePrefix(
      into: &prefix, first: first, remainingLength: remainingLength(message, parts),
      topic: Int(message.tag), of: aliases,
      identifier: message.qos == .atMostOnce ? nil : identifier(at: descriptors.index(of: slot)),
      propertyLength: version.hasProperties ? parts.propertyLength : nil)
    prefixStart = 0
    return parts.tail
  }

  private static func encodePrefix(
    into prefix: inout Region, first: UInt8, remainingLength: Int, topic: Int,
    of aliases: borrowing SentAliases, identifier: PacketIdentifier?, propertyLength: Int?
  ) -> Int {
    var writer = ByteWriter(prefix.mutableBytes)
    writer.put(first)
    writer.put(variableByteInteger: remainingLength)
    writer.put(prefixed: aliases.topic(topic))
    if let identifier { writer.put(identifier.rawValue) }
    if let propertyLength { writer.put(variableByteInteger: propertyLength) }
    return writer.count
  }

  /// Returns how many bytes a prefix takes at most, with a topic of `topicBytes` bytes.
  static func prefixSize(topicBytes: Int) -> Int { 5 &+ 2 &+ topicBytes &+ 2 &+ 4 }

  /// Returns the Remaining Length of a packet with its topic put back.
  private func remainingLength(_ message: Descriptor, _ parts: PacketParts) -> Int {
    parts.topic.count &+ aliases.topic(Int(message.tag)).count &+ parts.propertyLengthSize &+ parts.tailSize
  }

  /// Returns the size of the packet that will be sent, which may not be wholly in the ring.
  func packetSize(_ slot: Int, version: ProtocolVersion) -> Int {
    let message = descriptors[slot]
    guard message.flags.contains(.needsTopic) else { return message.size &+ payloadOutside(slot) }
    return FixedHeader.packetSize(remainingLength(message, PacketParts(bytes.bytes, message, version)))
  }
}

/// The parts of a PUBLISH of 5.0 in the ring, as a connection of `version` needs them.
private struct PacketParts: BitwiseCopyable {
  /// Topic Name and Packet Identifier, as they are.
  let topic: ByteRange
  /// What is left of the properties.
  let propertyLength: Int
  /// How many bytes that length takes; 0 before 5.0.
  let propertyLengthSize: Int
  /// Where the rest begins: the properties that are left, and the payload.
  let tail: Int
  let tailSize: Int

  /// The packet is the session's own, so it needs no checks.
  init(_ bytes: Span<UInt8>, _ message: Outbox.Descriptor, _ version: ProtocolVersion) {
    var position = message.start &+ 1
    while bytes[position] >= 0x80 { position &+= 1 }
    position &+= 1
    let topicSize =
      2 &+ (Int(bytes[position]) << 8 | Int(bytes[position &+ 1]))
      &+ (message.qos == .atMostOnce ? 0 : 2)
    topic = ByteRange(offset: position, count: topicSize)
    position &+= topicSize
    var length = 0
    var shift = 0
    while true {
      let byte = bytes[position]
      position &+= 1
      length |= Int(byte & 0x7F) << shift
      shift &+= 7
      if byte < 0x80 { break }
    }
    if version.hasProperties {
      let alias = message.flags.contains(.hasAlias) ? Publish.topicAliasSize : 0
      propertyLength = length &- alias
      propertyLengthSize = VariableByteInteger.encodedSize(propertyLength)
      tail = position &+ alias
    } else {
      propertyLength = 0
      propertyLengthSize = 0
      tail = position &+ length
    }
    tailSize = message.end &- tail
  }
}
