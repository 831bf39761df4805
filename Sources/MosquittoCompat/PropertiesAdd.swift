// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// These add a property to a list. mosquitto_property_check_all() checks whether a command may have it.

import CMosquitto
import MQTTWire

@c public func mosquitto_property_add_byte(
  _ list: UnsafeMutablePointer<OpaquePointer?>?, _ identifier: Int32, _ value: UInt8
) -> Int32 {
  unsafe addNumber(list, identifier, .byte, UInt32(value))
}

@c public func mosquitto_property_add_int16(
  _ list: UnsafeMutablePointer<OpaquePointer?>?, _ identifier: Int32, _ value: UInt16
) -> Int32 {
  unsafe addNumber(list, identifier, .int16, UInt32(value))
}

@c public func mosquitto_property_add_int32(
  _ list: UnsafeMutablePointer<OpaquePointer?>?, _ identifier: Int32, _ value: UInt32
) -> Int32 {
  unsafe addNumber(list, identifier, .int32, value)
}

@c public func mosquitto_property_add_varint(
  _ list: UnsafeMutablePointer<OpaquePointer?>?, _ identifier: Int32, _ value: UInt32
) -> Int32 {
  guard value <= UInt32(VariableByteInteger.maximum) else { return Int32(MOSQ_ERR_INVAL) }
  return unsafe addNumber(list, identifier, .variable, value)
}

@c public func mosquitto_property_add_binary(
  _ list: UnsafeMutablePointer<OpaquePointer?>?, _ identifier: Int32, _ value: UnsafeRawPointer?,
  _ size: UInt16
) -> Int32 {
  guard let list = unsafe list, PropertyRule.of(identifier)?.kind == .binary, unsafe value != nil || size == 0
  else {
    return Int32(MOSQ_ERR_INVAL)
  }
  return unsafe add(list, PropertyNode.make(.binary, UInt8(identifier), text: value, textSize: size))
}

/// NULL is taken as an empty string.
@c public func mosquitto_property_add_string(
  _ list: UnsafeMutablePointer<OpaquePointer?>?, _ identifier: Int32, _ value: UnsafePointer<CChar>?
) -> Int32 {
  guard let list = unsafe list else { return Int32(MOSQ_ERR_INVAL) }
  guard unsafe isText(value) else { return Int32(MOSQ_ERR_MALFORMED_UTF8) }
  guard PropertyRule.of(identifier)?.kind == .string else { return Int32(MOSQ_ERR_INVAL) }
  return unsafe add(list, PropertyNode.make(.string, UInt8(identifier), text: value, textSize: length(value)))
}

/// The value is not checked, as in libmosquitto. A list with a value that is not UTF-8 cannot be sent.
@c public func mosquitto_property_add_string_pair(
  _ list: UnsafeMutablePointer<OpaquePointer?>?, _ identifier: Int32, _ name: UnsafePointer<CChar>?,
  _ value: UnsafePointer<CChar>?
) -> Int32 {
  guard let list = unsafe list, PropertyRule.of(identifier)?.kind == .pair else {
    return Int32(MOSQ_ERR_INVAL)
  }
  guard unsafe isText(name) else { return Int32(MOSQ_ERR_MALFORMED_UTF8) }
  return unsafe add(
    list,
    PropertyNode.make(
      .pair, UInt8(identifier), text: name, textSize: length(name), value: value, valueSize: length(value)))
}

private func addNumber(
  _ list: UnsafeMutablePointer<OpaquePointer?>?, _ identifier: Int32, _ kind: PropertyKind, _ number: UInt32
) -> Int32 {
  guard let list = unsafe list, PropertyRule.of(identifier)?.kind == kind else {
    return Int32(MOSQ_ERR_INVAL)
  }
  return unsafe add(list, PropertyNode.make(kind, UInt8(identifier), number: number))
}

private func add(_ list: UnsafeMutablePointer<OpaquePointer?>, _ property: PropertyNode.Property?) -> Int32 {
  guard let property = unsafe property else { return Int32(MOSQ_ERR_NOMEM) }
  var appender = unsafe PropertyAppender(list.pointee)
  unsafe appender.append(property)
  unsafe list.pointee = unsafe appender.first
  return Int32(MOSQ_ERR_SUCCESS)
}

private func isText(_ string: UnsafePointer<CChar>?) -> Bool {
  guard let string = unsafe string else { return true }
  return unsafe mosquitto_validate_utf8(string, Int32(clamping: shim_length(string)))
    == Int32(MOSQ_ERR_SUCCESS)
}

/// The length as two bytes of the wire: 65,536 becomes 0, as in libmosquitto.
private func length(_ string: UnsafePointer<CChar>?) -> UInt16 {
  guard let string = unsafe string else { return 0 }
  return unsafe UInt16(truncatingIfNeeded: shim_length(string))
}
