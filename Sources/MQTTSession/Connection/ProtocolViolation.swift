import MQTTWire

/// Why a packet that can be parsed is not allowed here: a Protocol Error (§4.13). The raw values continue
/// those of `Malformed`.
public enum ProtocolViolation: UInt8, Error, BitwiseCopyable {
  case unexpectedPacket = 21  // only clients send it, or not now
  case firstPacket  // [MQTT-3.2.0-1]
  case unwantedSession  // [MQTT-3.2.2-4]
  case handshake  // an acknowledgement that does not fit the message's QoS or state (§4.3)
  case reasonCodeCount  // [MQTT-3.8.4-6], [MQTT-3.11.3-1]
  case topicAlias  // above what CONNECT allowed (§3.1.2.11.5)
  case unknownTopicAlias  // §3.3.2.3.4
  case receiveMaximum  // [MQTT-3.3.4-9]
  case packetTooLarge  // [MQTT-3.1.2-24]
  case unexpectedAuthentication  // [MQTT-4.12.0-5], [MQTT-4.12.0-6]

  /// The Reason Code of the DISCONNECT that reports it.
  var reasonCode: ReasonCode {
    switch self {
    case .topicAlias: .topicAliasInvalid
    case .receiveMaximum: .receiveMaximumExceeded
    case .packetTooLarge: .packetTooLarge
    default: .protocolError
    }
  }
}
