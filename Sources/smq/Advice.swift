import CSwiftMQTT

// What to do about what smq check finds.

func versionName(_ version: UInt32) -> Text {
  version == 5 ? "MQTT 5.0" : version == 4 ? "MQTT 3.1.1" : "MQTT 3.1"
}

let adviceOnNames: Text =
  "is it spelled right? getent ahosts asks the same resolver; a numeric address needs none"

let adviceOnMessages: Text =
  "the broker may not let this user publish there, or read it: -t gives a topic that it may use"

let adviceOnSubscribing: Text =
  "the broker may not let this user subscribe there: -t gives a topic that it may use"

let adviceOnSilence: Text = "the connection is slow, or the broker is overloaded: -W gives it more time"

private let adviceOnListener: Text =
  "what listens there may speak TLS (port 8883 as a rule) or WebSockets, and not plain MQTT"

private let adviceOnReference: Text = "check the server that it points to"

/// On an errno of connect().
func advice(onError error: Int32) -> Text {
  switch error {
  case 111:  // ECONNREFUSED
    "nothing listens there: is the broker running, on this port and not only for its own machine (Mosquitto: listener)?"
  case 110: "nobody answers: a firewall, a wrong address, or a broker that is down"  // ETIMEDOUT
  case 101, 113: "there is no way to that address: is the network up?"  // ENETUNREACH, EHOSTUNREACH
  case 99: "is -A an address of this machine, and of the same family as the broker's?"  // EADDRNOTAVAIL
  case 2: "is the broker running, and is this the path of its socket?"  // ENOENT
  case 13: "this user may not connect to that socket"  // EACCES
  case 104: adviceOnListener  // ECONNRESET
  default: ""
  }
}

/// On what the library did not take.
func advice(onAnswer status: Int) -> Text {
  status == SMQ_ERR_TOO_LARGE
    ? "this is above the limit that it told of (Mosquitto: max_packet_size): can it be raised, or -t be shorter?"
    : ""
}

/// On the end of a connection that the broker had accepted; empty: on what was asked for last.
func advice(onLoss event: Event) -> Text {
  switch (event.status, event.reasonCode) {
  case (SMQ_ERR_SERVER_CLOSED, 0x9C), (SMQ_ERR_SERVER_CLOSED, 0x9D): adviceOnReference
  case (SMQ_ERR_SERVER_CLOSED, 0x89), (SMQ_ERR_SERVER_CLOSED, 0x8B): "try again later"
  case (SMQ_ERR_SERVER_CLOSED, 0x8E): "another client has the same Client Identifier: -i gives another"
  case (SMQ_ERR_MALFORMED, _), (SMQ_ERR_PROTOCOL, _): "the broker has a bug that other clients may not notice"
  default: ""
  }
}

/// On how an attempt ended after the connection was there. 5.0 and 3.1.1 have codes of their own.
func advice(onConnect event: Event?) -> Text {
  guard let event else { return "it takes connections and says nothing: is it MQTT, and without TLS?" }
  switch (event.status, event.reasonCode) {
  case (SMQ_ERR_REFUSED, 1), (SMQ_ERR_REFUSED, 0x84): return "the broker speaks other versions of MQTT only"
  case (SMQ_ERR_REFUSED, 2), (SMQ_ERR_REFUSED, 0x85): return "-i gives a Client Identifier that it may accept"
  case (SMQ_ERR_REFUSED, 4), (SMQ_ERR_REFUSED, 5), (SMQ_ERR_REFUSED, 0x86), (SMQ_ERR_REFUSED, 0x87):
    return
      "user name (-u) or password (-P) are wrong or missing; Mosquitto 2 wants them unless allow_anonymous is true"
  case (SMQ_ERR_REFUSED, 3), (SMQ_ERR_REFUSED, 0x88), (SMQ_ERR_REFUSED, 0x89), (SMQ_ERR_REFUSED, 0x97),
    (SMQ_ERR_REFUSED, 0x9F):
    return "try again later: the broker is overloaded, or limits connections"
  case (SMQ_ERR_REFUSED, 0x8A): return "the broker has banned this client: -i gives another Client Identifier"
  case (SMQ_ERR_REFUSED, 0x8C): return "the broker wants an Authentication Method, which smq check has not"
  case (SMQ_ERR_REFUSED, 0x9C), (SMQ_ERR_REFUSED, 0x9D): return adviceOnReference
  case (SMQ_ERR_REFUSED, _): return "the broker's log may tell why"
  case (SMQ_ERR_CLOSED, _): return adviceOnListener
  case (SMQ_ERR_MALFORMED, _), (SMQ_ERR_PROTOCOL, _):
    return "what listens there does not speak MQTT, or not as its standard says"
  case (SMQ_ERR_TIMEOUT, _): return "it takes connections and does not answer: is it MQTT, and without TLS?"
  case (SMQ_ERR_NETWORK, _): return advice(onError: event.osError)
  default: return ""
  }
}
