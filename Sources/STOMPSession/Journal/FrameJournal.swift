import Journal
import Storage

/// What a session has for its journal, beside what the outbox knows of its frames (`StoredMessages`): the log, and the commit
/// that is filled or written.
struct FrameJournal: ~Copyable {
  /// Taking up what an earlier process has left.
  struct Recovery: BitwiseCopyable {
    var reader: LogReader
    /// How many frames there are, once the log was read for the first time.
    var count = 0
    var isRestoring = false
    /// How many of them are back.
    var next = 0

    init(_ reader: LogReader) { self.reader = reader }
  }

  /// It is read or made before anything is written.
  var space = LogSpace.none
  var isOpen = false
  var commit: Commit
  /// How long a change may wait for others, in milliseconds.
  let delay: UInt32
  /// As long as it fails, nothing is accepted for it.
  let isStrict: Bool
  let tellsStored: Bool
  var news = JournalNews()
  /// While an earlier process' journal is taken up.
  var recovery: Recovery? = nil

  // When the next commit is written.

  /// The application waits for it: it is written at once.
  var isHurried = false
  /// When the first change was seen that is in no commit.
  var waitingSince: Instant? = nil
  /// After a failure: when the next one may be tried.
  var retryAt: Instant? = nil
  /// How many have failed since the last that is durable.
  private var failuresInARow: UInt32 = 0

  // What became of those before.

  /// The head stays where it is until all that a failed commit had is durable.
  var isHealing = false
  /// The commit that is being written has all that was new.
  var isComplete = true
  /// How many were durable, and how many of these had all that was new.
  var durableCommits: UInt32 = 0
  var wholeCommits: UInt32 = 0
  /// How many have failed, and why the last one did.
  var failedCommits: UInt32 = 0
  var lastError: Int32 = 0
  /// How many blocks there were of a commit that was being written when the process before this one ended.
  var torn: UInt32 = 0
  /// Up to which frame all are in the commit that is being written, and up to which all are durable, or have ended.
  var tellingPosition = Counter()
  var durablePosition = Counter()

  init(_ blocks: consuming Region, delay: UInt32, isStrict: Bool, tellsStored: Bool) {
    commit = Commit(blocks)
    self.delay = delay
    self.isStrict = isStrict
    self.tellsStored = tellsStored
  }

  /// How many blocks the largest commit has.
  var blockCount: UInt32 { UInt32(truncatingIfNeeded: commit.blocks.count / Block.size) }

  /// When the commit is to be written whose first change was seen at an instant. `newBytes`: how many bytes the frames have that
  /// are new.
  @_optimize(size)
  func due(_ since: Instant, newBytes: Int) -> Instant {
    if let retryAt { return retryAt }
    let isFull = !isComplete || newBytes >= commit.blocks.count
    return isFull || isHurried ? since : since.advanced(by: delay)
  }

  /// No commit is tried for a while: one has failed, or there is no room.
  @_optimize(size)
  mutating func pause(at now: Instant) {
    retryAt = now.advanced(by: Commit.pause(after: failuresInARow))
    failuresInARow &+= 1
  }

  /// There is nothing to be written, nor to wait for.
  mutating func rest(at now: Instant) {
    waitingSince = nil
    isHurried = false
    // One that lies behind would lie ahead when the clock has wrapped.
    if let retryAt, retryAt.isReached(at: now) { self.retryAt = nil }
  }

  @_optimize(size)
  mutating func failed(_ error: Int32, at now: Instant) {
    isHealing = true
    failedCommits &+= 1
    lastError = error
    news.failed(error)
    pause(at: now)
  }

  /// Returns whether everything is durable again, after a failure.
  @_optimize(size)
  mutating func succeeded() -> Bool {
    failuresInARow = 0
    retryAt = nil
    durableCommits &+= 1
    if isComplete { wholeCommits &+= 1 }
    if tellsStored { news.isStored = true }
    let isHealed = isComplete && isHealing
    if isHealed {
      isHealing = false
      news.healed()
    }
    // What a failed commit had comes behind newer frames.
    if !isHealing, durablePosition < tellingPosition { durablePosition = tellingPosition }
    return isHealed
  }

  // MARK: Recovery

  /// Where the commit begins whose records came last.
  var place: UInt32 { recovery?.reader.position.place ?? 0 }

  @_optimize(size)
  mutating func readOn() -> LogReader.Step? {
    guard var reader = recovery?.reader else { return nil }
    let step = reader.next(&commit.blocks)
    recovery?.reader = reader
    return step
  }

  func next(_ records: inout RecordReader) -> Record? { records.next(commit.blocks.bytes) }
}

/// Where the parts of a journal lie in the caller's block; none of them takes any room if there is none.
struct FrameJournalPlan: BitwiseCopyable {
  private let stored: StoredMessages.Plan
  private let slot: ArenaSlice<FrameJournal>
  private let blocks: ArenaSlice<UInt8>
  private let delay: UInt32
  private let isStrict: Bool
  private let tellsStored: Bool
  private let largestFrame: Int

  init(_ options: borrowing STOMPOptions, in layout: inout ArenaLayout) {
    let isThere = options.journalBatchBytes > 0
    stored = StoredMessages.Plan(
      messages: isThere ? options.outboxFrames : 0, descriptors: options.outboxFrames, in: &layout)
    slot = layout.reserve(isThere ? 1 : 0, of: FrameJournal.self)
    blocks = layout.reserve(options.journalBatchBytes, of: UInt8.self)
    delay = options.journalDelay
    isStrict = options.journalIsStrict
    tellsStored = options.journalTellsStored
    largestFrame = isThere ? FrameRecord.largestFrame(batchBytes: options.journalBatchBytes) : 0
  }

  func stored(in block: borrowing Arena) -> OptionalSlot<StoredMessages> {
    StoredMessages.slot(stored, in: block, largestPacket: largestFrame, reserve: 0)
  }

  func journal(in block: borrowing Arena) -> OptionalSlot<FrameJournal> {
    OptionalSlot(slot, in: block) {
      FrameJournal(block.region(blocks), delay: delay, isStrict: isStrict, tellsStored: tellsStored)
    }
  }
}
