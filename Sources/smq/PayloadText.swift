/// A payload, readably: what it is, and lines.
struct PayloadText {
  let kind: StaticString
  let lines: [Text]

  init(_ payload: [UInt8], topic: [UInt8]) {
    if payload.isEmpty {
      (kind, lines) = ("empty", [])
    } else if let (kind, json) = decoded(payload, topic: topic, isPretty: true) {
      (self.kind, lines) = (kind, Self.lines(of: json))
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

/// The payload as JSON, and what it was, if it is in one of the formats of the field.
func decoded(_ payload: [UInt8], topic: [UInt8], isPretty: Bool) -> (kind: StaticString, json: [UInt8])? {
  var json = JSONWriter(isPretty: isPretty)
  if Sparkplug.isTopic(topic), let value = Sparkplug.value(payload) {
    json.add(value)
    return ("Sparkplug B", json.bytes)
  }
  if let first = payload.first(where: { $0 > 32 }), first == 123 || first == 91, payload.isUTF8,
    json.copy(payload)
  {
    return ("JSON", json.bytes)
  }
  // What could be a text is one: a number of CBOR or MessagePack cannot be told from a letter.
  guard !payload.isText else { return nil }
  if let value = cbor(payload), value.isContainer {
    let isSenML = SenML.isPack(value)
    json.add(value, isSenML: isSenML)
    return (isSenML ? "SenML in CBOR" : "CBOR", json.bytes)
  }
  if let value = messagePack(payload), value.isContainer {
    json.add(value)
    return ("MessagePack", json.bytes)
  }
  return nil
}

extension [UInt8] {
  /// UTF-8 without control characters but tabs and ends of lines.
  var isText: Bool { isUTF8 && allSatisfy { $0 >= 32 && $0 != 127 || $0 == 9 || $0 == 10 || $0 == 13 } }
}
