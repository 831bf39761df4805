import MQTTWire
import Storage

/// Distinguishes topics without keeping them (FNV-1a).
enum TopicHash {
  static func of(_ topic: Span<UInt8>) -> UInt32 {
    var hash: UInt32 = 2_166_136_261
    for index in 0..<topic.count { hash = (hash ^ UInt32(topic[index])) &* 16_777_619 }
    return hash
  }
}

/// The Topic Aliases that the client uses. The least recently used one is replaced.
///
/// A message in the outbox that has an alias and no topic counts as a user of the alias. If the message has
/// to be resent on another connection, where the alias means nothing, its topic is found here.
struct SentAliases: ~Copyable {
  struct Entry: BitwiseCopyable {
    var length: UInt16
    /// The server knows it, or will before it gets the next message.
    var isEstablished: Bool
    /// Messages in the outbox without a topic of their own.
    var users: UInt16
    var lastUse: UInt32
    var hash: UInt32
  }

  /// How a message with a certain topic is to be sent.
  enum Choice: BitwiseCopyable {
    case none
    case establish(Int)  // with topic and alias
    case use(Int)  // with the alias alone
  }

  private var entries: Table<Entry>
  private var topics: Region
  private let topicBytes: Int
  /// As many as the server allows on this connection.
  private var usable = 0
  private var clock: UInt32 = 0

  init(entries: consuming Table<Entry>, topics: consuming Region, topicBytes: Int) {
    self.entries = entries
    self.topics = topics
    self.topicBytes = topicBytes
    for index in 0..<self.entries.count {
      self.entries[index] = Entry(length: 0, isEstablished: false, users: 0, lastUse: 0, hash: 0)
    }
  }

  var isInUse: Bool { Feature.hasTopicAliases && usable > 0 }

  /// Begins a connection, on which no alias means anything yet.
  mutating func connected(maximum: Int) {
    guard Feature.hasTopicAliases else { return }
    usable = min(maximum, entries.count)
    for index in 0..<entries.count { entries[index].isEstablished = false }
  }

  mutating func connectionLost() { usable = 0 }

  /// Returns how to send a message. It changes nothing, because it is not decided yet whether the outbox
  /// has room.
  func choice(for topic: Span<UInt8>) -> Choice {
    // An alias takes three bytes.
    guard topic.count > 3, topic.count <= topicBytes else { return .none }
    let hash = TopicHash.of(topic)
    var oldest: Int? = nil
    for index in 0..<usable {
      let entry = entries[index]
      if entry.length != 0, entry.hash == hash, matches(index, topic) {
        return entry.isEstablished && entry.users < .max ? .use(index) : .establish(index)
      }
      guard entry.users == 0 else { continue }
      if let best = oldest, clock &- entries[best].lastUse >= clock &- entry.lastUse { continue }
      oldest = index
    }
    return oldest.map { .establish($0) } ?? .none
  }

  /// Records that a message was added as `choice` said.
  mutating func commit(_ choice: Choice, topic: Span<UInt8>) {
    clock &+= 1
    switch choice {
    case .none: break
    case .establish(let index):
      let start = index &* topicBytes
      var destination = topics.mutableBytes(in: start..<start &+ topic.count)
      copy(topic, into: &destination)
      entries[index].length = UInt16(truncatingIfNeeded: topic.count)
      entries[index].hash = TopicHash.of(topic)
      entries[index].isEstablished = true
      entries[index].lastUse = clock
    case .use(let index):
      entries[index].users &+= 1
      entries[index].lastUse = clock
    }
  }

  /// Records that the server will not learn this alias.
  mutating func lose(_ index: Int) { entries[index].isEstablished = false }

  /// Returns whether messages have the alias and no topic.
  func hasUsers(_ index: Int) -> Bool { entries[index].users > 0 }

  /// Records that a message without a topic no longer needs it.
  mutating func removeUser(_ index: Int) { entries[index].users &-= 1 }

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
