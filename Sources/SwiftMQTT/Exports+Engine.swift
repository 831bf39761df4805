// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The C functions of the engine: a client whose caller has the transport and the clock.

import CInterface
import CSwiftMQTT
import Driver
import MQTTClient
import MQTTSession
import Platform
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

@c @implementation
public func smq_engine_storage(
  _ client: OpaquePointer?, _ now_ms: UInt32, _ unix_s: UInt32, _ storage: UnsafeMutablePointer<smq_storage>?
) -> Int32 {
  status { () throws(Status) in
    guard let storage = unsafe storage else { throw .null }
    let slot = try unsafe storageEngine(client)
    let (size, known) = unsafe (storage.pointee.size, MemoryLayout<smq_storage>.size)
    guard size >= UInt32(truncatingIfNeeded: known), size <= 4096 else { throw .structSize }
    let request = unsafe slot.pointee.client.storageRequest(
      at: Instant(milliseconds: now_ms), wallClock: unix_s)
    unsafe storage.pointee = unsafe smq_storage(request, in: &slot.pointee.client)
    unsafe storage.pointee.size = size
    unsafe StructSize.clearTail(storage, size, known: known)
    return request == nil ? 0 : 1
  }
}

@c @implementation
public func smq_engine_storage_done(_ client: OpaquePointer?, _ os_error: Int32, _ now_ms: UInt32) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe storageEngine(client)
    guard os_error >= 0 else { throw .option }
    do throws(JournalError) {
      try unsafe slot.pointee.client.storageDone(os_error, at: Instant(milliseconds: now_ms))
    } catch {
      throw Status(error)
    }
    if unsafe slot.pointee.client.isJournalOpen { unsafe slot.pointee.open() }
    return Status.ok.rawValue
  }
}

extension smq_storage {
  fileprivate init(_ request: StorageRequest?, in client: inout Client) {
    unsafe self.init()
    switch request {
    case .read(let block, let count, let offset)?:
      unsafe self.init(SMQ_STORAGE_READ, block, count, offset, in: &client)
    case .write(let block, let count, let offset)?:
      unsafe self.init(SMQ_STORAGE_WRITE, block, count, offset, in: &client)
    case .sync?: unsafe operation = UInt32(truncatingIfNeeded: SMQ_STORAGE_SYNC)
    case nil: break
    }
  }

  private init(_ operation: Int, _ block: UInt32, _ count: UInt32, _ offset: Int, in client: inout Client) {
    unsafe self.init()
    unsafe self.operation = UInt32(truncatingIfNeeded: operation)
    // Blocks of 4,096 bytes; a product of 64 bits would be an allocation on 32 bits (docs/decisions/0008).
    unsafe self.offset = Counter(low: block &<< 12, high: block &>> 20).uint64
    unsafe byte_count = Int(truncatingIfNeeded: count) &* BlockFile.blockSize
    unsafe data = unsafe start(of: &client, offset)
  }
}

private func start(of client: inout Client, _ offset: Int) -> UnsafeMutableRawPointer? {
  var space = client.storageSpace
  return unsafe space.withUnsafeMutableBytes { unsafe $0.baseAddress?.advanced(by: offset) }
}

/// Returns the client, if its caller has the transport, and a journal of its own.
private func storageEngine(_ handle: OpaquePointer?) throws(Status) -> UnsafeMutablePointer<ClientHandle> {
  guard Feature.hasEngine, Feature.hasJournal else { throw .notSupported }
  let slot = try unsafe slotBeforeOpening(handle)
  guard unsafe slot.pointee.client.isCallerDriven else { throw .state }
  guard unsafe slot.pointee.client.hasJournal else { throw .notSupported }
  return unsafe slot
}

/// Returns the client, if its caller has the transport. It is in no group.
private func engine(_ handle: OpaquePointer?) throws(Status) -> UnsafeMutablePointer<ClientHandle> {
  guard Feature.hasEngine else { throw .notSupported }
  let slot = try unsafe sharedSlot(handle)
  guard unsafe slot.pointee.client.isCallerDriven else { throw .state }
  return unsafe slot
}
