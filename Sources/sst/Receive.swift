import CSwiftSTOMP

/// sst receive
func receive(_ arguments: Arguments) throws(ExitError) -> Int32 {
  if arguments.destinations.isEmpty { throw usageError("a destination is required: use -t") }
  // The library's table.
  if arguments.destinations.count > 1024 { throw usageError("-t can be given at most 1024 times") }
  let receiver = Receiver(arguments)
  do {
    return try receiver.run()
  } catch {
    if arguments.quiet && !error.isUsage { return error.status }
    throw error
  }
}

private final class Receiver {
  private let arguments: Arguments
  private let printer: Printer
  private var assembly = Assembly()
  private var counted: Int64 = 0
  private var isDone = false
  /// The broker has confirmed a subscription: what it ends now was not wrong from the beginning.
  private var isSubscribed = false
  /// What is printed, and not yet acknowledged.
  private var tokens: [UInt64] = []

  init(_ arguments: Arguments) {
    self.arguments = arguments
    printer = Printer(arguments)
  }

  func run() throws(ExitError) -> Int32 {
    var options = try clientOptions(arguments)
    options.receiveBytes = 262_144
    options.subscriptions = UInt32(arguments.destinations.count)
    var longest = 0
    for destination in arguments.destinations { longest = max(longest, destination.count) }
    // Each byte may be escaped as two.
    options.subscriptionBytes = UInt32(min(65_535, 2 * (longest + arguments.headers.count) + 256))
    options.heldMessages = 256
    options.heldBytes = 256
    options.controlBytes = 65_536
    let loop = try EventLoop(options, arguments)
    for (index, destination) in arguments.destinations.enumerated() {
      let status = loop.client.subscribe(
        destination, ack: arguments.ack, headers: arguments.headers, cookie: UInt64(index))
      if status < 0 {
        throw ExitError(text: "-t: cannot subscribe to \(destination.printable): \(rejectText(status))")
      }
    }
    // What is written can be acknowledged.
    loop.idle = { self.acknowledge(loop) }
    let end = loop.receive(arguments) { event throws(ExitError) in
      try self.took(event, loop)
      return self.isDone
    }
    loop.output.flush()
    acknowledge(loop)
    loop.idle = nil
    loop.disconnect(drain: end.isCutShort ? 200 : 5_000, isShort: end.isCutShort)
    try loop.output.finish()
    if let failure = end.failure { throw failure }
    return 0
  }

  private func took(_ event: Event, _ loop: EventLoop) throws(ExitError) {
    switch event.type {
    case SST_EVENT_CONNECTED, SST_EVENT_DISCONNECTED:
      // The tokens of one connection mean nothing in the next.
      tokens = []
      guard event.type == SST_EVENT_DISCONNECTED else { break }
      try loop.lost(
        event, isWorthAnother: isSubscribed || event.status != SST_ERR_SERVER_CLOSED, arguments)
    case SST_EVENT_COMPLETED where event.completed == SST_COMPLETED_SUBSCRIBE:
      guard event.status == SST_OK else {
        let destination = arguments.destinations[Int(event.cookie)]
        throw ExitError(
          text: "-t: the broker refused \(destination.printable): \(closeText(event))", status: 6)
      }
      isSubscribed = true
    case SST_EVENT_MESSAGE:
      if event.status != SST_OK {
        // Going on would acknowledge it with the next one.
        throw ExitError(text: "a message of more than 256 KiB has no content-length, and stays there")
      } else if let message = assembly.add(event) {
        try printer.print(message, to: loop.output)
        counted += 1
        if counted == arguments.count { isDone = true }
        if message.token != 0 { tokens.append(message.token) }
      }
    default: break
    }
  }

  /// As far as there is room for ACK; the rest follows.
  private func acknowledge(_ loop: EventLoop) {
    guard loop.output.error == 0, !tokens.isEmpty else { return }
    var done = 0
    for token in tokens {
      if loop.client.acknowledge(token) == SST_ERR_FULL { break }
      done += 1
    }
    tokens.removeFirst(done)
    loop.client.flush()
  }
}
