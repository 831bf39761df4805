public import Storage

/// PUBLISH as it is sent (§3.3): one Application Message.
public struct Publish: ~Escapable {
  /// Empty only together with a Topic Alias.
  public let topic: Span<UInt8>
  /// Empty if the sender appends the payload to the packet.
  public let payload: Span<UInt8>
  public let payloadSize: Int
  /// QoS and retain, as the Fixed Header has them (§3.3.1).
  public let headerFlags: UInt8
  /// 5.0: encoded properties, without their length; the caller has checked them.
  public let properties: Span<UInt8>
  /// 5.0: the properties the library sets itself, in front of the others.
  public var own: OwnProperties

  public struct OwnProperties: ~Escapable {
    /// 0: none.
    public var topicAlias: UInt16 = 0
    /// Seconds; 0: none.
    public var messageExpiryInterval: UInt32 = 0
    /// Empty: none.
    public var responseTopic: Span<UInt8>
    public var correlationData: Span<UInt8>
    public var hasCorrelationData = false

    @_lifetime(immortal)
    public init() {
      responseTopic = Span()
      correlationData = Span()
    }

    @inline(__always) @usableFromInline
    var encodedSize: Int {
      var size = topicAlias == 0 ? 0 : Publish.topicAliasSize
      if messageExpiryInterval != 0 { size &+= 5 }
      if responseTopic.count > 0 { size &+= 3 &+ responseTopic.count }
      if hasCorrelationData { size &+= 3 &+ correlationData.count }
      return size
    }

    @inline(__always) @usableFromInline
    func encode<Writer: PacketWriter & ~Copyable & ~Escapable>(into writer: inout Writer) {
      if topicAlias != 0 {
        writer.put(PropertyIdentifier.topicAlias.rawValue)
        writer.put(topicAlias)
      }
      if messageExpiryInterval != 0 {
        writer.put(PropertyIdentifier.messageExpiryInterval.rawValue)
        writer.put(messageExpiryInterval)
      }
      if responseTopic.count > 0 {
        writer.put(PropertyIdentifier.responseTopic.rawValue)
        writer.put(prefixed: responseTopic)
      }
      if hasCorrelationData {
        writer.put(PropertyIdentifier.correlationData.rawValue)
        writer.put(prefixed: correlationData)
      }
    }
  }

  @_lifetime(copy topic, copy payload, copy properties)
  @inline(__always)
  public init(
    topic: Span<UInt8>, payload: Span<UInt8>, qos: QoS, retain: Bool,
    properties: Span<UInt8> = Span()
  ) {
    self.topic = topic
    self.payload = payload
    self.payloadSize = payload.count
    headerFlags = Self.headerFlags(qos, retain)
    self.properties = properties
    own = OwnProperties()
  }

  /// Makes a message that consists of a topic and a payload alone.
  @_lifetime(copy topic, copy payload)
  @inline(__always)
  public init(topic: Span<UInt8>, payload: Span<UInt8>, headerFlags: UInt8) {
    self.topic = topic
    self.payload = payload
    self.payloadSize = payload.count
    self.headerFlags = headerFlags
    self.properties = Span()
    own = OwnProperties()
  }

  /// Makes a message without its payload, which follows later.
  @_lifetime(copy topic, copy properties)
  public init(
    topic: Span<UInt8>, payloadSize: Int, qos: QoS, retain: Bool, properties: Span<UInt8>
  ) {
    self.topic = topic
    self.payload = Span()
    self.payloadSize = payloadSize
    headerFlags = Self.headerFlags(qos, retain)
    self.properties = properties
    own = OwnProperties()
  }

  /// Returns the same message with a Topic Alias, with its topic, which establishes the alias, or without.
  @_lifetime(copy self)
  public func under(alias: UInt16, isEstablished: Bool) -> Publish {
    var copy = Publish(
      topic: isEstablished ? Span() : topic, payload: payload, qos: qos, retain: retain,
      properties: properties)
    copy.own = self.own
    copy.own.topicAlias = alias
    return copy
  }

  public var qos: QoS { QoS(rawValue: headerFlags >> 1 & 3) ?? .atMostOnce }
  public var retain: Bool { headerFlags & Self.retainFlag != 0 }

  /// Whether the packet has a Packet Identifier, as those of QoS 1 and 2 do [MQTT-2.2.1-2].
  @inline(__always) @usableFromInline
  var hasIdentifier: Bool { headerFlags & 0b110 != 0 }

  private static func headerFlags(_ qos: QoS, _ retain: Bool) -> UInt8 {
    qos.rawValue << 1 | (retain ? retainFlag : 0)
  }

  /// What the Fixed Header will announce; above `VariableByteInteger.maximum` it can't be sent.
  @inline(__always)
  public func remainingLength(_ version: ProtocolVersion) -> Int {
    2 &+ topic.count &+ (hasIdentifier ? 2 : 0) &+ propertySize(version) &+ payloadSize
  }

  /// Encodes the packet. `identifier` is not used with QoS 0. It writes as many bytes as
  /// `FixedHeader.packetSize` says of `remainingLength`, without the payload if that is not here.
  @inline(always)
  public func encode<Writer: PacketWriter & ~Copyable & ~Escapable>(
    into writer: inout Writer, identifier: PacketIdentifier, version: ProtocolVersion
  ) {
    writer.put(ControlPacketType.publish.rawValue << 4 | headerFlags)
    writer.put(variableByteInteger: remainingLength(version))
    writer.put(prefixed: topic)
    if hasIdentifier { writer.put(identifier.rawValue) }
    if version.hasProperties {
      writer.put(variableByteInteger: propertyLength)
      own.encode(into: &writer)
      writer.put(properties)
    }
    writer.put(payload)
  }

  /// Returns the offset of the Message Expiry Interval in the encoded packet: of the library's own
  /// property, or of the one at `offset` in `properties`. The payload is at `end`, right behind them.
  @inline(__always)
  public func expiryOffset(payloadAt end: Int, inProperties offset: Int?) -> Int {
    let list = end &- properties.count
    if let offset { return list &+ offset }
    return list &- own.encodedSize &+ (own.topicAlias == 0 ? 0 : Self.topicAliasSize) &+ 1
  }

  @inline(__always) @usableFromInline
  var propertyLength: Int { own.encodedSize &+ properties.count }

  @inline(__always) @usableFromInline
  func propertySize(_ version: ProtocolVersion) -> Int {
    guard version.hasProperties else { return 0 }
    let length = propertyLength
    return VariableByteInteger.encodedSize(length) &+ length
  }

  /// The flags in the first byte (§3.3.1).
  public static var duplicateFlag: UInt8 { 0x08 }
  public static var retainFlag: UInt8 { 0x01 }
  /// A Topic Alias property; it stands first.
  public static var topicAliasSize: Int { 3 }
}

/// PUBLISH as it is received.
public struct ReceivedPublish: BitwiseCopyable {
  public let topic: ByteRange
  /// All properties of 5.0, without their length; checked.
  public let properties: ByteRange
  /// 0: none.
  public private(set) var topicAlias: UInt16 = 0
  /// The first one; 0: none.
  public private(set) var subscriptionIdentifier: UInt32 = 0
  public private(set) var correlationData: ByteRange? = nil
  public let payload: ByteRange
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
      var list = try PropertyReader(body, reader: &reader, in: .packet(.publish, from: .server))
      properties = list.extent
      while let property = try list.next() {
        switch property.identifier {
        case .topicAlias: topicAlias = UInt16(truncatingIfNeeded: property.number)
        case .responseTopic: try Self.checkTopic(body, property.text)
        case .correlationData: correlationData = property.text
        case .subscriptionIdentifier:
          if subscriptionIdentifier == 0 { subscriptionIdentifier = property.number }
        default: break
        }
      }
    } else {
      properties = .empty
    }
    payload = reader.rest()
    // An empty topic stands for a Topic Alias, and for nothing else (§3.3.2.1).
    if !(topic.isEmpty && topicAlias != 0) { try Self.checkTopic(body, topic) }
  }

  /// Returns how many bytes come before the payload, in a body that may be incomplete. It is `nil` if more
  /// bytes are needed.
  public static func variableHeaderSize(
    of body: Span<UInt8>, flags: UInt8, version: ProtocolVersion
  ) -> Int? {
    guard body.count >= 2 else { return nil }
    var size = 2 &+ (Int(body[0]) << 8 | Int(body[1]))
    if flags >> 1 & 3 != 0 { size &+= 2 }
    guard version.hasProperties else { return size }
    var length = 0
    var shift = 0
    while true {
      guard size < body.count else { return nil }
      let byte = body[size]
      size &+= 1
      length |= Int(byte & 0x7F) << shift
      shift &+= 7
      // One that is too long is detected when it is parsed.
      if byte < 0x80 || shift == 28 { return size &+ length }
    }
  }

  private static func checkTopic(_ body: Span<UInt8>, _ topic: ByteRange) throws(Malformed) {
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
