import CSwiftMQTT

/// The packets of `-D`.
enum PropertyPacket: UInt8 {
  case connect = 1
  case publish = 2
  case subscribe = 4
  case unsubscribe = 8
  case disconnect = 16
  case will = 32

  static let all: [(name: StaticString, packet: PropertyPacket)] = [
    ("connect", .connect), ("publish", .publish), ("subscribe", .subscribe), ("unsubscribe", .unsubscribe),
    ("disconnect", .disconnect), ("will", .will),
  ]

  init?(_ name: [UInt8]) {
    let name = name.lowercased
    guard let known = Self.all.first(where: { name == $0.name }) else { return nil }
    self = known.packet
  }
}

/// A property that `-D` may set: its name, the kind of its value, and the packets that may carry it.
struct PropertyName {
  let name: StaticString
  let identifier: Int
  let kind: PropertyKind
  let packets: UInt8
  let maximum: Int64

  init(_ name: StaticString, _ identifier: Int, _ kind: PropertyKind, _ packets: UInt8, _ maximum: Int64 = 0)
  {
    self.name = name
    self.identifier = identifier
    self.kind = kind
    self.packets = packets
    self.maximum = maximum
  }
}

private let ofMessages: UInt8 = 2 | 32

let propertyNames: [PropertyName] = [
  PropertyName("payload-format-indicator", SMQ_PROPERTY_PAYLOAD_FORMAT_INDICATOR, .number, ofMessages, 1),
  PropertyName(
    "message-expiry-interval", SMQ_PROPERTY_MESSAGE_EXPIRY_INTERVAL, .number, ofMessages, 0xFFFF_FFFF),
  PropertyName("content-type", SMQ_PROPERTY_CONTENT_TYPE, .bytes, ofMessages),
  PropertyName("response-topic", SMQ_PROPERTY_RESPONSE_TOPIC, .bytes, ofMessages),
  PropertyName("correlation-data", SMQ_PROPERTY_CORRELATION_DATA, .bytes, ofMessages),
  PropertyName("topic-alias", SMQ_PROPERTY_TOPIC_ALIAS, .number, 2, 65_535),
  PropertyName("subscription-identifier", SMQ_PROPERTY_SUBSCRIPTION_IDENTIFIER, .number, 4, 268_435_455),
  PropertyName("session-expiry-interval", SMQ_PROPERTY_SESSION_EXPIRY_INTERVAL, .number, 1 | 16, 0xFFFF_FFFF),
  PropertyName("authentication-method", SMQ_PROPERTY_AUTHENTICATION_METHOD, .bytes, 1),
  PropertyName("authentication-data", SMQ_PROPERTY_AUTHENTICATION_DATA, .bytes, 1),
  PropertyName("request-problem-information", SMQ_PROPERTY_REQUEST_PROBLEM_INFORMATION, .number, 1, 1),
  PropertyName("request-response-information", SMQ_PROPERTY_REQUEST_RESPONSE_INFORMATION, .number, 1, 1),
  PropertyName("will-delay-interval", SMQ_PROPERTY_WILL_DELAY_INTERVAL, .number, 32, 0xFFFF_FFFF),
  PropertyName("reason-string", SMQ_PROPERTY_REASON_STRING, .bytes, 16),
  PropertyName("receive-maximum", SMQ_PROPERTY_RECEIVE_MAXIMUM, .number, 1, 65_535),
  PropertyName("topic-alias-maximum", SMQ_PROPERTY_TOPIC_ALIAS_MAXIMUM, .number, 1, 65_535),
  PropertyName("maximum-packet-size", SMQ_PROPERTY_MAXIMUM_PACKET_SIZE, .number, 1, 268_435_460),
  PropertyName("user-property", SMQ_PROPERTY_USER_PROPERTY, .pair, 1 | 2 | 4 | 8 | 16 | 32),
]

/// Whether `-D` takes two values after this name.
func isPair(_ name: [UInt8]) -> Bool { name.lowercased == "user-property" }

/// The properties of `-D` by packet. Those that are options of the library are kept apart.
struct GivenProperties {
  var connect: [UInt8] = []
  var publish: [UInt8] = []
  var subscribe: [UInt8] = []
  var unsubscribe: [UInt8] = []
  var disconnect: [UInt8] = []
  var will: [UInt8] = []
  var receiveMaximum: UInt32 = 0
  var maximumPacket: UInt32 = 0
  var topicAliasMaximum: UInt32 = 0
  var topicAlias: UInt32 = 0
  var subscriptionIdentifier: UInt32 = 0
  var sessionExpiry: UInt32?
  /// Of DISCONNECT.
  var lastExpiry: UInt32 = 0
  /// Packets and properties, of which only a User Property may appear twice (section 2.2.2.2).
  private var given: [(packet: PropertyPacket, identifier: Int)] = []

  func has(_ packet: PropertyPacket, _ identifier: Int) -> Bool {
    given.contains { $0.packet == packet && $0.identifier == identifier }
  }

  /// PACKET NAME VALUE, or PACKET user-property NAME VALUE.
  mutating func add(_ words: [[UInt8]]) throws(ExitError) {
    guard let packet = PropertyPacket(words[0]) else {
      throw usageError(
        "-D: \"\(words[0].printable)\" is not a packet: connect, publish, subscribe, unsubscribe, disconnect or will"
      )
    }
    guard let known = propertyNames.first(where: { words[1].lowercased == $0.name }) else {
      throw usageError("-D: there is no property \"\(words[1].printable)\"")
    }
    guard known.packets & packet.rawValue != 0 else {
      throw usageError("-D: \(words[0].lowercased.printable) cannot carry \(known.name)")
    }
    if known.kind != .pair && has(packet, known.identifier) {
      throw usageError("-D: \(words[0].lowercased.printable) can carry \(known.name) only once")
    }
    given.append((packet, known.identifier))
    var property = MQTT.Property(identifier: known.identifier, number: 0, name: [], value: words[2])
    switch known.kind {
    case .number:
      guard let number = words[2].number(in: 0...known.maximum) else {
        throw usageError(
          "-D: \(known.name) needs a number from 0 to \(known.maximum), not \"\(words[2].printable)\"")
      }
      property.number = UInt32(number)
      if try keep(known.identifier, packet, property.number) { return }
    case .pair:
      property.name = words[2]
      property.value = words[3]
    case .bytes where known.identifier == SMQ_PROPERTY_RESPONSE_TOPIC && MQTT.checkTopic(words[2]) != SMQ_OK:
      throw usageError("-D: \(known.name): \"\(words[2].printable)\" is not a topic")
    case .bytes: break
    }
    let status = put(property, known.kind, packet)
    guard status == SMQ_OK else {
      throw usageError(
        "-D: \(known.name): \(status == SMQ_ERR_UTF8 ? "the value is not UTF-8" : MQTT.statusText(status))")
    }
  }

  /// true: it is an option of the library.
  private mutating func keep(_ identifier: Int, _ packet: PropertyPacket, _ number: UInt32) throws(ExitError)
    -> Bool
  {
    switch identifier {
    case SMQ_PROPERTY_RECEIVE_MAXIMUM where number > 0: receiveMaximum = number
    // The library's receive buffer is never smaller.
    case SMQ_PROPERTY_MAXIMUM_PACKET_SIZE where number < 64:
      throw usageError("-D: maximum-packet-size has to be at least 64")
    case SMQ_PROPERTY_MAXIMUM_PACKET_SIZE: maximumPacket = number
    case SMQ_PROPERTY_TOPIC_ALIAS_MAXIMUM: topicAliasMaximum = min(number, 1024)
    case SMQ_PROPERTY_TOPIC_ALIAS where number > 0: topicAlias = number
    case SMQ_PROPERTY_SUBSCRIPTION_IDENTIFIER where number > 0: subscriptionIdentifier = number
    case SMQ_PROPERTY_SESSION_EXPIRY_INTERVAL where packet == .connect: sessionExpiry = number
    case SMQ_PROPERTY_SESSION_EXPIRY_INTERVAL:
      lastExpiry = number
      return false
    case SMQ_PROPERTY_RECEIVE_MAXIMUM, SMQ_PROPERTY_TOPIC_ALIAS, SMQ_PROPERTY_SUBSCRIPTION_IDENTIFIER:
      throw usageError("-D: this number must not be 0")
    default: return false
    }
    return true
  }

  private mutating func put(_ property: MQTT.Property, _ kind: PropertyKind, _ packet: PropertyPacket) -> Int
  {
    switch packet {
    case .connect: MQTT.put(property, kind: kind, into: &connect)
    case .publish: MQTT.put(property, kind: kind, into: &publish)
    case .subscribe: MQTT.put(property, kind: kind, into: &subscribe)
    case .unsubscribe: MQTT.put(property, kind: kind, into: &unsubscribe)
    case .disconnect: MQTT.put(property, kind: kind, into: &disconnect)
    case .will: MQTT.put(property, kind: kind, into: &will)
    }
  }
}

extension JSONWriter {
  /// Adds the properties of a message, as mosquitto_sub does. `isAlwaysText`: bytes that are not UTF-8, with which the
  /// result would be no JSON, are written in hexadecimal, and the name ends with "_hex".
  mutating func add(_ properties: [MQTT.Property], isAlwaysText: Bool = false) {
    key("properties")
    beginObject()
    var hasPairs = false
    for property in properties {
      guard let name = propertyNames.first(where: { $0.identifier == property.identifier }) else { continue }
      switch name.kind {
      case .number:
        key(name.name)
        number(Int64(property.number))
      case .bytes where isAlwaysText:
        add(name.name, property.value)
      case .bytes:
        key(name.name)
        string(property.value)
      case .pair where !hasPairs:
        // All of them in place of the first one.
        hasPairs = true
        key("user-properties")
        beginObject()
        for pair in properties where pair.identifier == property.identifier {
          key(pair.name)
          string(pair.value)
        }
        endObject()
      case .pair: break
      }
    }
    endObject()
  }

  /// Adds bytes: as they are if they are UTF-8, otherwise in hexadecimal, with "_hex" behind the name.
  mutating func add(_ name: StaticString, _ value: [UInt8]) {
    if value.isUTF8 {
      key(name)
      string(value)
    } else {
      key(name.bytes + ascii("_hex"))
      string(value.hexadecimal)
    }
  }
}
