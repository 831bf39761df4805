import MQTTWire

/// A limit of the server that a message or a request is above.
public enum Limit: BitwiseCopyable {
  case packetTooLarge
  case qosNotSupported
  case retainNotSupported
  case wildcardNotSupported
  case sharedNotSupported
  case identifierNotSupported
  /// Of 5.0, on a connection of an older version.
  case versionTooOld

  /// The Reason Code that a server uses for it (§2.4).
  var reasonCode: ReasonCode {
    switch self {
    case .packetTooLarge: .packetTooLarge
    case .qosNotSupported: .qosNotSupported
    case .retainNotSupported: .retainNotSupported
    case .wildcardNotSupported: .wildcardSubscriptionsNotSupported
    case .sharedNotSupported: .sharedSubscriptionsNotSupported
    case .identifierNotSupported: .subscriptionIdentifiersNotSupported
    case .versionTooOld: .unsupportedProtocolVersion
    }
  }
}

/// What the server supports (§3.2.2.3), on one connection.
public struct ServerLimits: BitwiseCopyable {
  /// `Int.max`: none but MQTT's own.
  public internal(set) var maximumPacketSize = Int.max
  /// What a message must not have: the bits of its QoS, and retain, as `MessageFlags` has them.
  private var forbiddenFlags: UInt32 = 0
  public internal(set) var wildcardAvailable = true
  public internal(set) var sharedAvailable = true
  public internal(set) var identifiersAvailable = true
  public internal(set) var receiveMaximum = 65_535
  public internal(set) var topicAliasMaximum = 0
  /// Seconds.
  public internal(set) var sessionExpiry: UInt32 = 0
  public internal(set) var keepAlive: UInt16 = 0

  /// Without a connection no limits are known.
  init() {}

  init(_ connack: Connack, ownKeepAlive: UInt16, ownSessionExpiry: UInt32) {
    if connack.maximumPacketSize != 0, connack.maximumPacketSize <= UInt32(Int32.max) {
      maximumPacketSize = Int(truncatingIfNeeded: connack.maximumPacketSize)
    }
    switch connack.maximumQoS {
    case 0: forbiddenFlags = MessageFlags.qosBits
    case 1: forbiddenFlags = MessageFlags(qos: .exactlyOnce).bits
    default: break
    }
    if !connack.retainAvailable { forbiddenFlags |= MessageFlags.Flag.retain.bit }
    wildcardAvailable = connack.wildcardSubscriptionAvailable
    sharedAvailable = connack.sharedSubscriptionAvailable
    identifiersAvailable = connack.subscriptionIdentifiersAvailable
    receiveMaximum = Int(connack.receiveMaximum)
    topicAliasMaximum = Int(connack.topicAliasMaximum)
    sessionExpiry = connack.sessionExpiryInterval ?? ownSessionExpiry  // §3.2.2.3.2
    keepAlive = connack.serverKeepAlive ?? ownKeepAlive  // [MQTT-3.2.2-21]
  }

  public var maximumQoS: UInt8 {
    switch forbiddenFlags & MessageFlags.qosBits {
    case 0: 2
    case MessageFlags.qosBits: 0
    default: 1
    }
  }

  public var retainAvailable: Bool { forbiddenFlags & MessageFlags.Flag.retain.bit == 0 }

  /// Returns the limit that a message is above, if any.
  @inline(__always)
  func verdict(packetSize: Int, _ flags: MessageFlags) -> Limit? {
    if packetSize > maximumPacketSize { return .packetTooLarge }  // [MQTT-3.2.2-15]
    let forbidden = flags.bits & forbiddenFlags
    if forbidden == 0 { return nil }
    return forbidden & MessageFlags.qosBits != 0
      ? .qosNotSupported  // [MQTT-3.2.2-11]
      : .retainNotSupported  // [MQTT-3.2.2-14]
  }

  /// Returns the limit that a SUBSCRIBE or UNSUBSCRIBE is above, if any (§3.2.2.3.11 to 13).
  func verdict(packetSize: Int, needs: SubscribeQueue.Needs, version: ProtocolVersion) -> Limit? {
    if packetSize > maximumPacketSize { return .packetTooLarge }
    if needs.wildcard && !wildcardAvailable { return .wildcardNotSupported }
    if needs.shared && !sharedAvailable { return .sharedNotSupported }
    if needs.identifier && !identifiersAvailable { return .identifierNotSupported }
    if (needs.identifier || needs.noLocal) && !version.hasProperties { return .versionTooOld }
    return nil
  }
}
