import Journal
import STOMPWire
import Storage

/// Frames of the application, encoded, in the order in which they are sent: those that wait, and those that wait for
/// their receipts. Each has a number, which is its receipt; the next one has the next number.
///
/// Bytes are freed in order, so a frame without its receipt keeps those behind it. One that has ended keeps its place until its
/// completion was taken, but no bytes.
struct FrameQueue: ~Copyable {
  enum Kind: UInt8, BitwiseCopyable {
    case send, acknowledge, begin, commit, abort
  }

  enum State: UInt8, BitwiseCopyable {
    case queued
    case sent  // its receipt is on its way
    case ended  // its completion is to be taken, or was
  }

  struct Entry: BitwiseCopyable {
    var cookie: UInt64
    var offset: UInt32
    var size: UInt32
    /// The slot of the next completion.
    var next: UInt16 = 0
    /// 0: none.
    var transaction: UInt16
    var kind: Kind
    var state = State.queued
    var outcome = FrameOutcome.delivered
    /// The server is asked for a receipt.
    var hasReceipt: Bool
    /// After a connection that broke it may be sent once more.
    var isRepeatable: Bool
    /// Its completion is no event unless it failed.
    var isQuiet: Bool
    /// As long as nothing of it was sent, it may make room for a later one.
    var isDroppable = false
    /// Its completion waits in the chain.
    var isWaiting = false
    /// It was sent on an earlier connection, and waits to be sent again.
    var isRepeated = false
    /// The journal has it, or is to have it (`stored`).
    var isStored = false
    /// The journal is to have it, and has no entry for it yet.
    var isLate = false
    var dialect = Dialect.any
  }

  private let inPlace = InPlace()
  private var ring: ByteRing
  private var entries: FixedRing<Entry>
  /// Of the entry at the front.
  private(set) var firstNumber: UInt32 = 1
  /// The index of the first one that is queued: those before it were sent, or have ended.
  private var unsent = 0
  /// The index of the first one that has not ended: those before it have no bytes any more.
  private var ended = 0
  /// Those whose completion is to be taken, as they ended: the first and the last slot, and how many.
  private var firstCompletion: UInt16 = 0
  private var lastCompletion: UInt16 = 0
  private(set) var completions = 0
  /// How many are sent and wait for their receipts.
  private(set) var unconfirmed = 0
  /// There was no room for a frame of this size, and the application is to be told when there is; -1: none was refused.
  private var refusedSize = -1

  /// The server has ended a connection with ERROR, and did not say because of which frame: the number of the last one that it
  /// may have been; `nil`: all of these have ended.
  private var lastSuspect: UInt32? = nil
  /// The last one that was alone when that happened.
  private var accused: UInt32? = nil

  /// Those that the journal has, or is to have; empty: there is none.
  var stored: OptionalSlot<StoredMessages>
  /// How many wait for an entry there, until the ends of others are written; and the number of the last one that has got it.
  private(set) var late = 0
  private var lateSerial = Counter()

  init(
    bytes: consuming Region, entries: consuming Table<Entry>,
    stored: consuming OptionalSlot<StoredMessages> = OptionalSlot()
  ) {
    ring = ByteRing(region: bytes)
    self.entries = FixedRing(entries)
    self.stored = stored
  }

  private var delivered = Counter()
  private var failed = Counter()
  private var dropped = Counter()
  private var bytesPeak = 0
  private var framesPeak = 0

  // MARK: Getters

  /// How many frames the last call of `transmitted` has ended.
  private(set) var transmittedFrames = 0

  var counts: OutboxCounts {
    var counts = OutboxCounts()
    counts.delivered = delivered
    counts.failed = failed
    counts.dropped = dropped
    counts.bytes = usedBytes
    counts.bytesPeak = max(bytesPeak, usedBytes)
    counts.frames = entries.count
    counts.framesPeak = max(framesPeak, entries.count)
    return counts
  }

  /// From the front of the ring to its end. Each frame has a byte at least, so a tail that is where the head is has gone all
  /// the way round.
  private var usedBytes: Int { head.map { ring.count(head: $0) } ?? 0 }

  /// Where the first frame begins that has not ended; `nil`: there is none.
  @inline(__always)
  private var head: Int? { ended < entries.count ? Int(entries[at: ended].offset) : nil }

  var isEmpty: Bool { entries.count == 0 }
  var count: Int { entries.count }
  var capacity: Int { ring.capacity }
  /// The number that the next frame gets.
  var nextNumber: UInt32 { firstNumber &+ UInt32(truncatingIfNeeded: entries.count) }
  var hasUnsent: Bool { unsent < entries.count }
  /// Whether one of them may be why the server has ended a connection.
  var hasSuspects: Bool { lastSuspect != nil }
  /// Whether the next one asks for a receipt.
  var nextHasReceipt: Bool { hasUnsent && entries[at: unsent].hasReceipt }
  /// Nothing is queued, and no receipt is outstanding.
  var isDrained: Bool { !hasUnsent && unconfirmed == 0 }
  /// Half of the places have to be free, too, so that it does not come for each.
  var hasRoomEvent: Bool {
    refusedSize >= 0 && completions == 0 && entries.count <= entries.capacity / 2 && hasRoom(for: refusedSize)
  }

  mutating func takeRoomEvent() { refusedSize = -1 }

  /// Where a frame of this size goes; `nil`: there is no room now.
  @_optimize(speed)
  mutating func room(for size: Int) -> Int? {
    guard let offset = place(for: size) else {
      refusedSize = size
      return nil
    }
    return offset
  }

  func hasRoom(for size: Int) -> Bool { place(for: size) != nil }

  /// The same, and nothing is noted for `hasRoomEvent`.
  @inline(__always)
  func place(for size: Int) -> Int? {
    guard !entries.isFull else { return nil }
    return ring.room(for: size, head: head)
  }

  /// Where a frame of this size goes, once the oldest ones that may be dropped have made room; `nil`: not even all of them
  /// would, and none is dropped. `sent`: how many bytes of the one at the front are sent.
  @inline(never)
  @_optimize(size)
  mutating func makeRoom(for size: Int, sent: Int) -> Int? {
    guard let end = endOfDrops(for: size, sent: sent) else {
      refusedSize = size
      return nil
    }
    for index in unsent..<end where isDroppable(index, sent: sent) { mark(entries.slot(at: index), .dropped) }
    skipSent()
    removeEnded()
    return place(for: size)
  }

  /// Whether `makeRoom` would find some.
  func canMakeRoom(for size: Int, sent: Int) -> Bool { endOfDrops(for: size, sent: sent) != nil }

  /// The index behind the last one that has to go.
  private func endOfDrops(for size: Int, sent: Int) -> Int? {
    // The place at the front is kept until its completion was taken, if it is to be told.
    guard !entries.isFull || ended == 0 && entries[at: 0].isQuiet else { return nil }
    var index = ended
    while index < entries.count, entries[at: index].state == .ended || isDroppable(index, sent: sent) {
      index &+= 1
      let head = index < entries.count ? Int(entries[at: index].offset) : nil
      if ring.room(for: size, head: head) != nil { return index }
    }
    return nil
  }

  private func isDroppable(_ index: Int, sent: Int) -> Bool {
    // One that was sent on an earlier connection may have arrived.
    entries[at: index].isDroppable && entries[at: index].state == .queued && !entries[at: index].isRepeated
      && (index > unsent || sent == 0)
  }

  @_lifetime(&self)
  mutating func space(at offset: Int, count: Int) -> MutableSpan<UInt8> {
    ring.mutableBytes(in: offset..<offset &+ count)
  }

  /// The frame was written where `room` said.
  @inline(__always)
  mutating func append(_ entry: Entry) {
    ring.moveTail(to: Int(entry.offset) &+ Int(entry.size))
    entries.append(entry)
  }

  /// The same for one that the journal is to have.
  @inline(never)
  @_optimize(size)
  mutating func appendStored(_ entry: Entry) {
    var entry = entry
    entry.isStored = late == 0 && stored.element.add(nextSlot, size: Int(entry.size))
    if !entry.isStored {
      if late == 0 { lateSerial = stored.element.lastSerial }
      stored.element.count(size: Int(entry.size))
      entry.isLate = true
      late &+= 1
    }
    append(entry)
  }

  /// Gives those that wait for one their entries, in their order, as far as there are any.
  @inline(never)
  @_optimize(size)
  mutating func addLate() {
    guard late > 0, stored.element.hasRoom else { return }
    for index in ended..<entries.count where entries[at: index].isLate {
      let slot = entries.slot(at: index)
      // Those that have ended meanwhile keep no number, so it is not above what it was counted as.
      var serial = lateSerial
      serial.increment()
      guard stored.element.addCounted(slot, serial: serial) else { return }
      lateSerial = serial
      entries[slot].isLate = false
      entries[slot].isStored = true
      late &-= 1
    }
  }

  /// Where the entry is that comes next.
  var nextSlot: Int { entries.tail }

  subscript(slot slot: Int) -> Entry { entries[slot] }

  /// A frame that can't be sent takes its place only to be told: a byte, because the ring has none without any.
  static var failedSize: Int { 1 }

  /// False: there is no place for it now.
  mutating func appendFailed(cookie: UInt64, _ outcome: FrameOutcome) -> Bool {
    guard let offset = place(for: Self.failedSize) else { return false }
    append(
      Entry(
        cookie: cookie, offset: UInt32(truncatingIfNeeded: offset),
        size: UInt32(truncatingIfNeeded: Self.failedSize), transaction: 0, kind: .send, hasReceipt: false,
        isRepeatable: false, isQuiet: false))
    mark(entries.slot(at: entries.count &- 1), outcome)
    skipSent()
    return true
  }

  // MARK: Sending

  /// The server has chosen a version: what was written for another one is not sent. What was sent before is unknown as it was.
  mutating func agreed(_ version: STOMPVersion) {
    for index in unsent..<entries.count
    where entries[at: index].state == .queued && !entries[at: index].dialect.fits(version) {
      mark(entries.slot(at: index), entries[at: index].isRepeated ? .unknown : .version)
    }
    skipSent()
    forgetSuspects()
    removeEnded()
  }

  /// The frame of which `sent` bytes went out, without these.
  func frame(without sent: Int) -> ByteRange {
    guard hasUnsent else { return .empty }
    let entry = entries[at: unsent]
    return ByteRange(offset: Int(entry.offset) &+ sent, count: Int(entry.size) &- sent)
  }

  /// The one that goes out after so many others of the same window; `nil`: it has no more.
  func frame(at position: Int) -> ByteRange? {
    let index = unsent &+ position
    guard index < entries.count, entries[at: index].state == .queued else { return nil }
    let entry = entries[at: index]
    return ByteRange(offset: Int(entry.offset), count: Int(entry.size))
  }

  /// The queued frames that lie one behind the other, without the first `sent` bytes.
  @_optimize(speed)
  func window(without sent: Int) -> ByteRange {
    guard hasUnsent else { return .empty }
    var slot = entries.slot(at: unsent)
    let start = Int(entries[slot].offset)
    var end = start
    var index = unsent
    while index < entries.count, entries[slot].state == .queued, Int(entries[slot].offset) == end,
      end &- start < Self.longestWindow
    {
      end &+= Int(entries[slot].size)
      slot = entries.slot(after: slot)
      index &+= 1
    }
    return ByteRange(offset: start &+ sent, count: end &- start &- sent)
  }

  /// More in one call would gain nothing.
  private static var longestWindow: Int { 65_536 }

  var bytes: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { ring.bytes }
  }

  /// `count` bytes behind the first `sent` ones went to the transport. Returns how many bytes of the next frame did.
  @_optimize(speed)
  mutating func transmitted(_ count: Int, behind sent: Int) -> Int {
    transmittedFrames = 0
    var rest = endQuiet(sent &+ count)
    while hasUnsent {
      let slot = entries.slot(at: unsent)
      let size = Int(entries[slot].size)
      guard rest >= size else { break }
      rest &-= size
      transmittedFrames &+= 1
      if entries[slot].hasReceipt {
        entries[slot].state = .sent
        unconfirmed &+= 1
      } else {
        mark(slot, .delivered)
      }
      skipSent()
    }
    removeEnded()
    return rest
  }

  /// Of `count` bytes, takes the frames at the front that end when they are sent, and of which nothing is told: what `mark`
  /// does with each, in one loop, since most batches have no others. Returns how many bytes are left.
  @inline(__always)
  private mutating func endQuiet(_ count: Int) -> Int {
    var rest = count
    var index = unsent
    var slot = entries.slot(at: unsent)
    while index < entries.count, entries[slot].state == .queued, entries[slot].kind == .send,
      entries[slot].isQuiet, !entries[slot].hasReceipt, Int(entries[slot].size) <= rest
    {
      rest &-= Int(entries[slot].size)
      entries[slot].state = .ended
      entries[slot].outcome = .delivered
      slot = entries.slot(after: slot)
      index &+= 1
    }
    transmittedFrames = index &- unsent
    delivered.add(transmittedFrames)
    unsent = index
    skipSent()
    return rest
  }

  private mutating func skipSent() {
    while unsent < entries.count, entries[at: unsent].state != .queued { unsent &+= 1 }
  }

  // MARK: Ending

  /// The server has this frame. False: there is none with this number that waits for a receipt.
  mutating func confirmed(_ number: UInt32) -> Bool { ended(number, .delivered) }

  /// The server has refused it.
  mutating func refused(_ number: UInt32) -> Bool { ended(number, .refused) }

  /// The server has ended the connection with ERROR, and did not say why. A frame that is sent again would end the next one,
  /// too, and so on: so those that may have been at fault are suspects. `isPartSent`: the next one was sent in part. `isAlone`:
  /// nothing else was under way. A frame with which that happens twice is the one: it has ended, and the result is true.
  @inline(never)
  @_optimize(size)
  mutating func failed(isPartSent: Bool, isAlone: Bool) -> Bool {
    var suspect: Int? = nil
    for index in ended..<unsent where entries[at: index].state == .sent && entries[at: index].isRepeatable {
      suspect = index
    }
    if isPartSent, hasUnsent, entries[at: unsent].isRepeatable { suspect = unsent }
    guard let suspect else { return false }
    let number = firstNumber &+ UInt32(truncatingIfNeeded: suspect)
    if !hasSuspect(from: number) { lastSuspect = number }
    guard isAlone else { return false }
    guard accused == number else {
      accused = number
      return false
    }
    if entries[at: suspect].state == .sent { unconfirmed &-= 1 }
    mark(entries.slot(at: suspect), .refused)
    skipSent()
    forgetSuspects()
    removeEnded()
    return true
  }

  /// Whether the last suspect is the frame with this number, or behind it.
  private func hasSuspect(from number: UInt32) -> Bool {
    lastSuspect.map { Int32(truncatingIfNeeded: $0 &- number) >= 0 } ?? false
  }

  private mutating func forgetSuspects() {
    guard hasSuspects, !hasSuspect(from: firstNumber &+ UInt32(truncatingIfNeeded: unsent)) else { return }
    lastSuspect = nil
  }

  private mutating func ended(_ number: UInt32, _ outcome: FrameOutcome) -> Bool {
    let index = Int(truncatingIfNeeded: number &- firstNumber)
    // A number from before the first one is negative on a 32-bit processor.
    guard index >= 0, index < entries.count, entries[at: index].state == .sent else { return false }
    unconfirmed &-= 1
    forgetSuspects()
    mark(entries.slot(at: index), outcome)
    removeEnded()
    return true
  }

  /// Ends a frame, which stays where it is.
  private mutating func mark(_ slot: Int, _ outcome: FrameOutcome) {
    entries[slot].state = .ended
    entries[slot].outcome = outcome
    if entries[slot].kind == .send { count(outcome) }
    if entries[slot].isStored { stored.element.ended(stored.element.entry(of: slot)) }
    if entries[slot].isLate {
      entries[slot].isLate = false
      late &-= 1
    }
    // Nobody waits for BEGIN: the end of its transaction is told otherwise.
    let isTold =
      entries[slot].kind != .acknowledge && entries[slot].kind != .begin
      && (!entries[slot].isQuiet || outcome != .delivered && outcome != .dropped)
    guard isTold else { return }
    let link = UInt16(truncatingIfNeeded: slot)
    if completions == 0 { firstCompletion = link } else { entries[Int(lastCompletion)].next = link }
    lastCompletion = link
    completions &+= 1
    entries[slot].isWaiting = true
  }

  /// The end of a message.
  mutating func count(_ outcome: FrameOutcome) {
    switch outcome {
    case .delivered: delivered.add(1)
    case .dropped: dropped.add(1)
    default: failed.add(1)
    }
  }

  mutating func takeCompletion() -> FrameCompletion? {
    guard completions > 0 else { return nil }
    let slot = Int(firstCompletion)
    let entry = entries[slot]
    firstCompletion = entry.next
    completions &-= 1
    entries[slot].isWaiting = false
    removeEnded()
    return FrameCompletion(cookie: entry.cookie, kind: entry.kind, outcome: entry.outcome)
  }

  /// Frees the bytes of those at the front that have ended, and their places as far as nobody has to be told.
  @_optimize(speed)
  private mutating func removeEnded() {
    guard ended > 0 || entries.count > 0 && entries[at: 0].state == .ended else { return }
    // Before a removal the queue is as full as it was since the last one.
    framesPeak = max(framesPeak, entries.count)
    bytesPeak = max(bytesPeak, usedBytes)
    while ended < entries.count, entries[at: ended].state == .ended { ended &+= 1 }
    if ended == entries.count {
      ring.removeAll()
      // Nobody has to be told of one, as after most batches: their places are free, too.
      if completions == 0 {
        firstNumber &+= UInt32(truncatingIfNeeded: ended)
        (ended, unsent) = (0, 0)
        return entries.removeAll()
      }
    }
    var removed = 0
    while removed < ended, !entries[entries.head].isWaiting {
      entries.removeFirst()
      removed &+= 1
    }
    firstNumber &+= UInt32(truncatingIfNeeded: removed)
    ended &-= removed
    unsent = max(0, unsent &- removed)
  }

  /// The connection is over. What was sent and not confirmed is unknown, or is sent again; what belongs to a transaction,
  /// or acknowledges a message, means nothing on another connection.
  mutating func connectionEnded() {
    for index in 0..<entries.count {
      let slot = entries.slot(at: index)
      let entry = entries[slot]
      let isOfConnection = entry.transaction != 0 || entry.kind != .send
      switch entry.state {
      case .ended: break
      case .sent where entry.isRepeatable && !isOfConnection:
        entries[slot].state = .queued
        entries[slot].isRepeated = true
      case .sent: mark(slot, .unknown)
      case .queued where isOfConnection: mark(slot, .connectionLost)
      case .queued: break
      }
    }
    unconfirmed = 0
    // One that is sent again comes before those behind it.
    unsent = 0
    skipSent()
    removeEnded()
  }
}
