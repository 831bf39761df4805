/// Checks each broker of the command line, once that is known to be right. Returns the exit status: 0 if everything works,
/// otherwise that of the first step that fails.
func checkEach(
  _ arguments: CommonArguments, _ validate: () throws(ExitError) -> Void,
  _ examine: (CheckedBroker, Findings) -> Void
) throws(ExitError) -> Int32 {
  let findings = Findings(isPlain: !arguments.json)
  _ = signals  // a name takes its time, too
  try validate()
  for broker in checkedBrokers(arguments) {
    arguments.url = broker.url
    findings.begin(broker.name)
    examine(broker, findings)
    if System.caughtSignal != 0 { break }
  }
  guard findings.finish() else { throw ExitError(text: "cannot write to standard output") }
  if System.caughtSignal != 0 {
    throw ExitError(text: "interrupted before everything was checked", status: 128 + System.caughtSignal)
  }
  return findings.status
}

/// A broker to check. Its URL is empty if -h and -p, or --unix, name it.
struct CheckedBroker {
  let name: Text
  /// Whose name is to be looked up here; empty: nobody's.
  let host: [UInt8]
  let url: [UInt8]
}

/// The brokers that the URL names, or the one of -h and -p. The library has accepted the URL, so it can be split.
private func checkedBrokers(_ arguments: CommonArguments) -> [CheckedBroker] {
  // A proxy looks the broker's name up.
  let proxy = arguments.proxy.isEmpty ? nil : hostAndPort(BrokerURL(arguments.proxy).servers[0]).host
  guard !arguments.url.isEmpty else {
    let host = arguments.host.isEmpty ? ascii("localhost") : arguments.host
    return [
      CheckedBroker(name: brokerName(arguments), host: arguments.isUnix ? [] : proxy ?? host, url: [])
    ]
  }
  let broker = BrokerURL(arguments.url)
  return broker.servers.map { server in
    let (host, port) = hostAndPort(server)
    let shown = port == 0 ? broker.defaultPort : port
    return CheckedBroker(
      name: broker.isUnix ? Text(server.printable) : "\(host.printable) port \(shown)",
      host: broker.isUnix ? [] : proxy ?? host, url: broker.only(server).text)
  }
}

/// The first step: whether the name has an address. false: it has none, and nothing else can be checked.
func checkName(
  of broker: CheckedBroker, _ findings: Findings, timeout: Int64, _ arguments: CommonArguments
) -> Bool {
  guard !broker.host.isEmpty else { return true }
  let (addresses, error) = System.addresses(of: broker.host, timeout: timeout)
  if System.caughtSignal != 0 { return false }
  guard error == 0 && !addresses.isEmpty else {
    let whose: Text = arguments.proxy.isEmpty ? "" : "the proxy "
    findings.fail(
      "name", 3, "\(whose)\(broker.host.printable): \(System.resolveText(error))", adviceOnNames)
    return false
  }
  let list = addresses.split(separator: 32).map { Array($0) }
  var text: Text = "\(broker.host.printable) is \(list[0])"
  if list == [broker.host] { text = "an address is given: \(list[0])" }
  // It looks the broker's name up.
  if !arguments.proxy.isEmpty { text = "of the proxy: \(text)" }
  for address in list.dropFirst() { text += ", \(address)" }
  findings.report("name", .fine, text)
  return true
}

func elapsed(since start: Int64) -> Text {
  "\(fraction(thousandths: (System.nanoseconds - start) / 1000, places: 2)) ms"
}
