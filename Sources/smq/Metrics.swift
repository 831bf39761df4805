/// The numbers that may fall. All others count what has happened.
let gauges: [StaticString] = [
  "state", "protocol", "outbox_bytes", "outbox_bytes_peak", "outbox_bytes_capacity", "outbox_messages",
  "outbox_messages_peak", "outbox_messages_capacity", "outbox_age_ms", "urgent_bytes", "urgent_bytes_peak",
  "urgent_messages", "urgent_messages_peak", "in_flight", "in_flight_maximum", "submit_waiting",
  "submit_peak",
  "unacknowledged", "unacknowledged_peak", "receive_maximum", "requests", "requests_peak", "replies",
  "replies_peak", "subscriptions", "receive_bytes_peak", "control_bytes_peak",
]

/// The numbers of several classes, with the exponents of two as limits, in milliseconds.
let histograms: [StaticString] = ["latency", "round_trip"]

/// What a metric counts: a sentence without its full stop, for people who draw it. `nil`: it is of a newer library.
func metricHelp(_ name: [UInt8]) -> Text? {
  if let help = metricTexts.first(where: { name == $0.name })?.help { return Text(help.bytes) }
  guard name.begins(with: "ended_") else { return nil }
  return "Ends of connections, and of attempts to connect: \(Array(name.dropFirst(6)))"
}

/// Those of smq_stats, shortened, but for the ends.
private let metricTexts: [(name: StaticString, help: StaticString)] = [
  ("state", "0 disconnected, 1 connecting, 2 connected, 3 disconnecting, 4 waiting"),
  ("protocol", "The version of MQTT: 3 is 3.1, 4 is 3.1.1, 5 is 5.0"),
  ("connections", "Connections that the server accepted"),
  ("attempts", "Attempts to connect"),
  ("messages_published", "Messages that the program published"),
  ("messages_completed", "Messages that ended as their QoS promises"),
  ("messages_failed", "Messages that ended in another way"),
  ("messages_expired", "Published messages that were not sent in time"),
  ("messages_dropped", "Published messages that made room for others"),
  ("messages_replaced", "Published messages that a later one with the same topic replaced"),
  ("messages_received", "Messages delivered to the program"),
  ("messages_duplicate", "Messages that arrived again and were not delivered again"),
  ("messages_oversize", "Messages whose payload was dropped for lack of room"),
  ("messages_postponed", "QoS 2 messages left to a later connection for lack of room"),
  ("packets_sent", "Control Packets handed to the kernel"),
  ("packets_received", "Control Packets received"),
  ("bytes_sent", "Bytes of MQTT handed to the kernel"),
  ("bytes_received", "Bytes of MQTT received"),
  ("send_calls", "System calls that sent something"),
  ("receive_calls", "System calls that received something"),
  ("outbox_bytes", "Bytes of the outbox in use"),
  ("outbox_bytes_peak", "The highest value of outbox_bytes so far"),
  ("outbox_bytes_capacity", "The limit of outbox_bytes"),
  ("outbox_messages", "Messages in the outbox"),
  ("outbox_messages_peak", "The highest number of places in use in the outbox so far"),
  ("outbox_messages_capacity", "The limit of outbox_messages"),
  ("outbox_age_ms", "The age of the oldest message that waits to be sent, in milliseconds"),
  ("in_flight", "QoS 1 and 2 messages sent and not yet acknowledged"),
  ("in_flight_maximum", "The limit of in_flight; 0 without a connection"),
  ("unacknowledged", "QoS 1 and 2 messages received and not yet acknowledged"),
  ("unacknowledged_peak", "The highest value of unacknowledged so far"),
  ("receive_maximum", "The limit of unacknowledged"),
  ("requests", "SUBSCRIBE and UNSUBSCRIBE packets not yet acknowledged"),
  ("requests_peak", "The highest value of requests so far"),
  ("replies", "Requests that wait for their reply"),
  ("replies_peak", "The highest value of replies so far"),
  ("subscriptions", "Topic Filters kept for resubscribing"),
  ("receive_bytes_peak", "The highest fill level of the receive buffer, in bytes"),
  ("control_bytes_peak", "The highest fill level of the room for acknowledgements, in bytes"),
  ("urgent_bytes", "Bytes in use by urgent messages"),
  ("urgent_bytes_peak", "The highest value of urgent_bytes so far"),
  ("urgent_messages", "Urgent messages in the outbox"),
  ("urgent_messages_peak", "The highest value of urgent_messages so far"),
  ("submitted", "Messages that smq_submit() accepted"),
  ("submit_full", "Messages that smq_submit() refused for lack of room"),
  ("submit_waiting", "Submitted messages that are not yet in the outbox"),
  ("submit_peak", "The highest value of submit_waiting so far"),
  ("latency", "From sending a QoS 1 or 2 message to its PUBACK or PUBCOMP"),
  ("round_trip", "From PINGREQ to PINGRESP"),
]
