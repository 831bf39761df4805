import Synchronization

/// The owner's end of an `MPSCQueue`: what it has collected, oldest first. There is one.
public struct MPSCConsumer<Header: BitwiseCopyable>: ~Copyable {
  public let queue: MPSCQueue<Header>
  public init(_ queue: MPSCQueue<Header>) { self.queue = queue }

  /// Of an open queue.
  private var own: MPSCQueue<Header>.ConsumerPointer { unsafe queue.state.pointee.own }

  // MARK: Getters

  public var isOpen: Bool { queue.isOpen }

  /// Whether `collect` would find something.
  public var hasUncollected: Bool { isOpen && queue.end.newest != 0 }

  public var hasCollected: Bool { isOpen && own.consumer.first != 0 }

  /// How many slots are in use: of items that wait, and of threads that are putting one in.
  public var count: Int {
    guard isOpen else { return 0 }
    let claimed = unsafe queue.state.pointee.claimed.load(ordering: .relaxed)
    let freed = unsafe queue.state.pointee.freed.load(ordering: .relaxed)
    return queue.slotCount &- Int(bitPattern: freed &- claimed)
  }

  /// The most slots that were ever in use. The count only grows until the owner frees a slot.
  public var peak: Int { isOpen ? max(own.consumer.peak, count) : 0 }

  /// How many items were put in, and how many found no room.
  public var totals: (put: Counter, refused: Counter) {
    guard isOpen else { return (Counter(), Counter()) }
    var totals = (put: own.consumer.put, refused: own.consumer.refused)
    let counts = counts
    totals.put.add(Int(bitPattern: counts.put &- own.consumer.countedPut))
    totals.refused.add(Int(truncatingIfNeeded: counts.refused &- own.consumer.countedRefused))
    return totals
  }

  /// The header of the oldest item, which must exist.
  public var header: Header {
    get { unsafe queue.state.pointee.headers[slot] }
    set { unsafe queue.state.pointee.headers[slot] = newValue }
  }

  public var bytes: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get {
      let span = unsafe Span<UInt8>(
        _unsafeStart: queue.state.pointee.bytes + slot &* queue.slotSize, count: queue.slotSize)
      return unsafe _overrideLifetime(span, borrowing: self)
    }
  }

  public var mutableBytes: MutableSpan<UInt8> {
    @_lifetime(&self)
    mutating get {
      let span = unsafe MutableSpan(
        _unsafeStart: queue.state.pointee.bytes + slot &* queue.slotSize, count: queue.slotSize)
      return unsafe _overrideLifetime(span, mutating: &self)
    }
  }

  // MARK: Changes

  /// Collects the items that were put in so far. It has to be called at least once between being woken up
  /// and sleeping.
  public mutating func collect() {
    guard isOpen else { return }
    // Only the owner begins a new chain.
    let end = queue.end
    guard end.newest != 0 else { return }
    let own = own
    totalUp()
    let collected = unsafe queue.state.pointee.end.exchange(end.collected.word, ordering: .acquiring)
    let newest = ChainEnd(word: collected).newest
    var item = newest
    var younger: UInt32 = 0
    while item != 0 {
      let older = unsafe queue.state.pointee.links[slot(of: item)]
      unsafe queue.state.pointee.links[slot(of: item)] = younger
      younger = item
      item = older
    }
    if own.consumer.first == 0 {
      own.consumer.first = younger
    } else {
      unsafe queue.state.pointee.links[slot(of: own.consumer.last)] = younger
    }
    own.consumer.last = newest
  }

  /// Removes the oldest item, and frees its slot.
  public mutating func removeFirst() {
    let own = own
    own.consumer.peak = peak
    let slot = slot
    own.consumer.first = unsafe queue.state.pointee.links[slot]
    if own.consumer.first == 0 { own.consumer.last = 0 }
    let freed = unsafe queue.state.pointee.freed.load(ordering: .relaxed)
    let index = Int(bitPattern: freed) & (queue.slotCount &- 1)
    unsafe queue.state.pointee.free[index].store(UInt32(truncatingIfNeeded: slot), ordering: .relaxed)
    unsafe queue.state.pointee.freed.store(freed &+ 1, ordering: .releasing)
  }

  // MARK: Helpers

  /// Adds up the counts before one of them can have wrapped unnoticed.
  private mutating func totalUp() {
    let own = own
    let counts = counts
    own.consumer.put.add(Int(bitPattern: counts.put &- own.consumer.countedPut))
    own.consumer.refused.add(Int(truncatingIfNeeded: counts.refused &- own.consumer.countedRefused))
    (own.consumer.countedPut, own.consumer.countedRefused) = counts
  }

  private var counts: (put: UInt, refused: UInt32) {
    guard isOpen else { return (0, 0) }
    return unsafe (
      queue.state.pointee.claimed.load(ordering: .relaxed),
      queue.state.pointee.refused.load(ordering: .relaxed)
    )
  }

  private var slot: Int { slot(of: own.consumer.first) }

  private func slot(of item: UInt32) -> Int {
    let slot = Int(truncatingIfNeeded: item) &- 1
    precondition(slot >= 0 && slot < queue.slotCount)
    return slot
  }
}
