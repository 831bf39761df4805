/// CONNACK (§3.2): the server's answer to CONNECT.
public struct Connack: BitwiseCopyable {
  public let sessionPresent: Bool
  /// 5.0: a Connect Reason Code. 3.1.1: the Connect Return code, 0 to 5.
  public let reasonCode: UInt8
  /// §3.2.2.3, with the values that hold when the server does not say.
  public private(set) var sessionExpiryInterval: UInt32? = nil
  public private(set) var receiveMaximum: UInt16 = .max
  public private(set) var maximumQoS: UInt8 = 2
  public private(set) var retainAvailable = true
  /// 0: none but MQTT's own.
  public private(set) var maximumPacketSize: UInt32 = 0
  public private(set) var assignedClientIdentifier = Extent.empty
  public private(set) var reasonString = Extent.empty
  public private(set) var serverKeepAlive: UInt16? = nil
  public private(set) var serverReference = Extent.empty

  public var isAccepted: Bool { reasonCode == 0 }

  /// Reads what follows the Fixed Header; extents are offsets in `body`.
  public init(parsing body: Span<UInt8>, version: ProtocolVersion) throws(Malformed) {
    var reader = ByteReader(body)
    let flags = try reader.byte()
    guard flags & 0xFE == 0 else { throw .connectAcknowledgeFlags }
    sessionPresent = flags == 1
    reasonCode = try reader.byte()
    // A refusal without Session Present [MQTT-3.2.2-6]; 3.1.1 says the same [MQTT-3.2.2-4].
    guard reasonCode == 0 || !sessionPresent else { throw .sessionPresent }

    // A server that does not speak 5.0 refuses it in the two bytes of 3.1.1.
    let isOldRefusal = body.count == 2 && reasonCode != 0
    guard version.hasProperties && !isOldRefusal else {
      guard reasonCode <= 5 else { throw .reasonCode }
      guard reader.isAtEnd else { throw .trailingBytes }
      return
    }
    guard reasonCode == 0 || reasonCode >= 0x80 else { throw .reasonCode }
    var properties = try PropertyReader(body, reader: &reader, place: .packet(.connack, from: .server))
    while let property = try properties.next() {
      switch property.identifier {
      case .sessionExpiryInterval: sessionExpiryInterval = property.number
      case .receiveMaximum: receiveMaximum = UInt16(truncatingIfNeeded: property.number)
      case .maximumQoS: maximumQoS = UInt8(truncatingIfNeeded: property.number)
      case .retainAvailable: retainAvailable = property.number == 1
      case .maximumPacketSize: maximumPacketSize = property.number
      case .assignedClientIdentifier: assignedClientIdentifier = property.text
      case .reasonString: reasonString = property.text
      case .serverKeepAlive: serverKeepAlive = UInt16(truncatingIfNeeded: property.number)
      case .serverReference: serverReference = property.text
      default: break  // checked, and of no use to a client that only publishes
      }
    }
    guard reader.isAtEnd else { throw .trailingBytes }
  }
}
