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

/// The same of the files of MQTT's options.
private func wrongFile(_ options: MQTT.Options) -> ExitError? {
  let suspects: [(text: StaticString, isWrong: Bool)] = [
    (
      "--journal: a path has at most 1000 bytes",
      isWrongAlone {
        ($0.flags, $0.clientID, $0.journal) = (SMQ_OPTION_KEEP_SESSION, ascii("id"), options.journal)
        $0.journalBatch = options.journalBatch
      }
    ),
    ("--inspect: a path has at most 107 bytes", isWrongAlone { $0.inspect = options.inspect }),
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
  case SMQ_ERR_NOT_SUPPORTED where BrokerURL(options.url).scheme.begins(with: "stomp"):
    usageError("\(url): \(BrokerURL(options.url).scheme.printable):// is STOMP, which sst speaks")
  case SMQ_ERR_NOT_SUPPORTED where !options.url.isEmpty:
    usageError("\(url): it has to begin with mqtt://, mqtts://, ws://, wss:// or unix:/")
  case SMQ_ERR_CLIENT_ID: usageError("-i: this protocol version does not allow this Client Identifier")
  case SMQ_ERR_UTF8: usageError("\(notUTF8(arguments)): the text is not UTF-8")
  case SMQ_ERR_TOO_LARGE: usageError("--will-payload: it is larger than 65535 bytes")
  case SMQ_ERR_PROPERTY: usageError("-D: connect and will cannot carry these properties together")
  case SMQ_ERR_OPTION where arguments.password != nil && options.userName.isEmpty && options.version != 5:
    usageError("-P needs a user name (-u), except in 5.0")
  default:
    wrongAlone(options) ?? wrongFile(options)
      ?? usageError("\(MQTT.fault(in: options)): \(MQTT.statusText(status))")
  }
}
