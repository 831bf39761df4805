/// inspect: the packets of running clients, of a capture, or of what else the program has.
func inspect(_ arguments: Arguments) throws(ExitError) -> Int32 {
  if arguments.once && arguments.operands.isEmpty {
    throw usageError(
      "--once is for a capture, and for what a running client has kept: a broker keeps nothing")
  }
  let feed = try Feed.open(arguments)
  if arguments.once || arguments.json || !System.isTerminal(1) {
    try PacketPrinter(feed, arguments).run()
  } else {
    try InspectView(feed, arguments).run()
  }
  return 0
}

/// Without a terminal: a line for each packet, the oldest first.
private final class PacketPrinter {
  private let feed: Feed
  private let arguments: Arguments
  private let output = Output()
  private var printed: Int64 = 0
  private var lost: Int64 = 0

  init(_ feed: Feed, _ arguments: Arguments) {
    self.feed = feed
    self.arguments = arguments
  }

  func run() throws(ExitError) {
    let end = arguments.timeout.map { System.milliseconds + $0 * 1000 }
    var isDone = false
    while !isDone && System.caughtSignal == 0 && output.error == 0 {
      let packets = try feed.read()
      if let failure = feed.failure { throw failure }
      for seen in packets where !isDone { isDone = print(seen) }
      tellLost()
      output.flush()
      if feed.end != nil || arguments.once && feed.isLive { break }
      let left = end.map { $0 - System.milliseconds } ?? 1000
      if left <= 0 { throw ExitError(text: "the time of -W is up", status: 27) }
      _ = feed.wait(min(left, 1000))
    }
    if feed.isCutShort, let end = feed.end { printError(arguments.command.title, end) }
    try output.finish()
  }

  /// Where packets are missing, as far as that is known.
  private func tellLost() {
    guard feed.lost > lost else { return }
    let count = feed.lost - lost
    lost = feed.lost
    if arguments.json {
      var json = JSONWriter(isPretty: arguments.pretty)
      json.beginObject()
      json.key("lost")
      json.number(count)
      json.endObject()
      output.write(json.bytes + [10])
    } else {
      output.write(Text("\(grouped(count)) \(Program.packet)s were lost: this program was too slow\n").bytes)
    }
  }

  /// Returns whether that was the last one.
  private func print(_ seen: SeenPacket) -> Bool {
    let packet = feed.decode(seen)
    guard arguments.shownPackets?.shows(packet, isSent: seen.isSent) ?? true else { return false }
    output.write((arguments.json ? json(seen, packet) : line(seen, packet)) + [10])
    printed += 1
    return printed == arguments.count
  }

  private func line(_ seen: SeenPacket, _ packet: DecodedPacket) -> [UInt8] {
    let way: StaticString = seen.isSent ? ">" : "<"
    let labels = feed.labels
    let label: Text = labels.count > 1 ? "\(labels[seen.client]) " : ""
    let text: Text =
      "\(timestamp(milliseconds: UInt64(seen.microseconds / 1000))) \(label)\(way) \(packet.line)"
    return text.bytes.escaped
  }

  private func json(_ seen: SeenPacket, _ packet: DecodedPacket) -> [UInt8] {
    var json = JSONWriter(isPretty: arguments.pretty, isForTerminal: output.isTerminal)
    json.beginObject()
    json.key("time")
    json.string(timestamp(milliseconds: UInt64(max(0, seen.microseconds) / 1000)))
    let labels = feed.labels
    // Of a single client, a packet may say itself which one it is.
    if labels.count > 1 {
      json.key(Program.clientKey)
      json.string(labels[seen.client].isUTF8 ? labels[seen.client] : labels[seen.client].escaped)
    }
    json.key("direction")
    json.string(ascii(seen.isSent ? "sent" : "received"))
    json.key(Program.packet)
    json.string(packet.name.bytes)
    json.key("length")
    json.number(Int64(packet.length))
    json.add(packet, isNamed: labels.count > 1)
    json.endObject()
    return json.bytes
  }
}

/// In ISO 8601, in UTC.
func timestamp(milliseconds: UInt64) -> [UInt8] {
  guard milliseconds < 253_402_300_800_000 else { return decimal(unsigned: milliseconds) }
  let text = System.utc(Int64(milliseconds / 1000))
  return text + [46] + decimal(Int64(milliseconds % 1000), digits: 3) + [90]
}
