import CSwiftMQTT

/// smq check: 0 if everything works, otherwise the status of the first step that fails.
func check(_ arguments: Arguments) throws(ExitError) -> Int32 {
  let findings = Findings(isPlain: !arguments.json)
  _ = signals  // a name takes its time, too
  for broker in try checkedBrokers(arguments) {
    arguments.url = broker.url
    findings.begin(broker.name)
    Examination(broker, findings, arguments).run()
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

/// The brokers that the URL names, or the one of -h and -p.
private func checkedBrokers(_ arguments: Arguments) throws(ExitError) -> [CheckedBroker] {
  // The library checks URLs; one that it has accepted can be split.
  _ = try clientOptions(arguments, 5)
  // A proxy looks the broker's name up.
  let proxy = arguments.proxy.isEmpty ? nil : hostAndPort(BrokerURL(arguments.proxy).servers[0]).host
  guard !arguments.url.isEmpty else {
    let host = arguments.host.isEmpty ? ascii("localhost") : arguments.host
    return [
      CheckedBroker(name: brokerName(arguments), host: arguments.isUnix ? [] : proxy ?? host, url: [])
    ]
  }
  let broker = BrokerURL(arguments.url)
  if let topic = broker.topic, !topic.isEmpty {
    throw usageError("the URL: it must not have a topic; use -t")
  }
  return broker.servers.map { server in
    let (host, port) = hostAndPort(server)
    let shown = port == 0 ? broker.defaultPort : port
    return CheckedBroker(
      name: broker.isUnix ? Text(server.printable) : "\(host.printable) port \(shown)",
      host: broker.isUnix ? [] : proxy ?? host, url: broker.only(server).text)
  }
}

/// What the steps found, printed as they run or, as JSON, at the end.
final class Findings {
  enum Result {
    case fine, note, failure
  }

  private let isPlain: Bool
  private var json = JSONWriter(isPretty: false)
  private var isOpen = false
  private var isWritten = true
  /// 3: a name has no address, 4: no connection, 5: CONNECT is refused, 6: a later step, 8: the proxy, 9: TLS, 10: the
  /// WebSocket.
  private(set) var status: Int32 = 0

  init(isPlain: Bool) {
    self.isPlain = isPlain
    json.beginObject()
    json.key("servers")
    json.beginArray()
  }

  func begin(_ server: Text) {
    if isPlain {
      print("\(server)\n")
    } else {
      end()
      json.beginObject()
      json.key("server")
      json.string(server.bytes)
      json.key("steps")
      json.beginArray()
    }
    isOpen = true
  }

  /// `more` is what JSON has besides.
  func report(
    _ step: StaticString, _ result: Result, _ text: Text, advice: Text = "",
    _ more: ((inout JSONWriter) -> Void)? = nil
  ) {
    let word: StaticString = result == .fine ? "ok" : result == .note ? "note" : "fail"
    if isPlain {
      let blanks: StaticString = result == .fine ? "    " : "  "
      let gap = [UInt8](repeating: 32, count: max(1, 12 - step.utf8CodeUnitCount))
      print("  \(word)\(blanks)\(step)\(gap)\(text)\n")
      if !advice.isEmpty { print("                    -> \(advice)\n") }
      return
    }
    json.beginObject()
    for (name, value) in [
      ("step", step.bytes), ("result", word.bytes), ("text", text.bytes), ("advice", advice.bytes),
    ]
      as [(StaticString, [UInt8])]
    {
      json.key(name)
      json.string(value)
    }
    more?(&json)
    json.endObject()
  }

  func fail(
    _ step: StaticString, _ status: Int32, _ text: Text, _ advice: Text,
    _ more: ((inout JSONWriter) -> Void)? = nil
  ) {
    if self.status == 0 { self.status = status }
    report(step, .failure, text, advice: advice, more)
  }

  /// false: it could not be written.
  func finish() -> Bool {
    guard !isPlain else { return isWritten }
    end()
    json.endArray()
    json.key("exit")
    json.number(Int64(status))
    json.endObject()
    return say(Text(json.bytes + [10]), to: 1)
  }

  private func end() {
    guard isOpen else { return }
    json.endArray()
    json.endObject()
    isOpen = false
  }

  private func print(_ text: Text) {
    if !say(text, to: 1) { isWritten = false }
  }
}
