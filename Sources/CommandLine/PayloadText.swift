/// A payload, readably: what it is, and lines.
struct PayloadText {
  let kind: StaticString
  let lines: [Text]

  init(_ payload: [UInt8], topic: [UInt8]) {
    if payload.isEmpty {
      (kind, lines) = ("empty", [])
    } else if let known = KnownPayload(payload, topic: topic) {
      (kind, lines) = (known.kind, Self.lines(of: known.json(isPretty: true)))
    } else if payload.isText {
      (kind, lines) = ("text", Self.lines(of: payload))
    } else {
      (kind, lines) = ("binary", Self.dump(payload))
    }
  }

  private static func lines(of text: [UInt8]) -> [Text] {
    text.split(separator: 10, omittingEmptySubsequences: false).map { line in
      Text(line.flatMap { $0 == 9 ? [32, 32] : [$0] })
    }
  }

  /// As `hexdump -C` shows bytes: at most 64 KiB of them.
  private static func dump(_ bytes: [UInt8]) -> [Text] {
    stride(from: 0, to: min(bytes.count, 65_536), by: 16).map { start in
      let row = bytes[start..<min(start + 16, bytes.count)]
      var line: [UInt8] = []
      for (index, byte) in row.enumerated() {
        if index > 0 { line += index == 8 ? [32, 32] : [32] }
        line += [byte].hexadecimal
      }
      line += [UInt8](repeating: 32, count: max(0, 50 - line.count))
      line += row.map { (32..<127).contains($0) ? $0 : 46 }
      return
        "\([UInt8(truncatingIfNeeded: start >> 16), UInt8(truncatingIfNeeded: start >> 8), UInt8(truncatingIfNeeded: start)].hexadecimal)  \(line)"
    }
  }
}

extension JSONWriter {
  /// As "payload", or what the program calls it: a value, with its format, or a text. As "payload_hex": anything else.
  mutating func add(payload: [UInt8], topic: [UInt8]) {
    if let known = KnownPayload(payload, topic: topic) {
      key("format")
      string(known.kind.bytes)
      key(Program.payload)
      known.write(to: &self)
    } else if payload.isUTF8 {
      key(Program.payload)
      string(payload)
    } else {
      key(Text("\(Program.payload)_hex").bytes)
      string(payload.hexadecimal)
    }
  }
}

extension [UInt8] {
  /// UTF-8 without control characters but tabs and ends of lines.
  var isText: Bool { isUTF8 && allSatisfy { $0 >= 32 && $0 != 127 || $0 == 9 || $0 == 10 || $0 == 13 } }

  /// A JSON object, or an array.
  var isJSON: Bool {
    guard let first = first(where: { $0 > 32 }), first == 123 || first == 91, isUTF8 else { return false }
    var scratch = JSONWriter(isPretty: false)
    return scratch.copy(self)
  }
}
