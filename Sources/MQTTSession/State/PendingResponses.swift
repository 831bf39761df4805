import Storage

/// The requests that wait for their response (§4.10). A response is known by its Correlation Data: eight
/// bytes with the index in the table and how often that entry was used, so that a late response matches no
/// other request.
struct PendingResponses: ~Copyable {
  struct Entry: BitwiseCopyable {
    var cookie: UInt64
    /// Of the response topic: the request itself, should it come back, is no response.
    var topicHash: UInt32
    var deadline: Instant
    var use: UInt16
    /// Of the request's message in the outbox.
    var slot: UInt16
    /// Where the entry is in the order of the entries: those that wait come first.
    var place: UInt16
    /// The entry at this place of that order, which has nothing to do with this one. Those that wait are a
    /// heap: no deadline is before the one at half its place.
    var ordered: UInt16
  }

  /// A request that no longer waits, and what identifies its message.
  struct Ended: BitwiseCopyable {
    let cookie: UInt64
    let slot: Int
    let tag: UInt16
  }

  static var correlationSize: Int { 8 }

  private var entries: Table<Entry>
  /// Distinguishes the requests of this client from those of others that share a Response Topic.
  private let mark: UInt32
  // There are at most 1,024 requests.
  private var count: UInt16 = 0
  private var peakCount: UInt16 = 0

  init(entries: consuming Table<Entry>, mark: UInt32) {
    self.entries = entries
    self.mark = mark
    for index in 0..<self.entries.count {
      let place = UInt16(truncatingIfNeeded: index)
      self.entries[index] = Entry(
        cookie: 0, topicHash: 0, deadline: Instant(milliseconds: 0), use: 0, slot: 0, place: place,
        ordered: place)
    }
  }

  var capacity: Int { entries.count }

  /// How many requests wait.
  private(set) var waiting: Int {
    @inline(__always) get { Feature.hasReplies ? Int(count) : 0 }
    @inline(__always) set { count = UInt16(truncatingIfNeeded: newValue) }
  }

  /// The most that ever waited.
  var peak: Int { Int(peakCount) }

  /// The index of a free entry; nothing is changed yet.
  var free: Int? {
    waiting < entries.count ? Int(entries[waiting].ordered) : nil
  }

  /// Returns the Correlation Data for the request that will use an entry.
  func correlation(of index: Int) -> InlineArray<8, UInt8> {
    var data = InlineArray<8, UInt8>(repeating: 0)
    let position = UInt32(truncatingIfNeeded: index) << 16 | UInt32(entries[index].use &+ 1)
    for byte in 0..<4 {
      let shift = UInt32(truncatingIfNeeded: 24 &- 8 &* byte)
      data[byte] = UInt8(truncatingIfNeeded: mark >> shift)
      data[byte &+ 4] = UInt8(truncatingIfNeeded: position >> shift)
    }
    return data
  }

  /// Adds a request at the index that `free` has returned.
  mutating func add(at index: Int, cookie: UInt64, slot: Int, topic: Span<UInt8>, deadline: Instant) {
    entries[index].cookie = cookie
    entries[index].topicHash = TopicHash.of(topic)
    entries[index].deadline = deadline
    entries[index].use &+= 1
    entries[index].slot = UInt16(truncatingIfNeeded: slot)
    waiting &+= 1
    settle(waiting &- 1)
    peakCount = max(peakCount, count)
  }

  /// Returns the request that a message responds to, and removes it.
  mutating func match(_ correlation: Span<UInt8>, topic: Span<UInt8>) -> Ended? {
    guard waiting > 0, correlation.count == Self.correlationSize else { return nil }
    let index = Int(correlation[4]) << 8 | Int(correlation[5])
    guard index < entries.count, isWaiting(index) else { return nil }
    // `use` was incremented when the last request took this entry.
    let use = UInt16(correlation[6]) << 8 | UInt16(correlation[7])
    guard use == entries[index].use, TopicHash.of(topic) == entries[index].topicHash else { return nil }
    for byte in 0..<4 {
      guard
        correlation[byte] == UInt8(truncatingIfNeeded: mark >> UInt32(truncatingIfNeeded: 24 &- 8 &* byte))
      else { return nil }
    }
    return remove(at: index)
  }

  /// Returns what a message keeps to identify its request: the index, and the low bits of how often the
  /// entry was used.
  func tag(of index: Int) -> UInt16 {
    UInt16(truncatingIfNeeded: index) | (entries[index].use &+ 1) << 10
  }

  /// Handles that the message with this tag and cookie has another slot, if it is that of a request that
  /// waits.
  mutating func moved(tag: UInt16, cookie: UInt64, to slot: Int) {
    let index = Int(tag & 0x3FF)
    guard isWaiting(index), entries[index].cookie == cookie, currentTag(of: index) == tag else { return }
    entries[index].slot = UInt16(truncatingIfNeeded: slot)
  }

  /// Removes the request whose message failed.
  mutating func remove(tag: UInt16) { _ = remove(at: Int(tag & 0x3FF)) }

  @inline(never)
  @_optimize(size)
  private mutating func remove(at index: Int) -> Ended? {
    let entry = entries[index]
    guard isWaiting(index) else { return nil }
    waiting &-= 1
    swap(Int(entry.place), waiting)
    settle(Int(entry.place))
    return Ended(cookie: entry.cookie, slot: Int(entry.slot), tag: currentTag(of: index))
  }

  /// Removes a request whose response is overdue.
  mutating func removeExpired(at now: Instant) -> Ended? {
    guard let deadline, deadline.isReached(at: now) else { return nil }
    return remove(at: Int(entries[0].ordered))
  }

  /// The first deadline.
  var deadline: Instant? {
    waiting > 0 ? entries[Int(entries[0].ordered)].deadline : nil
  }

  /// The tag of the request that has, or last had, an entry.
  private func currentTag(of index: Int) -> UInt16 {
    UInt16(truncatingIfNeeded: index) | entries[index].use << 10
  }

  // MARK: The order

  private func isWaiting(_ index: Int) -> Bool { Int(entries[index].place) < waiting }

  @inline(never)
  @_optimize(size)
  private mutating func swap(_ place: Int, _ other: Int) {
    let entry = entries[place].ordered
    entries[place].ordered = entries[other].ordered
    entries[other].ordered = entry
    entries[Int(entry)].place = UInt16(truncatingIfNeeded: other)
    entries[Int(entries[place].ordered)].place = UInt16(truncatingIfNeeded: place)
  }

  /// Moves the entry at a place to where its deadline belongs in the heap, if it is in it.
  @inline(never)
  @_optimize(size)
  private mutating func settle(_ place: Int) {
    var place = place
    while place > 0, place < waiting, isBefore(place, (place &- 1) / 2) {
      swap(place, (place &- 1) / 2)
      place = (place &- 1) / 2
    }
    while true {
      var child = 2 &* place &+ 1
      guard child < waiting else { return }
      if child &+ 1 < waiting, isBefore(child &+ 1, child) { child &+= 1 }
      guard isBefore(child, place) else { return }
      swap(place, child)
      place = child
    }
  }

  /// Compares the deadlines at two places. Of the same deadlines, the one with the lower index comes first.
  @inline(never)
  @_optimize(size)
  private func isBefore(_ place: Int, _ other: Int) -> Bool {
    let one = entries[place].ordered
    let two = entries[other].ordered
    let deadline = entries[Int(one)].deadline
    if deadline == entries[Int(two)].deadline { return one < two }
    return deadline.isReached(at: entries[Int(two)].deadline)
  }
}
