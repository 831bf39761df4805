import CSwiftSTOMP

/// sst bench
func bench(_ arguments: Arguments) throws(ExitError) -> Int32 {
  let crowd = try Crowd(arguments.subscribers + arguments.publishers) { (number) throws(ExitError) in
    try makeClient(arguments, number)
  }
  let load = Sending(arguments, crowd)
  let interrupted = try load.run()
  let report = Report(arguments, load)
  guard say(arguments.json ? report.json : report.plain, to: 1) else {
    throw ExitError(text: "cannot write to standard output")
  }
  return interrupted == 0 ? (load.lost == 0 && load.failed == 0 ? 0 : 1) : 128 + interrupted
}

private func makeClient(_ arguments: Arguments, _ number: Int) throws(ExitError) -> Client {
  var options = try clientOptions(arguments)
  let isReceiver = number < Int(arguments.subscribers)
  let frame = UInt32(arguments.size) + 512
  options.outboxBytes = isReceiver ? 1024 : max(65_536, 4 * frame)
  options.outboxFrames = isReceiver ? 8 : 256
  options.receiveBytes = isReceiver ? max(16_384, 2 * frame) : 4096
  options.subscriptions = 1
  options.subscriptionBytes = 4096
  do {
    return try Client(options)
  } catch {
    throw ExitError(
      text: "client \(number + 1): cannot create the client: \(STOMP.statusText(error.status))")
  }
}

/// What a bench of STOMP sends. Receivers of a queue share its messages.
private final class Sending: Load {
  private let sendsReceipts: Bool
  private let headers: [UInt8]
  private let inFlight: Int64
  private let size: Int64
  private let destination: [UInt8]

  init(_ arguments: Arguments, _ crowd: Crowd) {
    (sendsReceipts, headers) = (arguments.sendsReceipts, arguments.headers)
    (inFlight, size) = (arguments.inFlight, arguments.size)
    destination = arguments.destinations.first ?? ascii("/topic/sst.bench.") + randomName()
    let isQueue = destination.begins(with: "/queue")
    super.init(arguments, crowd, isConfirmed: sendsReceipts, isShared: isQueue)
  }

  override func subscribe(_ client: Client) -> Int {
    min(
      client.subscribe(destination, ack: UInt32(SST_ACK_AUTO), headers: headers), SST_OK)
  }

  override func publish(_ payload: [UInt8], from client: Client, _ number: Int, at time: Int64) -> Int {
    var message = STOMP.Message(destination: destination, body: payload)
    message.flags = sendsReceipts ? SST_SEND_RECEIPT : SST_SEND_QUIET
    message.cookie = UInt64(bitPattern: time)
    return client.send(message)
  }

  override var window: Int64 { max(1, min(inFlight, 4_194_304 / size)) }
  override var verb: StaticString { "sent" }
}

/// The result of a bench, as text or as JSON.
private struct Report {
  let plain: Text
  let json: Text

  init(_ arguments: Arguments, _ load: Load) {
    let heading: Text =
      "senders \(arguments.publishers), receivers \(arguments.subscribers), \(arguments.sendsReceipts ? "with" as Text : "without") receipts, bodies of \(arguments.size) bytes\n"
    plain = heading + load.words(sent: "sent       ", acknowledged: "receipt after")
    json = load.object(
      [
        ("senders", arguments.publishers), ("receivers", arguments.subscribers),
        ("receipts", arguments.sendsReceipts ? 1 : 0), ("body_bytes", arguments.size),
      ], sent: ("sent", "sending_us", "sent_per_s"), acknowledged: "receipt_us")
  }
}
