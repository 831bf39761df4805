/// The list of packets, the newest first, and what one of them says, on a terminal.
final class InspectView {
  private enum Mode { case list, detail, numbers }
  /// What is being typed in the last line.
  private enum Prompt { case search, filter }

  private let feed: Feed
  private let screen: Screen
  private var list = PacketList()
  private var filter: PacketFilter?
  private var search: [UInt8] = []
  private var mode = Mode.list
  private var prompt: Prompt?
  private var typed: [UInt8] = []
  private var message: Text = ""
  /// Those that are shown, the newest first; up to `pausedAt`, if the list stands still.
  private var shown: [PacketList.Entry] = []
  private var pausedAt: Int?
  private var newest = -1
  /// The number of the selected packet; `nil`: always the newest.
  private var selected: Int?
  private var scrolled = 0
  private var lastDetail: (number: Int, columns: Int, lines: [Line])?
  private var isDone = false

  init(_ feed: Feed, _ arguments: Arguments) throws(ExitError) {
    self.feed = feed
    filter = arguments.shownPackets
    screen = try Screen()
  }

  func run() throws(ExitError) {
    _ = signals
    try screen.enter()
    defer { screen.leave() }
    var nextDraw: Int64 = 0
    var nextQuestion: Int64 = 0
    while !isDone && System.caughtSignal == 0 {
      for seen in try feed.read() { newest = list.add(seen, feed.decode(seen)).number }
      let now = System.milliseconds
      if now >= nextQuestion {
        feed.ask()
        nextQuestion = now + 1000
      }
      if now >= nextDraw {
        draw()
        nextDraw = System.milliseconds + 100
      }
      if feed.wait(max(1, min(nextDraw, nextQuestion) - System.milliseconds), input: 0) {
        var bytes: [UInt8] = []
        if System.read(0, into: &bytes, 256) <= 0 { isDone = true }
        for key in Keys.keys(in: bytes) { take(key) }
        nextDraw = 0
      }
    }
  }

  // ---- Keys

  private func take(_ key: TypedKey) {
    message = ""
    if prompt != nil { return type(key) }
    switch (mode, key) {
    case (.list, .escape) where !search.isEmpty: search = []
    case (.list, .character(113)), (_, .character(81)): isDone = true  // q
    case (_, .character(113)), (_, .escape), (_, .left), (_, .backspace): mode = .list
    case (.list, .enter), (.list, .right): if selectedEntry != nil { (mode, scrolled) = (.detail, 0) }
    case (.list, .character(105)): (mode, scrolled) = (.numbers, 0)  // i
    case (_, .character(47)): (prompt, typed) = (.search, search)  // /
    case (_, .character(102)): (prompt, typed) = (.filter, filter?.text ?? [])  // f
    case (_, .character(110)): find(older: true)  // n
    case (_, .character(78)): find(older: false)  // N
    case (_, .character(112)): pausedAt = pausedAt == nil ? newest : nil  // p
    case (_, .character(99)):  // c
      list.clear()
      selected = nil
    case (_, .character(115)): save()  // s
    case (.list, _): move(key)
    default: scroll(key)
    }
  }

  private func move(_ key: TypedKey) {
    let page = max(1, screen.rows - 4)
    let at = position
    switch key {
    case .up: select(at - 1)
    case .down: select(at + 1)
    case .pageUp: select(at - page)
    case .pageDown: select(at + page)
    case .home: selected = nil
    case .end: select(shown.count - 1)
    default: break
    }
  }

  private func scroll(_ key: TypedKey) {
    let page = max(1, screen.rows - 4)
    switch key {
    case .up: scrolled -= 1
    case .down: scrolled += 1
    case .pageUp: scrolled -= page
    case .pageDown: scrolled += page
    case .home: scrolled = 0
    case .end: scrolled = .max / 2
    default: break
    }
    scrolled = max(0, scrolled)
  }

  private func select(_ index: Int) {
    guard !shown.isEmpty else { return }
    selected = shown[min(max(0, index), shown.count - 1)].number
  }

  /// What is typed in the last line.
  private func type(_ key: TypedKey) {
    switch key {
    case .character(let byte): typed.append(byte)
    case .backspace:
      // A character of UTF-8 ends with bytes that continue it.
      while let last = typed.popLast(), last & 0xC0 == 0x80 {}
    case .escape: prompt = nil
    case .enter:
      if prompt == .search { beginSearch() } else { setFilter() }
    default: break
    }
  }

  private func beginSearch() {
    search = typed.lowercased
    prompt = nil
    if !search.isEmpty, let entry = selectedEntry, !entry.contains(search) { find(older: true) }
  }

  private func setFilter() {
    if let new = PacketFilter(typed) {
      filter = typed.isEmpty ? nil : new
      selected = nil
      prompt = nil
    } else {
      message = Text(Program.filterHelp.bytes)
    }
  }

  private func find(older: Bool) {
    guard !search.isEmpty else { return }
    let at = position
    let found =
      older
      ? shown.indices.first { $0 > at && shown[$0].contains(search) }
      : shown.indices.last { $0 < at && shown[$0].contains(search) }
    guard let found else {
      message = "no \((older ? "older" : "newer") as StaticString) \(Program.packet) has '\(search)'"
      return
    }
    selected = shown[found].number
    scrolled = 0
  }

  /// What is shown, the oldest first, and what is needed before it to read the others.
  private var saved: [PacketList.Entry] {
    // No sets: TopicTree says why.
    var clients: [Int] = []
    for entry in shown where !clients.contains(entry.seen.client) { clients.append(entry.seen.client) }
    let newest = shown.first?.number ?? -1
    // The oldest of those that are to come is the last.
    var numbers = shown.map { $0.number }
    let packets = list.all.filter { entry in
      if entry.number == numbers.last {
        numbers.removeLast()
        return true
      }
      return entry.number < newest && entry.packet.isNeeded && clients.contains(entry.seen.client)
    }
    return list.needed.filter { clients.contains($0.seen.client) }.sorted { $0.number < $1.number }
      + packets
  }

  /// Writes it to a capture, in the current directory.
  private func save() {
    let wall = System.wall
    let path = Text("\(Program.name)-\(System.utc(wall.seconds).filter { $0 != 58 && $0 != 45 }).pcapng")
      .bytes
    var blocks = Blocks()
    blocks.sectionHeader(program: Text("\(Program.name) inspect").bytes)
    for name in feed.names { blocks.interface(name: name) }
    let saved = saved
    for entry in saved { blocks.packet(entry.seen) }
    let descriptor = System.createNew(path)
    var error = -descriptor
    if descriptor >= 0 {
      error = System.write(descriptor, blocks.bytes)
      System.close(descriptor)
    }
    message =
      error <= 0
      ? "\(grouped(Int64(saved.count))) \(Program.packet)s are in \(path)"
      : "\(path): \(System.errorText(error))"
  }

  // ---- What is shown

  private var position: Int {
    guard let selected else { return 0 }
    return shown.firstIndex { $0.number <= selected } ?? max(0, shown.count - 1)
  }

  private var selectedEntry: PacketList.Entry? { shown.isEmpty ? nil : shown[position] }

  private func update() {
    shown = list.all.reversed().filter { entry in
      entry.number <= pausedAt ?? .max
        && (filter?.shows(entry.packet, isSent: entry.seen.isSent) ?? true)
    }
  }

  private func draw() {
    screen.measure()
    update()
    var lines: [Line]
    switch mode {
    case .list: lines = [title] + packets
    case .detail: lines = [title] + scrolled(selectedEntry.map { detail($0) } ?? [])
    case .numbers: lines = [title] + scrolled(numbers)
    }
    while lines.count < screen.rows - 1 { lines.append(Line()) }
    lines.append(foot)
    screen.draw(lines)
  }

  private var title: Line {
    var line = Line(" \(Program.name) inspect  \(feed.title)", .reverse)
    var right: Text = ""
    if feed.lost > 0 { right += "lost \(grouped(feed.lost))  " }
    if let pausedAt { right += "paused, \(grouped(Int64(newest - pausedAt))) new  " }
    right += "\(grouped(Int64(shown.count))) \(Program.packet)s  \(feed.end ?? feed.state) "
    line.fill(to: screen.columns - right.bytes.escaped.columns, .reverse)
    line.add(right, .reverse)
    return line
  }

  private var packets: [Line] {
    let room = max(1, screen.rows - 3)
    let at = position
    let first = max(0, min(at - room / 2, shown.count - room))
    var heading = Line(isOfSeveral ? " TIME         CLIENT" : " TIME", .bold)
    heading.fill(to: packetColumn, .bold)
    heading.add(Text(Program.packet.bytes.uppercased), .bold)
    return [heading]
      + shown.dropFirst(first).prefix(room).enumerated().map { index, entry in
        row(entry, isSelected: first + index == at)
      }
  }

  /// Of the column that says which client a packet is of.
  private var labelWidth: Int { min(20, max(6, feed.labels.map { $0.escaped.columns }.max() ?? 0)) }

  private var packetColumn: Int { isOfSeveral ? 17 + labelWidth : 16 }

  private var isOfSeveral: Bool { feed.labels.count > 1 }

  private func row(_ entry: PacketList.Entry, isSelected: Bool) -> Line {
    let isFound = !search.isEmpty && entry.contains(search)
    let style: Style = isSelected ? .reverse : isFound ? .warning : entry.packet.isDamaged ? .bad : .plain
    var line = Line(" \(Self.time(of: entry.seen)) ", style)
    if isOfSeveral {
      line.add(Text(feed.labels[entry.seen.client].escaped.prefix(columns: labelWidth)), style)
      line.fill(to: packetColumn - 2, style)
    }
    line.add(
      "\((entry.seen.isSent ? ">" : "<") as StaticString) ",
      isSelected ? .reverse : entry.seen.isSent ? .notable : .good)
    line.add(Text(entry.packet.name.bytes), style)
    line.fill(to: packetColumn + 12, style)
    line.add(entry.packet.summary, style)
    if isSelected { line.fill(to: screen.columns, style) }
    return line
  }

  /// In local time, with milliseconds.
  private static func time(of seen: SeenPacket) -> Text {
    "\(System.time(84, seen.microseconds / 1_000_000)).\(decimal(seen.microseconds / 1000 % 1000, digits: 3))"
  }

  /// A packet's lines do not change: they are made once for each width.
  private func detail(_ entry: PacketList.Entry) -> [Line] {
    if let last = lastDetail, last.number == entry.number, last.columns == screen.columns {
      return last.lines
    }
    let lines = lines(of: entry)
    lastDetail = (entry.number, screen.columns, lines)
    return lines
  }

  private func lines(of entry: PacketList.Entry) -> [Line] {
    var line = Line("\(entry.packet.name)", .bold)
    line.add(" \((entry.seen.isSent ? "sent" : "received") as StaticString) at \(Self.time(of: entry.seen))")
    var lines = [line]
    if isOfSeveral { lines.append(fact("client", Text(feed.labels[entry.seen.client]))) }
    if !entry.seen.comment.isEmpty { lines.append(fact("before it", Text(entry.seen.comment))) }
    for (name, value) in entry.packet.facts { lines.append(fact(name, value)) }
    guard entry.packet.hasPayload else { return lines }
    let payload = PayloadText(entry.packet.payload, topic: entry.packet.topic)
    lines.append(Line())
    lines.append(
      Line("\(Program.payload): \(payload.kind), \(grouped(Int64(entry.packet.payloadSize))) bytes", .bold))
    return lines + payload.lines.flatMap { folded($0) }
  }

  private func fact(_ name: Text, _ value: Text) -> Line {
    var line = Line("  \(name)", .dim)
    line.fill(to: 30)
    line.add(value)
    return line
  }

  /// A line that is longer than the screen is wide continues in the next ones.
  private func folded(_ text: Text) -> [Line] {
    var rest = text.bytes.escaped
    var lines: [Line] = []
    repeat {
      let part = rest.prefix(columns: max(20, screen.columns - 2))
      rest.removeFirst(part.count)
      lines.append(Line("  \(part)"))
    } while !rest.isEmpty && lines.count < 10_000
    return lines
  }

  private var numbers: [Line] {
    guard let numbers = feed.numbers else {
      return [Line("  \(Program.withoutNumbers)", .dim)]
    }
    return numbers.all.map { name, value in
      var line = Line("  \(name)", .dim)
      line.fill(to: 30)
      line.add(grouped(value))
      return line
    }
  }

  private func scrolled(_ lines: [Line]) -> [Line] {
    let room = max(1, screen.rows - 2)
    scrolled = min(scrolled, max(0, lines.count - room))
    return Array(lines.dropFirst(scrolled).prefix(room))
  }

  private var foot: Line {
    var line: Line
    if let prompt {
      let name: StaticString = prompt == .search ? " search: " : " filter: "
      line = Line("\(name)\(typed)_", .reverse)
      if !message.isEmpty { line.add("   \(message)", .reverse) }
    } else if !message.isEmpty {
      line = Line(" \(message)", .reverse)
    } else {
      line = Line(
        mode == .list
          ? " Enter Detail  / Search  n Next  f Filter  p Pause  i Numbers  c Clear  s Save  q Quit"
          : " Up/Down Scroll  Left Back  n Next found  N Previous  q Back", .reverse)
    }
    line.fill(to: screen.columns, .reverse)
    return line
  }
}
