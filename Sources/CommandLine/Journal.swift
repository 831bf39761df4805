/// The command journal: 0 if a client can take the file up.
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

/// A head, and a line for each message, because control characters of topics and destinations are escaped.
private func list(_ found: CommonJournal, _ path: [UInt8]) -> Text {
  let failed: Text = found.failures > 0 ? ", and \(found.failures) have failed since the file was made" : ""
  let rows = found.rows
  var text: Text = "\(path.printable)\n"
  text += "  ring      \(found.blocks) blocks of 4096 bytes, of which \(found.used) are in use\n"
  text += "  commits   \(found.commits) read\(failed)\n"
  if found.torn > 0 {
    text += "  torn      a commit that was being written is left out; blocks of it: \(found.torn)\n"
  }
  if let written = found.written { text += "  written   \(timestamp(written))\n" }
  text += "  messages  \(rows.count) to be delivered\n"
  guard !rows.isEmpty else { return text + found.rest }
  text += "\n"
  for column in found.columns { add(column.name.bytes, column, to: &text) }
  text += "  \(found.lastColumn)\n"
  for row in rows {
    for (column, value) in zip(found.columns, row.values) { add(value, column, to: &text) }
    text += "  \(row.last.escaped)\n"
  }
  return text + found.rest
}

private func add(
  _ value: [UInt8], _ column: (name: StaticString, width: Int, isNumber: Bool), to text: inout Text
) {
  let blanks = [UInt8](repeating: 32, count: max(0, column.width - value.count))
  text.bytes += [32, 32] + (column.isNumber ? blanks + value : value + blanks)
}

/// In ISO 8601, in local time.
private func timestamp(_ seconds: UInt32) -> Text {
  let time = Int64(seconds)
  var zone = System.time(122, time)  // z: +hhmm
  if zone.count == 5 { zone.insert(58, at: 3) }
  return "\(System.time(70, time))T\(System.time(84, time))\(zone)"
}

// ---- For programs

extension JSONWriter {
  fileprivate mutating func add(_ found: CommonJournal, path: [UInt8]) {
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
    found.addMessages(to: &self)
    endArray()
    found.addRest(to: &self)
    endObject()
  }

  mutating func add(_ name: StaticString, _ value: UInt64?) {
    key(name)
    raw(value.map { decimal(unsigned: $0) } ?? ascii("null"))
  }
}
