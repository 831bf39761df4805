import CSwiftMQTT

/// smq pub
func publish(_ arguments: Arguments) throws(ExitError) -> Int32 {
  let topic = try topic(of: arguments)
  guard let source = arguments.source else {
    throw usageError("a message is required: use -m, -f, -l, -n or -s")
  }
  let publisher = Publisher(arguments, topic)
  if case .lines = source {
    if arguments.times != nil { throw usageError("--repeat cannot be used with -l") }
    publisher.lines = Lines()
  } else {
    publisher.message.content = try content(of: source)
    publisher.left = arguments.times ?? 1
  }
  return try publisher.run()
}

/// The last topic of -t or -L.
func topic(of arguments: Arguments) throws(ExitError) -> [UInt8] {
  if let topic = arguments.topics.first { return topic }
  guard !arguments.url.isEmpty else { throw usageError("a topic is required: use -t, or -L with a topic") }
  // A URL with another scheme has none, either: then that is the error.
  _ = try clientOptions(arguments, 5)
  throw usageError("-L: the URL has no topic, and there is no -t")
}

/// Publishes one message several times, or many lines, and waits until each of them ends.
private final class Publisher {
  let arguments: Arguments
  private let keeping: Keeping
  let version: UInt32
  var message: MQTT.Message
  /// How many times the message still has to be published.
  var left: Int64 = 0
  var lines: Lines?
  /// A line for which there was no room.
  private var held: [UInt8]?
  private var open = 0
  /// There was no room; an event reports when there is.
  private var isFull = false
  private var status: Int32 = 0
  private var notBefore: Int64 = 0

  init(_ arguments: Arguments, _ topic: [UInt8]) {
    self.arguments = arguments
    keeping = Keeping(arguments)
    version = arguments.version ?? 4
    message = MQTT.Message(topic: topic)
    message.qos = arguments.qos
    message.retain = arguments.retain
    if version == 5 { message.properties = arguments.properties.publish }
  }

  private var isAllGiven: Bool {
    guard let lines else { return left == 0 }
    return held == nil && lines.isUsedUp
  }

  func run() throws(ExitError) -> Int32 {
    var options = try clientOptions(arguments, version)
    if lines != nil { options.outboxMessages = 4096 }
    if lines != nil || message.large != nil { options.streamBytes = 65_536 }
    if keeping.isOn && message.large != nil { throw keeping.tooLarge }
    let loop = try EventLoop(options, arguments)
    var failure: ExitError?
    if keeping.isOn {
      do { try give(loop) } catch { failure = error }
    }
    while !isOver(loop) && failure == nil {
      loop.input = wantsInput(loop) ? 0 : -1
      loop.deadline = loop.wasConnected && left > 0 && notBefore > 0 ? notBefore : nil
      do {
        try turn(loop)
      } catch {
        failure = error
      }
    }
    let properties = version == 5 ? arguments.properties.disconnect : []
    return try keeping.end(loop, failure, status: status) {
      loop.disconnect(drain: $0, properties: properties)
    }
  }

  private func isOver(_ loop: EventLoop) -> Bool {
    isAllGiven && (keeping.isCut || (open == 0 && loop.wasConnected))
  }

  /// A line that cannot be published stays in the pipe, and its writer waits.
  private func wantsInput(_ loop: EventLoop) -> Bool {
    guard let lines else { return false }
    return !lines.isAtEnd && held == nil && keeping.takesMessages(loop)
  }

  private func turn(_ loop: EventLoop) throws(ExitError) {
    switch loop.next() {
    case .event(let event): try took(event, loop)
    case .input: try lines?.read()
    case .time: break
    case .interrupted(let signal):
      throw ExitError(text: "interrupted before everything was published", status: 128 + signal)
    case .outputBroken: break
    }
    if !isFull && keeping.takesMessages(loop) && (keeping.isOn || loop.wasConnected) { try give(loop) }
  }

  private func took(_ event: Event, _ loop: EventLoop) throws(ExitError) {
    if let failure = message.large?.failure { throw ExitError(text: failure) }
    switch event.type {
    case SMQ_EVENT_ROOM: isFull = false
    case SMQ_EVENT_COMPLETED:
      open -= 1
      // Only this reports the end of a stream.
      if message.large != nil { isFull = false }
      if event.status != SMQ_OK {
        status = 1
        if !arguments.quiet { printError("smq pub", "a message was not delivered: \(closeText(event))") }
      }
    case SMQ_EVENT_CONNECTED: keeping.connected()
    case SMQ_EVENT_JOURNAL:
      if event.completed == SMQ_JOURNAL_RECOVERED { open += Int(event.cookie) }
    case SMQ_EVENT_DISCONNECTED:
      try keeping.lost(event, loop, isWorthAnother: lines != nil, isFull: isFull)
    default: break
    }
  }

  /// Publishes what is available, as long as there is room.
  private func give(_ loop: EventLoop) throws(ExitError) {
    if lines != nil {
      while let line = held ?? lines?.next() {
        message.content = Content(line)
        held = line
        guard try publishOne(loop) else { return }
        held = nil
      }
      return
    }
    while left > 0 && System.milliseconds >= notBefore {
      guard try publishOne(loop) else { return }
      left -= 1
      if arguments.delay > 0 { notBefore = System.milliseconds + arguments.delay }
    }
  }

  /// false: there is no room now.
  private func publishOne(_ loop: EventLoop) throws(ExitError) -> Bool {
    let status = loop.client.publish(message)
    isFull = status == SMQ_ERR_FULL
    if isFull { return false }
    if keeping.isOn && status == SMQ_ERR_TOO_LARGE { throw keeping.tooLarge }
    guard status == SMQ_OK else {
      throw ExitError(text: "the message cannot be published: \(rejectText(status))")
    }
    open += 1
    return true
  }
}
