// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The C functions of chapters 6 and 10: publishing, requests and responses.

public import CSwiftMQTT
import MQTTClient
import MQTTSession
import MQTTWire
import Storage

// MARK: 6  Publish

@c @implementation
public func smq_publish(_ client: OpaquePointer?, _ message: UnsafePointer<smq_message>?) -> Int32 {
  guard Feature.hasFastPaths, let client = unsafe client, let message = unsafe message,
    let flags = unsafe plainFlags(message), let topic = unsafe message.pointee.topic.data,
    let payload = unsafe message.pointee.payload.data,
    unsafe 0...UTF8EncodedString.maximumSize ~= message.pointee.topic.size,
    // With any topic it still fits into a packet.
    unsafe 0...VariableByteInteger.maximum &- 0x1_0010 ~= message.pointee.payload.size
  else { return unsafe publishAny(client, message) }
  let slot = unsafe UnsafeMutablePointer<ClientHandle>(client)
  guard unsafe slot.pointee.ownerMagic == ClientHandle.liveMagic else {
    return unsafe publishAny(OpaquePointer(slot), message)
  }
  do throws(SessionError) {
    try unsafe slot.pointee.client.publish(
      topic: Span(
        _unsafeStart: topic.assumingMemoryBound(to: UInt8.self), count: message.pointee.topic.size),
      payload: Span(
        _unsafeStart: payload.assumingMemoryBound(to: UInt8.self), count: message.pointee.payload.size),
      flags, cookie: message.pointee.cookie)
    return Status.ok.rawValue
  } catch {
    return Status(error).rawValue
  }
}

/// Returns the flags of a message that consists of a topic and a payload alone. It returns `nil` if the
/// message has more, or if a field is wrong; `publishAny` checks that.
///
/// It reads four bytes at a time: qos, retain, quiet and overflow; expiry_s; urgent and the reserved bytes.
/// layout.c asserts that they are arranged like that, the first one lowest.
@inline(__always)
private func plainFlags(_ message: UnsafePointer<smq_message>) -> MessageFlags? {
  guard unsafe message.pointee.size == UInt32(MemoryLayout<smq_message>.size),
    unsafe message.pointee.properties.size == 0
  else { return nil }
  let start = unsafe UnsafeRawPointer(message)
  let end = unsafe start.load(fromByteOffset: MemoryLayout<smq_message>.size &- 4, as: UInt32.self)
  guard unsafe message.pointee.expiry_s | end == 0 else { return nil }
  return unsafe MessageFlags(bytes: start.load(fromByteOffset: 4, as: UInt32.self))
}

@inline(never)
private func publishAny(_ client: OpaquePointer?, _ message: UnsafePointer<smq_message>?) -> Int32 {
  status { () throws(Status) in
    guard let message = unsafe message else { throw .null }
    let slot = try unsafe slot(client)
    let publish = try unsafe whole(message)
    do throws(SessionError) {
      return unsafe try slot.pointee.client.publish(publish, options(message), at: now(slot))
        ? Status.ok.rawValue : Int32(SMQ_DROPPED)
    } catch {
      throw Status(error)
    }
  }
}

@c @implementation
public func smq_publish_text(
  _ client: OpaquePointer?, _ topic: UnsafePointer<CChar>?, _ text: UnsafePointer<CChar>?, _ qos: UInt32,
  _ retain: UInt32
) -> Int32 {
  guard let topic = unsafe topic, let text = unsafe text else { return Status.null.rawValue }
  var message = unsafe smq_message()
  unsafe message.size = UInt32(MemoryLayout<smq_message>.size)
  // A larger value is wrong, and stays wrong when it is clamped.
  unsafe message.qos = UInt8(clamping: qos)
  unsafe message.retain = UInt8(clamping: retain)
  unsafe message.topic = smq_string(topic)
  unsafe message.payload = smq_string(text)
  return unsafe smq_publish(client, &message)
}

@c @implementation
public func smq_publish_reserve(
  _ client: OpaquePointer?, _ message: UnsafePointer<smq_message>?,
  _ payload: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> Int32 {
  status { () throws(Status) in
    guard Feature.hasReserve else { throw .notSupported }
    guard let message = unsafe message, let payload = unsafe payload else { throw .null }
    let slot = try unsafe slot(client)
    let publish = try unsafe withoutPayload(message)
    var options = unsafe options(message)
    options.kind = .reserved
    do throws(SessionError) {
      guard unsafe try slot.pointee.client.publish(publish, options, at: now(slot)) else {
        unsafe payload.pointee = nil
        return Int32(SMQ_DROPPED)
      }
    } catch {
      throw Status(error)
    }
    unsafe payload.pointee = reservedPayload(of: &slot.pointee.client)
    return Status.ok.rawValue
  }
}

private func reservedPayload(of client: inout Client) -> UnsafeMutableRawPointer? {
  var space = client.reservedPayload
  return unsafe space.withUnsafeMutableBytes { $0.baseAddress }
}

@c @implementation
public func smq_publish_commit(_ client: OpaquePointer?, _ payload_size: Int) -> Int32 {
  status { () throws(Status) in
    guard Feature.hasReserve else { throw .notSupported }
    let slot = try unsafe slot(client)
    do throws(SessionError) {
      try unsafe slot.pointee.client.commit(payloadSize: payload_size)
    } catch {
      throw Status(error)
    }
    return Status.ok.rawValue
  }
}

@c @implementation
public func smq_publish_abort(_ client: OpaquePointer?) -> Int32 {
  status { () throws(Status) in
    guard Feature.hasReserve else { throw .notSupported }
    let slot = try unsafe slot(client)
    do throws(SessionError) {
      try unsafe slot.pointee.client.abort()
    } catch {
      throw Status(error)
    }
    return Status.ok.rawValue
  }
}

@c @implementation
public func smq_publish_stream(
  _ client: OpaquePointer?, _ message: UnsafePointer<smq_message>?, _ pull: smq_pull?,
  _ user: UnsafeMutableRawPointer?
) -> Int32 {
  status { () throws(Status) in
    guard Feature.hasStreams else { throw .notSupported }
    guard let message = unsafe message, let pull = unsafe pull else { throw .null }
    let slot = try unsafe slot(client)
    let publish = try unsafe withoutPayload(message)
    var options = unsafe options(message)
    options.kind = .stream
    do throws(SessionError) {
      return unsafe try slot.pointee.client.publishStream(
        publish, options, from: PayloadSource(pull, user: user), at: now(slot))
        ? Status.ok.rawValue : Int32(SMQ_DROPPED)
    } catch {
      throw Status(error)
    }
  }
}

@c @implementation
public func smq_publish_reference(
  _ client: OpaquePointer?, _ message: UnsafePointer<smq_message>?
) -> Int32 {
  status { () throws(Status) in
    guard Feature.hasReferences else { throw .notSupported }
    guard let message = unsafe message else { throw .null }
    let slot = try unsafe slot(client)
    let publish = try unsafe withoutPayload(message)
    let payload = unsafe LentBytes(start: message.pointee.payload.data, count: message.pointee.payload.size)
    guard unsafe payload.count == 0 || message.pointee.payload.data != nil else { throw .null }
    do throws(SessionError) {
      return unsafe try slot.pointee.client.publishReference(
        publish, options(message), payload, at: now(slot))
        ? Status.ok.rawValue : Int32(SMQ_DROPPED)
    } catch {
      throw Status(error)
    }
  }
}

// MARK: 10  Request and response

@c @implementation
public func smq_request(
  _ client: OpaquePointer?, _ message: UnsafePointer<smq_message>?,
  _ response_topic: UnsafePointer<smq_bytes>?, _ timeout_ms: UInt32
) -> Int32 {
  status { () throws(Status) in
    guard Feature.hasReplies else { throw .notSupported }
    guard let message = unsafe message, unsafe response_topic != nil else { throw .null }
    let slot = try unsafe slot(client)
    guard timeout_ms >= 1, timeout_ms <= 86_400_000 else { throw .option }
    var publish = try unsafe whole(message)
    publish.own.responseTopic = try unsafe span(response_topic)
    do throws(SessionError) {
      return unsafe try slot.pointee.client.publishRequest(
        publish, options(message), timeout: timeout_ms, at: now(slot))
        ? Status.ok.rawValue : Int32(SMQ_DROPPED)
    } catch {
      throw Status(error)
    }
  }
}

@c @implementation
public func smq_respond(
  _ client: OpaquePointer?, _ request: UnsafePointer<smq_event>?,
  _ message: UnsafePointer<smq_message>?
) -> Int32 {
  status { () throws(Status) in
    guard Feature.hasReplies else { throw .notSupported }
    guard let request = unsafe request, let message = unsafe message else { throw .null }
    let slot = try unsafe slot(client)
    guard unsafe request.pointee.size >= UInt32(MemoryLayout<smq_event>.size),
      unsafe request.pointee.size <= 4096
    else { throw .structSize }
    try unsafe check(message)
    guard unsafe message.pointee.topic.size == 0 else { throw .option }
    let list = try unsafe span(request.pointee.properties)
    var topic = ByteRange.empty
    var correlation: ByteRange? = nil
    var reader = PropertyReader(list, in: .packet(.publish, from: .server))
    while let property = try? reader.next() {
      if property.identifier == .responseTopic { topic = property.text }
      if property.identifier == .correlationData { correlation = property.text }
    }
    guard !topic.isEmpty else { throw .option }
    var reply = try unsafe publish(message, topic: list.extracting(topic.range))
    if let correlation {
      reply.own.correlationData = list.extracting(correlation.range)
      reply.own.hasCorrelationData = true
    }
    do throws(SessionError) {
      return unsafe try slot.pointee.client.publish(reply, options(message), at: now(slot))
        ? Status.ok.rawValue : Int32(SMQ_DROPPED)
    } catch {
      throw Status(error)
    }
  }
}

// MARK: Messages of the caller

/// Checks the fields of a message, but not what they point to.
@inline(__always)
private func check(_ message: UnsafePointer<smq_message>) throws(Status) {
  try unsafe checkSize(message, message.pointee.size, known: MemoryLayout<smq_message>.size)
  guard unsafe message.pointee.reserved2 == 0 else { throw .structSize }
  guard
    unsafe message.pointee.retain | message.pointee.quiet | message.pointee.urgent | message.pointee.store
      <= 1,
    unsafe message.pointee.overflow <= 3,
    // Without a record of the message, its Packet Identifier could mean another one after a crash.
    unsafe message.pointee.store == 0 || message.pointee.qos != QoS.exactlyOnce.rawValue
  else { throw .option }
  guard unsafe Feature.hasUrgent || message.pointee.urgent == 0,
    unsafe Feature.hasOverflow || message.pointee.overflow == 0,
    unsafe Feature.hasExpiry || message.pointee.expiry_s == 0
  else { throw .notSupported }
}

/// Makes a message whose payload follows later. The result lasts as long as the call it came with.
@_lifetime(immortal)
private func withoutPayload(_ message: UnsafePointer<smq_message>) throws(Status) -> Publish {
  try unsafe check(message)
  guard let qos = unsafe QoS(rawValue: message.pointee.qos) else { throw .qos }
  let size = unsafe message.pointee.payload.size
  guard size >= 0, size <= VariableByteInteger.maximum else { throw .tooLarge }
  return Publish(
    topic: try unsafe span(message.pointee.topic), payloadSize: size, qos: qos,
    retain: unsafe message.pointee.retain == 1, properties: try unsafe span(message.pointee.properties))
}

/// The caller guarantees that the message was checked.
@inline(__always)
func options(_ message: UnsafePointer<smq_message>) -> PublishOptions {
  var options = unsafe PublishOptions(cookie: message.pointee.cookie, isQuiet: message.pointee.quiet == 1)
  unsafe options.expiry = message.pointee.expiry_s
  unsafe options.isUrgent = message.pointee.urgent == 1
  unsafe options.isUnstored = message.pointee.store == 1
  unsafe options.overflow = PublishOptions.Overflow(rawValue: message.pointee.overflow) ?? .refuse
  return options
}

/// Makes a message as the caller passed it. The result lasts as long as the call it came with.
@_lifetime(immortal)
func whole(_ message: UnsafePointer<smq_message>) throws(Status) -> Publish {
  try unsafe check(message)
  guard unsafe message.pointee.qos <= QoS.exactlyOnce.rawValue else { throw .qos }
  return try unsafe publish(message, topic: span(message.pointee.topic))
}

/// Makes a message that was checked, with another topic or its own.
@_lifetime(immortal)
private func publish(
  _ message: UnsafePointer<smq_message>, topic: Span<UInt8>
) throws(Status) -> Publish {
  guard let qos = unsafe QoS(rawValue: message.pointee.qos) else { throw .qos }
  let publish = Publish(
    topic: topic, payload: try unsafe span(message.pointee.payload), qos: qos,
    retain: unsafe message.pointee.retain == 1, properties: try unsafe span(message.pointee.properties))
  return unsafe _overrideLifetime(publish, copying: ())
}
