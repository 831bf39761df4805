/// The properties of MQTT 5.0 (§2.2.2.2, Table 2-4). Raw values are the identifiers of the wire.
public enum PropertyIdentifier: UInt8, BitwiseCopyable {
  case payloadFormatIndicator = 0x01
  case messageExpiryInterval = 0x02
  case contentType = 0x03
  case responseTopic = 0x08
  case correlationData = 0x09
  case subscriptionIdentifier = 0x0B
  case sessionExpiryInterval = 0x11
  case assignedClientIdentifier = 0x12
  case serverKeepAlive = 0x13
  case authenticationMethod = 0x15
  case authenticationData = 0x16
  case requestProblemInformation = 0x17
  case willDelayInterval = 0x18
  case requestResponseInformation = 0x19
  case responseInformation = 0x1A
  case serverReference = 0x1C
  case reasonString = 0x1F
  case receiveMaximum = 0x21
  case topicAliasMaximum = 0x22
  case topicAlias = 0x23
  case maximumQoS = 0x24
  case retainAvailable = 0x25
  case userProperty = 0x26
  case maximumPacketSize = 0x27
  case wildcardSubscriptionAvailable = 0x28
  case subscriptionIdentifierAvailable = 0x29
  case sharedSubscriptionAvailable = 0x2A
}

/// One property as it was received.
public struct Property: BitwiseCopyable {
  public let identifier: PropertyIdentifier
  /// Its value if that is a number, else 0.
  public let number: UInt32
  /// Its value if that is a string or Binary Data; the name of a User Property.
  public let text: Extent
  /// The value of a User Property.
  public let value: Extent
}

/// How a property's value is encoded (Table 2-4).
enum PropertyType: UInt8 {
  case byte, twoByteInteger, fourByteInteger, variableByteInteger, string, binaryData, stringPair
}

/// Table 2-4: what each property is and where it may stand.
struct PropertyRule: BitwiseCopyable {
  let type: PropertyType
  /// One bit for each Control Packet type.
  let packets: UInt16
  /// What a numeric value may be.
  let minimum: UInt32
  let maximum: UInt32

  static func of(_ identifier: PropertyIdentifier) -> PropertyRule {
    switch identifier {
    case .payloadFormatIndicator: rule(.byte, publish, 0, 1)
    case .messageExpiryInterval: rule(.fourByteInteger, publish)
    case .contentType: rule(.string, publish)
    case .responseTopic: rule(.string, publish)
    case .correlationData: rule(.binaryData, publish)
    case .subscriptionIdentifier: rule(.variableByteInteger, publish | subscribe, 1)
    case .sessionExpiryInterval: rule(.fourByteInteger, connect | connack | disconnect)
    case .assignedClientIdentifier: rule(.string, connack)
    case .serverKeepAlive: rule(.twoByteInteger, connack)
    case .authenticationMethod: rule(.string, connect | connack | auth)
    case .authenticationData: rule(.binaryData, connect | connack | auth)
    case .requestProblemInformation: rule(.byte, connect, 0, 1)
    case .willDelayInterval: rule(.fourByteInteger, 0)
    case .requestResponseInformation: rule(.byte, connect, 0, 1)
    case .responseInformation: rule(.string, connack)
    case .serverReference: rule(.string, connack | disconnect)
    case .reasonString: rule(.string, connack | acknowledgements | disconnect | auth)
    case .receiveMaximum: rule(.twoByteInteger, connect | connack, 1)
    case .topicAliasMaximum: rule(.twoByteInteger, connect | connack)
    case .topicAlias: rule(.twoByteInteger, publish, 1)
    case .maximumQoS: rule(.byte, connack, 0, 1)
    case .retainAvailable: rule(.byte, connack, 0, 1)
    case .userProperty: rule(.stringPair, .max)
    case .maximumPacketSize: rule(.fourByteInteger, connect | connack, 1)
    case .wildcardSubscriptionAvailable: rule(.byte, connack, 0, 1)
    case .subscriptionIdentifierAvailable: rule(.byte, connack, 0, 1)
    case .sharedSubscriptionAvailable: rule(.byte, connack, 0, 1)
    }
  }

  private static func rule(
    _ type: PropertyType, _ packets: UInt16, _ minimum: UInt32 = 0, _ maximum: UInt32 = .max
  ) -> PropertyRule {
    PropertyRule(type: type, packets: packets, minimum: minimum, maximum: maximum)
  }

  private static var connect: UInt16 { bit(.connect) }
  private static var connack: UInt16 { bit(.connack) }
  private static var publish: UInt16 { bit(.publish) }
  private static var subscribe: UInt16 { bit(.subscribe) }
  private static var disconnect: UInt16 { bit(.disconnect) }
  private static var auth: UInt16 { bit(.auth) }
  private static var acknowledgements: UInt16 {
    bit(.puback) | bit(.pubrec) | bit(.pubrel) | bit(.pubcomp) | bit(.suback) | bit(.unsuback)
  }

  static func bit(_ type: ControlPacketType) -> UInt16 { 1 << UInt16(type.rawValue) }
}
