/// How deep values may be nested.
private let deepest = 64

/// Reads a value of CBOR (RFC 8949), of which all payload consists; `nil`: it does not.
func cbor(_ payload: [UInt8]) -> Value? {
  var reader = CBORReader(ByteCursor(payload))
  guard let value = reader.value(deepest), reader.cursor.isAtEnd else { return nil }
  return value
}

private struct CBORReader {
  var cursor: ByteCursor

  init(_ cursor: ByteCursor) { self.cursor = cursor }

  mutating func value(_ depth: Int) -> Value? {
    guard depth > 0, let first = cursor.byte() else { return nil }
    let (major, additional) = (first >> 5, first & 31)
    if additional == 31 { return endless(major, depth) }
    guard let argument = argument(additional) else { return nil }
    switch major {
    case 0: return .unsigned(argument)
    case 1: return .negative(argument)
    case 2: return bytes(argument).map { .bytes($0) }
    case 3: return bytes(argument).map { .text($0) }
    case 4: return array(argument, depth)
    case 5: return map(argument, depth)
    case 6: return value(depth - 1).map { .tagged(argument, $0) }
    default: return simple(additional, argument)
    }
  }

  private mutating func argument(_ additional: UInt8) -> UInt64? {
    switch additional {
    case 0..<24: UInt64(additional)
    case 24...27: cursor.bytes(1 << Int(additional - 24))?.reduce(0) { $0 << 8 | UInt64($1) }
    default: nil
    }
  }

  private mutating func bytes(_ count: UInt64) -> [UInt8]? {
    Int(exactly: count).flatMap { cursor.bytes($0) }
  }

  // Each element takes a byte at least, so the loops end with the payload.

  private mutating func array(_ count: UInt64, _ depth: Int) -> Value? {
    var list: [Value] = []
    for _ in 0..<count {
      guard let value = value(depth - 1) else { return nil }
      list.append(value)
    }
    return .array(list)
  }

  private mutating func map(_ count: UInt64, _ depth: Int) -> Value? {
    var pairs: [(key: Value, value: Value)] = []
    for _ in 0..<count {
      guard let key = value(depth - 1), let value = value(depth - 1) else { return nil }
      pairs.append((key, value))
    }
    return .map(pairs)
  }

  /// Items of indefinite length, up to the "break" (section 3.2).
  private mutating func endless(_ major: UInt8, _ depth: Int) -> Value? {
    var items: [Value] = []
    while let next = cursor.peek {
      if next == 0xFF {
        _ = cursor.byte()
        return joined(items, major)
      }
      guard let item = value(depth - 1) else { return nil }
      items.append(item)
    }
    return nil
  }

  private func joined(_ items: [Value], _ major: UInt8) -> Value? {
    var bytes: [UInt8] = []
    switch major {
    case 2, 3:
      for item in items {
        switch item {
        case .bytes(let part) where major == 2: bytes += part
        case .text(let part) where major == 3: bytes += part
        default: return nil
        }
      }
      return major == 2 ? .bytes(bytes) : .text(bytes)
    case 4: return .array(items)
    case 5:
      guard items.count % 2 == 0 else { return nil }
      return .map(stride(from: 0, to: items.count, by: 2).map { (items[$0], items[$0 + 1]) })
    default: return nil
    }
  }

  private func simple(_ additional: UInt8, _ argument: UInt64) -> Value? {
    switch additional {
    case 20: .bool(false)
    case 21: .bool(true)
    case 22: .null
    case 23: .undefined
    case 24: argument < 32 ? nil : .simple(UInt8(argument))
    case 25: .double(half(UInt16(argument)))
    case 26: .double(Double(Float(bitPattern: UInt32(argument))))
    case 27: .double(Double(bitPattern: argument))
    default: .simple(additional)
    }
  }

  /// A number of 16 bits (IEEE 754): its exponent has 5 bits, and counts from -14.
  private func half(_ bits: UInt16) -> Double {
    let sign: UInt64 = UInt64(bits >> 15) << 63
    let fraction = UInt64(bits & 0x3FF)
    switch bits >> 10 & 31 {
    case 0: return Double(bitPattern: sign | (Double(fraction) * 0x1p-24).bitPattern)
    case 31: return Double(bitPattern: sign | 0x7FF0_0000_0000_0000 | fraction << 42)
    case let exponent: return Double(bitPattern: sign | UInt64(exponent + 1008) << 52 | fraction << 42)
    }
  }
}

/// Reads a value of MessagePack, of which all payload consists; `nil`: it does not.
func messagePack(_ payload: [UInt8]) -> Value? {
  var reader = MessagePackReader(ByteCursor(payload))
  guard let value = reader.value(deepest), reader.cursor.isAtEnd else { return nil }
  return value
}

private struct MessagePackReader {
  var cursor: ByteCursor

  init(_ cursor: ByteCursor) { self.cursor = cursor }

  mutating func value(_ depth: Int) -> Value? {
    guard depth > 0, let first = cursor.byte() else { return nil }
    switch first {
    case 0..<0x80: return .unsigned(UInt64(first))
    case 0x80..<0x90: return map(Int(first & 15), depth)
    case 0x90..<0xA0: return array(Int(first & 15), depth)
    case 0xA0..<0xC0: return cursor.bytes(Int(first & 31)).map { .text($0) }
    case 0xC0: return .null
    case 0xC2, 0xC3: return .bool(first == 0xC3)
    case 0xC4...0xC6: return sized(first - 0xC4).map { .bytes($0) }
    case 0xC7...0xC9: return number(1 << Int(first - 0xC7)).flatMap { extended($0) }
    case 0xCA: return number(4).map { .double(Double(Float(bitPattern: UInt32($0)))) }
    case 0xCB: return number(8).map { .double(Double(bitPattern: $0)) }
    case 0xCC...0xCF: return number(1 << Int(first - 0xCC)).map { .unsigned($0) }
    case 0xD0...0xD3: return signed(1 << Int(first - 0xD0))
    case 0xD4...0xD8: return extended(1 << UInt64(first - 0xD4))
    case 0xD9...0xDB: return sized(first - 0xD9).map { .text($0) }
    case 0xDC, 0xDD:
      return number(first == 0xDC ? 2 : 4).flatMap { Int(exactly: $0) }.flatMap { array($0, depth) }
    case 0xDE, 0xDF:
      return number(first == 0xDE ? 2 : 4).flatMap { Int(exactly: $0) }.flatMap { map($0, depth) }
    case 0xE0...: return .negative(UInt64(0xFF - first))
    default: return nil
    }
  }

  private mutating func number(_ count: Int) -> UInt64? {
    cursor.bytes(count)?.reduce(0) { $0 << 8 | UInt64($1) }
  }

  private mutating func signed(_ count: Int) -> Value? {
    number(count).map { bits in
      let shift = UInt64(64 - 8 * count)
      let value = Int64(bitPattern: bits << shift) >> Int64(shift)
      return value >= 0 ? .unsigned(UInt64(value)) : .negative(UInt64(bitPattern: ~value))
    }
  }

  /// Bytes whose number comes first, in 1, 2 or 4 bytes.
  private mutating func sized(_ power: UInt8) -> [UInt8]? {
    number(1 << Int(power)).flatMap { Int(exactly: $0) }.flatMap { cursor.bytes($0) }
  }

  /// A type, and bytes.
  private mutating func extended(_ count: UInt64) -> Value? {
    guard let type = cursor.byte(), let count = Int(exactly: count), let bytes = cursor.bytes(count) else {
      return nil
    }
    return .tagged(UInt64(type), .bytes(bytes))
  }

  private mutating func array(_ count: Int, _ depth: Int) -> Value? {
    var list: [Value] = []
    for _ in 0..<count {
      guard let value = value(depth - 1) else { return nil }
      list.append(value)
    }
    return .array(list)
  }

  private mutating func map(_ count: Int, _ depth: Int) -> Value? {
    var pairs: [(key: Value, value: Value)] = []
    for _ in 0..<count {
      guard let key = value(depth - 1), let value = value(depth - 1) else { return nil }
      pairs.append((key, value))
    }
    return .map(pairs)
  }
}
