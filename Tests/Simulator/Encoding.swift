import MQTTWire
import TestSupport

/// Packets a server sends, in each of the forms that mean the same.
enum Encoding {
  static func packet(_ first: UInt8, _ body: [UInt8]) -> [UInt8] {
    var packet = [first]
    var rest = body.count
    repeat {
      packet.append(UInt8(rest % 128) + (rest >= 128 ? 128 : 0))
      rest /= 128
    } while rest > 0
    packet.append(contentsOf: body)
    return packet
  }

  static func string(_ text: [UInt8]) -> [UInt8] { two(text.count) + text }

  static func two(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 0xFF)] }

  static func connack(_ version: ProtocolVersion, sessionPresent: Bool, properties: [UInt8]) -> [UInt8] {
    packet(0x20, [sessionPresent ? 1 : 0, 0] + list(version, properties))
  }

  /// What a server says that does not speak this version, in its own words or in those of 3.1.1.
  static func versionRefused(_ version: ProtocolVersion, _ random: inout SeededRandom) -> [UInt8] {
    version == .v5_0 && random.percent(50) ? packet(0x20, [0, 0x84, 0]) : packet(0x20, [0, 1])
  }

  static func serverUnavailable(_ version: ProtocolVersion) -> [UInt8] {
    version == .v5_0 ? packet(0x20, [0, 0x88, 0]) : packet(0x20, [0, 3])
  }

  /// PUBACK to PUBCOMP: a Reason Code of 0 can be left out, and an empty list of properties.
  static func acknowledgement(
    _ type: ControlPacketType, _ identifier: UInt16, _ code: UInt8, _ version: ProtocolVersion,
    _ random: inout SeededRandom
  ) -> [UInt8] {
    var body = two(Int(identifier))
    if version == .v5_0 {
      let form = random.below(8)
      if code != 0 || form < 3 { body.append(code) }
      if form == 0 { body.append(0) }
      if form == 1 { body.append(contentsOf: list(version, [0x1F] + string(Array("why".utf8)))) }
    }
    return packet(type.firstByte, body)
  }

  /// SUBACK or UNSUBACK that accepts everything.
  static func answer(
    _ type: ControlPacketType, _ identifier: UInt16, count: Int, _ version: ProtocolVersion
  ) -> [UInt8] {
    let codes = type == .unsuback && version != .v5_0 ? [] : [UInt8](repeating: 0, count: count)
    return packet(type.firstByte, two(Int(identifier)) + list(version, []) + codes)
  }

  static func publish(
    _ version: ProtocolVersion, topic: [UInt8], payload: [UInt8], qos: UInt8, identifier: UInt16,
    isDuplicate: Bool, properties: [UInt8]
  ) -> [UInt8] {
    var body = string(topic)
    if qos > 0 { body.append(contentsOf: two(Int(identifier))) }
    body.append(contentsOf: list(version, properties))
    body.append(contentsOf: payload)
    return packet(0x30 | (isDuplicate ? 8 : 0) | qos << 1, body)
  }

  /// Properties with their length; nothing before 5.0.
  private static func list(_ version: ProtocolVersion, _ properties: [UInt8]) -> [UInt8] {
    guard version == .v5_0 else { return [] }
    var length: [UInt8] = []
    var rest = properties.count
    repeat {
      length.append(UInt8(rest % 128) + (rest >= 128 ? 128 : 0))
      rest /= 128
    } while rest > 0
    return length + properties
  }
}
