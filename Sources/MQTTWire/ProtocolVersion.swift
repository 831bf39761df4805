/// The Protocol Version byte of CONNECT (§3.1.2.2).
public enum ProtocolVersion: UInt8, BitwiseCopyable {
  case v3_1_1 = 4
  case v5_0 = 5

  /// Properties, and Reason Codes beyond CONNACK's, came with 5.0.
  @inline(__always)
  public var hasProperties: Bool { self == .v5_0 }
}
