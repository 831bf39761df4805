public import Storage

/// DISCONNECT (§3.14), in either direction.
public struct Disconnect: BitwiseCopyable {
  public let reasonCode: UInt8
  /// In received packets: extents in the body.
  public private(set) var reasonString = ByteRange.empty
  public private(set) var serverReference = ByteRange.empty
  /// All properties, without their length; checked.
  public private(set) var properties = ByteRange.empty

  public init(reasonCode: ReasonCode) {
    self.reasonCode = reasonCode.rawValue
  }

  /// The caller guarantees a Reason Code of Table 3-10.
  public init(rawReasonCode: UInt8) { reasonCode = rawReasonCode }

  /// Reads what follows the Fixed Header of one from a server, which only 5.0 has.
  public init(parsing body: Span<UInt8>) throws(Malformed) {
    var reader = ByteReader(body)
    // Without a Reason Code it is 0x00 (§3.14.2.1). Without a Property Length it has no properties
    // (§3.14.2.2.1).
    guard !reader.isAtEnd else {
      reasonCode = 0
      return
    }
    reasonCode = try reader.byte()
    guard reasonCode == 0 || reasonCode >= 0x80 else { throw .reasonCode }
    guard !reader.isAtEnd else { return }
    var list = try PropertyReader(body, reader: &reader, in: .packet(.disconnect, from: .server))
    properties = list.extent
    while let property = try list.next() {
      switch property.identifier {
      case .reasonString: reasonString = property.text
      case .serverReference: serverReference = property.text
      default: break
      }
    }
    guard reader.isAtEnd else { throw .trailingBytes }
  }

  public func encodedSize(_ version: ProtocolVersion) -> Int { hasReasonCode(version) ? 3 : 2 }

  public func encode(into writer: inout ByteWriter, version: ProtocolVersion) {
    writer.put(ControlPacketType.disconnect.firstByte)
    writer.put(UInt8(truncatingIfNeeded: encodedSize(version) - 2))
    if hasReasonCode(version) { writer.put(reasonCode) }
  }

  /// Returns the Remaining Length of a DISCONNECT of 5.0 with `properties`, encoded, without their length
  /// (§3.14.2.2).
  public static func remainingLength(properties: Span<UInt8>) -> Int {
    remainingLengthWithProperties(properties.count)
  }

  public static func remainingLengthWithProperties(_ size: Int) -> Int {
    1 + VariableByteInteger.encodedSize(size) + size
  }

  public static func encode(
    into writer: inout ByteWriter, reasonCode: ReasonCode, properties: Span<UInt8>
  ) {
    Disconnect(reasonCode: reasonCode).encode(into: &writer, properties: properties)
  }

  public func encode(into writer: inout ByteWriter, properties: Span<UInt8>) {
    writer.put(ControlPacketType.disconnect.firstByte)
    writer.put(variableByteInteger: Self.remainingLength(properties: properties))
    writer.put(reasonCode)
    writer.put(variableByteInteger: properties.count)
    writer.put(properties)
  }

  /// Returns whether Table 3-10 allows a Reason Code from a client.
  public static func isAllowedFromClient(_ code: UInt8, _ version: ProtocolVersion) -> Bool {
    guard version.hasProperties else { return code == 0 }
    switch code {
    case 0x00, 0x04, 0x80...0x83, 0x90, 0x93...0x99: return true
    default: return false
    }
  }

  private func hasReasonCode(_ version: ProtocolVersion) -> Bool {
    version.hasProperties && reasonCode != 0
  }
}
