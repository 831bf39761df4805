/// PINGREQ and PINGRESP (§3.12, §3.13): a Fixed Header and nothing else.
public enum Ping {
  public static var encodedSize: Int { 2 }

  public static func encodeRequest(into writer: inout ByteWriter) {
    writer.put(ControlPacketType.pingreq.firstByte)
    writer.put(UInt8(0))
  }

  /// Checks what follows the Fixed Header of a PINGRESP.
  public static func parseResponse(_ body: Span<UInt8>) throws(Malformed) {
    guard body.count == 0 else { throw .trailingBytes }
  }
}
