private let bug: StaticString = "the broker has a bug that other clients may not notice"
private let brokerBehindProxy: StaticString =
  "the proxy works, but the broker behind it does not: check host and port, as the proxy sees them"
private let proxyRule: StaticString =
  "the proxy's rules do not allow this host or this port: ask who runs it, or use a port that it allows, such as 443"
private let proxyLogin: StaticString =
  "the proxy refused them: check the user name and the password in --proxy; characters such as @ and : are percent-encoded there"
private let loginWanted: StaticString =
  "the proxy wants a user name and a password: --proxy http://USER:PASSWORD@HOST:PORT"
private let otherLogin: StaticString =
  "the proxy takes no user name and password, but wants another way to authenticate, such as GSSAPI: its configuration has to allow one of the two"
private let webLogin: StaticString =
  "the web server wants a login or a token in the request: --ws-header adds a line, such as Authorization"

private let noProxy: StaticString =
  "the proxy does not answer: check that it is running, and the host and the port of --proxy"
private let silentProxy: StaticString =
  "it accepts connections but does not answer as a proxy: check the port, and whether --proxy is socks5h:// or http://"
private let proxyRefusal: StaticString =
  "the proxy ended the connection: its log may say why; check the port, and whether --proxy is socks5h:// or http://"
private let noAnswer: StaticString =
  "nothing answers: a firewall blocks it, the address is wrong, or the broker is down"
private let silentWeb: StaticString =
  "it accepts connections but does not answer: check that it is a web server, with or without TLS (wss://, ws://) as asked for"
private let leftSocket: StaticString =
  "no broker has this socket open, which may be left from one that has ended: check that the broker is running"

/// Advice that depends on what lies between this machine and the broker; nil: the table has it.
func adviceOnWay(_ event: Event, _ arguments: CommonArguments) -> StaticString? {
  let isEnd = event.status == Status.closed || event.status == Status.network
  switch (event.status, event.stage) {
  // ECONNREFUSED and ETIMEDOUT; what else there is comes from this machine.
  case (Status.network, Stage.connect) where event.osError == 111 && arguments.isUnix: return leftSocket
  case (Status.network, Stage.connect) where [110, 111].contains(event.osError) && arguments.hasProxy:
    return noProxy
  case (Status.timeout, Stage.connect): return arguments.hasProxy ? noProxy : noAnswer
  case (Status.timeout, Stage.proxy): return silentProxy
  case (Status.timeout, Stage.tls): return Words.silentTLS
  case (Status.timeout, Stage.webSocket): return silentWeb
  case (_, Stage.proxy) where isEnd: return proxyRefusal
  case (_, Stage.webSocket) where isEnd: return arguments.wantsTLS ? Words.noWebOverTLS : Words.noWeb
  // Over TLS or WebSocket there is no other way to try.
  case (_, let stage) where isEnd && stage != Stage.connect && arguments.isLayered:
    return "the broker's log may say why"
  // Proxies answer 401 or 407, whether or not they got a login.
  case (Status.proxy, _) where [401, 407].contains(event.failure.httpStatus):
    return arguments.hasProxyLogin ? proxyLogin : loginWanted
  case (Status.proxy, _) where event.failure.socksReply == 256 && arguments.hasProxyLogin:
    return otherLogin
  default: return nil
  }
}

/// Proxies, WebSockets and the kernel.
let transportFailures: [FailureRow] = [
  // ---- Proxies
  FailureRow(
    .socks, 1, "general failure",
    "the proxy cannot reach the broker, or does not know its name: its log says which"),
  FailureRow(.socks, 2, "not allowed by its rules", proxyRule),
  FailureRow(.socks, 3, "network unreachable", brokerBehindProxy),
  FailureRow(.socks, 4, "host unreachable", brokerBehindProxy),
  FailureRow(.socks, 5, "connection refused", brokerBehindProxy),
  FailureRow(.socks, 6, "TTL expired", brokerBehindProxy),
  FailureRow(
    .socks, 7, "it does not know the command CONNECT", "this proxy does not carry TCP: use another one"),
  FailureRow(
    .socks, 8, "it does not know this kind of address",
    "give a host name or an IPv4 address instead, which every proxy knows"),
  FailureRow(
    .socks, 256, "it accepts none of the ways to authenticate",
    "the proxy wants a user name and a password: --proxy socks5h://USER:PASSWORD@HOST:PORT"),
  FailureRow(.socks, 257, "it refused user name and password", proxyLogin),
  FailureRow(
    .socks, 258, "it does not speak SOCKS5",
    "what answers there is no SOCKS5 proxy: check the port, or give an HTTP proxy as --proxy http://HOST:PORT"
  ),
  FailureRow(
    .proxyStatus, 400, "",
    "the proxy does not understand CONNECT: check that --proxy is an HTTP proxy and the port is right"
  ),
  FailureRow(.proxyStatus, 403, "", proxyRule),
  FailureRow(
    .proxyStatus, 404, "",
    "this is a web server, or a proxy that knows no such host: check host and port of --proxy"),
  FailureRow(
    .proxyStatus, 405, "",
    "this is a web server, or a proxy that does not tunnel: check host and port of --proxy"),
  FailureRow(.proxyStatus, 429, "", "the proxy limits connections: try again later"),
  FailureRow(.proxyStatus, 500, "", brokerBehindProxy),
  FailureRow(.proxyStatus, 502, "", brokerBehindProxy),
  FailureRow(.proxyStatus, 503, "", brokerBehindProxy),
  FailureRow(.proxyStatus, 504, "", brokerBehindProxy),
  FailureRow(
    .proxyStatus, 300, "", "this is a web server rather than a proxy: check host and port of --proxy"),
  // ---- WebSocket
  FailureRow(
    .webStatus, 200, "",
    "this is a web page and no WebSocket: check the path of the URL, and that the server passes Upgrade on"),
  FailureRow(
    .webStatus, 300, "",
    "the server has moved: use the new address in the URL; it is not followed, because the login would go there, too"
  ),
  FailureRow(
    .webStatus, 400, "",
    "the server does not take this request: check the path, --ws-protocol and --ws-header, and that wss:// is used where TLS is"
  ),
  FailureRow(.webStatus, 401, "", webLogin),
  FailureRow(.webStatus, 403, "", webLogin),
  FailureRow(
    .webStatus, 426, "",
    "the server wants another protocol: check that the proxies in front of it pass Upgrade on"),
  FailureRow(.webStatus, 429, "", "the server limits connections: try again later"),
  FailureRow(.webStatus, 500, "", "the web server has a fault, which its log explains"),
  FailureRow(.closeCode, 1000, "normal closure", "the broker ended the connection: its log may say why"),
  FailureRow(.closeCode, 1001, "going away", "the broker is being stopped: try again later"),
  FailureRow(
    .closeCode, 1002, "protocol error",
    "one side broke a rule of RFC 6455: something in between may change what is sent"),
  FailureRow(.closeCode, 1007, "invalid payload data", bug),
  FailureRow(
    .closeCode, 1009, "message too big",
    "the server takes smaller messages only: its limit can be raised there"),
  FailureRow(.closeCode, 1011, "internal error", "the server has a fault, which its log explains"),
  FailureRow(.closeCode, 1012, "service restart", "the broker is being restarted: try again later"),
  FailureRow(.closeCode, 1013, "try again later", tryLater),
  // ---- errno, of Linux
  // ETIMEDOUT
  FailureRow(.errno, 110, "", noAnswer),
  // ENETUNREACH
  FailureRow(.errno, 101, "", "there is no route to that address: check that the network is up"),
  // EHOSTUNREACH
  FailureRow(.errno, 113, "", "there is no route to that address: check that the network is up"),
  // EADDRNOTAVAIL
  FailureRow(
    .errno, 99, "", "check that -A is an address of this machine, of the same family as the broker's"),
  // EAFNOSUPPORT
  FailureRow(.errno, 97, "", "check that -A is of the same family as the broker's address"),
  // ENOENT
  FailureRow(.errno, 2, "", "check that the broker is running, and that this is the path of its socket"),
  // ENOTDIR
  FailureRow(.errno, 20, "", "check the path of the socket"),
  // EACCES
  FailureRow(.errno, 13, "", "this user has no permission to connect to that socket"),
  // EPERM
  FailureRow(
    .errno, 1, "",
    "this user may not do that: --interface needs CAP_NET_RAW before Linux 5.7, and a firewall may be in the way"
  ),
  // ENODEV
  FailureRow(.errno, 19, "", "check the name of --interface: ip link lists them"),
]
