// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The C functions of chapter 19: who looks on.

public import CSwiftMQTT
import Driver
import MQTTClient
import Storage

@c @implementation
public func smq_add_observer(
  _ client: OpaquePointer?, _ observer: UnsafeMutablePointer<smq_observer>?
) -> Int32 {
  status { () throws(Status) in
    guard Feature.hasTap else { throw .notSupported }
    guard let observer = unsafe observer else { throw .null }
    let slot = try unsafe slot(client)
    try unsafe checkSize(observer, observer.pointee.size, known: MemoryLayout<smq_observer>.size)
    guard unsafe observer.pointee.reserved == 0 else { throw .structSize }
    guard unsafe observer.pointee.flags & ~UInt32(SMQ_OBSERVE_SECRETS) == 0,
      unsafe observer.pointee.next == nil,
      unsafe Int32(SMQ_LOG_OFF)...Int32(SMQ_LOG_DEBUG) ~= observer.pointee.log_level
    else { throw .option }
    guard unsafe slot.pointee.observers.add(observer) else { throw .state }
    unsafe observersChanged(slot)
    return Status.ok.rawValue
  }
}

@c @implementation
public func smq_remove_observer(
  _ client: OpaquePointer?, _ observer: UnsafeMutablePointer<smq_observer>?
) -> Int32 {
  status { () throws(Status) in
    guard Feature.hasTap else { throw .notSupported }
    guard let observer = unsafe observer else { throw .null }
    let slot = try unsafe slot(client)
    guard unsafe slot.pointee.observers.remove(observer) else { throw .state }
    unsafe observersChanged(slot)
    return Status.ok.rawValue
  }
}

@c @implementation
public func smq_trace_read(_ client: OpaquePointer?, _ tap: smq_tap?, _ user: UnsafeMutableRawPointer?)
  -> Int32
{
  status { () throws(Status) in
    guard let tap = unsafe tap else { throw .null }
    let slot = try unsafe slot(client)
    guard Feature.hasTap, unsafe !slot.pointee.client.engine.tap.trace.isEmpty else { throw .notSupported }
    var reader = unsafe TraceReader(tap: tap, user: user)
    let told = unsafe withUnsafeMutablePointer(to: &reader) { reader in
      unsafe slot.pointee.client.engine.tap.trace.read { trace in
        unsafe trace.tell({ unsafe tellOfTrace($0, $1) }, user: UnsafeMutableRawPointer(reader))
      }
    }
    return Int32(truncatingIfNeeded: told)
  }
}

@c @implementation
public func smq_trace_clear(_ client: OpaquePointer?) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    guard Feature.hasTap, unsafe !slot.pointee.client.engine.tap.trace.isEmpty else { throw .notSupported }
    unsafe slot.pointee.client.engine.clearTrace()
    return Status.ok.rawValue
  }
}
