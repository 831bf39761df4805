/// smq top: what running clients, or the topics of a broker, are busy with.
func top(_ arguments: Arguments) throws(ExitError) -> Int32 {
  let view = TopView(try Feed.open(arguments), arguments)
  if arguments.once || arguments.json {
    try view.print()
  } else {
    try view.show()
  }
  return 0
}

/// Counts what a feed brings, and shows it once in each interval.
private final class TopView {
  private let feed: Feed
  private let arguments: Arguments
  /// Milliseconds.
  private let interval: Int64
  private var tree = TopicTree()
  private var order = TopicTree.Order.messages
  private var traffic = Traffic()
  private var selected = 0
  private var first = 0
  private var isPaused = false
  private var isDone = false

  init(_ feed: Feed, _ arguments: Arguments) {
    self.feed = feed
    self.arguments = arguments
    interval = arguments.interval
  }

  /// For scripts: without a terminal.
  func print() throws(ExitError) {
    let output = Output()
    while !isDone {
      try collect(until: System.milliseconds + interval)
      if let failure = feed.failure { throw failure }
      endInterval()
      output.write(arguments.json ? json() + [10] : text())
      output.flush()
      if arguments.once || output.error != 0 || feed.end != nil || System.caughtSignal != 0 { isDone = true }
    }
    try output.finish()
  }

  /// For people.
  func show() throws(ExitError) {
    let screen = try Screen()
    try screen.enter()
    defer { screen.leave() }
    while !isDone && System.caughtSignal == 0 {
      screen.measure()
      screen.draw(lines(rows: screen.rows, columns: screen.columns))
      let end = System.milliseconds + interval
      while !isDone && System.milliseconds < end && System.caughtSignal == 0 {
        if try collect(until: end, input: 0) {
          for key in Keys.keys(in: typed()) { take(key) }
          screen.measure()
          screen.draw(lines(rows: screen.rows, columns: screen.columns))
        }
      }
      if !isPaused { endInterval() }
    }
  }

  // ---- Counting

  /// Returns whether something was typed.
  @discardableResult
  private func collect(until end: Int64, input: Int32 = -1) throws(ExitError) -> Bool {
    feed.ask()
    while true {
      for packet in try feed.read() { count(packet) }
      let left = end - System.milliseconds
      if left <= 0 || System.caughtSignal != 0 || (feed.end != nil && input < 0) { return false }
      if feed.wait(left, input: input) { return true }
    }
  }

  private func count(_ packet: SeenPacket) {
    let decoded = feed.decode(packet)
    guard packet.microseconds >= feed.beginning else { return }
    traffic.add(decoded, isSent: packet.isSent)
    guard decoded.type == 3, !decoded.topic.isEmpty else { return }
    tree.add(decoded.topic, bytes: Int64(decoded.payloadSize))
  }

  private func endInterval() {
    tree.beginInterval()
    traffic.beginInterval()
  }

  private func typed() -> [UInt8] {
    var bytes: [UInt8] = []
    if System.read(0, into: &bytes, 256) <= 0 { isDone = true }
    return bytes
  }

  private func take(_ key: TypedKey) {
    switch key {
    case .character(113), .character(81): isDone = true  // q
    case .character(109): order = .messages
    case .character(98): order = .bytes
    case .character(116): order = .total
    case .character(110): order = .name
    case .character(112): isPaused.toggle()
    case .character(114): (tree, traffic) = (TopicTree(), Traffic())
    case .up: selected = max(0, selected - 1)
    case .down: selected += 1
    case .pageUp: selected = max(0, selected - 10)
    case .pageDown: selected += 10
    case .home: selected = 0
    case .enter, .character(32):
      let shown = tree.shown(by: order, most: selected + 1)
      if selected < shown.count { tree.fold(shown[selected]) }
    default: break
    }
  }

  // ---- The screen

  private static let keys: Text =
    " q Quit  m Messages/s  b Bytes/s  t Total  n Name  Space Fold  p Pause  r Reset"

  private func lines(rows: Int, columns: Int) -> [Line] {
    var lines = head(columns)
    let room = max(1, rows - lines.count - 1)
    let shown = tree.shown(by: order, most: selected + room + 1)
    selected = min(selected, max(0, shown.count - 1))
    first = min(max(first, selected - room + 1), selected)
    for (index, node) in shown.enumerated().dropFirst(first).prefix(room) {
      lines.append(line(of: tree.nodes[node], columns, isSelected: index == selected))
    }
    while lines.count < rows - 1 { lines.append(Line()) }
    var last = Line(feed.end.map { " \($0)" } ?? Self.keys, .reverse)
    last.fill(to: columns, .reverse)
    lines.append(last)
    return lines
  }

  private func head(_ columns: Int) -> [Line] {
    var title = Line(" smq top  \(feed.title)", .reverse)
    let state: Text = isPaused ? "paused " : "\(feed.state) "
    title.fill(to: columns - state.bytes.escaped.columns, .reverse)
    title.add(state, .reverse)
    var lines = [title]
    if let numbers = feed.numbers { lines += gauges(numbers, columns) }
    lines.append(traffic.line(interval))
    if feed.lost > 0 {
      lines.append(Line("\(grouped(feed.lost)) packets were lost on the way here", .warning))
    }
    lines.append(Line())
    var heading = Line()
    for (name, column) in [("MSG/S", 10), ("BYTES/S", 22), ("MESSAGES", 34), ("BYTES", 48)]
      as [(StaticString, Int)]
    {
      heading.add(Text(name.bytes), rightTo: column, .bold)
    }
    heading.add("  TOPIC", .bold)
    lines.append(heading)
    return lines
  }

  private func gauges(_ numbers: ClientNumbers, _ columns: Int) -> [Line] {
    let width = max(10, min(40, columns - 44))
    return [
      gauge("Outbox", numbers["outbox_messages"], numbers["outbox_messages_capacity"], width),
      gauge("Bytes", numbers["outbox_bytes"], numbers["outbox_bytes_capacity"], width),
      gauge("In flight", numbers["in_flight"], numbers["in_flight_maximum"], width),
      latencies(numbers),
      Line(
        "Reconnects \(grouped(max(0, numbers["connections"] - 1)))   failed \(grouped(numbers["messages_failed"]))   dropped \(grouped(numbers["messages_dropped"]))   oldest \(grouped(numbers["outbox_age_ms"])) ms"
      ),
    ]
  }

  /// "Outbox    [||||      ] 12/256"
  private func gauge(_ name: StaticString, _ value: Int64, _ capacity: Int64, _ width: Int) -> Line {
    let part = capacity > 0 ? Int(min(value, capacity) * Int64(width) / capacity) : 0
    let style: Style = part * 10 > width * 9 ? .bad : part * 2 > width ? .warning : .good
    var line = Line(Text(name.bytes))
    line.fill(to: 10)
    line.add("[")
    line.add(Text([UInt8](repeating: 124, count: value > 0 ? max(1, part) : 0)), style)
    line.fill(to: 11 + width)
    line.add("] \(grouped(value))/\(grouped(capacity))")
    return line
  }

  /// "Latency   <1ms 52%  <2ms 26%": of the classes with the most messages.
  private func latencies(_ numbers: ClientNumbers) -> Line {
    let counts = numbers.classes(of: "latency")
    let all = counts.reduce(0, +)
    var line = Line("Latency   ")
    guard all > 0 else { return line + Line("no message of QoS 1 or 2 yet", .dim) }
    let most = counts.indices.sorted { counts[$0] > counts[$1] }.prefix(6).filter { counts[$0] > 0 }.sorted()
    for index in most {
      let limit: Text = index == 15 ? ">16s" : "<\(Int64(1) << Int64(index))ms"
      line.add("\(limit) \(counts[index] * 100 / all)%  ", .notable)
    }
    return line
  }

  private func line(of node: TopicTree.Node, _ columns: Int, isSelected: Bool) -> Line {
    let style: Style = isSelected ? .reverse : .plain
    var line = Line()
    line.add(perSecond(node.newMessages, interval), rightTo: 10, style)
    line.add(perSecond(node.newBytes, interval, places: 0), rightTo: 22, style)
    line.add(grouped(node.messages), rightTo: 34, style)
    line.add(grouped(node.bytes), rightTo: 48, style)
    line.add("  \([UInt8](repeating: 32, count: 2 * node.depth))", style)
    line.add(Text(node.name.isEmpty ? ascii("(empty)") : node.name), style)
    if !node.children.isEmpty { line.add(node.isFolded ? "/..." : "/", style) }
    if isSelected { line.fill(to: columns, .reverse) }
    return line
  }

  // ---- Without a terminal

  private func text() -> [UInt8] {
    var bytes: [UInt8] = []
    var all = head(80)
    all += tree.shown(by: order, most: .max).map { line(of: tree.nodes[$0], 80, isSelected: false) }
    for line in all { bytes += line.plain + [10] }
    if tree.others > 0 {
      bytes += Text("\(grouped(tree.others)) messages are in topics that are too many to tell\n").bytes
    }
    return bytes
  }

  private func json() -> [UInt8] {
    var json = JSONWriter(isPretty: false, isForTerminal: System.isTerminal(1))
    json.beginObject()
    json.key("client_id")
    json.string(feed.title.isUTF8 ? feed.title : feed.title.escaped)
    json.key("interval_ms")
    json.number(interval)
    json.key("lost")
    json.number(feed.lost)
    traffic.write(to: &json)
    if let numbers = feed.numbers {
      json.key("numbers")
      json.beginObject()
      for (name, value) in numbers.all {
        json.key(name)
        json.number(value)
      }
      json.endObject()
    }
    json.key("other_messages")
    json.number(tree.others)
    json.key("topics")
    json.beginArray()
    for node in tree.shown(by: order, most: .max) { write(node, to: &json) }
    json.endArray()
    json.endObject()
    return json.bytes
  }

  private func write(_ node: Int, to json: inout JSONWriter) {
    var levels = [tree.nodes[node].name]
    var parent = tree.nodes[node].parent
    while parent > 0 {
      levels.append(tree.nodes[parent].name)
      parent = tree.nodes[parent].parent
    }
    let topic = [UInt8](levels.reversed().joined(separator: [47]))
    json.beginObject()
    json.key("topic")
    json.string(topic.isUTF8 ? topic : topic.escaped)
    json.key("messages")
    json.number(tree.nodes[node].messages)
    json.key("bytes")
    json.number(tree.nodes[node].bytes)
    json.key("new_messages")
    json.number(tree.nodes[node].newMessages)
    json.key("new_bytes")
    json.number(tree.nodes[node].newBytes)
    json.endObject()
  }
}

func + (left: Line, right: Line) -> Line {
  var line = left
  for piece in right.pieces { line.add(Text(piece.text), piece.style) }
  return line
}
