/// AUTH (§3.15), in either direction: enhanced authentication, 5.0 only.
public struct Auth: BitwiseCopyable {
  public let reasonCode: UInt8
  public private(set) var method = Extent.empty
  public private(set) var data = Extent.empty
  public private(set) var reasonString = Extent.empty
  /// All properties, without their length; checked.
  public private(set) var properties = Extent.empty

  /// Reads what follows the Fixed Header of one from a server; extents are offsets in `body`.
  public init(parsing body: Span<UInt8>) throws(Malformed) {
    var reader = ByteReader(body)
    // Nothing at all: Success, no properties. One is not left out without the other (§3.15.2.1).
    guard !reader.isAtEnd else {
      reasonCode = ReasonCode.success.rawValue
      return
    }
    reasonCode = try reader.byte()
    // Re-authenticate is the client's word [MQTT-3.15.2-1].
    guard reasonCode == 0x00 || reasonCode == 0x18 else { throw .reasonCode }
    var list = try PropertyReader(body, reader: &reader, place: .packet(.auth, from: .server))
    properties = list.extent
    var hasMethod = false
    while let property = try list.next() {
      switch property.identifier {
      case .authenticationMethod:
        method = property.text
        hasMethod = true
      case .authenticationData: data = property.text
      case .reasonString: reasonString = property.text
      default: break
      }
    }
    guard reader.isAtEnd else { throw .trailingBytes }
    guard hasMethod else { throw .authenticationMethod }
  }

  /// AUTH from a client: `properties` are encoded, without their length.
  public static func remainingLength(properties: Span<UInt8>) -> Int {
    1 + VariableByteInteger.encodedSize(properties.count) + properties.count
  }

  public static func encode(
    into writer: inout ByteWriter, reasonCode: ReasonCode, properties: Span<UInt8>
  ) {
    writer.put(ControlPacketType.auth.firstByte)
    writer.put(variableByteInteger: remainingLength(properties: properties))
    writer.put(reasonCode.rawValue)
    writer.put(variableByteInteger: properties.count)
    writer.put(properties)
  }
}
