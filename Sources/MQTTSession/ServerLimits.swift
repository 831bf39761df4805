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

  /// The Reason Code a server has for it (§2.4).
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

/// What the server that answered can do (§3.2.2.3). Holds for one connection.
public struct ServerLimits: BitwiseCopyable {
  /// `Int.max`: none but MQTT's own.
  public internal(set) var maximumPacketSize = Int.max
  public internal(set) var maximumQoS: UInt8 = 2
  public internal(set) var retainAvailable = true
  public internal(set) var wildcardAvailable = true
  public internal(set) var sharedAvailable = true
  public internal(set) var identifiersAvailable = true
  public internal(set) var receiveMaximum = 65_535
  public internal(set) var topicAliasMaximum = 0
  /// Seconds.
  public internal(set) var sessionExpiry: UInt32 = 0
  public internal(set) var keepAlive: UInt16 = 0

  /// None known: what may be queued while there is no connection.
  init() {}

  init(_ connack: Connack, ownKeepAlive: UInt16, ownSessionExpiry: UInt32) {
    if connack.maximumPacketSize != 0, connack.maximumPacketSize <= UInt32(Int32.max) {
      maximumPacketSize = Int(truncatingIfNeeded: connack.maximumPacketSize)
    }
    maximumQoS = connack.maximumQoS
    retainAvailable = connack.retainAvailable
    wildcardAvailable = connack.wildcardSubscriptionAvailable
    sharedAvailable = connack.sharedSubscriptionAvailable
    identifiersAvailable = connack.subscriptionIdentifiersAvailable
    receiveMaximum = Int(connack.receiveMaximum)
    topicAliasMaximum = Int(connack.topicAliasMaximum)
    sessionExpiry = connack.sessionExpiryInterval ?? ownSessionExpiry  // §3.2.2.3.2
    keepAlive = connack.serverKeepAlive ?? ownKeepAlive  // [MQTT-3.2.2-21]
  }

  /// Which limit a message is above, if any.
  @inline(__always)
  func verdict(packetSize: Int, qos: QoS, retain: Bool) -> Limit? {
    if packetSize > maximumPacketSize { return .packetTooLarge }  // [MQTT-3.2.2-15]
    if qos.rawValue > maximumQoS { return .qosNotSupported }  // [MQTT-3.2.2-11]
    if retain && !retainAvailable { return .retainNotSupported }  // [MQTT-3.2.2-14]
    return nil
  }

  /// The same for SUBSCRIBE and UNSUBSCRIBE (§3.2.2.3.11 to 13).
  func verdict(packetSize: Int, needs: SubscribeQueue.Needs, version: ProtocolVersion) -> Limit? {
    if packetSize > maximumPacketSize { return .packetTooLarge }
    if needs.wildcard && !wildcardAvailable { return .wildcardNotSupported }
    if needs.shared && !sharedAvailable { return .sharedNotSupported }
    if needs.identifier && !identifiersAvailable { return .identifierNotSupported }
    if (needs.identifier || needs.noLocal) && !version.hasProperties { return .versionTooOld }
    return nil
  }
}
