import CSwiftSTOMP

/// What to say about options that the library refuses.
func rejected(_ status: Int, _ offset: Int, _ options: STOMP.Options, _ arguments: Arguments) -> ExitError {
  // sst bench and sst check accept a URL without -L, too.
  let url: Text = arguments.command.set & Commands.withURL != 0 ? "-L" : "the URL"
  switch status {
  case SST_ERR_URL:
    return usageError(
      "\(url): malformed at byte \(offset - BrokerURL.scheme(missingIn: arguments.url).count): the form is stomp://[LOGIN[:PASSCODE]@]HOST[:PORT][,HOST[:PORT]]..."
    )
  case SST_ERR_NOT_SUPPORTED where !options.url.isEmpty:
    if BrokerURL(options.url).scheme.begins(with: "mqtt") {
      return usageError("\(url): \(BrokerURL(options.url).scheme.printable):// is MQTT, which smq speaks")
    }
    return usageError(
      "\(url): it has to begin with stomp://, stomps://, stomp+ssl://, stomp+tls://, ws://, wss://, stomp+ws://, stomp+wss:// or unix:/"
    )
  case SST_ERR_HEADER:
    let suspects: [(name: StaticString, set: (inout STOMP.Options) -> Void)] = [
      ("--virtual-host", { $0.virtualHost = options.virtualHost }),
      ("-u", { $0.userName = options.userName }),
      ("-P", { $0.password = options.password }),
    ]
    for (name, set) in suspects where isWrongAlone(set) {
      return usageError("\(name): a header of CONNECT is UTF-8 without zeros and line ends")
    }
    return usageError("--connect-header: a header of CONNECT is UTF-8 without zeros and line ends")
  case SST_ERR_OPTION
  where isWrongAlone { ($0.journal, $0.journalBatch) = (options.journal, options.journalBatch) }:
    return usageError("--journal: a path has at most 1000 bytes")
  default:
    if isWrongAlone({ $0.inspect = options.inspect }) {
      return usageError("--inspect: a path has at most 107 bytes")
    }
    return wrongAlone(options) ?? usageError("\(STOMP.fault(in: options)): \(STOMP.statusText(status))")
  }
}

/// Why the library rejected a message or a subscription.
func rejectText(_ status: Int) -> Text {
  switch status {
  case SST_ERR_DESTINATION: "the destination is empty, not UTF-8, or has a zero"
  case SST_ERR_HEADER: "a header is not UTF-8, or has what this version of STOMP cannot carry"
  case SST_ERR_TOO_LARGE: "it is larger than the outbox"
  case SST_ERR_BODY: "--no-content-length: the body has a zero"
  case SST_ERR_NOT_SUPPORTED: "STOMP 1.0 does not have this"
  default: STOMP.statusText(status)
  }
}

/// For what the library rejected.
func advice(onReject status: Int) -> Text { "" }
