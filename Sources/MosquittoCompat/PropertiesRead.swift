// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// These read the value of a property in a list. Each returns the property, from which a program goes on with
// skip_first. Strings and bytes are copies with a zero behind them, and the program frees them.

import CMosquitto

@c public func mosquitto_property_read_byte(
  _ list: OpaquePointer?, _ identifier: Int32, _ value: UnsafeMutablePointer<UInt8>?, _ skip_first: Bool
) -> OpaquePointer? {
  guard let property = unsafe PropertyNode.find(identifier, .byte, in: list, skipFirst: skip_first) else {
    return nil
  }
  unsafe value?.pointee = unsafe UInt8(truncatingIfNeeded: property.pointee.number)
  return OpaquePointer(property)
}

@c public func mosquitto_property_read_int16(
  _ list: OpaquePointer?, _ identifier: Int32, _ value: UnsafeMutablePointer<UInt16>?, _ skip_first: Bool
) -> OpaquePointer? {
  guard let property = unsafe PropertyNode.find(identifier, .int16, in: list, skipFirst: skip_first) else {
    return nil
  }
  unsafe value?.pointee = unsafe UInt16(truncatingIfNeeded: property.pointee.number)
  return OpaquePointer(property)
}

@c public func mosquitto_property_read_int32(
  _ list: OpaquePointer?, _ identifier: Int32, _ value: UnsafeMutablePointer<UInt32>?, _ skip_first: Bool
) -> OpaquePointer? {
  guard let property = unsafe PropertyNode.find(identifier, .int32, in: list, skipFirst: skip_first) else {
    return nil
  }
  unsafe value?.pointee = unsafe property.pointee.number
  return OpaquePointer(property)
}

@c public func mosquitto_property_read_varint(
  _ list: OpaquePointer?, _ identifier: Int32, _ value: UnsafeMutablePointer<UInt32>?, _ skip_first: Bool
) -> OpaquePointer? {
  guard let property = unsafe PropertyNode.find(identifier, .variable, in: list, skipFirst: skip_first) else {
    return nil
  }
  unsafe value?.pointee = unsafe property.pointee.number
  return OpaquePointer(property)
}

/// The program asks for value and size together or for neither. If the property is not found, the value
/// becomes NULL and the size does not change.
@c public func mosquitto_property_read_binary(
  _ list: OpaquePointer?, _ identifier: Int32, _ value: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
  _ size: UnsafeMutablePointer<UInt16>?, _ skip_first: Bool
) -> OpaquePointer? {
  guard unsafe list != nil, unsafe (value == nil) == (size == nil) else { return nil }
  unsafe value?.pointee = nil
  guard let property = unsafe PropertyNode.find(identifier, .binary, in: list, skipFirst: skip_first) else {
    return nil
  }
  if let value = unsafe value, let size = unsafe size {
    guard let copy = unsafe copyOfText(property) else { return nil }
    unsafe value.pointee = UnsafeMutableRawPointer(copy)
    unsafe size.pointee = unsafe property.pointee.textSize
  }
  return OpaquePointer(property)
}

/// Here the value does not change if the property is not found.
@c public func mosquitto_property_read_string(
  _ list: OpaquePointer?, _ identifier: Int32, _ value: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?,
  _ skip_first: Bool
) -> OpaquePointer? {
  guard let property = unsafe PropertyNode.find(identifier, .string, in: list, skipFirst: skip_first) else {
    return nil
  }
  if let value = unsafe value {
    guard let copy = unsafe copyOfText(property) else { return nil }
    unsafe value.pointee = unsafe copy
  }
  return OpaquePointer(property)
}

/// The program may ask for the name or the value alone. If there is no memory for one, it gets neither.
@c public func mosquitto_property_read_string_pair(
  _ list: OpaquePointer?, _ identifier: Int32, _ name: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?,
  _ value: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, _ skip_first: Bool
) -> OpaquePointer? {
  guard unsafe list != nil else { return nil }
  unsafe name?.pointee = nil
  unsafe value?.pointee = nil
  guard let property = unsafe PropertyNode.find(identifier, .pair, in: list, skipFirst: skip_first) else {
    return nil
  }
  if let name = unsafe name {
    guard let copy = unsafe copyOfText(property) else { return nil }
    unsafe name.pointee = unsafe copy
  }
  if let value = unsafe value {
    guard let copy = unsafe shim_copy(PropertyNode.value(property), Int(property.pointee.valueSize)) else {
      unsafe shim_free(name?.pointee)
      unsafe name?.pointee = nil
      return nil
    }
    unsafe value.pointee = unsafe copy
  }
  return OpaquePointer(property)
}

private func copyOfText(_ property: PropertyNode.Property) -> UnsafeMutablePointer<CChar>? {
  unsafe shim_copy(PropertyNode.text(property), Int(property.pointee.textSize))
}
