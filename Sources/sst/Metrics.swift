/// The numbers that may fall. All others count what has happened.
let gauges: [StaticString] = [
  "state", "protocol", "outbox_bytes", "outbox_bytes_peak", "outbox_frames", "outbox_frames_peak",
  "urgent_frames", "urgent_frames_peak", "receipts_due", "held", "submit_waiting", "submit_peak",
]

/// A client of STOMP has none.
let histograms: [StaticString] = []

/// What a metric counts: a sentence without its full stop, for people who draw it. `nil`: it is of a newer library.
func metricHelp(_ name: [UInt8]) -> Text? {
  if let help = metricTexts.first(where: { name == $0.name })?.help { return Text(help.bytes) }
  guard name.begins(with: "ended_") else { return nil }
  return "Ends of connections, and of attempts to connect: \(Array(name.dropFirst(6)))"
}

/// Those of sst_stats, shortened, but for the ends.
private let metricTexts: [(name: StaticString, help: StaticString)] = [
  ("state", "0 disconnected, 1 connecting, 2 connected, 3 disconnecting, 4 waiting"),
  ("protocol", "The version of STOMP, ten times: 12 is 1.2"),
  ("connections", "Connections that the server accepted"),
  ("attempts", "Attempts to connect"),
  ("frames_sent", "Frames handed to the kernel"),
  ("frames_received", "Frames received"),
  ("bytes_sent", "Bytes of STOMP handed to the kernel"),
  ("bytes_received", "Bytes of STOMP received"),
  ("send_calls", "System calls that sent something"),
  ("receive_calls", "System calls that received something"),
  ("messages_sent", "SEND frames that ended well: with a receipt, or handed to the kernel"),
  ("messages_failed", "SEND frames that ended in another way"),
  ("messages_dropped", "SEND frames that made room for others"),
  ("messages_received", "Messages delivered to the program"),
  ("messages_oversize", "Messages whose body was dropped for lack of room"),
  ("outbox_bytes", "Bytes of the outbox in use"),
  ("outbox_bytes_peak", "The highest value of outbox_bytes so far"),
  ("outbox_frames", "Frames in the outbox"),
  ("outbox_frames_peak", "The highest value of outbox_frames so far"),
  ("urgent_frames", "Urgent frames in the outbox"),
  ("urgent_frames_peak", "The highest value of urgent_frames so far"),
  ("receipts_due", "Receipts that the server owes"),
  ("held", "Messages that wait to be acknowledged"),
  ("submitted", "Frames that sst_submit() accepted"),
  ("submit_full", "Frames that sst_submit() refused for lack of room"),
  ("submit_waiting", "Submitted frames that are not yet in the outbox"),
  ("submit_peak", "The highest value of submit_waiting so far"),
]
