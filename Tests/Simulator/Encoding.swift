import MQTTWire
import TestSupport

/// Packets a server sends, in each of the forms that mean the same.
enum Encoding {
  /// What a server says that does not speak this version, in its own words or in those of 3.1.1.
  static func versionRefused(_ version: ProtocolVersion, _ random: inout SeededRandom) -> [UInt8] {
    version == .v5_0 && random.percent(50) ? connack(version, code: 0x84) : connack(.v3_1_1, code: 1)
  }

  static func serverUnavailable(_ version: ProtocolVersion) -> [UInt8] {
    connack(version, code: version == .v5_0 ? 0x88 : 3)
  }

  /// PUBACK to PUBCOMP: a Reason Code of 0 can be left out, and an empty list of properties.
  static func acknowledgement(
    _ type: ControlPacketType, _ identifier: UInt16, _ code: UInt8, _ version: ProtocolVersion,
    _ random: inout SeededRandom
  ) -> [UInt8] {
    var form = Form()
    var properties: [Model.Property] = []
    if version == .v5_0 {
      let number = random.below(8)
      form.writesReasonCode = number < 3
      form.writesPropertyLength = number == 0
      if number == 1 { properties = [Model.Property(identifier: 0x1F, value: .bytes("why".bytes))] }
    }
    return Model.Packet.acknowledgement(type, identifier: identifier, code: code, properties: properties)
      .bytes(version, form)
  }

  /// SUBACK or UNSUBACK that accepts everything.
  static func answer(
    _ type: ControlPacketType, _ identifier: UInt16, count: Int, _ version: ProtocolVersion
  ) -> [UInt8] {
    let codes = [UInt8](repeating: 0, count: count)
    return type == .suback ? suback(version, identifier, codes) : unsuback(version, identifier, codes)
  }
}
