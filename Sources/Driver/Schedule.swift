public import Storage

/// When each of many members is due, and in which queue it is, in the caller's block: a heap of deadlines, of
/// which a change takes O(log n) steps, and lists, of which each member is in one.
///
/// The code is small rather than fast: a change is a fraction of the system call that it follows.
public struct Schedule<Value: BitwiseCopyable>: ~Copyable {
  public struct Entry: BitwiseCopyable {
    fileprivate var next: UInt32
    fileprivate var previous: UInt32
    fileprivate var deadline: Instant
    /// In the heap; `none`: it has no deadline.
    fileprivate var position: UInt32
    /// Which member is at this position of the heap: none is due earlier than the one at half the position.
    fileprivate var heap: UInt32
    fileprivate var value: Value
  }

  private var entries: Table<Entry>
  private let capacity: Int
  private var heapCount: UInt32 = 0

  private static var none: UInt32 { .max }

  /// Behind the members are the ends of the queues.
  public static func reserve(members: Int, in plan: inout ArenaLayout) -> ArenaSlice<Entry> {
    plan.reserve(members &+ Queue.count, of: Entry.self)
  }

  /// All members are unused, the first one first.
  @_optimize(size)
  public init(_ slice: ArenaSlice<Entry>, in block: borrowing Arena, value: Value) {
    entries = block.table(slice)
    capacity = slice.count &- Queue.count
    for index in 0..<slice.count {
      let itself = UInt32(truncatingIfNeeded: index)
      entries[index] = Entry(
        next: itself, previous: itself, deadline: Instant(milliseconds: 0), position: Self.none, heap: 0,
        value: value)
    }
    for member in 0..<capacity { move(member, to: .unused) }
  }

  private func number(_ member: UInt32) -> Int { Int(truncatingIfNeeded: member) }

  public var members: Range<Int> { 0..<capacity }

  /// What belongs to a member.
  public subscript(member: Int) -> Value {
    get { entries[member].value }
    set { entries[member].value = newValue }
  }

  // MARK: Queues

  /// The first one of a queue.
  @inline(never)
  @_optimize(size)
  public func first(in queue: Queue) -> Int? {
    let first = number(entries[capacity &+ queue.rawValue].next)
    return first < capacity ? first : nil
  }

  /// Moves a member from the queue that it is in to the end of one.
  @inline(never)
  @_optimize(size)
  public mutating func move(_ member: Int, to queue: Queue) {
    let (next, previous) = (entries[member].next, entries[member].previous)
    entries[number(previous)].next = next
    entries[number(next)].previous = previous
    let end = capacity &+ queue.rawValue
    let last = entries[end].previous
    entries[member].next = UInt32(truncatingIfNeeded: end)
    entries[member].previous = last
    entries[end].previous = UInt32(truncatingIfNeeded: member)
    entries[number(last)].next = UInt32(truncatingIfNeeded: member)
  }

  // MARK: Deadlines

  /// When the first member is due, in milliseconds; -1: none ever is.
  @inline(never)
  @_optimize(size)
  public func timeout(at now: Instant) -> Int32 {
    guard heapCount > 0 else { return -1 }
    return Int32(clamping: entries[number(entries[0].heap)].deadline.remaining(at: now))
  }

  /// The member that is due first, if it is. To be asked only if one has a deadline.
  public var earliest: Int { number(entries[0].heap) }

  /// `nil`: it is never due.
  @inline(never)
  @_optimize(size)
  public mutating func set(_ member: Int, due deadline: Instant?) {
    var position = entries[member].position
    guard let deadline else {
      guard position != Self.none else { return }
      entries[member].position = Self.none
      heapCount &-= 1
      // The last one fills the gap.
      if position < heapCount { place(entries[number(heapCount)].heap, from: position) }
      return
    }
    entries[member].deadline = deadline
    if position == Self.none {
      position = heapCount
      heapCount &+= 1
    }
    place(UInt32(truncatingIfNeeded: member), from: position)
  }

  /// Puts a member where it belongs: at `position`, or above or below.
  @inline(never)
  @_optimize(size)
  private mutating func place(_ member: UInt32, from start: UInt32) {
    var position = start
    while position > 0, isEarlier(member, at: (position &- 1) >> 1) {
      put(entries[number((position &- 1) >> 1)].heap, at: position)
      position = (position &- 1) >> 1
    }
    while true {
      var below = 2 &* position &+ 1
      if below &+ 1 < heapCount, isEarlier(entries[number(below &+ 1)].heap, at: below) { below &+= 1 }
      guard below < heapCount, !isEarlier(member, at: below) else { break }
      put(entries[number(below)].heap, at: position)
      position = below
    }
    put(member, at: position)
  }

  @inline(never)
  @_optimize(size)
  private mutating func put(_ member: UInt32, at position: UInt32) {
    entries[number(position)].heap = member
    entries[number(member)].position = position
  }

  /// A member is due earlier than the one at `position`.
  @inline(never)
  @_optimize(size)
  private func isEarlier(_ member: UInt32, at position: UInt32) -> Bool {
    !entries[number(entries[number(position)].heap)].deadline.isReached(at: entries[number(member)].deadline)
  }
}

extension Schedule {
  public typealias Queue = ScheduleQueue
}

/// The queues of a `Schedule`.
public enum ScheduleQueue: Int, BitwiseCopyable {
  case unused, touched, ready, parked

  static var count: Int { 4 }
}
