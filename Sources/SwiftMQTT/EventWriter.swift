import CSwiftMQTT
import Driver
import FixedMemory
import MQTTClient
import MQTTSession
import MQTTWire

/// An event in the words of the header. What it says nothing of is as `clear` leaves it.
///
/// The pointers in it last until the event is released.
func describe(
  _ event: ClientEvent, of client: borrowing Client, _ handlers: borrowing HandlerTable,
  in result: inout smq_event
) {
  switch event {
  case .engine(.message(let message)): unsafe describe(message, of: client, handlers, in: &result)
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

// MARK: The short way

/// A message has arrived; there is nothing else to say of it.
@inline(__always)
func describe(_ completion: Completion, in event: UnsafeMutablePointer<smq_event>) {
  unsafe event.pointee.type = Int32(SMQ_EVENT_COMPLETED)
  if let reasonCode = completion.reasonCode { unsafe event.pointee.reason_code = Int32(reasonCode) }
  unsafe event.pointee.cookie = completion.cookie
  if let latency = completion.latency { unsafe event.pointee.latency_ms = Int32(clamping: latency) }
}

@inline(__always)
func describe(
  _ message: PlainMessage, of client: borrowing Client, _ handlers: borrowing HandlerTable,
  in event: UnsafeMutablePointer<smq_event>
) {
  unsafe event.pointee.type = Int32(SMQ_EVENT_MESSAGE)
  let received = unsafe client.receivedBytes.withUnsafeBytes { $0.baseAddress }
  if !message.payload.isEmpty {
    unsafe event.pointee.payload = bytes(message.payload, at: received)
    unsafe event.pointee.payload_total = UInt32(truncatingIfNeeded: message.payload.count)
  }
  unsafe event.pointee.qos = message.qos.rawValue
  unsafe event.pointee.retain = message.retain ? 1 : 0
  unsafe event.pointee.part = UInt8(SMQ_PART_FIRST) | UInt8(SMQ_PART_LAST)
  unsafe event.pointee.token = Counter(message.serial).uint64
  unsafe event.pointee.topic = bytes(message.topic, at: received)
  if !handlers.isEmpty { unsafe find(message.topic, of: client, handlers, in: event) }
}

@inline(never)
private func find(
  _ topic: Extent, of client: borrowing Client, _ handlers: borrowing HandlerTable,
  in event: UnsafeMutablePointer<smq_event>
) {
  unsafe find(client.receivedBytes.extracting(topic.range), handlers, in: &event.pointee)
}

/// As an event is before anything is said. Its size is set.
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

/// A server that somebody else is to find or to reach.
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
  case .message, .acknowledged: break  // the one above, the other with its completion
  case .connected(let connected):
    unsafe result.type = Int32(SMQ_EVENT_CONNECTED)
    unsafe result.reason_code = 0
    unsafe result.attempt = client.attempt
    unsafe result.server = UInt32(truncatingIfNeeded: client.serverIndex)
    unsafe result.session_present = connected.sessionPresent ? 1 : 0
    unsafe result.reason_string = bytes(connected.reasonString, of: client)
    unsafe result.properties = bytes(connected.properties, of: client)
  case .completed(let completion):
    unsafe describe(completion, of: client, type: SMQ_EVENT_COMPLETED, in: &result)
  case .requestFailed(let completion):
    unsafe describe(completion, of: client, type: SMQ_EVENT_REPLY, in: &result)
  case .requestTimedOut(let cookie):
    unsafe result.type = Int32(SMQ_EVENT_REPLY)
    unsafe result.status = Status.timeout.rawValue
    unsafe result.cookie = cookie
  case .answered(let answer):
    unsafe result.type = Int32(SMQ_EVENT_COMPLETED)
    unsafe result.cookie = answer.cookie
    if let refusal = answer.refusal {
      unsafe result.status = Status.refused.rawValue
      unsafe result.reason_code = Int32(refusal)
    }
    unsafe result.reason_codes = bytes(answer.reasonCodes, of: client)
    unsafe result.reason_string = bytes(answer.reasonString, of: client)
    unsafe result.properties = bytes(answer.properties, of: client)
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
  }
}

private func describe<Number: BinaryInteger>(
  _ completion: Completion, of client: borrowing Client, type: Number, in result: inout smq_event
) {
  unsafe result.type = Int32(truncatingIfNeeded: type)
  unsafe result.status = Status(completion.outcome).rawValue
  unsafe result.reason_code = completion.reasonCode.map { Int32($0) } ?? -1
  unsafe result.cookie = completion.cookie
  unsafe result.latency_ms = completion.latency.map { Int32(clamping: $0) } ?? -1
  unsafe result.reason_string = bytes(completion.reasonString, of: client)
  unsafe result.properties = bytes(completion.properties, of: client)
}

private func describe(
  _ message: MessageEvent, of client: borrowing Client, _ handlers: borrowing HandlerTable,
  in result: inout smq_event
) {
  unsafe result.type = Int32(SMQ_EVENT_MESSAGE)
  if let cookie = message.replyCookie {
    unsafe result.type = Int32(SMQ_EVENT_REPLY)
    unsafe result.cookie = cookie
  }
  if message.isOversize { unsafe result.status = Status.receiveTooLarge.rawValue }
  unsafe result.properties = bytes(message.properties, of: client)
  unsafe result.payload = bytes(message.payload, of: client)
  unsafe result.payload_offset = UInt32(truncatingIfNeeded: message.payloadOffset)
  unsafe result.payload_total = UInt32(truncatingIfNeeded: message.payloadSize)
  unsafe result.qos = message.qos.rawValue
  unsafe result.retain = message.retain ? 1 : 0
  unsafe result.duplicate = message.duplicate ? 1 : 0
  unsafe result.part =
    (message.isFirst ? UInt8(SMQ_PART_FIRST) : 0) | (message.isLast ? UInt8(SMQ_PART_LAST) : 0)
  unsafe result.token = Counter(message.serial).uint64
  unsafe result.subscription_identifier = message.subscriptionIdentifier
  guard !message.topic.isEmpty else { return }
  if message.isTopicAliased {
    unsafe describe(client.aliasedTopics.extracting(message.topic.range), handlers, in: &result)
  } else {
    unsafe describe(client.receivedBytes.extracting(message.topic.range), handlers, in: &result)
  }
}

/// The topic, and what the table of handlers has for it.
private func describe(
  _ topic: Span<UInt8>, _ handlers: borrowing HandlerTable, in result: inout smq_event
) {
  unsafe result.topic = pointer(topic)
  unsafe find(topic, handlers, in: &result)
}

private func find(_ topic: Span<UInt8>, _ handlers: borrowing HandlerTable, in result: inout smq_event) {
  guard let index = handlers.firstMatch(topic, after: -1) else { return }
  let handler = handlers[index]
  unsafe result.subscription = Int32(truncatingIfNeeded: index)
  unsafe result.handler = unsafeBitCast(handler.function, to: smq_handler?.self)
  unsafe result.user = UnsafeMutableRawPointer(bitPattern: handler.user)
}

/// The caller guarantees that the extent is of what begins at `start`.
@inline(__always)
@unsafe private func bytes(_ extent: Extent, at start: UnsafeRawPointer?) -> smq_bytes {
  unsafe smq_bytes(data: start.unsafelyUnwrapped + extent.range.lowerBound, size: extent.count)
}

private func bytes(_ extent: Extent, of client: borrowing Client) -> smq_bytes {
  guard !extent.isEmpty else { return unsafe smq_bytes() }
  return unsafe pointer(client.receivedBytes.extracting(extent.range))
}

@inline(__always)
private func pointer(_ span: Span<UInt8>) -> smq_bytes {
  unsafe span.withUnsafeBytes { bytes in unsafe smq_bytes(data: bytes.baseAddress, size: bytes.count) }
}

extension FailureCause {
  fileprivate var systemError: Int32 {
    switch self {
    case .network(let error), .resolve(let error): error
    default: 0
    }
  }
}
