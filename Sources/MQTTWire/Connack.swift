public import Storage

/// CONNACK (§3.2): the server's answer to CONNECT.
public struct Connack: BitwiseCopyable {
  public let sessionPresent: Bool
  /// 5.0: a Connect Reason Code. Before: the Connect Return code, 0 to 5.
  public private(set) var reasonCode: UInt8
  // The properties (§3.2.2.3), with the values that hold when the server does not say.
  public private(set) var sessionExpiryInterval: UInt32? = nil
  public private(set) var receiveMaximum: UInt16 = .max
  public private(set) var maximumQoS: UInt8 = 2
  public private(set) var retainAvailable = true
  /// 0: none but MQTT's own.
  public private(set) var maximumPacketSize: UInt32 = 0
  public private(set) var assignedClientIdentifier = ByteRange.empty
  public private(set) var topicAliasMaximum: UInt16 = 0
  public private(set) var reasonString = ByteRange.empty
  public private(set) var wildcardSubscriptionAvailable = true
  public private(set) var subscriptionIdentifiersAvailable = true
  public private(set) var sharedSubscriptionAvailable = true
  public private(set) var serverKeepAlive: UInt16? = nil
  public private(set) var responseInformation = ByteRange.empty
  public private(set) var serverReference = ByteRange.empty
  public private(set) var authenticationMethod = ByteRange.empty
  public private(set) var authenticationData = ByteRange.empty
  /// All of them, without their length; checked.
  public private(set) var properties = ByteRange.empty

  public var isAccepted: Bool { reasonCode == 0 }

  /// Reads what follows the Fixed Header; extents are offsets in `body`.
  public init(parsing body: Span<UInt8>, version: ProtocolVersion) throws(Malformed) {
    var reader = ByteReader(body)
    let flags = try reader.byte()
    // In 3.1, which has no Session Present, the whole byte is reserved.
    guard flags & 0xFE == 0 || version.isV31 else { throw .connectAcknowledgeFlags }
    sessionPresent = flags == 1 && !version.isV31
    reasonCode = try reader.byte()
    // A refusal has no Session Present [MQTT-3.2.2-6]; 3.1.1 says the same [MQTT-3.2.2-4].
    guard reasonCode == 0 || !sessionPresent else { throw .sessionPresent }

    guard version.hasProperties else {
      guard reasonCode <= 5 else { throw .reasonCode }
      guard reader.isAtEnd else { throw .trailingBytes }
      return
    }
    // A server that does not speak 5.0 refuses it in the two bytes of 3.1.1, and some that do speak it
    // leave out the Property Length. Either way it is a refusal.
    if body.count == 2, reasonCode != 0 {
      reasonCode = Self.translated(reasonCode)
      guard reasonCode >= 0x80 else { throw .reasonCode }
      return
    }
    guard reasonCode == 0 || reasonCode >= 0x80 else { throw .reasonCode }
    var list = try PropertyReader(body, reader: &reader, in: .packet(.connack, from: .server))
    properties = list.extent
    while let property = try list.next() { take(property) }
    guard reader.isAtEnd else { throw .trailingBytes }
  }

  private mutating func take(_ property: Property) {
    switch property.identifier {
    case .sessionExpiryInterval: sessionExpiryInterval = property.number
    case .receiveMaximum: receiveMaximum = UInt16(truncatingIfNeeded: property.number)
    case .maximumQoS: maximumQoS = UInt8(truncatingIfNeeded: property.number)
    case .retainAvailable: retainAvailable = property.number == 1
    case .maximumPacketSize: maximumPacketSize = property.number
    case .assignedClientIdentifier: assignedClientIdentifier = property.text
    case .topicAliasMaximum: topicAliasMaximum = UInt16(truncatingIfNeeded: property.number)
    case .reasonString: reasonString = property.text
    case .wildcardSubscriptionAvailable: wildcardSubscriptionAvailable = property.number == 1
    case .subscriptionIdentifierAvailable: subscriptionIdentifiersAvailable = property.number == 1
    case .sharedSubscriptionAvailable: sharedSubscriptionAvailable = property.number == 1
    case .serverKeepAlive: serverKeepAlive = UInt16(truncatingIfNeeded: property.number)
    case .responseInformation: responseInformation = property.text
    case .serverReference: serverReference = property.text
    case .authenticationMethod: authenticationMethod = property.text
    case .authenticationData: authenticationData = property.text
    default: break  // User Properties: in `properties`
    }
  }

  /// Returns the Reason Code that means the same as a Connect Return code of 3.1.1.
  private static func translated(_ returnCode: UInt8) -> UInt8 {
    switch returnCode {
    case 1: ReasonCode.unsupportedProtocolVersion.rawValue
    case 2: ReasonCode.clientIdentifierNotValid.rawValue
    case 3: ReasonCode.serverUnavailable.rawValue
    case 4: ReasonCode.badUserNameOrPassword.rawValue
    case 5: ReasonCode.notAuthorized.rawValue
    default: returnCode
    }
  }
}
