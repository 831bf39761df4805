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
    var isWaiting: Bool
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
  private var count = 0
  private(set) var peak = 0

  init(entries: consuming Table<Entry>, mark: UInt32) {
    self.entries = entries
    self.mark = mark
    for index in 0..<self.entries.count {
      self.entries[index] = Entry(
        cookie: 0, topicHash: 0, deadline: Instant(milliseconds: 0), use: 0, slot: 0, isWaiting: false)
    }
  }

  var capacity: Int { entries.count }

  /// How many requests wait.
  private(set) var waiting: Int {
    @inline(__always) get { Feature.hasReplies ? count : 0 }
    @inline(__always) set { count = newValue }
  }

  /// The index of a free entry; nothing is changed yet.
  var free: Int? {
    guard waiting < entries.count else { return nil }
    for index in 0..<entries.count where !entries[index].isWaiting { return index }
    return nil
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

  mutating func add(at index: Int, cookie: UInt64, slot: Int, topic: Span<UInt8>, deadline: Instant) {
    entries[index] = Entry(
      cookie: cookie, topicHash: TopicHash.of(topic), deadline: deadline,
      use: entries[index].use &+ 1, slot: UInt16(truncatingIfNeeded: slot), isWaiting: true)
    waiting &+= 1
    peak = max(peak, waiting)
  }

  /// Returns the request that a message responds to, and removes it.
  mutating func match(_ correlation: Span<UInt8>, topic: Span<UInt8>) -> Ended? {
    guard waiting > 0, correlation.count == Self.correlationSize else { return nil }
    let index = Int(correlation[4]) << 8 | Int(correlation[5])
    guard index < entries.count, entries[index].isWaiting else { return nil }
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

  /// Removes the request whose message failed.
  mutating func remove(tag: UInt16) { _ = remove(at: Int(tag & 0x3FF)) }

  private mutating func remove(at index: Int) -> Ended? {
    let entry = entries[index]
    guard entry.isWaiting else { return nil }
    entries[index].isWaiting = false
    waiting &-= 1
    return Ended(
      cookie: entry.cookie, slot: Int(entry.slot), tag: UInt16(truncatingIfNeeded: index) | entry.use << 10)
  }

  /// Removes a request whose response is overdue.
  mutating func removeExpired(at now: Instant) -> Ended? {
    guard waiting > 0 else { return nil }
    for index in 0..<entries.count where entries[index].isWaiting {
      if entries[index].deadline.isReached(at: now) { return remove(at: index) }
    }
    return nil
  }

  var deadline: Instant? {
    guard waiting > 0 else { return nil }
    var earliest: Instant? = nil
    for index in 0..<entries.count where entries[index].isWaiting {
      earliest = Instant.earlier(earliest, entries[index].deadline)
    }
    return earliest
  }
}
