// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The levels of a topic, as an array of strings that mosquitto_sub_topic_tokens_free() frees. An empty level
// is NULL.

import CMosquitto

@c public func mosquitto_sub_topic_tokenise(
  _ topic: UnsafePointer<CChar>?,
  _ levels: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>?,
  _ count: UnsafeMutablePointer<Int32>?
) -> Int32 {
  guard let topic = unsafe topic, let levels = unsafe levels, let count = unsafe count else {
    return Int32(MOSQ_ERR_INVAL)
  }
  let bytes = unsafe span(topic)
  var number = 1
  for index in 0..<bytes.count where bytes[index] == slash { number += 1 }
  guard let total = Int32(exactly: number),
    let memory = unsafe shim_allocate(number * MemoryLayout<UnsafeMutablePointer<CChar>?>.stride)
  else { return Int32(MOSQ_ERR_NOMEM) }
  let array = unsafe memory.bindMemory(to: UnsafeMutablePointer<CChar>?.self, capacity: number)
  var start = 0
  for level in 0..<number {
    var end = start
    while end < bytes.count, bytes[end] != slash { end += 1 }
    if end > start {
      unsafe array[level] = unsafe shim_copy(topic + start, end - start)
      guard unsafe array[level] != nil else {
        unsafe free(array, number)
        return Int32(MOSQ_ERR_NOMEM)
      }
    }
    start = end + 1
  }
  unsafe levels.pointee = unsafe array
  unsafe count.pointee = total
  return Int32(MOSQ_ERR_SUCCESS)
}

@c public func mosquitto_sub_topic_tokens_free(
  _ levels: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>?, _ count: Int32
) -> Int32 {
  guard let array = unsafe levels?.pointee, count > 0 else { return Int32(MOSQ_ERR_INVAL) }
  unsafe free(array, Int(count))
  return Int32(MOSQ_ERR_SUCCESS)
}

private var slash: UInt8 { UInt8(ascii: "/") }

private func free(_ array: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>, _ count: Int) {
  for index in 0..<count { unsafe shim_free(array[index]) }
  unsafe shim_free(array)
}
