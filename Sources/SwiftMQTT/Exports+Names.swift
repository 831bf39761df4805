// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The C functions of chapters 1 and 15: names and numbers.

import CInterface
public import CSwiftMQTT
import Driver
import MQTTClient
import MQTTSession
import MQTTWire
import Storage

/// A literal ends with a zero and lives as long as the library.
private func text(_ literal: StaticString) -> UnsafePointer<CChar>? {
  unsafe UnsafeRawPointer(literal.utf8Start).assumingMemoryBound(to: CChar.self)
}

@c @implementation
public func smq_version() -> UInt32 {
  UInt32(SMQ_VERSION_MAJOR) << 16 | UInt32(SMQ_VERSION_MINOR) << 8 | UInt32(SMQ_VERSION_PATCH)
}

@c @implementation
public func smq_status_name(_ status: Int32) -> UnsafePointer<CChar>? {
  unsafe statusName(status) ?? text("unknown status")
}

@c @implementation
public func smq_status_text(_ status: Int32) -> UnsafePointer<CChar>? {
  unsafe statusText(status) ?? text("the status is unknown")
}

@c @implementation
public func smq_reason_code_name(_ protocol: UInt32, _ reason_code: Int32) -> UnsafePointer<CChar>? {
  if reason_code == -1 { return unsafe text("none") }
  let name =
    `protocol` == UInt32(SMQ_PROTOCOL_5_0)
    ? unsafe successNames.name(reason_code) ?? refusalNames.name(reason_code)
    : unsafe reason_code == 0x80 ? text("Failure") : returnCodeNames.name(reason_code)
  // A gap in the list is an empty name.
  guard let name = unsafe name, unsafe name.pointee != 0 else { return unsafe text("unknown Reason Code") }
  return unsafe name
}

@c @implementation
public func smq_stage_name(_ stage: Int32) -> UnsafePointer<CChar>? {
  unsafe stageNames.name(stage) ?? text("unknown stage")
}

@c @implementation
public func smq_tls_cause_name(_ cause: Int32) -> UnsafePointer<CChar>? {
  unsafe tlsCauseNames.name(cause) ?? text("unknown cause")
}

@c @implementation
public func smq_log_name(_ what: Int32) -> UnsafePointer<CChar>? {
  unsafe logNames.name(what) ?? text("unknown")
}

@c @implementation
public func smq_rule_name(_ rule: Int32) -> UnsafePointer<CChar>? {
  unsafe ruleNames.name(rule) ?? text("unknown rule")
}

@c @implementation
public func smq_client_stats(_ client: OpaquePointer?, _ stats: UnsafeMutablePointer<smq_stats>?) -> Int32 {
  do throws(Status) {
    guard let stats = unsafe stats else { throw .null }
    let slot = try unsafe slot(client)
    let size = unsafe stats.pointee.size
    guard size >= UInt32(MemoryLayout<smq_stats>.size), size <= 4096 else { throw .structSize }
    unsafe stats.pointee = describe(
      slot.pointee.client.counters, slot.pointee.client.outboxNumbers,
      slot.pointee.client.inboxNumbers, slot.pointee.client.submissionNumbers, size: size)
    unsafe add(slot.pointee.client.failures, to: &stats.pointee)
    unsafe stats.pointee.attempts = slot.pointee.client.attempt
    unsafe stats.pointee.outbox_age_ms = slot.pointee.client.outboxAge
    unsafe StructSize.clearTail(stats, size, known: MemoryLayout<smq_stats>.size)
    return Status.ok.rawValue
  } catch {
    return error.rawValue
  }
}

private func describe(
  _ counters: Counters, _ outbox: OutboxNumbers, _ inbox: InboxNumbers, _ submissions: SubmissionNumbers,
  size: UInt32
) -> smq_stats {
  var stats = smq_stats()
  stats.size = size
  stats.connections = counters.connections
  stats.messages_published = counters.messagesPublished.uint64
  stats.messages_completed = outbox.delivered.uint64
  stats.messages_failed = outbox.failed.uint64
  stats.packets_sent = counters.packetsSent.uint64
  stats.packets_received = counters.packetsReceived.uint64
  stats.bytes_sent = counters.bytesSent.uint64
  stats.bytes_received = counters.bytesReceived.uint64
  stats.send_calls = counters.sendCalls.uint64
  stats.receive_calls = counters.receiveCalls.uint64
  stats.outbox_bytes = UInt32(truncatingIfNeeded: outbox.ordinary.bytes)
  stats.outbox_bytes_peak = UInt32(truncatingIfNeeded: outbox.ordinary.bytesPeak)
  stats.outbox_bytes_capacity = UInt32(truncatingIfNeeded: outbox.ordinary.bytesCapacity)
  stats.outbox_messages = UInt32(truncatingIfNeeded: outbox.ordinary.messages)
  stats.outbox_messages_peak = UInt32(truncatingIfNeeded: outbox.ordinary.messagesPeak)
  stats.outbox_messages_capacity = UInt32(truncatingIfNeeded: outbox.ordinary.messagesCapacity)
  stats.in_flight = UInt32(truncatingIfNeeded: outbox.inFlight)
  stats.in_flight_maximum = UInt32(truncatingIfNeeded: outbox.inFlightMaximum)
  stats.messages_received = counters.messagesReceived.uint64
  stats.messages_duplicate = counters.messagesDuplicate.uint64
  stats.messages_oversize = counters.messagesOversize.uint64
  stats.messages_expired = outbox.expired.uint64
  stats.unacknowledged = UInt32(truncatingIfNeeded: inbox.unacknowledged)
  stats.unacknowledged_peak = UInt32(truncatingIfNeeded: inbox.peak)
  stats.receive_maximum = UInt32(truncatingIfNeeded: inbox.maximum)
  stats.requests = UInt32(truncatingIfNeeded: inbox.subscribes)
  stats.requests_peak = UInt32(truncatingIfNeeded: inbox.subscribesPeak)
  stats.replies = UInt32(truncatingIfNeeded: inbox.responses)
  stats.replies_peak = UInt32(truncatingIfNeeded: inbox.responsesPeak)
  stats.subscriptions = UInt32(truncatingIfNeeded: inbox.subscriptions)
  stats.receive_bytes_peak = UInt32(truncatingIfNeeded: inbox.receiveBytesPeak)
  stats.control_bytes_peak = UInt32(truncatingIfNeeded: inbox.controlBytesPeak)
  stats.urgent_bytes = UInt32(truncatingIfNeeded: outbox.urgent.bytes)
  stats.urgent_bytes_peak = UInt32(truncatingIfNeeded: outbox.urgent.bytesPeak)
  stats.urgent_messages = UInt32(truncatingIfNeeded: outbox.urgent.messages)
  stats.urgent_messages_peak = UInt32(truncatingIfNeeded: outbox.urgent.messagesPeak)
  stats.messages_dropped = outbox.dropped.uint64
  stats.messages_replaced = outbox.replaced.uint64
  // An array of C is imported as a tuple, whose elements are contiguous.
  unsafe withUnsafeMutablePointer(to: &stats.latency) { unsafe put(outbox.latencies, at: $0) }
  unsafe withUnsafeMutablePointer(to: &stats.round_trip) { unsafe put(counters.roundTrips, at: $0) }
  stats.submitted = submissions.taken.uint64
  stats.submit_full = submissions.refused.uint64
  stats.submit_waiting = UInt32(truncatingIfNeeded: submissions.waiting)
  stats.submit_peak = UInt32(truncatingIfNeeded: submissions.peak)
  stats.messages_postponed = counters.messagesPostponed.uint64
  return stats
}

/// The caller guarantees room for all the numbers of a histogram.
private func put(_ histogram: LatencyHistogram, at start: UnsafeMutableRawPointer) {
  for index in 0..<LatencyHistogram.count {
    unsafe start.storeBytes(of: histogram[index], toByteOffset: 4 &* index, as: UInt32.self)
  }
}

private func add(_ failures: FailureCounts, to stats: inout smq_stats) {
  stats.ended_requested = failures.requested
  stats.ended_refused = failures.refused
  stats.ended_server_closed = failures.serverClosed
  stats.ended_malformed = failures.malformed
  stats.ended_protocol = failures.violation
  stats.ended_keep_alive = failures.keepAlive
  stats.ended_stream = failures.stream
  stats.ended_resolve = failures.resolve
  stats.ended_network = failures.network
  stats.ended_closed = failures.closed
  stats.ended_timeout = failures.timeout
  stats.ended_credentials = failures.declined
  stats.ended_proxy = failures.proxy
  stats.ended_tls = failures.tls
  stats.ended_websocket = failures.webSocket
}

@c @implementation
public func smq_client_server(
  _ client: OpaquePointer?, _ server: UnsafeMutablePointer<smq_server>?
) -> Int32 {
  status { () throws(Status) in
    guard let server = unsafe server else { throw .null }
    let slot = try unsafe slot(client)
    let size = unsafe server.pointee.size
    guard size >= UInt32(MemoryLayout<smq_server>.size), size <= 4096 else { throw .structSize }
    guard let limits = unsafe slot.pointee.client.server else { throw .state }
    unsafe server.pointee = describe(limits, slot.pointee.client.version, size: size)
    unsafe StructSize.clearTail(server, size, known: MemoryLayout<smq_server>.size)
    return Status.ok.rawValue
  }
}

private func describe(_ limits: ServerLimits, _ version: ProtocolVersion, size: UInt32) -> smq_server {
  var server = smq_server()
  server.size = size
  server.protocol = UInt32(version.rawValue)
  server.session_expiry_s = limits.sessionExpiry
  server.receive_maximum = UInt32(truncatingIfNeeded: limits.receiveMaximum)
  server.maximum_packet_bytes =
    limits.maximumPacketSize == .max ? 0 : UInt32(truncatingIfNeeded: limits.maximumPacketSize)
  server.maximum_qos = UInt32(limits.maximumQoS)
  server.retain_available = limits.retainAvailable ? 1 : 0
  server.wildcard_available = limits.wildcardAvailable ? 1 : 0
  server.shared_available = limits.sharedAvailable ? 1 : 0
  server.subscription_identifiers_available = limits.identifiersAvailable ? 1 : 0
  server.topic_alias_maximum = UInt32(truncatingIfNeeded: limits.topicAliasMaximum)
  server.keep_alive_s = UInt32(limits.keepAlive)
  return server
}
