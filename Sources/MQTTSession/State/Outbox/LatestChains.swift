import Storage

/// Finds the messages of a topic that a newer one replaces: chains by the topic's hash, the newest first.
/// Unlike those of `HashIndex`, the links take no memory: they are in a field of the descriptors that is free until
/// a message is sent.
struct LatestChains: ~Copyable {
  private var heads: Table<UInt16>

  /// The end of a chain.
  static var none: UInt16 { .max }

  /// Returns how many chains there are for so many messages: a power of two. A small outbox has one, and its
  /// messages with other topics are passed over.
  static func count(messages: Int) -> Int {
    var count = 1
    while messages > 64, count < messages / 8 { count *= 2 }
    return count
  }

  init(_ heads: consuming Table<UInt16>) {
    self.heads = heads
    removeAll()
  }

  mutating func removeAll() {
    for index in 0..<heads.count { heads[index] = Self.none }
  }

  /// The slot of the newest message in the chain of a topic.
  subscript(hash: UInt16) -> UInt16 {
    get { heads[Int(hash) & (heads.count &- 1)] }
    set { heads[Int(hash) & (heads.count &- 1)] = newValue }
  }
}
