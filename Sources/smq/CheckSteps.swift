import CSwiftMQTT

/// The steps; each builds on what the one before it found.
final class Examination {
  private let broker: CheckedBroker
  private let findings: Findings
  private let arguments: Arguments
  private let timeout: Int64
  private let topic: [UInt8]
  /// What lies before CONNECT has been reported.
  private var isWayReported = false
  /// A resumption was tried, with the second connection.
  private var isResumptionReported = false

  init(_ broker: CheckedBroker, _ findings: Findings, _ arguments: Arguments) {
    self.broker = broker
    self.findings = findings
    self.arguments = arguments
    timeout = (arguments.timeout ?? 5) * 1000
    topic = (arguments.topics.first ?? ascii("smq/check")) + [47] + Array(randomID().dropFirst(4))
  }

  func run() {
    guard checkName(of: broker, findings, timeout: timeout, arguments) else { return }
    // The later steps use the newest version that is accepted.
    var chosen: UInt32?
    for version: UInt32 in arguments.version.map({ [$0] }) ?? [5, 4, 3] {
      let isLast = version == (arguments.version ?? 3) && chosen == nil
      switch connect(version, isLast: isLast) {
      case .accepted: if chosen == nil { chosen = version }
      case .refused: break
      case .noWay: return
      }
      if System.caughtSignal != 0 { return }
    }
    if let chosen { exchange(chosen) }
  }

  private func options(_ version: UInt32) throws(ExitError) -> MQTT.Options {
    var options = try clientOptions(arguments, version)
    options.flags |= SMQ_OPTION_NO_RECONNECT
    options.connectTimeout = UInt32(min(timeout, 86_400_000))
    options.maximumPacket = 0
    return options
  }

  // ---- CONNECT

  private enum Attempt {
    case accepted, refused
    /// Every other attempt would end as early.
    case noWay
  }

  private func connect(_ version: UInt32, isLast: Bool) -> Attempt {
    let name = versionName(version)
    do {
      let start = System.nanoseconds
      let loop = try EventLoop(try options(version), arguments)
      let way = Way(loop, arguments)
      // The client's own timeout comes first, because it says at which stage.
      let outcome = wait(loop, until: System.milliseconds + timeout + 1000) { $0.type == SMQ_EVENT_CONNECTED }
      defer { loop.disconnect() }
      if System.caughtSignal != 0 { return .noWay }
      var end: Event?
      if case .lost(let event) = outcome { end = event }
      guard report(way, end) else { return .noWay }
      if case .came = outcome {
        findings.report("connect", .fine, "\(name) is accepted, in \(elapsed(since: start))")
        if version == 5, let server = loop.client.server { reportLimits(of: server) }
        return .accepted
      }
      let reason: Text = end.map { closeText($0) } ?? "no answer in time"
      if isLast {
        let advice: Text = end.map { smq.advice($0, arguments) } ?? adviceOnSilence
        findings.fail("connect", 5, "\(name): \(reason)", advice, end.map { failureJSON($0) })
      } else {
        findings.report("connect", .note, "\(name): \(reason)", end.map { failureJSON($0) })
      }
    } catch {
      findings.fail("connect", 5, "\(name): \(error.text)", "")
      return .noWay
    }
    return .refused
  }

  /// Reports the way to MQTT, once, and what the second connection resumed. false: there is no way.
  private func report(_ way: Way, _ end: Event?) -> Bool {
    defer { isWayReported = true }
    if !isWayReported { return way.report(findings, end) }
    if !isResumptionReported, let tls = way.tls {
      isResumptionReported = true
      reportResumption(tls, findings)
    }
    return true
  }

  private func reportLimits(of server: MQTT.Server) {
    var text: Text = "QoS up to \(server.maximumQoS); "
    let features: [(StaticString, Bool)] = [
      ("retained messages", server.retain), ("wildcards", server.wildcards),
      ("Shared Subscriptions", server.shared), ("Subscription Identifiers", server.identifiers),
    ]
    for (name, isThere) in features { text += isThere ? "\(name); " as Text : "no \(name); " }
    text += "\(server.receiveMaximum) messages of QoS 1 and 2 at a time; Topic Aliases: \(server.aliases); "
    text +=
      server.maximumPacket == 0
      ? "packets of any size" : "packets up to \(server.maximumPacket) bytes" as Text
    text += "; Keep Alive \(server.keepAlive) s"
    findings.report("limits", .fine, text)
  }

  // ---- Messages

  private func exchange(_ version: UInt32) {
    do {
      let loop = try EventLoop(try options(version), arguments)
      defer { loop.disconnect() }
      let way = Way(loop, arguments)
      let outcome = wait(loop) { $0.type == SMQ_EVENT_CONNECTED }
      if case .came = outcome { _ = report(way, nil) }
      guard case .came = outcome else {
        return findings.blame(
          "connect", 5, "a second connection", outcome, "check whether the broker limits connections")
      }
      let best = loop.client.server.map { UInt8($0.maximumQoS) } ?? 2
      guard subscribe(loop, topic, best) else { return }
      for qos in 0...best where !roundTrip(loop, qos) { return }
      if loop.client.server?.retain ?? true {
        guard retained(loop) else { return }
      } else {
        findings.report("retained", .note, "the broker does not retain messages")
      }
      ping(loop)
    } catch {
      findings.fail("connect", 5, error.text, "")
    }
  }

  private func subscribe(_ loop: EventLoop, _ filter: [UInt8], _ qos: UInt8) -> Bool {
    let status = loop.client.subscribe([MQTT.Filter(filter: filter, qos: qos)], cookie: 1)
    let outcome = wait(loop, status) { $0.type == SMQ_EVENT_COMPLETED && $0.cookie == 1 }
    if case .came(let event) = outcome, event.status == SMQ_OK { return true }
    findings.blame("subscribe", 6, Text(filter.printable), outcome, adviceOnSubscribing)
    return false
  }

  /// Waits until the message has come back and is acknowledged.
  private func roundTrip(_ loop: EventLoop, _ qos: UInt8) -> Bool {
    let start = System.nanoseconds
    var message = MQTT.Message(topic: topic, payload: ascii("smq check ") + decimal(Int64(qos)))
    message.qos = qos
    message.cookie = 2
    var isBack = false
    var isAcknowledged = false
    let outcome = wait(loop, loop.client.publish(message)) {
      if $0.type == SMQ_EVENT_MESSAGE && $0.payload == message.payload { isBack = true }
      guard $0.type == SMQ_EVENT_COMPLETED && $0.cookie == 2 else { return isBack && isAcknowledged }
      isAcknowledged = true
      return $0.status != SMQ_OK || isBack
    }
    let what: Text = "QoS \(Int(qos)), on \(topic.printable)"
    switch outcome {
    case .came where isBack && isAcknowledged:
      findings.report("message", .fine, "QoS \(Int(qos)): there and back in \(elapsed(since: start))")
      return true
    case .nothing where isAcknowledged && !isBack:
      findings.fail("message", 6, "\(what): it did not come back", adviceOnMessages)
    default: findings.blame("message", 6, what, outcome, adviceOnMessages)
    }
    return false
  }

  /// false: there is no connection any more.
  private func retained(_ loop: EventLoop) -> Bool {
    var message = MQTT.Message(topic: topic + ascii("/retained"), payload: ascii("smq check"))
    message.qos = min(1, loop.client.server.map { UInt8($0.maximumQoS) } ?? 1)
    message.retain = true
    message.cookie = 3
    let end = System.milliseconds + timeout
    let sent = wait(loop, loop.client.publish(message), until: end) {
      $0.type == SMQ_EVENT_COMPLETED && $0.cookie == 3
    }
    guard case .came(let event) = sent, event.status == SMQ_OK else {
      findings.blame("retained", 6, "a message cannot be retained", sent, adviceOnMessages)
      return loop.client.state == SMQ_STATE_CONNECTED
    }
    look(for: message, loop, until: end)
    message.payload = []
    message.cookie = 4
    // Whatever the step found, it removes its message again.
    _ = wait(loop, loop.client.publish(message), until: max(end, System.milliseconds + 1000)) {
      $0.type == SMQ_EVENT_COMPLETED && $0.cookie == 4
    }
    return loop.client.state == SMQ_STATE_CONNECTED
  }

  /// Subscribes, and waits for the retained message, which may arrive before SUBACK [MQTT-3.8.4].
  private func look(for message: MQTT.Message, _ loop: EventLoop, until end: Int64) {
    var isBack = false
    var isSubscribed = false
    let status = loop.client.subscribe([MQTT.Filter(filter: message.topic, qos: 0)], cookie: 1)
    let outcome = wait(loop, status, until: end) {
      if $0.type == SMQ_EVENT_MESSAGE && $0.retain && $0.topic == message.topic { isBack = true }
      guard $0.type == SMQ_EVENT_COMPLETED && $0.cookie == 1 else { return isBack && isSubscribed }
      isSubscribed = $0.status == SMQ_OK
      return isBack || !isSubscribed
    }
    switch outcome {
    case .came where isSubscribed:
      findings.report("retained", .fine, "a message was retained, and has been removed again")
    case .nothing where isSubscribed:
      findings.fail(
        "retained", 6, "the broker did not retain a message",
        "check whether its configuration turns retained messages off")
    default: findings.blame("retained", 6, Text(message.topic.printable), outcome, adviceOnSubscribing)
    }
  }

  private func ping(_ loop: EventLoop) {
    let start = System.nanoseconds
    let end = System.milliseconds + timeout
    loop.client.ping()
    var outcome = Outcome.nothing
    // There is no event for PINGRESP.
    while loop.client.done.pings == 0 && System.milliseconds < end && System.caughtSignal == 0 {
      loop.deadline = min(end, System.milliseconds + 1)
      if case .event(let event) = loop.next(), event.type == SMQ_EVENT_DISCONNECTED {
        outcome = .lost(event)
        break
      }
    }
    loop.deadline = nil
    if loop.client.done.pings > 0 {
      findings.report("ping", .fine, "PINGRESP within \(elapsed(since: start))")
    } else {
      findings.blame("ping", 6, "PINGREQ", outcome, adviceOnSilence)
    }
  }

  // ---- Helpers

  private func wait(
    _ loop: EventLoop, _ status: Int = SMQ_OK, until end: Int64? = nil, _ isWanted: (Event) -> Bool
  ) -> Outcome {
    loop.wait(status, until: end ?? System.milliseconds + timeout, isWanted)
  }
}
