import MQTTWire
import Storage

/// The way through a header of PUBLISH that is larger than the receive buffer.
struct HeaderWalk: BitwiseCopyable {
  /// So many bytes are of no interest: the Topic Name, or a string in a property.
  var skip: Int
  let hasTopic: Bool
  var hasAlias = false
  /// Bytes of properties that are left; `nil`: Packet Identifier and Property Length come first.
  var properties: Int? = nil
  /// So many strings of the property are still to come.
  var strings = 0
}

extension Session {
  /// Takes the next step: looks for the Packet Identifier, for the Topic Alias, and for the end. False: more bytes are needed, or it has to wait.
  mutating func walkHeader(_ message: LargeMessage, _ walk: HeaderWalk) throws(Malformed) -> Bool {
    // The longest step: Packet Identifier and Property Length.
    let wanted = walk.skip > 0 ? 1 : min(6, message.remaining)
    guard receiver.unread.count >= wanted else {
      receiver.compact()
      return false
    }
    guard walk.skip == 0 else {
      let count = min(receiver.unread.count, walk.skip)
      var next = walk
      next.skip = walk.skip &- count
      pass(count, next)
      return true
    }
    guard Feature.hasTopicAliases, let left = walk.properties else {
      return try walkIdentifier(message, walk)
    }
    guard left > 0 else {
      guard walk.strings == 0 else { throw .truncated }
      // §3.3.2.1
      guard walk.hasTopic || walk.hasAlias else { throw .emptyTopic }
      arrival.large?.event.payloadSize = message.remaining
      arrival.large?.stage = .rest
      return true
    }
    return try walkProperty(message, walk, left)
  }

  private mutating func walkIdentifier(
    _ message: LargeMessage, _ walk: HeaderWalk
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
      guard walk.hasTopic else { throw .emptyTopic }
      pass(count, walk)
      arrival.large?.event.payloadSize = message.remaining &- count &- properties
      arrival.large?.stage = .rest
      return true
    }
    pass(count, HeaderWalk(skip: 0, hasTopic: walk.hasTopic, properties: properties))
    return true
  }

  private mutating func walkProperty(
    _ message: LargeMessage, _ walk: HeaderWalk, _ left: Int
  ) throws(Malformed) -> Bool {
    var next = walk
    var alias = 0
    var reader = ByteReader(receiver.unread.extracting(..<min(5, left)))
    if walk.strings > 0 {
      next.skip = Int(try reader.uint16())
      next.strings = walk.strings &- 1
    } else {
      let property = try PropertyReader.begin(&reader, place: .packet(.publish, from: .server))
      next.strings = property.strings
      if property.identifier == .topicAlias { alias = Int(truncatingIfNeeded: property.number) }
    }
    let count = reader.position
    guard next.skip <= left &- count else { throw .truncated }
    next.properties = left &- count &- next.skip
    if alias != 0 {
      guard walkAlias(alias, hasTopic: walk.hasTopic) else { return false }
      next.hasAlias = true
    }
    pass(count, next)
    return true
  }

  /// False: the connection is over.
  private mutating func walkAlias(_ alias: Int, hasTopic: Bool) -> Bool {
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

  private mutating func pass(_ count: Int, _ walk: HeaderWalk) {
    receiver.consume(count)
    arrival.large?.remaining &-= count
    arrival.large?.stage = .header(walk)
  }
}
