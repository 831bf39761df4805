/// The result of a bench, as text or as JSON.
struct Report {
  let plain: Text
  let json: Text

  init(_ arguments: Arguments, _ load: Load) {
    let heading: Text =
      "publishers \(arguments.publishers), subscribers \(arguments.subscribers), QoS \(Int(arguments.qos)), payloads of \(arguments.size) bytes\n"
    plain = heading + load.words(sent: "published  ", acknowledged: "acknowledged after")
    json = load.object(
      [
        ("publishers", arguments.publishers), ("subscribers", arguments.subscribers),
        ("qos", Int64(arguments.qos)), ("payload_bytes", arguments.size),
      ], sent: ("published", "publishing_us", "published_per_s"), acknowledged: "acknowledgement_us")
  }
}
