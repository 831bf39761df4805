/// What an option sets. See `options` for what each means.
enum Key: UInt8 {
  case host, port, url, unix, bind, user, password, id, prefix, keepAlive, version, persistent, expiry,
    nodelay
  case qos, topic, property, willTopic, willPayload, willQoS, willRetain, optionsFile, debug, quiet
  case message, file, lines, nothing, whole, retain, inFlight, times, delay
  case count, untilSubscribed, format, noNewline, pretty, noRetained, retainedOnly, removeRetained,
    asPublished
  case filterOut, unsubscribe, verbose, timeout, randomly, responseTopic
  case publishers, subscribers, size, rate, seconds, messages, json, progress
  case unsupportedTLS, unsupportedProxy, unsupportedSRV
  case help, programVersion
}

/// Which commands an option belongs to, added up.
enum Commands {
  static let pub: UInt8 = 1
  static let sub: UInt8 = 2
  static let rr: UInt8 = 4
  static let bench: UInt8 = 8
  static let check: UInt8 = 16
  static let mosquitto = pub | sub | rr
  static let reading = sub | rr
  static let writing = pub | rr
  static let all = mosquitto | bench | check
}

/// A line of the table of options. Parsing, `--help`, the completion and the manual pages are made of it.
struct Option {
  let key: Key
  let short: StaticString
  let long: StaticString
  /// What its value is called; empty: it has none.
  let value: StaticString
  let commands: UInt8
  /// A sentence, without its full stop. `~` stands in front of what only the manual says.
  let help: StaticString

  @inline(__always)
  init(
    _ key: Key, _ short: StaticString, _ long: StaticString, _ value: StaticString, _ commands: UInt8,
    _ help: StaticString
  ) {
    self.key = key
    self.short = short
    self.long = long
    self.value = value
    self.commands = commands
    self.help = help
  }

  var takesValue: Bool { value.utf8CodeUnitCount > 0 }
  var hasShort: Bool { short.utf8CodeUnitCount > 0 }
  var hasLong: Bool { long.utf8CodeUnitCount > 0 }

  /// As an error names it.
  var name: Text { Text(hasShort ? short.bytes : long.bytes) }

  func isCalled(_ name: [UInt8]) -> Bool { (hasShort && name == short) || (hasLong && name == long) }
}

/// The options, in the order in which they are told.
let options: [Option] = [
  // ---- The broker
  Option(.host, "-h", "--host", "HOST", Commands.all, "the broker's name or address; localhost if not given"),
  Option(.port, "-p", "--port", "PORT", Commands.all, "its port; 1883 if not given"),
  Option(
    .url, "-L", "--url", "URL", Commands.all,
    "mqtt://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]]...[/TOPIC]: the broker, or several that are tried in turn, and the topic"
  ),
  Option(
    .unix, "", "--unix", "PATH", Commands.mosquitto | Commands.check,
    "connect to a socket in the file system instead"),
  Option(
    .bind, "-A", "", "ADDRESS", Commands.mosquitto | Commands.check,
    "connect from this address of this machine"),
  Option(.user, "-u", "--username", "NAME", Commands.all, "user name"),
  Option(
    .password, "-P", "--pw", "PASSWORD", Commands.all,
    "password; ~others on this machine can see it in the list of processes: a file of options (-o) hides it"),
  Option(
    .id, "-i", "--id", "ID", Commands.mosquitto | Commands.check,
    "Client Identifier; the broker assigns one if not given (3.1: it is drawn)"),
  Option(
    .prefix, "-I", "--id-prefix", "PREFIX", Commands.mosquitto | Commands.bench,
    "Client Identifier: PREFIX and the process id"),
  Option(
    .keepAlive, "-k", "--keepalive", "SECONDS", Commands.all, "Keep Alive, 5 to 65535; 60 if not given"),
  Option(
    .version, "-V", "--protocol-version", "VERSION", Commands.all,
    "mqttv5, mqttv311 or mqttv31, or 5, 311, 31; ~mqttv311 if not given, mqttv5 with -D and in smq rr. smq check tries all three without it"
  ),
  Option(
    .persistent, "-c", "--disable-clean-session", "", Commands.mosquitto,
    "keep the session after the connection, and take up the one there is; needs -i"),
  Option(
    .expiry, "-x", "--session-expiry-interval", "SECONDS", Commands.mosquitto,
    "5.0: how long the broker keeps the session; -1: for ever"),
  Option(
    .nodelay, "", "--nodelay", "", Commands.mosquitto,
    "send small packets at once; ~this is always so here, and the option is there for scripts that give it"),
  // ---- What
  Option(
    .topic, "-t", "--topic", "TOPIC", Commands.all,
    "the topic, or to subscribe the Topic Filter, which may be given more than once; ~smq bench and smq check make their own topics below it, smq/bench and smq/check if not given"
  ),
  Option(
    .responseTopic, "-e", "--response-topic", "TOPIC", Commands.rr,
    "where the answer comes; it is subscribed to"),
  Option(.qos, "-q", "--qos", "QOS", Commands.mosquitto | Commands.bench, "Quality of Service: 0, 1 or 2"),
  Option(.message, "-m", "--message", "TEXT", Commands.writing, "the message"),
  Option(.file, "-f", "--file", "FILE", Commands.writing, "the message is what is in the file"),
  Option(.lines, "-l", "--stdin-line", "", Commands.pub, "each line of standard input is a message"),
  Option(.nothing, "-n", "--null-message", "", Commands.writing, "the message is empty"),
  Option(.whole, "-s", "--stdin-file", "", Commands.writing, "the message is all of standard input"),
  Option(.retain, "-r", "--retain", "", Commands.pub, "the broker keeps the message for later subscribers"),
  Option(.times, "", "--repeat", "COUNT", Commands.pub, "publish the message so often"),
  Option(
    .delay, "", "--repeat-delay", "SECONDS", Commands.pub,
    "wait so long in between; fractions are allowed"),
  Option(
    .inFlight, "-M", "--max-inflight", "COUNT", Commands.pub,
    "messages of QoS 1 and 2 on their way at a time; 20 if not given"),
  Option(
    .property, "-D", "--property", "PACKET NAME VALUE", Commands.mosquitto,
    "5.0: a property of connect, publish, subscribe, unsubscribe, disconnect or will; user-property has two values; ~the names are those of the specification with '-' between the words"
  ),
  Option(.willTopic, "", "--will-topic", "TOPIC", Commands.mosquitto, "the topic of the Will"),
  Option(
    .willPayload, "", "--will-payload", "TEXT", Commands.mosquitto, "its message; empty if not given"),
  Option(.willQoS, "", "--will-qos", "QOS", Commands.mosquitto, "its Quality of Service"),
  Option(.willRetain, "", "--will-retain", "", Commands.mosquitto, "the broker keeps it"),
  // ---- What is done with messages
  Option(
    .unsubscribe, "-U", "--unsubscribe", "FILTER", Commands.sub, "unsubscribe; may be given more than once"),
  Option(
    .filterOut, "-T", "--filter-out", "FILTER", Commands.sub,
    "leave out messages whose topic matches; may be given more than once"),
  Option(.noRetained, "-R", "", "", Commands.reading, "leave out messages that were retained"),
  Option(
    .retainedOnly, "", "--retained-only", "", Commands.sub,
    "leave out all others, and end when the first of them comes"),
  Option(
    .removeRetained, "", "--remove-retained", "", Commands.sub,
    "have the broker forget each retained message that comes, but for those that -T and -R leave out"),
  Option(
    .asPublished, "", "--retain-as-published", "", Commands.sub,
    "5.0: the retain flag is as the publisher set it"),
  Option(
    .randomly, "", "--random-filter", "PERCENT", Commands.sub, "take only so many of the messages, by chance"),
  Option(.count, "-C", "", "COUNT", Commands.sub, "end after so many messages"),
  Option(.untilSubscribed, "-E", "", "", Commands.sub, "end when the broker has answered all subscriptions"),
  Option(
    .timeout, "-W", "", "SECONDS", Commands.reading, "end after so many seconds, with exit status 27"),
  Option(.timeout, "-W", "", "SECONDS", Commands.check, "how long each step may take; 5 if not given"),
  // ---- Output
  Option(.verbose, "-v", "--verbose", "", Commands.reading, "print the topic in front of each message"),
  Option(.format, "-F", "", "FORMAT", Commands.reading, "print each message like this; see OUTPUT FORMAT"),
  Option(.noNewline, "-N", "", "", Commands.reading, "no new line after each message"),
  Option(.pretty, "", "--pretty", "", Commands.reading, "%j and %J on many lines"),
  // ---- bench, check
  Option(.publishers, "", "--publishers", "COUNT", Commands.bench, "clients that publish; 1 if not given"),
  Option(
    .subscribers, "", "--subscribers", "COUNT", Commands.bench, "clients that subscribe; 1 if not given"),
  Option(
    .size, "", "--size", "BYTES", Commands.bench, "of each payload, 16 at least; 64 if not given"),
  Option(
    .rate, "", "--rate", "COUNT", Commands.bench,
    "messages a second, of all publishers together; as many as go if not given"),
  Option(.seconds, "", "--seconds", "SECONDS", Commands.bench, "how long to publish; 10 if not given"),
  Option(
    .messages, "", "--messages", "COUNT", Commands.bench,
    "end after so many messages of all publishers together, instead"),
  Option(
    .progress, "", "--progress", "", Commands.bench,
    "a line on standard error each second, even if that is no terminal"),
  Option(.json, "", "--json", "", Commands.bench | Commands.check, "print the result as JSON"),
  // ---- The rest
  Option(
    .optionsFile, "-o", "--options-file", "FILE", Commands.all,
    "read options from the file, one to a line; those of the command line go before"),
  Option(.debug, "-d", "--debug", "", Commands.mosquitto, "tell each step on standard error"),
  Option(.quiet, "", "--quiet", "", Commands.mosquitto, "no messages about what goes wrong"),
  Option(.help, "", "--help", "", Commands.all, "print this and end"),
  Option(.programVersion, "", "--version", "", Commands.all, "print the version and end"),
  // ---- What mosquitto_pub and its like have beyond that
  Option(.unsupportedTLS, "", "--cafile", "FILE", Commands.mosquitto, ""),
  Option(.unsupportedTLS, "", "--capath", "DIRECTORY", Commands.mosquitto, ""),
  Option(.unsupportedTLS, "", "--cert", "FILE", Commands.mosquitto, ""),
  Option(.unsupportedTLS, "", "--key", "FILE", Commands.mosquitto, ""),
  Option(.unsupportedTLS, "", "--keyform", "FORM", Commands.mosquitto, ""),
  Option(.unsupportedTLS, "", "--ciphers", "LIST", Commands.mosquitto, ""),
  Option(.unsupportedTLS, "", "--tls-version", "VERSION", Commands.mosquitto, ""),
  Option(.unsupportedTLS, "", "--tls-alpn", "PROTOCOL", Commands.mosquitto, ""),
  Option(.unsupportedTLS, "", "--tls-engine", "ENGINE", Commands.mosquitto, ""),
  Option(.unsupportedTLS, "", "--tls-engine-kpass-sha1", "SHA1", Commands.mosquitto, ""),
  Option(.unsupportedTLS, "", "--tls-use-os-certs", "", Commands.mosquitto, ""),
  Option(.unsupportedTLS, "", "--insecure", "", Commands.mosquitto, ""),
  Option(.unsupportedTLS, "", "--psk", "KEY", Commands.mosquitto, ""),
  Option(.unsupportedTLS, "", "--psk-identity", "IDENTITY", Commands.mosquitto, ""),
  Option(.unsupportedProxy, "", "--proxy", "URL", Commands.mosquitto, ""),
  Option(.unsupportedSRV, "-S", "", "", Commands.mosquitto, ""),
]
