import CTool

/// A value of CBOR or MessagePack, for people.
indirect enum Value {
  case null, undefined
  case bool(Bool)
  case unsigned(UInt64)
  /// -1 - n
  case negative(UInt64)
  case double(Double)
  case text([UInt8])
  case bytes([UInt8])
  case array([Value])
  case map([(key: Value, value: Value)])
  case tagged(UInt64, Value)
  case simple(UInt8)

  var isContainer: Bool {
    switch self {
    case .array, .map: true
    case .tagged(_, let value): value.isContainer
    default: false
    }
  }
}

extension JSONWriter {
  /// Writes it as JSON: bytes as "h'…'", tags and simple values as texts, all as the diagnostic notation of CBOR has
  /// them (RFC 8949, section 8). Labels of SenML become names.
  mutating func add(_ value: Value, isSenML: Bool = false) {
    switch value {
    case .null: raw(ascii("null"))
    case .undefined: string(ascii("undefined"))
    case .bool(let value): bool(value)
    case .unsigned(let value): raw(decimal(unsigned: value))
    case .negative(let value):
      value == .max
        ? raw(ascii("-18446744073709551616")) : raw([45] + decimal(unsigned: value + 1))
    case .double(let value): value.isFinite ? raw(System.text(of: value)) : string(System.text(of: value))
    case .text(let text): string(text.isUTF8 ? text : text.escaped)
    case .bytes(let bytes): string(Text("h'\(bytes.hexadecimal)'").bytes)
    case .array(let list):
      beginArray()
      for value in list { add(value, isSenML: isSenML) }
      endArray()
    case .map(let pairs):
      beginObject()
      for (name, value) in pairs {
        key(isSenML ? SenML.name(of: name) ?? Self.keyText(name) : Self.keyText(name))
        add(value)
      }
      endObject()
    case .tagged(let tag, let value):
      if value.isContainer {
        add(value)
      } else {
        string(Value.tagged(tag, value).diagnosticNotation)
      }
    case .simple(let number): string(Text("simple(\(Int(number)))").bytes)
    }
  }

  /// A key of JSON is a text.
  private static func keyText(_ value: Value) -> [UInt8] {
    if case .text(let text) = value { return text.isUTF8 ? text : text.escaped }
    return value.diagnosticNotation
  }
}

extension Value {
  /// As RFC 8949, section 8, has it. A text inside is quoted once, however deep it lies: what is written grows with what was
  /// received.
  fileprivate var diagnosticNotation: [UInt8] {
    var result: [UInt8] = []
    write(to: &result)
    return result
  }

  private func write(to result: inout [UInt8]) {
    switch self {
    case .array(let list):
      result.append(91)
      for (index, value) in list.enumerated() {
        if index > 0 { result += ascii(", ") }
        value.write(to: &result)
      }
      result.append(93)
    case .map(let pairs):
      result.append(123)
      for (index, pair) in pairs.enumerated() {
        if index > 0 { result += ascii(", ") }
        pair.key.write(to: &result)
        result += ascii(": ")
        pair.value.write(to: &result)
      }
      result.append(125)
    case .tagged(let tag, let value):
      result += decimal(unsigned: tag) + [40]
      value.write(to: &result)
      result.append(41)
    case .undefined: result += ascii("undefined")
    case .simple(let number): result += Text("simple(\(Int(number)))").bytes
    case .bytes(let bytes): result += Text("h'\(bytes.hexadecimal)'").bytes
    case .double(let value) where !value.isFinite: result += System.text(of: value)
    case .null, .bool, .unsigned, .negative, .double, .text:
      var json = JSONWriter(isPretty: false)
      json.add(self)
      result += json.bytes
    }
  }
}

enum SenML {
  /// The labels of RFC 8428, section 6.
  private static let labels: [(label: Int, name: StaticString)] = [
    (-1, "bver"), (-2, "bn"), (-3, "bt"), (-4, "bu"), (-5, "bv"), (-6, "bs"), (0, "n"), (1, "u"), (2, "v"),
    (3, "vs"), (4, "vb"), (5, "s"), (6, "t"), (7, "ut"), (8, "vd"),
  ]

  static func name(of label: Value) -> [UInt8]? {
    let number: Int
    switch label {
    case .unsigned(let value) where value < 16: number = Int(value)
    case .negative(let value) where value < 16: number = -1 - Int(value)
    default: return nil
    }
    return labels.first { $0.label == number }?.name.bytes
  }

  /// An array of maps whose keys are labels, or texts.
  static func isPack(_ value: Value) -> Bool {
    guard case .array(let records) = value, !records.isEmpty else { return false }
    return records.allSatisfy { record in
      guard case .map(let pairs) = record, !pairs.isEmpty else { return false }
      return pairs.allSatisfy { pair in
        if case .text = pair.key { return true }
        return name(of: pair.key) != nil
      } && pairs.contains { name(of: $0.key) != nil }
    }
  }
}
