// A failure in words, and advice about it: what the table has.

/// Why an attempt to connect, a connection, or a message ended.
func closeText(_ event: Event) -> Text {
  var text = words(.status, event.status) ?? Library.statusText(event.status)
  switch event.status {
  case Status.tls: text = "TLS: \(tlsText(event.failure))"
  case Status.proxy: text += proxyText(event.failure)
  case Status.webSocket: text += webSocketText(event.failure)
  case Status.timeout: text += " (\(Library.stageName(event.stage)))"
  case Status.network where event.osError > 0: text = System.errorText(event.osError)
  case Status.resolve where event.osError < 0: text += ": \(System.resolveText(event.osError))"
  default: break
  }
  if event.stage == Stage.answer && Words.isOfNoServer(event) {
    let peer = Text(Words.noServer.bytes)
    switch event.status {
    case Status.closed: text = "\(peer): it closed the connection"
    case Status.network: text = "\(peer): \(text)"
    default: text = peer  // which rule it broke follows
    }
  }
  if isHandshake(event.stage) && [Status.network, Status.closed].contains(event.status) {
    text += " (\(Library.stageName(event.stage)))"
  }
  if event.rule != 0 { text += ": \(Library.ruleName(event.rule))" }
  return text + event.words
}

/// Between TCP and the protocol.
private func isHandshake(_ stage: Int) -> Bool {
  [Stage.proxy, Stage.tls, Stage.webSocket].contains(stage)
}

private func words(_ kind: FailureKind, _ code: Int) -> Text? {
  failureRow(kind, code).map { Text($0.words.bytes) }
}

private func tlsText(_ failure: Failure) -> Text {
  var text = words(.tls, failure.tlsCause) ?? Library.causeName(failure.tlsCause)
  if !failure.subject.isEmpty { text += ": \(failure.subject.escaped)" }
  if failure.notAfter != 0 {
    text += ", valid from \(day(failure.notBefore)) to \(day(failure.notAfter))"
  }
  if failure.alert >= 0 {
    let name = words(.alert, failure.alert) ?? "unknown"
    return "\(text) (alert \(failure.alert), \(name))"
  }
  return failure.text.isEmpty ? text : "\(text) (\(failure.text.escaped))"
}

private func proxyText(_ failure: Failure) -> Text {
  if failure.httpStatus > 0 { return ": HTTP status \(failure.httpStatus)\(quoted(failure.text))" }
  if failure.socksReply >= 0 {
    return ": \(words(.socks, failure.socksReply) ?? "SOCKS reply \(failure.socksReply)")"
  }
  return quoted(failure.text)
}

private func webSocketText(_ failure: Failure) -> Text {
  if failure.httpStatus > 0 { return ": HTTP status \(failure.httpStatus)\(quoted(failure.text))" }
  guard failure.closeCode > 0 else { return quoted(failure.text) }
  let name = words(.closeCode, failure.closeCode).map { " (\($0))" as Text } ?? ""
  return ": close code \(failure.closeCode)\(name)\(quoted(failure.text))"
}

/// What a server said. A redirection may have a token behind its question mark.
private func quoted(_ text: [UInt8]) -> Text {
  guard !text.isEmpty else { return "" }
  let shown = text.prefix { $0 != 63 }
  let rest: StaticString = shown.count < text.count ? "?..." : ""
  return ", \"\(Array(shown).printable)\(rest)\""
}

/// As ISO 8601 has it.
func day(_ seconds: Int64) -> Text { Text(System.time(70, seconds)) }

/// The exit status of a failed attempt is that of the refusal, or 1, and that of a lost connection is 7, as with
/// mosquitto_pub and its like.
func exitStatus(_ event: Event, wasConnected: Bool) -> Int32 {
  if wasConnected { return 7 }
  return event.status == Status.refused ? event.statusOfRefusal : 1
}

// ---- Advice

/// For the end of an attempt to connect.
func advice(_ event: Event, _ arguments: CommonArguments) -> Text {
  adviceOnWay(event, arguments).map { Text($0.bytes) } ?? advice(keys(event))
}

/// For the end of a connection that the broker had accepted; empty: use the advice for the last operation.
func advice(onLoss event: Event) -> Text {
  switch event.status {
  case Status.closed, Status.network, Status.timeout: ""
  case Status.malformed, Library.violation: "the broker has a bug that other clients may not notice"
  default: advice(keys(event))
  }
}

/// The rows that may know advice, the most special first.
private func keys(_ event: Event) -> [(FailureKind, Int)] {
  let failure = event.failure
  let special: [(FailureKind, Int)]
  switch event.status {
  case Status.tls: special = [(.tls, failure.tlsCause), (.alert, failure.alert)]
  case Status.proxy:
    special = [
      (.proxyStatus, failure.httpStatus), (.proxyStatus, failure.httpStatus / 100 * 100),
      (.socks, failure.socksReply),
    ]
  case Status.webSocket:
    special = [
      (.webStatus, failure.httpStatus), (.webStatus, failure.httpStatus / 100 * 100),
      (.closeCode, failure.closeCode),
    ]
  case Status.refused, Status.serverClosed: special = event.failureKeys
  case Status.network: special = [(.errno, Int(event.osError))]
  default: special = []
  }
  return special + [(.status, event.status)]
}

private func advice(_ keys: [(FailureKind, Int)]) -> Text {
  for (kind, code) in keys {
    if let row = failureRow(kind, code), row.advice.utf8CodeUnitCount > 0 { return Text(row.advice.bytes) }
  }
  return ""
}

let adviceOnNames: Text = advice([(.status, Status.resolve)])

let adviceOnSilence: Text = "the connection is slow, or the broker is overloaded: -W gives it more time"
