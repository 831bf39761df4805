import CSwiftMQTT

/// smq bench
func bench(_ arguments: Arguments) throws(ExitError) -> Int32 {
  if arguments.publishers == 0 { throw usageError("--publishers has to be at least 1") }
  if arguments.url.isEmpty == false, let topic = BrokerURL(arguments.url).topic, !topic.isEmpty {
    throw usageError("the URL: it must not have a topic; use -t")
  }
  let crowd = try Crowd(arguments.subscribers + arguments.publishers) { (number) throws(ExitError) in
    try makeClient(arguments, number)
  }
  let load = Publishing(arguments, crowd)
  let interrupted = try load.run()
  let report = Report(arguments, load)
  guard say(arguments.json ? report.json : report.plain, to: 1) else {
    throw ExitError(text: "cannot write to standard output")
  }
  return interrupted == 0 ? (load.lost == 0 && load.failed == 0 ? 0 : 1) : 128 + interrupted
}

private func makeClient(_ arguments: Arguments, _ number: Int) throws(ExitError) -> Client {
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

/// What a bench of MQTT publishes.
private final class Publishing: Load {
  private let qos: UInt8
  private let topic: [UInt8]
  private let size: Int64

  init(_ arguments: Arguments, _ crowd: Crowd) {
    qos = arguments.qos
    topic = (arguments.topics.first ?? ascii("smq/bench")) + [47] + Array(randomID().dropFirst(4))
    size = arguments.size
    super.init(arguments, crowd, isConfirmed: qos > 0)
  }

  override func subscribe(_ client: Client) -> Int {
    client.subscribe([MQTT.Filter(filter: topic + [47, 35], qos: qos)], cookie: 0)
  }

  override func publish(_ payload: [UInt8], from client: Client, _ number: Int, at time: Int64) -> Int {
    var message = MQTT.Message(topic: topic + [47] + decimal(Int64(number)), payload: payload)
    message.qos = qos
    message.quiet = qos == 0
    message.cookie = UInt64(bitPattern: time)
    return client.publish(message)
  }

  /// How many messages may be in flight without a rate: more would only wait in queues, and Mosquitto drops those after
  /// the first 120 of a subscriber, among which are some that arrived and whose acknowledgements it has not read yet.
  override var window: Int64 { max(1, min(50, 4_194_304 / size)) }
}
