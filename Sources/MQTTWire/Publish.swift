/// PUBLISH as it is sent (§3.3): one Application Message.
public struct Publish: ~Escapable {
  public let topic: Span<UInt8>
  public let payload: Span<UInt8>
  public let qos: QoS
  public let retain: Bool

  @_lifetime(copy topic, copy payload)
  @inline(__always)
  public init(topic: Span<UInt8>, payload: Span<UInt8>, qos: QoS, retain: Bool) {
    self.topic = topic
    self.payload = payload
    self.qos = qos
    self.retain = retain
  }

  /// What the Fixed Header will announce; above `VariableByteInteger.maximum` it can't be sent.
  @inline(__always)
  public func remainingLength(_ version: ProtocolVersion) -> Int {
    2 &+ topic.count &+ (qos == .atMostOnce ? 0 : 2) &+ (version.hasProperties ? 1 : 0)
      &+ payload.count
  }

  /// `identifier` is not used with QoS 0. The writer's target has the packet's exact size.
  @inline(__always)
  public func encode(
    into writer: inout ByteWriter, identifier: PacketIdentifier, version: ProtocolVersion
  ) {
    writer.put(
      ControlPacketType.publish.rawValue << 4 | qos.rawValue << 1 | (retain ? Self.retainFlag : 0))
    writer.put(variableByteInteger: remainingLength(version))
    writer.put(prefixed: topic)
    if qos != .atMostOnce { writer.put(identifier.rawValue) }
    if version.hasProperties { writer.put(UInt8(0)) }
    writer.put(payload)
  }

  /// The flags in the first byte (§3.3.1).
  public static var duplicateFlag: UInt8 { 0x08 }
  public static var retainFlag: UInt8 { 0x01 }
}

/// PUBLISH as it is received.
public struct ReceivedPublish: BitwiseCopyable {
  public let topic: Extent
  /// The properties of 5.0, without their length: already checked.
  public let properties: Extent
  public let payload: Extent
  public let qos: QoS
  public let retain: Bool
  public let duplicate: Bool
  /// `nil` with QoS 0.
  public let identifier: PacketIdentifier?

  /// Reads what follows the Fixed Header; extents are offsets in `body`.
  public init(
    parsing body: Span<UInt8>, flags: UInt8, version: ProtocolVersion
  ) throws(Malformed) {
    guard let qos = QoS(rawValue: flags >> 1 & 3) else { throw .qos }
    self.qos = qos
    retain = flags & Publish.retainFlag != 0
    duplicate = flags & Publish.duplicateFlag != 0
    guard !duplicate || qos != .atMostOnce else { throw .duplicateFlag }

    var reader = ByteReader(body)
    topic = try reader.binaryData()
    if qos == .atMostOnce {
      identifier = nil
    } else {
      guard let number = PacketIdentifier(try reader.uint16()) else { throw .packetIdentifier }
      identifier = number
    }
    var hasAlias = false
    if version.hasProperties {
      // Past the Property Length, to know where the properties themselves begin.
      var ahead = reader
      let length = try ahead.variableByteInteger()
      properties = Extent(offset: ahead.position, count: length)
      var list = try PropertyReader(body, reader: &reader, place: .packet(.publish, from: .server))
      while let property = try list.next() {
        if property.identifier == .topicAlias { hasAlias = true }
        if property.identifier == .responseTopic { try Self.checkTopic(body, property.text) }
      }
    } else {
      properties = .empty
    }
    payload = reader.rest()
    // An empty topic stands for a Topic Alias, and for nothing else (§3.3.2.1).
    if !(topic.isEmpty && hasAlias) { try Self.checkTopic(body, topic) }
  }

  private static func checkTopic(_ body: Span<UInt8>, _ topic: Extent) throws(Malformed) {
    do throws(TopicName.Fault) {
      try TopicName.validate(body.extracting(topic.range))
    } catch {
      switch error {
      case .empty: throw .emptyTopic
      case .utf8: throw .utf8
      case .wildcard, .tooLong: throw .topicName
      }
    }
  }
}
