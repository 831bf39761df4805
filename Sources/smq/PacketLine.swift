import CSwiftMQTT

// A packet in words, for -d. Whatever a peer has put into it, it must not control the terminal, so every text is
// escaped. The library has covered passwords and Authentication Data, and not even their lengths are shown.

/// What has to be known of a connection to read its packets.
struct ConnectionFacts {
  /// SMQ_PROTOCOL_…, of the last CONNECT.
  var version: UInt32 = 4
  /// Empty until the server has assigned one.
  var clientID: [UInt8] = []
}

/// The name of a packet and its fields: `PUBLISH (id 1, QoS 1, topic "a", payload of 5 bytes, 12 bytes in all)`.
/// CONNECT and CONNACK change what is known of the connection.
func packetText(_ observed: ObservedPacket, _ facts: inout ConnectionFacts) -> Text {
  guard observed.type != 0 else { return "\(bytes(observed.length)) that are no packet" }
  let packet = DecodedPacket(observed.data, length: observed.length, version: facts.version)
  if let connect = packet.connect {
    facts.version = UInt32(connect.version & 127)
    facts.clientID = connect.clientID
  }
  let properties = MQTT.properties(packet.properties)
  if let assigned = properties.first(where: { $0.identifier == SMQ_PROPERTY_ASSIGNED_CLIENT_IDENTIFIER }) {
    facts.clientID = assigned.value
  }
  var fields = packet.fields(properties.map { propertyText($0) }, version: facts.version)
  if packet.isDamaged || packet.missing > 0 && packet.type != 3 { fields.append("the rest is not known") }
  fields.append("\(bytes(packet.length)) in all")
  return "\(packet.name) (\([UInt8](fields.map { $0.bytes }.joined(separator: [44, 32]))))"
}

extension DecodedPacket {
  /// All but the size, in the order of the packet.
  fileprivate func fields(_ properties: [Text], version: UInt32) -> [Text] {
    let identifier: [Text] = identifier.map { ["id \(Int($0))"] } ?? []
    let reasons = reasonCodes.map { reasonText($0, version) }
    switch type {
    case 1: return connect.map { Self.fields(of: $0, properties) } ?? []
    case 2: return reasons + (sessionPresent ? ["session present"] : []) + properties
    case 3: return identifier + messageFields(properties)
    // Without a Reason Code it is 0 (section 3.4.2.1).
    case 4...7:
      return identifier + (version == 5 && reasons.isEmpty ? [reasonText(0, version)] : reasons) + properties
    case 8, 10: return identifier + properties + filters.map { Self.text(of: $0.filter, $0.options) }
    case 9, 11: return identifier + properties + reasons
    default: return reasons + properties
    }
  }

  private static func fields(of connect: Connect, _ properties: [Text]) -> [Text] {
    var fields: [Text] = [versionName(UInt32(connect.version))]
    if connect.cleanStart { fields.append(connect.version == 5 ? "Clean Start" : "Clean Session") }
    fields.append("Keep Alive of \(Int(connect.keepAlive)) s")
    fields += properties
    fields.append(
      connect.clientID.isEmpty ? "no Client Identifier" : "Client Identifier \(quoted(connect.clientID))")
    if let topic = connect.willTopic {
      fields += MQTT.properties(connect.willProperties).map { propertyText($0) }
      let qos = Int(connect.flags >> 3 & 3)
      fields.append("Will for \(quoted(topic)) of \(bytes(connect.willPayload.count)), QoS \(qos)")
      if connect.flags & 32 != 0 { fields.append("retained") }
    }
    if let name = connect.userName { fields.append("user name \(quoted(name))") }
    if connect.hasPassword { fields.append("a password") }
    return fields
  }

  private func messageFields(_ properties: [Text]) -> [Text] {
    var fields: [Text] = ["QoS \(Int(qos))"]
    if duplicate { fields.append("DUP") }
    if retain { fields.append("RETAIN") }
    fields.append(topic.isEmpty ? "no topic" : "topic \(quoted(topic))")
    return fields + properties + ["payload of \(bytes(payloadSize))"]
  }

  private static func text(of filter: [UInt8], _ options: UInt8?) -> Text {
    guard let options else { return quoted(filter) }
    var text: Text = "\(quoted(filter)) with QoS \(Int(options & 3))"
    if options & 4 != 0 { text += " and No Local" }
    if options & 8 != 0 { text += " and Retain As Published" }
    if options & 48 != 0 { text += " and Retain Handling \(Int(options >> 4 & 3))" }
    return text
  }

  private func reasonText(_ code: UInt8, _ version: UInt32) -> Text {
    type == 9 && code <= 2
      ? "granted QoS \(Int(code))" : "reason \(Int(code)): \(MQTT.reasonName(version, Int(code)))"
  }
}

private func bytes(_ count: Int) -> Text { count == 1 ? "1 byte" : "\(count) bytes" }

private func quoted(_ text: [UInt8]) -> Text { "\"\(text.escaped)\"" }

private func propertyText(_ property: MQTT.Property) -> Text {
  guard let known = PropertyName.of(property.identifier) else { return "property \(property.identifier)" }
  switch known.kind {
  case .number: return "\(known.name) \(property.number)"
  case .pair: return "\(known.name) \(quoted(property.name)) \(quoted(property.value))"
  case .bytes where property.identifier == SMQ_PROPERTY_AUTHENTICATION_DATA: return "\(known.name)"
  case .bytes: return "\(known.name) \(quoted(property.value))"
  }
}

extension PropertyName {
  /// That of any packet.
  static func of(_ identifier: Int) -> PropertyName? {
    propertyNames.first { $0.identifier == identifier }
      ?? receivedPropertyNames.first { $0.identifier == identifier }
  }
}

/// What only a server sends, so that `-D` does not have it.
private let receivedPropertyNames: [PropertyName] = [
  PropertyName("assigned-client-identifier", SMQ_PROPERTY_ASSIGNED_CLIENT_IDENTIFIER, .bytes, 0),
  PropertyName("server-keep-alive", SMQ_PROPERTY_SERVER_KEEP_ALIVE, .number, 0),
  PropertyName("response-information", SMQ_PROPERTY_RESPONSE_INFORMATION, .bytes, 0),
  PropertyName("server-reference", SMQ_PROPERTY_SERVER_REFERENCE, .bytes, 0),
  PropertyName("maximum-qos", SMQ_PROPERTY_MAXIMUM_QOS, .number, 0),
  PropertyName("retain-available", SMQ_PROPERTY_RETAIN_AVAILABLE, .number, 0),
  PropertyName("wildcard-subscription-available", SMQ_PROPERTY_WILDCARD_SUBSCRIPTION_AVAILABLE, .number, 0),
  PropertyName(
    "subscription-identifier-available", SMQ_PROPERTY_SUBSCRIPTION_IDENTIFIER_AVAILABLE, .number, 0),
  PropertyName("shared-subscription-available", SMQ_PROPERTY_SHARED_SUBSCRIPTION_AVAILABLE, .number, 0),
]
