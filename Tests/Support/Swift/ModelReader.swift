import MQTTWire

/// A rule of the specification that bytes break.
public struct BrokenRule: Error {
  public let rule: String

  init(_ rule: String) { self.rule = rule }
}

/// What follows the Fixed Header, front to back, by the specification alone: the types of §1.5, and what several
/// packets have.
struct ModelReader {
  let bytes: [UInt8]
  private(set) var position: Int
  let end: Int

  init(_ bytes: [UInt8], _ range: Range<Int>) {
    self.bytes = bytes
    position = range.lowerBound
    end = range.upperBound
  }

  var isAtEnd: Bool { position == end }

  private mutating func take(_ count: Int) throws(BrokenRule) -> ArraySlice<UInt8> {
    guard position + count <= end else { throw BrokenRule("the packet ends in the middle of a field") }
    defer { position += count }
    return bytes[position..<position + count]
  }

  mutating func rest() -> [UInt8] {
    defer { position = end }
    return Array(bytes[position..<end])
  }

  mutating func byte() throws(BrokenRule) -> UInt8 { try take(1).first! }

  mutating func twoByteInteger() throws(BrokenRule) -> UInt16 {
    let high = try byte()
    return UInt16(high) * 256 + UInt16(try byte())
  }

  mutating func variableByteInteger() throws(BrokenRule) -> Int {
    var value = 0
    var multiplier = 1
    for size in 1...4 {
      let byte = try byte()
      value += Int(byte % 128) * multiplier
      multiplier *= 128
      if byte < 128 {
        guard size == 1 || byte != 0 else { throw BrokenRule("[MQTT-1.5.5-1]") }
        return value
      }
    }
    throw BrokenRule("§1.5.5: four bytes at most")
  }

  mutating func binaryData() throws(BrokenRule) -> [UInt8] {
    Array(try take(Int(try twoByteInteger())))
  }

  /// [MQTT-1.5.4-1] [MQTT-1.5.4-2], by Swift's own decoder.
  mutating func string() throws(BrokenRule) -> [UInt8] {
    let bytes = try binaryData()
    guard (try? UTF8Span(validating: bytes.span)) != nil, !bytes.contains(0) else {
      throw BrokenRule("§1.5.4")
    }
    return bytes
  }

  // MARK: What several packets have

  /// §2.2.2, and each property's section.
  mutating func properties(_ place: Place) throws(BrokenRule) -> [Model.Property] {
    let length = try variableByteInteger()
    guard position + length <= end else { throw BrokenRule("§2.2.2.1: Property Length") }
    var list = ModelReader(bytes, position..<position + length)
    position = list.end
    let rows = place.rows
    var properties: [Model.Property] = []
    while !list.isAtEnd {
      let number = try list.variableByteInteger()
      guard number < rows.count, let row = rows[number] else { throw BrokenRule("Table 2-4") }
      let identifier = row.identifier
      guard place.mayRepeat(identifier) || !properties.contains(where: { $0.identifier == identifier }) else {
        throw BrokenRule("§2.2.2.2: more than once")
      }
      let value = try list.value(row)
      // "… used as the Topic Name for a response message" (§3.3.2.3.5, §3.1.3.2.5).
      if identifier == 0x08, case .bytes(let topic) = value { try checkTopicName(topic) }
      properties.append(Model.Property(identifier: identifier, value: value))
    }
    return properties
  }

  private mutating func value(_ row: PropertyRow) throws(BrokenRule) -> Model.Property.Value {
    let number: Int
    switch row.type {
    case .string: return .bytes(try string())
    case .binaryData: return .bytes(try binaryData())
    case .stringPair: return .pair(try string(), try string())
    case .byte: number = Int(try byte())
    case .twoByteInteger: number = Int(try twoByteInteger())
    case .fourByteInteger: number = Int(try twoByteInteger()) * 65_536 + Int(try twoByteInteger())
    case .variableByteInteger: number = try variableByteInteger()
    }
    guard row.limits.contains(UInt32(number)) else { throw BrokenRule("a value out of range") }
    return .number(UInt32(number))
  }

  /// [MQTT-4.7.3-1] [MQTT-3.3.2-2] [MQTT-3.3.2-14].
  func checkTopicName(_ name: [UInt8]) throws(BrokenRule) {
    guard !name.isEmpty, !name.contains(UInt8(ascii: "+")), !name.contains(UInt8(ascii: "#")) else {
      throw BrokenRule("§4.7: Topic Name")
    }
  }

  mutating func packetIdentifier() throws(BrokenRule) -> UInt16 {
    let identifier = try twoByteInteger()
    guard identifier != 0 else { throw BrokenRule("[MQTT-2.2.1-3]") }
    return identifier
  }
}

extension Model {
  /// A list of properties, without its length in front.
  public static func properties(_ list: [UInt8], in place: Place) throws(BrokenRule) -> [Property] {
    let bytes = variableByteInteger(list.count) + list
    var reader = ModelReader(bytes, 0..<bytes.count)
    return try reader.properties(place)
  }
}
