/// What an option sets. See `options` for what each means.
enum Key: UInt8 {
  case host, port, url, unix, bind, user, password, id, prefix, keepAlive, version, persistent, expiry,
    nodelay
  case qos, topic, property, willTopic, willPayload, willQoS, willRetain, optionsFile, debug, quiet
  case message, file, lines, nothing, whole, retain, inFlight, times, delay, journal
  case count, untilSubscribed, format, noNewline, pretty, decode, noRetained, retainedOnly, removeRetained,
    asPublished
  case filterOut, unsubscribe, verbose, timeout, randomly, responseTopic
  case publishers, subscribers, size, rate, seconds, messages, json, progress, onlyCheck, journalFile
  case capture, captureSize, operand, prometheus, once, interval, filter, asServer, speed, inspectionSocket
  case proxy, interface, dscp, tcpKeepAlive, webSocketPath, webSocketHeader, webSocketProtocol
  case caFile, caDirectory, systemCAs, certificate, privateKey, keyForm, engine, enginePassword, ciphers,
    tlsVersion,
    alpn, tlsName, insecure, psk, pskIdentity, pin, crl
  case unsupportedSRV
  case help, programVersion
}

/// Which commands an option belongs to, added up.
enum Commands {
  static let pub: UInt16 = 1
  static let sub: UInt16 = 2
  static let rr: UInt16 = 4
  static let bench: UInt16 = 8
  static let check: UInt16 = 16
  static let journal: UInt16 = 32
  static let inspect: UInt16 = 64
  static let top: UInt16 = 128
  static let stats: UInt16 = 256
  static let replay: UInt16 = 512
  static let console: UInt16 = 1024
  static let mosquitto = pub | sub | rr | console
  static let reading = sub | rr
  static let writing = pub | rr
  /// Those that connect to a broker.
  static let online = mosquitto | bench | check | viewing
  /// Those that show packets.
  static let viewing = inspect | top
  /// Those in which -L names the broker: to the others the URL is a word of its own.
  static let withURL = mosquitto | viewing
  static let all = online | journal | stats | replay
}

/// The options, in the order of the help: what a command does comes before how it connects.
let options: [Option] =
  messageOptions + placeOptions + brokerOptions + webSocketOptions + subprotocolOptions + tlsOptions
  + otherOptions + lastOptions + unsupportedOptions

private let messageOptions: [Option] = [
  // ---- Messages
  Option(
    .topic, "-t", "--topic", "TOPIC", Commands.online,
    "the topic; for smq sub, the Topic Filter, which may be given more than once; ~smq bench and smq check use topics below it (default: smq/bench and smq/check)"
  ),
  Option(
    .responseTopic, "-e", "--response-topic", "TOPIC", Commands.rr,
    "the topic of the response, which smq rr subscribes to"),
  Option(
    .qos, "-q", "--qos", "QOS", Commands.mosquitto | Commands.bench | Commands.viewing,
    "the Quality of Service: 0, 1 or 2"),
  Option(.message, "-m", "--message", "TEXT", Commands.writing, "the message"),
  Option(.file, "-f", "--file", "FILE", Commands.writing, "publish the content of the file"),
  Option(.lines, "-l", "--stdin-line", "", Commands.pub, "publish each line of standard input as a message"),
  Option(.nothing, "-n", "--null-message", "", Commands.writing, "publish an empty message"),
  Option(.whole, "-s", "--stdin-file", "", Commands.writing, "publish all of standard input as one message"),
  Option(
    .retain, "-r", "--retain", "", Commands.pub, "have the broker retain the message for later subscribers"),
  Option(.times, "", "--repeat", "COUNT", Commands.pub, "publish the message that many times"),
  Option(
    .delay, "", "--repeat-delay", "SECONDS", Commands.pub,
    "wait that long in between; fractions are allowed"),
  Option(
    .inFlight, "-M", "--max-inflight", "COUNT", Commands.pub,
    "how many messages of QoS 1 and 2 may be in flight (default: 20)"),
  Option(
    .journal, "", "--journal", "FILE", Commands.pub,
    "keep the messages in this file until they are delivered, also over a power cut; needs -i and QoS 1 or 2; ~messages of at most 120 KiB. Without a broker smq pub ends when they are stored, and the next one with the same file delivers them"
  ),
  Option(
    .capture, "", "--capture", "FILE", Commands.mosquitto | Commands.check,
    "write each packet, as it is without TLS and WebSocket, to this file, which Wireshark and tshark read (pcapng); ~passwords are covered. It may be a pipe"
  ),
  Option(
    .captureSize, "", "--capture-size", "BYTES", Commands.mosquitto | Commands.check,
    "keep the last packets only: when FILE has grown to half of this size, it becomes FILE.1"),
  Option(
    .inspectionSocket, "", "--inspect", "PATH", Commands.mosquitto,
    "make an inspection socket at this path, for smq inspect, top and stats"),
  Option(
    .property, "-D", "--property", "PACKET NAME VALUE", Commands.mosquitto,
    "5.0: a property of connect, publish, subscribe, unsubscribe, disconnect or will; user-property has two values; ~the names are those of the specification with '-' between the words"
  ),
  Option(.willTopic, "", "--will-topic", "TOPIC", Commands.mosquitto, "the topic of the Will"),
  Option(
    .willPayload, "", "--will-payload", "TEXT", Commands.mosquitto, "the payload of the Will (default: empty)"
  ),
  Option(.willQoS, "", "--will-qos", "QOS", Commands.mosquitto, "the Quality of Service of the Will"),
  Option(.willRetain, "", "--will-retain", "", Commands.mosquitto, "have the broker retain the Will"),
  // ---- Receiving
  Option(
    .unsubscribe, "-U", "--unsubscribe", "FILTER", Commands.sub, "unsubscribe; may be given more than once"),
  Option(
    .filterOut, "-T", "--filter-out", "FILTER", Commands.sub,
    "do not print messages whose topic matches; may be given more than once"),
  Option(.noRetained, "-R", "", "", Commands.reading, "do not print retained messages"),
  Option(
    .retainedOnly, "", "--retained-only", "", Commands.sub,
    "print only retained messages, and end when the first other message arrives"),
  Option(
    .removeRetained, "", "--remove-retained", "", Commands.sub,
    "have the broker delete each retained message that arrives, except those that -T and -R exclude"),
  Option(
    .asPublished, "", "--retain-as-published", "", Commands.sub,
    "5.0: receive the retain flag as the publisher set it"),
  Option(
    .randomly, "", "--random-filter", "PERCENT", Commands.sub, "print only a random selection of this size"),
  Option(.count, "-C", "", "COUNT", Commands.sub, "end after that many messages"),
  Option(.untilSubscribed, "-E", "", "", Commands.sub, "end when the broker has answered all subscriptions"),
  Option(
    .timeout, "-W", "", "SECONDS", Commands.reading, "end after that many seconds, with exit status 27"),
  Option(.timeout, "-W", "", "SECONDS", Commands.check, "how long each step may take (default: 5)"),
  // ---- Output
  Option(.verbose, "-v", "--verbose", "", Commands.reading, "print the topic before each message"),
  Option(
    .format, "-F", "", "FORMAT", Commands.reading,
    "the output format of a message; see OUTPUT FORMAT in the manual"),
  Option(.noNewline, "-N", "", "", Commands.reading, "print no newline after each message"),
  Option(.pretty, "", "--pretty", "", Commands.reading, "print %j and %J on several lines"),
  Option(
    .decode, "", "--decode", "", Commands.reading,
    "print payloads that are JSON, CBOR, SenML, MessagePack or Sparkplug B as JSON, and other binary ones in hexadecimal; ~%j and %J are then the same, and always valid JSON"
  ),
  // ---- bench, check, journal
  Option(.publishers, "", "--publishers", "COUNT", Commands.bench, "how many clients publish (default: 1)"),
  Option(
    .subscribers, "", "--subscribers", "COUNT", Commands.bench, "how many clients subscribe (default: 1)"),
  Option(
    .size, "", "--size", "BYTES", Commands.bench, "the size of each payload, at least 16 (default: 64)"),
  Option(
    .rate, "", "--rate", "COUNT", Commands.bench,
    "messages per second of all publishers together; without it, as fast as possible"),
  Option(.seconds, "", "--seconds", "SECONDS", Commands.bench, "how long to publish (default: 10)"),
  Option(
    .messages, "", "--messages", "COUNT", Commands.bench,
    "end after that many messages of all publishers together instead"),
  Option(
    .progress, "", "--progress", "", Commands.bench,
    "print a line on standard error each second, even if that is not a terminal"),
  Option(.json, "", "--json", "", Commands.bench | Commands.check, "print the result as JSON"),
  Option(
    .json, "", "--json", "", Commands.journal,
    "print everything that the file has as JSON, with properties and payloads"),
  Option(
    .pretty, "", "--pretty", "", Commands.journal | Commands.stats | Commands.inspect,
    "print JSON on several lines"),
  Option(
    .json, "", "--json", "", Commands.stats, "print a JSON array with an object for each client"),
  Option(
    .json, "", "--json", "", Commands.top,
    "print a JSON object for each interval instead, without a terminal"),
  Option(
    .json, "", "--json", "", Commands.inspect,
    "print a JSON object for each packet instead, without a terminal"),
  Option(
    .once, "", "--once", "", Commands.inspect,
    "print what there is, without a terminal, and end; ~that is the trace of a client, or a capture"),
  Option(
    .filter, "", "--filter", "WORDS", Commands.inspect,
    "show only these packets: names of packets, Topic Filters, sent or received; ~see FILTERS. Key f changes it"
  ),
  Option(.count, "-C", "", "COUNT", Commands.inspect, "without a terminal: end after that many packets"),
  Option(
    .timeout, "-W", "", "SECONDS", Commands.inspect,
    "without a terminal: end after that many seconds, with exit status 27"),
  Option(
    .asServer, "", "--server", "", Commands.replay,
    "be the broker of the capture, on a port of 127.0.0.1, instead of its client"),
  Option(
    .speed, "", "--speed", "FACTOR", Commands.replay,
    "how much faster than it was then (default: 1); 0: without pauses"),
  Option(
    .timeout, "-W", "", "SECONDS", Commands.replay,
    "how long to wait for each packet of the other side (default: 10)"),
  Option(.once, "", "--once", "", Commands.top, "print one interval, without a terminal, and end"),
  Option(
    .interval, "", "--interval", "SECONDS", Commands.top,
    "how long an interval is (default: 1); fractions are allowed"),
  Option(
    .prometheus, "", "--prometheus", "", Commands.stats,
    "print the text format of Prometheus, such as for the textfile collector of node_exporter"),
  Option(
    .timeout, "-W", "", "SECONDS", Commands.stats,
    "how long to wait for the answers (default: 5); ~then the exit status is 27"),
  Option(
    .onlyCheck, "", "--check", "", Commands.journal,
    "print nothing but errors; ~the exit status says whether the next client can take the file up"),
  // ---- The broker
  Option(
    .host, "-h", "--host", "HOST", Commands.online | Commands.replay,
    "the broker's host name or address (default: localhost)"),
  Option(
    .port, "-p", "--port", "PORT", Commands.online | Commands.replay,
    "the broker's port (default: 1883, with TLS 8883); ~8883 means TLS, as with mosquitto_pub"),
  Option(
    .url, "-L", "--url", "URL", Commands.online,
    "mqtt://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]]...[/TOPIC]: the broker, or several to try in turn, and the topic; ~mqtts:// for TLS, ws://...[/PATH] and wss:// for a WebSocket, whose path is /mqtt unless it is given, and unix:/PATH for a socket in the file system; without a scheme it is mqtt://"
  ),
]

private let brokerOptions: [Option] = [
  Option(.user, "-u", "--username", "NAME", Commands.online, "the user name"),
  Option(
    .password, "-P", "--pw", "PASSWORD", Commands.online,
    "the password; ~other users of this machine can see it in the list of processes: an options file (-o) hides it"
  ),
  Option(
    .id, "-i", "--id", "ID", Commands.mosquitto | Commands.check,
    "the Client Identifier; without it the broker assigns one (3.1: a random one is used)"),
  Option(
    .prefix, "-I", "--id-prefix", "PREFIX", Commands.mosquitto | Commands.bench,
    "use PREFIX and the process id as the Client Identifier"),
  Option(
    .keepAlive, "-k", "--keepalive", "SECONDS", Commands.online, "the Keep Alive, 5 to 65535 (default: 60)"),
  Option(
    .version, "-V", "--protocol-version", "VERSION", Commands.online,
    "mqttv5, mqttv311 or mqttv31, or 5, 311, 31; ~the default is mqttv311, with -D and in smq rr mqttv5. Without this option smq check tries all three"
  ),
  Option(
    .persistent, "-c", "--disable-clean-session", "", Commands.mosquitto,
    "keep the session after the connection, and resume an existing one; needs -i"),
  Option(
    .expiry, "-x", "--session-expiry-interval", "SECONDS", Commands.mosquitto,
    "5.0: how long the broker keeps the session; -1: forever"),
  Option(
    .nodelay, "", "--nodelay", "", Commands.mosquitto,
    "send small packets at once; ~smq always does so, and accepts the option for the sake of scripts"),
]

private let subprotocolOptions: [Option] = [
  Option(
    .webSocketProtocol, "", "--ws-protocol", "NAMES", Commands.online,
    "offer these subprotocols (default: mqtt)")
]

private let otherOptions: [Option] = [
  Option(
    .alpn, "", "--tls-alpn", "PROTOCOL", Commands.online,
    "TLS: the application protocol to ask for, such as mqtt (ALPN)"),
  // ---- The rest
  Option(
    .optionsFile, "-o", "--options-file", "FILE", Commands.online,
    "read options from the file, one per line; the command line takes precedence"),
  Option(
    .debug, "-d", "--debug", "", Commands.mosquitto | Commands.check,
    "print each step and each packet on standard error; ~never passwords"),
  Option(.quiet, "", "--quiet", "", Commands.mosquitto, "do not print error messages"),
]

private let unsupportedOptions: [Option] = [
  // ---- Options of mosquitto_pub and its like that are not supported
  Option(.enginePassword, "", "--tls-engine-kpass-sha1", "SHA1", Commands.mosquitto, ""),
  Option(.unsupportedSRV, "-S", "", "", Commands.mosquitto, ""),
]
