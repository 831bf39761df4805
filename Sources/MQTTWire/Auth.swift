public import Storage

/// AUTH (§3.15), in either direction: enhanced authentication, 5.0 only.
public struct Auth: BitwiseCopyable {
  public let reasonCode: UInt8
  public private(set) var method = ByteRange.empty
  public private(set) var data = ByteRange.empty
  public private(set) var reasonString = ByteRange.empty
  /// All properties, without their length; checked.
  public private(set) var properties = ByteRange.empty

  /// Reads what follows the Fixed Header of one from a server; extents are offsets in `body`.
  public init(parsing body: Span<UInt8>) throws(Malformed) {
    var reader = ByteReader(body)
    // An empty packet means Success without properties. Reason Code and properties are left out together
    // (§3.15.2.1).
    guard !reader.isAtEnd else {
      reasonCode = ReasonCode.success.rawValue
      return
    }
    reasonCode = try reader.byte()
    // Only a client may send Re-authenticate [MQTT-3.15.2-1].
    guard reasonCode == 0x00 || reasonCode == 0x18 else { throw .reasonCode }
    var list = try PropertyReader(body, reader: &reader, in: .packet(.auth, from: .server))
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

  /// Returns the Property Length of AUTH from a client. Empty `data` stands for none; `properties` are the
  /// other properties, encoded.
  public static func propertyLength(
    method: Span<UInt8>, data: Span<UInt8>, properties: Span<UInt8>
  ) -> Int {
    3 + method.count + (data.count > 0 ? 3 + data.count : 0) + properties.count
  }

  public static func remainingLength(propertyLength length: Int) -> Int {
    1 + VariableByteInteger.encodedSize(length) + length
  }

  public static func encode(
    into writer: inout ByteWriter, reasonCode: UInt8, method: Span<UInt8>, data: Span<UInt8>,
    properties: Span<UInt8>
  ) {
    let length = propertyLength(method: method, data: data, properties: properties)
    writer.put(ControlPacketType.auth.firstByte)
    writer.put(variableByteInteger: remainingLength(propertyLength: length))
    writer.put(reasonCode)
    writer.put(variableByteInteger: length)
    writer.put(PropertyIdentifier.authenticationMethod.rawValue)
    writer.put(prefixed: method)
    if data.count > 0 {
      writer.put(PropertyIdentifier.authenticationData.rawValue)
      writer.put(prefixed: data)
    }
    writer.put(properties)
  }

  /// Returns the Remaining Length of AUTH from a client; `properties` are encoded, without their length.
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
