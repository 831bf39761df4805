/// stats: the numbers of running clients.
///
/// Where one of several does not answer, the others are told, and the exit status says so.
func stats(_ arguments: Arguments) throws(ExitError) -> Int32 {
  var clients: [InspectedClient] = []
  var failure: ExitError?
  for path in arguments.operands {
    do throws(ExitError) {
      clients += try inspectedClients([path], timeout: (arguments.timeout ?? 5) * 1000)
    } catch {
      guard arguments.operands.count > 1 else { throw error }
      printError(arguments.command.title, error.text)
      failure = error
    }
  }
  let output = Output()
  if arguments.prometheus {
    output.write(prometheus(clients, isForTerminal: output.isTerminal).bytes)
  } else if arguments.json {
    var json = JSONWriter(isPretty: arguments.pretty, isForTerminal: output.isTerminal)
    json.beginArray()
    for client in clients { json.add(client) }
    json.endArray()
    output.write(json.bytes + [10])
  } else {
    for client in clients { output.write(list(client).bytes) }
  }
  try output.finish()
  return failure.map { $0.status } ?? 0
}

/// Connects to each, and waits until all have answered.
func inspectedClients(_ paths: [[UInt8]], timeout: Int64) throws(ExitError) -> [InspectedClient] {
  var clients: [InspectedClient] = []
  for path in paths { clients.append(try InspectedClient(path)) }
  for client in clients { client.ask() }
  let end = System.milliseconds + timeout
  while let waiting = clients.first(where: { $0.answers == 0 }) {
    if waiting.hasEnded {
      throw ExitError(text: "\(waiting.path.printable): the client has closed the connection")
    }
    let left = end - System.milliseconds
    guard left > 0 else {
      throw ExitError(
        text: "\(waiting.path.printable): the client does not answer: it does not run", status: 27)
    }
    var list = [System.Wait(descriptor: waiting.descriptor)]
    System.poll(&list, left)
    try waiting.read()
  }
  return clients
}

// ---- For people

private func list(_ client: InspectedClient) -> Text {
  var text: Text =
    client.name.isEmpty && !Program.hasClientIDs
    ? "\(client.path.printable)\n" : "\(client.name.escaped) (\(client.path.printable))\n"
  for (name, value) in client.numbers.all {
    let shown: Text =
      name == "state"
      ? Text(client.numbers.state.bytes)
      : name == "protocol" ? Text(client.numbers.version.bytes) : grouped(value)
    text += "  \(name)\([UInt8](repeating: 32, count: max(1, 26 - name.count)))\(shown)\n"
  }
  for name in histograms {
    let counts = client.numbers.classes(of: name)
    guard let last = counts.lastIndex(where: { $0 > 0 }) else { continue }
    let title = name.bytes.map { $0 == 95 ? 32 : $0 }
    for index in 0...last { text += "  \(title) \(limit(index))  \(grouped(counts[index]))\n" }
  }
  return text
}

/// A class of a histogram: "below 4 ms".
private func limit(_ index: Int) -> Text {
  index == 15 ? "from 16384 ms on" : "below \(Int64(1) << Int64(index)) ms"
}

// ---- For systemd, and other programs

extension JSONWriter {
  fileprivate mutating func add(_ client: InspectedClient) {
    beginObject()
    if Program.hasClientIDs {
      key("client_id")
      string(client.name.isUTF8 ? client.name : client.name.escaped)
    }
    key("socket")
    string(client.path.isUTF8 ? client.path : client.path.escaped)
    for (name, value) in client.numbers.all {
      key(name)
      if name == "state" { string(client.numbers.state.bytes) } else { number(value) }
    }
    for name in histograms {
      key(name)
      beginArray()
      for count in client.numbers.classes(of: name) { number(count) }
      endArray()
    }
    endObject()
  }
}

// ---- For Prometheus

/// The text format of Prometheus, version 0.0.4: the samples of a metric stand together.
private func prometheus(_ clients: [InspectedClient], isForTerminal: Bool) -> Text {
  var text = Text()
  // Those of an older client may be fewer.
  var names: [[UInt8]] = []
  for client in clients {
    for (name, _) in client.numbers.all where !names.contains(name) { names.append(name) }
  }
  for name in names {
    let isGauge = gauges.contains { name == $0 }
    let metric: Text = isGauge ? "\(Program.metrics)_\(name)" : "\(Program.metrics)_\(name)_total"
    text += help(metric, name)
    text += "# TYPE \(metric) \((isGauge ? "gauge" : "counter") as StaticString)\n"
    for client in clients {
      guard let value = client.numbers.all.first(where: { $0.name == name })?.value else { continue }
      text += "\(metric){\(labels(client, isForTerminal))} \(value)\n"
    }
  }
  for name in histograms {
    let metric: Text = "\(Program.metrics)_\(name)_seconds"
    text += help(metric, name.bytes)
    text += "# TYPE \(metric) histogram\n"
    for client in clients {
      text += histogram(metric, labels(client, isForTerminal), client.numbers.classes(of: name))
    }
  }
  return text
}

private func help(_ metric: Text, _ name: [UInt8]) -> Text {
  metricHelp(name).map { "# HELP \(metric) \($0)\n" } ?? ""
}

/// Buckets count everything below their limit. The sum is not known, and left out.
private func histogram(_ metric: Text, _ labels: Text, _ counts: [Int64]) -> Text {
  var text = Text()
  var sum: Int64 = 0
  for (index, count) in counts.enumerated() {
    sum += count
    let limit =
      index == 15 ? Text(ascii("+Inf")) : fraction(thousandths: Int64(1) << Int64(index), places: 3)
    text += "\(metric)_bucket{\(labels),le=\"\(limit)\"} \(sum)\n"
  }
  return text + "\(metric)_count{\(labels)} \(sum)\n"
}

/// Two clients may have one Client Identifier, at two servers, or none; each has a socket of its own.
private func labels(_ client: InspectedClient, _ isForTerminal: Bool) -> Text {
  let socket: Text = "socket=\"\(label(client.path, isForTerminal))\""
  return Program.hasClientIDs ? "client_id=\"\(label(client.name, isForTerminal))\",\(socket)" : socket
}

/// The value of a label, in which backslash, quotation mark and newline are escaped.
private func label(_ name: [UInt8], _ isForTerminal: Bool) -> [UInt8] {
  (name.isUTF8 && !isForTerminal ? name : name.escaped).flatMap { byte -> [UInt8] in
    switch byte {
    case 10: [92, 110]
    case 34, 92: [92, byte]
    default: [byte]
    }
  }
}
