import MQTTSession
import MQTTWire

// Plain enumerations: they may stand in tables of tests. (Inside their module they need not say so.)
extension ProtocolVersion: @unchecked Sendable {}
extension ControlPacketType: @unchecked Sendable {}
extension QoS: @unchecked Sendable {}
extension DeliveryResult: @unchecked Sendable {}
extension CloseReason.Cause: @unchecked Sendable {}
extension SubscriptionOptions: @unchecked Sendable {}

let bothVersions: [ProtocolVersion] = [.v3_1_1, .v5_0]
let allQoS: [QoS] = [.atMostOnce, .atLeastOnce, .exactlyOnce]

extension CloseReason.Cause: Equatable {
  public static func == (one: Self, other: Self) -> Bool {
    switch (one, other) {
    case (.malformed(let one), .malformed(let other)): one == other
    default: "\(one)" == "\(other)"
    }
  }
}

extension String {
  var bytes: [UInt8] { Array(utf8) }
}

/// Bytes written as `30 02 61*5`: two hexadecimal digits each, `*5` for five times the same.
func hex(_ text: String) -> [UInt8] {
  text.split(separator: " ").flatMap { token -> [UInt8] in
    let parts = token.split(separator: "*")
    guard parts[0].utf8.count == 2, let byte = UInt8(parts[0], radix: 16) else {
      fatalError("not hex: \(text)")
    }
    return [UInt8](repeating: byte, count: parts.count == 2 ? Int(parts[1])! : 1)
  }
}

// MARK: What a server sends, written down without the library's help

/// `code` has its own table in each version.
func connack(
  _ version: ProtocolVersion, sessionPresent: Bool = false, code: UInt8 = 0, properties: [UInt8] = []
) -> [UInt8] {
  var body: [UInt8] = [sessionPresent ? 1 : 0, code]
  body += list(version, properties)
  return packet(0x20, body)
}

/// A code other than 0 is for 5.0.
func acknowledgement(_ first: UInt8, _ identifier: UInt16, _ code: UInt8) -> [UInt8] {
  let body = [UInt8(identifier >> 8), UInt8(identifier & 0xFF)] + (code == 0 ? [] : [code])
  return [first, UInt8(body.count)] + body
}

/// With properties, of 5.0.
func acknowledgement(_ first: UInt8, _ identifier: UInt16, properties: [UInt8]) -> [UInt8] {
  let body = [UInt8(identifier >> 8), UInt8(identifier & 0xFF), 0, UInt8(properties.count)] + properties
  return [first, UInt8(body.count)] + body
}

func puback(_ identifier: UInt16, _ code: UInt8 = 0) -> [UInt8] { acknowledgement(0x40, identifier, code) }
func pubrec(_ identifier: UInt16, _ code: UInt8 = 0) -> [UInt8] { acknowledgement(0x50, identifier, code) }
func pubrel(_ identifier: UInt16, _ code: UInt8 = 0) -> [UInt8] { acknowledgement(0x62, identifier, code) }
func pubcomp(_ identifier: UInt16, _ code: UInt8 = 0) -> [UInt8] { acknowledgement(0x70, identifier, code) }

let pingreq: [UInt8] = [0xC0, 0]
let pingresp: [UInt8] = [0xD0, 0]

func property(_ identifier: UInt8, _ value: UInt16) -> [UInt8] {
  [identifier, UInt8(value >> 8), UInt8(value & 0xFF)]
}

func property(_ identifier: UInt8, _ text: String) -> [UInt8] {
  property(identifier, UInt16(text.utf8.count)) + text.bytes
}

func property(_ identifier: UInt8, number value: UInt32) -> [UInt8] {
  [identifier] + (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
}

func property(_ identifier: UInt8, bytes: [UInt8]) -> [UInt8] {
  property(identifier, UInt16(bytes.count)) + bytes
}

func userProperty(_ name: String, _ value: String) -> [UInt8] {
  property(0x26, name) + property(0, value).dropFirst()
}

func receiveMaximum(_ value: UInt16) -> [UInt8] { property(0x21, value) }
func serverKeepAlive(_ value: UInt16) -> [UInt8] { property(0x13, value) }
func maximumQoS(_ value: UInt8) -> [UInt8] { [0x24, value] }
func retainAvailable(_ value: UInt8) -> [UInt8] { [0x25, value] }
func maximumPacketSize(_ value: UInt16) -> [UInt8] { property(0x27, number: UInt32(value)) }
func topicAliasMaximum(_ value: UInt16) -> [UInt8] { property(0x22, value) }
func topicAlias(_ value: UInt16) -> [UInt8] { property(0x23, value) }
func messageExpiry(_ value: UInt32) -> [UInt8] { property(0x02, number: value) }
func responseTopic(_ topic: String) -> [UInt8] { property(0x08, topic) }
func correlationData(_ bytes: [UInt8]) -> [UInt8] { property(0x09, bytes: bytes) }
func authenticationMethod(_ name: String) -> [UInt8] { property(0x15, name) }
func authenticationData(_ bytes: [UInt8]) -> [UInt8] { property(0x16, bytes: bytes) }
func wildcardAvailable(_ value: UInt8) -> [UInt8] { [0x28, value] }
func identifiersAvailable(_ value: UInt8) -> [UInt8] { [0x29, value] }
func sharedAvailable(_ value: UInt8) -> [UInt8] { [0x2A, value] }

func variableByteInteger(_ value: Int) -> [UInt8] {
  value < 128 ? [UInt8(value)] : [UInt8(value % 128 + 128)] + variableByteInteger(value / 128)
}

func twoBytes(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 0xFF)] }

/// A packet from its first byte and what follows the Fixed Header.
func packet(_ first: UInt8, _ body: [UInt8]) -> [UInt8] { [first] + variableByteInteger(body.count) + body }

/// The properties of 5.0, with their length.
func list(_ version: ProtocolVersion, _ properties: [UInt8]) -> [UInt8] {
  version == .v5_0 ? variableByteInteger(properties.count) + properties : []
}

func suback(
  _ version: ProtocolVersion, _ identifier: UInt16, _ codes: [UInt8], properties: [UInt8] = []
) -> [UInt8] {
  packet(0x90, twoBytes(identifier) + list(version, properties) + codes)
}

/// Before 5.0 without codes.
func unsuback(
  _ version: ProtocolVersion, _ identifier: UInt16, _ codes: [UInt8], properties: [UInt8] = []
) -> [UInt8] {
  packet(0xB0, twoBytes(identifier) + list(version, properties) + (version == .v5_0 ? codes : []))
}

func auth(_ code: UInt8, _ properties: [UInt8]) -> [UInt8] {
  packet(0xF0, [code] + list(.v5_0, properties))
}

func disconnect(_ code: UInt8, _ properties: [UInt8] = []) -> [UInt8] {
  packet(0xE0, [code] + list(.v5_0, properties))
}

// MARK: What both send

/// PUBLISH (§3.3), by the book.
func publish(
  _ version: ProtocolVersion, _ topic: String = "a", _ payload: [UInt8] = [], qos: QoS,
  identifier: UInt16 = 0, retain: Bool = false, duplicate: Bool = false, properties: [UInt8] = []
) -> [UInt8] {
  let first = 0x30 + (duplicate ? 8 : 0) + qos.rawValue * 2 + (retain ? 1 : 0)
  return packet(
    first,
    twoBytes(UInt16(topic.utf8.count)) + topic.bytes + (qos == .atMostOnce ? [] : twoBytes(identifier))
      + list(version, properties) + payload)
}

/// SUBSCRIBE or UNSUBSCRIBE; for the latter no option is given.
func request(
  _ version: ProtocolVersion, _ first: UInt8, _ identifier: UInt16, _ filters: [(String, UInt8?)],
  properties: [UInt8] = []
) -> [UInt8] {
  packet(
    first,
    twoBytes(identifier) + list(version, properties)
      + filters.flatMap { filter, option in
        twoBytes(UInt16(filter.utf8.count)) + filter.bytes + (option.map { [$0] } ?? [])
      })
}

/// The size of the first packet in `bytes`, if its header is there and the whole of it.
func firstPacketSize(_ bytes: ArraySlice<UInt8>) -> Int? {
  var length = 0
  var factor = 1
  var index = bytes.startIndex + 1
  while index < bytes.endIndex {
    length += Int(bytes[index] & 127) * factor
    factor *= 128
    index += 1
    if bytes[index - 1] < 128 {
      let size = index - bytes.startIndex + length
      return size <= bytes.count ? size : nil
    }
  }
  return nil
}

/// Cuts a stream into packets; what is left at the end comes as a packet of its own.
func packets(_ stream: [UInt8]) -> [[UInt8]] {
  var packets: [[UInt8]] = []
  var rest = stream[...]
  while !rest.isEmpty {
    let size = firstPacketSize(rest) ?? rest.count
    packets.append(Array(rest.prefix(size)))
    rest = rest.dropFirst(size)
  }
  return packets
}

/// What stands in a PUBLISH, read by the book.
struct ReadPublish: Equatable {
  var topic = ""
  var identifier: UInt16 = 0
  var properties: [UInt8] = []
  var payload: [UInt8] = []
  var duplicate = false
  var qos: UInt8 = 0

  init(_ packet: [UInt8], _ version: ProtocolVersion) {
    func number(at index: Int) -> (value: Int, next: Int) {
      let byte = Int(packet[index])
      if byte < 128 { return (byte, index + 1) }
      let rest = number(at: index + 1)
      return (byte - 128 + 128 * rest.value, rest.next)
    }
    qos = packet[0] >> 1 & 3
    duplicate = packet[0] & 8 != 0
    var position = number(at: 1).next
    let size = Int(packet[position]) << 8 | Int(packet[position + 1])
    topic = String(decoding: packet[position + 2..<position + 2 + size], as: UTF8.self)
    position += 2 + size
    if qos > 0 {
      identifier = UInt16(packet[position]) << 8 | UInt16(packet[position + 1])
      position += 2
    }
    if version == .v5_0 {
      let length = number(at: position)
      properties = Array(packet[length.next..<length.next + length.value])
      position = length.next + length.value
    }
    payload = Array(packet[position...])
  }
}
