public import Storage

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
  public let text: ByteRange
  /// The value of a User Property.
  public let value: ByteRange
}

/// How a property's value is encoded (Table 2-4).
enum PropertyType: UInt8 {
  case byte, twoByteInteger, fourByteInteger, variableByteInteger, string, binaryData, stringPair
}

/// Who sends a packet. A few properties may come from one side only.
public enum Sender: BitwiseCopyable { case client, server }

/// What a list of properties belongs to: a Control Packet, or the Will of a CONNECT.
public enum PropertyContext: BitwiseCopyable {
  case packet(ControlPacketType, from: Sender)
  case will
  /// Any of these: it is only checked that each is a property.
  case anywhere

  /// Its bit in `PropertyRule.contexts`. Only clients send CONNECT and SUBSCRIBE, and only servers CONNACK
  /// and SUBACK. Where a rule depends on the sender, the packet has a bit for each.
  var bit: UInt32 {
    switch self {
    case .will: PropertyRule.will
    case .anywhere: .max
    case .packet(let type, from: .client): 1 << UInt32(type.rawValue)
    case .packet(let type, from: .server): 1 << UInt32(type.rawValue + 16)
    }
  }
}

/// Table 2-4: what each property is, and which packets may have it.
struct PropertyRule: BitwiseCopyable {
  let type: PropertyType
  /// `PropertyContext.bit`s.
  let contexts: UInt32
  /// What a numeric value may be.
  let minimum: UInt32
  let maximum: UInt32

  static func of(_ identifier: PropertyIdentifier) -> PropertyRule {
    switch identifier {
    case .payloadFormatIndicator: rule(.byte, publish | will, 0, 1)
    case .messageExpiryInterval: rule(.fourByteInteger, publish | will)
    case .contentType: rule(.string, publish | will)
    case .responseTopic: rule(.string, publish | will)
    case .correlationData: rule(.binaryData, publish | will)
    // From a client SUBSCRIBE has it, from a server PUBLISH [MQTT-3.3.4-6].
    case .subscriptionIdentifier: rule(.variableByteInteger, server(.publish) | client(.subscribe), 1)
    // Only a client may send it in DISCONNECT [MQTT-3.14.2-2].
    case .sessionExpiryInterval: rule(.fourByteInteger, connect | connack | client(.disconnect))
    case .assignedClientIdentifier: rule(.string, connack)
    case .serverKeepAlive: rule(.twoByteInteger, connack)
    case .authenticationMethod: rule(.string, connect | connack | auth)
    case .authenticationData: rule(.binaryData, connect | connack | auth)
    case .requestProblemInformation: rule(.byte, connect, 0, 1)
    case .willDelayInterval: rule(.fourByteInteger, will)
    case .requestResponseInformation: rule(.byte, connect, 0, 1)
    case .responseInformation: rule(.string, connack)
    case .serverReference: rule(.string, connack | server(.disconnect))
    case .reasonString: rule(.string, connack | acknowledgements | disconnect | auth)
    case .receiveMaximum: rule(.twoByteInteger, connect | connack, 1)
    case .topicAliasMaximum: rule(.twoByteInteger, connect | connack)
    case .topicAlias: rule(.twoByteInteger, publish, 1)
    case .maximumQoS: rule(.byte, connack, 0, 1)
    case .retainAvailable: rule(.byte, connack, 0, 1)
    case .userProperty: rule(.stringPair, everywhere)
    case .maximumPacketSize: rule(.fourByteInteger, connect | connack, 1)
    case .wildcardSubscriptionAvailable: rule(.byte, connack, 0, 1)
    case .subscriptionIdentifierAvailable: rule(.byte, connack, 0, 1)
    case .sharedSubscriptionAvailable: rule(.byte, connack, 0, 1)
    }
  }

  private static func rule(
    _ type: PropertyType, _ contexts: UInt32, _ minimum: UInt32 = 0, _ maximum: UInt32 = .max
  ) -> PropertyRule {
    PropertyRule(type: type, contexts: contexts, minimum: minimum, maximum: maximum)
  }

  static var will: UInt32 { 1 }
  private static var connect: UInt32 { client(.connect) }
  private static var connack: UInt32 { server(.connack) }
  private static var publish: UInt32 { both(.publish) }
  private static var disconnect: UInt32 { both(.disconnect) }
  private static var auth: UInt32 { both(.auth) }
  private static var acknowledgements: UInt32 {
    both(.puback) | both(.pubrec) | both(.pubrel) | both(.pubcomp) | server(.suback)
      | server(.unsuback)
  }

  private static var everywhere: UInt32 {
    will | connect | connack | publish | acknowledgements | client(.subscribe) | client(.unsubscribe)
      | disconnect | auth
  }

  private static func client(_ type: ControlPacketType) -> UInt32 {
    PropertyContext.packet(type, from: .client).bit
  }

  private static func server(_ type: ControlPacketType) -> UInt32 {
    PropertyContext.packet(type, from: .server).bit
  }

  private static func both(_ type: ControlPacketType) -> UInt32 { client(type) | server(type) }
}
