// SUBSCRIBE and UNSUBSCRIBE beyond those for which the core has Packet Identifiers: libmosquitto has no
// limit.

import CMosquitto
import MQTTClient
import MQTTSession
import MQTTWire

/// SUBSCRIBE or UNSUBSCRIBE, with copies of all it needs.
@safe struct QueuedSubscription: BitwiseCopyable {
  let filters: Filters
  /// The filters' table and texts.
  let memory: UnsafeMutableRawPointer
  let properties: OpaquePointer?
  let cookie: UInt64

  func free() {
    var properties = unsafe properties
    unsafe mosquitto_property_free_all(&properties)
    unsafe shim_free(memory)
  }
}

extension Mosquitto.Locked {
  /// Hands SUBSCRIBE or UNSUBSCRIBE, as the cookie says, to the client.
  mutating func send(_ filters: Filters, _ properties: OpaquePointer?, _ cookie: UInt64) -> Int32 {
    guard hasClient else { return MOSQ_ERR_NO_CONN }
    var identifier: UInt32 = 0
    _ = unsafe mosquitto_property_read_varint(
      properties, Int32(PropertyIdentifier.subscriptionIdentifier.rawValue), &identifier, false)
    let encoded = unsafe EncodedProperties(properties)
    defer { encoded.free() }
    do throws(SessionError) {
      if Cookie.kind(cookie) == Cookie.unsubscribe {
        try client.unsubscribe(filters, properties: encoded.span, cookie: cookie)
      } else {
        try client.subscribe(filters, properties: encoded.span, identifier: identifier, cookie: cookie)
      }
      return MOSQ_ERR_SUCCESS
    } catch {
      return result(of: error)
    }
  }

  /// Keeps it until there is room.
  mutating func enqueue(_ filters: Filters, _ properties: OpaquePointer?, _ cookie: UInt64) -> Int32 {
    guard UInt32(state.queuedSubscriptions.count) < Limits.outboxMessages else { return MOSQ_ERR_NOMEM }
    var ownProperties: OpaquePointer? = nil
    guard let (copy, memory) = unsafe copied(filters) else { return MOSQ_ERR_NOMEM }
    guard
      unsafe mosquitto_property_copy_all(&ownProperties, properties) == MOSQ_ERR_SUCCESS || properties == nil
    else {
      unsafe shim_free(memory)
      return MOSQ_ERR_NOMEM
    }
    let subscription = unsafe QueuedSubscription(
      filters: copy, memory: memory, properties: ownProperties, cookie: cookie)
    guard state.queuedSubscriptions.append(subscription) else {
      subscription.free()
      return MOSQ_ERR_NOMEM
    }
    return MOSQ_ERR_SUCCESS
  }

  /// The filters' table, and behind it the texts.
  private func copied(_ filters: Filters) -> (Filters, UnsafeMutableRawPointer)? {
    let tableSize = unsafe filters.count * MemoryLayout<UnsafePointer<CChar>?>.stride
    var size = tableSize
    for index in 0..<filters.count { size += filters.filter(at: index).count + 1 }
    guard let memory = unsafe shim_allocate(size) else { return nil }
    let table = unsafe memory.bindMemory(to: UnsafePointer<CChar>?.self, capacity: filters.count)
    var next = unsafe memory + tableSize
    for index in 0..<filters.count {
      let filter = filters.filter(at: index)
      let text = unsafe next.bindMemory(to: CChar.self, capacity: filter.count + 1)
      for offset in 0..<filter.count { unsafe text[offset] = CChar(bitPattern: filter[offset]) }
      unsafe text[filter.count] = 0
      unsafe (table + index).initialize(to: UnsafePointer(text))
      unsafe next += filter.count + 1
    }
    return unsafe (Filters(first: table, count: filters.count, options: filters.options), memory)
  }

  /// Sends as many as there is room for. One that the server turns out not to support is refused.
  mutating func sendQueuedSubscriptions() {
    while let subscription = state.queuedSubscriptions.first {
      let cookie = subscription.cookie
      let result = unsafe send(subscription.filters, subscription.properties, cookie)
      if result == MOSQ_ERR_NOMEM || result == MOSQ_ERR_NO_CONN { return }
      state.queuedSubscriptions.removeFirst()?.free()
      if result != MOSQ_ERR_SUCCESS { callRefused(cookie, nil) }
    }
  }

  /// They end with the connection, as those that were sent do.
  mutating func freeQueuedSubscriptions() {
    while let subscription = state.queuedSubscriptions.removeFirst() { subscription.free() }
  }
}
