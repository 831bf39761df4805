public import Storage

/// The messages of an outbox that are in its journal, or are to be.
///
/// The journal knows a message by the number of its entry here: descriptors move, and Packet Identifiers
/// change as long as nothing was sent. What has changed about an entry is in a queue, from which a commit
/// takes as much as it has room for. While that is written, the entries are in a second queue: if the commit
/// fails, they go back. So the journal hears of each change, in whatever order commits fail, and nothing has
/// to be remembered that has no bound.
public struct StoredMessages: ~Copyable {
  /// What is known of a message. What becomes of it between the first and the last is the session's to say.
  public struct State: BitwiseCopyable, Equatable {
    private let number: UInt8

    public init(_ number: UInt8) { self.number = number }

    @inline(__always) public static var free: State { State(0) }
    @inline(__always) public static var queued: State { State(1) }
    @inline(__always) public static var ended: State { State(2) }
  }

  /// Why a message is not accepted.
  public enum Refusal: BitwiseCopyable {
    /// The journal has failed, and nothing is to be accepted that it does not have.
    case failed
    case tooLarge
  }

  public struct Entry: BitwiseCopyable {
    /// When the message was added, among all messages of this journal.
    public internal(set) var serial = Counter()
    /// Where the commit that has the message begins: the place in the log's ring.
    public internal(set) var place: UInt32 = 0
    /// Where its descriptor is.
    public internal(set) var slot: UInt16 = 0
    // Neighbours among those that the journal has, by their commits; counted from 1 on; 0: none.
    var newer: UInt16 = 0
    var older: UInt16 = 0
    /// The next one in its queue.
    var next: UInt16 = 0
    public internal(set) var state = State.free
    /// The state that the commit which is being written has, or had.
    public internal(set) var toldState = State.free
    /// The journal has the message as it is, or will have it with the commit that is being written.
    public internal(set) var isStored = false
    /// What the journal has of the message itself is to be written again.
    public internal(set) var isOutdated = false
    /// The journal may have a record of it.
    public internal(set) var isKnown = false
    /// The commit that is being written has the message.
    var isWriting = false
    /// The journal is to be told something that the commit which is being written does not have.
    var isChanged = false
    public internal(set) var isQueued = false

    /// Whether the journal is to get the message itself.
    public var needsMessage: Bool { state != .ended && (!isStored || isOutdated) }
  }

  /// Where its parts are in the caller's block.
  public struct Plan: BitwiseCopyable {
    let slot: ArenaSlice<StoredMessages>
    let entries: ArenaSlice<Entry>
    let numbers: ArenaSlice<UInt16>

    /// There are more entries than messages: one of a message that has ended is free when the journal knows
    /// that.
    public init(messages: Int, descriptors: Int, in plan: inout ArenaLayout) {
      slot = plan.reserve(min(messages, 1), of: StoredMessages.self)
      entries = plan.reserve(min(messages &+ messages / 2, 65_535), of: Entry.self)
      numbers = plan.reserve(messages > 0 ? descriptors : 0, of: UInt16.self)
    }
  }

  /// Entries, one after the other through `next`.
  private struct Queue: BitwiseCopyable {
    var first: UInt16 = 0
    var last: UInt16 = 0
  }

  var entries: Table<Entry>
  /// The entry of the message in each slot, if it has one.
  var numbers: Table<UInt16>
  var oldest: UInt16 = 0
  private var newest: UInt16 = 0
  private var changed = Queue()
  private var writing = Queue()
  /// The last of those that a commit had, and that wait at the front again; counted from 1 on; 0: none of this commit.
  private var requeued: UInt16 = 0
  /// How many at the front a commit had that has failed, and no commit since.
  public private(set) var unsaid = 0
  private var free: UInt16 = 0
  /// How many entries were ever used: those behind them are free, and in no chain.
  var used = 0
  /// The number of the message that was added last. Every message that the log has has another.
  public internal(set) var lastSerial = Counter()
  /// That of the last one which a commit has for the first time.
  public private(set) var toldSerial = Counter()
  /// How many bytes the messages have that were added since the last commit which had all that was new.
  public var newBytes = 0
  /// The largest packet that a commit has room for.
  private let largestPacket: Int
  /// How many bytes of the outbox stay free for what messages grow by when a process takes them up that speaks 5.0.
  public let reserve: Int
  /// Without a journal that works nothing is accepted.
  public var isRefusing = false

  @_optimize(size)
  public init(
    entries: consuming Table<Entry>, numbers: consuming Table<UInt16>, largestPacket: Int, reserve: Int
  ) {
    self.entries = entries
    self.numbers = numbers
    self.largestPacket = largestPacket
    self.reserve = reserve
  }

  @_optimize(size)
  public static func slot(
    _ plan: Plan, in block: borrowing Arena, largestPacket: Int, reserve: Int
  ) -> OptionalSlot<StoredMessages> {
    OptionalSlot(plan.slot, in: block) {
      StoredMessages(
        entries: block.table(plan.entries), numbers: block.table(plan.numbers), largestPacket: largestPacket,
        reserve: reserve)
    }
  }

  /// Why a message of so many bytes is not to be accepted; `nil`: it is.
  @_optimize(size)
  public func refusal(of size: Int) -> Refusal? {
    isRefusing ? .failed : size > largestPacket ? .tooLarge : nil
  }

  public subscript(entry: Int) -> Entry { entries[entry] }

  /// The entry of the message in a slot whose descriptor says that it has one.
  public func entry(of slot: Int) -> Int { Int(numbers[slot]) }

  /// The entry whose message is in the oldest commit.
  public var oldestEntry: Int? { oldest == 0 ? nil : Int(oldest) &- 1 }

  /// Whether there is an entry for one more message.
  public var hasRoom: Bool { free != 0 || used < entries.count }

  // MARK: Things that happened

  /// Adds the message in a slot. Returns false if there is no entry left: there will be one when the journal
  /// has been told of a message that has ended.
  @inline(never)
  @_optimize(size)
  public mutating func add(_ slot: Int, size: Int) -> Bool {
    guard let entry = takeFree() else { return false }
    count(size: size)
    use(entry, for: slot, lastSerial)
    return true
  }

  /// Counts a message that is accepted though there is no entry for it: `addCounted` follows, unless it ends before.
  @_optimize(size)
  public mutating func count(size: Int) {
    lastSerial.increment()
    newBytes &+= size
  }

  /// Adds one that was counted before. Returns false if there is still no entry.
  @inline(never)
  @_optimize(size)
  public mutating func addCounted(_ slot: Int, serial: Counter) -> Bool {
    guard let entry = takeFree() else { return false }
    use(entry, for: slot, serial)
    return true
  }

  @_optimize(size)
  private mutating func use(_ entry: Int, for slot: Int, _ serial: Counter) {
    entries[entry] = Entry(serial: serial, slot: UInt16(truncatingIfNeeded: slot), state: .queued)
    numbers[slot] = UInt16(truncatingIfNeeded: entry)
    change(entry)
  }

  /// Handles that a descriptor has moved.
  @_optimize(size)
  public mutating func moved(from slot: Int, to target: Int) {
    let number = numbers[slot]
    numbers[target] = number
    entries[Int(number)].slot = UInt16(truncatingIfNeeded: target)
  }

  @_optimize(size)
  public mutating func set(_ entry: Int, _ state: State) {
    entries[entry].state = state
    change(entry)
  }

  /// Handles that the message is another one than the journal has. Until that is written, the head of the log stays
  /// before what the journal has.
  @_optimize(size)
  public mutating func rewrite(_ entry: Int) {
    // It counts as one more; its place among the others stays.
    lastSerial.increment()
    entries[entry].isOutdated = true
    change(entry)
  }

  /// Puts an entry before all others: its message is to be written again, as it is. One that waits for its turn gives that
  /// up: news in front of it would fill the ring. No commit is being written.
  @inline(never)
  @_optimize(size)
  public mutating func rewriteFirst(_ entry: Int) {
    if entries[entry].isQueued { leaveQueue(entry) }
    entries[entry].isOutdated = true
    entries[entry].isChanged = true
    entries[entry].isQueued = true
    Self.insert(entry, behind: 0, &changed, &entries)
  }

  @inline(never)
  @_optimize(size)
  private mutating func leaveQueue(_ entry: Int) {
    let number = UInt16(truncatingIfNeeded: entry &+ 1)
    var before: UInt16 = 0
    var other = changed.first
    // There are no more than entries.
    while other != number, other != 0 { (before, other) = (other, entries[Int(other) &- 1].next) }
    guard other == number else { return }
    if before == 0 {
      changed.first = entries[entry].next
    } else {
      entries[Int(before) &- 1].next = entries[entry].next
    }
    if changed.last == number { changed.last = before }
  }

  /// Handles that a message has ended. It no longer keeps the head of the log where it is.
  @_optimize(size)
  public mutating func ended(_ entry: Int) {
    if entries[entry].isStored { unlink(entry) }
    entries[entry].state = .ended
    change(entry)
  }

  // MARK: A commit

  /// The entry about which the journal is to be told next.
  public var nextChange: Int? { changed.first == 0 ? nil : Int(changed.first) &- 1 }

  /// Handles that nothing has to be said about `nextChange`, whose message has ended before the journal had
  /// it.
  @_optimize(size)
  public mutating func forget() {
    guard let entry = nextChange else { return }
    takeFirst()
    putFree(entry)
  }

  @_optimize(size)
  private mutating func takeFirst() {
    Self.removeFirst(&changed, &entries)
    if unsaid > 0 { unsaid &-= 1 }
  }

  /// Handles that the commit which begins at `place` has what is to be said about `nextChange`, and whether
  /// the message itself is a part of that.
  @inline(never)
  @_optimize(size)
  public mutating func told(withMessage: Bool, place: UInt32) {
    guard let entry = nextChange else { return }
    takeFirst()
    entries[entry].isChanged = false
    entries[entry].toldState = entries[entry].state
    if withMessage {
      if !entries[entry].isKnown { toldSerial = entries[entry].serial }
      entries[entry].place = place
      entries[entry].isWriting = true
      entries[entry].isOutdated = false
      link(entry)
    }
    Self.append(entry, &writing, &entries)
  }

  /// Handles for the next entry that the commit had that it is durable, or has failed. Returns the entry;
  /// `nil`: there are no more. What is to be said of it once more goes before all news, in the order that it had: what
  /// a failed commit had is in the next one, and the end of a message comes before others that have its room.
  @inline(never)
  @_optimize(size)
  public mutating func takeWritten(_ isDurable: Bool) -> Int? {
    guard writing.first != 0 else {
      requeued = 0
      return nil
    }
    let entry = Int(writing.first) &- 1
    Self.removeFirst(&writing, &entries)
    if !isDurable {
      if entries[entry].isWriting, entries[entry].isStored { unlink(entry) }
      entries[entry].isChanged = true
    }
    entries[entry].isWriting = false
    if entries[entry].isChanged {
      Self.insert(entry, behind: requeued, &changed, &entries)
      requeued = UInt16(truncatingIfNeeded: entry &+ 1)
      if !isDurable || unsaid > 0 { unsaid &+= 1 }
    } else {
      entries[entry].isQueued = false
      if entries[entry].state == .ended { putFree(entry) }
    }
    return entry
  }

  @_optimize(size)
  private mutating func change(_ entry: Int) {
    entries[entry].isChanged = true
    guard !entries[entry].isQueued else { return }
    entries[entry].isQueued = true
    Self.append(entry, &changed, &entries)
  }

  // MARK: Queues and chains

  @_optimize(size)
  private static func append(_ entry: Int, _ queue: inout Queue, _ entries: inout Table<Entry>) {
    let number = UInt16(truncatingIfNeeded: entry &+ 1)
    entries[entry].next = 0
    if queue.last == 0 { queue.first = number } else { entries[Int(queue.last) &- 1].next = number }
    queue.last = number
  }

  /// `number` is that of the entry in front, counted from 1 on; 0: there is none.
  @_optimize(size)
  private static func insert(
    _ entry: Int, behind number: UInt16, _ queue: inout Queue, _ entries: inout Table<Entry>
  ) {
    let own = UInt16(truncatingIfNeeded: entry &+ 1)
    if number == 0 {
      entries[entry].next = queue.first
      queue.first = own
    } else {
      entries[entry].next = entries[Int(number) &- 1].next
      entries[Int(number) &- 1].next = own
    }
    if entries[entry].next == 0 { queue.last = own }
  }

  @_optimize(size)
  private static func removeFirst(_ queue: inout Queue, _ entries: inout Table<Entry>) {
    queue.first = entries[Int(queue.first) &- 1].next
    if queue.first == 0 { queue.last = 0 }
  }

  @inline(never)
  @_optimize(size)
  private mutating func takeFree() -> Int? {
    if free != 0 {
      let entry = Int(free) &- 1
      free = entries[entry].next
      return entry
    }
    guard used < entries.count else { return nil }
    defer { used &+= 1 }
    return used
  }

  @_optimize(size)
  mutating func putFree(_ entry: Int) {
    entries[entry].state = .free
    entries[entry].next = free
    free = UInt16(truncatingIfNeeded: entry &+ 1)
  }

  /// Makes an entry the newest of those that the journal has.
  @inline(never)
  @_optimize(size)
  mutating func link(_ entry: Int) {
    if entries[entry].isStored { unlink(entry) }
    let number = UInt16(truncatingIfNeeded: entry &+ 1)
    entries[entry].isStored = true
    entries[entry].isKnown = true
    entries[entry].newer = 0
    entries[entry].older = newest
    if newest == 0 { oldest = number } else { entries[Int(newest) &- 1].newer = number }
    newest = number
  }

  @_optimize(size)
  private mutating func unlink(_ entry: Int) {
    let (newer, older) = (entries[entry].newer, entries[entry].older)
    entries[entry].isStored = false
    if older == 0 { oldest = newer } else { entries[Int(older) &- 1].newer = newer }
    if newer == 0 { newest = older } else { entries[Int(newer) &- 1].older = older }
  }
}
