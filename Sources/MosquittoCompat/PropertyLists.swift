// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// Functions for a list of properties as a whole.

import CMosquitto

@c public func mosquitto_property_identifier(_ property: OpaquePointer?) -> Int32 {
  guard let property = unsafe PropertyNode.Property(property) else { return 0 }
  return unsafe Int32(property.pointee.identifier)
}

@c public func mosquitto_property_next(_ property: OpaquePointer?) -> OpaquePointer? {
  unsafe OpaquePointer(PropertyNode.Property(property)?.pointee.next)
}

@c public func mosquitto_property_free_all(_ list: UnsafeMutablePointer<OpaquePointer?>?) {
  guard let list = unsafe list else { return }
  var next = unsafe PropertyNode.Property(list.pointee)
  while let property = unsafe next {
    unsafe next = unsafe property.pointee.next
    unsafe shim_forget(property, PropertyNode.size(property))
  }
  unsafe list.pointee = nil
}

/// Without a list there is nothing to copy, and the target does not change.
@c public func mosquitto_property_copy_all(
  _ target: UnsafeMutablePointer<OpaquePointer?>?, _ list: OpaquePointer?
) -> Int32 {
  guard unsafe list != nil else { return Int32(MOSQ_ERR_SUCCESS) }
  guard let target = unsafe target else { return Int32(MOSQ_ERR_INVAL) }
  var copy = unsafe PropertyAppender()
  var next = unsafe PropertyNode.Property(list)
  unsafe target.pointee = nil
  while let property = unsafe next {
    guard let new = unsafe PropertyNode.copy(property) else {
      var rest = unsafe copy.first
      unsafe mosquitto_property_free_all(&rest)
      return Int32(MOSQ_ERR_NOMEM)
    }
    unsafe copy.append(new)
    unsafe next = unsafe property.pointee.next
  }
  unsafe target.pointee = unsafe copy.first
  return Int32(MOSQ_ERR_SUCCESS)
}

/// Checks for each property its value, its command, and that it occurs only once, unless it is a User
/// Property.
@c public func mosquitto_property_check_all(_ command: Int32, _ list: OpaquePointer?) -> Int32 {
  var next = unsafe PropertyNode.Property(list)
  while let property = unsafe next {
    let identifier = unsafe property.pointee.identifier
    guard unsafe PropertyRule.allows(property.pointee.number, as: identifier),
      PropertyRule.of(Int32(identifier))?.allows(command: command) == true
    else { return Int32(MOSQ_ERR_PROTOCOL) }
    unsafe next = unsafe property.pointee.next
    guard Int32(identifier) != PropertyRule.userProperty else { continue }
    var other = unsafe next
    while let another = unsafe other {
      guard unsafe another.pointee.identifier != identifier else { return Int32(MOSQ_ERR_DUPLICATE_PROPERTY) }
      unsafe other = unsafe another.pointee.next
    }
  }
  return Int32(MOSQ_ERR_SUCCESS)
}
