import MQTTWire
import TestSupport

/// Packets of every kind by chance, the borders of each field more often than chance has them. The same seed
/// makes the same packet.
struct PacketGenerator {
  private var random: SeededRandom

  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  mutating func packet(_ kind: Kind) -> Model.Packet {
    let list = kind.version == .v5_0 ? properties(in: kind.place) : []
    switch kind.type {
    case .connect: return .connect(connect(kind.version, list))
    case .connack:
      let code = oneIn(2) ? 0 : pick(kind.codes)
      let sessionPresent = kind.version != .v3_1 && code == 0 && oneIn(2)
      return .connack(sessionPresent: sessionPresent, code: code, properties: list)
    case .publish: return .publish(publish(kind, list))
    case .puback, .pubrec, .pubrel, .pubcomp:
      return .acknowledgement(
        kind.type, identifier: packetIdentifier(), code: kind.codes.isEmpty ? 0 : pick(kind.codes),
        properties: list)
    case .subscribe:
      return .subscribe(
        identifier: packetIdentifier(), properties: list,
        subscriptions: (0..<count()).map { _ in subscription(kind.version) })
    case .unsubscribe:
      return .unsubscribe(
        identifier: packetIdentifier(), properties: list, filters: (0..<count()).map { _ in topicFilter() })
    case .suback, .unsuback:
      let codes = kind.codes.isEmpty ? [] : (0..<count()).map { _ in pick(kind.codes) }
      return .answer(kind.type, identifier: packetIdentifier(), properties: list, codes: codes)
    case .pingreq, .pingresp: return .ping(kind.type)
    case .disconnect:
      return .disconnect(code: kind.codes.isEmpty ? 0 : pick(kind.codes), properties: list)
    case .auth:
      // All of it or nothing (§3.15.2.1), and all of it has an Authentication Method (§3.15.2.2.2).
      if kind.sender == .server && oneIn(8) { return .auth(code: 0, properties: []) }
      let hasMethod = list.contains { $0.identifier == 0x15 }
      let method = hasMethod ? [] : [Model.Property(identifier: 0x15, value: .bytes(string()))]
      return .auth(code: pick(kind.codes), properties: method + list)
    }
  }

  mutating func form(_ kind: Kind) -> Form {
    var form = Form()
    form.writesReasonCode = oneIn(2)
    form.writesPropertyLength = oneIn(3)
    if kind.version == .v3_1 && kind.sender == .server {
      form.unusedFlags = UInt8(below(16))
      form.reservedByte = UInt8(below(256))
    }
    if kind.version != .v5_0 && oneIn(8) { form.lengthSize = 1 + below(4) }
    return form
  }

  // MARK: Packets with more to them

  private mutating func connect(_ version: ProtocolVersion, _ properties: [Model.Property]) -> Model.Connect {
    // 3.1 §3.1: 1 to 23 characters. 3.1.1: of none only with Clean Session [MQTT-3.1.3-7].
    let clientIdentifier =
      version == .v3_1 ? [UInt8](repeating: 0x63, count: 1 + below(23)) : string()
    var will: Model.Will?
    if oneIn(2) {
      will = Model.Will(
        qos: UInt8(below(3)), retain: oneIn(2),
        properties: version == .v5_0 ? self.properties(in: Place(packet: nil, sender: .client)) : [],
        topic: topicName(), payload: bytes(size()))
    }
    let userName = oneIn(2) ? string() : nil
    // Before 5.0 not without a User Name (3.1.1 [MQTT-3.1.2-22]).
    let password = oneIn(2) && (userName != nil || version == .v5_0) ? bytes(size()) : nil
    // Authentication Data not without its method (§3.1.2.11.10).
    let hasMethod = properties.contains { $0.identifier == 0x15 }
    return Model.Connect(
      cleanStart: oneIn(2) || (clientIdentifier.isEmpty && version == .v3_1_1),
      keepAlive: UInt16(number(0...65_535)),
      properties: hasMethod ? properties : properties.filter { $0.identifier != 0x16 },
      clientIdentifier: clientIdentifier, will: will, userName: userName, password: password)
  }

  private mutating func publish(_ kind: Kind, _ properties: [Model.Property]) -> Model.Publish {
    let qos = UInt8(below(3))
    let hasAlias = properties.contains { $0.identifier == 0x23 }
    var publish = Model.Publish(
      duplicate: qos > 0 && oneIn(3), qos: qos, retain: oneIn(3),
      topic: hasAlias && oneIn(2) ? [] : topicName(), identifier: qos > 0 ? packetIdentifier() : nil,
      properties: properties, payload: bytes(size()))
    // Where the Remaining Length grows.
    if oneIn(16) {
      publish.payload = []
      let rest = Model.Packet.publish(publish).bytes(kind.version).count - 2
      let length = oneIn(16) ? pick([16_383, 16_384]) : pick([127, 128])
      publish.payload = bytes(max(0, length - rest))
    }
    return publish
  }

  private mutating func subscription(_ version: ProtocolVersion) -> Model.Subscription {
    let filter = topicFilter()
    guard version == .v5_0 else { return Model.Subscription(filter: filter, qos: UInt8(below(3))) }
    // No Local not on a Shared Subscription [MQTT-3.8.3-4].
    return Model.Subscription(
      filter: filter, qos: UInt8(below(3)), noLocal: oneIn(2) && !filter.starts(with: "$share/".bytes),
      retainAsPublished: oneIn(2), retainHandling: UInt8(below(3)))
  }

  // MARK: Properties

  /// None, some or all that may be there, in any order; what may repeat, repeats.
  private mutating func properties(in place: Place) -> [Model.Property] {
    if oneIn(4) { return [] }
    let isWhole = oneIn(4)
    var list: [Model.Property] = []
    for row in place.rows {
      guard let row, isWhole || oneIn(3) else { continue }
      for _ in 0..<(place.mayRepeat(row.identifier) ? 1 + below(3) : 1) { list.append(property(row)) }
    }
    for index in list.indices { list.swapAt(index, below(list.count)) }
    return list
  }

  private mutating func property(_ row: PropertyRow) -> Model.Property {
    let value: Model.Property.Value =
      switch row.type {
      case .byte: .number(number(row.limits, atMost: 255))
      case .twoByteInteger: .number(number(row.limits, atMost: 65_535))
      case .fourByteInteger, .variableByteInteger: .number(number(row.limits))
      case .string: .bytes(row.identifier == 0x08 ? topicName() : string())
      case .binaryData: .bytes(bytes(size()))
      // The same name now and then.
      case .stringPair: .pair(oneIn(3) ? "name".bytes : string(), string())
      }
    return Model.Property(identifier: row.identifier, value: value)
  }

  // MARK: Values

  /// Where the specification's types begin, end, or take a byte more.
  static let numbers: [UInt32] = [
    0, 1, 2, 127, 128, 255, 256, 16_383, 16_384, 32_767, 32_768, 65_535, 65_536, 2_097_151, 2_097_152,
    268_435_455, 0x7FFF_FFFF, 0x8000_0000, .max,
  ]

  private mutating func number(_ limits: ClosedRange<UInt32>, atMost: UInt32 = .max) -> UInt32 {
    let limits = limits.lowerBound...min(limits.upperBound, atMost)
    let number = oneIn(4) ? UInt32(truncatingIfNeeded: random.next()) : pick(Self.numbers)
    if limits.contains(number) { return number }
    return oneIn(2) ? limits.lowerBound : limits.upperBound
  }

  private mutating func packetIdentifier() -> UInt16 { UInt16(number(1...65_535)) }

  /// How many Topic Filters or Reason Codes.
  private mutating func count() -> Int { oneIn(60) ? 120 + below(10) : 1 + below(4) }

  /// Of a string or Binary Data. (The largest are as seldom as they are slow.)
  private mutating func size() -> Int {
    if oneIn(30) { return pick([127, 128, 255, 256]) }
    if oneIn(2_000) { return pick([16_383, 16_384, 65_535]) }
    return oneIn(4) ? 0 : below(10)
  }

  private mutating func bytes(_ count: Int) -> [UInt8] {
    if count > 16 { return [UInt8](repeating: UInt8(below(256)), count: count) }
    return random.bytes(count)
  }

  /// Characters of one to four bytes, at the borders of Table 3-7 of the Unicode Standard and beside the
  /// surrogates; U+FEFF, which stays [MQTT-1.5.4-3]; control and non-characters, which are allowed (§1.5.4).
  static let characters = [
    0x1, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFDD0, 0xFEFF, 0xFFFE, 0xFFFF, 0x1_0000, 0x1_FFFF,
    0x10_FFFF,
  ].map { String(Unicode.Scalar($0)!).bytes }

  private mutating func string(atLeast minimum: Int = 0, from letters: [UInt8] = "aZ09 /$+#".bytes) -> [UInt8]
  {
    let size = max(minimum, size())
    var string: [UInt8] = []
    // In long strings characters stand in front only.
    while string.count < min(size, 20) {
      let character = oneIn(4) ? pick(Self.characters) : [pick(letters)]
      if string.count + character.count <= size { string += character }
    }
    return string + [UInt8](repeating: pick(letters), count: size - string.count)
  }

  private mutating func topicName() -> [UInt8] { string(atLeast: 1, from: "aZ09 /$".bytes) }

  private mutating func topicFilter() -> [UInt8] {
    if oneIn(4) { return pick(["#", "+", "/", "a/+/b", "a/#", "$share/g/a/#", "$SYS/#"]).bytes }
    return topicName()
  }

  // MARK: Chance

  private mutating func below(_ bound: Int) -> Int { Int(random.next() % UInt64(bound)) }

  private mutating func oneIn(_ number: Int) -> Bool { below(number) == 0 }

  private mutating func pick<Element>(_ array: [Element]) -> Element { array[below(array.count)] }

  private mutating func pick(_ codes: Set<UInt8>) -> UInt8 { pick(codes.sorted()) }
}
