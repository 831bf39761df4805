import CSwiftMQTT

/// smq bench
func bench(_ arguments: Arguments) throws(ExitError) -> Int32 {
  if arguments.publishers == 0 { throw usageError("--publishers has to be at least 1") }
  if arguments.url.isEmpty == false, let topic = BrokerURL(arguments.url).topic, !topic.isEmpty {
    throw usageError("the URL: it must not have a topic; use -t")
  }
  let crowd = try Crowd(arguments)
  let load = Load(arguments, crowd)
  let interrupted = try load.run()
  let report = Report(arguments, load)
  guard say(arguments.json ? report.json : report.plain, to: 1) else {
    throw ExitError(text: "cannot write to standard output")
  }
  return interrupted == 0 ? (load.lost == 0 && load.failed == 0 ? 0 : 1) : 128 + interrupted
}

/// The clients of a bench, the subscribers first, and the one place that waits for them.
final class Crowd {
  let arguments: Arguments
  private(set) var clients: [Client] = []
  private let set = System.Set()
  private var due: [Int64] = []
  private let signals = System.catchSignals()
  private(set) var isInterrupted = false
  /// Receives each event, with the number of its client.
  var took: (Int, Event) throws(ExitError) -> Void = { (_, _) throws(ExitError) in }

  init(_ arguments: Arguments) throws(ExitError) {
    self.arguments = arguments
    let count = arguments.subscribers + arguments.publishers
    // Each client has two descriptors.
    let allowed = System.allowDescriptors(2 * count + 16)
    guard allowed >= 2 * count + 16 else {
      throw ExitError(
        text:
          "\(count) clients need \(2 * count + 16) descriptors, but only \(allowed) are allowed: see ulimit -n"
      )
    }
    _ = set.add(signals, number: .max)
    for number in 0..<Int(count) {
      let client = try makeClient(number)
      let error = set.add(client.descriptor, number: UInt32(number))
      guard error == 0 else { throw ExitError(text: "cannot wait for a client: \(System.errorText(error))") }
      clients.append(client)
      due.append(.max)
    }
  }

  private func makeClient(_ number: Int) throws(ExitError) -> Client {
    let version = arguments.version ?? 4
    var options = try clientOptions(arguments, version)
    if let prefix = arguments.prefix {
      options.clientID = prefix + decimal(Int64(System.processID)) + [45] + decimal(Int64(number))
    } else if version == 3 {
      options.clientID = randomID()
    }
    let isSubscriber = number < Int(arguments.subscribers)
    let packet = UInt32(arguments.size) + 256
    options.outboxBytes = isSubscriber ? 1024 : max(32_768, 4 * packet)
    options.outboxMessages = isSubscriber ? 4 : 256
    options.receiveBytes = isSubscriber ? max(16_384, 2 * packet) : 1024
    options.maximumPacket = 0
    options.receiveMaximum = isSubscriber ? 64 : 1
    options.unreleasedMaximum = isSubscriber ? 4096 : 1
    do {
      return try Client(options)
    } catch {
      throw ExitError(text: "cannot create client \(number + 1): \(MQTT.statusText(error.status))")
    }
  }

  /// Runs one client, and passes its events on.
  func serve(_ number: Int) throws(ExitError) {
    let client = clients[number]
    client.service()
    while let event = client.nextEvent(payloadLimit: 16) { try took(number, event) }
    let timeout = client.nextTimeout
    due[number] = timeout < 0 ? .max : System.milliseconds + timeout
  }

  /// Waits at most until `deadline`, in milliseconds, and runs the clients that have something to do.
  func turn(until deadline: Int64) throws(ExitError) {
    var next = deadline
    for time in due where time < next { next = time }
    let now = System.milliseconds
    for number in set.wait(max(0, next - now)) {
      if number == .max { isInterrupted = true } else { try serve(Int(number)) }
    }
    let later = System.milliseconds
    for number in due.indices where due[number] <= later { try serve(number) }
    if System.caughtSignal != 0 { isInterrupted = true }
  }

  /// Disconnects all of them.
  func disconnect() throws(ExitError) {
    for (number, client) in clients.enumerated() {
      _ = client.disconnect(drain: 0)
      try serve(number)
    }
    let end = System.milliseconds + 3_000
    while clients.contains(where: { $0.state != SMQ_STATE_DISCONNECTED }) && System.milliseconds < end {
      try turn(until: end)
    }
  }
}
