import CSwiftMQTT
import CTLSEngine

let wrongLogin: StaticString =
  "the user name (-u) or the password (-P) is wrong or missing; Mosquitto 2 requires them unless allow_anonymous is true"
private let otherID: StaticString = "-i gives another Client Identifier"
private let otherVersions: StaticString = "the broker speaks only other versions of MQTT"
private let otherServer: StaticString = "check the server that it points to"
/// The peer ended a connection over bare TCP.
let notMQTT: StaticString =
  "this port may speak TLS (usually 8883, mqtts://) or WebSockets (ws://) instead of plain MQTT"

private let webPath: StaticString =
  "there is no MQTT at this path: check the path of the URL, often /mqtt or /ws"
private let webBehind: StaticString =
  "the web server works, but the MQTT server behind it does not: check that it is running"
private let notTLS: StaticString =
  "this port may not speak TLS: check the port (usually 8883, or 443 for wss://), or use mqtt:// or ws:// on a network that you trust"

/// Advice with words of MQTT, for failures on the way to it.
enum Words {
  static let silentTLS: StaticString =
    "it accepts connections but does not answer: check that it speaks TLS on this port (usually 8883, or 443 for wss://)"
  static let noWeb: StaticString =
    "this port may speak plain MQTT (mqtt://) or TLS (wss://) instead of WebSockets"
  static let noWebOverTLS: StaticString =
    "this port may speak MQTT over TLS (mqtts://) instead of WebSockets"
  static let noServer: StaticString = "the peer does not answer as an MQTT server"

  /// Whether an answer to CONNECT was none of MQTT. A server may close instead, because of the version [MQTT-3.1.2-2].
  static func isOfNoServer(_ event: Event) -> Bool {
    [SMQ_ERR_MALFORMED, SMQ_ERR_PROTOCOL].contains(event.status)
  }
}

/// Of MQTT, and those in whose advice it is named.
let programFailures: [FailureRow] = [
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
  FailureRow(.status, SMQ_ERR_CLOSED, "the broker closed the connection without giving a reason", notMQTT),
  FailureRow(
    .status, SMQ_ERR_TIMEOUT, "no answer in time",
    "it accepts connections but does not answer: check that it speaks MQTT on this port, with or without TLS as asked for"
  ),
  FailureRow(.status, SMQ_ERR_KEEP_ALIVE, "the broker does not answer PINGREQ", ""),
  FailureRow(
    .status, SMQ_ERR_MALFORMED, "the broker violated the protocol",
    "this port does not speak MQTT, or not according to its standard"),
  FailureRow(
    .status, SMQ_ERR_PROTOCOL, "the broker violated the protocol",
    "this port does not speak MQTT, or not according to its standard"),
  FailureRow(.status, SMQ_ERR_SERVER_LIMIT, "it exceeds a limit of the broker", ""),
  FailureRow(.status, SMQ_ERR_EXPIRED, "its Message Expiry Interval has passed", ""),
  FailureRow(
    .status, SMQ_ERR_WEBSOCKET, "the WebSocket failed",
    "what answers there is no WebSocket of MQTT: check scheme, port and path of the URL"),
  // ---- TLS, WebSocket, the kernel
  FailureRow(
    .tls, SMQ_TLS_CERTIFICATE_WANTED, "the broker requires a client certificate",
    "give one with --cert and --key (Mosquitto: require_certificate)"),
  FailureRow(
    .tls, SMQ_TLS_PSK, "the broker does not know the PSK identity, or has another key",
    "compare --psk-identity and --psk with the broker's file (Mosquitto: psk_file)"),
  FailureRow(.tls, SMQ_TLS_NOT_TLS, "the peer does not speak TLS", notTLS),
  FailureRow(
    .tls, SMQ_TLS_ALPN, "the broker knows no such application protocol",
    "leave out --tls-alpn, or give the one that the broker's documentation names, such as mqtt or x-amzn-mqtt-ca"
  ),
  FailureRow(
    .alert, 80, "internal_error",
    "the broker's log says what failed there; with Mosquitto it may be that its versions of TLS are all too old"
  ),
  FailureRow(
    .closeCode, 1003, "unsupported data",
    "MQTT needs binary frames: this is another application's WebSocket, so check the path"
  ),
  FailureRow(.closeCode, 1008, "policy violation", wrongLogin),
  FailureRow(
    .closeCode, 1010, "mandatory extension",
    "the server wants an extension that MQTT does not need: turn it off there"),
  // ECONNREFUSED
  FailureRow(
    .errno, 111, "",
    "nothing listens there: check that the broker is running, uses this port, and listens not only on its own machine (Mosquitto: listener)"
  ),
  // ECONNRESET
  FailureRow(
    .errno, 104, "", notMQTT),
  // EPIPE
  FailureRow(
    .errno, 32, "", notMQTT),
  FailureRow(.webStatus, 404, "", webPath),
  FailureRow(.webStatus, 405, "", webPath),
  FailureRow(.webStatus, 502, "", webBehind),
  FailureRow(.webStatus, 503, "", webBehind),
  FailureRow(.webStatus, 504, "", webBehind),
  FailureRow(.closeCode, 1014, "bad gateway", webBehind),
]
