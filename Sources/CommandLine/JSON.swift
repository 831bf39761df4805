/// Writes JSON as cJSON does, which mosquitto_sub prints with: in a line, or with tabs.
struct JSONWriter {
  private(set) var bytes: [UInt8] = []
  let isPretty: Bool
  /// DEL and C1 are escaped, too, because terminals interpret them.
  private let isForTerminal: Bool
  private var depth = 0
  /// The object or array already has a value.
  private var needsComma = false
  private var isInArray = false

  init(isPretty: Bool, isForTerminal: Bool = false) {
    self.isPretty = isPretty
    self.isForTerminal = isForTerminal
  }

  mutating func beginObject() {
    separate()
    bytes.append(123)
    if isPretty { bytes.append(10) }
    depth += 1
    needsComma = false
  }

  mutating func endObject() {
    depth -= 1
    if isPretty {
      if needsComma { bytes.append(10) }
      indent()
    }
    bytes.append(125)
    needsComma = true
  }

  mutating func key(_ name: StaticString) { key(name.bytes) }

  mutating func key(_ name: [UInt8]) {
    if needsComma { bytes += isPretty ? [44, 10] : [44] }
    if isPretty { indent() }
    quote(name)
    bytes += isPretty ? [58, 9] : [58]
    needsComma = false
  }

  mutating func beginArray() {
    separate()
    bytes.append(91)
    depth += 1
    needsComma = false
  }

  mutating func endArray() {
    depth -= 1
    bytes.append(93)
    needsComma = true
  }

  mutating func string(_ value: [UInt8]) {
    separate()
    quote(value)
    needsComma = true
  }

  mutating func number(_ value: Int64) { raw(decimal(value)) }

  mutating func bool(_ value: Bool) { raw(value ? ascii("true") : ascii("false")) }

  mutating func raw(_ value: [UInt8]) {
    separate()
    bytes += value
    needsComma = true
  }

  /// Between the elements of an array; after a key nothing has to be separated.
  private mutating func separate() {
    if needsComma { bytes += isPretty ? [44, 32] : [44] }
  }

  /// Nobody reads lines that are indented further, and a text that is deep does not become a text that is long.
  private mutating func indent() { bytes += [UInt8](repeating: 9, count: min(depth, 32)) }

  private mutating func quote(_ text: [UInt8]) {
    bytes.append(34)
    var before: UInt8 = 0
    for byte in text {
      switch byte {
      case 34, 92: bytes += [92, byte]
      case 8: bytes += [92, 98]
      case 9: bytes += [92, 116]
      case 10: bytes += [92, 110]
      case 12: bytes += [92, 102]
      case 13: bytes += [92, 114]
      case 0..<32: bytes += ascii("\\u00") + [48 + byte >> 4, hexadecimalDigit(byte & 15)]
      case 127 where isForTerminal: bytes += ascii("\\u007f")
      // The two bytes of U+0080 to U+009F.
      case 0x80..<0xA0 where isForTerminal && before == 0xC2:
        bytes.removeLast()
        bytes += ascii("\\u00") + [48 + byte >> 4, hexadecimalDigit(byte & 15)]
      default: bytes.append(byte)
      }
      before = byte
    }
    bytes.append(34)
  }
}

extension JSONWriter {
  /// Writes the value of a JSON text; false, with nothing written, if it is not JSON. Numbers are those of cJSON, which
  /// are doubles, or keep their digits.
  mutating func copy(_ text: [UInt8], keepsDigits: Bool = false) -> Bool {
    var reader = JSONReader(text, keepsDigits: keepsDigits)
    var result = self
    guard reader.value(into: &result, depth: 0), reader.isAtEnd else { return false }
    self = result
    return true
  }
}

/// Reads a JSON text and passes it on to a writer. It is as lenient as cJSON about leading zeros, and control
/// characters in strings.
private struct JSONReader {
  private let text: [UInt8]
  private let keepsDigits: Bool
  private var position = 0

  init(_ text: [UInt8], keepsDigits: Bool) {
    self.text = text
    self.keepsDigits = keepsDigits
  }

  var isAtEnd: Bool {
    mutating get {
      skipSpace()
      return position == text.count
    }
  }

  private var next: UInt8? { position < text.count ? text[position] : nil }

  private mutating func skipSpace() {
    while let byte = next, byte <= 32 { position += 1 }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    position += 1
    return true
  }

  mutating func value(into writer: inout JSONWriter, depth: Int) -> Bool {
    skipSpace()
    guard depth < 1000, let byte = next else { return false }
    switch byte {
    case 123: return object(into: &writer, depth)
    case 91: return array(into: &writer, depth)
    case 34:
      guard let value = string() else { return false }
      writer.string(value)
      return true
    case 45, 48...57: return number(into: &writer)
    default: return word(into: &writer)
    }
  }

  private mutating func object(into writer: inout JSONWriter, _ depth: Int) -> Bool {
    position += 1
    writer.beginObject()
    skipSpace()
    if !take(125) {
      repeat {
        skipSpace()
        guard let key = string() else { return false }
        skipSpace()
        guard take(58) else { return false }
        writer.key(key)
        guard value(into: &writer, depth: depth + 1) else { return false }
        skipSpace()
      } while take(44)
      guard take(125) else { return false }
    }
    writer.endObject()
    return true
  }

  private mutating func array(into writer: inout JSONWriter, _ depth: Int) -> Bool {
    position += 1
    writer.beginArray()
    skipSpace()
    if !take(93) {
      repeat {
        guard value(into: &writer, depth: depth + 1) else { return false }
        skipSpace()
      } while take(44)
      guard take(93) else { return false }
    }
    writer.endArray()
    return true
  }

  private mutating func number(into writer: inout JSONWriter) -> Bool {
    let start = position
    while let byte = next, (48...57).contains(byte) || ascii("+-.eE").contains(byte) { position += 1 }
    let digits = Array(text[start..<position])
    guard let number = System.jsonNumber(digits) else { return false }
    writer.raw(keepsDigits && Self.isNumber(digits) ? digits : number)
    return true
  }

  /// As RFC 8259, section 6, has it.
  private static func isNumber(_ text: [UInt8]) -> Bool {
    var rest = text[...]
    func digits() -> Int {
      let count = rest.prefix { (48...57).contains($0) }.count
      rest = rest.dropFirst(count)
      return count
    }
    if rest.first == 45 { rest.removeFirst() }
    let hasZero = rest.first == 48
    let whole = digits()
    guard whole == 1 || whole > 1 && !hasZero else { return false }
    if rest.first == 46 {
      rest.removeFirst()
      guard digits() > 0 else { return false }
    }
    if rest.first == 101 || rest.first == 69 {
      rest.removeFirst()
      if rest.first == 43 || rest.first == 45 { rest.removeFirst() }
      guard digits() > 0 else { return false }
    }
    return rest.isEmpty
  }

  private mutating func word(into writer: inout JSONWriter) -> Bool {
    for word in [ascii("null"), ascii("true"), ascii("false")]
    where position + word.count <= text.count && Array(text[position..<position + word.count]) == word {
      position += word.count
      writer.raw(word)
      return true
    }
    return false
  }

  private mutating func string() -> [UInt8]? {
    guard take(34) else { return nil }
    var value: [UInt8] = []
    while let byte = next {
      position += 1
      if byte == 34 { return value }
      if byte != 92 {
        value.append(byte)
      } else if !escape(into: &value) {
        return nil
      }
    }
    return nil
  }

  private mutating func escape(into value: inout [UInt8]) -> Bool {
    guard let byte = next else { return false }
    position += 1
    switch byte {
    case 34, 47, 92: value.append(byte)
    case 98: value.append(8)
    case 102: value.append(12)
    case 110: value.append(10)
    case 114: value.append(13)
    case 116: value.append(9)
    case 117:
      guard let scalar = scalar() else { return false }
      value += utf8(scalar)
    default: return false
    }
    return true
  }

  /// The code point after \u, and the second half of a pair.
  private mutating func scalar() -> UInt32? {
    guard let first = fourDigits(), !(0xDC00...0xDFFF).contains(first) else { return nil }
    guard (0xD800...0xDBFF).contains(first) else { return first }
    guard take(92), take(117), let second = fourDigits(), (0xDC00...0xDFFF).contains(second) else {
      return nil
    }
    return 0x10000 + (first - 0xD800) << 10 + (second - 0xDC00)
  }

  private mutating func fourDigits() -> UInt32? {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = next, let digit = hexadecimalValue(byte) else { return nil }
      position += 1
      value = value << 4 + UInt32(digit)
    }
    return value
  }

  private func utf8(_ scalar: UInt32) -> [UInt8] {
    func tail(_ shift: UInt32) -> UInt8 { UInt8(0x80 | (scalar >> shift & 0x3F)) }
    switch scalar {
    case 0..<0x80: return [UInt8(scalar)]
    case 0x80..<0x800: return [UInt8(0xC0 | scalar >> 6), tail(0)]
    case 0x800..<0x10000: return [UInt8(0xE0 | scalar >> 12), tail(6), tail(0)]
    default: return [UInt8(0xF0 | scalar >> 18), tail(12), tail(6), tail(0)]
    }
  }
}
