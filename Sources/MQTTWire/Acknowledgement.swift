public import Storage

/// PUBACK, PUBREC, PUBREL and PUBCOMP (§3.4 to §3.7): one layout, one type.
public struct Acknowledgement: BitwiseCopyable {
  public let type: ControlPacketType
  public let identifier: PacketIdentifier
  /// 0 in 3.1.1, which has none.
  public let reasonCode: UInt8
  /// 5.0, in received packets: extents in the body. `properties` are all, without their length; checked.
  public let reasonString: ByteRange
  public let properties: ByteRange
  /// DUP, which 3.1 has for PUBREL too; in packets that are sent.
  public var isDuplicate = false

  public init(type: ControlPacketType, identifier: PacketIdentifier, reasonCode: ReasonCode = .success) {
    self.init(type: type, identifier: identifier, rawReasonCode: reasonCode.rawValue)
  }

  /// The caller guarantees that the packet may carry this Reason Code.
  public init(type: ControlPacketType, identifier: PacketIdentifier, rawReasonCode: UInt8) {
    self.type = type
    self.identifier = identifier
    reasonCode = rawReasonCode
    self.reasonString = .empty
    self.properties = .empty
  }

  public var isRefusal: Bool { reasonCode >= 0x80 }

  /// Reads what follows the Fixed Header of a packet of this type; extents are offsets in `body`.
  public init(
    parsing body: Span<UInt8>, type: ControlPacketType, version: ProtocolVersion
  ) throws(Malformed) {
    self.type = type
    var reader = ByteReader(body)
    guard let identifier = PacketIdentifier(try reader.uint16()) else { throw .packetIdentifier }
    self.identifier = identifier
    var reason = ByteRange.empty
    var all = ByteRange.empty
    if version.hasProperties && !reader.isAtEnd {
      reasonCode = try reader.byte()
      // Without a Reason Code it means success. Without a Property Length it has no properties
      // (§3.4.2.2.1).
      if !reader.isAtEnd {
        var list = try PropertyReader(body, reader: &reader, in: .packet(type, from: .server))
        all = list.extent
        while let property = try list.next() {
          if property.identifier == .reasonString { reason = property.text }
        }
      }
    } else {
      reasonCode = 0
    }
    reasonString = reason
    properties = all
    guard reader.isAtEnd else { throw .trailingBytes }
    guard Self.allows(reasonCode, in: type) else { throw .reasonCode }
  }

  /// Without a Reason Code, which means success.
  public static var plainSize: Int { 4 }
  public static var plainRemainingLength: UInt8 { 2 }

  /// With a Reason Code, without properties.
  public static var maximumEncodedSize: Int { 5 }

  @inline(__always)
  public var encodedSize: Int { reasonCode == 0 ? 4 : 5 }

  @inline(__always)
  public func encode<Writer: PacketWriter & ~Copyable & ~Escapable>(into writer: inout Writer) {
    writer.put(type.firstByte | (isDuplicate ? Publish.duplicateFlag : 0))
    writer.put(UInt8(truncatingIfNeeded: encodedSize &- 2))
    writer.put(identifier.rawValue)
    if reasonCode != 0 { writer.put(reasonCode) }
  }

  /// Returns the Remaining Length of a packet of 5.0 with `properties`, encoded, without their length.
  public static func remainingLength(properties: Span<UInt8>) -> Int {
    3 &+ VariableByteInteger.encodedSize(properties.count) &+ properties.count
  }

  public func encode(into writer: inout ByteWriter, properties: Span<UInt8>) {
    writer.put(type.firstByte)
    writer.put(variableByteInteger: Self.remainingLength(properties: properties))
    writer.put(identifier.rawValue)
    writer.put(reasonCode)
    writer.put(variableByteInteger: properties.count)
    writer.put(properties)
  }

  /// Returns whether a client may acknowledge a message with this Reason Code: one of PUBACK and PUBREC,
  /// except those that only a server uses (§3.4.2.1).
  public static func isAllowedFromClient(_ code: UInt8, _ version: ProtocolVersion) -> Bool {
    guard version.hasProperties else { return code == 0 }
    return code != ReasonCode.noMatchingSubscribers.rawValue
      && code != ReasonCode.packetIdentifierInUse.rawValue
      && allows(code, in: .puback)
  }

  /// The Reason Codes of Tables 3-4 to 3-7 [MQTT-3.4.2-1] [MQTT-3.5.2-1] [MQTT-3.6.2-1] [MQTT-3.7.2-1].
  private static func allows(_ code: UInt8, in type: ControlPacketType) -> Bool {
    switch type {
    case .puback, .pubrec:
      switch code {
      case 0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99: true
      default: false
      }
    default: code == 0x00 || code == 0x92
    }
  }
}
