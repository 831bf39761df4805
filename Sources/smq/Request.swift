import CSwiftMQTT

/// smq rr
func request(_ arguments: Arguments) throws(ExitError) -> Int32 {
  let requester = Requester(arguments, try topic(of: arguments))
  guard !arguments.responseTopic.isEmpty else {
    throw usageError("a topic for the response is required: use -e")
  }
  guard let source = arguments.source else { throw usageError("a message is required: use -m, -f, -n or -s") }
  requester.message.content = try content(of: source)
  do {
    return try requester.run()
  } catch {
    if arguments.quiet && !error.isUsage { return error.status }
    throw error
  }
}

private let subscribing: UInt64 = 1
private let asking: UInt64 = 2

/// Subscribes, publishes the request, and prints the first message that arrives on the response topic. It ignores
/// Correlation Data, which does not exist before 5.0.
private final class Requester {
  private let arguments: Arguments
  private let version: UInt32
  private let printer: Printer
  private var assembly = Assembly()
  private var isDone = false
  private var isCutShort = false
  private var hasAsked = false
  var message: MQTT.Message

  init(_ arguments: Arguments, _ topic: [UInt8]) {
    self.arguments = arguments
    version = arguments.version ?? 5
    printer = Printer(arguments)
    message = MQTT.Message(topic: topic)
    message.qos = arguments.qos
    message.cookie = asking
  }

  func run() throws(ExitError) -> Int32 {
    if version == 5 {
      message.properties = arguments.properties.publish
      let response = MQTT.Property(
        identifier: SMQ_PROPERTY_RESPONSE_TOPIC, number: 0, name: [], value: arguments.responseTopic)
      _ = MQTT.put(response, kind: .bytes, into: &message.properties)
    }
    var options = try receivingOptions(arguments, version)
    if message.large != nil { options.streamBytes = 65_536 }
    let loop = try EventLoop(options, arguments)
    if let seconds = arguments.timeout { loop.deadline = System.milliseconds + seconds * 1000 }
    var failure: ExitError?
    while !isDone && failure == nil {
      do {
        switch loop.next() {
        case .event(let event): try took(event, loop)
        case .time:
          failure = ExitError(text: "no response within the time of -W", status: 27)
          isCutShort = true
        case .interrupted(let signal):
          failure = ExitError(text: "interrupted before a response arrived", status: 128 + signal)
        case .outputBroken: isDone = true
        case .input: break
        }
      } catch {
        failure = error
      }
    }
    loop.disconnect(
      reason: isCutShort && version == 5 ? SMQ_REASON_DISCONNECT_WITH_WILL : SMQ_REASON_SUCCESS,
      properties: version == 5 ? arguments.properties.disconnect : [], isShort: isCutShort)
    try loop.output.finish()
    if let failure { throw failure }
    return 0
  }

  private func took(_ event: Event, _ loop: EventLoop) throws(ExitError) {
    if let failure = message.large?.failure { throw ExitError(text: failure) }
    switch event.type {
    case SMQ_EVENT_CONNECTED where !hasAsked:
      let status = loop.client.subscribe(
        [MQTT.Filter(filter: arguments.responseTopic, qos: arguments.qos)], cookie: subscribing,
        properties: version == 5 ? arguments.properties.subscribe : [],
        identifier: version == 5 ? arguments.properties.subscriptionIdentifier : 0)
      if status != SMQ_OK { throw ExitError(text: "-e: cannot subscribe: \(rejectText(status))") }
    case SMQ_EVENT_COMPLETED where event.status != SMQ_OK:
      let what: Text =
        event.cookie == subscribing
        ? "-e: the broker refused the subscription" : "the request was not delivered"
      throw ExitError(text: "\(what): \(closeText(event))")
    case SMQ_EVENT_COMPLETED where event.cookie == subscribing: try ask(loop)
    case SMQ_EVENT_MESSAGE:
      guard let answer = assembly.add(event), hasAsked else { return }
      if arguments.noRetained && answer.retain { return }
      printer.print(answer, to: loop.output)
      isDone = true
    // The response may have been lost with it.
    case SMQ_EVENT_DISCONNECTED: try loop.lost(event, isWorthAnother: false, arguments)
    default: break
    }
  }

  private func ask(_ loop: EventLoop) throws(ExitError) {
    let status = loop.client.publish(message)
    guard status == SMQ_OK else {
      throw ExitError(text: "the request cannot be published: \(rejectText(status))")
    }
    hasAsked = true
  }
}
