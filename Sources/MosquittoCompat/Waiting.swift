// SUBSCRIBE and UNSUBSCRIBE beyond those that the core has Packet Identifiers for: libmosquitto knows no bound.

import CMosquitto
import MQTTClient
import MQTTSession
import MQTTWire

/// A request in a list, with copies of all it needs.
@unsafe struct WaitingRequest {
  var next: UnsafeMutablePointer<WaitingRequest>?
  let filters: Filters
  var properties: OpaquePointer?
  let cookie: UInt64
}

extension UnsafeMutablePointer where Pointee == Mosquitto {
  /// To the client. With the lock held.
  func send(_ filters: Filters, _ properties: OpaquePointer?, _ cookie: UInt64) -> Int32 {
    guard let client = unsafe pointee.client else { return MOSQ_ERR_NO_CONN }
    var identifier: UInt32 = 0
    _ = unsafe mosquitto_property_read_varint(
      properties, Int32(PropertyIdentifier.subscriptionIdentifier.rawValue), &identifier, false)
    let encoded = unsafe EncodedProperties(properties)
    defer { unsafe encoded.free() }
    do throws(SessionError) {
      if Cookie.kind(cookie) == Cookie.unsubscribe {
        try unsafe client.pointee.unsubscribe(filters, properties: encoded.span, cookie: cookie)
      } else {
        try unsafe client.pointee.subscribe(
          filters, properties: encoded.span, identifier: identifier, cookie: cookie)
      }
      return MOSQ_ERR_SUCCESS
    } catch {
      return unsafe number(error)
    }
  }

  /// Until there is room. With the lock held.
  func keep(_ filters: Filters, _ properties: OpaquePointer?, _ cookie: UInt64) -> Int32 {
    guard unsafe pointee.waitingCount < Limits.outboxMessages else { return MOSQ_ERR_NOMEM }
    let tableSize = unsafe filters.count * MemoryLayout<UnsafePointer<CChar>?>.stride
    var size = unsafe MemoryLayout<WaitingRequest>.stride + tableSize
    for index in unsafe 0..<filters.count { unsafe size += filters.filter(at: index).count + 1 }
    var ownProperties: OpaquePointer? = nil
    guard let memory = unsafe shim_allocate(size) else { return MOSQ_ERR_NOMEM }
    guard
      unsafe mosquitto_property_copy_all(&ownProperties, properties) == MOSQ_ERR_SUCCESS || properties == nil
    else {
      unsafe shim_free(memory)
      return MOSQ_ERR_NOMEM
    }
    let request = unsafe memory.bindMemory(to: WaitingRequest.self, capacity: 1)
    let table = unsafe (memory + MemoryLayout<WaitingRequest>.stride)
      .bindMemory(to: UnsafePointer<CChar>?.self, capacity: filters.count)
    var next = unsafe (memory + MemoryLayout<WaitingRequest>.stride + tableSize)
    for index in unsafe 0..<filters.count {
      let filter = unsafe filters.filter(at: index)
      let text = unsafe next.bindMemory(to: CChar.self, capacity: filter.count + 1)
      for offset in 0..<filter.count { unsafe text[offset] = CChar(bitPattern: filter[offset]) }
      unsafe text[filter.count] = 0
      unsafe (table + index).initialize(to: UnsafePointer(text))
      unsafe next += filter.count + 1
    }
    unsafe request.initialize(
      to: WaitingRequest(
        next: nil, filters: Filters(first: table, count: filters.count, options: filters.options),
        properties: ownProperties, cookie: cookie))
    if let last = unsafe pointee.waitingLast {
      unsafe last.pointee.next = unsafe request
    } else {
      unsafe pointee.waiting = unsafe request
    }
    unsafe pointee.waitingLast = unsafe request
    unsafe pointee.waitingCount &+= 1
    return MOSQ_ERR_SUCCESS
  }

  /// As many as there is room for. One that the server turns out not to take is refused. With the lock held.
  func sendWaiting() {
    while let request = unsafe pointee.waiting {
      let cookie = unsafe request.pointee.cookie
      let result = unsafe send(request.pointee.filters, request.pointee.properties, cookie)
      if result == MOSQ_ERR_NOMEM || result == MOSQ_ERR_NO_CONN { return }
      unsafe dropWaiting()
      if result != MOSQ_ERR_SUCCESS { unsafe tellRefused(cookie, nil) }
    }
  }

  /// They end with the connection, as those that were sent do.
  func freeWaiting() {
    while unsafe pointee.waiting != nil { unsafe dropWaiting() }
  }

  private func dropWaiting() {
    guard let request = unsafe pointee.waiting else { return }
    unsafe pointee.waiting = unsafe request.pointee.next
    if unsafe pointee.waiting == nil { unsafe pointee.waitingLast = nil }
    unsafe pointee.waitingCount &-= 1
    unsafe mosquitto_property_free_all(&request.pointee.properties)
    unsafe shim_free(request)
  }
}
