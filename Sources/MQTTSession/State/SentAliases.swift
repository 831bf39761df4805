import MQTTWire
import Storage

/// The Topic Aliases that the client uses. The least recently used one is replaced.
///
/// A message in the outbox that has an alias and no topic counts as a user of the alias. If the message has
/// to be resent on another connection, where the alias means nothing, its topic is found here. So an alias with
/// users is not replaced, and counts as used until it has none.
struct SentAliases: ~Copyable {
  struct Entry: BitwiseCopyable {
    var length: UInt16
    /// Messages in the outbox without a topic of their own.
    var users: UInt16
    var hash: UInt32
    /// Its neighbours in the list of those that may be replaced, from the one used longest ago to the one used
    /// last, which is followed by the first.
    var older: UInt16
    var newer: UInt16
    /// The server knows it, or will before it gets the next message.
    var isEstablished: Bool
  }

  /// How a message with a certain topic is to be sent.
  enum Choice: BitwiseCopyable {
    case none
    case establish(Int)  // with topic and alias
    case use(Int)  // with the alias alone
  }

  private var entries: Table<Entry>
  private var index: HashIndex
  private var topics: Region
  private let topicSize: UInt16
  /// As many as the server allows on this connection.
  private var usable: UInt16 = 0
  /// As many as it allowed on the last connection with any: only these are in the list.
  private var listed: UInt16 = 0
  /// The end of the list; `Self.none`: it is empty.
  private var newest = Self.none

  private static var none: UInt16 { .max }

  struct Plan: BitwiseCopyable {
    let entries: ArenaSlice<Entry>
    let links: ArenaSlice<UInt16>

    @inline(__always)
    init(_ count: Int, in plan: inout ArenaLayout) {
      entries = plan.reserve(count, of: Entry.self)
      links = plan.reserve(HashIndex.linkCount(for: count), of: UInt16.self)
    }
  }

  @inline(never)
  @_optimize(size)
  init(_ plan: Plan, topics: consuming Region, topicBytes: Int, in block: borrowing Arena) {
    entries = block.table(plan.entries)
    index = HashIndex(links: block.table(plan.links))
    self.topics = topics
    topicSize = UInt16(truncatingIfNeeded: topicBytes)
    for index in 0..<entries.count {
      entries[index] = Entry(length: 0, users: 0, hash: 0, older: 0, newer: 0, isEstablished: false)
    }
  }

  private var topicBytes: Int { Int(topicSize) }

  var isInUse: Bool { Feature.hasTopicAliases && usable > 0 }

  /// Begins a connection, on which no alias means anything yet.
  mutating func connected(maximum: Int) {
    guard Feature.hasTopicAliases else { return }
    usable = UInt16(truncatingIfNeeded: min(maximum, entries.count))
    for index in 0..<entries.count { entries[index].isEstablished = false }
    guard usable > 0, usable != listed else { return }
    listed = usable
    newest = Self.none
    for index in 0..<Int(listed) where entries[index].users == 0 { list(index) }
  }

  mutating func connectionLost() { usable = 0 }

  /// Returns how to send a message. It changes nothing, because it is not decided yet whether the outbox
  /// has room.
  func choice(for topic: Span<UInt8>) -> Choice {
    // An alias takes three bytes.
    guard topic.count > 3, topic.count <= topicBytes else { return .none }
    let hash = TopicHash.of(topic)
    var candidate = index.first(hash, of: entries.count)
    while let slot = candidate {
      let entry = entries[slot]
      if slot < usable, entry.length != 0, entry.hash == hash, matches(slot, topic) {
        return entry.isEstablished && entry.users < .max ? .use(slot) : .establish(slot)
      }
      candidate = index.next(slot, of: entries.count)
    }
    return newest == Self.none ? .none : .establish(Int(entries[Int(newest)].newer))
  }

  /// Records that a message was added as `choice` said.
  @inline(never)
  @_optimize(size)
  mutating func commit(_ choice: Choice, topic: Span<UInt8>) {
    switch choice {
    case .none: break
    case .establish(let slot):
      let hash = TopicHash.of(topic)
      if entries[slot].length != 0 { index.remove(slot, entries[slot].hash) }
      index.insert(slot, hash)
      let start = slot &* topicBytes
      var destination = topics.mutableBytes(in: start..<start &+ topic.count)
      copy(topic, into: &destination)
      entries[slot].length = UInt16(truncatingIfNeeded: topic.count)
      entries[slot].hash = hash
      entries[slot].isEstablished = true
      if entries[slot].users == 0 {
        unlist(slot)
        list(slot)
      }
    case .use(let slot):
      if entries[slot].users == 0 { unlist(slot) }
      entries[slot].users &+= 1
    }
  }

  /// Records that the server will not learn this alias.
  mutating func lose(_ slot: Int) { entries[slot].isEstablished = false }

  /// Returns whether messages have the alias and no topic.
  func hasUsers(_ index: Int) -> Bool { entries[index].users > 0 }

  /// Records that a message without a topic no longer needs it.
  mutating func removeUser(_ slot: Int) {
    entries[slot].users &-= 1
    if entries[slot].users == 0, slot < listed { list(slot) }
  }

  // MARK: Those that may be replaced

  /// Adds an entry to the list, as the one used last.
  @inline(never)
  @_optimize(size)
  private mutating func list(_ slot: Int) {
    let entry = UInt16(truncatingIfNeeded: slot)
    let older = newest == Self.none ? entry : newest
    let oldest = newest == Self.none ? entry : entries[Int(newest)].newer
    entries[slot].older = older
    entries[slot].newer = oldest
    entries[Int(older)].newer = entry
    entries[Int(oldest)].older = entry
    newest = entry
  }

  @inline(never)
  @_optimize(size)
  private mutating func unlist(_ slot: Int) {
    let older = entries[slot].older
    let newer = entries[slot].newer
    entries[Int(older)].newer = newer
    entries[Int(newer)].older = older
    guard newest == UInt16(truncatingIfNeeded: slot) else { return }
    newest = older == newest ? Self.none : older
  }

  @_lifetime(borrow self)
  borrowing func topic(_ index: Int) -> Span<UInt8> {
    let start = index &* topicBytes
    return topics.bytes.extracting(start..<start &+ Int(entries[index].length))
  }

  private func matches(_ index: Int, _ topic: Span<UInt8>) -> Bool {
    guard Int(entries[index].length) == topic.count else { return false }
    let start = index &* topicBytes
    let known = topics.bytes
    for offset in 0..<topic.count where known[start &+ offset] != topic[offset] { return false }
    return true
  }
}
