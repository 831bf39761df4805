import CSwiftMQTT

// What to say about options that the library refuses.

/// The option with a value that is not UTF-8.
private func notUTF8(_ arguments: Arguments) -> StaticString {
  let texts: [(StaticString, [UInt8]?)] = [
    ("-i", arguments.id), ("-I", arguments.prefix), ("-u", arguments.user),
  ]
  for (name, text) in texts {
    // Here only UTF-8 matters.
    let letters = (text ?? []).filter { $0 != 35 && $0 != 43 }
    if MQTT.checkTopic(letters) == SMQ_ERR_UTF8 { return name }
  }
  return "-L"
}

/// The option that the library refuses by itself, too, and what it has to be like. Its error does not say which it is.
private func wrongAlone(_ options: MQTT.Options) -> ExitError? {
  var plain = MQTT.Options()
  plain.host = ascii("localhost")
  func isWrong(_ set: (inout MQTT.Options) -> Void) -> Bool {
    var alone = plain
    set(&alone)
    return MQTT.check(alone).status != SMQ_OK
  }
  let isUnix = options.host.first == 47
  let suspects: [(text: StaticString, isWrong: Bool)] = [
    ("--unix: a path has at most 107 bytes", isUnix && isWrong { $0.host = options.host }),
    ("-h: the name is too long", !options.host.isEmpty && isWrong { $0.host = options.host }),
    (
      "--proxy: the form is socks5h://[USER[:PASSWORD]@]HOST[:PORT] or http://[USER[:PASSWORD]@]HOST[:PORT]",
      isWrong { $0.proxy = options.proxy }
    ),
    (
      "--journal: a path has at most 1000 bytes",
      isWrong {
        ($0.flags, $0.clientID, $0.journal) = (SMQ_OPTION_KEEP_SESSION, ascii("id"), options.journal)
        $0.journalBatch = options.journalBatch
      }
    ),
    ("--inspect: a path has at most 107 bytes", isWrong { $0.inspect = options.inspect }),
    ("--interface: a name has at most 15 letters", isWrong { $0.bindDevice = options.bindDevice }),
    (
      "--tls-name: this is not a name",
      options.tls != nil && isWrong { ($0.tls, $0.tlsName) = (options.tls, options.tlsName) }
    ),
    (
      "--tls-alpn: a name has at most 255 bytes",
      options.tls != nil && isWrong { ($0.tls, $0.alpn) = (options.tls, options.alpn) }
    ),
    (
      "--ws-path: a path is ASCII without spaces, at most 4096 bytes",
      isWrong {
        if !options.webSocketPath.isEmpty { $0.flags |= SMQ_OPTION_WEBSOCKET }
        $0.webSocketPath = options.webSocketPath
      }
    ),
    (
      "--ws-header: these are no lines of ASCII, or they are longer than 8192 bytes together",
      !options.webSocketHeaders.isEmpty
        && isWrong { ($0.flags, $0.webSocketHeaders) = (SMQ_OPTION_WEBSOCKET, options.webSocketHeaders) }
    ),
    (
      "--ws-protocol: these are no names of subprotocols with ', ' in between",
      !options.webSocketProtocol.isEmpty
        && isWrong { ($0.flags, $0.webSocketProtocol) = (SMQ_OPTION_WEBSOCKET, options.webSocketProtocol) }
    ),
  ]
  return suspects.first { $0.isWrong }.map { usageError(Text($0.text.bytes)) }
}

func rejected(_ status: Int, _ offset: Int, _ options: MQTT.Options, _ arguments: Arguments) -> ExitError {
  // smq bench and smq check accept a URL without -L, too.
  let url: Text = arguments.command.set & Commands.mosquitto != 0 ? "-L" : "the URL"
  return switch status {
  case SMQ_ERR_URL:
    usageError(
      "\(url): malformed at byte \(offset - BrokerURL.scheme(missingIn: arguments.url).count): the form is mqtt://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]]...[/TOPIC]"
    )
  case SMQ_ERR_NOT_SUPPORTED where !options.url.isEmpty:
    usageError("\(url): it has to begin with mqtt://, mqtts://, ws://, wss:// or unix:/")
  case SMQ_ERR_CLIENT_ID: usageError("-i: this protocol version does not allow this Client Identifier")
  case SMQ_ERR_UTF8: usageError("\(notUTF8(arguments)): the text is not UTF-8")
  case SMQ_ERR_TOO_LARGE: usageError("--will-payload: it is larger than 65535 bytes")
  case SMQ_ERR_PROPERTY: usageError("-D: connect and will cannot carry these properties together")
  case SMQ_ERR_OPTION where arguments.password != nil && options.userName.isEmpty && options.version != 5:
    usageError("-P needs a user name (-u), except in 5.0")
  default:
    wrongAlone(options) ?? usageError("\(MQTT.fault(in: options)): \(MQTT.statusText(status))")
  }
}
