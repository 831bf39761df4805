import CSwiftMQTT

/// smq sub
func subscribe(_ arguments: Arguments) throws(ExitError) -> Int32 {
  if arguments.topics.isEmpty && arguments.unsubscribed.isEmpty {
    throw usageError("a Topic Filter is required: use -t, or -L with one")
  }
  // The limits of the library's table and of pending requests.
  if arguments.topics.count > 1024 {
    throw usageError("-t can be given at most 1024 times: a filter with '+' or '#' may replace many")
  }
  if arguments.unsubscribed.count > 255 { throw usageError("-U can be given at most 255 times") }
  let subscriber = Subscriber(arguments)
  do {
    return try subscriber.run()
  } catch {
    if arguments.quiet && !error.isUsage { return error.status }
    throw error
  }
}

/// The options of a client that receives messages of any size.
func receivingOptions(_ arguments: Arguments, _ version: UInt32) throws(ExitError) -> MQTT.Options {
  var options = try clientOptions(arguments, version)
  var bytes = 32
  for filter in arguments.topics + arguments.unsubscribed + [arguments.responseTopic] {
    bytes += filter.count + 8
  }
  options.flags |= SMQ_OPTION_PARTS
  // No more messages should be in flight than are wanted.
  if version == 5 && arguments.properties.receiveMaximum == 0 {
    options.receiveMaximum = UInt32(min(20, arguments.command.set == Commands.rr ? 1 : arguments.count ?? 20))
  }
  // Mosquitto sends all QoS 2 messages that it has, whatever limit it is told.
  options.unreleasedMaximum = 65_535
  options.receiveBytes = 262_144
  limitReceiving(&options)
  options.requestBytes = UInt32(2 * bytes + 1024 + arguments.properties.subscribe.count)
  options.requests = UInt32(arguments.unsubscribed.count + 1)
  options.subscriptions = UInt32(min(1024, arguments.topics.count + 1))
  options.subscriptionBytes = UInt32(bytes + 64)
  return options
}

private let subscribing: UInt64 = 1
private let unsubscribing: UInt64 = 2

private final class Subscriber {
  private let arguments: Arguments
  private let version: UInt32
  private let printer: Printer
  private var assembly = Assembly()
  private var counted: Int64 = 0
  private var isDone = false
  private var hasSubscribed = false
  /// The requests whose acknowledgements -E waits for: those of -t or, without it, of -U.
  private let awaited: UInt64
  private var unanswered: Int

  init(_ arguments: Arguments) {
    self.arguments = arguments
    version = arguments.version ?? 4
    printer = Printer(arguments)
    awaited = arguments.topics.isEmpty ? unsubscribing : subscribing
    unanswered = arguments.topics.isEmpty ? arguments.unsubscribed.count : 1
  }

  func run() throws(ExitError) -> Int32 {
    let loop = try EventLoop(try receivingOptions(arguments, version), arguments)
    let end = loop.receive(arguments) { event throws(ExitError) in
      try self.took(event, loop)
      return self.isDone
    }
    loop.disconnect(
      drain: end.isCutShort ? 200 : 5_000,
      reason: end.isCutShort && version == 5 ? SMQ_REASON_DISCONNECT_WITH_WILL : SMQ_REASON_SUCCESS,
      properties: version == 5 ? arguments.properties.disconnect : [], isShort: end.isCutShort)
    try loop.output.finish()
    if let failure = end.failure { throw failure }
    return 0
  }

  private func took(_ event: Event, _ loop: EventLoop) throws(ExitError) {
    switch event.type {
    case SMQ_EVENT_CONNECTED:
      if !hasSubscribed { try subscribe(loop) }
      hasSubscribed = true
    case SMQ_EVENT_COMPLETED: try completed(event)
    case SMQ_EVENT_MESSAGE:
      if event.status != SMQ_OK {
        if !arguments.quiet {
          printError("smq sub", "a message of \(event.payloadTotal) bytes was too large, and was not printed")
        }
      } else if let message = assembly.add(event) {
        try came(message, loop)
      }
    case SMQ_EVENT_SUBSCRIPTION_LOST:
      if !arguments.quiet {
        printError(
          "smq sub",
          "the broker no longer accepts the subscription to \(event.topic.escaped): \(closeText(event))")
      }
    case SMQ_EVENT_DISCONNECTED: try loop.lost(event, isWorthAnother: true, arguments)
    default: break
    }
  }

  private func subscribe(_ loop: EventLoop) throws(ExitError) {
    var status = SMQ_OK
    if !arguments.topics.isEmpty {
      let isNew = version == 5
      status = loop.client.subscribe(
        arguments.topics.map {
          MQTT.Filter(
            filter: $0, qos: arguments.qos, retainAsPublished: isNew && arguments.asPublished,
            retainHandling: isNew && arguments.noRetained ? 2 : 0)
        }, cookie: subscribing, properties: isNew ? arguments.properties.subscribe : [],
        identifier: isNew ? arguments.properties.subscriptionIdentifier : 0)
    }
    if status == SMQ_OK {
      for filter in arguments.unsubscribed where status == SMQ_OK {
        status = loop.client.unsubscribe(
          [filter], cookie: unsubscribing, properties: version == 5 ? arguments.properties.unsubscribe : [])
      }
    }
    guard status == SMQ_OK else { throw ExitError(text: "-t: cannot subscribe: \(rejectText(status))") }
  }

  private func completed(_ event: Event) throws(ExitError) {
    if event.cookie == awaited { unanswered -= 1 }
    if arguments.untilSubscribed && unanswered == 0 { isDone = true }
    guard event.cookie == subscribing else { return }
    if event.status != SMQ_OK && !event.reasonCodes.contains(where: { $0 < 128 }) {
      throw ExitError(text: "the broker refused all subscriptions: \(closeText(event))", status: 0)
    }
    for (index, code) in event.reasonCodes.enumerated() where code >= 128 && index < arguments.topics.count {
      if !arguments.quiet {
        let name = MQTT.reasonName(event.version, Int(code))
        printError("smq sub", "-t: the broker refused \(arguments.topics[index].printable): \(name)")
      }
    }
  }

  private func came(_ message: Event, _ loop: EventLoop) throws(ExitError) {
    if arguments.retainedOnly && !message.retain {
      isDone = true
      return
    }
    if arguments.noRetained && message.retain { return }
    if arguments.filteredOut.contains(where: { MQTT.matches(filter: $0, topic: message.topic) }) { return }
    if arguments.removeRetained && message.retain {
      var empty = MQTT.Message(topic: message.topic)
      empty.qos = 1
      empty.retain = true
      let status = loop.client.publish(empty)
      if status != SMQ_OK {
        throw ExitError(text: "--remove-retained: \(message.topic.escaped): \(rejectText(status))")
      }
    }
    printer.print(message, to: loop.output)
    counted += 1
    if counted == arguments.count { isDone = true }
  }
}
