import CSwiftMQTT

/// smq console: one client, told line by line what to do.
func console(_ arguments: Arguments) throws(ExitError) -> Int32 { try Console(arguments).run() }

private final class Console {
  private let arguments: Arguments
  private let loop: EventLoop
  private let version: UInt32
  private let isTerminal = System.isTerminal(0)
  private var typed: [UInt8] = []
  private var assembly = Assembly()
  private var isDone = false
  private var answers: UInt64 = 1
  /// How many things that were accepted have not come to their end.
  private var outstanding = 0
  private var status: Int32 = 0

  /// What the user may say.
  private struct Verb {
    let name: StaticString
    let usage: StaticString
    let help: StaticString
    let run: (Console, ArraySlice<[UInt8]>) -> Bool
  }

  private static let verbs: [Verb] = [
    Verb(name: "pub", usage: "TOPIC [TEXT...]", help: "publish with the QoS of 'qos'") {
      $0.publish($1, retain: false)
    },
    Verb(name: "retain", usage: "TOPIC [TEXT...]", help: "publish a retained message") {
      $0.publish($1, retain: true)
    },
    Verb(name: "sub", usage: "FILTER...", help: "subscribe with the QoS of 'qos'") { $0.subscribe($1) },
    Verb(name: "unsub", usage: "FILTER...", help: "unsubscribe") { $0.unsubscribe($1) },
    Verb(name: "qos", usage: "0|1|2", help: "the Quality of Service from now on") { $0.setQoS($1) },
    Verb(name: "ping", usage: "", help: "send PINGREQ") { $0.ping($1) },
    Verb(name: "connect", usage: "", help: "connect again, after 'disconnect'") { $0.connect($1) },
    Verb(name: "disconnect", usage: "", help: "disconnect") { $0.disconnect($1) },
    Verb(name: "help", usage: "", help: "print this list") { $0.help($1) },
    Verb(name: "quit", usage: "", help: "disconnect and end; so does the end of input") { $0.quit($1) },
  ]

  init(_ arguments: Arguments) throws(ExitError) {
    self.arguments = arguments
    version = arguments.version ?? 4
    loop = try EventLoop(try receivingOptions(arguments, version), arguments)
    // Somebody who types sees whether there is a connection. A script waits for it.
    loop.input = isTerminal ? 0 : -1
  }

  func run() throws(ExitError) -> Int32 {
    prompt()
    while !isDone {
      switch loop.next() {
      case .event(let event): took(event)
      case .input: read()
      case .interrupted, .outputBroken, .time:
        isDone = true
        outstanding = 0
      }
    }
    finish()
    loop.disconnect(drain: 5000)
    try loop.output.finish()
    return status
  }

  /// Nothing more is asked for: what was accepted comes to its end, or it is told that it did not.
  private func finish() {
    loop.input = -1
    loop.deadline = System.milliseconds + 5000
    while outstanding > 0 {
      guard case .event(let event) = loop.next() else { break }
      took(event)
    }
    loop.deadline = nil
    guard outstanding > 0 else { return }
    status = 1
    tell("\(outstanding) commands came to no end")
  }

  // ---- What happens

  private func took(_ event: Event) {
    switch event.type {
    case SMQ_EVENT_CONNECTED:
      tell(
        "connected to \(brokerName(arguments)), \(event.sessionPresent ? "with the session" : "with a new session" as Text)"
      )
      let filters = arguments.topics.map { MQTT.Filter(filter: $0, qos: arguments.qos) }
      if !filters.isEmpty { _ = report(loop.client.subscribe(filters, cookie: 0)) }
      if !isDone { loop.input = 0 }
    case SMQ_EVENT_DISCONNECTED:
      let again: Text = event.retry >= 0 ? "; next attempt in \(event.retry) ms" : ""
      tell("disconnected: \(event.status == SMQ_OK ? "as asked for" : closeText(event))\(again)")
      if !isTerminal && !loop.wasConnected { (isDone, status) = (true, 1) }
    case SMQ_EVENT_COMPLETED: completed(event)
    case SMQ_EVENT_MESSAGE:
      if let message = assembly.add(event) {
        let marks: Text = message.retain ? "q\(Int(message.qos)) retained" : "q\(Int(message.qos))"
        tell("\(message.topic) (\(marks)): \(shown(message))")
      }
    default: break
    }
  }

  private func shown(_ message: Event) -> Text {
    Text(KnownPayload(message.payload, topic: message.topic)?.json(isPretty: false) ?? message.payload)
  }

  private func completed(_ event: Event) {
    outstanding -= 1
    if event.status != SMQ_OK {
      status = 1
      tell("failed: \(closeText(event))")
    } else if !event.reasonCodes.isEmpty {
      for code in event.reasonCodes {
        tell(
          code < 3 && event.cookie != 1 ? "subscribed with QoS \(Int(code))" : MQTT.reasonName(5, Int(code)))
      }
    } else if event.cookie > 1 {
      tell("delivered")
    }
  }

  /// A line, whatever characters it has.
  private func tell(_ text: Text) {
    if isTerminal { loop.output.write(ascii("\r")) }
    loop.output.write(text.bytes.escaped + [10])
    prompt()
  }

  private func prompt() { if isTerminal { loop.output.write(ascii("> ") + typed) } }

  // ---- What is typed

  private func read() {
    if System.read(0, into: &typed, 65_536) <= 0 { isDone = true }
    while let end = typed.firstIndex(of: 10) {
      let line = Array(typed[..<end])
      typed.removeFirst(end + 1)
      take(line)
      if !isDone { prompt() }
    }
    // What follows the last end of line is a line, too.
    if isDone, !typed.isEmpty { take(typed) }
  }

  private func take(_ line: [UInt8]) {
    let words = line.split(maxSplits: 2) { $0 == 32 || $0 == 9 || $0 == 13 }.map { Array($0) }
    guard let first = words.first else { return }
    guard let verb = Self.verbs.first(where: { first == $0.name }) else {
      return loop.output.write(Text("\"\(first.escaped)\" is unknown: help lists the commands\n").bytes)
    }
    if !verb.run(self, words.dropFirst()) {
      loop.output.write(Text("usage: \(verb.name) \(verb.usage)\n").bytes)
    }
  }

  // ---- Commands; false: they are used wrongly

  private func publish(_ words: ArraySlice<[UInt8]>, retain: Bool) -> Bool {
    guard let topic = words.first else { return false }
    var message = MQTT.Message(topic: topic, payload: words.dropFirst().first ?? [])
    message.qos = arguments.qos
    message.retain = retain
    answers += 1
    message.cookie = answers
    return report(loop.client.publish(message))
  }

  private func subscribe(_ words: ArraySlice<[UInt8]>) -> Bool {
    let filters = Self.filters(words)
    guard !filters.isEmpty else { return false }
    return report(
      loop.client.subscribe(filters.map { MQTT.Filter(filter: $0, qos: arguments.qos) }, cookie: 0))
  }

  private func unsubscribe(_ words: ArraySlice<[UInt8]>) -> Bool {
    let filters = Self.filters(words)
    guard !filters.isEmpty else { return false }
    return report(loop.client.unsubscribe(filters, cookie: 1))
  }

  private static func filters(_ words: ArraySlice<[UInt8]>) -> [[UInt8]] {
    words.flatMap { $0.split(separator: 32).map { Array($0) } }
  }

  private func setQoS(_ words: ArraySlice<[UInt8]>) -> Bool {
    guard let qos = words.first?.number(in: 0...2) else { return false }
    arguments.qos = UInt8(qos)
    return true
  }

  private func ping(_ words: ArraySlice<[UInt8]>) -> Bool {
    loop.client.ping()
    return true
  }

  private func connect(_ words: ArraySlice<[UInt8]>) -> Bool { refuse(loop.client.connect()) }
  private func disconnect(_ words: ArraySlice<[UInt8]>) -> Bool {
    refuse(loop.client.disconnect(drain: 5000))
  }

  private func help(_ words: ArraySlice<[UInt8]>) -> Bool {
    for verb in Self.verbs {
      var line = Line("  \(verb.name) \(verb.usage)")
      line.fill(to: 28)
      line.add(Text(verb.help.bytes))
      loop.output.write(line.plain + [10])
    }
    return true
  }

  private func quit(_ words: ArraySlice<[UInt8]>) -> Bool {
    isDone = true
    return true
  }

  /// Something was accepted that ends in an event, or it was refused. Always true: the command was used rightly.
  private func report(_ status: Int) -> Bool {
    if status == SMQ_OK { outstanding += 1 }
    return refuse(status)
  }

  private func refuse(_ status: Int) -> Bool {
    if status != SMQ_OK { loop.output.write(Text("not done: \(rejectText(status))\n").bytes) }
    return true
  }
}
