import MQTTWire

/// A limit of the server that a message is above.
public enum Limit: BitwiseCopyable {
  case packetTooLarge
  case qosNotSupported
  case retainNotSupported

  /// The Reason Code a server has for it (§2.4).
  var reasonCode: ReasonCode {
    switch self {
    case .packetTooLarge: .packetTooLarge
    case .qosNotSupported: .qosNotSupported
    case .retainNotSupported: .retainNotSupported
    }
  }
}

/// What the server that answered can do (§3.2.2.3). Holds for one connection.
struct ServerLimits: BitwiseCopyable {
  var maximumPacketSize = Int.max
  var maximumQoS: UInt8 = 2
  var retainAvailable = true

  /// None known: what may be queued while there is no connection.
  init() {}

  init(_ connack: Connack) {
    if connack.maximumPacketSize != 0, connack.maximumPacketSize <= UInt32(Int32.max) {
      maximumPacketSize = Int(truncatingIfNeeded: connack.maximumPacketSize)
    }
    maximumQoS = connack.maximumQoS
    retainAvailable = connack.retainAvailable
  }

  /// Which limit a message is above, if any.
  func verdict(packetSize: Int, qos: QoS, retain: Bool) -> Limit? {
    if packetSize > maximumPacketSize { return .packetTooLarge }  // [MQTT-3.2.2-15]
    if qos.rawValue > maximumQoS { return .qosNotSupported }  // [MQTT-3.2.2-11]
    if retain && !retainAvailable { return .retainNotSupported }  // [MQTT-3.2.2-14]
    return nil
  }
}
