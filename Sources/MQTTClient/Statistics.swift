import Capture
import Driver
import MQTTSession
import MQTTWire
import Platform
import Storage
import Transports

/// The numbers of a client, for the programs at its inspection socket. The names are those of the fields of `smq_stats`,
/// and those of states that are no numbers there.
struct Statistics: BitwiseCopyable {
  private let state: UInt32
  private let version: UInt32
  private let attempts: UInt32
  private let outboxAge: UInt32
  private let counters: Counters
  private let outbox: OutboxNumbers
  private let inbox: InboxNumbers
  private let submissions: SubmissionNumbers
  private let failures: FailureCounts

  init<Link: Transport & ~Copyable, System: Platform & ~Copyable>(
    of client: borrowing Driver<MQTTEngine, Link, System>
  ) {
    state =
      switch client.state {
      case .disconnected: 0
      case .connecting: 1
      case .connected: 2
      case .disconnecting: 3
      case .waiting: 4
      }
    version = UInt32(client.version.rawValue)
    attempts = client.attempt
    outboxAge = client.outboxAge
    counters = client.counters
    outbox = client.outboxNumbers
    inbox = client.inboxNumbers
    submissions = client.submissionNumbers
    failures = client.failures
  }

  @_optimize(size)
  @_lifetime(lines: copy lines)
  func write(to lines: inout NumberLines) {
    lines.put("state", state)
    lines.put("protocol", version)
    writeTraffic(to: &lines)
    writeOutbox(to: &lines)
    writeInbox(to: &lines)
    writeEnds(to: &lines)
    writeLatencies(to: &lines)
  }

  @_optimize(size)
  @_lifetime(lines: copy lines)
  private func writeTraffic(to lines: inout NumberLines) {
    lines.put("connections", counters.connections)
    lines.put("attempts", attempts)
    lines.put("packets_sent", counters.packetsSent)
    lines.put("packets_received", counters.packetsReceived)
    lines.put("bytes_sent", counters.bytesSent)
    lines.put("bytes_received", counters.bytesReceived)
    lines.put("send_calls", counters.sendCalls)
    lines.put("receive_calls", counters.receiveCalls)
  }

  @_optimize(size)
  @_lifetime(lines: copy lines)
  private func writeOutbox(to lines: inout NumberLines) {
    lines.put("messages_published", counters.messagesPublished)
    lines.put("messages_completed", outbox.delivered)
    lines.put("messages_failed", outbox.failed)
    lines.put("messages_expired", outbox.expired)
    lines.put("messages_dropped", outbox.dropped)
    lines.put("messages_replaced", outbox.replaced)
    lines.put("outbox_bytes", outbox.ordinary.bytes)
    lines.put("outbox_bytes_peak", outbox.ordinary.bytesPeak)
    lines.put("outbox_bytes_capacity", outbox.ordinary.bytesCapacity)
    lines.put("outbox_messages", outbox.ordinary.messages)
    lines.put("outbox_messages_peak", outbox.ordinary.messagesPeak)
    lines.put("outbox_messages_capacity", outbox.ordinary.messagesCapacity)
    lines.put("outbox_age_ms", outboxAge)
    lines.put("urgent_bytes", outbox.urgent.bytes)
    lines.put("urgent_bytes_peak", outbox.urgent.bytesPeak)
    lines.put("urgent_messages", outbox.urgent.messages)
    lines.put("urgent_messages_peak", outbox.urgent.messagesPeak)
    lines.put("in_flight", outbox.inFlight)
    lines.put("in_flight_maximum", outbox.inFlightMaximum)
    lines.put("submitted", submissions.taken)
    lines.put("submit_full", submissions.refused)
    lines.put("submit_waiting", submissions.waiting)
    lines.put("submit_peak", submissions.peak)
  }

  @_optimize(size)
  @_lifetime(lines: copy lines)
  private func writeInbox(to lines: inout NumberLines) {
    lines.put("messages_received", counters.messagesReceived)
    lines.put("messages_duplicate", counters.messagesDuplicate)
    lines.put("messages_oversize", counters.messagesOversize)
    lines.put("messages_postponed", counters.messagesPostponed)
    lines.put("unacknowledged", inbox.unacknowledged)
    lines.put("unacknowledged_peak", inbox.peak)
    lines.put("receive_maximum", inbox.maximum)
    lines.put("requests", inbox.subscribes)
    lines.put("requests_peak", inbox.subscribesPeak)
    lines.put("replies", inbox.responses)
    lines.put("replies_peak", inbox.responsesPeak)
    lines.put("subscriptions", inbox.subscriptions)
    lines.put("receive_bytes_peak", inbox.receiveBytesPeak)
    lines.put("control_bytes_peak", inbox.controlBytesPeak)
  }

  @_optimize(size)
  @_lifetime(lines: copy lines)
  private func writeEnds(to lines: inout NumberLines) {
    lines.put("ended_requested", failures.requested)
    lines.put("ended_refused", failures.refused)
    lines.put("ended_server_closed", failures.serverClosed)
    lines.put("ended_malformed", failures.malformed)
    lines.put("ended_protocol", failures.violation)
    lines.put("ended_keep_alive", failures.keepAlive)
    lines.put("ended_stream", failures.stream)
    lines.put("ended_resolve", failures.resolve)
    lines.put("ended_network", failures.network)
    lines.put("ended_closed", failures.closed)
    lines.put("ended_timeout", failures.timeout)
    lines.put("ended_credentials", failures.declined)
    lines.put("ended_proxy", failures.proxy)
    lines.put("ended_tls", failures.tls)
    lines.put("ended_websocket", failures.webSocket)
  }

  /// A line for each class: the one that has none is left out.
  @_optimize(size)
  @_lifetime(lines: copy lines)
  private func writeLatencies(to lines: inout NumberLines) {
    for index in 0..<LatencyHistogram.count where outbox.latencies[index] > 0 {
      lines.put("latency", index, outbox.latencies[index])
    }
    for index in 0..<LatencyHistogram.count where counters.roundTrips[index] > 0 {
      lines.put("round_trip", index, counters.roundTrips[index])
    }
  }
}
