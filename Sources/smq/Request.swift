import CSwiftMQTT

/// smq rr
func request(_ arguments: Arguments) throws(Complaint) -> Int32 {
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

  func run() throws(Complaint) -> Int32 {
    if version == 5 {
      message.properties = arguments.properties.publish
      let response = MQTT.Property(
        identifier: SMQ_PROPERTY_RESPONSE_TOPIC, number: 0, name: [], value: arguments.responseTopic)
      _ = MQTT.put(response, kind: .bytes, into: &message.properties)
    }
    var options = try receivingOptions(arguments, version)
    if message.large != nil { options.streamBytes = 65_536 }
    let link = try Link(options, arguments)
    if let seconds = arguments.timeout { link.deadline = System.milliseconds + seconds * 1000 }
    var failure: Complaint?
    while !isDone && failure == nil {
      do {
        switch link.next() {
        case .event(let event): try took(event, link)
        case .time:
          failure = Complaint(text: "no response within the time of -W", status: 27)
          isCutShort = true
        case .interrupted(let signal):
          failure = Complaint(text: "interrupted before a response arrived", status: 128 + signal)
        case .outputBroken: isDone = true
        case .input: break
        }
      } catch {
        failure = error
      }
    }
    link.leave(
      reason: isCutShort && version == 5 ? SMQ_REASON_DISCONNECT_WITH_WILL : SMQ_REASON_SUCCESS,
      properties: version == 5 ? arguments.properties.disconnect : [], isShort: isCutShort)
    try link.output.finish()
    if let failure { throw failure }
    return 0
  }

  private func took(_ event: Event, _ link: Link) throws(Complaint) {
    if let failure = message.large?.failure { throw Complaint(text: failure) }
    switch event.type {
    case SMQ_EVENT_CONNECTED where !hasAsked:
      let answer = link.client.subscribe(
        [MQTT.Filter(filter: arguments.responseTopic, qos: arguments.qos)], cookie: subscribing,
        properties: version == 5 ? arguments.properties.subscribe : [],
        identifier: version == 5 ? arguments.properties.subscriptionIdentifier : 0)
      if answer != SMQ_OK { throw Complaint(text: "-e: cannot subscribe: \(whyNot(answer))") }
    case SMQ_EVENT_COMPLETED where event.status != SMQ_OK:
      let what: Text =
        event.cookie == subscribing
        ? "-e: the broker refused the subscription" : "the request was not delivered"
      throw Complaint(text: "\(what): \(why(event))")
    case SMQ_EVENT_COMPLETED where event.cookie == subscribing: try ask(link)
    case SMQ_EVENT_MESSAGE:
      guard let answer = assembly.add(event), hasAsked else { return }
      if arguments.noRetained && answer.retain { return }
      printer.print(answer, to: link.output)
      isDone = true
    // The response may have been lost with it.
    case SMQ_EVENT_DISCONNECTED: try link.lost(event, isWorthAnother: false, arguments)
    default: break
    }
  }

  private func ask(_ link: Link) throws(Complaint) {
    let answer = link.client.publish(message)
    guard answer == SMQ_OK else {
      throw Complaint(text: "the request cannot be published: \(whyNot(answer))")
    }
    hasAsked = true
  }
}
