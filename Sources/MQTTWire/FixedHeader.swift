/// The Fixed Header (§2.1): type, flags and Remaining Length.
public struct FixedHeader: BitwiseCopyable {
  public let type: ControlPacketType
  public let flags: UInt8
  /// How many bytes the Fixed Header itself takes: 2 to 5.
  public let size: Int
  public let remainingLength: Int

  /// The whole packet's size in bytes.
  public var packetSize: Int { size &+ remainingLength }

  /// Returns the size of a packet with this Remaining Length.
  @inline(__always)
  public static func packetSize(_ remainingLength: Int) -> Int {
    1 &+ VariableByteInteger.encodedSize(remainingLength) &+ remainingLength
  }

  /// Reads the header at the beginning of `bytes`. Returns `nil` if more bytes are needed.
  public init?(parsing bytes: Span<UInt8>, version: ProtocolVersion) throws(Malformed) {
    guard bytes.count >= 1 else { return nil }
    let first = bytes[0]
    guard let type = ControlPacketType(rawValue: first >> 4) else { throw .packetType }
    guard type != .auth || version.hasProperties else { throw .packetType }  // reserved before 5.0
    // In 3.1 only PUBLISH and PUBREL, which may have DUP, use the flags of a server's packets (§2.1).
    guard type == .publish || version.isV31 || first & 0x0F == type.requiredFlags else {
      throw .reservedFlags
    }

    var length = 0
    var index = 1
    while true {
      guard index < bytes.count else { return nil }
      let byte = bytes[index]
      length |= Int(byte & 0x7F) << (7 &* (index &- 1))
      index &+= 1
      if byte < 0x80 {
        // It has to be in the fewest bytes, and a last byte of zero adds nothing [MQTT-1.5.5-1]. Versions
        // before 5.0 did not require that.
        guard byte != 0 || index == 2 || !version.hasProperties else { throw .remainingLength }
        break
      }
      guard index < 5 else { throw .remainingLength }
    }
    self.type = type
    self.flags = first & 0x0F
    self.size = index
    self.remainingLength = length
  }
}
