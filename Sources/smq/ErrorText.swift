import CSwiftMQTT

/// Why an attempt to connect, a connection, or a message ended.
func closeText(_ event: Event) -> Text {
  var text: Text
  switch event.status {
  case SMQ_ERR_REFUSED: text = "refused"
  case SMQ_ERR_RESOLVE: text = "the name has no address"
  case SMQ_ERR_CLOSED: text = "the broker closed the connection without giving a reason"
  case SMQ_ERR_SERVER_CLOSED: text = "the broker ended the connection"
  case SMQ_ERR_TIMEOUT: text = "no answer in time (\(MQTT.stageName(event.stage)))"
  case SMQ_ERR_KEEP_ALIVE: text = "the broker does not answer PINGREQ"
  case SMQ_ERR_NETWORK: text = event.osError > 0 ? System.errorText(event.osError) : "the network failed"
  case SMQ_ERR_MALFORMED, SMQ_ERR_PROTOCOL: text = "the broker violated the protocol"
  case SMQ_ERR_SERVER_LIMIT: text = "it exceeds a limit of the broker"
  case SMQ_ERR_EXPIRED: text = "its Message Expiry Interval has passed"
  default: text = MQTT.statusText(event.status)
  }
  if event.status == SMQ_ERR_RESOLVE && event.osError < 0 { text += ": \(System.resolveText(event.osError))" }
  if event.rule != 0 { text += ": \(MQTT.ruleName(event.rule))" }
  if event.reasonCode > 0 { text += ": \(MQTT.reasonName(event.version, event.reasonCode))" }
  if !event.reasonString.isEmpty { text += ": \"\(event.reasonString.escaped)\"" }
  if !event.serverReference.isEmpty { text += "; it points to \(event.serverReference.escaped)" }
  return text
}

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
