/// A payload in one of the formats of the field.
struct KnownPayload {
  private enum Content {
    case json([UInt8])
    case value(Value, isSenML: Bool)
  }

  let kind: StaticString
  private let content: Content

  /// `nil`: it is in none of them.
  init?(_ payload: [UInt8], topic: [UInt8]) {
    if Sparkplug.isTopic(topic), let value = Sparkplug.value(payload) {
      (kind, content) = ("Sparkplug B", .value(value, isSenML: false))
    } else if payload.isJSON {
      (kind, content) = ("JSON", .json(payload))
    } else if payload.isText {
      // What could be a text is one: a number of CBOR or MessagePack cannot be told from a letter.
      return nil
    } else if let value = cbor(payload), value.isContainer {
      let isSenML = SenML.isPack(value)
      (kind, content) = (isSenML ? "SenML in CBOR" : "CBOR", .value(value, isSenML: isSenML))
    } else if let value = messagePack(payload), value.isContainer {
      (kind, content) = ("MessagePack", .value(value, isSenML: false))
    } else {
      return nil
    }
  }

  func json(isPretty: Bool) -> [UInt8] {
    var json = JSONWriter(isPretty: isPretty)
    write(to: &json)
    return json.bytes
  }

  func write(to json: inout JSONWriter) {
    switch content {
    case .json(let text): _ = json.copy(text, keepsDigits: true)
    case .value(let value, let isSenML): json.add(value, isSenML: isSenML)
    }
  }
}
