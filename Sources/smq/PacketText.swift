import CSwiftMQTT

/// What a packet says, in words.
extension DecodedPacket {
  /// "PUBLISH q1 #12 meter/7 11 bytes"
  var line: Text {
    let summary = summary
    return summary.isEmpty ? Text(name.bytes) : "\(name) \(summary)"
  }

  /// What there is besides its name: "q1 #12 meter/7 11 bytes".
  var summary: Text {
    var words: [Text] = []
    switch type {
    case 1: words = connectWords
    case 3: words = publishWords
    case 8, 10: words = filterWords
    default:
      if let identifier { words.append("#\(Int(identifier))") }
      if type == 2, sessionPresent { words.append("session present") }
      words += reasonWords
    }
    if isDamaged { words.append("malformed") }
    return Text([UInt8](words.map { $0.bytes }.joined(separator: [32])))
  }

  private var connectWords: [Text] {
    guard let connect else { return [] }
    var words: [Text] = ["MQTT \(versionNumber(UInt32(connect.version)))", "'\(connect.clientID)'"]
    words.append(connect.cleanStart ? "clean" : "session kept")
    words.append("keep alive \(Int(connect.keepAlive)) s")
    if let name = connect.userName { words.append("user '\(name)'") }
    if connect.hasPassword { words.append("password") }
    if let topic = connect.willTopic { words.append("will \(topic)") }
    return words
  }

  private var publishWords: [Text] {
    var words: [Text] = ["q\(Int(qos))"]
    if let identifier { words.append("#\(Int(identifier))") }
    if retain { words.append("retain") }
    if duplicate { words.append("dup") }
    words.append(topic.isEmpty ? "(alias \(Int64(alias ?? 0)))" : Text(topic))
    words.append("\(payloadSize) bytes")
    return words
  }

  private var filterWords: [Text] {
    var words: [Text] = []
    if let identifier { words.append("#\(Int(identifier))") }
    for (filter, options) in filters {
      words.append(options.map { "\(filter) q\(Int($0 & 3))" } ?? Text(filter))
    }
    return words
  }

  private var reasonWords: [Text] { reasonCodes.map { reason($0) } }

  /// By its name. A SUBACK has the granted QoS, and before 5.0 a CONNACK has codes of its own.
  func reason(_ code: UInt8) -> Text {
    if type == 9, code < 3 { return "q\(Int(code))" }
    let version: UInt32 = type == 2 && (1...5).contains(code) ? 4 : 5
    let name = MQTT.reasonName(version, Int(code))
    return name.isEmpty ? "0x\([hexadecimalDigit(code >> 4), hexadecimalDigit(code & 15)])" : name
  }

  private var alias: UInt64? {
    MQTT.properties(properties).first { $0.identifier == SMQ_PROPERTY_TOPIC_ALIAS }.map { UInt64($0.number) }
  }

  // ---- In lines, one for each fact

  var facts: [(name: Text, value: Text)] {
    var facts: [(name: Text, value: Text)] = [("length", "\(length) bytes")]
    if let identifier { facts.append(("Packet Identifier", "\(Int(identifier))")) }
    if type == 1 { facts += connectFacts }
    if type == 2 { facts.append(("Session Present", sessionPresent ? "yes" : "no")) }
    if type == 3 {
      facts.append(("topic", Text(topic)))
      facts.append(("QoS", "\(Int(qos))"))
      facts.append(("retain", retain ? "yes" : "no"))
      facts.append(("DUP", duplicate ? "yes" : "no"))
    }
    for (filter, options) in filters {
      facts.append(
        ("Topic Filter", options.map { "\(filter) \(Self.subscriptionOptions($0))" } ?? Text(filter)))
    }
    for code in reasonCodes { facts.append(("Reason Code", "\(reason(code)) (\(Int(code)))")) }
    for property in MQTT.properties(properties) {
      let name = Text((PropertyName.of(property.identifier)?.name ?? "property").bytes)
      let value: Text =
        !property.name.isEmpty
        ? "\(property.name): \(property.value)"
        : !property.value.isEmpty ? Text(property.value) : "\(UInt64(property.number))"
      facts.append((name, value))
    }
    if missing > 0 { facts.append(("not captured", "\(missing) bytes")) }
    if isDamaged { facts.append(("malformed", "its fields do not fit into it")) }
    return facts
  }

  private var connectFacts: [(name: Text, value: Text)] {
    guard let connect else { return [] }
    var facts: [(name: Text, value: Text)] = [
      ("version", Text(versionNumber(UInt32(connect.version)).bytes)),
      ("Client Identifier", Text(connect.clientID)),
      ("Clean Start", connect.cleanStart ? "yes" : "no"), ("Keep Alive", "\(Int(connect.keepAlive)) s"),
    ]
    if let name = connect.userName { facts.append(("user name", Text(name))) }
    if connect.hasPassword { facts.append(("password", "not shown")) }
    if let topic = connect.willTopic {
      facts.append(("Will Topic", Text(topic)))
      facts.append(("Will Payload", Text(connect.willPayload)))
      facts.append(("Will QoS", "\(Int(connect.flags >> 3 & 3))"))
      facts.append(("Will Retain", connect.flags & 32 != 0 ? "yes" : "no"))
    }
    return facts
  }

  /// QoS, and what 5.0 adds (§3.8.3.1).
  private static func subscriptionOptions(_ options: UInt8) -> Text {
    var text: Text = "QoS \(Int(options & 3))"
    if options & 4 != 0 { text += ", no local" }
    if options & 8 != 0 { text += ", retain as published" }
    if options >> 4 & 3 != 0 { text += ", retain handling \(Int(options >> 4 & 3))" }
    return text
  }
}
