/// PUBLISH as it is sent (§3.3): one Application Message.
public struct Publish: ~Escapable {
  public let topic: Span<UInt8>
  public let payload: Span<UInt8>
  public let qos: QoS
  public let retain: Bool
  /// 5.0: encoded properties, without their length; checked by whoever hands them in.
  public let properties: Span<UInt8>

  @_lifetime(copy topic, copy payload, copy properties)
  @inline(__always)
  public init(
    topic: Span<UInt8>, payload: Span<UInt8>, qos: QoS, retain: Bool,
    properties: Span<UInt8> = Span()
  ) {
    self.topic = topic
    self.payload = payload
    self.qos = qos
    self.retain = retain
    self.properties = properties
  }

  /// What the Fixed Header will announce; above `VariableByteInteger.maximum` it can't be sent.
  @inline(__always)
  public func remainingLength(_ version: ProtocolVersion) -> Int {
    2 &+ topic.count &+ (qos == .atMostOnce ? 0 : 2) &+ propertySize(version) &+ payload.count
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
    if version.hasProperties {
      writer.put(variableByteInteger: properties.count)
      writer.put(properties)
    }
    writer.put(payload)
  }

  @inline(__always)
  private func propertySize(_ version: ProtocolVersion) -> Int {
    version.hasProperties
      ? VariableByteInteger.encodedSize(properties.count) &+ properties.count : 0
  }

  /// The flags in the first byte (§3.3.1).
  public static var duplicateFlag: UInt8 { 0x08 }
  public static var retainFlag: UInt8 { 0x01 }
}

/// PUBLISH as it is received.
public struct ReceivedPublish: BitwiseCopyable {
  public let topic: Extent
  /// All properties of 5.0, without their length; checked.
  public let properties: Extent
  /// 0: none.
  public private(set) var topicAlias: UInt16 = 0
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
    if version.hasProperties {
      var list = try PropertyReader(body, reader: &reader, place: .packet(.publish, from: .server))
      properties = list.extent
      while let property = try list.next() {
        if property.identifier == .topicAlias { topicAlias = UInt16(truncatingIfNeeded: property.number) }
        if property.identifier == .responseTopic { try Self.checkTopic(body, property.text) }
      }
    } else {
      properties = .empty
    }
    payload = reader.rest()
    // An empty topic stands for a Topic Alias, and for nothing else (§3.3.2.1).
    if !(topic.isEmpty && topicAlias != 0) { try Self.checkTopic(body, topic) }
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
