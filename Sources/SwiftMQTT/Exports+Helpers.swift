// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The C functions of chapters 2 and 16: properties, topics, templates. They need no client.

import CInterface
public import CSwiftMQTT
import MQTTSession
import MQTTWire
import Platform
import Storage

// MARK: 2  Properties

@c @implementation
public func smq_property_put_number(
  _ list: UnsafeMutablePointer<smq_properties>?, _ identifier: UInt32, _ value: UInt32
) -> Int32 {
  status { () throws(Status) in
    try unsafe append(to: list) { (room) throws(PropertyEncoder.Fault) in
      try PropertyEncoder.encode(identifier, number: value, into: &room)
    }
  }
}

@c @implementation
public func smq_property_put_bytes(
  _ list: UnsafeMutablePointer<smq_properties>?, _ identifier: UInt32,
  _ value: UnsafePointer<smq_bytes>?
) -> Int32 {
  status { () throws(Status) in
    guard unsafe value != nil else { throw .null }
    let bytes = try unsafe span(value)
    return try unsafe append(to: list) { (room) throws(PropertyEncoder.Fault) in
      try PropertyEncoder.encode(identifier, bytes: bytes, into: &room)
    }
  }
}

@c @implementation
public func smq_property_put_pair(
  _ list: UnsafeMutablePointer<smq_properties>?, _ name: UnsafePointer<smq_bytes>?,
  _ value: UnsafePointer<smq_bytes>?
) -> Int32 {
  status { () throws(Status) in
    guard unsafe name != nil, unsafe value != nil else { throw .null }
    let name = try unsafe span(name)
    let value = try unsafe span(value)
    return try unsafe append(to: list) { (room) throws(PropertyEncoder.Fault) in
      try PropertyEncoder.encode(name: name, value: value, into: &room)
    }
  }
}

/// Lets `encode` write behind what is in a list, and counts what it wrote.
@inline(__always)
private func append(
  to list: UnsafeMutablePointer<smq_properties>?,
  _ encode: (inout MutableSpan<UInt8>) throws(PropertyEncoder.Fault) -> Int
) throws(Status) -> Int32 {
  guard let list = unsafe list, let data = unsafe list.pointee.data else { throw .null }
  let size = unsafe list.pointee.size
  let capacity = unsafe min(list.pointee.capacity, 0x7FFF_FFFF)
  guard size >= 0, size <= capacity else { throw .full }
  var room = unsafe MutableSpan<UInt8>(
    _unsafeStart: data.assumingMemoryBound(to: UInt8.self) + size, count: capacity - size)
  do throws(PropertyEncoder.Fault) {
    unsafe list.pointee.size = size + (try encode(&room))
  } catch {
    switch error {
    case .property: throw .property
    case .utf8: throw .utf8
    case .full: throw .full
    }
  }
  return Status.ok.rawValue
}

@c @implementation
public func smq_property_next(
  _ list: UnsafePointer<smq_bytes>?, _ position: UnsafeMutablePointer<Int>?,
  _ property: UnsafeMutablePointer<smq_property>?
) -> Int32 {
  status { () throws(Status) in
    guard unsafe list != nil, let position = unsafe position, let property = unsafe property else {
      throw .null
    }
    let size = unsafe property.pointee.size
    guard unsafe size >= UInt32(MemoryLayout<smq_property>.size), size <= 4096 else { throw .structSize }
    let bytes = try unsafe span(list)
    let start = unsafe position.pointee
    guard start >= 0, start <= bytes.count else { throw .property }
    let rest = bytes.extracting(start...)
    var reader = PropertyReader(rest, in: .anywhere)
    var result = unsafe smq_property()
    unsafe result.size = size
    var found = false
    do throws(Malformed) {
      if let next = try reader.next() {
        found = true
        unsafe result.identifier = UInt32(next.identifier.rawValue)
        unsafe result.number = next.number
        let isPair = next.identifier == .userProperty
        if isPair { unsafe result.name = pointer(rest, next.text) }
        unsafe result.value = pointer(rest, isPair ? next.value : next.text)
        unsafe position.pointee = start + reader.position
      }
    } catch {
      throw .property
    }
    unsafe property.pointee = result
    unsafe StructSize.clearTail(property, size, known: MemoryLayout<smq_property>.size)
    return found ? 1 : 0
  }
}

private func pointer(_ list: Span<UInt8>, _ extent: ByteRange) -> smq_bytes {
  guard !extent.isEmpty else { return unsafe smq_bytes() }
  return unsafe list.extracting(extent.range).withUnsafeBytes { bytes in
    unsafe smq_bytes(data: bytes.baseAddress, size: bytes.count)
  }
}

// MARK: 16  Helpers

@c @implementation
public func smq_topic_name_check(_ topic: UnsafePointer<smq_bytes>?) -> Int32 {
  status { () throws(Status) in
    guard unsafe topic != nil else { throw .null }
    try checkName(try unsafe span(topic))
    return Status.ok.rawValue
  }
}

@c @implementation
public func smq_topic_filter_check(_ filter: UnsafePointer<smq_bytes>?) -> Int32 {
  status { () throws(Status) in
    guard unsafe filter != nil else { throw .null }
    try checkFilter(try unsafe span(filter))
    return Status.ok.rawValue
  }
}

@c @implementation
public func smq_topic_matches(
  _ filter: UnsafePointer<smq_bytes>?, _ topic: UnsafePointer<smq_bytes>?
) -> Int32 {
  status { () throws(Status) in
    guard unsafe filter != nil, unsafe topic != nil else { throw .null }
    let filter = try unsafe span(filter)
    let topic = try unsafe span(topic)
    try checkFilter(filter)
    try checkName(topic)
    return TopicFilter.matches(filter, topic: topic) ? 1 : 0
  }
}

private func checkName(_ topic: Span<UInt8>) throws(Status) {
  do throws(TopicName.Fault) {
    try TopicName.validate(topic)
  } catch {
    throw Status(error)
  }
}

private func checkFilter(_ filter: Span<UInt8>) throws(Status) {
  do throws(TopicFilter.Fault) {
    try TopicFilter.validate(filter)
  } catch {
    throw Status(error)
  }
}

@c @implementation
public func smq_expand_template(
  _ template_text: UnsafePointer<smq_bytes>?, _ buffer: UnsafeMutableRawPointer?, _ capacity: Int
) -> Int32 {
  status { () throws(Status) in
    guard unsafe template_text != nil else { throw .null }
    let text = try unsafe span(template_text)
    var size = text.count
    for index in 0..<text.count where text[index] == Connect.placeholder { size += 1 }
    guard unsafe size == 0 || buffer != nil else { throw .null }
    // A capacity with its highest bit set is a very large one, not a negative number.
    guard capacity < 0 || size <= capacity, size <= Int(Int32.max) else { throw .full }
    guard let start = unsafe buffer?.assumingMemoryBound(to: UInt8.self) else { return 0 }
    var target = unsafe MutableSpan<UInt8>(_unsafeStart: start, count: size)
    var position = 0
    for index in 0..<text.count {
      if text[index] == Connect.placeholder {
        let byte = UInt8(truncatingIfNeeded: Clock.randomNumber())
        target[position] = HexDigit.upperCase(byte >> 4)
        position += 1
        target[position] = HexDigit.upperCase(byte & 15)
      } else {
        target[position] = text[index]
      }
      position += 1
    }
    return Int32(truncatingIfNeeded: size)
  }
}
