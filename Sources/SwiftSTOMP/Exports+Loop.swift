// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The C functions of chapters 8 to 11: events, the loops that bring them, and the bare engine.

import CInterface
public import CSwiftSTOMP
import Driver
import Platform
import STOMPClient
import STOMPSession
import STOMPWire
import Storage

// MARK: 8  Events

@_optimize(speed)
@c @implementation
public func sst_next_event(_ client: OpaquePointer?, _ event: UnsafeMutablePointer<sst_event>?) -> Int32 {
  guard let handle = unsafe client, let event = unsafe event else { return unsafe nextEvent(client, event) }
  let slot = unsafe UnsafeMutablePointer<ClientHandle>(handle)
  guard unsafe slot.pointee.magic == ClientHandle.liveMagic,
    unsafe event.pointee.size == UInt32(MemoryLayout<sst_event>.size)
  else { return unsafe nextEvent(handle, event) }
  unsafe clear(event)
  guard unsafe slot.pointee.client.takeMessage() else { return unsafe takeAny(slot, event) }
  unsafe describeMessage(of: slot.pointee.client, in: &event.pointee)
  unsafe event.pointee.size = UInt32(MemoryLayout<sst_event>.size)
  return 1
}

@inline(never)
private func nextEvent(_ client: OpaquePointer?, _ event: UnsafeMutablePointer<sst_event>?) -> Int32 {
  status { () throws(Status) in
    guard let event = unsafe event else { throw .null }
    let slot = try unsafe slot(client)
    let (size, known) = unsafe (event.pointee.size, MemoryLayout<sst_event>.size)
    guard StructSize.isRoom(size, known: known) else { throw .structSize }
    unsafe clear(event)
    let found = unsafe takeAny(slot, event)
    unsafe event.pointee.size = size
    unsafe StructSize.clearTail(event, size, known: known)
    return found
  }
}

/// The event is cleared.
@inline(never)
private func takeAny(
  _ slot: UnsafeMutablePointer<ClientHandle>, _ event: UnsafeMutablePointer<sst_event>
) -> Int32 {
  let next = unsafe slot.pointee.client.nextEvent()
  if let next { unsafe describe(next, of: slot.pointee.client, in: event) }
  unsafe event.pointee.size = UInt32(MemoryLayout<sst_event>.size)
  return next == nil ? 0 : 1
}

@c @implementation
public func sst_header_next(
  _ event: UnsafePointer<sst_event>?, _ position: UnsafeMutablePointer<Int>?,
  _ name: UnsafeMutablePointer<sst_bytes>?, _ value: UnsafeMutablePointer<sst_bytes>?
) -> Int32 {
  status { () throws(Status) in
    guard let event = unsafe event, let position = unsafe position, let name = unsafe name,
      let value = unsafe value
    else { throw .null }
    return unsafe try nextHeader(event, &position.pointee, &name.pointee, &value.pointee) ? 1 : 0
  }
}

@c @implementation
public func sst_header_find(
  _ event: UnsafePointer<sst_event>?, _ name: UnsafePointer<sst_bytes>?,
  _ value: UnsafeMutablePointer<sst_bytes>?
) -> Int32 {
  status { () throws(Status) in
    guard let event = unsafe event, let name = unsafe name, let value = unsafe value else { throw .null }
    let wanted = try unsafe span(name.pointee)
    var position = 0
    var (found, text) = unsafe (sst_bytes(), sst_bytes())
    while unsafe try nextHeader(event, &position, &found, &text) {
      if areEqual(try unsafe span(found), wanted) {
        unsafe value.pointee = text
        return 1
      }
    }
    unsafe value.pointee = sst_bytes()
    return 0
  }
}

private func nextHeader(
  _ event: UnsafePointer<sst_event>, _ position: inout Int, _ name: inout sst_bytes, _ value: inout sst_bytes
) throws(Status) -> Bool {
  guard unsafe StructSize.isRoom(event.pointee.size, known: MemoryLayout<sst_event>.size) else {
    throw .structSize
  }
  let lines = try unsafe span(event.pointee.headers)
  // What `HeaderReader.strips` says of CONNECTED and ERROR.
  let strips =
    unsafe event.pointee.type != Int32(SST_EVENT_MESSAGE)
    || event.pointee.version == UInt32(SST_STOMP_1_2)
  var reader = HeaderReader(lines, strips: strips, from: position)
  guard let header = reader.next() else { return false }
  position = reader.position
  unsafe name = bytes(lines.extracting(header.name.range))
  unsafe value = bytes(lines.extracting(header.value.range))
  return true
}

@c @implementation
public func sst_describe_event(
  _ event: UnsafePointer<sst_event>?, _ text: UnsafeMutablePointer<CChar>?, _ capacity: Int
) -> Int {
  var line = unsafe TextWriter(text, capacity)
  guard let event = unsafe event,
    unsafe StructSize.isRoom(event.pointee.size, known: MemoryLayout<sst_event>.size)
  else { return line.finish() }
  unsafe write(event.pointee, to: &line)
  return line.finish()
}

// MARK: 9  The simple loop

@c @implementation
public func sst_wait(_ client: OpaquePointer?, _ timeout_ms: Int32) -> Int32 {
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

// MARK: 10  A loop of your own

@c @implementation
public func sst_fd(_ client: OpaquePointer?) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    guard unsafe !slot.pointee.client.isCallerDriven else { throw .state }
    return unsafe slot.pointee.client.descriptor
  }
}

@c @implementation
public func sst_next_timeout_ms(_ client: OpaquePointer?) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    return unsafe slot.pointee.client.nextTimeout(at: now(slot))
  }
}

@c @implementation
public func sst_service(_ client: OpaquePointer?) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    return unsafe slot.pointee.client.service(at: now(slot)) ? 1 : 0
  }
}

@c @implementation
public func sst_flush(_ client: OpaquePointer?) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    guard unsafe !slot.pointee.client.isCallerDriven else { throw .state }
    return unsafe slot.pointee.client.flush(at: now(slot)) ? 1 : 0
  }
}

// MARK: 11  The bare engine

@c @implementation
public func sst_engine_opened(_ client: OpaquePointer?, _ now_ms: UInt32) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe engine(client)
    guard unsafe slot.pointee.client.opened(at: Instant(milliseconds: now_ms)) else { throw .state }
    return Status.ok.rawValue
  }
}

@c @implementation
public func sst_engine_closed(_ client: OpaquePointer?, _ os_error: Int32, _ now_ms: UInt32) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe engine(client)
    guard os_error >= 0 else { throw .option }
    guard unsafe slot.pointee.client.closed(error: os_error, at: Instant(milliseconds: now_ms)) else {
      throw .state
    }
    return Status.ok.rawValue
  }
}

@c @implementation
public func sst_engine_receive_buffer(
  _ client: OpaquePointer?, _ data: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
  _ size: UnsafeMutablePointer<Int>?
) -> Int32 {
  status { () throws(Status) in
    guard let data = unsafe data, let size = unsafe size else { throw .null }
    let slot = try unsafe engine(client)
    unsafe (data.pointee, size.pointee) = receiveSpace(of: &slot.pointee.client)
    return Status.ok.rawValue
  }
}

private func receiveSpace(of client: inout Client) -> (UnsafeMutableRawPointer?, Int) {
  var space = client.receiveSpace()
  return unsafe space.withUnsafeMutableBytes { ($0.baseAddress, $0.count) }
}

@c @implementation
public func sst_engine_received(_ client: OpaquePointer?, _ size: Int, _ now_ms: UInt32) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe engine(client)
    guard unsafe slot.pointee.client.received(size, at: Instant(milliseconds: now_ms)) else { throw .option }
    return Status.ok.rawValue
  }
}

@c @implementation
public func sst_engine_transmit(
  _ client: OpaquePointer?, _ now_ms: UInt32, _ data: UnsafeMutablePointer<UnsafeRawPointer?>?,
  _ size: UnsafeMutablePointer<Int>?
) -> Int32 {
  status { () throws(Status) in
    guard let data = unsafe data, let size = unsafe size else { throw .null }
    let slot = try unsafe engine(client)
    if unsafe slot.pointee.client.prepareTransmit(at: Instant(milliseconds: now_ms)) {
      unsafe (data.pointee, size.pointee) = output(of: slot.pointee.client)
    } else {
      unsafe (data.pointee, size.pointee) = (nil, 0)
    }
    return Status.ok.rawValue
  }
}

private func output(of client: borrowing Client) -> (UnsafeRawPointer?, Int) {
  unsafe client.output.withUnsafeBytes { ($0.baseAddress, $0.count) }
}

@c @implementation
public func sst_engine_transmitted(_ client: OpaquePointer?, _ size: Int, _ now_ms: UInt32) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe engine(client)
    guard unsafe slot.pointee.client.transmitted(size, at: Instant(milliseconds: now_ms)) else {
      throw .option
    }
    return Status.ok.rawValue
  }
}

@c @implementation
public func sst_engine_next_timeout_ms(_ client: OpaquePointer?, _ now_ms: UInt32) -> Int32 {
  status { () throws(Status) in
    unsafe try engine(client).pointee.client.nextTimeout(at: Instant(milliseconds: now_ms))
  }
}

@c @implementation
public func sst_engine_timed_out(_ client: OpaquePointer?, _ now_ms: UInt32) -> Int32 {
  status { () throws(Status) in
    unsafe try engine(client).pointee.client.service(at: Instant(milliseconds: now_ms)) ? 1 : 0
  }
}
