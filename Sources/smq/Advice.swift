import CSwiftMQTT

// Advice for what smq check finds.

func versionName(_ version: UInt32) -> Text {
  version == 5 ? "MQTT 5.0" : version == 4 ? "MQTT 3.1.1" : "MQTT 3.1"
}

let adviceOnNames: Text =
  "check the spelling; getent ahosts asks the same resolver; a numeric address needs none"

let adviceOnMessages: Text =
  "this user may lack permission to publish there, or to read it: -t gives another topic"

let adviceOnSubscribing: Text =
  "this user may lack permission to subscribe there: -t gives another topic"

let adviceOnSilence: Text = "the connection is slow, or the broker is overloaded: -W gives it more time"

private let adviceOnListener: Text =
  "this port may speak TLS (usually 8883) or WebSockets instead of plain MQTT"

private let adviceOnReference: Text = "check the server that it points to"

/// For an errno of connect().
func advice(onError error: Int32) -> Text {
  switch error {
  case 111:  // ECONNREFUSED
    "nothing listens there: check that the broker is running, uses this port, and listens not only on its own machine (Mosquitto: listener)"
  case 110: "nothing answers: a firewall blocks it, the address is wrong, or the broker is down"  // ETIMEDOUT
  case 101, 113:  // ENETUNREACH, EHOSTUNREACH
    "there is no route to that address: check that the network is up"
  case 99: "check that -A is an address of this machine, of the same family as the broker's"  // EADDRNOTAVAIL
  case 2: "check that the broker is running, and that this is the path of its socket"  // ENOENT
  case 13: "this user has no permission to connect to that socket"  // EACCES
  case 104: adviceOnListener  // ECONNRESET
  default: ""
  }
}

/// For what the library rejected.
func advice(onReject status: Int) -> Text {
  status == SMQ_ERR_TOO_LARGE
    ? "this exceeds the limit that the broker announced (Mosquitto: max_packet_size): raise it, or shorten -t"
    : ""
}

/// For the end of a connection that the broker had accepted; empty: use the advice for the last operation.
func advice(onLoss event: Event) -> Text {
  switch (event.status, event.reasonCode) {
  case (SMQ_ERR_SERVER_CLOSED, 0x9C), (SMQ_ERR_SERVER_CLOSED, 0x9D): adviceOnReference
  case (SMQ_ERR_SERVER_CLOSED, 0x89), (SMQ_ERR_SERVER_CLOSED, 0x8B): "try again later"
  case (SMQ_ERR_SERVER_CLOSED, 0x8E): "another client has the same Client Identifier: -i gives another"
  case (SMQ_ERR_MALFORMED, _), (SMQ_ERR_PROTOCOL, _): "the broker has a bug that other clients may not notice"
  default: ""
  }
}

/// For an attempt that ended after the connection was open. 5.0 and 3.1.1 have codes of their own.
func advice(onConnect event: Event?) -> Text {
  guard let event else {
    return "it accepts connections but sends nothing: check that it speaks MQTT without TLS"
  }
  switch (event.status, event.reasonCode) {
  case (SMQ_ERR_REFUSED, 1), (SMQ_ERR_REFUSED, 0x84): return "the broker speaks only other versions of MQTT"
  case (SMQ_ERR_REFUSED, 2), (SMQ_ERR_REFUSED, 0x85): return "-i gives another Client Identifier"
  case (SMQ_ERR_REFUSED, 4), (SMQ_ERR_REFUSED, 5), (SMQ_ERR_REFUSED, 0x86), (SMQ_ERR_REFUSED, 0x87):
    return
      "the user name (-u) or the password (-P) is wrong or missing; Mosquitto 2 requires them unless allow_anonymous is true"
  case (SMQ_ERR_REFUSED, 3), (SMQ_ERR_REFUSED, 0x88), (SMQ_ERR_REFUSED, 0x89), (SMQ_ERR_REFUSED, 0x97),
    (SMQ_ERR_REFUSED, 0x9F):
    return "try again later: the broker is overloaded, or limits connections"
  case (SMQ_ERR_REFUSED, 0x8A): return "the broker has banned this client: -i gives another Client Identifier"
  case (SMQ_ERR_REFUSED, 0x8C):
    return "the broker requires an Authentication Method, which smq check does not have"
  case (SMQ_ERR_REFUSED, 0x9C), (SMQ_ERR_REFUSED, 0x9D): return adviceOnReference
  case (SMQ_ERR_REFUSED, _): return "the broker's log may say why"
  case (SMQ_ERR_CLOSED, _): return adviceOnListener
  case (SMQ_ERR_MALFORMED, _), (SMQ_ERR_PROTOCOL, _):
    return "this port does not speak MQTT, or not according to its standard"
  case (SMQ_ERR_TIMEOUT, _):
    return "it accepts connections but does not answer: check that it speaks MQTT without TLS"
  case (SMQ_ERR_NETWORK, _): return advice(onError: event.osError)
  default: return ""
  }
}
