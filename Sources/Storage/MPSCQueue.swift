import Synchronization

/// A bounded queue without a lock, in the caller's block. Any thread may put items in, and one thread, its
/// owner, takes them out.
///
/// Free slots are handed out through a ring of their numbers. The items that were put in form a chain,
/// newest first, which the owner takes as a whole and reverses (`MPSCConsumer`). A slot belongs to the
/// thread that puts an item in until its last step, the exchange of a word, gives it to the owner. So a
/// thread that is stopped at any point, for however long, keeps one slot and makes no other thread wait.
/// Items come out in the order of those last steps.
///
/// `put` makes no system call and never waits, so a signal handler may call it, on any thread.
@safe public struct MPSCQueue<Header: BitwiseCopyable>: BitwiseCopyable {
  @safe struct State: ~Copyable {
    /// How many slots were claimed from the ring of the free ones, and how many were ever freed into it.
    /// The counts are as wide as the target allows: a thread that is stopped in the middle of `takeSlot`
    /// must not find the same count again. With 32 bits exactly 4,294,967,296 items would have to pass it.
    let claimed = Atomic<UInt>(0)
    let freed: Atomic<UInt>
    /// What the owner has not collected: a `ChainEnd`.
    let end = Atomic<UInt>(0)
    /// How often there was no free slot; wraps.
    let refused = Atomic<UInt32>(0)

    // What never changes: where the other parts are.
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

  /// The state of the owner, which no other thread reads.
  struct ConsumerState: BitwiseCopyable {
    /// What was collected: slots plus one, chained through the links; 0: nothing.
    var first: UInt32 = 0
    var last: UInt32 = 0
    var put = Counter()
    var refused = Counter()
    /// How much of the queue's counts is in these two.
    var countedPut: UInt = 0
    var countedRefused: UInt32 = 0
    var peak = 0
  }

  /// The pointer to that state. It is a struct of its own, because the thread sanitizer takes the first
  /// pointer of a struct with an addressor for the address of what is changed.
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
    /// The item was put behind this end of the chain, with which `wakeOwner` has to be called.
    case put(ChainEnd)
  }

  /// Where the parts are in the caller's block. Each slot takes eight bytes beside its header and its
  /// bytes.
  public struct Plan: BitwiseCopyable {
    let state: ArenaSlice<State>
    let free: ArenaSlice<Atomic<UInt32>>
    let consumer: ArenaSlice<ConsumerState>
    let links: ArenaSlice<UInt32>
    let headers: ArenaSlice<Header>
    let bytes: ArenaSlice<UInt8>
    let slotSize: Int

    /// `slots` is a power of two. With 0 there is no queue, and it takes no memory.
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

  // It comes first and is no optional, because the thread sanitizer of Swift 6.3.1 takes the first field
  // for an address.
  private let start: UnsafeMutablePointer<State>
  /// False: there is no queue.
  public let isOpen: Bool

  /// Makes an empty queue. Only this queue uses its part of the block, through any number of copies of this
  /// value.
  public init(_ plan: Plan, in block: borrowing Arena) {
    unsafe start = block.start(of: plan.state)
    isOpen = plan.state.count > 0
    if isOpen { unsafe start.initialize(to: State(plan, in: block)) }
  }

  /// The state of an open queue.
  @inline(__always)
  var state: UnsafeMutablePointer<State> {
    precondition(isOpen)
    return unsafe start
  }

  public var slotCount: Int { unsafe isOpen ? state.pointee.slotCount : 0 }
  public var slotSize: Int { unsafe isOpen ? state.pointee.slotSize : 0 }

  /// Puts an item in, whose bytes `fill` writes into its slot. The queue must have slots.
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

  /// Claims a free slot for the calling thread.
  private func takeSlot() -> Int? {
    let state = unsafe state
    let mask = unsafe UInt(bitPattern: state.pointee.slotCount &- 1)
    while true {
      let claimed = unsafe state.pointee.claimed.load(ordering: .acquiring)
      // It acquires what the owner did to the slot before it freed the slot.
      guard unsafe state.pointee.freed.load(ordering: .acquiring) != claimed else { return nil }
      // The owner may be writing here only if `claimed` has moved on, and then the exchange fails.
      let slot = unsafe state.pointee.free[Int(bitPattern: claimed & mask)].load(ordering: .relaxed)
      // It releases what this thread knows of `freed`: a thread that acquires the new `claimed` must not
      // see an older `freed` than that, and take the difference for slots that are free.
      let exchange = unsafe state.pointee.claimed.weakCompareExchange(
        expected: claimed, desired: claimed &+ 1, ordering: .releasing)
      if exchange.exchanged { return Int(truncatingIfNeeded: slot) }
    }
  }

  /// Adds a slot to the chain, and returns what was at its end before.
  private func publish(_ slot: Int) -> ChainEnd {
    let state = unsafe state
    let item = UInt32(truncatingIfNeeded: slot) &+ 1
    var end = self.end
    while true {
      unsafe state.pointee.links[slot] = end.newest
      // It releases header, bytes and link. The same item may be the newest again after others were: that
      // does no harm, because then the link to it is right.
      let exchange = unsafe state.pointee.end.weakCompareExchange(
        expected: end.word, desired: end.putting(item).word, ordering: .releasing)
      if exchange.exchanged { return end }
      end = ChainEnd(word: exchange.original)
    }
  }

  // MARK: Waking the owner

  // That no item is left in the queue follows from the order of the changes of one word, which is the same
  // for all threads, and from this: a thread that has found the chain empty wakes the owner up, after its
  // own exchange, unless it sees that the owner has collected since. So for each chain there is a wake-up
  // after which the owner collects. The other threads do the same until one of them has recorded that it is
  // done. This only saves time: a thread that is stopped before it wakes the owner up keeps no other thread
  // from doing it. (Tests/Models/submit.pml)

  /// Wakes the owner up for what was put in behind `found`, unless another thread has done so for the same
  /// chain.
  public func wakeOwner(for found: ChainEnd, _ wakeUp: () -> Void) {
    guard isWakeUpDue(for: found) else { return }
    wakeUp()
    markWakeUpDone(for: found)
  }

  /// If the chain has another number, the owner has taken this one.
  func isWakeUpDue(for found: ChainEnd) -> Bool { found.needsWakeUp && end.isOfSameChain(as: found) }

  /// Records that the owner was woken up, after that is done. If the number of chains has wrapped
  /// meanwhile, other threads may leave it to the one that has found that chain empty.
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
