import CSwiftMQTT

/// Reads the fields of a packet that an observer was told (MQTT 5.0, section 1.5). Of a packet that is not there as a
/// whole the fields behind the end are empty, and `isCut` says so.
struct PacketReader {
  private let data: [UInt8]
  private(set) var position = 0
  private(set) var isCut = false

  init(_ data: [UInt8]) { self.data = data }

  var hasMore: Bool { position < data.count && !isCut }

  mutating func byte() -> Int {
    guard position < data.count else {
      isCut = true
      return 0
    }
    position += 1
    return Int(data[position - 1])
  }

  mutating func integer() -> Int { byte() << 8 | byte() }

  /// A Variable Byte Integer, of at most four bytes.
  mutating func variable() -> Int {
    var value = 0
    for place in 0..<4 {
      let next = byte()
      value |= (next & 127) << (7 * place)
      if next < 128 { return value }
    }
    isCut = true
    return 0
  }

  mutating func bytes(_ count: Int) -> [UInt8] {
    guard count <= data.count - position else {
      isCut = true
      position = data.count
      return []
    }
    position += count
    return Array(data[position - count..<position])
  }

  /// A string or Binary Data.
  mutating func text() -> [UInt8] { bytes(integer()) }

  mutating func properties() -> [MQTT.Property] { MQTT.properties(bytes(variable())) }
}
