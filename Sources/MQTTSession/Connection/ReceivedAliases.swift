import MQTTWire
import Storage

/// The Topic Aliases that the server uses (§3.3.2.3.4), and the topic of each on this connection.
struct ReceivedAliases: ~Copyable {
  struct Entry: BitwiseCopyable {
    var state: State
    var length: UInt16
  }

  enum State: UInt8, BitwiseCopyable {
    case unknown
    case known
    case tooLong  // known to the server, but its topic does not fit here
  }

  private var entries: Table<Entry>
  private var topics: Region
  private let topicBytes: Int

  init(entries: consuming Table<Entry>, topics: consuming Region, topicBytes: Int) {
    self.entries = entries
    self.topics = topics
    self.topicBytes = topicBytes
    removeAll()
  }

  var maximum: Int { Feature.hasTopicAliases ? entries.count : 0 }

  /// Sets the topic of an alias. The caller guarantees an alias of 1 to `maximum`, here and below.
  mutating func set(_ alias: Int, to topic: Span<UInt8>) {
    guard topic.count <= topicBytes else {
      entries[alias &- 1].state = .tooLong
      return
    }
    let start = (alias &- 1) &* topicBytes
    var destination = topics.mutableBytes(in: start..<start &+ topic.count)
    copy(topic, into: &destination)
    entries[alias &- 1] = Entry(state: .known, length: UInt16(truncatingIfNeeded: topic.count))
  }

  /// Records that the alias stands for a topic that was not kept.
  mutating func forget(_ alias: Int) { entries[alias &- 1].state = .tooLong }

  func state(_ alias: Int) -> State { entries[alias &- 1].state }

  /// Returns the range of the topic in `bytes`.
  func topic(_ alias: Int) -> ByteRange {
    ByteRange(offset: (alias &- 1) &* topicBytes, count: Int(entries[alias &- 1].length))
  }

  var bytes: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { topics.bytes }
  }

  mutating func removeAll() {
    guard Feature.hasTopicAliases else { return }
    for index in 0..<entries.count { entries[index] = Entry(state: .unknown, length: 0) }
  }
}
