// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The C functions of chapter 13: numbers, the log, and the tap.

import CInterface
public import CSwiftSTOMP
import Driver
import STOMPClient
import STOMPSession
import Storage
import Transports

@c @implementation
public func sst_client_stats(_ client: OpaquePointer?, _ stats: UnsafeMutablePointer<sst_stats>?) -> Int32 {
  status { () throws(Status) in
    guard let stats = unsafe stats else { throw .null }
    let slot = try unsafe slot(client)
    let (size, known) = unsafe (stats.pointee.size, MemoryLayout<sst_stats>.size)
    guard StructSize.isRoom(size, known: known) else { throw .structSize }
    unsafe stats.pointee = numbers(of: slot.pointee.client)
    unsafe stats.pointee.size = size
    unsafe StructSize.clearTail(stats, size, known: known)
    return Status.ok.rawValue
  }
}

private func numbers(of client: borrowing Client) -> sst_stats {
  var stats = sst_stats()
  let counters = client.engine.session.counters
  stats.connections = counters.connections
  stats.frames_sent = counters.framesSent.uint64
  stats.frames_received = counters.framesReceived.uint64
  stats.bytes_sent = counters.bytesSent.uint64
  stats.bytes_received = counters.bytesReceived.uint64
  stats.send_calls = counters.sendCalls.uint64
  stats.receive_calls = counters.receiveCalls.uint64
  stats.messages_received = counters.messagesReceived.uint64
  stats.messages_oversize = counters.messagesOversize.uint64
  let outbox = client.engine.session.outboxCounts
  stats.messages_sent = outbox.delivered.uint64
  stats.messages_failed = outbox.failed.uint64
  stats.messages_dropped = outbox.dropped.uint64
  stats.outbox_bytes = UInt32(truncatingIfNeeded: outbox.bytes)
  stats.outbox_bytes_peak = UInt32(truncatingIfNeeded: outbox.bytesPeak)
  stats.outbox_frames = UInt32(truncatingIfNeeded: outbox.frames)
  stats.outbox_frames_peak = UInt32(truncatingIfNeeded: outbox.framesPeak)
  stats.urgent_frames = UInt32(truncatingIfNeeded: outbox.urgentFrames)
  stats.urgent_frames_peak = UInt32(truncatingIfNeeded: outbox.urgentFramesPeak)
  stats.receipts_due = UInt32(truncatingIfNeeded: client.engine.session.receiptsDue)
  stats.held = UInt32(truncatingIfNeeded: client.engine.session.heldCount)
  let totals = client.engine.submissions.totals
  stats.submitted = totals.put.uint64
  stats.submit_full = totals.refused.uint64
  stats.submit_waiting = UInt32(truncatingIfNeeded: client.engine.submissions.count)
  stats.submit_peak = UInt32(truncatingIfNeeded: client.engine.submissions.peak)
  stats.attempts = client.attempt
  add(client.failures, to: &stats)
  return stats
}

private func add(_ failures: FailureCounts, to stats: inout sst_stats) {
  stats.ended_requested = failures.requested
  stats.ended_refused = failures.refused
  stats.ended_server_closed = failures.serverClosed
  stats.ended_malformed = failures.malformed &+ failures.violation
  stats.ended_heart_beat = failures.keepAlive
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
public func sst_set_log(
  _ client: OpaquePointer?, _ level: Int32, _ log: sst_log?, _ user: UnsafeMutableRawPointer?
) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    guard level >= 0, level <= Int32(SST_LOG_DEBUG) else { throw .option }
    if let log = unsafe log, let level = LogHook.Level(rawValue: level) {
      unsafe slot.pointee.client.log = LogHook(log, user: user, level: level)
    } else {
      unsafe slot.pointee.client.log = nil
    }
    return Status.ok.rawValue
  }
}

@c @implementation
public func sst_set_tap(
  _ client: OpaquePointer?, _ flags: UInt32, _ tap: sst_tap?, _ user: UnsafeMutableRawPointer?
) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    guard flags & ~UInt32(SST_TAP_SECRETS) == 0 else { throw .option }
    if let tap = unsafe tap {
      unsafe slot.pointee.tap = OwnTap(function: tap, user: user)
      let showsSecrets = flags & UInt32(SST_TAP_SECRETS) != 0
      unsafe slot.pointee.client.observe(
        FrameTap(tell, user: UnsafeMutableRawPointer(slot), showsSecrets: showsSecrets))
    } else {
      unsafe slot.pointee.tap = nil
      unsafe slot.pointee.client.observe(nil)
    }
    return Status.ok.rawValue
  }
}

private func tell(_ user: UnsafeMutableRawPointer?, _ frame: UnsafeRawPointer) {
  guard let slot = unsafe user?.assumingMemoryBound(to: ClientHandle.self), let tap = unsafe slot.pointee.tap
  else {
    return
  }
  let frame = unsafe frame.assumingMemoryBound(to: ObservedFrame.self)
  var told = unsafe sst_observed()
  unsafe told.size = UInt32(MemoryLayout<sst_observed>.size)
  unsafe told.direction = UInt32(frame.pointee.direction.rawValue)
  unsafe told.time_ms = frame.pointee.time.milliseconds
  unsafe told.length = UInt32(truncatingIfNeeded: frame.pointee.length)
  unsafe told.data = sst_bytes(data: frame.pointee.bytes.baseAddress, size: frame.pointee.bytes.count)
  unsafe tap.function(tap.user, &told)
}
