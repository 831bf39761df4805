import Storage

/// Messages that the application has to acknowledge: of each, what ACK has to say. A token is the number of the connection
/// and that of the message on it, so that one of an earlier connection is recognised.
struct HeldMessages: ~Copyable {
  struct Entry: BitwiseCopyable {
    let subscription: UInt16
    /// Of the text in its slot.
    let size: UInt16
    /// Acknowledging it acknowledges those before it, too: as its subscription was when it came.
    let isCumulative: Bool
    var isDone = false
  }

  private var entries: FixedRing<Entry>
  /// For each slot, what names its message: the `ack` header, or `message-id`, as it came.
  private var texts: Region
  let textBytes: Int
  /// The number of the entry at the front.
  private var firstNumber: UInt32 = 1
  /// Of this connection; it wraps.
  private var connection: UInt32 = 0

  init(entries: consuming Table<Entry>, texts: consuming Region, textBytes: Int) {
    self.entries = FixedRing(entries)
    self.texts = texts
    self.textBytes = textBytes
  }

  /// Messages that need to be acknowledged are not read beyond this.
  var isFull: Bool { entries.isFull }
  var count: Int { entries.count }

  /// There is room, and the text is no longer than `textBytes`. Returns the token.
  mutating func hold(_ text: Span<UInt8>, subscription: Int, isCumulative: Bool) -> UInt64 {
    var room = texts.mutableBytes(
      in: entries.tail &* textBytes..<entries.tail &* textBytes &+ text.count)
    copy(text, into: &room)
    let number = firstNumber &+ UInt32(truncatingIfNeeded: entries.count)
    entries.append(
      Entry(
        subscription: UInt16(truncatingIfNeeded: subscription), size: UInt16(truncatingIfNeeded: text.count),
        isCumulative: isCumulative))
    return Counter(low: number, high: connection).uint64
  }

  /// The slot of a message that waits; `nil`: there is no such one, or no longer.
  func slot(of token: UInt64) -> Int? {
    let halves = Counter(value: token)
    guard halves.high == connection else { return nil }
    let index = Int(truncatingIfNeeded: halves.low &- firstNumber)
    guard index >= 0, index < entries.count, !entries[at: index].isDone else { return nil }
    return entries.slot(at: index)
  }

  func subscription(_ slot: Int) -> Int { Int(entries[slot].subscription) }

  @_lifetime(borrow self)
  borrowing func text(_ slot: Int) -> Span<UInt8> {
    texts.bytes(at: slot &* textBytes, count: Int(entries[slot].size))
  }

  /// It was acknowledged, and, if that counts for those before it, they were, too.
  mutating func acknowledged(_ slot: Int) {
    let subscription = entries[slot].subscription
    entries[slot].isDone = true
    if entries[slot].isCumulative {
      for index in 0..<entries.index(of: slot) where entries[at: index].subscription == subscription {
        entries[at: index].isDone = true
      }
    }
    removeDone()
  }

  /// The server takes back what this subscription has not acknowledged.
  mutating func subscriptionEnds(_ subscription: Int) {
    for index in 0..<entries.count where Int(entries[at: index].subscription) == subscription {
      entries[at: index].isDone = true
    }
    removeDone()
  }

  private mutating func removeDone() {
    while entries.count > 0, entries[at: 0].isDone {
      entries.removeFirst()
      firstNumber &+= 1
    }
  }

  /// Nothing of the last connection can be acknowledged any more: the server delivers it again.
  mutating func connectionBegins() {
    connection &+= 1
    entries.removeAll()
    firstNumber = 1
  }
}
