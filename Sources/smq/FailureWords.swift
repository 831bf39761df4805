import CSwiftMQTT

// What is said of failures of MQTT.

extension Event {
  /// What the broker said.
  var words: Text {
    var text = Text()
    if reasonCode > 0 { text += ": \(MQTT.reasonName(version, reasonCode))" }
    if !reasonString.isEmpty { text += ": \"\(reasonString.escaped)\"" }
    if !serverReference.isEmpty { text += "; it points to \(serverReference.escaped)" }
    return text
  }

  var failureKeys: [(FailureKind, Int)] { [(status == SMQ_ERR_REFUSED ? .refused : .ended, reasonCode)] }

  /// The code of CONNACK.
  var statusOfRefusal: Int32 { reasonCode > 0 ? Int32(reasonCode) : 1 }

  /// The numbers that JSON has besides, with those that mean none.
  var numbers: [(name: StaticString, value: Int, none: Int)] { [("reason_code", reasonCode, -1)] }
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

/// For what the library rejected.
func advice(onReject status: Int) -> Text {
  status == SMQ_ERR_TOO_LARGE
    ? "this exceeds the limit that the broker announced (Mosquitto: max_packet_size): raise it, or shorten -t"
    : ""
}

let adviceOnMessages: Text =
  "this user may lack permission to publish there, or to read it: -t gives another topic"

let adviceOnSubscribing: Text =
  "this user may lack permission to subscribe there: -t gives another topic"

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
