// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The C functions of chapters 3 to 7. Each turns pointers into spans and errors into numbers, and
// decides nothing; include/swiftmqtt.h says what they promise. A name, a width or a `const` that
// differs from the header does not compile.

public import CSwiftMQTT
import FixedMemory
import MQTTClient
import MQTTSession
import MQTTTransport
import MQTTWire

/// Runs `body` and gives its result, or the number of what it throws.
@inline(__always)
private func status(_ body: () throws(Status) -> Int32) -> Int32 {
  do throws(Status) {
    return try body()
  } catch {
    return error.rawValue
  }
}

private func now() -> Instant { Instant(milliseconds: Clock.milliseconds()) }

// MARK: 3  Options, memory, life of a client

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
    guard UInt(bitPattern: memory) % UInt(MemoryPlan.alignment) == 0 else {
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
    let slot = try unsafe slot(client)
    unsafe slot.deinitialize(count: 1)
    unsafe slot.pointee.mark = ClientSlot.closedMark
    return Status.ok.rawValue
  }
}

// MARK: 4  Connect, publish, disconnect

@c @implementation
public func smq_client_state(_ client: OpaquePointer?) -> Int32 {
  status { () throws(Status) in
    switch unsafe try slot(client).pointee.client.state {
    case .disconnected: Int32(SMQ_STATE_DISCONNECTED)
    case .connecting: Int32(SMQ_STATE_CONNECTING)
    case .connected: Int32(SMQ_STATE_CONNECTED)
    case .disconnecting: Int32(SMQ_STATE_DISCONNECTING)
    }
  }
}

@c @implementation
public func smq_connect(_ client: OpaquePointer?) -> Int32 {
  status { () throws(Status) in
    let started = try unsafe slot(client).pointee.client.connect(at: now())
    return (started ? Status.ok : .state).rawValue
  }
}

@c @implementation
public func smq_publish(_ client: OpaquePointer?, _ message: UnsafePointer<smq_message>?) -> Int32 {
  status { () throws(Status) in
    guard let message = unsafe message else { throw .null }
    let slot = try unsafe slot(client)
    try unsafe checkSize(message, message.pointee.size, known: MemoryLayout<smq_message>.size)
    guard unsafe message.pointee.reserved == 0 else { throw .structSize }
    guard unsafe message.pointee.retain | message.pointee.quiet <= 1 else { throw .option }
    guard let qos = unsafe QoS(rawValue: message.pointee.qos) else { throw .qos }
    let publish = Publish(
      topic: try unsafe span(message.pointee.topic), payload: try unsafe span(message.pointee.payload),
      qos: qos, retain: unsafe message.pointee.retain == 1)
    do throws(SessionError) {
      try unsafe slot.pointee.client.publish(
        publish, cookie: message.pointee.cookie, isQuiet: message.pointee.quiet == 1)
    } catch {
      throw Status(error)
    }
    return Status.ok.rawValue
  }
}

@c @implementation
public func smq_disconnect(_ client: OpaquePointer?, _ drain_ms: UInt32) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    guard drain_ms <= 86_400_000 else { throw .option }
    unsafe slot.pointee.client.disconnect(drain: drain_ms, at: now())
    return Status.ok.rawValue
  }
}

// MARK: 5  Events

@c @implementation
public func smq_next_event(_ client: OpaquePointer?, _ event: UnsafeMutablePointer<smq_event>?) -> Int32 {
  status { () throws(Status) in
    guard let event = unsafe event else { throw .null }
    let slot = try unsafe slot(client)
    let size = unsafe event.pointee.size
    guard unsafe size >= UInt32(MemoryLayout<smq_event>.size), size <= 4096 else { throw .structSize }
    let next = unsafe slot.pointee.client.nextEvent()
    unsafe event.pointee = describe(next, of: slot.pointee.client, size: size)
    unsafe clearTail(event, size, known: MemoryLayout<smq_event>.size)
    return next == nil ? 0 : 1
  }
}

// MARK: 6  The simple loop

@c @implementation
public func smq_wait(_ client: OpaquePointer?, _ timeout_ms: Int32) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    guard timeout_ms >= -1 else { throw .option }
    switch unsafe slot.pointee.client.wait(timeout: timeout_ms) {
    case .event: return 1
    case .nothing: return 0
    case .pointless: throw .state
    case .failed: throw .client
    }
  }
}

// MARK: 7  A loop of your own

@c @implementation
public func smq_fd(_ client: OpaquePointer?) -> Int32 {
  status { () throws(Status) in unsafe try slot(client).pointee.client.descriptor }
}

@c @implementation
public func smq_next_timeout_ms(_ client: OpaquePointer?) -> Int32 {
  status { () throws(Status) in unsafe try slot(client).pointee.client.nextTimeout(at: now()) }
}

@c @implementation
public func smq_service(_ client: OpaquePointer?) -> Int32 {
  status { () throws(Status) in unsafe try slot(client).pointee.client.service(at: now()) ? 1 : 0 }
}
