import Storage

/// CONNECT (§3.1): the first packet of a client.
public struct Connect: ~Copyable, ~Escapable {
  private let inPlace = InPlace()
  public let version: ProtocolVersion
  public let cleanStart: Bool
  /// Seconds; 0: none.
  public let keepAlive: UInt16
  public let clientID: Span<UInt8>
  /// There is a '%' in it that stands for two characters which are written later, and is encoded as '%%'.
  public let isClientIDTemplate: Bool
  /// The Client Identifier as it is encoded.
  public let clientIDSize: Int
  public let userName: Span<UInt8>
  public let password: Span<UInt8>
  /// `userNameFlag` and `passwordFlag`: which of the two there are. What has bytes is there; one of no bytes may be.
  private let credentialFlags: UInt8
  public let will: Will
  public let session: SessionProperties
  /// 5.0: the application's properties, encoded, without their length.
  public let properties: Span<UInt8>

  /// The properties of 5.0 that the library sets itself. 0 leaves one out.
  public struct SessionProperties: BitwiseCopyable {
    /// Seconds; 0: the session ends with the connection.
    public var sessionExpiryInterval: UInt32 = 0
    /// QoS 1 and 2 messages that this client accepts at a time.
    public var receiveMaximum: UInt16 = 0
    /// The largest packet that this client accepts.
    public var maximumPacketSize: UInt32 = 0
    public var topicAliasMaximum: UInt16 = 0

    public init() {}

    // The drop-in has all of them in the program's list, in its order.

    var encodedSize: Int {
      guard !DropIn.isOn else { return 0 }
      return (sessionExpiryInterval != 0 ? 5 : 0) + (receiveMaximum != 0 ? 3 : 0)
        + (maximumPacketSize != 0 ? 5 : 0) + (topicAliasMaximum != 0 ? 3 : 0)
    }

    func encode(into writer: inout ByteWriter) {
      guard !DropIn.isOn else { return }
      if sessionExpiryInterval != 0 {
        writer.put(PropertyIdentifier.sessionExpiryInterval.rawValue)
        writer.put(sessionExpiryInterval)
      }
      if receiveMaximum != 0 {
        writer.put(PropertyIdentifier.receiveMaximum.rawValue)
        writer.put(receiveMaximum)
      }
      if maximumPacketSize != 0 {
        writer.put(PropertyIdentifier.maximumPacketSize.rawValue)
        writer.put(maximumPacketSize)
      }
      if topicAliasMaximum != 0 {
        writer.put(PropertyIdentifier.topicAliasMaximum.rawValue)
        writer.put(topicAliasMaximum)
      }
    }
  }

  /// The Will fields (§3.1.3.2 to 3.1.3.4). An empty topic: no Will.
  public struct Will: ~Escapable {
    public let topic: Span<UInt8>
    public let payload: Span<UInt8>
    public let qos: QoS
    public let retain: Bool
    /// 5.0: encoded properties, without their length.
    public let properties: Span<UInt8>
    /// 5.0: seconds; 0: none.
    public let messageExpiryInterval: UInt32

    @_lifetime(copy topic, copy payload, copy properties)
    public init(
      topic: Span<UInt8>, payload: Span<UInt8>, qos: QoS, retain: Bool, properties: Span<UInt8>,
      messageExpiryInterval: UInt32 = 0
    ) {
      self.messageExpiryInterval = messageExpiryInterval
      self.topic = topic
      self.payload = payload
      self.qos = qos
      self.retain = retain
      self.properties = properties
    }

    var isPresent: Bool { topic.count > 0 }

    var propertyLength: Int { (messageExpiryInterval == 0 ? 0 : 5) + properties.count }
  }

  @_lifetime(copy clientID, copy userName, copy password, copy will, copy properties)
  public init(
    version: ProtocolVersion, cleanStart: Bool, keepAlive: UInt16, clientID: Span<UInt8>,
    userName: Span<UInt8>, password: Span<UInt8>, will: consuming Will, session: SessionProperties,
    properties: Span<UInt8>, isClientIDTemplate: Bool = false, credentialFlags: UInt8 = 0
  ) {
    self.version = version
    self.cleanStart = cleanStart
    self.keepAlive = keepAlive
    self.clientID = clientID
    let placeholders = isClientIDTemplate ? Self.placeholders(in: clientID) : 0
    self.isClientIDTemplate = placeholders > 0
    clientIDSize = clientID.count &+ placeholders
    self.userName = userName
    self.password = password
    self.credentialFlags =
      credentialFlags | (userName.count > 0 ? Self.userNameFlag : 0)
      | (password.count > 0 ? Self.passwordFlag : 0)
    self.will = will
    self.session = session
    self.properties = properties
  }

  /// Where the Client Identifier begins behind the Fixed Header.
  public var clientIDOffset: Int {
    propertiesStart + 2 + (version.hasProperties ? Self.sizeWithLength(propertyLength) : 0)
  }

  /// Where `properties` begin behind the Fixed Header.
  public var propertiesOffset: Int {
    propertiesStart + VariableByteInteger.encodedSize(propertyLength) + session.encodedSize
  }

  /// Where the Connect Flags are behind the Fixed Header.
  public var flagsOffset: Int { propertiesStart - 3 }

  /// Protocol Name, version, flags and Keep Alive come first.
  private var propertiesStart: Int { Self.headerSize(version) }

  private static func headerSize(_ version: ProtocolVersion) -> Int { 2 + version.name.utf8CodeUnitCount + 4 }

  public static var cleanStartFlag: UInt8 { 0x02 }
  public static var willFlag: UInt8 { 0x04 }
  public static var passwordFlag: UInt8 { 0x40 }
  public static var userNameFlag: UInt8 { 0x80 }

  public var hasUserName: Bool { credentialFlags & Self.userNameFlag != 0 }
  public var hasPassword: Bool { credentialFlags & Self.passwordFlag != 0 }

  public static var placeholder: UInt8 { UInt8(ascii: "%") }

  private static func placeholders(in text: Span<UInt8>) -> Int {
    guard Word.anyWord(of: text, isStrange: { Word.contains(placeholder, in: $0) }) else { return 0 }
    var count = 0
    for index in 0..<text.count where text[index] == placeholder { count &+= 1 }
    return count
  }

  public var encodedSize: Int {
    let bodySize = bodySize(for: version)
    return 1 + VariableByteInteger.encodedSize(bodySize) + bodySize
  }

  /// What is behind the Fixed Header. Above `VariableByteInteger.maximum` it can't be sent.
  ///
  /// An older version than that of the CONNECT is one without all that needs 5.0.
  @inline(never)
  public func bodySize(for version: ProtocolVersion) -> Int {
    var length = Self.headerSize(version)
    if version.hasProperties { length += Self.sizeWithLength(propertyLength) }
    length += 2 + clientIDSize
    if will.isPresent {
      if version.hasProperties { length += Self.sizeWithLength(will.propertyLength) }
      length += 2 + will.topic.count + 2 + will.payload.count
    }
    if hasUserName { length += 2 + userName.count }
    if hasPassword { length += 2 + password.count }
    return length
  }

  private var propertyLength: Int { session.encodedSize + properties.count }

  private static func sizeWithLength(_ length: Int) -> Int {
    VariableByteInteger.encodedSize(length) + length
  }

  /// The Connect Flags (§3.1.2.3).
  private var flags: UInt8 {
    var flags: UInt8 = cleanStart ? Self.cleanStartFlag : 0
    if will.isPresent { flags |= Self.willFlag | will.qos.rawValue << 3 | (will.retain ? 0x20 : 0) }
    return flags | credentialFlags
  }

  public func encode(into writer: inout ByteWriter) {
    encode(into: &writer, for: version, bodySize: bodySize(for: version))
  }

  /// The caller guarantees that `bodySize` is that for the version.
  public func encode(into writer: inout ByteWriter, for version: ProtocolVersion, bodySize: Int) {
    writer.put(ControlPacketType.connect.firstByte)
    writer.put(variableByteInteger: bodySize)
    writer.put(prefixed: version.name)
    writer.put(version.rawValue)
    writer.put(flags)
    writer.put(keepAlive)
    if version.hasProperties {
      writer.put(variableByteInteger: propertyLength)
      session.encode(into: &writer)
      writer.put(properties)
    }
    writer.put(UInt16(truncatingIfNeeded: clientIDSize))
    if isClientIDTemplate {
      for index in 0..<clientID.count {
        writer.put(clientID[index])
        if clientID[index] == Self.placeholder { writer.put(clientID[index]) }
      }
    } else {
      writer.put(clientID)
    }
    if will.isPresent {
      if version.hasProperties {
        writer.put(variableByteInteger: will.propertyLength)
        if will.messageExpiryInterval != 0 {
          writer.put(PropertyIdentifier.messageExpiryInterval.rawValue)
          writer.put(will.messageExpiryInterval)
        }
        writer.put(will.properties)
      }
      writer.put(prefixed: will.topic)
      writer.put(prefixed: will.payload)
    }
    if hasUserName { writer.put(prefixed: userName) }
    if hasPassword { writer.put(prefixed: password) }
  }
}
