import Synchronization

/// The owner's end of a `MPSCQueue`: what it has collected, oldest first. There is one.
public struct MPSCConsumer<Header: BitwiseCopyable>: ~Copyable {
  public let queue: MPSCQueue<Header>
  public init(_ queue: MPSCQueue<Header>) { self.queue = queue }

  /// Of an open queue.
  private var own: MPSCQueue<Header>.OwnersPlace { unsafe queue.state.pointee.own }

  // MARK: Getters

  public var isOpen: Bool { queue.isOpen }

  /// `collect` would find something.
  public var hasUncollected: Bool { isOpen && queue.end.newest != 0 }

  public var hasCollected: Bool { isOpen && own.books.first != 0 }

  /// How many slots are in use: of items that wait, and of threads that are putting one in.
  public var count: Int {
    guard isOpen else { return 0 }
    let taken = unsafe queue.state.pointee.taken.load(ordering: .relaxed)
    let given = unsafe queue.state.pointee.given.load(ordering: .relaxed)
    return queue.slotCount &- Int(bitPattern: given &- taken)
  }

  /// Between two moments at which the owner gives a slot back the count only grows.
  public var peak: Int { isOpen ? max(own.books.peak, count) : 0 }

  /// How many items were put in, and how many found no room.
  public var totals: (put: Counter, refused: Counter) {
    guard isOpen else { return (Counter(), Counter()) }
    var totals = (put: own.books.put, refused: own.books.refused)
    let counts = counts
    totals.put.add(Int(bitPattern: counts.put &- own.books.countedPut))
    totals.refused.add(Int(truncatingIfNeeded: counts.refused &- own.books.countedRefused))
    return totals
  }

  /// The oldest item. There must be one.
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

  /// Takes over what was put in so far. It is to be called at least once between being woken up and sleeping.
  public mutating func collect() {
    guard isOpen else { return }
    // Nobody else begins a chain anew.
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
    if own.books.first == 0 {
      own.books.first = younger
    } else {
      unsafe queue.state.pointee.links[slot(of: own.books.last)] = younger
    }
    own.books.last = newest
  }

  /// Done with the oldest item: its slot is free.
  public mutating func removeFirst() {
    let own = own
    own.books.peak = peak
    let slot = slot
    own.books.first = unsafe queue.state.pointee.links[slot]
    if own.books.first == 0 { own.books.last = 0 }
    let given = unsafe queue.state.pointee.given.load(ordering: .relaxed)
    let place = Int(bitPattern: given) & (queue.slotCount &- 1)
    unsafe queue.state.pointee.free[place].store(UInt32(truncatingIfNeeded: slot), ordering: .relaxed)
    unsafe queue.state.pointee.given.store(given &+ 1, ordering: .releasing)
  }

  // MARK: Helpers

  /// Before a count may have come round.
  private mutating func totalUp() {
    let own = own
    let counts = counts
    own.books.put.add(Int(bitPattern: counts.put &- own.books.countedPut))
    own.books.refused.add(Int(truncatingIfNeeded: counts.refused &- own.books.countedRefused))
    (own.books.countedPut, own.books.countedRefused) = counts
  }

  private var counts: (put: UInt, refused: UInt32) {
    guard isOpen else { return (0, 0) }
    return unsafe (
      queue.state.pointee.taken.load(ordering: .relaxed), queue.state.pointee.refused.load(ordering: .relaxed)
    )
  }

  private var slot: Int { slot(of: own.books.first) }

  private func slot(of item: UInt32) -> Int {
    let slot = Int(truncatingIfNeeded: item) &- 1
    precondition(slot >= 0 && slot < queue.slotCount)
    return slot
  }
}
