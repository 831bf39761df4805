// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The C functions of the engine: a client whose caller has the transport and the clock.

import CSwiftMQTT
import Driver
import MQTTClient
import MQTTSession
import Storage

@c @implementation
public func smq_engine_opened(_ client: OpaquePointer?, _ now_ms: UInt32) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe engine(client)
    guard unsafe slot.pointee.client.opened(at: Instant(milliseconds: now_ms)) else { throw .state }
    return Status.ok.rawValue
  }
}

@c @implementation
public func smq_engine_closed(_ client: OpaquePointer?, _ os_error: Int32, _ now_ms: UInt32) -> Int32 {
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
public func smq_engine_receive_buffer(
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
public func smq_engine_received(_ client: OpaquePointer?, _ size: Int, _ now_ms: UInt32) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe engine(client)
    guard unsafe slot.pointee.client.received(size, at: Instant(milliseconds: now_ms)) else { throw .option }
    return Status.ok.rawValue
  }
}

@c @implementation
public func smq_engine_transmit(
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
public func smq_engine_transmitted(_ client: OpaquePointer?, _ size: Int, _ now_ms: UInt32) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe engine(client)
    guard unsafe slot.pointee.client.transmitted(size, at: Instant(milliseconds: now_ms)) else {
      throw .option
    }
    return Status.ok.rawValue
  }
}

@c @implementation
public func smq_engine_next_timeout_ms(_ client: OpaquePointer?, _ now_ms: UInt32) -> Int32 {
  status { () throws(Status) in
    unsafe try engine(client).pointee.client.nextTimeout(at: Instant(milliseconds: now_ms))
  }
}

@c @implementation
public func smq_engine_timed_out(_ client: OpaquePointer?, _ now_ms: UInt32) -> Int32 {
  status { () throws(Status) in
    unsafe try engine(client).pointee.client.service(at: Instant(milliseconds: now_ms)) ? 1 : 0
  }
}

/// Returns the client, if its caller has the transport. It is in no group.
private func engine(_ handle: OpaquePointer?) throws(Status) -> UnsafeMutablePointer<ClientHandle> {
  guard Feature.hasEngine else { throw .notSupported }
  let slot = try unsafe sharedSlot(handle)
  guard unsafe slot.pointee.client.isCallerDriven else { throw .state }
  return unsafe slot
}
