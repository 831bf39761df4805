import CSwiftSTOMP
import CTLSEngine

/// What a server means that refuses CONNECT: STOMP has no codes.
private let wrongLogin: StaticString =
  "the login (-u), the passcode (-P) or the virtual host (--virtual-host) is wrong or missing; the broker's log may say which"
/// The peer ended a connection over bare TCP.
private let notSTOMP: StaticString =
  "this port may speak TLS (stomps://), WebSockets (ws://) or another protocol instead of plain STOMP (usually 61613)"
private let webPath: StaticString =
  "there is no STOMP at this path: check the path of the URL, often /ws or /stomp"
private let webBehind: StaticString =
  "the web server works, but the STOMP server behind it does not: check that it is running"
private let notTLS: StaticString =
  "this port may not speak TLS: check the port (usually 61614, or 443 for wss://), or use stomp:// or ws:// on a network that you trust"

/// Advice with words of STOMP, for failures on the way to it.
enum Words {
  static let silentTLS: StaticString =
    "it accepts connections but does not answer: check that it speaks TLS on this port (usually 61614, or 443 for wss://)"
  static let noWeb: StaticString =
    "this port may speak plain STOMP (stomp://) or TLS (wss://) instead of WebSockets"
  static let noWebOverTLS: StaticString =
    "this port may speak STOMP over TLS (stomps://) instead of WebSockets"
  static let noServer: StaticString = "the peer does not answer as a STOMP server"

  /// Whether an answer to CONNECT was none of STOMP: a server has to send CONNECTED or ERROR before it closes.
  static func isOfNoServer(_ event: Event) -> Bool {
    switch event.status {
    case SST_ERR_MALFORMED, SST_ERR_CLOSED: true
    // ECONNRESET, EPIPE
    case SST_ERR_NETWORK: event.osError == 104 || event.osError == 32
    default: false
    }
  }
}

/// Of STOMP, and those in whose advice it is named.
let programFailures: [FailureRow] = [
  FailureRow(.refused, 0, "", wrongLogin),
  FailureRow(
    .ended, 0, "", "ERROR says what was wrong: often a permission, or a destination that is not there"),
  FailureRow(.status, SST_ERR_CLOSED, "the broker closed the connection without giving a reason", notSTOMP),
  FailureRow(
    .status, SST_ERR_TIMEOUT, "no answer in time",
    "it accepts connections but does not answer: check that it speaks STOMP on this port, with or without TLS as asked for"
  ),
  FailureRow(
    .status, SST_ERR_HEART_BEAT, "no heart-beat came in time",
    "the connection is dead, or the broker is overloaded: --heart-beat asks for others"),
  FailureRow(
    .status, SST_ERR_MALFORMED, "the broker violated the protocol",
    "this port does not speak STOMP, or not according to its standard"),
  FailureRow(
    .status, SST_ERR_SERVER_LIMIT, "the version that the broker has chosen does not have this",
    "-V 1.2 asks for another version"),
  FailureRow(
    .status, SST_ERR_UNKNOWN, "the connection ended before the receipt came: the broker may have it, or not",
    ""),
  FailureRow(
    .status, SST_ERR_WEBSOCKET, "the WebSocket failed",
    "what answers there is no WebSocket of STOMP: check scheme, port and path of the URL"),
  // ---- TLS, WebSocket, the kernel
  FailureRow(
    .tls, SMQ_TLS_CERTIFICATE_WANTED, "the broker requires a client certificate",
    "give one with --cert and --key"),
  FailureRow(
    .tls, SMQ_TLS_PSK, "the broker does not know the PSK identity, or has another key",
    "compare --psk-identity and --psk with those of the broker"),
  FailureRow(.tls, SMQ_TLS_NOT_TLS, "the peer does not speak TLS", notTLS),
  FailureRow(
    .tls, SMQ_TLS_ALPN, "the broker knows no such application protocol",
    "leave out --tls-alpn, or give the one that the broker's documentation names"),
  FailureRow(.alert, 80, "internal_error", "the broker's log says what failed there"),
  FailureRow(
    .closeCode, 1003, "unsupported data",
    "this is another application's WebSocket, so check the path"),
  FailureRow(.closeCode, 1008, "policy violation", wrongLogin),
  FailureRow(
    .closeCode, 1010, "mandatory extension",
    "the server wants an extension that STOMP does not need: turn it off there"),
  // ECONNREFUSED
  FailureRow(
    .errno, 111, "",
    "nothing listens there: check that the broker is running, uses this port, and listens not only on its own machine"
  ),
  // ECONNRESET
  FailureRow(
    .errno, 104, "", notSTOMP),
  // EPIPE
  FailureRow(
    .errno, 32, "", notSTOMP),
  FailureRow(.webStatus, 404, "", webPath),
  FailureRow(.webStatus, 405, "", webPath),
  FailureRow(.webStatus, 502, "", webBehind),
  FailureRow(.webStatus, 503, "", webBehind),
  FailureRow(.webStatus, 504, "", webBehind),
  FailureRow(.closeCode, 1014, "bad gateway", webBehind),
]

// ---- What is said of failures of STOMP

extension Event {
  /// What the broker said in ERROR: its message header, and the first line of its body.
  var words: Text {
    var text = Text()
    if !self.text.isEmpty { text += ": \"\(self.text.escaped)\"" }
    let line = payload.prefix(300).prefix { $0 != 10 && $0 != 13 }
    if type == SST_EVENT_DISCONNECTED && !line.isEmpty && Array(line) != self.text {
      text += " (\"\(Array(line).escaped)\")"
    }
    return text
  }

  var failureKeys: [(FailureKind, Int)] { [(status == SST_ERR_REFUSED ? .refused : .ended, 0)] }

  /// The one that check has for CONNECT.
  var statusOfRefusal: Int32 { 5 }

  /// The numbers that JSON has besides.
  var numbers: [(name: StaticString, value: Int, none: Int)] { [] }
}

let adviceOnMessages: Text =
  "this login may lack permission to send there, or to read it: -t gives another destination"

let adviceOnSubscribing: Text =
  "this login may lack permission to subscribe there: -t gives another destination"
