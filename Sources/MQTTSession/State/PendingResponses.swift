import Storage

/// The requests that wait for their reply (§4.10). A reply is known by its Correlation Data: eight bytes that
/// tell the place in the table, and how often it was used, so that a late reply meets nobody.
struct PendingResponses: ~Copyable {
  struct Entry: BitwiseCopyable {
    var cookie: UInt64
    /// Of the response topic: the request itself, should it come back, is no reply.
    var topicHash: UInt32
    var deadline: Instant
    var use: UInt16
    /// Of the request's message in the outbox.
    var slot: UInt16
    var isWaiting: Bool
  }

  /// A request that waits no more, and what tells its message.
  struct Ended: BitwiseCopyable {
    let cookie: UInt64
    let slot: Int
    let tag: UInt16
  }

  static var correlationSize: Int { 8 }

  private var entries: Table<Entry>
  /// Tells the requests of this client from those of others that share a response topic.
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

  /// A place for one more; nothing is changed yet.
  var free: Int? {
    guard waiting < entries.count else { return nil }
    for index in 0..<entries.count where !entries[index].isWaiting { return index }
    return nil
  }

  /// The Correlation Data of the request that will take a place.
  func correlation(of index: Int) -> InlineArray<8, UInt8> {
    var data = InlineArray<8, UInt8>(repeating: 0)
    let place = UInt32(truncatingIfNeeded: index) << 16 | UInt32(entries[index].use &+ 1)
    for byte in 0..<4 {
      let shift = UInt32(truncatingIfNeeded: 24 &- 8 &* byte)
      data[byte] = UInt8(truncatingIfNeeded: mark >> shift)
      data[byte &+ 4] = UInt8(truncatingIfNeeded: place >> shift)
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

  /// The request a message replies to; it waits no more.
  mutating func take(_ correlation: Span<UInt8>, topic: Span<UInt8>) -> Ended? {
    guard waiting > 0, correlation.count == Self.correlationSize else { return nil }
    let index = Int(correlation[4]) << 8 | Int(correlation[5])
    guard index < entries.count, entries[index].isWaiting else { return nil }
    // The last request at this place counted its use before.
    let use = UInt16(correlation[6]) << 8 | UInt16(correlation[7])
    guard use == entries[index].use, TopicHash.of(topic) == entries[index].topicHash else { return nil }
    for byte in 0..<4 {
      guard
        correlation[byte] == UInt8(truncatingIfNeeded: mark >> UInt32(truncatingIfNeeded: 24 &- 8 &* byte))
      else { return nil }
    }
    return take(at: index)
  }

  /// What a message keeps to tell its request: the place, and the last bits of how often it was used.
  func tag(of index: Int) -> UInt16 {
    UInt16(truncatingIfNeeded: index) | (entries[index].use &+ 1) << 10
  }

  /// The request whose message came to nothing waits no more.
  mutating func take(tag: UInt16) { _ = take(at: Int(tag & 0x3FF)) }

  private mutating func take(at index: Int) -> Ended? {
    let entry = entries[index]
    guard entry.isWaiting else { return nil }
    entries[index].isWaiting = false
    waiting &-= 1
    return Ended(
      cookie: entry.cookie, slot: Int(entry.slot), tag: UInt16(truncatingIfNeeded: index) | entry.use << 10)
  }

  /// One whose time is up.
  mutating func takeExpired(at now: Instant) -> Ended? {
    guard waiting > 0 else { return nil }
    for index in 0..<entries.count where entries[index].isWaiting {
      if entries[index].deadline.isReached(at: now) { return take(at: index) }
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
