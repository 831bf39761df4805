// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The C functions of chapters 8, 11 and 12: events, and the loops that bring them.

public import CSwiftMQTT
import Driver
import MQTTClient
import MQTTSession
import MQTTWire
import Platform

// MARK: 8  Events

@c @implementation
public func smq_next_event(_ client: OpaquePointer?, _ event: UnsafeMutablePointer<smq_event>?) -> Int32 {
  guard let client = unsafe client, let event = unsafe event else { return unsafe nextEvent(client, event) }
  let slot = unsafe UnsafeMutablePointer<ClientSlot>(client)
  guard unsafe slot.pointee.mark == ClientSlot.aliveMark,
    unsafe event.pointee.size == UInt32(MemoryLayout<smq_event>.size)
  else { return unsafe nextEvent(client, event) }
  if unsafe slot.pointee.client.hasCompletion { return unsafe nextCompletion(slot, event) }
  return unsafe nextMessage(slot, event)
}

// Each of the short ways is a function of its own, so that none pays for the registers of the others.

@inline(never)
private func nextCompletion(
  _ slot: UnsafeMutablePointer<ClientSlot>, _ event: UnsafeMutablePointer<smq_event>
) -> Int32 {
  guard let completion = unsafe slot.pointee.client.nextPlainCompletion() else {
    return unsafe nextEvent(OpaquePointer(slot), event)
  }
  unsafe clear(event, slot.pointee.client.version)
  unsafe describe(completion, in: event)
  return 1
}

@inline(never)
private func nextMessage(
  _ slot: UnsafeMutablePointer<ClientSlot>, _ event: UnsafeMutablePointer<smq_event>
) -> Int32 {
  guard unsafe slot.pointee.client.showNextPlainMessage() else {
    return unsafe nextEvent(OpaquePointer(slot), event)
  }
  unsafe clear(event, slot.pointee.client.version)
  unsafe describe(slot.pointee.client.shownMessage, of: slot.pointee.client, slot.pointee.handlers, in: event)
  return 1
}

@inline(never)
private func nextEvent(_ client: OpaquePointer?, _ event: UnsafeMutablePointer<smq_event>?) -> Int32 {
  status { () throws(Status) in
    guard let event = unsafe event else { throw .null }
    let slot = try unsafe slot(client)
    let size = unsafe event.pointee.size
    guard unsafe size >= UInt32(MemoryLayout<smq_event>.size), size <= 4096 else { throw .structSize }
    let next = unsafe slot.pointee.client.nextEvent()
    unsafe clear(event, slot.pointee.client.version)
    unsafe event.pointee.size = size
    unsafe clearTail(event, size, known: MemoryLayout<smq_event>.size)
    guard let next else {
      unsafe event.pointee.protocol = 0
      return 0
    }
    unsafe describe(next, of: slot.pointee.client, slot.pointee.handlers, in: &event.pointee)
    return 1
  }
}

// MARK: 11  The simple loop

@c @implementation
public func smq_wait(_ client: OpaquePointer?, _ timeout_ms: Int32) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    guard timeout_ms >= -1 else { throw .option }
    switch unsafe slot.pointee.client.wait(timeout: timeout_ms) {
    case .event: return 1
    case .nothing: return 0
    case .wouldWaitForever: throw .state
    case .failed: throw .client
    }
  }
}

// MARK: 12  A loop of your own

@c @implementation
public func smq_fd(_ client: OpaquePointer?) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    guard unsafe !slot.pointee.client.isCallerDriven else { throw .state }
    return unsafe slot.pointee.client.descriptor
  }
}

@c @implementation
public func smq_next_timeout_ms(_ client: OpaquePointer?) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    return unsafe slot.pointee.client.nextTimeout(at: now(slot))
  }
}

@c @implementation
public func smq_service(_ client: OpaquePointer?) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    return unsafe slot.pointee.client.service(at: now(slot)) ? 1 : 0
  }
}

@c @implementation
public func smq_flush(_ client: OpaquePointer?) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    guard unsafe !slot.pointee.client.isCallerDriven else { throw .state }
    return unsafe slot.pointee.client.flush(at: now(slot)) ? 1 : 0
  }
}
