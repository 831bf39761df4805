import Storage

/// The numbers of received QoS 2 messages that the application has asked for, and is not done with. A message is known by its
/// Packet Identifier, which is used again only after PUBCOMP; that waits until the journal no longer has the number.
struct DeliveryNumbers: ~Copyable {
  struct Entry: BitwiseCopyable {
    let identifier: UInt16
    let number: Counter
  }

  private var entries: Table<Entry>
  private var index: HashIndex
  private(set) var count = 0
  /// The last one of all that were given.
  var last = Counter()
  /// Counts what was added and removed; wraps.
  private(set) var changes: UInt32 = 0

  /// Where they are in the caller's block.
  struct Plan: BitwiseCopyable {
    let entries: ArenaSlice<Entry>
    let links: ArenaSlice<UInt16>

    @_optimize(size)
    init(_ count: Int, in plan: inout ArenaLayout) {
      entries = plan.reserve(count, of: Entry.self)
      links = plan.reserve(HashIndex.linkCount(for: count), of: UInt16.self)
    }
  }

  @_optimize(size)
  init(_ plan: Plan, in block: borrowing Arena) {
    entries = block.table(plan.entries)
    index = HashIndex(links: block.table(plan.links))
  }

  /// How many there can be; 0: none are asked for.
  var capacity: Int { entries.count }
  var isFull: Bool { count == entries.count }

  subscript(position: Int) -> Entry { entries[position] }

  @_optimize(size)
  func position(of identifier: UInt16) -> Int? {
    var candidate = index.first(UInt32(identifier), of: count)
    while let position = candidate {
      if entries[position].identifier == identifier { return position }
      candidate = index.next(position, of: count)
    }
    return nil
  }

  /// Adds one that is not there, if there is room.
  @_optimize(size)
  mutating func insert(_ identifier: UInt16, _ number: Counter) {
    guard !isFull else { return }
    entries[count] = Entry(identifier: identifier, number: number)
    index.insert(count, UInt32(identifier))
    count &+= 1
    changes &+= 1
  }

  /// Gives the next number to a message that has none, if there is room.
  @_optimize(size)
  mutating func add(_ identifier: UInt16) -> Counter {
    last.increment()
    insert(identifier, last)
    return last
  }

  @_optimize(size)
  mutating func remove(_ identifier: UInt16) {
    guard let gap = position(of: identifier) else { return }
    index.remove(gap, UInt32(identifier))
    count &-= 1
    changes &+= 1
    guard gap < count else { return }
    // The last one moves up.
    let last = entries[count]
    index.remove(count, UInt32(last.identifier))
    entries[gap] = last
    index.insert(gap, UInt32(last.identifier))
  }

  @_optimize(size)
  mutating func removeAll() {
    guard count > 0 else { return }
    count = 0
    changes &+= 1
    index.removeAll()
  }
}
