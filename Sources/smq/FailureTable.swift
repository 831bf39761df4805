import CSwiftMQTT

/// What a failure is known by.
enum FailureKind: UInt8 {
  /// SMQ_TLS_…
  case tls
  /// RFC 8446, section 6.
  case alert
  /// The HTTP status of a proxy, and that of a web server. 300, 400 and 500 stand for all of their class, too.
  case proxyStatus, webStatus
  /// RFC 1928, section 6; 256 and 257 are the library's.
  case socks
  /// RFC 6455, section 7.4.1.
  case closeCode
  case errno
  /// The Reason Code of CONNACK, and that of DISCONNECT.
  case refused, ended
  /// SMQ_ERR_…
  case status
}

/// What happened, in words (empty: whoever prints it has better ones), and what to do about it in one sentence (empty:
/// something less special may know).
struct FailureRow {
  let kind: FailureKind
  let code: Int
  let words: StaticString
  let advice: StaticString

  @inline(__always)
  init(_ kind: FailureKind, _ code: Int, _ words: StaticString, _ advice: StaticString) {
    (self.kind, self.code, self.words, self.advice) = (kind, code, words, advice)
  }
}

func failureRow(_ kind: FailureKind, _ code: Int) -> FailureRow? {
  failureTable.first { $0.kind == kind && $0.code == code }
}

/// Every cause of a failure.
let failureTable: [FailureRow] = tlsFailures + transportFailures + mqttFailures

let wrongLogin: StaticString =
  "the user name (-u) or the password (-P) is wrong or missing; Mosquitto 2 requires them unless allow_anonymous is true"
let tryLater: StaticString = "try again later: the broker is overloaded, or limits connections"
private let otherID: StaticString = "-i gives another Client Identifier"
private let otherVersions: StaticString = "the broker speaks only other versions of MQTT"
private let otherServer: StaticString = "check the server that it points to"
/// The peer ended a connection over bare TCP.
let notMQTT: StaticString =
  "this port may speak TLS (usually 8883, mqtts://) or WebSockets (ws://) instead of plain MQTT"

/// Of MQTT, and what is left for all of a status.
private let mqttFailures: [FailureRow] = [
  // ---- CONNACK: up to 5 before 5.0
  FailureRow(.refused, 1, "", otherVersions),
  FailureRow(.refused, 0x84, "", otherVersions),
  FailureRow(.refused, 2, "", otherID),
  FailureRow(.refused, 0x85, "", otherID),
  FailureRow(.refused, 4, "", wrongLogin),
  FailureRow(.refused, 5, "", wrongLogin),
  FailureRow(.refused, 0x86, "", wrongLogin),
  FailureRow(.refused, 0x87, "", wrongLogin),
  FailureRow(.refused, 3, "", tryLater),
  FailureRow(.refused, 0x88, "", tryLater),
  FailureRow(.refused, 0x89, "", tryLater),
  FailureRow(.refused, 0x97, "", tryLater),
  FailureRow(.refused, 0x9F, "", tryLater),
  FailureRow(.refused, 0x8A, "", "the broker has banned this client: -i gives another Client Identifier"),
  FailureRow(
    .refused, 0x8C, "", "the broker requires an Authentication Method, which smq check does not have"),
  FailureRow(.refused, 0x9C, "", otherServer),
  FailureRow(.refused, 0x9D, "", otherServer),
  // ---- DISCONNECT
  FailureRow(.ended, 0x9C, "", otherServer),
  FailureRow(.ended, 0x9D, "", otherServer),
  FailureRow(.ended, 0x89, "", "try again later"),
  FailureRow(.ended, 0x8B, "", "try again later"),
  FailureRow(.ended, 0x8E, "", "another client has the same Client Identifier: -i gives another"),
  // ---- The rest
  FailureRow(.status, SMQ_ERR_REFUSED, "refused", "the broker's log may say why"),
  FailureRow(
    .status, SMQ_ERR_RESOLVE, "the name has no address",
    "check the spelling; getent ahosts asks the same resolver; a numeric address needs none"),
  FailureRow(.status, SMQ_ERR_CLOSED, "the broker closed the connection without giving a reason", notMQTT),
  FailureRow(.status, SMQ_ERR_SERVER_CLOSED, "the broker ended the connection", ""),
  FailureRow(
    .status, SMQ_ERR_TIMEOUT, "no answer in time",
    "it accepts connections but does not answer: check that it speaks MQTT on this port, with or without TLS as asked for"
  ),
  FailureRow(.status, SMQ_ERR_KEEP_ALIVE, "the broker does not answer PINGREQ", ""),
  FailureRow(.status, SMQ_ERR_NETWORK, "the network failed", ""),
  FailureRow(
    .status, SMQ_ERR_MALFORMED, "the broker violated the protocol",
    "this port does not speak MQTT, or not according to its standard"),
  FailureRow(
    .status, SMQ_ERR_PROTOCOL, "the broker violated the protocol",
    "this port does not speak MQTT, or not according to its standard"),
  FailureRow(.status, SMQ_ERR_SERVER_LIMIT, "it exceeds a limit of the broker", ""),
  FailureRow(.status, SMQ_ERR_EXPIRED, "its Message Expiry Interval has passed", ""),
  FailureRow(
    .status, SMQ_ERR_TLS, "TLS", "openssl s_client shows the same handshake; the broker's log may say more"),
  FailureRow(
    .status, SMQ_ERR_PROXY, "the proxy does not connect",
    "what answers there is no such proxy: check scheme, host and port of --proxy"),
  FailureRow(
    .status, SMQ_ERR_WEBSOCKET, "the WebSocket failed",
    "what answers there is no WebSocket of MQTT: check scheme, port and path of the URL"),
]
