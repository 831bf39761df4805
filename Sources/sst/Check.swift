import CSwiftSTOMP

/// sst check: 0 if everything works, otherwise the status of the first step that fails.
func check(_ arguments: Arguments) throws(ExitError) -> Int32 {
  try checkEach(arguments) { () throws(ExitError) in
    // The library checks URLs.
    _ = try clientOptions(arguments)
  } _: { broker, findings in
    Examination(broker, findings, arguments).run()
  }
}

/// The steps; each builds on what the one before it found.
private final class Examination {
  private let broker: CheckedBroker
  private let findings: Findings
  private let arguments: Arguments
  private let timeout: Int64
  private let destination: [UInt8]

  init(_ broker: CheckedBroker, _ findings: Findings, _ arguments: Arguments) {
    self.broker = broker
    self.findings = findings
    self.arguments = arguments
    timeout = (arguments.timeout ?? 5) * 1000
    destination = arguments.destinations.first ?? ascii("/topic/sst.check.") + randomName()
  }

  func run() {
    guard checkName(of: broker, findings, timeout: timeout, arguments) else { return }
    do {
      var options = try clientOptions(arguments)
      options.flags |= SST_OPTION_NO_RECONNECT
      options.connectTimeout = UInt32(min(timeout, 86_400_000))
      let start = System.nanoseconds
      let loop = try EventLoop(options, arguments)
      let way = Way(loop, arguments)
      // The client's own timeout comes first, because it says at which stage.
      let outcome = loop.wait(until: System.milliseconds + timeout + 1000) { $0.type == SST_EVENT_CONNECTED }
      if System.caughtSignal != 0 { return }
      var end: Event?
      if case .lost(let event) = outcome { end = event }
      guard way.report(findings, end) else { return }
      guard case .came(let event) = outcome else {
        let reason: Text = end.map { closeText($0) } ?? "no answer in time"
        let advice: Text = end.map { sst.advice($0, arguments) } ?? adviceOnSilence
        return findings.fail("connect", 5, reason, advice, end.map { failureJSON($0) })
      }
      report(event, in: elapsed(since: start))
      if exchange(loop) { disconnect(loop) } else { loop.disconnect() }
    } catch {
      findings.fail("connect", 5, error.text, "")
    }
  }

  private func report(_ event: Event, in time: Text) {
    let server = event.headers.first { $0.name == "server" }?.value ?? []
    let by: Text = server.isEmpty ? "" : " by \(server.escaped)"
    findings.report("connect", .fine, "\(STOMP.versionName(event.version)) is chosen\(by), in \(time)") {
      json in
      json.key("version")
      json.string(Text("\(event.version / 10).\(event.version % 10)").bytes)
      json.key("server")
      json.string(server)
    }
    let (send, receive) = (event.heartBeatSend, event.heartBeatReceive)
    let more: (inout JSONWriter) -> Void = { json in
      json.key("send_ms")
      json.number(Int64(send))
      json.key("receive_ms")
      json.number(Int64(receive))
    }
    guard receive > 0 else {
      let asksForNone = arguments.heartBeat?.receive == 0
      let what: Text =
        event.version == UInt32(SST_STOMP_1_0)
        ? "STOMP 1.0 has none"
        : !asksForNone
          ? "the broker sends none"
          : send == 0
            ? "there will be none, as --heart-beat asks" : "only this client sends one, as --heart-beat asks"
      return findings.report(
        "heart-beat", .note, what,
        advice:
          "a dead link is noticed by TCP only, and only when something is sent: --tcp-keepalive has it probe an idle one",
        more)
    }
    let own: Text = send > 0 ? "this client sends one every \(send) ms" : "this client sends none"
    findings.report("heart-beat", .fine, "\(own), the broker one every \(receive) ms", more)
  }

  // ---- A message

  private func exchange(_ loop: EventLoop) -> Bool {
    // Of a destination that others use, only the own message is taken. CoilMQ knows no ACK of 1.2.
    let ack = arguments.destinations.isEmpty ? SST_ACK_AUTO : SST_ACK_CLIENT
    let number = loop.client.subscribe(destination, ack: UInt32(ack), cookie: 1)
    let subscribed = wait(loop, min(number, SST_OK)) {
      $0.type == SST_EVENT_COMPLETED && $0.completed == SST_COMPLETED_SUBSCRIBE
    }
    guard case .came(let event) = subscribed, event.status == SST_OK else {
      findings.blame("subscribe", 6, Text(destination.printable), subscribed, adviceOnSubscribing)
      return false
    }
    findings.report("subscribe", .fine, "\(destination.printable): the broker has confirmed it")
    var message = STOMP.Message(destination: destination, body: ascii("sst check ") + randomName())
    message.contentType = ascii("text/plain")
    message.flags = SST_SEND_RECEIPT
    message.cookie = 2
    let start = System.nanoseconds
    var isBack = false
    var receipt: Text?
    let outcome = wait(loop, loop.client.send(message)) {
      if $0.type == SST_EVENT_MESSAGE && $0.payload == message.body {
        isBack = true
        if $0.token != 0 { _ = loop.client.acknowledge($0.token) }
      }
      guard $0.type == SST_EVENT_COMPLETED && $0.cookie == 2 && $0.completed == SST_COMPLETED_SEND else {
        return isBack && receipt != nil
      }
      if $0.status == SST_OK { receipt = elapsed(since: start) }
      return $0.status != SST_OK || isBack
    }
    if let receipt { findings.report("receipt", .fine, "the broker has confirmed a message in \(receipt)") }
    switch outcome {
    case .came where isBack && receipt != nil:
      findings.report("message", .fine, "there and back in \(elapsed(since: start))")
      return true
    case .nothing where receipt != nil:
      findings.fail("message", 6, "on \(destination.printable): it did not come back", adviceOnMessages)
    default: findings.blame("message", 6, "on \(destination.printable)", outcome, adviceOnMessages)
    }
    return false
  }

  private func disconnect(_ loop: EventLoop) {
    let start = System.nanoseconds
    let outcome = wait(loop, loop.client.disconnect(drain: UInt32(min(timeout, 86_400_000)))) { _ in false }
    // The end is what was asked for.
    guard case .lost(let event) = outcome, event.status == SST_OK else {
      return findings.blame("disconnect", 6, "DISCONNECT", outcome, adviceOnSilence)
    }
    findings.report("disconnect", .fine, "the broker has let the client go, in \(elapsed(since: start))")
  }

  private func wait(_ loop: EventLoop, _ status: Int, _ isWanted: (Event) -> Bool) -> Outcome {
    loop.wait(status, until: System.milliseconds + timeout, isWanted)
  }
}
