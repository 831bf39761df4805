import Synchronization

/// A queue that any thread may put into, and one thread, its owner, takes from: bounded, without a lock, in the
/// caller's block.
///
/// Free slots are handed out through a ring of their numbers. What was put is a chain, newest first, which the owner takes
/// as a whole and turns round (`MPSCConsumer`). A slot is nobody's but the putting thread's until its last step, one
/// exchange of a word, makes it the owner's: wherever a thread is stopped, for however long, it keeps one slot and nobody
/// else waiting. Items come out in the order of those last steps.
///
/// `put` makes no system call and waits for nobody, so a signal handler may call it, on any thread.
@safe public struct MPSCQueue<Header: BitwiseCopyable>: BitwiseCopyable {
  @safe struct State: ~Copyable {
    /// How many slots were taken from the ring of the free ones, and how many it has ever been freed. As wide as the
    /// target allows: a thread that is stopped in the middle of `takeSlot` must not find the same count again, which
    /// with 32 bits would need four thousand million items to pass it, no more and no fewer.
    let claimed = Atomic<UInt>(0)
    let freed: Atomic<UInt>
    /// What the owner has not collected: a `ChainEnd`.
    let end = Atomic<UInt>(0)
    /// How often there was no free slot; wraps.
    let refused = Atomic<UInt32>(0)

    // Where the rest is; what never changes.
    let free: UnsafeMutablePointer<Atomic<UInt32>>
    /// The slot plus one of the next item of a chain; 0: the last.
    let links: UnsafeMutablePointer<UInt32>
    let headers: UnsafeMutablePointer<Header>
    let bytes: UnsafeMutablePointer<UInt8>
    let own: ConsumerPointer
    let slotCount: Int
    let slotSize: Int

    init(_ plan: Plan, in block: borrowing Arena) {
      slotCount = plan.headers.count
      slotSize = plan.slotSize
      freed = Atomic(UInt(bitPattern: plan.headers.count))
      unsafe free = block.start(of: plan.free)
      unsafe links = block.start(of: plan.links)
      unsafe headers = block.start(of: plan.headers)
      unsafe bytes = block.start(of: plan.bytes)
      own = ConsumerPointer(plan.consumer, in: block)
      for slot in 0..<slotCount {
        unsafe (free + slot).initialize(to: Atomic(UInt32(truncatingIfNeeded: slot)))
      }
    }
  }

  /// What the owner keeps: nobody else looks at it.
  struct ConsumerState: BitwiseCopyable {
    /// What was collected: slots plus one, chained through the links; 0: nothing.
    var first: UInt32 = 0
    var last: UInt32 = 0
    var put = Counter()
    var refused = Counter()
    /// What of the queue's counts is in these two.
    var countedPut: UInt = 0
    var countedRefused: UInt32 = 0
    var peak = 0
  }

  /// Where they are. (A struct of its own, as the thread sanitizer takes the first pointer of the struct that has an
  /// addressor for what is changed.)
  @safe struct ConsumerPointer: BitwiseCopyable {
    private let start: UnsafeMutablePointer<ConsumerState>

    init(_ slice: ArenaSlice<ConsumerState>, in block: borrowing Arena) {
      unsafe start = block.start(of: slice)
      unsafe start.initialize(to: ConsumerState())
    }

    var consumer: ConsumerState {
      unsafeAddress { unsafe UnsafePointer(start) }
      nonmutating unsafeMutableAddress { unsafe start }
    }
  }

  public enum PutResult: BitwiseCopyable {
    case full
    /// Behind what it found: `wakeOwner` is to be called with that.
    case put(ChainEnd)
  }

  /// Where the parts lie in the caller's block. Each slot takes eight bytes beside its header and its bytes.
  public struct Plan: BitwiseCopyable {
    let state: ArenaSlice<State>
    let free: ArenaSlice<Atomic<UInt32>>
    let consumer: ArenaSlice<ConsumerState>
    let links: ArenaSlice<UInt32>
    let headers: ArenaSlice<Header>
    let bytes: ArenaSlice<UInt8>
    let slotSize: Int

    /// `slots` is a power of two; or 0: there is no queue, and it takes no memory.
    public init(slots: Int, slotSize: Int, in plan: inout ArenaLayout) {
      precondition(slots & (slots &- 1) == 0 && slots <= 65_536)
      headers = plan.reserve(slots, of: Header.self)
      state = plan.reserve(min(slots, 1), of: State.self)
      consumer = plan.reserve(min(slots, 1), of: ConsumerState.self)
      free = plan.reserve(slots, of: Atomic<UInt32>.self)
      links = plan.reserve(slots, of: UInt32.self)
      bytes = plan.reserve(slots * slotSize, of: UInt8.self)
      self.slotSize = slotSize
    }
  }

  // First, and no optional: the thread sanitizer of Swift 6.3.1 takes what is first for an address.
  private let start: UnsafeMutablePointer<State>
  /// False: there is no queue.
  public let isOpen: Bool

  /// An empty queue. The block is used by it alone, through as many copies of this value as one likes.
  public init(_ plan: Plan, in block: borrowing Arena) {
    unsafe start = block.start(of: plan.state)
    isOpen = plan.state.count > 0
    if isOpen { unsafe start.initialize(to: State(plan, in: block)) }
  }

  /// Of an open queue.
  @inline(__always)
  var state: UnsafeMutablePointer<State> {
    precondition(isOpen)
    return unsafe start
  }

  public var slotCount: Int { unsafe isOpen ? state.pointee.slotCount : 0 }
  public var slotSize: Int { unsafe isOpen ? state.pointee.slotSize : 0 }

  /// Puts an item in: `fill` writes into its slot. Of a queue without slots nothing must be asked.
  public func put(_ header: Header, _ fill: (inout MutableSpan<UInt8>) -> Void) -> PutResult {
    let state = unsafe state
    guard let slot = takeSlot() else {
      unsafe state.pointee.refused.wrappingAdd(1, ordering: .relaxed)
      return .full
    }
    unsafe state.pointee.headers[slot] = header
    let size = unsafe state.pointee.slotSize
    var space = unsafe MutableSpan(_unsafeStart: state.pointee.bytes + slot &* size, count: size)
    fill(&space)
    return .put(publish(slot))
  }

  /// A free slot, which from now on is the calling thread's.
  private func takeSlot() -> Int? {
    let state = unsafe state
    let mask = unsafe UInt(bitPattern: state.pointee.slotCount &- 1)
    while true {
      let claimed = unsafe state.pointee.claimed.load(ordering: .acquiring)
      // Acquires what the owner did to the slot before it gave it back.
      guard unsafe state.pointee.freed.load(ordering: .acquiring) != claimed else { return nil }
      // The owner may be writing here only if `claimed` has moved on, and then the exchange fails.
      let slot = unsafe state.pointee.free[Int(bitPattern: claimed & mask)].load(ordering: .relaxed)
      // Releases what this thread knows of `freed`: who acquires the new `claimed` must not see an older `freed` than that,
      // and take it for slots that are free.
      let exchange = unsafe state.pointee.claimed.weakCompareExchange(
        expected: claimed, desired: claimed &+ 1, ordering: .releasing)
      if exchange.exchanged { return Int(truncatingIfNeeded: slot) }
    }
  }

  /// What was at the end of the chain before the slot was.
  private func publish(_ slot: Int) -> ChainEnd {
    let state = unsafe state
    let item = UInt32(truncatingIfNeeded: slot) &+ 1
    var end = self.end
    while true {
      unsafe state.pointee.links[slot] = end.newest
      // Releases header, bytes and link. That the same item may be the newest again, after others were, does no harm:
      // then the link to it is right.
      let exchange = unsafe state.pointee.end.weakCompareExchange(
        expected: end.word, desired: end.putting(item).word, ordering: .releasing)
      if exchange.exchanged { return end }
      end = ChainEnd(word: exchange.original)
    }
  }

  // MARK: Waking the owner

  // That nothing is left lying there rests on the order of the changes of one word, which is the same for all threads,
  // and on this: who has found the chain empty wakes the owner up, behind its own exchange, unless it sees that the owner
  // has collected since. So for each chain there is a wake-up after which the owner looks. That the others do the same, until
  // one of them has noted that it is done, is for the sake of time: whoever is stopped before it wakes the owner up keeps
  // nobody else from doing it. (Tests/Models/submit.pml)

  /// Has the owner woken up for what was put in behind `found`, unless somebody has done that for the same chain before.
  public func wakeOwner(for found: ChainEnd, _ wakeUp: () -> Void) {
    guard isWakeUpDue(for: found) else { return }
    wakeUp()
    markWakeUpDone(for: found)
  }

  /// Another chain's number means that the owner has taken this one.
  func isWakeUpDue(for found: ChainEnd) -> Bool { found.needsWakeUp && end.isOfSameChain(as: found) }

  /// Not before it is done. Should the number of chains have come round meanwhile, others may leave it to the one that has
  /// found that chain empty.
  func markWakeUpDone(for found: ChainEnd) {
    var end = self.end
    while end.isOfSameChain(as: found), end.needsWakeUp {
      let exchange = unsafe state.pointee.end.weakCompareExchange(
        expected: end.word, desired: end.woken.word, ordering: .releasing)
      if exchange.exchanged { return }
      end = ChainEnd(word: exchange.original)
    }
  }

  var end: ChainEnd { unsafe ChainEnd(word: state.pointee.end.load(ordering: .relaxed)) }
}
