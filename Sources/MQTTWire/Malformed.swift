/// Why bytes from the peer are not an MQTT Control Packet, or not one that may be sent to a client.
///
/// Each case is a rule; §4.13 says what follows: the connection ends, in 5.0 with the Reason Code.
public enum Malformed: UInt8, Error, BitwiseCopyable {
  case truncated  // a field reaches beyond the end of the packet
  case trailingBytes  // bytes left over after the last field
  case remainingLength  // §2.1.4: more than four bytes, or not the fewest possible
  case packetType  // §2.1.2: type 0, or a type only clients send
  case reservedFlags  // [MQTT-2.1.3-1]
  case qos  // [MQTT-3.3.1-4]
  case duplicateFlag  // [MQTT-3.3.1-2]: DUP with QoS 0
  case packetIdentifier  // §2.2.1: zero
  case utf8  // [MQTT-1.5.4-1], [MQTT-1.5.4-2]
  case variableByteInteger  // [MQTT-1.5.5-1]
  case topicName  // [MQTT-3.3.2-2], [MQTT-3.3.2-14]
  case emptyTopic  // §3.3.2.1: no Topic Name and no Topic Alias; [MQTT-4.7.3-1]
  case connectAcknowledgeFlags  // [MQTT-3.2.2-1]
  case reasonCode  // §2.4: not one this kind of packet may carry
  case sessionPresent  // [MQTT-3.2.2-6]: Session Present with a refusal
  case unknownProperty  // §2.2.2.2
  case propertyNotAllowed  // Table 2-4
  case propertyRepeated  // §2.2.2.2: included more than once
  case propertyValue  // a value the property may not have
  case authenticationMethod  // §3.15.2.2.2: left out

  /// The Reason Code for the DISCONNECT that answers it (§4.13): Malformed Packet or Protocol Error.
  public var reasonCode: ReasonCode {
    switch self {
    case .authenticationMethod, .emptyTopic, .propertyRepeated, .propertyValue, .sessionPresent:
      .protocolError
    default: .malformedPacket
    }
  }
}
