import Capture
import Driver
import Platform
import STOMPSession
import STOMPWire
import Storage
import Transports

/// The numbers of a client, for the programs at its inspection socket. The names are those of the fields of `sst_stats`,
/// and those of states that are no numbers there.
struct STOMPStatistics: BitwiseCopyable {
  private let state: UInt32
  private let version: UInt32
  private let attempts: UInt32
  private let counters: STOMPCounters
  private let outbox: OutboxCounts
  private let receiptsDue: Int
  private let held: Int
  private let submitted: (put: Counter, refused: Counter)
  private let submissions: (waiting: Int, peak: Int)
  private let failures: FailureCounts

  init<Link: Transport & ~Copyable, System: Platform & ~Copyable>(
    of client: borrowing Driver<STOMPEngine, Link, System>
  ) {
    state =
      switch client.state {
      case .disconnected: 0
      case .connecting: 1
      case .connected: 2
      case .disconnecting: 3
      case .waiting: 4
      }
    version = UInt32(client.engine.session.version.rawValue)
    attempts = client.attempt
    counters = client.engine.session.counters
    outbox = client.engine.session.outboxCounts
    receiptsDue = client.engine.session.receiptsDue
    held = client.engine.session.heldCount
    let totals = client.engine.submissions.totals
    submitted = (totals.put, totals.refused)
    submissions = (client.engine.submissions.count, client.engine.submissions.peak)
    failures = client.failures
  }

  @_optimize(size)
  @_lifetime(lines: copy lines)
  func write(to lines: inout NumberLines) {
    lines.put("state", state)
    lines.put("protocol", version)
    writeTraffic(to: &lines)
    writeMessages(to: &lines)
    writeEnds(to: &lines)
  }

  @_optimize(size)
  @_lifetime(lines: copy lines)
  private func writeTraffic(to lines: inout NumberLines) {
    lines.put("connections", counters.connections)
    lines.put("attempts", attempts)
    lines.put("frames_sent", counters.framesSent)
    lines.put("frames_received", counters.framesReceived)
    lines.put("bytes_sent", counters.bytesSent)
    lines.put("bytes_received", counters.bytesReceived)
    lines.put("send_calls", counters.sendCalls)
    lines.put("receive_calls", counters.receiveCalls)
  }

  @_optimize(size)
  @_lifetime(lines: copy lines)
  private func writeMessages(to lines: inout NumberLines) {
    lines.put("messages_sent", outbox.delivered)
    lines.put("messages_failed", outbox.failed)
    lines.put("messages_dropped", outbox.dropped)
    lines.put("messages_received", counters.messagesReceived)
    lines.put("messages_oversize", counters.messagesOversize)
    lines.put("outbox_bytes", outbox.bytes)
    lines.put("outbox_bytes_peak", outbox.bytesPeak)
    lines.put("outbox_frames", outbox.frames)
    lines.put("outbox_frames_peak", outbox.framesPeak)
    lines.put("urgent_frames", outbox.urgentFrames)
    lines.put("urgent_frames_peak", outbox.urgentFramesPeak)
    lines.put("receipts_due", receiptsDue)
    lines.put("held", held)
    lines.put("submitted", submitted.put)
    lines.put("submit_full", submitted.refused)
    lines.put("submit_waiting", submissions.waiting)
    lines.put("submit_peak", submissions.peak)
  }

  @_optimize(size)
  @_lifetime(lines: copy lines)
  private func writeEnds(to lines: inout NumberLines) {
    lines.put("ended_requested", failures.requested)
    lines.put("ended_refused", failures.refused)
    lines.put("ended_server_closed", failures.serverClosed)
    lines.put("ended_malformed", failures.malformed &+ failures.violation)
    lines.put("ended_heart_beat", failures.keepAlive)
    lines.put("ended_resolve", failures.resolve)
    lines.put("ended_network", failures.network)
    lines.put("ended_closed", failures.closed)
    lines.put("ended_timeout", failures.timeout)
    lines.put("ended_credentials", failures.declined)
    lines.put("ended_proxy", failures.proxy)
    lines.put("ended_tls", failures.tls)
    lines.put("ended_websocket", failures.webSocket)
  }
}
