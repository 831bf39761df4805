public import MQTTWire

// MARK: What a server sends, by the specification alone

/// `code` has its own table in each version.
public func connack(
  _ version: ProtocolVersion, sessionPresent: Bool = false, code: UInt8 = 0, properties: [UInt8] = []
) -> [UInt8] {
  var body: [UInt8] = [sessionPresent ? 1 : 0, code]
  body += list(version, properties)
  return packet(0x20, body)
}

/// A code other than 0 is for 5.0.
public func acknowledgement(_ first: UInt8, _ identifier: UInt16, _ code: UInt8) -> [UInt8] {
  let body = [UInt8(identifier >> 8), UInt8(identifier & 0xFF)] + (code == 0 ? [] : [code])
  return [first, UInt8(body.count)] + body
}

/// With properties, of 5.0.
public func acknowledgement(_ first: UInt8, _ identifier: UInt16, properties: [UInt8]) -> [UInt8] {
  let body = [UInt8(identifier >> 8), UInt8(identifier & 0xFF), 0, UInt8(properties.count)] + properties
  return [first, UInt8(body.count)] + body
}

public func puback(_ identifier: UInt16, _ code: UInt8 = 0) -> [UInt8] {
  acknowledgement(0x40, identifier, code)
}
public func pubrec(_ identifier: UInt16, _ code: UInt8 = 0) -> [UInt8] {
  acknowledgement(0x50, identifier, code)
}
public func pubrel(_ identifier: UInt16, _ code: UInt8 = 0) -> [UInt8] {
  acknowledgement(0x62, identifier, code)
}
public func pubcomp(_ identifier: UInt16, _ code: UInt8 = 0) -> [UInt8] {
  acknowledgement(0x70, identifier, code)
}

public let pingreq: [UInt8] = [0xC0, 0]
public let pingresp: [UInt8] = [0xD0, 0]

public func property(_ identifier: UInt8, _ value: UInt16) -> [UInt8] {
  [identifier, UInt8(value >> 8), UInt8(value & 0xFF)]
}

public func property(_ identifier: UInt8, _ text: String) -> [UInt8] {
  property(identifier, UInt16(text.utf8.count)) + text.bytes
}

public func property(_ identifier: UInt8, number value: UInt32) -> [UInt8] {
  [identifier] + (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
}

public func property(_ identifier: UInt8, bytes: [UInt8]) -> [UInt8] {
  property(identifier, UInt16(bytes.count)) + bytes
}

public func userProperty(_ name: String, _ value: String) -> [UInt8] {
  property(0x26, name) + property(0, value).dropFirst()
}

public func receiveMaximum(_ value: UInt16) -> [UInt8] { property(0x21, value) }
public func serverKeepAlive(_ value: UInt16) -> [UInt8] { property(0x13, value) }
public func maximumQoS(_ value: UInt8) -> [UInt8] { [0x24, value] }
public func retainAvailable(_ value: UInt8) -> [UInt8] { [0x25, value] }
public func maximumPacketSize(_ value: UInt16) -> [UInt8] { property(0x27, number: UInt32(value)) }
public func topicAliasMaximum(_ value: UInt16) -> [UInt8] { property(0x22, value) }
public func topicAlias(_ value: UInt16) -> [UInt8] { property(0x23, value) }
public func messageExpiry(_ value: UInt32) -> [UInt8] { property(0x02, number: value) }
public func responseTopic(_ topic: String) -> [UInt8] { property(0x08, topic) }
public func correlationData(_ bytes: [UInt8]) -> [UInt8] { property(0x09, bytes: bytes) }
public func authenticationMethod(_ name: String) -> [UInt8] { property(0x15, name) }
public func authenticationData(_ bytes: [UInt8]) -> [UInt8] { property(0x16, bytes: bytes) }
public func wildcardAvailable(_ value: UInt8) -> [UInt8] { [0x28, value] }
public func identifiersAvailable(_ value: UInt8) -> [UInt8] { [0x29, value] }
public func sharedAvailable(_ value: UInt8) -> [UInt8] { [0x2A, value] }

/// A packet from its first byte and what follows the Fixed Header.
public func packet(_ first: UInt8, _ body: [UInt8]) -> [UInt8] {
  [first] + variableByteInteger(body.count) + body
}

/// The properties of 5.0, with their length.
public func list(_ version: ProtocolVersion, _ properties: [UInt8]) -> [UInt8] {
  version == .v5_0 ? variableByteInteger(properties.count) + properties : []
}

public func suback(
  _ version: ProtocolVersion, _ identifier: UInt16, _ codes: [UInt8], properties: [UInt8] = []
) -> [UInt8] {
  packet(0x90, twoBytes(identifier) + list(version, properties) + codes)
}

/// Before 5.0 without codes.
public func unsuback(
  _ version: ProtocolVersion, _ identifier: UInt16, _ codes: [UInt8], properties: [UInt8] = []
) -> [UInt8] {
  packet(0xB0, twoBytes(identifier) + list(version, properties) + (version == .v5_0 ? codes : []))
}

public func auth(_ code: UInt8, _ properties: [UInt8]) -> [UInt8] {
  packet(0xF0, [code] + list(.v5_0, properties))
}

public func disconnect(_ code: UInt8, _ properties: [UInt8] = []) -> [UInt8] {
  packet(0xE0, [code] + list(.v5_0, properties))
}

// MARK: What both send

/// PUBLISH (§3.3).
public func publish(
  _ version: ProtocolVersion, _ topic: String = "a", _ payload: [UInt8] = [], qos: QoS,
  identifier: UInt16 = 0, retain: Bool = false, duplicate: Bool = false, properties: [UInt8] = []
) -> [UInt8] {
  publish(
    version, topic.bytes, payload, qos: qos.rawValue, identifier: identifier, retain: retain,
    duplicate: duplicate, properties: properties)
}

public func publish(
  _ version: ProtocolVersion, _ topic: [UInt8], _ payload: [UInt8], qos: UInt8, identifier: UInt16,
  retain: Bool = false, duplicate: Bool = false, properties: [UInt8] = []
) -> [UInt8] {
  let first = 0x30 + (duplicate ? 8 : 0) + qos * 2 + (retain ? 1 : 0)
  return packet(
    first,
    prefixed(topic) + (qos == 0 ? [] : twoBytes(identifier)) + list(version, properties) + payload)
}

/// SUBSCRIBE or UNSUBSCRIBE; for the latter no option is given.
public func request(
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
public func firstPacketSize(_ bytes: ArraySlice<UInt8>) -> Int? {
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
public func packets(_ stream: [UInt8]) -> [[UInt8]] {
  var packets: [[UInt8]] = []
  var rest = stream[...]
  while !rest.isEmpty {
    let size = firstPacketSize(rest) ?? rest.count
    packets.append(Array(rest.prefix(size)))
    rest = rest.dropFirst(size)
  }
  return packets
}

/// What stands in a PUBLISH of a client.
public struct ReadPublish: Equatable {
  public var topic: String
  public var identifier: UInt16
  public var properties: [UInt8]
  public var payload: [UInt8]
  public var duplicate: Bool
  public var qos: UInt8

  public init(_ packet: [UInt8], _ version: ProtocolVersion) {
    guard let decoded = try? Model.Packet.decode(packet, version, from: .client),
      case .publish(let publish) = decoded.packet
    else { fatalError("no PUBLISH: \(packet)") }
    topic = String(decoding: publish.topic, as: UTF8.self)
    identifier = publish.identifier ?? 0
    properties = Model.list(publish.properties)
    payload = publish.payload
    duplicate = publish.duplicate
    qos = publish.qos
  }
}
