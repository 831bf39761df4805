/// What an option sets. See `options` for what each means.
enum Key: UInt8 {
  case host, port, url, unix, bind, user, password, virtualHost, connectHeader, version, heartBeat
  case destination, header, contentType, optionsFile, debug, quiet
  case message, file, lines, nothing, whole, noReceipt, transaction, noLength, times, delay, journal
  case ack, selector, count, format, noNewline, pretty, verbose, timeout
  case senders, receivers, inFlight, size, rate, seconds, messages, json, progress, onlyCheck, journalFile,
    operand
  case proxy, interface, dscp, tcpKeepAlive, webSocketPath, webSocketHeader, webSocketProtocol
  case caFile, caDirectory, systemCAs, certificate, privateKey, keyForm, engine, ciphers, tlsVersion, alpn,
    tlsName, insecure, psk, pskIdentity, pin, crl
  case once, prometheus, filter, inspectionSocket
  case help, programVersion
}

/// Which commands an option belongs to, added up.
enum Commands {
  static let send: UInt16 = 1
  static let receive: UInt16 = 2
  static let bench: UInt16 = 4
  static let check: UInt16 = 8
  static let inspect: UInt16 = 16
  static let stats: UInt16 = 32
  static let journal: UInt16 = 64
  static let messages = send | receive
  /// Those that connect to a broker.
  static let online = messages | bench | check
  /// Those in which -L names the broker: to the others the URL is a word of its own.
  static let withURL = messages
  static let all = online | inspect | stats | journal
}

/// The options, in the order of the help: what a command does comes before how it connects.
let options: [Option] =
  messageOptions + placeOptions + brokerOptions + webSocketOptions + subprotocolOptions + tlsOptions
  + otherOptions + lastOptions

private let messageOptions: [Option] = [
  // ---- Messages
  Option(
    .destination, "-t", "--destination", "DESTINATION", Commands.send,
    "where to send to, such as /queue/a; ~what it means is up to the broker"),
  Option(
    .destination, "-t", "--destination", "DESTINATION", Commands.receive,
    "where to receive from, such as /queue/a; may be given more than once; ~what it means is up to the broker"
  ),
  Option(
    .destination, "-t", "--destination", "DESTINATION", Commands.bench,
    "the destination to measure (default: a topic of its own, /topic/sst.bench.NAME); ~receivers share the messages of one that begins with /queue, and otherwise get all of them"
  ),
  Option(
    .destination, "-t", "--destination", "DESTINATION", Commands.check,
    "where to send a message and receive it again (default: a topic of its own, /topic/sst.check.NAME); ~other messages that are there stay there"
  ),
  Option(.message, "-m", "--message", "TEXT", Commands.send, "the body"),
  Option(.file, "-f", "--file", "FILE", Commands.send, "send the content of the file"),
  Option(.lines, "-l", "--stdin-line", "", Commands.send, "send each line of standard input as a message"),
  Option(.nothing, "-n", "--null-message", "", Commands.send, "send a message without a body"),
  Option(.whole, "-s", "--stdin-file", "", Commands.send, "send all of standard input as one message"),
  Option(
    .header, "-H", "--header", "HEADER", Commands.send,
    "add a header to SEND, 'name: value'; may be given more than once; ~blanks behind the colon are left out"),
  Option(
    .header, "-H", "--header", "HEADER", Commands.receive,
    "add a header to SUBSCRIBE, 'name: value'; may be given more than once; ~blanks behind the colon are left out"
  ),
  Option(
    .contentType, "", "--content-type", "TYPE", Commands.send,
    "the MIME type of the body, such as application/json"),
  Option(
    .noLength, "", "--no-content-length", "", Commands.send,
    "send no content-length; ~ActiveMQ then delivers a text to its clients of JMS, and bytes otherwise"),
  Option(
    .noReceipt, "", "--no-receipt", "", Commands.send,
    "do not wait until the broker has confirmed each message; ~the exit status then says only that the kernel took them"
  ),
  Option(
    .transaction, "", "--transaction", "", Commands.send,
    "send everything in one transaction: the broker gets all or nothing"),
  Option(.times, "", "--repeat", "COUNT", Commands.send, "send the message that many times"),
  Option(
    .delay, "", "--repeat-delay", "SECONDS", Commands.send,
    "wait that long in between; fractions are allowed"),
  Option(
    .journal, "", "--journal", "FILE", Commands.send,
    "keep the messages in this file until the broker has confirmed them, also over a power cut; ~messages of at most 120 KiB. Without a broker sst send ends when they are stored, and the next one with the same file delivers them"
  ),
  // ---- Receiving
  Option(
    .ack, "", "--ack", "MODE", Commands.receive,
    "when the broker takes a message for consumed: auto, client or client-individual (default: client); ~with auto that is when it has sent it, otherwise when it is printed, so that what arrives behind the last one of -C stays in the queue"
  ),
  Option(
    .selector, "", "--selector", "TEXT", Commands.receive,
    "receive only messages whose headers match, such as \"colour = 'red'\"; ~the broker has to know selectors, as ActiveMQ does"
  ),
  Option(.count, "-C", "", "COUNT", Commands.receive, "end after that many messages"),
  Option(
    .timeout, "-W", "", "SECONDS", Commands.receive, "end after that many seconds, with exit status 27"),
  Option(.timeout, "-W", "", "SECONDS", Commands.check, "how long each step may take (default: 5)"),
  Option(
    .timeout, "-W", "", "SECONDS", Commands.inspect,
    "without a terminal: end after that many seconds, with exit status 27"),
  Option(
    .timeout, "-W", "", "SECONDS", Commands.stats, "how long the clients may take to answer (default: 5)"),
  Option(.count, "-C", "", "COUNT", Commands.inspect, "without a terminal: end after that many frames"),
  // ---- Output
  Option(.verbose, "-v", "--verbose", "", Commands.receive, "print the destination before each message"),
  Option(
    .format, "-F", "", "FORMAT", Commands.receive,
    "the output format of a message; see OUTPUT FORMAT in the manual"),
  Option(.noNewline, "-N", "", "", Commands.receive, "print no newline after each message"),
  Option(.pretty, "", "--pretty", "", Commands.receive, "print %j and %J on several lines"),
  // ---- bench, check
  Option(.senders, "", "--senders", "COUNT", Commands.bench, "how many clients send (default: 1)"),
  Option(.receivers, "", "--receivers", "COUNT", Commands.bench, "how many clients receive (default: 1)"),
  Option(
    .inFlight, "-M", "--max-inflight", "COUNT", Commands.bench,
    "how many messages may be under way: without a receipt, or not yet received (default: 50)"),
  Option(
    .noReceipt, "", "--no-receipt", "", Commands.bench, "send without receipts"),
  Option(.size, "", "--size", "BYTES", Commands.bench, "the size of each body, at least 16 (default: 64)"),
  Option(
    .rate, "", "--rate", "COUNT", Commands.bench,
    "messages per second of all senders together; without it, as fast as possible"),
  Option(.seconds, "", "--seconds", "SECONDS", Commands.bench, "how long to send (default: 10)"),
  Option(
    .messages, "", "--messages", "COUNT", Commands.bench,
    "end after that many messages of all senders together instead"),
  Option(
    .progress, "", "--progress", "", Commands.bench,
    "print a line on standard error each second, even if that is not a terminal"),
  Option(.json, "", "--json", "", Commands.bench | Commands.check, "print the result as JSON"),
  // ---- inspect, stats
  Option(
    .json, "", "--json", "", Commands.inspect,
    "print a JSON object for each frame instead, without a terminal"),
  Option(
    .json, "", "--json", "", Commands.stats, "print a JSON array with an object for each client"),
  Option(
    .pretty, "", "--pretty", "", Commands.inspect | Commands.stats, "print JSON on several lines"),
  Option(
    .prometheus, "", "--prometheus", "", Commands.stats,
    "print the text format of Prometheus; ~each metric begins with swiftstomp_"),
  Option(
    .once, "", "--once", "", Commands.inspect,
    "print what there is, without a terminal, and end: the frames of a capture"),
  Option(
    .filter, "", "--filter", "WORDS", Commands.inspect,
    "show only these frames: names of frames, destinations, sent or received; ~see FILTERS. Key f changes it"
  ),
  Option(
    .json, "", "--json", "", Commands.journal,
    "print everything that the file has as JSON, with headers and bodies"),
  Option(.pretty, "", "--pretty", "", Commands.journal, "print JSON on several lines"),
  Option(
    .onlyCheck, "", "--check", "", Commands.journal,
    "print nothing but errors; ~the exit status says whether the next client can take the file up"),
  // ---- The broker
  Option(
    .host, "-h", "--host", "HOST", Commands.online, "the broker's host name or address (default: localhost)"),
  Option(
    .port, "-p", "--port", "PORT", Commands.online, "the broker's port (default: 61613, with TLS 61614)"),
  Option(
    .url, "-L", "--url", "URL", Commands.online,
    "stomp://[LOGIN[:PASSCODE]@]HOST[:PORT][,HOST[:PORT]]...: the broker, or several to try in turn; ~stomps:// for TLS, ws://...[/PATH] and wss:// for a WebSocket, whose path is /ws unless it is given, also as stomp+ssl://, stomp+ws:// and stomp+wss://, and unix:/PATH for a socket in the file system; without a scheme it is stomp://"
  ),
]

private let brokerOptions: [Option] = [
  Option(.user, "-u", "--login", "NAME", Commands.online, "the login"),
  Option(
    .password, "-P", "--passcode", "PASSCODE", Commands.online,
    "the passcode; ~other users of this machine can see it in the list of processes: an options file (-o) hides it"
  ),
  Option(
    .virtualHost, "", "--virtual-host", "NAME", Commands.online,
    "the host header of CONNECT (default: /); ~that is RabbitMQ's default virtual host, and ActiveMQ ignores it"
  ),
  Option(
    .connectHeader, "", "--connect-header", "HEADER", Commands.online,
    "add a header to CONNECT, 'name: value', such as ActiveMQ's client-id; may be given more than once"),
  Option(
    .version, "-V", "--protocol-version", "VERSION", Commands.online,
    "1.0, 1.1 or 1.2; without this option the broker chooses"),
  Option(
    .heartBeat, "", "--heart-beat", "SEND,RECEIVE", Commands.online,
    "how often this client can send a heart-beat and wants one, in milliseconds; 0: never (default: 10000,10000)"
  ),
]

private let subprotocolOptions: [Option] = [
  Option(
    .webSocketProtocol, "", "--ws-protocol", "NAMES", Commands.online,
    "offer these subprotocols (default: those of the versions, such as v12.stomp)")
]

private let otherOptions: [Option] = [
  Option(
    .alpn, "", "--tls-alpn", "PROTOCOL", Commands.online, "TLS: the application protocol to ask for (ALPN)"),
  // ---- The rest
  Option(
    .optionsFile, "-o", "--options-file", "FILE", Commands.online,
    "read options from the file, one per line; the command line takes precedence"),
  Option(
    .debug, "-d", "--debug", "", Commands.messages | Commands.check,
    "print each step of the connection and each frame on standard error; ~never passcodes"),
  Option(
    .inspectionSocket, "", "--inspect", "PATH", Commands.messages,
    "make an inspection socket at this path, for sst inspect and stats"),
  Option(.quiet, "", "--quiet", "", Commands.messages, "do not print error messages"),
]
