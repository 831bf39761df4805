// Lists of properties, encoded and decoded as in a packet, without the Property Length in front.

import CMosquitto
import MQTTWire
import Storage

/// The number of bytes that `encode` writes.
func encodedSize(of list: OpaquePointer?) -> Int {
  var size = 0
  var next = unsafe PropertyNode.Property(list)
  while let property = unsafe next {
    let fields = unsafe property.pointee
    size += 1
    switch unsafe fields.kind {
    case .byte: size += 1
    case .int16: size += 2
    case .int32: size += 4
    case .variable: unsafe size += VariableByteInteger.encodedSize(Int(truncatingIfNeeded: fields.number))
    case .binary, .string: unsafe size += 2 + Int(fields.textSize)
    case .pair: unsafe size += 4 + Int(fields.textSize) + Int(fields.valueSize)
    }
    unsafe next = unsafe fields.next
  }
  return size
}

/// `memory` has room for `encodedSize(of:)`.
func encode(_ list: OpaquePointer?, into memory: UnsafeMutablePointer<UInt8>) {
  var writer = unsafe ByteWriter(MutableSpan(_unsafeStart: memory, count: encodedSize(of: list)))
  var next = unsafe PropertyNode.Property(list)
  while let property = unsafe next {
    let fields = unsafe property.pointee
    unsafe writer.put(fields.identifier)
    switch unsafe fields.kind {
    case .byte: unsafe writer.put(UInt8(truncatingIfNeeded: fields.number))
    case .int16: unsafe writer.put(UInt16(truncatingIfNeeded: fields.number))
    case .int32: unsafe writer.put(fields.number)
    case .variable: unsafe writer.put(variableByteInteger: Int(truncatingIfNeeded: fields.number))
    case .binary, .string:
      unsafe writer.put(prefixed: span(PropertyNode.text(property), Int(fields.textSize)))
    case .pair:
      unsafe writer.put(prefixed: span(PropertyNode.text(property), Int(fields.textSize)))
      unsafe writer.put(prefixed: span(PropertyNode.value(property), Int(fields.valueSize)))
    }
    unsafe next = unsafe fields.next
  }
}

/// Returns nil if there are none, if they are malformed, or if there is no memory.
func propertyList(of bytes: Span<UInt8>) -> OpaquePointer? {
  var list = unsafe PropertyAppender()
  var reader = PropertyReader(bytes, in: .anywhere)
  do throws(Malformed) {
    while let property = try reader.next() {
      let identifier = property.identifier.rawValue
      guard let rule = PropertyRule.of(Int32(identifier)) else { throw .unknownProperty }
      let new = unsafe bytes.withUnsafeBytes { bytes in
        unsafe PropertyNode.make(
          rule.kind, identifier, number: property.number,
          text: bytes.baseAddress.map { unsafe $0 + property.text.offset },
          textSize: UInt16(truncatingIfNeeded: property.text.count),
          value: unsafe bytes.baseAddress.map { unsafe $0 + property.value.offset },
          valueSize: UInt16(truncatingIfNeeded: property.value.count), isReceived: true)
      }
      guard let new = unsafe new else { throw .truncated }
      unsafe list.append(new)
    }
    return unsafe list.first
  } catch {
    var rest = unsafe list.first
    unsafe mosquitto_property_free_all(&rest)
    return nil
  }
}
