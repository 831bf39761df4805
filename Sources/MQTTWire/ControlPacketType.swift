/// The MQTT Control Packet types of §2.1.2.
public enum ControlPacketType: UInt8, BitwiseCopyable {
  case connect = 1
  case connack = 2
  case publish = 3
  case puback = 4
  case pubrec = 5
  case pubrel = 6
  case pubcomp = 7
  case subscribe = 8
  case suback = 9
  case unsubscribe = 10
  case unsuback = 11
  case pingreq = 12
  case pingresp = 13
  case disconnect = 14
  case auth = 15

  /// The low four bits of the first byte, for every type but PUBLISH [MQTT-2.1.3-1].
  @inline(__always)
  public var requiredFlags: UInt8 {
    switch self {
    case .pubrel, .subscribe, .unsubscribe: 0b0010
    default: 0
    }
  }

  /// The first byte of a packet without flags of its own.
  @inline(__always)
  public var firstByte: UInt8 { rawValue << 4 | requiredFlags }
}
