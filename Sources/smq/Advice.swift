import CSwiftMQTT

// What to do about what smq check finds.

func versionName(_ version: UInt32) -> Text {
  version == 5 ? "MQTT 5.0" : version == 4 ? "MQTT 3.1.1" : "MQTT 3.1"
}

let adviceOnNames: Text =
  "is it spelled right? getent ahosts asks the same resolver; a numeric address needs none"

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
  case (SMQ_ERR_REFUSED, 3), (SMQ_ERR_REFUSED, 0x88), (SMQ_ERR_REFUSED, 0x89): return "try again later"
  case (SMQ_ERR_REFUSED, 0x9C), (SMQ_ERR_REFUSED, 0x9D): return "check the server that it points to"
  case (SMQ_ERR_CLOSED, _):
    return "what listens there may speak TLS (port 8883 as a rule) or WebSockets, and not plain MQTT"
  case (SMQ_ERR_MALFORMED, _), (SMQ_ERR_PROTOCOL, _): return "what listens there does not speak MQTT"
  case (SMQ_ERR_TIMEOUT, _): return "it takes connections and does not answer: is it MQTT, and without TLS?"
  default: return ""
  }
}
