/// The packets that inspect has, as many as there is room for: the oldest give way.
struct PacketList {
  struct Entry {
    /// Counted from the first packet on.
    let number: Int
    let seen: SeenPacket
    let packet: DecodedPacket

    func contains(_ text: [UInt8]) -> Bool {
      packet.name.bytes.contains(ignoringCase: text) || packet.summary.bytes.contains(ignoringCase: text)
        || packet.payload.contains(ignoringCase: text)
    }
  }

  private(set) var entries: [Entry] = []
  private var count = 0
  private var bytes = 0
  /// Of each client, the last of those that are needed to read the others, and not among the packets any more.
  private(set) var needed: [Entry] = []
  /// Those that gave way, and are still in the array.
  private var gone = 0

  private static let most = 10_000
  private static let mostBytes = 32 << 20

  /// The oldest one first.
  var all: ArraySlice<Entry> { entries[gone...] }

  @discardableResult
  mutating func add(_ seen: SeenPacket, _ packet: DecodedPacket) -> Entry {
    let entry = Entry(number: count, seen: seen, packet: packet)
    count += 1
    bytes += Self.size(entry)
    entries.append(entry)
    while entries.count - gone > Self.most || bytes > Self.mostBytes && entries.count - gone > 1 {
      bytes -= Self.size(entries[gone])
      keepNeeded(entries[gone])
      gone += 1
    }
    // What is moved was paid for by what is gone; a few large ones are not worth more than that.
    if gone > entries.count / 2 || entries.count < 1000 && gone > 0 {
      entries.removeFirst(gone)
      gone = 0
    }
    return entry
  }

  /// Of the packet, and of the copies that are in what was decoded.
  private static func size(_ entry: Entry) -> Int {
    entry.seen.bytes.count + entry.packet.payload.count + entry.packet.topic.count
  }

  private mutating func keepNeeded(_ entry: Entry) {
    guard entry.packet.isNeeded else { return }
    // No dictionary: its order would be that of the hash seed.
    needed.removeAll { $0.seen.client == entry.seen.client }
    needed.append(entry)
  }

  mutating func clear() {
    for entry in all { keepNeeded(entry) }
    entries = []
    gone = 0
    bytes = 0
  }
}
