import CSwiftMQTT
import Driver
import MQTTClient
import MQTTSession
import MQTTWire
import Storage

/// Writes an event into the struct of the header. Fields that do not apply stay as `clear` sets them.
///
/// The pointers in it last until the event is released.
func describe(
  _ event: ClientEvent, of client: borrowing Client, in target: UnsafeMutablePointer<smq_event>
) {
  switch event {
  case .engine(.message(let message)): unsafe describe(message, of: client, in: target)
  case .engine(.completed(let completion)):
    unsafe describe(completion, of: client, type: Int32(SMQ_EVENT_COMPLETED), in: target)
  case .engine(.requestFailed(let completion)):
    unsafe describe(completion, of: client, type: Int32(SMQ_EVENT_REPLY), in: target)
  default: unsafe describeRare(event, of: client, in: &target.pointee)
  }
}

@inline(never)
private func describeRare(_ event: ClientEvent, of client: borrowing Client, in result: inout smq_event) {
  switch event {
  case .engine(let event): unsafe describe(event, of: client, in: &result)
  case .credentialsWanted:
    unsafe result.type = Int32(SMQ_EVENT_CREDENTIALS)
    unsafe result.attempt = client.attempt
    unsafe result.server = UInt32(truncatingIfNeeded: client.serverIndex)
  case .addressesWanted(let host, let port):
    unsafe result.type = Int32(SMQ_EVENT_ADDRESSES)
    unsafe describe(host, port, of: client, in: &result)
  case .transportWanted(let host, let port):
    unsafe result.type = Int32(SMQ_EVENT_OPEN)
    unsafe describe(host, port, of: client, in: &result)
  case .disconnected(let failure):
    unsafe result.type = Int32(SMQ_EVENT_DISCONNECTED)
    unsafe result.status = Status(failure.cause).rawValue
    unsafe result.stage = Int32(failure.stage.rawValue)
    unsafe result.os_error = failure.cause.systemError
    unsafe result.rule = failure.cause.rule
    unsafe result.attempt = client.attempt
    unsafe result.server = UInt32(truncatingIfNeeded: client.serverIndex)
    unsafe result.retry_ms = failure.retry.map { Int32(clamping: $0) } ?? -1
    guard let details = failure.details else { return }
    unsafe result.reason_code = details.reasonCode.map { Int32($0) } ?? -1
    unsafe result.reason_string = bytes(details.reasonString, of: client)
    unsafe result.server_reference = bytes(details.serverReference, of: client)
    unsafe result.properties = bytes(details.properties, of: client)
  }
}

// MARK: What comes most

// These are inlined where the message or the completion is a plain one: most of it is then known and folds
// away.

/// Writes how a message ended.
@inline(__always)
func describe(_ completion: Completion, type: Int32, in event: UnsafeMutablePointer<smq_event>) {
  unsafe event.pointee.type = type
  if type == Int32(SMQ_EVENT_COMPLETED) {
    unsafe event.pointee.completed = UInt32(completion.type.rawValue)
  }
  if let reasonCode = completion.reasonCode { unsafe event.pointee.reason_code = Int32(reasonCode) }
  unsafe event.pointee.cookie = completion.cookie
  if let latency = completion.latency { unsafe event.pointee.latency_ms = Int32(clamping: latency) }
}

extension smq_completion {
  @inline(__always)
  init(_ completion: Completion) {
    self.init()
    cookie = completion.cookie
    status = completion.result == .delivered ? 0 : Status(completion.result).rawValue
    reason_code = completion.reasonCode.map { Int32($0) } ?? -1
    latency_ms = completion.latency.map { Int32(clamping: $0) } ?? -1
  }
}

@inline(__always)
func describe(
  _ message: MessageEvent, of client: borrowing Client, in event: UnsafeMutablePointer<smq_event>
) {
  unsafe event.pointee.type = Int32(message.responseCookie == nil ? SMQ_EVENT_MESSAGE : SMQ_EVENT_REPLY)
  if let cookie = message.responseCookie { unsafe event.pointee.cookie = cookie }
  if message.isOversize { unsafe event.pointee.status = Status.receiveTooLarge.rawValue }
  let received = unsafe client.receivedBytes.withUnsafeBytes { $0.baseAddress }
  if !message.properties.isEmpty { unsafe event.pointee.properties = bytes(message.properties, at: received) }
  if !message.payload.isEmpty {
    let payloads =
      message.isLent ? unsafe client.lentBytes.withUnsafeBytes { $0.baseAddress } : unsafe received
    unsafe event.pointee.payload = bytes(message.payload, at: payloads)
  }
  if message.payloadOffset != 0 {
    unsafe event.pointee.payload_offset = UInt32(truncatingIfNeeded: message.payloadOffset)
  }
  unsafe event.pointee.payload_total = UInt32(truncatingIfNeeded: message.payloadSize)
  unsafe event.pointee.qos = message.qos.rawValue
  unsafe event.pointee.retain = message.retain ? 1 : 0
  unsafe event.pointee.duplicate = message.duplicate ? 1 : 0
  unsafe event.pointee.part =
    (message.isFirst ? UInt8(SMQ_PART_FIRST) : 0) | (message.isLast ? UInt8(SMQ_PART_LAST) : 0)
  unsafe event.pointee.token = Counter(message.token).uint64
  if message.subscriptionIdentifier != 0 {
    unsafe event.pointee.subscription_identifier = message.subscriptionIdentifier
  }
  guard !message.topic.isEmpty else { return }
  let topics =
    message.isTopicAliased ? unsafe client.aliasedTopics.withUnsafeBytes { $0.baseAddress } : unsafe received
  unsafe event.pointee.topic = bytes(message.topic, at: topics)
}

/// Writes what the first entry of the table has whose filter matches the topic of a message.
@inline(never)
func addHandler(_ handlers: borrowing HandlerTable, to event: UnsafeMutablePointer<smq_event>) {
  let type = unsafe event.pointee.type
  guard type == Int32(SMQ_EVENT_MESSAGE) || type == Int32(SMQ_EVENT_REPLY),
    let topic = try? unsafe span(event.pointee.topic), topic.count > 0,
    let index = handlers.firstMatch(topic, after: -1)
  else { return }
  let handler = handlers[index]
  unsafe event.pointee.subscription = Int32(truncatingIfNeeded: index)
  unsafe event.pointee.handler = unsafeBitCast(handler.function, to: smq_handler?.self)
  unsafe event.pointee.user = UnsafeMutableRawPointer(bitPattern: handler.user)
}

/// Clears an event. Its size is set.
@inline(__always)
func clear(_ event: UnsafeMutablePointer<smq_event>, _ version: ProtocolVersion) {
  unsafe event.pointee = smq_event()
  unsafe event.pointee.size = UInt32(MemoryLayout<smq_event>.size)
  unsafe event.pointee.reason_code = -1
  unsafe event.pointee.subscription = -1
  unsafe event.pointee.retry_ms = -1
  unsafe event.pointee.latency_ms = -1
  unsafe event.pointee.protocol = UInt32(version.rawValue)
}

// MARK: Helpers

/// Writes a server that the application is to resolve or to reach.
private func describe(
  _ host: ByteRange, _ port: UInt16, of client: borrowing Client, in result: inout smq_event
) {
  unsafe result.attempt = client.attempt
  unsafe result.server = UInt32(truncatingIfNeeded: client.serverIndex)
  unsafe result.server_reference = pointer(client.hostNames.extracting(host.range))
  unsafe result.port = UInt32(port)
}

@inline(never)
private func describe(
  _ event: SessionEvent, of client: borrowing Client, in result: inout smq_event
) {
  switch event {
  // These have no event of their own; the last belongs to its completion.
  case .message, .completed, .requestFailed, .acknowledged: break
  case .connected(let connected):
    unsafe result.type = Int32(SMQ_EVENT_CONNECTED)
    unsafe result.reason_code = 0
    unsafe result.attempt = client.attempt
    unsafe result.server = UInt32(truncatingIfNeeded: client.serverIndex)
    unsafe result.session_present = connected.sessionPresent ? 1 : 0
    unsafe result.reason_string = bytes(connected.reasonString, of: client)
    unsafe result.properties = bytes(connected.properties, of: client)
  case .responseTimedOut(let cookie):
    unsafe result.type = Int32(SMQ_EVENT_REPLY)
    unsafe result.status = Status.timeout.rawValue
    unsafe result.cookie = cookie
  case .subscribeCompleted(let subscribe):
    unsafe result.type = Int32(SMQ_EVENT_COMPLETED)
    unsafe result.completed = UInt32(subscribe.type.rawValue)
    unsafe result.cookie = subscribe.cookie
    if let refusal = subscribe.refusal {
      unsafe result.status = Status.refused.rawValue
      unsafe result.reason_code = Int32(refusal)
    }
    unsafe result.reason_codes = bytes(subscribe.reasonCodes, of: client)
    unsafe result.reason_string = bytes(subscribe.reasonString, of: client)
    unsafe result.properties = bytes(subscribe.properties, of: client)
  case .handshake(let handshake):
    unsafe result.type = Int32(handshake.type == .pubrec ? SMQ_EVENT_PUBREC : SMQ_EVENT_PUBREL)
    unsafe result.cookie = handshake.cookie
    unsafe result.reason_code = Int32(handshake.reasonCode)
    unsafe result.reason_string = bytes(handshake.reasonString, of: client)
    unsafe result.properties = bytes(handshake.properties, of: client)
  case .authentication(let authentication):
    unsafe result.type = Int32(SMQ_EVENT_AUTHENTICATE)
    unsafe result.reason_code = Int32(authentication.reasonCode)
    unsafe result.payload = bytes(authentication.data, of: client)
    unsafe result.reason_string = bytes(authentication.reasonString, of: client)
    unsafe result.properties = bytes(authentication.properties, of: client)
  case .subscriptionLost(let filter, let reasonCode):
    unsafe result.type = Int32(SMQ_EVENT_SUBSCRIPTION_LOST)
    unsafe result.status = Status.refused.rawValue
    unsafe result.reason_code = Int32(reasonCode)
    unsafe result.topic = pointer(client.subscribedFilters.extracting(filter.range))
  case .room:
    unsafe result.type = Int32(SMQ_EVENT_ROOM)
  case .journal(let event):
    unsafe result.type = Int32(SMQ_EVENT_JOURNAL)
    switch event {
    case .recovered(let messages):
      unsafe result.completed = UInt32(SMQ_JOURNAL_RECOVERED)
      unsafe result.cookie = Counter(UInt32(truncatingIfNeeded: messages)).uint64
    case .failed(let error):
      unsafe result.completed = UInt32(SMQ_JOURNAL_FAILED)
      unsafe result.status = Status.journal.rawValue
      unsafe result.os_error = error
    case .healed: unsafe result.completed = UInt32(SMQ_JOURNAL_HEALED)
    case .stored(let position):
      unsafe result.completed = UInt32(SMQ_JOURNAL_STORED)
      unsafe result.cookie = position.uint64
    }
  }
}

@inline(never)
private func describe(
  _ completion: Completion, of client: borrowing Client, type: Int32,
  in event: UnsafeMutablePointer<smq_event>
) {
  unsafe describe(completion, type: type, in: event)
  unsafe event.pointee.status = Status(completion.result).rawValue
  unsafe event.pointee.reason_string = bytes(completion.reasonString, of: client)
  unsafe event.pointee.properties = bytes(completion.properties, of: client)
}

/// The caller guarantees that the range belongs to what begins at `start`.
@inline(__always)
@unsafe private func bytes(_ extent: ByteRange, at start: UnsafeRawPointer?) -> smq_bytes {
  unsafe smq_bytes(data: start.unsafelyUnwrapped + extent.range.lowerBound, size: extent.count)
}

private func bytes(_ extent: ByteRange, of client: borrowing Client) -> smq_bytes {
  guard !extent.isEmpty else { return unsafe smq_bytes() }
  return unsafe pointer(client.receivedBytes.extracting(extent.range))
}

@inline(__always)
private func pointer(_ span: Span<UInt8>) -> smq_bytes {
  unsafe span.withUnsafeBytes { bytes in unsafe smq_bytes(data: bytes.baseAddress, size: bytes.count) }
}
