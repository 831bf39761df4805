public import Storage

/// The properties of MQTT 5.0 (§2.2.2.2, Table 2-4), by their identifiers on the wire.
public struct PropertyIdentifier: Equatable, BitwiseCopyable {
  public let rawValue: UInt8

  /// It is `nil` if no property has this identifier.
  @inline(__always)
  public init?(rawValue: UInt8) {
    guard PropertyRule.of(rawValue).contexts != 0 else { return nil }
    self.rawValue = rawValue
  }

  /// For an identifier in the table of rules.
  @inline(__always)
  init(known rawValue: UInt8) { self.rawValue = rawValue }

  public static var payloadFormatIndicator: Self { Self(known: 0x01) }
  public static var messageExpiryInterval: Self { Self(known: 0x02) }
  public static var contentType: Self { Self(known: 0x03) }
  public static var responseTopic: Self { Self(known: 0x08) }
  public static var correlationData: Self { Self(known: 0x09) }
  public static var subscriptionIdentifier: Self { Self(known: 0x0B) }
  public static var sessionExpiryInterval: Self { Self(known: 0x11) }
  public static var assignedClientIdentifier: Self { Self(known: 0x12) }
  public static var serverKeepAlive: Self { Self(known: 0x13) }
  public static var authenticationMethod: Self { Self(known: 0x15) }
  public static var authenticationData: Self { Self(known: 0x16) }
  public static var requestProblemInformation: Self { Self(known: 0x17) }
  public static var willDelayInterval: Self { Self(known: 0x18) }
  public static var requestResponseInformation: Self { Self(known: 0x19) }
  public static var responseInformation: Self { Self(known: 0x1A) }
  public static var serverReference: Self { Self(known: 0x1C) }
  public static var reasonString: Self { Self(known: 0x1F) }
  public static var receiveMaximum: Self { Self(known: 0x21) }
  public static var topicAliasMaximum: Self { Self(known: 0x22) }
  public static var topicAlias: Self { Self(known: 0x23) }
  public static var maximumQoS: Self { Self(known: 0x24) }
  public static var retainAvailable: Self { Self(known: 0x25) }
  public static var userProperty: Self { Self(known: 0x26) }
  public static var maximumPacketSize: Self { Self(known: 0x27) }
  public static var wildcardSubscriptionAvailable: Self { Self(known: 0x28) }
  public static var subscriptionIdentifierAvailable: Self { Self(known: 0x29) }
  public static var sharedSubscriptionAvailable: Self { Self(known: 0x2A) }
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

  @inline(__always)
  var isNumber: Bool { rawValue <= Self.variableByteInteger.rawValue }
}

/// Which values a property may have, if it is a number.
enum PropertyValues: UInt8 {
  case any, positive, flag

  @inline(__always)
  func contains(_ value: UInt32) -> Bool {
    switch self {
    case .any: true
    case .positive: value != 0
    case .flag: value <= 1
    }
  }
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
  /// `PropertyContext.bit`s; none if there is no such property.
  let contexts: UInt32
  /// What a numeric value may be.
  let values: PropertyValues

  /// Returns the rule for an identifier on the wire. Kept out of line, the compiler makes tables of it.
  @inline(never)
  static func of(_ identifier: UInt8) -> PropertyRule {
    switch PropertyIdentifier(known: identifier) {
    case .payloadFormatIndicator: rule(.byte, publish | will, .flag)
    case .messageExpiryInterval: rule(.fourByteInteger, publish | will)
    case .contentType: rule(.string, publish | will)
    case .responseTopic: rule(.string, publish | will)
    case .correlationData: rule(.binaryData, publish | will)
    // From a client SUBSCRIBE has it, from a server PUBLISH [MQTT-3.3.4-6].
    case .subscriptionIdentifier: rule(.variableByteInteger, server(.publish) | client(.subscribe), .positive)
    // Only a client may send it in DISCONNECT [MQTT-3.14.2-2].
    case .sessionExpiryInterval: rule(.fourByteInteger, connect | connack | client(.disconnect))
    case .assignedClientIdentifier: rule(.string, connack)
    case .serverKeepAlive: rule(.twoByteInteger, connack)
    case .authenticationMethod: rule(.string, connect | connack | auth)
    case .authenticationData: rule(.binaryData, connect | connack | auth)
    case .requestProblemInformation: rule(.byte, connect, .flag)
    case .willDelayInterval: rule(.fourByteInteger, will)
    case .requestResponseInformation: rule(.byte, connect, .flag)
    case .responseInformation: rule(.string, connack)
    case .serverReference: rule(.string, connack | server(.disconnect))
    case .reasonString: rule(.string, connack | acknowledgements | disconnect | auth)
    case .receiveMaximum: rule(.twoByteInteger, connect | connack, .positive)
    case .topicAliasMaximum: rule(.twoByteInteger, connect | connack)
    case .topicAlias: rule(.twoByteInteger, publish, .positive)
    case .maximumQoS: rule(.byte, connack, .flag)
    case .retainAvailable: rule(.byte, connack, .flag)
    case .userProperty: rule(.stringPair, everywhere)
    case .maximumPacketSize: rule(.fourByteInteger, connect | connack, .positive)
    case .wildcardSubscriptionAvailable: rule(.byte, connack, .flag)
    case .subscriptionIdentifierAvailable: rule(.byte, connack, .flag)
    case .sharedSubscriptionAvailable: rule(.byte, connack, .flag)
    default: rule(.byte, 0)
    }
  }

  @inline(__always)
  private static func rule(
    _ type: PropertyType, _ contexts: UInt32, _ values: PropertyValues = .any
  ) -> PropertyRule {
    PropertyRule(type: type, contexts: contexts, values: values)
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
