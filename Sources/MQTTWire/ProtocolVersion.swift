import Storage

/// The Protocol Version byte of CONNECT (§3.1.2.2).
public enum ProtocolVersion: UInt8, BitwiseCopyable {
  // The underscores stand for the points of the version.
  // swift-format-ignore: AlwaysUseLowerCamelCase
  case v3_1 = 3
  // swift-format-ignore: AlwaysUseLowerCamelCase
  case v3_1_1 = 4
  // swift-format-ignore: AlwaysUseLowerCamelCase
  case v5_0 = 5

  /// Whether packets have properties, and Reason Codes beyond those of CONNACK, which came with 5.0.
  @inline(__always)
  public var hasProperties: Bool { self == .v5_0 }

  @inline(__always)
  public var isV31: Bool { Feature.hasMQTT31 && self == .v3_1 }

  /// The Protocol Name (§3.1.2.1; 3.1 calls itself MQIsdp).
  public var name: StaticString { isV31 ? "MQIsdp" : "MQTT" }
}
