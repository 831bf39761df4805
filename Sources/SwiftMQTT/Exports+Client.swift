// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The C functions of chapters 4 and 5. Each turns pointers into spans and errors into numbers, and decides
// nothing; include/swiftmqtt.h says what they promise. A name, a width or a `const` that differs from the
// header does not compile.

public import CSwiftMQTT
import Driver
import MQTTClient
import MQTTSession
import MQTTWire
import Platform
import Storage
import Transports

/// Runs `body` and returns its result, or the number of what it throws.
@inline(__always)
func status(_ body: () throws(Status) -> Int32) -> Int32 {
  do throws(Status) {
    return try body()
  } catch {
    return number(of: error)
  }
}

/// It is a table, and to look it up in a function of its own is shorter at each of its many places.
@inline(never)
private func number(of status: Status) -> Int32 { status.rawValue }

/// Returns the time of the client's clock.
func now(_ slot: UnsafeMutablePointer<ClientHandle>) -> Instant { unsafe slot.pointee.client.time }

// MARK: 4  Options, memory, life of a client

@c @implementation
public func smq_options_check(
  _ options: UnsafePointer<smq_options>?, _ url_offset: UnsafeMutablePointer<Int>?
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
public func smq_client_size(_ options: UnsafePointer<smq_options>?) -> Int {
  var offset: Int? = nil
  do throws(Status) {
    return try unsafe makeClient(options, urlOffset: &offset, memory: nil, size: 0)
  } catch {
    return 0
  }
}

@c @implementation
public func smq_client_init(
  _ memory: UnsafeMutableRawPointer?, _ size: Int, _ options: UnsafePointer<smq_options>?,
  _ client: UnsafeMutablePointer<OpaquePointer?>?
) -> Int32 {
  status { () throws(Status) in
    guard let memory = unsafe memory, let client = unsafe client else { throw .null }
    guard UInt(bitPattern: memory) % UInt(ArenaLayout.alignment) == 0 else {
      throw .memoryAlignment
    }
    var offset: Int? = nil
    _ = try unsafe makeClient(options, urlOffset: &offset, memory: memory, size: size)
    unsafe client.pointee = OpaquePointer(memory)
    return Status.ok.rawValue
  }
}

@c @implementation
public func smq_client_close(_ client: OpaquePointer?) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slotBeforeOpening(client)
    if Feature.hasGroup, let group = unsafe slot.pointee.group { unsafe group.pointee.remove(slot) }
    unsafe slot.pointee.client.wipeSecrets()
    unsafe slot.deinitialize(count: 1)
    unsafe slot.pointee.magic = ClientHandle.closedMagic
    unsafe slot.pointee.ownerMagic = ClientHandle.closedMagic
    return Status.ok.rawValue
  }
}

// MARK: 5  Connect, authenticate, disconnect

@c @implementation
public func smq_client_state(_ client: OpaquePointer?) -> Int32 {
  status { () throws(Status) in
    switch unsafe try slot(client).pointee.client.state {
    case .disconnected: Int32(SMQ_STATE_DISCONNECTED)
    case .connecting: Int32(SMQ_STATE_CONNECTING)
    case .connected: Int32(SMQ_STATE_CONNECTED)
    case .disconnecting: Int32(SMQ_STATE_DISCONNECTING)
    case .waiting: Int32(SMQ_STATE_WAITING)
    }
  }
}

@c @implementation
public func smq_connect(_ client: OpaquePointer?) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    let started = unsafe slot.pointee.client.connect(at: now(slot))
    return (started ? Status.ok : .state).rawValue
  }
}

@c @implementation
public func smq_hint_network(_ client: OpaquePointer?, _ up: UInt32) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    switch up {
    case 0: unsafe slot.pointee.client.hintDown(at: now(slot))
    case 1: unsafe slot.pointee.client.hintUp(at: now(slot))
    default: throw .option
    }
    return Status.ok.rawValue
  }
}

@c @implementation
public func smq_hint_resume(_ client: OpaquePointer?) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    unsafe slot.pointee.client.hintUp(at: now(slot))
    return Status.ok.rawValue
  }
}

@c @implementation
public func smq_credentials(
  _ client: OpaquePointer?, _ attempt: UInt32, _ user_name: UnsafePointer<smq_bytes>?,
  _ password: UnsafePointer<smq_bytes>?
) -> Int32 {
  status { () throws(Status) in
    guard Feature.hasQuestions else { throw .notSupported }
    let slot = try unsafe slot(client)
    let userName = try unsafe span(user_name)
    let password = try unsafe span(password)
    do throws(SessionError) {
      try unsafe slot.pointee.client.provide(
        userName: userName, password: password, attempt: attempt, at: now(slot))
    } catch {
      throw Status(error)
    }
    return Status.ok.rawValue
  }
}

@c @implementation
public func smq_withhold_credentials(_ client: OpaquePointer?, _ attempt: UInt32, _ for_good: UInt32) -> Int32
{
  status { () throws(Status) in
    guard Feature.hasQuestions else { throw .notSupported }
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
public func smq_addresses(
  _ client: OpaquePointer?, _ attempt: UInt32, _ addresses: UnsafePointer<smq_bytes>?, _ count: UInt32
) -> Int32 {
  status { () throws(Status) in
    guard Feature.hasQuestions else { throw .notSupported }
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
public func smq_client_id(_ client: OpaquePointer?, _ id: UnsafeMutablePointer<smq_bytes>?) -> Int32 {
  status { () throws(Status) in
    guard let id = unsafe id else { throw .null }
    let slot = try unsafe slot(client)
    unsafe id.pointee = clientID(of: slot.pointee.client)
    return Status.ok.rawValue
  }
}

private func clientID(of client: borrowing Client) -> smq_bytes {
  unsafe client.clientID.withUnsafeBytes { bytes in
    unsafe smq_bytes(data: bytes.baseAddress, size: bytes.count)
  }
}

@c @implementation
public func smq_authenticate(
  _ client: OpaquePointer?, _ reason_code: UInt32, _ data: UnsafePointer<smq_bytes>?,
  _ properties: UnsafePointer<smq_bytes>?
) -> Int32 {
  status { () throws(Status) in
    guard Feature.hasAuthentication else { throw .notSupported }
    let slot = try unsafe slot(client)
    let data = try unsafe span(data)
    let properties = try unsafe span(properties)
    guard let reason = UInt8(exactly: reason_code) else { throw .reasonCode }
    do throws(SessionError) {
      try unsafe slot.pointee.client.authenticate(reasonCode: reason, data: data, properties: properties)
    } catch {
      throw Status(error)
    }
    return Status.ok.rawValue
  }
}

@c @implementation
public func smq_disconnect(_ client: OpaquePointer?, _ drain_ms: UInt32) -> Int32 {
  unsafe smq_disconnect_with(client, drain_ms, 0, nil)
}

@c @implementation
public func smq_disconnect_with(
  _ client: OpaquePointer?, _ drain_ms: UInt32, _ reason_code: UInt32,
  _ properties: UnsafePointer<smq_bytes>?
) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    let properties = try unsafe span(properties)
    guard drain_ms <= 86_400_000 else { throw .option }
    guard let reason = UInt8(exactly: reason_code) else { throw .reasonCode }
    do throws(SessionError) {
      try unsafe slot.pointee.client.disconnect(
        drain: drain_ms, reasonCode: reason, properties: properties, at: now(slot))
    } catch {
      throw Status(error)
    }
    return Status.ok.rawValue
  }
}

@c @implementation
public func smq_set_log(
  _ client: OpaquePointer?, _ level: Int32, _ log: smq_log?, _ user: UnsafeMutableRawPointer?
) -> Int32 {
  status { () throws(Status) in
    guard Feature.hasLog else { throw .notSupported }
    let slot = try unsafe slot(client)
    guard level >= 0, level <= Int32(SMQ_LOG_DEBUG) else { throw .option }
    if let log = unsafe log, let level = LogHook.Level(rawValue: level) {
      unsafe slot.pointee.ownLog = OwnLog(function: log, user: user, level: level)
    } else {
      unsafe slot.pointee.ownLog = nil
    }
    unsafe observersChanged(slot)
    return Status.ok.rawValue
  }
}
