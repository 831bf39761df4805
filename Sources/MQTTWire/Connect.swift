/// CONNECT (§3.1): what a client says first.
public struct Connect: ~Escapable {
  public let version: ProtocolVersion
  public let cleanStart: Bool
  /// Seconds; 0: none.
  public let keepAlive: UInt16
  public let clientID: Span<UInt8>
  /// Empty: none.
  public let userName: Span<UInt8>
  /// Empty: none.
  public let password: Span<UInt8>
  public let will: Will
  /// 5.0 only, as the two below. Seconds; 0: the session ends with the connection.
  public let sessionExpiryInterval: UInt32
  /// The largest packet this client takes.
  public let maximumPacketSize: UInt32

  /// The Will fields (§3.1.3.2 to 3.1.3.4). An empty topic: no Will.
  public struct Will: ~Escapable {
    public let topic: Span<UInt8>
    public let payload: Span<UInt8>
    public let qos: QoS
    public let retain: Bool

    @_lifetime(copy topic, copy payload)
    public init(topic: Span<UInt8>, payload: Span<UInt8>, qos: QoS, retain: Bool) {
      self.topic = topic
      self.payload = payload
      self.qos = qos
      self.retain = retain
    }

    var isPresent: Bool { topic.count > 0 }
  }

  @_lifetime(copy clientID, copy userName, copy password, copy will)
  public init(
    version: ProtocolVersion, cleanStart: Bool, keepAlive: UInt16, clientID: Span<UInt8>,
    userName: Span<UInt8>, password: Span<UInt8>, will: consuming Will,
    sessionExpiryInterval: UInt32, maximumPacketSize: UInt32
  ) {
    self.version = version
    self.cleanStart = cleanStart
    self.keepAlive = keepAlive
    self.clientID = clientID
    self.userName = userName
    self.password = password
    self.will = will
    self.sessionExpiryInterval = sessionExpiryInterval
    self.maximumPacketSize = maximumPacketSize
  }

  public var encodedSize: Int {
    1 + VariableByteInteger.encodedSize(remainingLength) + remainingLength
  }

  private var remainingLength: Int {
    var length = 10  // protocol name, version, flags, Keep Alive
    if version.hasProperties { length += 1 + propertyLength }
    length += 2 + clientID.count
    if will.isPresent {
      if version.hasProperties { length += 1 }
      length += 2 + will.topic.count + 2 + will.payload.count
    }
    if userName.count > 0 { length += 2 + userName.count }
    if password.count > 0 { length += 2 + password.count }
    return length
  }

  /// Below 128, so that the Property Length is one byte.
  private var propertyLength: Int {
    (sessionExpiryInterval != 0 ? 5 : 0) + 5
  }

  /// The Connect Flags (§3.1.2.3).
  private var flags: UInt8 {
    var flags: UInt8 = cleanStart ? 0x02 : 0
    if will.isPresent { flags |= 0x04 | will.qos.rawValue << 3 | (will.retain ? 0x20 : 0) }
    if password.count > 0 { flags |= 0x40 }
    if userName.count > 0 { flags |= 0x80 }
    return flags
  }

  public func encode(into writer: inout ByteWriter) {
    writer.put(ControlPacketType.connect.firstByte)
    writer.put(variableByteInteger: remainingLength)
    writer.put(UInt16(4))
    writer.put(UInt8(ascii: "M"))
    writer.put(UInt8(ascii: "Q"))
    writer.put(UInt8(ascii: "T"))
    writer.put(UInt8(ascii: "T"))
    writer.put(version.rawValue)
    writer.put(flags)
    writer.put(keepAlive)
    if version.hasProperties { encodeProperties(into: &writer) }
    writer.put(prefixed: clientID)
    if will.isPresent {
      if version.hasProperties { writer.put(UInt8(0)) }
      writer.put(prefixed: will.topic)
      writer.put(prefixed: will.payload)
    }
    if userName.count > 0 { writer.put(prefixed: userName) }
    if password.count > 0 { writer.put(prefixed: password) }
  }

  private func encodeProperties(into writer: inout ByteWriter) {
    writer.put(variableByteInteger: propertyLength)
    if sessionExpiryInterval != 0 {
      writer.put(PropertyIdentifier.sessionExpiryInterval.rawValue)
      writer.put(sessionExpiryInterval)
    }
    writer.put(PropertyIdentifier.maximumPacketSize.rawValue)
    writer.put(maximumPacketSize)
  }
}
