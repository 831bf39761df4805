// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The C functions of chapters 3 and 4. Each turns pointers into spans and errors into numbers, and decides nothing;
// include/swiftstomp.h says what they promise.

import CInterface
public import CSwiftSTOMP
import Driver
import Platform
import STOMPClient
import STOMPSession
import Storage
import Transports

// MARK: 3  Options, memory, life of a client

@c @implementation
public func sst_options_check(
  _ options: UnsafePointer<sst_options>?, _ url_offset: UnsafeMutablePointer<Int>?
) -> Int32 {
  var offset: Int? = nil
  let result = status { () throws(Status) in
    _ = try unsafe makeClient(options, urlOffset: &offset, memory: nil, size: 0)
    return Status.ok.rawValue
  }
  if let offset { unsafe url_offset?.pointee = offset }
  return result
}

@c @implementation
public func sst_client_size(_ options: UnsafePointer<sst_options>?) -> Int {
  var offset: Int? = nil
  do throws(Status) {
    return try unsafe makeClient(options, urlOffset: &offset, memory: nil, size: 0)
  } catch {
    return 0
  }
}

@c @implementation
public func sst_client_init(
  _ memory: UnsafeMutableRawPointer?, _ size: Int, _ options: UnsafePointer<sst_options>?,
  _ client: UnsafeMutablePointer<OpaquePointer?>?
) -> Int32 {
  status { () throws(Status) in
    guard let memory = unsafe memory, let client = unsafe client else { throw .null }
    guard UInt(bitPattern: memory) % UInt(ArenaLayout.alignment) == 0 else { throw .memoryAlignment }
    var offset: Int? = nil
    _ = try unsafe makeClient(options, urlOffset: &offset, memory: memory, size: size)
    unsafe client.pointee = OpaquePointer(memory)
    return Status.ok.rawValue
  }
}

@c @implementation
public func sst_client_close(_ client: OpaquePointer?) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    unsafe slot.pointee.client.wipeSecrets()
    unsafe slot.deinitialize(count: 1)
    unsafe slot.pointee.magic = ClientHandle.closedMagic
    return Status.ok.rawValue
  }
}

@c @implementation
public func sst_client_state(_ client: OpaquePointer?) -> Int32 {
  status { () throws(Status) in
    switch unsafe try slot(client).pointee.client.state {
    case .disconnected: Int32(SST_STATE_DISCONNECTED)
    case .connecting: Int32(SST_STATE_CONNECTING)
    case .connected: Int32(SST_STATE_CONNECTED)
    case .disconnecting: Int32(SST_STATE_DISCONNECTING)
    case .waiting: Int32(SST_STATE_WAITING)
    }
  }
}

// MARK: 4  Connect and disconnect

@c @implementation
public func sst_connect(_ client: OpaquePointer?) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    let started = unsafe slot.pointee.client.connect(at: now(slot))
    return (started ? Status.ok : .state).rawValue
  }
}

@c @implementation
public func sst_disconnect(_ client: OpaquePointer?, _ drain_ms: UInt32) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    guard drain_ms <= 86_400_000 else { throw .option }
    unsafe slot.pointee.client.disconnect(drain: drain_ms, at: now(slot))
    return Status.ok.rawValue
  }
}

@c @implementation
public func sst_credentials(
  _ client: OpaquePointer?, _ attempt: UInt32, _ login: UnsafePointer<sst_bytes>?,
  _ passcode: UnsafePointer<sst_bytes>?
) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    let login = try unsafe span(login)
    let passcode = try unsafe span(passcode)
    do throws(STOMPError) {
      try unsafe slot.pointee.client.provide(
        login: login, passcode: passcode, attempt: attempt, at: now(slot))
    } catch {
      throw Status(error)
    }
    return Status.ok.rawValue
  }
}

@c @implementation
public func sst_withhold_credentials(
  _ client: OpaquePointer?, _ attempt: UInt32, _ for_good: UInt32
) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    guard for_good <= 1 else { throw .option }
    do throws(QueryError) {
      try unsafe slot.pointee.client.declineCredentials(
        attempt: attempt, isFinal: for_good == 1, at: now(slot))
    } catch {
      throw Status(error)
    }
    return Status.ok.rawValue
  }
}

@c @implementation
public func sst_addresses(
  _ client: OpaquePointer?, _ attempt: UInt32, _ addresses: UnsafePointer<sst_bytes>?, _ count: UInt32
) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    guard count <= UInt32(truncatingIfNeeded: AddressList.maximum) else { throw .option }
    var found = AddressList()
    if count > 0 {
      guard let addresses = unsafe addresses else { throw .null }
      for index in 0..<Int(truncatingIfNeeded: count) {
        let address = try unsafe span(addresses[index])
        guard found.append(numeric: address, port: unsafe slot.pointee.client.port) else { throw .option }
      }
    }
    do throws(QueryError) {
      try unsafe slot.pointee.client.provide(addresses: found, attempt: attempt, at: now(slot))
    } catch {
      throw Status(error)
    }
    return Status.ok.rawValue
  }
}

@c @implementation
public func sst_hint_network(_ client: OpaquePointer?) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    unsafe slot.pointee.client.hintUp(at: now(slot))
    return Status.ok.rawValue
  }
}

@c @implementation
public func sst_last_failure(
  _ client: OpaquePointer?, _ failure: UnsafeMutablePointer<sst_failure>?
) -> Int32 {
  status { () throws(Status) in
    guard let failure = unsafe failure else { throw .null }
    let slot = try unsafe slot(client)
    let (size, known) = unsafe (failure.pointee.size, MemoryLayout<sst_failure>.size)
    guard StructSize.isRoom(size, known: known) else { throw .structSize }
    unsafe failure.pointee = describe(slot.pointee.client, size: size)
    unsafe StructSize.clearTail(failure, size, known: known)
    return Status.ok.rawValue
  }
}

private func describe(_ client: borrowing Client, size: UInt32) -> sst_failure {
  var result = unsafe sst_failure()
  unsafe result.size = size
  unsafe result.socks_reply = -1
  unsafe result.tls_alert = -1
  unsafe result.tls_depth = -1
  guard let failure = client.lastFailure else { return unsafe result }
  unsafe result.status = Status(failure.cause).rawValue
  unsafe result.stage = Int32(failure.stage.rawValue)
  unsafe result.os_error = failure.cause.systemError
  // What the layers know is of the attempt that is under way, if there is one.
  let isOver = client.isBetweenAttempts
  unsafe result.attempt = isOver ? client.attempt : client.attempt &- 1
  guard isOver, case .layer(let layer) = failure.cause, let said = client.layerFailure else {
    return unsafe result
  }
  unsafe result.http_status = Int32(said.httpStatus)
  unsafe result.socks_reply = said.socksReply
  unsafe result.close_code = Int32(said.closeCode)
  unsafe result.text = bytes(client.layerText)
  guard layer == .tls, let tls = client.tlsFailure else { return unsafe result }
  unsafe result.tls_cause = tls.cause
  unsafe result.tls_alert = tls.alert
  unsafe result.tls_depth = tls.depth
  unsafe result.not_before_s = tls.notBefore
  unsafe result.not_after_s = tls.notAfter
  unsafe result.tls_native = tls.native
  unsafe result.tls_subject = bytes(client.tlsSubject)
  unsafe result.text = bytes(client.tlsText)
  return unsafe result
}

@c @implementation
public func sst_websocket_request(
  _ client: OpaquePointer?, _ path: UnsafePointer<sst_bytes>?, _ headers: UnsafePointer<sst_bytes>?
) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    let path = try unsafe span(path)
    let headers = try unsafe span(headers)
    guard unsafe slot.pointee.client.hasWebSocket else { throw .notSupported }
    let request = RequestedSTOMPOptions()
    let wanted = path.count > 0 ? path : request.connection.usualPath.bytes
    guard LayerOptions.isValid(path: wanted, headers: headers) else { throw .option }
    guard unsafe slot.pointee.client.setWebSocketRequest(path: wanted, headers: headers) else {
      throw .tooLarge
    }
    return Status.ok.rawValue
  }
}
