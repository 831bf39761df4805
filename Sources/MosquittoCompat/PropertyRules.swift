// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The names of properties, the kinds of their values, and the commands that may have them.

import CMosquitto

/// How a property's value is encoded. Raw values are those of `MQTT_PROP_TYPE_…`.
enum PropertyKind: UInt8 {
  case byte = 1
  case int16, int32, variable, binary, string, pair
}

/// What libmosquitto accepts as a property: more than the specification allows. It does not distinguish what
/// a client sends from what a server sends, and accepts Reason String in a Will and in numbers that are no
/// command.
struct PropertyRule {
  let name: StaticString
  let kind: PropertyKind
  private let places: UInt32

  static func of(_ identifier: Int32) -> PropertyRule? {
    switch identifier {
    case 1: rule("payload-format-indicator", .byte, publish | will)
    case 2: rule("message-expiry-interval", .int32, publish | will)
    case 3: rule("content-type", .string, publish | will)
    case 8: rule("response-topic", .string, publish | will)
    case 9: rule("correlation-data", .binary, publish | will)
    case 11: rule("subscription-identifier", .variable, publish | subscribe)
    case 17: rule("session-expiry-interval", .int32, connect | connack | disconnect)
    case 18: rule("assigned-client-identifier", .string, connack)
    case 19: rule("server-keep-alive", .int16, connack)
    case 21: rule("authentication-method", .string, connect | connack | auth)
    case 22: rule("authentication-data", .binary, connect | connack | auth)
    case 23: rule("request-problem-information", .byte, connect)
    case 24: rule("will-delay-interval", .int32, will)
    case 25: rule("request-response-information", .byte, connect)
    case 26: rule("response-information", .string, connack)
    case 28: rule("server-reference", .string, connack | disconnect)
    case 31: rule("reason-string", .string, ~(connect | publish | subscribe | unsubscribe))
    case 33: rule("receive-maximum", .int16, connect | connack)
    case 34: rule("topic-alias-maximum", .int16, connect | connack)
    case 35: rule("topic-alias", .int16, publish)
    case 36: rule("maximum-qos", .byte, connack)
    case 37: rule("retain-available", .byte, connack)
    case userProperty: rule("user-property", .pair, ~0)
    case 39: rule("maximum-packet-size", .int32, connect | connack)
    case 40: rule("wildcard-subscription-available", .byte, connack)
    case 41: rule("subscription-identifier-available", .byte, connack)
    case 42: rule("shared-subscription-available", .byte, connack)
    default: nil
    }
  }

  func allows(command: Int32) -> Bool { places & PropertyRule.bit(of: command) != 0 }

  /// Whether libmosquitto accepts the value. Payload Format Indicator may have any.
  static func allows(_ number: UInt32, as identifier: UInt8) -> Bool {
    switch identifier {
    case 23, 25, 36, 37, 40, 41, 42: number <= 1
    case 33, 35, 39: number != 0
    default: true
    }
  }

  static var userProperty: Int32 { 38 }
  static var identifiers: ClosedRange<Int32> { 1...42 }

  private static func rule(_ name: StaticString, _ kind: PropertyKind, _ places: UInt32) -> PropertyRule {
    PropertyRule(name: name, kind: kind, places: places)
  }

  /// There is a bit for each packet, by the first half of its first byte, one for the Will, and the lowest
  /// for all numbers that are no command.
  private static func bit(of command: Int32) -> UInt32 {
    if command == 0x100 { return will }
    guard command & 0xF == 0, 0...0xF0 ~= command else { return 1 }
    return 1 << UInt32(command >> 4)
  }

  private static var connect: UInt32 { 1 << 1 }
  private static var connack: UInt32 { 1 << 2 }
  private static var publish: UInt32 { 1 << 3 }
  private static var subscribe: UInt32 { 1 << 8 }
  private static var unsubscribe: UInt32 { 1 << 10 }
  private static var disconnect: UInt32 { 1 << 14 }
  private static var auth: UInt32 { 1 << 15 }
  private static var will: UInt32 { 1 << 16 }
}

@c public func mosquitto_property_check_command(_ command: Int32, _ identifier: Int32) -> Int32 {
  guard let rule = PropertyRule.of(identifier), rule.allows(command: command) else {
    return Int32(MOSQ_ERR_PROTOCOL)
  }
  return Int32(MOSQ_ERR_SUCCESS)
}

@c public func mosquitto_property_identifier_to_string(_ identifier: Int32) -> UnsafePointer<CChar>? {
  guard let rule = PropertyRule.of(identifier) else { return nil }
  return unsafe text(rule.name)
}

@c public func mosquitto_string_to_property_info(
  _ name: UnsafePointer<CChar>?, _ identifier: UnsafeMutablePointer<Int32>?,
  _ type: UnsafeMutablePointer<Int32>?
) -> Int32 {
  guard let name = unsafe name, let identifier = unsafe identifier, let type = unsafe type else {
    return Int32(MOSQ_ERR_INVAL)
  }
  for number in PropertyRule.identifiers {
    guard let rule = PropertyRule.of(number), unsafe isSame(name, rule.name) else { continue }
    unsafe identifier.pointee = number
    unsafe type.pointee = Int32(rule.kind.rawValue)
    return Int32(MOSQ_ERR_SUCCESS)
  }
  return Int32(MOSQ_ERR_INVAL)
}
