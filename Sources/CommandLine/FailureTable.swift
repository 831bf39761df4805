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
  /// What a server said when it refused, and when it ended a connection: a number of the protocol, if it has them.
  case refused, ended
  /// SMQ_ERR_…, SST_ERR_…
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

/// Every cause of a failure. Where the words of a protocol belong into a row, the program has its own (`programFailures`),
/// which comes first.
func failureRow(_ kind: FailureKind, _ code: Int) -> FailureRow? {
  for table in [programFailures, tlsFailures, transportFailures, commonFailures] {
    if let row = table.first(where: { $0.kind == kind && $0.code == code }) { return row }
  }
  return nil
}

let tryLater: StaticString = "try again later: the broker is overloaded, or limits connections"

/// What is left for all of a status.
let commonFailures: [FailureRow] = [
  FailureRow(.status, Status.refused, "refused", "the broker's log may say why"),
  FailureRow(
    .status, Status.resolve, "the name has no address",
    "check the spelling; getent ahosts asks the same resolver; a numeric address needs none"),
  FailureRow(.status, Status.serverClosed, "the broker ended the connection", ""),
  FailureRow(.status, Status.network, "the network failed", ""),
  FailureRow(
    .status, Status.tls, "TLS", "openssl s_client shows the same handshake; the broker's log may say more"),
  FailureRow(
    .status, Status.proxy, "the proxy does not connect",
    "what answers there is no such proxy: check scheme, host and port of --proxy"),
]
