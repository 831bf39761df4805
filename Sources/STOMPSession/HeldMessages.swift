import Storage

/// Messages that the application has to acknowledge, in the order in which they came: of each, what ACK has to say. Any of
/// them may be the next one to go, so they are a list, and not a ring. A token is a number that no other message ever has,
/// and the slot in which the message is.
struct HeldMessages: ~Copyable {
  struct Entry: BitwiseCopyable {
    /// 0: the slot is free.
    var token: UInt64 = 0
    var subscription: UInt16 = 0
    /// Of the text in its slot.
    var size: UInt16 = 0
    /// The slots of the message before it and of the one after it; of a free slot, the next free one.
    var previous = none
    var next = none
    /// Acknowledging it acknowledges those before it, too: as its subscription was when it came.
    var isCumulative = false
  }

  private let inPlace = InPlace()
  private var entries: Table<Entry>
  /// For each slot, what names its message: the `ack` header, or `message-id`, as it came.
  private var texts: Region
  let textBytes: Int
  private var last = none
  private var firstFree = none
  private(set) var count = 0
  /// The number of the last token: the lower 32 bits of 48, and those above them.
  private var number: UInt32 = 0
  private var overflows: UInt16 = 0

  /// No slot: there are at most 65,535.
  private static var none: UInt16 { .max }

  init(entries: consuming Table<Entry>, texts: consuming Region, textBytes: Int) {
    self.entries = entries
    self.texts = texts
    self.textBytes = textBytes
    for slot in 0..<self.entries.count { free(UInt16(truncatingIfNeeded: slot)) }
  }

  /// Messages that need to be acknowledged are not read beyond this.
  var isFull: Bool { firstFree == Self.none }

  /// There is room, and the text is no longer than `textBytes`. Returns the token.
  mutating func hold(_ text: Span<UInt8>, subscription: Int, isCumulative: Bool) -> UInt64 {
    let slot = firstFree
    let start = Int(slot) &* textBytes
    var room = texts.mutableBytes(in: start..<start &+ text.count)
    copy(text, into: &room)
    number &+= 1
    if number == 0 { overflows &+= 1 }
    let token = Counter(low: UInt32(overflows) << 16 | UInt32(slot), high: number).uint64
    firstFree = entries[Int(slot)].next
    entries[Int(slot)] = Entry(
      token: token, subscription: UInt16(truncatingIfNeeded: subscription),
      size: UInt16(truncatingIfNeeded: text.count), previous: last, isCumulative: isCumulative)
    if last != Self.none { entries[Int(last)].next = slot }
    last = slot
    count &+= 1
    return token
  }

  /// The slot of a message that waits; `nil`: there is no such one, or no longer.
  func slot(of token: UInt64) -> Int? {
    let slot = Int(Counter(value: token).low & 0xFFFF)
    guard token != 0, slot < entries.count, entries[slot].token == token else { return nil }
    return slot
  }

  func subscription(_ slot: Int) -> Int { Int(entries[slot].subscription) }

  @_lifetime(borrow self)
  borrowing func text(_ slot: Int) -> Span<UInt8> {
    texts.bytes(at: slot &* textBytes, count: Int(entries[slot].size))
  }

  /// It was acknowledged, and, if that counts for those before it, they were, too.
  mutating func acknowledged(_ slot: Int) {
    let entry = entries[slot]
    if entry.isCumulative {
      remove(from: entry.previous) { $0 == entry.subscription }
    }
    remove(UInt16(truncatingIfNeeded: slot))
  }

  /// The server takes back what this subscription has not acknowledged.
  mutating func subscriptionEnds(_ subscription: Int) {
    remove(from: last) { Int($0) == subscription }
  }

  /// Nothing of the last connection can be acknowledged any more: the server delivers it again.
  mutating func connectionBegins() { remove(from: last) { _ in true } }

  /// Removes, from one back to the first, those of these subscriptions.
  private mutating func remove(from start: UInt16, where isMeant: (UInt16) -> Bool) {
    var slot = start
    while slot != Self.none {
      let entry = entries[Int(slot)]
      if isMeant(entry.subscription) { remove(slot) }
      slot = entry.previous
    }
  }

  private mutating func remove(_ slot: UInt16) {
    let entry = entries[Int(slot)]
    if entry.previous != Self.none { entries[Int(entry.previous)].next = entry.next }
    if entry.next != Self.none {
      entries[Int(entry.next)].previous = entry.previous
    } else {
      last = entry.previous
    }
    free(slot)
    count &-= 1
  }

  private mutating func free(_ slot: UInt16) {
    entries[Int(slot)] = Entry(next: firstFree)
    firstFree = slot
  }
}
