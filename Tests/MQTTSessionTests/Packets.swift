import MQTTSession
import MQTTWire

// Plain enumerations: they may stand in tables of tests. (Inside their module they need not say so.)
extension ProtocolVersion: @unchecked Sendable {}
extension ControlPacketType: @unchecked Sendable {}
extension QoS: @unchecked Sendable {}
extension Outcome: @unchecked Sendable {}
extension Ending.Cause: @unchecked Sendable {}

let bothVersions: [ProtocolVersion] = [.v3_1_1, .v5_0]
let allQoS: [QoS] = [.atMostOnce, .atLeastOnce, .exactlyOnce]

extension Ending.Cause: Equatable {
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
  if version == .v5_0 { body += [UInt8(properties.count)] + properties }
  return [0x20, UInt8(body.count)] + body
}

/// A code other than 0 is for 5.0.
func acknowledgement(_ first: UInt8, _ identifier: UInt16, _ code: UInt8) -> [UInt8] {
  let body = [UInt8(identifier >> 8), UInt8(identifier & 0xFF)] + (code == 0 ? [] : [code])
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

func receiveMaximum(_ value: UInt16) -> [UInt8] { property(0x21, value) }
func serverKeepAlive(_ value: UInt16) -> [UInt8] { property(0x13, value) }
func maximumQoS(_ value: UInt8) -> [UInt8] { [0x24, value] }
func retainAvailable(_ value: UInt8) -> [UInt8] { [0x25, value] }
func maximumPacketSize(_ value: UInt16) -> [UInt8] { [0x27, 0, 0] + property(0, value).dropFirst() }

// MARK: What a client sends

/// PUBLISH (§3.3), by the book.
func publish(
  _ version: ProtocolVersion, _ topic: String = "a", _ payload: [UInt8] = [], qos: QoS,
  identifier: UInt16 = 0, retain: Bool = false, duplicate: Bool = false
) -> [UInt8] {
  var body = [UInt8(topic.utf8.count >> 8), UInt8(topic.utf8.count & 0xFF)] + topic.bytes
  if qos != .atMostOnce { body += [UInt8(identifier >> 8), UInt8(identifier & 0xFF)] }
  if version == .v5_0 { body += [0] }
  body += payload
  var length: [UInt8] = []
  var rest = body.count
  repeat {
    length.append(UInt8(rest % 128) + (rest >= 128 ? 128 : 0))
    rest /= 128
  } while rest > 0
  return [0x30 + (duplicate ? 8 : 0) + qos.rawValue * 2 + (retain ? 1 : 0)] + length + body
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

// MARK: Chance

/// SplitMix64: the same numbers every time.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  /// 0 to `bound` - 1.
  mutating func below(_ bound: Int) -> Int { Int(truncatingIfNeeded: next() >> 33) % bound }

  mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

  mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) } }
}
