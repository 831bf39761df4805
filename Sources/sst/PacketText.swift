/// What a frame says, in words.
extension DecodedPacket {
  /// "SEND /queue/a 11 bytes receipt 7"
  var line: Text {
    let summary = summary
    return summary.isEmpty ? Text(name.bytes) : "\(name) \(summary)"
  }

  /// What there is besides its name: "/queue/a 11 bytes receipt 7".
  var summary: Text {
    var words: [Text] = []
    if !topic.isEmpty { words.append(Text(topic)) }
    if hasPayload { words.append("\(payloadSize) bytes") }
    for name in Self.shownHeaders {
      if let value = self[name] { words.append("\(name) \(value)") }
    }
    if self["passcode"] != nil { words.append("passcode") }
    if isDamaged { words.append("malformed") }
    return Text([UInt8](words.map { $0.bytes }.joined(separator: [32])))
  }

  /// In this order; with `facts` and as JSON there are all.
  private static let shownHeaders: [StaticString] = [
    "version", "accept-version", "host", "server", "heart-beat", "login", "id", "subscription", "ack",
    "message-id", "transaction", "selector", "receipt", "receipt-id", "message",
  ]

  /// In lines, one for each fact.
  var facts: [(name: Text, value: Text)] {
    var facts: [(name: Text, value: Text)] = [("length", "\(length) bytes")]
    for header in headers {
      facts.append((Text(header.name), header.name == "passcode" ? "not shown" : Text(header.value)))
    }
    if missing > 0 { facts.append(("not captured", "\(missing) bytes")) }
    if isDamaged { facts.append(("malformed", "it is no frame of STOMP, or has no end")) }
    return facts
  }

  /// For -d: `SEND (destination "/queue/a", receipt "7", body of 5 bytes, 60 bytes in all)`.
  var debugText: Text {
    guard type > 0 else { return "\(bytes(length)) that are no frame" }
    var fields: [Text] = headers.map {
      $0.name == "passcode" ? "passcode" : "\($0.name.escaped) \"\($0.value.escaped)\""
    }
    if hasPayload { fields.append("body of \(bytes(payloadSize))") }
    fields.append("\(bytes(length)) in all")
    return "\(name) (\([UInt8](fields.map { $0.bytes }.joined(separator: [44, 32]))))"
  }
}

private func bytes(_ count: Int) -> Text { count == 1 ? "1 byte" : "\(count) bytes" }

extension JSONWriter {
  /// `isNamed`: the object says already which client it is.
  mutating func add(_ packet: DecodedPacket, isNamed: Bool) {
    func shown(_ text: [UInt8]) -> [UInt8] { text.isUTF8 ? text : text.escaped }
    key("headers")
    beginObject()
    for (index, header) in packet.headers.enumerated()
    where header.name != ascii("passcode")
      && !packet.headers[..<index].contains(where: { $0.name == header.name })
    {
      key(shown(header.name))
      string(shown(header.value))
    }
    endObject()
    if packet.hasPayload {
      key("body_bytes")
      number(Int64(packet.payloadSize))
      add(payload: packet.payload, topic: packet.topic)
    }
    if packet.isDamaged {
      key("malformed")
      bool(true)
    }
  }
}
