import CSwiftMQTT

// A failure in words, and advice about it: what the table has.

/// Why an attempt to connect, a connection, or a message ended.
func closeText(_ event: Event) -> Text {
  var text = words(.status, event.status) ?? MQTT.statusText(event.status)
  switch event.status {
  case SMQ_ERR_TLS: text = "TLS: \(tlsText(event.failure))"
  case SMQ_ERR_PROXY: text += proxyText(event.failure)
  case SMQ_ERR_WEBSOCKET: text += webSocketText(event.failure)
  case SMQ_ERR_TIMEOUT: text += " (\(MQTT.stageName(event.stage)))"
  case SMQ_ERR_NETWORK where event.osError > 0: text = System.errorText(event.osError)
  case SMQ_ERR_RESOLVE where event.osError < 0: text += ": \(System.resolveText(event.osError))"
  default: break
  }
  if isHandshake(event.stage) && [SMQ_ERR_NETWORK, SMQ_ERR_CLOSED].contains(event.status) {
    text += " (\(MQTT.stageName(event.stage)))"
  }
  if event.rule != 0 { text += ": \(MQTT.ruleName(event.rule))" }
  if event.reasonCode > 0 { text += ": \(MQTT.reasonName(event.version, event.reasonCode))" }
  if !event.reasonString.isEmpty { text += ": \"\(event.reasonString.escaped)\"" }
  if !event.serverReference.isEmpty { text += "; it points to \(event.serverReference.escaped)" }
  return text
}

/// Between TCP and MQTT.
private func isHandshake(_ stage: Int) -> Bool {
  [SMQ_STAGE_PROXY, SMQ_STAGE_TLS, SMQ_STAGE_WEBSOCKET].contains(stage)
}

private func words(_ kind: FailureKind, _ code: Int) -> Text? {
  failureRow(kind, code).map { Text($0.words.bytes) }
}

private func tlsText(_ failure: MQTT.Failure) -> Text {
  var text = words(.tls, failure.tlsCause) ?? MQTT.causeName(failure.tlsCause)
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

private func proxyText(_ failure: MQTT.Failure) -> Text {
  if failure.httpStatus > 0 { return ": HTTP status \(failure.httpStatus)\(quoted(failure.text))" }
  if failure.socksReply >= 0 {
    return ": \(words(.socks, failure.socksReply) ?? "SOCKS reply \(failure.socksReply)")"
  }
  return quoted(failure.text)
}

private func webSocketText(_ failure: MQTT.Failure) -> Text {
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

/// The exit status of a failed attempt is the code of CONNACK, or 1, and that of a lost connection is 7, as with
/// mosquitto_pub and its like.
func exitStatus(_ event: Event, wasConnected: Bool) -> Int32 {
  if wasConnected { return 7 }
  if event.status == SMQ_ERR_REFUSED && event.reasonCode > 0 { return Int32(event.reasonCode) }
  return 1
}

/// Why the library rejected a message or a subscription.
func rejectText(_ status: Int) -> Text {
  switch status {
  case SMQ_ERR_TOPIC_NAME: "the topic is empty, too long, or has '+' or '#'"
  case SMQ_ERR_TOPIC_FILTER: "the Topic Filter is empty, too long, or has a misplaced '+' or '#'"
  case SMQ_ERR_UTF8: "the topic is not UTF-8"
  case SMQ_ERR_TOO_LARGE: "it is larger than the broker, or MQTT, allows"
  case SMQ_ERR_QOS: "the broker does not support this QoS"
  case SMQ_ERR_NOT_SUPPORTED: "the broker does not support this, as its CONNACK says"
  case SMQ_ERR_PROPERTY: "a property is not allowed there, or has an invalid value"
  default: MQTT.statusText(status)
  }
}

// ---- Advice

/// For the end of an attempt to connect.
func advice(_ event: Event, _ arguments: Arguments) -> Text {
  adviceOnWay(event, arguments).map { Text($0.bytes) } ?? advice(keys(event))
}

/// For the end of a connection that the broker had accepted; empty: use the advice for the last operation.
func advice(onLoss event: Event) -> Text {
  switch event.status {
  case SMQ_ERR_CLOSED, SMQ_ERR_NETWORK, SMQ_ERR_TIMEOUT: ""
  case SMQ_ERR_MALFORMED, SMQ_ERR_PROTOCOL: "the broker has a bug that other clients may not notice"
  default: advice(keys(event))
  }
}

/// For what the library rejected.
func advice(onReject status: Int) -> Text {
  status == SMQ_ERR_TOO_LARGE
    ? "this exceeds the limit that the broker announced (Mosquitto: max_packet_size): raise it, or shorten -t"
    : ""
}

/// The rows that may know advice, the most special first.
private func keys(_ event: Event) -> [(FailureKind, Int)] {
  let failure = event.failure
  let special: [(FailureKind, Int)]
  switch event.status {
  case SMQ_ERR_TLS: special = [(.tls, failure.tlsCause), (.alert, failure.alert)]
  case SMQ_ERR_PROXY:
    special = [
      (.proxyStatus, failure.httpStatus), (.proxyStatus, failure.httpStatus / 100 * 100),
      (.socks, failure.socksReply),
    ]
  case SMQ_ERR_WEBSOCKET:
    special = [
      (.webStatus, failure.httpStatus), (.webStatus, failure.httpStatus / 100 * 100),
      (.closeCode, failure.closeCode),
    ]
  case SMQ_ERR_REFUSED: special = [(.refused, event.reasonCode)]
  case SMQ_ERR_SERVER_CLOSED: special = [(.ended, event.reasonCode)]
  case SMQ_ERR_NETWORK: special = [(.errno, Int(event.osError))]
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

let adviceOnNames: Text = advice([(.status, SMQ_ERR_RESOLVE)])

let adviceOnMessages: Text =
  "this user may lack permission to publish there, or to read it: -t gives another topic"

let adviceOnSubscribing: Text =
  "this user may lack permission to subscribe there: -t gives another topic"

let adviceOnSilence: Text = "the connection is slow, or the broker is overloaded: -W gives it more time"

func versionName(_ version: UInt32) -> Text { "MQTT \(versionNumber(version))" }

/// As people call it, by the number that CONNECT has (section 3.1.2.2); mosquitto's bridges add 128 to that.
func versionNumber(_ version: UInt32) -> StaticString {
  switch version & 127 {
  case 3: "3.1"
  case 4: "3.1.1"
  case 5: "5.0"
  default: "?"
  }
}
