// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The C functions of chapters 8, 11 and 12: events, and the loops that bring them.

public import CSwiftMQTT
import Driver
import MQTTClient
import MQTTSession
import MQTTWire
import Platform
import Storage

// MARK: 8  Events

@c @implementation
public func smq_next_event(_ client: OpaquePointer?, _ event: UnsafeMutablePointer<smq_event>?) -> Int32 {
  guard let handle = unsafe client, let event = unsafe event else { return unsafe nextEvent(client, event) }
  let slot = unsafe UnsafeMutablePointer<ClientHandle>(handle)
  guard unsafe slot.pointee.magic == ClientHandle.liveMagic,
    unsafe event.pointee.size == UInt32(MemoryLayout<smq_event>.size)
  else { return unsafe nextEvent(client, event) }
  guard Feature.hasFastPaths else { return unsafe releaseAndTake(slot, event) }
  // A completion follows no event that has to be released, and does not need the path of a message.
  let client = unsafe slot.pointee.clientAddress
  if unsafe client.pointee.hasEventToRelease { return unsafe releaseAndTake(slot, event) }
  if let completed = unsafe client.pointee.plainCompletion {
    return unsafe takeCompletion(completed, client, event)
  }
  return unsafe take(client.pointee.nextSource, slot, event)
}

@inline(never)
private func releaseAndTake(
  _ slot: UnsafeMutablePointer<ClientHandle>, _ event: UnsafeMutablePointer<smq_event>
) -> Int32 {
  // It is read once: reading it again after each field of the event would cost as many loads.
  let client = unsafe slot.pointee.clientAddress
  switch unsafe client.pointee.advanceToNextEvent() {
  case .plainMessage where Feature.hasFastPaths:
    unsafe takePlainMessage(client, event)
    if unsafe !slot.pointee.handlers.isEmpty { unsafe addHandler(slot.pointee.handlers, to: event) }
    return 1
  case let source: return unsafe take(source, slot, event)
  }
}

@inline(never)
private func takeCompletion(
  _ completed: Int, _ client: UnsafeMutablePointer<Client>, _ event: UnsafeMutablePointer<smq_event>
) -> Int32 {
  let completion = unsafe client.pointee.takePlainCompletion(completed)
  unsafe clear(event, client.pointee.version)
  unsafe describe(completion, type: Int32(SMQ_EVENT_COMPLETED), in: event)
  return 1
}

@inline(__always)
private func takePlainMessage(
  _ client: UnsafeMutablePointer<Client>, _ event: UnsafeMutablePointer<smq_event>
) {
  let message = unsafe client.pointee.takePlainMessage()
  unsafe clear(event, client.pointee.version)
  unsafe describe(MessageEvent(message), of: client.pointee, in: event)
}

@inline(never)
private func take(
  _ source: EventSource, _ slot: UnsafeMutablePointer<ClientHandle>, _ event: UnsafeMutablePointer<smq_event>
) -> Int32 {
  let next = unsafe slot.pointee.client.take(source)
  unsafe clear(event, slot.pointee.client.version)
  guard let next else {
    unsafe event.pointee.protocol = 0
    return 0
  }
  unsafe describe(next, of: slot.pointee.client, in: event)
  if unsafe !slot.pointee.handlers.isEmpty { unsafe addHandler(slot.pointee.handlers, to: event) }
  return 1
}

/// Does the same for a handle or a struct that needs more checks.
@inline(never)
private func nextEvent(_ client: OpaquePointer?, _ event: UnsafeMutablePointer<smq_event>?) -> Int32 {
  status { () throws(Status) in
    guard let event = unsafe event else { throw .null }
    let slot = try unsafe slot(client)
    let size = unsafe event.pointee.size
    guard unsafe size >= UInt32(MemoryLayout<smq_event>.size), size <= 4096 else { throw .structSize }
    let result = unsafe releaseAndTake(slot, event)
    unsafe event.pointee.size = size
    unsafe clearTail(event, size, known: MemoryLayout<smq_event>.size)
    return result
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
