import MQTTWire
import Storage

/// How far a header of PUBLISH that is larger than the receive buffer has been read.
struct HeaderScan: BitwiseCopyable {
  /// How many bytes to skip: the Topic Name, or a string in a property.
  var skip: Int
  let hasTopic: Bool
  var hasAlias = false
  /// How many strings of the property are still to come. Here it fills a gap, as this is part of each client.
  var strings: UInt8 = 0
  /// Bytes of properties that are left; `nil`: Packet Identifier and Property Length come first.
  var properties: Int? = nil
}

extension Session {
  /// Reads the next field of the header, to find the Packet Identifier, the Topic Alias and the end.
  /// Returns false if more bytes are needed or the message has to wait.
  mutating func scanHeader(_ message: LargeMessage, _ scan: HeaderScan) throws(Malformed) -> Bool {
    // The longest field: Packet Identifier and Property Length.
    let wanted = scan.skip > 0 ? 1 : min(6, message.remaining)
    guard receiver.unread.count >= wanted else {
      receiver.compact()
      return false
    }
    guard scan.skip == 0 else {
      let count = min(receiver.unread.count, scan.skip)
      var next = scan
      next.skip = scan.skip &- count
      advance(count, next)
      return true
    }
    guard Feature.hasTopicAliases, let left = scan.properties else {
      return try scanIdentifier(message, scan)
    }
    guard left > 0 else {
      guard scan.strings == 0 else { throw .truncated }
      // §3.3.2.1
      guard scan.hasTopic || scan.hasAlias else { throw .emptyTopic }
      arrival.large?.event.payloadSize = message.remaining
      arrival.large?.stage = .rest
      return true
    }
    return try scanProperty(message, scan, left)
  }

  private mutating func scanIdentifier(
    _ message: LargeMessage, _ scan: HeaderScan
  ) throws(Malformed) -> Bool {
    var reader = ByteReader(receiver.unread.extracting(..<min(6, message.remaining)))
    var identifier: PacketIdentifier? = nil
    if message.event.qos != .atMostOnce {
      guard let number = PacketIdentifier(try reader.uint16()) else { throw .packetIdentifier }
      identifier = number
    }
    let properties = version.hasProperties ? try reader.variableByteInteger() : 0
    let count = reader.position
    guard properties <= message.remaining &- count else { throw .truncated }
    if let identifier {
      switch admit(identifier, message.event.qos, duplicate: message.event.duplicate) {
      case .handOut: break
      case .drop: arrival.large?.isDropped = true
      case .wait: return false
      }
    }
    arrival.large?.identifier = identifier
    guard Feature.hasTopicAliases else {
      // No property is of interest.
      guard scan.hasTopic else { throw .emptyTopic }
      advance(count, scan)
      arrival.large?.event.payloadSize = message.remaining &- count &- properties
      arrival.large?.stage = .rest
      return true
    }
    advance(count, HeaderScan(skip: 0, hasTopic: scan.hasTopic, properties: properties))
    return true
  }

  private mutating func scanProperty(
    _ message: LargeMessage, _ scan: HeaderScan, _ left: Int
  ) throws(Malformed) -> Bool {
    var next = scan
    var alias = 0
    var reader = ByteReader(receiver.unread.extracting(..<min(5, left)))
    if scan.strings > 0 {
      next.skip = Int(try reader.uint16())
      next.strings = scan.strings &- 1
    } else {
      let property = try PropertyReader.begin(&reader, in: .packet(.publish, from: .server))
      next.strings = UInt8(truncatingIfNeeded: property.strings)
      if property.identifier == .topicAlias { alias = Int(truncatingIfNeeded: property.number) }
    }
    let count = reader.position
    guard next.skip <= left &- count else { throw .truncated }
    next.properties = left &- count &- next.skip
    if alias != 0 {
      guard scanAlias(alias, hasTopic: scan.hasTopic) else { return false }
      next.hasAlias = true
    }
    advance(count, next)
    return true
  }

  /// Returns false if the connection is being closed.
  private mutating func scanAlias(_ alias: Int, hasTopic: Bool) -> Bool {
    let maximum = receivedAliases.maximum
    guard alias <= maximum else {
      violate(.topicAlias)
      return false
    }
    if hasTopic {
      receivedAliases.forget(alias)
      return true
    }
    switch receivedAliases.state(alias) {
    case .known:
      arrival.large?.event.topic = receivedAliases.topic(alias)
      arrival.large?.event.isTopicAliased = true
    case .tooLong: break
    case .unknown:
      violate(.unknownTopicAlias)
      return false
    }
    return true
  }

  private mutating func advance(_ count: Int, _ scan: HeaderScan) {
    receiver.consume(count)
    arrival.large?.remaining &-= count
    arrival.large?.stage = .header(scan)
  }
}
