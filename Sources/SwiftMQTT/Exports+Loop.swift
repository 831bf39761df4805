// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The C functions of chapters 8, 11 and 12: events, and the loops that bring them.

import CInterface
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
  guard unsafe slot.pointee.ownerMagic == ClientHandle.liveMagic,
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

@c @implementation
public func smq_next_events(
  _ client: OpaquePointer?, _ events: UnsafeMutablePointer<smq_event>?, _ count: UInt32
) -> Int32 {
  guard 1...UInt32(Int32.max) ~= count else {
    return status { () throws(Status) in
      _ = try unsafe slot(client)
      throw unsafe events == nil ? .null : .option
    }
  }
  let first = unsafe smq_next_event(client, events)
  guard first == 1, count > 1, let handle = unsafe client, let events = unsafe events,
    unsafe events.pointee.size == UInt32(MemoryLayout<smq_event>.size)
  else { return first }
  return unsafe takeMore(UnsafeMutablePointer<ClientHandle>(handle), events, Int(count))
}

@c @implementation
public func smq_next_completions(
  _ client: OpaquePointer?, _ completions: UnsafeMutablePointer<smq_completion>?, _ count: UInt32
) -> Int32 {
  status { () throws(Status) in
    guard let completions = unsafe completions else { throw .null }
    let slot = try unsafe slot(client)
    guard 1...UInt32(Int32.max) ~= count else { throw .option }
    let client = unsafe slot.pointee.clientAddress
    if unsafe client.pointee.hasEventToRelease { unsafe client.pointee.releaseEvent() }
    var taken = 0
    while taken < Int(count) {
      if Feature.hasFastPaths, let completed = unsafe client.pointee.plainCompletion {
        unsafe completions[taken] = smq_completion(client.pointee.takePlainCompletion(completed))
      } else if let completion = unsafe client.pointee.takeBareCompletion() {
        unsafe completions[taken] = smq_completion(completion)
      } else {
        break
      }
      taken += 1
    }
    return Int32(truncatingIfNeeded: taken)
  }
}

/// Takes the events that may follow the first one of a batch. Returns how many there are with the first.
///
/// The caller guarantees room for `count` events.
@inline(never)
private func takeMore(
  _ slot: UnsafeMutablePointer<ClientHandle>, _ events: UnsafeMutablePointer<smq_event>, _ count: Int
) -> Int32 {
  let client = unsafe slot.pointee.clientAddress
  var taken = 1
  while taken < count {
    let event = unsafe events + taken
    if unsafe client.pointee.hasEventToRelease {
      guard let message = unsafe client.pointee.takeAnotherPlainMessage() else { break }
      unsafe write(message, client, event)
      if unsafe slot.pointee.hasHandlers { unsafe addHandler(slot.pointee.handlers, to: event) }
    } else if unsafe (event - 1).pointee.type != Int32(SMQ_EVENT_COMPLETED) {
      break
    } else if let completed = unsafe client.pointee.plainCompletion {
      _ = unsafe takeCompletion(completed, client, event)
    } else {
      let source = unsafe client.pointee.nextSource
      guard source != .none, unsafe take(source, slot, event) == 1 else { break }
    }
    taken += 1
  }
  return Int32(truncatingIfNeeded: taken)
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
    if unsafe slot.pointee.hasHandlers { unsafe addHandler(slot.pointee.handlers, to: event) }
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
  unsafe write(client.pointee.takePlainMessage(), client, event)
}

@inline(__always)
private func write(
  _ message: PlainMessage, _ client: UnsafeMutablePointer<Client>, _ event: UnsafeMutablePointer<smq_event>
) {
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
  if unsafe slot.pointee.hasHandlers { unsafe addHandler(slot.pointee.handlers, to: event) }
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
    unsafe StructSize.clearTail(event, size, known: MemoryLayout<smq_event>.size)
    return result
  }
}

// MARK: 11  The simple loop

@c @implementation
public func smq_wait(_ client: OpaquePointer?, _ timeout_ms: Int32) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    guard timeout_ms >= -1 else { throw .option }
    return try result(of: unsafe slot.pointee.client.wait(timeout: timeout_ms))
  }
}

/// Returns what a call that waits returns.
func result(of waiting: WaitResult) throws(Status) -> Int32 {
  switch waiting {
  case .event: return 1
  case .nothing: return 0
  case .wouldWaitForever: throw .state
  case .failed: throw .client
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
