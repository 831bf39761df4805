/// Payloads of Sparkplug B (Sparkplug 3.0, section 6): protobuf, on topics that begin with spBv1.0/.
enum Sparkplug {
  static func isTopic(_ topic: [UInt8]) -> Bool {
    topic.begins(with: "spBv1.0/") && !topic.begins(with: "spBv1.0/STATE/")
  }

  /// The payload as a map with the names of the specification; `nil`: it is none.
  static func value(_ payload: [UInt8]) -> Value? { message(payload, payloadFields, depth: 8) }

  // ---- Helpers

  private enum Kind {
    case number, time, text, bytes, double, float, bool, metric, type
  }

  private struct Field {
    let number: UInt64
    let name: StaticString
    let kind: Kind
  }

  private static let payloadFields = [
    Field(number: 1, name: "timestamp", kind: .time), Field(number: 2, name: "metrics", kind: .metric),
    Field(number: 3, name: "seq", kind: .number), Field(number: 4, name: "uuid", kind: .text),
    Field(number: 5, name: "body", kind: .bytes),
  ]

  private static let metricFields = [
    Field(number: 1, name: "name", kind: .text), Field(number: 2, name: "alias", kind: .number),
    Field(number: 3, name: "timestamp", kind: .time), Field(number: 4, name: "datatype", kind: .type),
    Field(number: 5, name: "is_historical", kind: .bool), Field(number: 6, name: "is_transient", kind: .bool),
    Field(number: 7, name: "is_null", kind: .bool), Field(number: 8, name: "metadata", kind: .bytes),
    Field(number: 9, name: "properties", kind: .bytes), Field(number: 10, name: "int_value", kind: .number),
    Field(number: 11, name: "long_value", kind: .number),
    Field(number: 12, name: "float_value", kind: .float),
    Field(number: 13, name: "double_value", kind: .double),
    Field(number: 14, name: "boolean_value", kind: .bool),
    Field(number: 15, name: "string_value", kind: .text),
    Field(number: 16, name: "bytes_value", kind: .bytes),
    Field(number: 17, name: "dataset_value", kind: .bytes),
    Field(number: 18, name: "template_value", kind: .bytes),
  ]

  /// By number.
  private static let types: [StaticString] = [
    "Unknown", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float", "Double",
    "Boolean", "String", "DateTime", "Text", "UUID", "DataSet", "Bytes", "File", "Template",
  ]

  private static func message(_ bytes: [UInt8], _ fields: [Field], depth: Int) -> Value? {
    guard depth > 0 else { return nil }
    var cursor = ByteCursor(bytes)
    var pairs: [(key: Value, value: Value)] = []
    var metrics: [Value] = []
    while !cursor.isAtEnd {
      guard let tag = cursor.varint(), let raw = raw(tag & 7, &cursor) else { return nil }
      guard let field = fields.first(where: { $0.number == tag >> 3 }) else { continue }
      guard let value = value(raw, field.kind, depth) else { return nil }
      if field.kind == .metric {
        metrics.append(value)
      } else {
        pairs.append((.text(field.name.bytes), value))
      }
    }
    if fields.contains(where: { $0.kind == .type }) { pairs = signed(pairs) }
    if !metrics.isEmpty { pairs.append((.text(ascii("metrics")), .array(metrics))) }
    return .map(pairs)
  }

  /// Negative numbers are those of their two's complement, in 32 or 64 bits (section 6.4.16).
  private static func signed(_ pairs: [(key: Value, value: Value)]) -> [(key: Value, value: Value)] {
    func isText(_ value: Value, _ text: StaticString) -> Bool {
      if case .text(let bytes) = value { return bytes == text }
      return false
    }
    guard let type = pairs.first(where: { isText($0.key, "datatype") })?.value else { return pairs }
    let widths: [(StaticString, UInt64)] = [("Int8", 8), ("Int16", 16), ("Int32", 32), ("Int64", 64)]
    guard let width = widths.first(where: { isText(type, $0.0) })?.1 else { return pairs }
    return pairs.map { pair in
      guard isText(pair.key, "int_value") || isText(pair.key, "long_value"),
        case .unsigned(let bits) = pair.value
      else { return pair }
      let value = Int64(bitPattern: bits << (64 - width)) >> Int64(64 - width)
      return (pair.key, value < 0 ? .negative(UInt64(bitPattern: ~value)) : .unsigned(UInt64(value)))
    }
  }

  private enum Raw {
    case number(UInt64)
    case bytes([UInt8])
  }

  /// What protobuf has on the wire: a varint, 8 bytes, bytes with their length, or 4 bytes.
  private static func raw(_ type: UInt64, _ cursor: inout ByteCursor) -> Raw? {
    switch type {
    case 0: cursor.varint().map { .number($0) }
    case 1: cursor.bytes(8).map { .number($0.reversed().reduce(0) { $0 << 8 | UInt64($1) }) }
    case 2: cursor.varint().flatMap { Int(exactly: $0) }.flatMap { cursor.bytes($0) }.map { .bytes($0) }
    case 5: cursor.bytes(4).map { .number($0.reversed().reduce(0) { $0 << 8 | UInt64($1) }) }
    default: nil
    }
  }

  /// `nil`: the field has another type.
  private static func value(_ raw: Raw, _ kind: Kind, _ depth: Int) -> Value? {
    switch (raw, kind) {
    case (.number(let number), .number): .unsigned(number)
    case (.number(let number), .time): .text(timestamp(milliseconds: number))
    case (.number(let number), .bool): .bool(number != 0)
    case (.number(let number), .float): .double(Double(Float(bitPattern: UInt32(truncatingIfNeeded: number))))
    case (.number(let number), .double): .double(Double(bitPattern: number))
    case (.number(let number), .type):
      number < UInt64(types.count) ? .text(types[Int(number)].bytes) : .unsigned(number)
    case (.bytes(let bytes), .text): .text(bytes)
    case (.bytes(let bytes), .bytes): .bytes(bytes)
    case (.bytes(let bytes), .metric): message(bytes, metricFields, depth: depth - 1)
    default: nil
    }
  }
}
