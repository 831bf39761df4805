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
func packetText(_ packet: ObservedPacket, _ facts: inout ConnectionFacts) -> Text {
  guard packet.type != 0 else { return "\(bytes(packet.length)) that are no packet" }
  var reader = PacketReader(packet.data)
  let flags = reader.byte() & 15
  _ = reader.variable()
  var fields = PacketFields(reader, flags: flags, length: packet.length, facts: facts)
  if packet.length > reader.position { fields.read(packet.type) }
  facts = fields.facts
  if fields.isCut { fields.add("the rest is not known") }
  fields.add("\(bytes(packet.length)) in all")
  return "\(packetNames[Int(packet.type & 15)]) (\(fields.text))"
}

/// By type (section 2.1.2).
private let packetNames: [StaticString] = [
  "", "CONNECT", "CONNACK", "PUBLISH", "PUBACK", "PUBREC", "PUBREL", "PUBCOMP", "SUBSCRIBE", "SUBACK",
  "UNSUBSCRIBE", "UNSUBACK", "PINGREQ", "PINGRESP", "DISCONNECT", "AUTH",
]

/// The fields of a packet, one behind the other.
private struct PacketFields {
  private var reader: PacketReader
  private let flags: Int
  private let length: Int
  var facts: ConnectionFacts
  private(set) var text: Text = ""

  init(_ reader: PacketReader, flags: Int, length: Int, facts: ConnectionFacts) {
    self.reader = reader
    self.flags = flags
    self.length = length
    self.facts = facts
  }

  var isCut: Bool { reader.isCut }

  mutating func add(_ field: Text) {
    if !text.isEmpty { text += ", " }
    text += field
  }

  mutating func read(_ type: UInt32) {
    switch type {
    case 1: connect()
    case 2: connack()
    case 3: publish()
    case 4...7: acknowledgement()
    case 8, 10: filters(withOptions: type == 8)
    case 9, 11: answers(isGrant: type == 9)
    default: ending()
    }
  }

  // ---- The packets, in the order of chapter 3

  private mutating func connect() {
    _ = reader.text()
    facts.version = UInt32(reader.byte() & 127)
    let flags = reader.byte()
    let keepAlive = reader.integer()
    guard !isCut else { return }
    add(versionName(facts.version))
    if flags & 2 != 0 { add(facts.version == 5 ? "Clean Start" : "Clean Session") }
    add("Keep Alive of \(keepAlive) s")
    properties()
    facts.clientID = reader.text()
    add(facts.clientID.isEmpty ? "no Client Identifier" : "Client Identifier \(quoted(facts.clientID))")
    if flags & 4 != 0 { will(flags) }
    if flags & 128 != 0 { add("user name \(quoted(reader.text()))") }
    if flags & 64 != 0 { add("a password") }
  }

  private mutating func will(_ flags: Int) {
    properties()
    let topic = reader.text()
    let payload = reader.text()
    guard !isCut else { return }
    add("Will for \(quoted(topic)) of \(bytes(payload.count)), QoS \(flags >> 3 & 3)")
    if flags & 32 != 0 { add("retained") }
  }

  private mutating func connack() {
    let flags = reader.byte()
    reason()
    if flags & 1 != 0 { add("session present") }
    properties()
  }

  private mutating func publish() {
    let topic = reader.text()
    let qos = flags >> 1 & 3
    let identifier = qos > 0 ? reader.integer() : 0
    if qos > 0 { add("id \(identifier)") }
    add("QoS \(qos)")
    if flags & 8 != 0 { add("DUP") }
    if flags & 1 != 0 { add("RETAIN") }
    add(topic.isEmpty ? "no topic" : "topic \(quoted(topic))")
    properties()
    // The payload itself need not be there.
    if !isCut { add("payload of \(bytes(length - reader.position))") }
  }

  private mutating func acknowledgement() {
    add("id \(reader.integer())")
    guard facts.version == 5 else { return }
    // Without more it is 0 (section 3.4.2.1).
    if reader.hasMore { reason() } else { add(reasonText(0)) }
    if reader.hasMore { properties() }
  }

  private mutating func filters(withOptions: Bool) {
    add("id \(reader.integer())")
    properties()
    while reader.hasMore {
      let filter = reader.text()
      let options = withOptions ? reader.byte() : 0
      guard !isCut else { return }
      add(quoted(filter))
      guard withOptions else { continue }
      text += " with QoS \(options & 3)"
      if options & 4 != 0 { text += " and No Local" }
      if options & 8 != 0 { text += " and Retain As Published" }
      if options & 48 != 0 { text += " and Retain Handling \(options >> 4 & 3)" }
    }
  }

  private mutating func answers(isGrant: Bool) {
    add("id \(reader.integer())")
    properties()
    while reader.hasMore {
      let code = reader.byte()
      add(isGrant && code <= 2 ? "granted QoS \(code)" : reasonText(code))
    }
  }

  /// DISCONNECT and AUTH. In 3.1.1 they have no fields.
  private mutating func ending() {
    guard facts.version == 5, reader.hasMore else { return }
    reason()
    if reader.hasMore { properties() }
  }

  // ---- Fields that several have

  private mutating func reason() {
    let code = reader.byte()
    if !isCut { add(reasonText(code)) }
  }

  private func reasonText(_ code: Int) -> Text {
    "reason \(code): \(MQTT.reasonName(facts.version, code))"
  }

  private mutating func properties() {
    guard facts.version == 5 else { return }
    for property in reader.properties() {
      if property.identifier == SMQ_PROPERTY_ASSIGNED_CLIENT_IDENTIFIER { facts.clientID = property.value }
      add(propertyText(property))
    }
  }
}

private func bytes(_ count: Int) -> Text { count == 1 ? "1 byte" : "\(count) bytes" }

private func quoted(_ text: [UInt8]) -> Text { "\"\(text.escaped)\"" }

private func propertyText(_ property: MQTT.Property) -> Text {
  let known =
    propertyNames.first { $0.identifier == property.identifier }
    ?? receivedPropertyNames.first { $0.identifier == property.identifier }
  guard let known else { return "property \(property.identifier)" }
  switch known.kind {
  case .number: return "\(known.name) \(property.number)"
  case .pair: return "\(known.name) \(quoted(property.name)) \(quoted(property.value))"
  case .bytes where property.identifier == SMQ_PROPERTY_AUTHENTICATION_DATA: return "\(known.name)"
  case .bytes: return "\(known.name) \(quoted(property.value))"
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
