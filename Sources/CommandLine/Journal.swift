/// smq journal: 0 if a client can take the file up.
func journal(_ arguments: Arguments) throws(ExitError) -> Int32 {
  let file = JournalFile(arguments.journalFile)
  let found = try file.read()
  if arguments.onlyCheck { return 0 }
  let output = Output()
  if arguments.json {
    var json = JSONWriter(isPretty: arguments.pretty, isForTerminal: output.isTerminal)
    json.add(found, path: file.path)
    output.write(json.bytes + [10])
  } else {
    output.write(list(found, file.path).bytes)
  }
  try output.finish()
  return 0
}

// ---- For people

/// A head, and a line for each message, because control characters of topics are escaped.
private func list(_ found: JournalContent, _ path: [UInt8]) -> Text {
  let failed: Text = found.failures > 0 ? ", and \(found.failures) have failed since the file was made" : ""
  var text: Text = "\(path.printable)\n"
  text += "  ring      \(found.blocks) blocks of 4096 bytes, of which \(found.used) are in use\n"
  text += "  commits   \(found.commits) read\(failed)\n"
  if found.torn > 0 {
    text += "  torn      a commit that was being written is left out; blocks of it: \(found.torn)\n"
  }
  if let written = found.written { text += "  written   \(timestamp(written))\n" }
  text += "  messages  \(found.messages.count) to be delivered\n"
  if !found.messages.isEmpty { text += table(of: found.messages) }
  if !found.awaitingPubrel.isEmpty {
    text += "\n  received with QoS 2, and waiting for PUBREL:"
    for identifier in found.awaitingPubrel { text += " \(Int(identifier))" }
    text += "\n"
  }
  if !found.numbers.isEmpty {
    text += "\n  received with QoS 2, and not acknowledged by the program, with their numbers:"
    for (identifier, number) in found.numbers { text += " \(Int(identifier)) (\(number))" }
    text += "\n"
  }
  return text
}

/// The columns but for the topic: what each is called, how wide it is, and on which side its blanks are.
private let columns: [(name: StaticString, width: Int, isNumber: Bool)] = [
  ("serial", 8, true), ("qos", 3, true), ("retain", 6, false), ("state", 8, false), ("priority", 8, false),
  ("expires", 10, true), ("bytes", 8, true),
]

private func table(of messages: [StoredMessage]) -> Text {
  var text: Text = "\n"
  for column in columns { add(column.name.bytes, column, to: &text) }
  text += "  topic\n"
  for message in messages {
    let expires: Text = message.secondsLeft.map { $0 == 0 ? "expired" : "\($0) s" } ?? "-"
    let values: [[UInt8]] = [
      decimal(unsigned: message.serial), [48 + message.qos], yes(message.retain), message.state.name.bytes,
      yes(message.isUrgent), expires.bytes, decimal(Int64(message.payload.count)),
    ]
    for (column, value) in zip(columns, values) { add(value, column, to: &text) }
    text += "  \(message.topic.escaped)\n"
  }
  return text
}

private func add(
  _ value: [UInt8], _ column: (name: StaticString, width: Int, isNumber: Bool), to text: inout Text
) {
  let blanks = [UInt8](repeating: 32, count: max(0, column.width - value.count))
  text.bytes += [32, 32] + (column.isNumber ? blanks + value : value + blanks)
}

private func yes(_ isSo: Bool) -> [UInt8] { isSo ? ascii("yes") : [45] }

/// In ISO 8601, in local time.
private func timestamp(_ seconds: UInt32) -> Text {
  let time = Int64(seconds)
  var zone = System.time(122, time)  // z: +hhmm
  if zone.count == 5 { zone.insert(58, at: 3) }
  return "\(System.time(70, time))T\(System.time(84, time))\(zone)"
}

// ---- For programs

extension JSONWriter {
  fileprivate mutating func add(_ found: JournalContent, path: [UInt8]) {
    beginObject()
    key("file")
    string(path.isUTF8 ? path : path.escaped)
    add("blocks", UInt64(found.blocks))
    add("used", UInt64(found.used))
    add("commits", UInt64(found.commits))
    add("failed", UInt64(found.failures))
    add("torn", UInt64(found.torn))
    key("written")
    if let written = found.written { string(timestamp(written).bytes) } else { raw(ascii("null")) }
    key("messages")
    beginArray()
    for message in found.messages { add(message) }
    endArray()
    key("awaiting_pubrel")
    beginArray()
    for identifier in found.awaitingPubrel { number(Int64(identifier)) }
    endArray()
    add("last_number", found.lastNumber)
    key("numbers")
    beginArray()
    for (identifier, number) in found.numbers {
      beginObject()
      add("mid", UInt64(identifier))
      add("number", number)
      endObject()
    }
    endArray()
    endObject()
  }

  private mutating func add(_ message: StoredMessage) {
    beginObject()
    add("serial", message.serial)
    add("cookie", message.cookie)
    key("priority")
    bool(message.isUrgent)
    key("state")
    string(message.state.name.bytes)
    add("mid", message.identifier == 0 ? nil : UInt64(message.identifier))
    add("expires_in", message.secondsLeft.map { UInt64($0) })
    key("version")
    string(ascii(message.hasProperties ? "5.0" : "3.1.1"))
    key("topic")
    string(message.topic)
    add("qos", UInt64(message.qos))
    add("retain", message.retain ? 1 : 0)
    add("payloadlen", UInt64(message.payload.count))
    let properties = MQTT.properties(message.properties)
    if !properties.isEmpty { add(properties, isAlwaysText: true) }
    add("payload", message.payload)
    endObject()
  }

  private mutating func add(_ name: StaticString, _ value: UInt64?) {
    key(name)
    raw(value.map { decimal(unsigned: $0) } ?? ascii("null"))
  }
}
