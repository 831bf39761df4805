/// As MQTT has numbers and texts.
extension ByteCursor {
  /// A Variable Byte Integer (§1.5.5).
  mutating func variable() -> Int? {
    var value = 0
    var copy = self
    for shift in stride(from: 0, to: 28, by: 7) {
      guard let byte = copy.byte() else { return nil }
      value |= Int(byte & 0x7F) << shift
      if byte < 0x80 {
        self = copy
        return value
      }
    }
    return nil
  }

  /// A UTF-8 Encoded String, or Binary Data (§1.5.4, §1.5.6).
  mutating func string() -> [UInt8]? {
    var copy = self
    guard let count = copy.big16(), let value = copy.bytes(Int(count)) else { return nil }
    self = copy
    return value
  }
}

/// As protobuf has numbers.
extension ByteCursor {
  mutating func varint() -> UInt64? {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 64, by: 7) {
      guard let byte = byte() else { return nil }
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
    }
    return nil
  }
}
