public import Journal
public import Storage

/// The journal: the session says which blocks are to be written and where, and hears that they are durable. It writes nothing
/// itself, and waits for nothing.
extension STOMPSession {
  public var isJournaled: Bool {
    @inline(__always) get { !journal.isEmpty }
  }

  /// When `prepareJournal` has to be called, if nothing else happens: `now`, if it has not looked at what is new; `nil`: there is
  /// nothing to be written, or a commit is being written.
  public func journalDeadline(at now: Instant) -> Instant? {
    guard isJournaled, journal.element.isOpen, !journal.element.space.isWriting, outbox.hasNews else {
      return nil
    }
    guard let since = journal.element.waitingSince else { return now }
    return journal.element.due(since, newBytes: outbox.stored.element.newBytes)
  }

  /// A commit is on its way to the disk.
  public var isJournalWriting: Bool { isJournaled && journal.element.space.isWriting }

  /// Looks for what the journal is to be told. Returns true if a commit is in `journalBlocks`, to be written where
  /// `journalRuns` says; `journalWritten` follows.
  @inline(never)
  @_optimize(size)
  public mutating func prepareJournal(at now: Instant) -> Bool {
    guard isJournaled, journal.element.isOpen, !journal.element.space.isWriting else { return false }
    guard outbox.hasNews else { return nothingIsNew(at: now) }
    let since = journal.element.waitingSince ?? now
    journal.element.waitingSince = since
    guard journal.element.due(since, newBytes: outbox.stored.element.newBytes).isReached(at: now) else {
      return false
    }
    guard fillCommit() else {
      // All of it may have ended before the journal had any of it.
      guard outbox.hasNews else { return nothingIsNew(at: now) }
      journal.element.pause(at: now)
      return false
    }
    journal.element.waitingSince = nil
    return true
  }

  /// The blocks of the commit.
  public var journalBlocks: MutableSpan<UInt8> {
    @_lifetime(&self)
    mutating get {
      journal.mutableBytes { journal, use in
        let count = journal.commit.blockCount &* Block.size
        var blocks = journal.commit.blocks.mutableBytes(in: 0..<count)
        use(&blocks)
      }
    }
  }

  /// The numbers of the blocks of the file where they go: two runs, of which the second may have none.
  public var journalRuns: (first: (block: UInt32, count: UInt32), second: (block: UInt32, count: UInt32)) {
    journal.element.space.runs
  }

  /// Handles that the commit is durable, or that it failed: with the system's number, which is not 0 then.
  @inline(never)
  @_optimize(size)
  public mutating func journalWritten(_ error: Int32, at now: Instant) {
    guard isJournaled, journal.element.space.isWriting else { return }
    let isDurable = error == 0
    journal.element.space.written(isDurable)
    outbox.written(isDurable)
    guard isDurable else {
      journal.element.failed(error, at: now)
      if journal.element.isStrict { outbox.stored.element.isRefusing = true }
      return
    }
    if journal.element.succeeded() { outbox.stored.element.isRefusing = false }
  }

  // MARK: For whoever wants to know, or to wait

  /// How many frames were accepted for the journal since the program began, and up to which of them all are durable, or have
  /// ended.
  public var journalPosition: (accepted: Counter, durable: Counter) {
    guard isJournaled else { return (Counter(), Counter()) }
    let accepted = outbox.stored.element.lastSerial
    return (accepted, isJournalCurrent ? accepted : journal.element.durablePosition)
  }

  /// Whether everything that the journal is to have is durable.
  var isJournalCurrent: Bool { !journal.element.space.isWriting && !outbox.hasNews }

  /// What there is to be written is written without a delay. Returns what `isJournalDone` wants to know.
  @_optimize(size)
  public mutating func hurryJournal() -> JournalTarget {
    guard isJournaled, !isJournalCurrent else { return JournalTarget() }
    journal.element.isHurried = true
    // A commit that is being written does not have what is new now.
    let isUnderWay = journal.element.space.isWriting && journal.element.isComplete
    return JournalTarget(
      commits: journal.element.wholeCommits &+ (isUnderWay ? 2 : 1),
      accepted: outbox.stored.element.lastSerial, firstCommit: journal.element.durableCommits)
  }

  /// Whether everything is durable that was to be written when `hurryJournal` returned that.
  @_optimize(size)
  public func isJournalDone(_ target: JournalTarget) -> Bool {
    guard isJournaled, !isJournalCurrent else { return true }
    if target.commits.isReached(by: journal.element.wholeCommits) { return true }
    // Under load no commit may ever have all that is new.
    return !journal.element.isHealing
      && (target.firstCommit &+ JournalTarget.patience).isReached(by: journal.element.durableCommits)
      && !(journal.element.durablePosition < target.accepted)
  }

  /// After a commit that failed, the next one is not tried for a while.
  public func isJournalPaused(at now: Instant) -> Bool {
    guard isJournaled, journal.element.isHealing, !journal.element.space.isWriting,
      let retry = journal.element.retryAt
    else { return false }
    return !retry.isReached(at: now)
  }

  /// How many commits have failed, and why the last one did.
  public var journalFailures: (count: UInt32, lastError: Int32) {
    isJournaled ? (journal.element.failedCommits, journal.element.lastError) : (0, 0)
  }

  /// `nil`: there is none.
  public var journalNumbers: FrameJournalNumbers? {
    guard isJournaled else { return nil }
    let space = journal.element.space
    return FrameJournalNumbers(
      accepted: journalPosition.accepted, stored: journalPosition.durable,
      failures: journal.element.failedCommits, lastError: journal.element.lastError, blocks: space.blocks,
      used: space.used(from: space.head), torn: journal.element.torn)
  }

  var hasJournalNews: Bool { isJournaled && !journal.element.news.isEmpty }

  @_optimize(size)
  mutating func takeJournalEvent() -> JournalEvent? {
    let durable = journalPosition.durable
    return journal.change { $0.news.take(durable: durable) }
  }

  // MARK: What goes into a commit

  /// Puts as much of the news into a commit as fits. Returns false if that is nothing, or if the ring has no room.
  @inline(never)
  @_optimize(size)
  private mutating func fillCommit() -> Bool {
    let largest = journal.element.blockCount
    journal.change {
      $0.space.makeRoom(for: largest)
      $0.commit.removeAll(limit: $0.space.free)
    }
    let place = journal.element.space.next.place
    // First what a failed commit had, and the oldest frames again as long as they keep too much of the ring: news would fill
    // it up.
    while outbox.stored.element.unsaid == 0, needsCleaning,
      journal.change({ outbox.tellOldest(&$0.commit, place: place) })
    {}
    let isComplete = journal.change { outbox.tell(&$0.commit, place: place) }
    guard journal.element.commit.count > 0 else {
      outbox.written(false)
      return false
    }
    journal.element.isComplete = isComplete
    if isComplete {
      journal.element.isHurried = false
      journal.element.tellingPosition = outbox.stored.element.lastSerial
      outbox.stored.element.newBytes = 0
    } else {
      journal.element.tellingPosition = outbox.stored.element.toldSerial
    }
    // What a failed commit had may be nowhere else than before it.
    let isPinned =
      journal.element.isHealing && outbox.stored.element.unsaid > 0 && journal.element.space.hasCommit
    let age = oldestAge
    journal.change {
      $0.space.write(&$0.commit, head: isPinned ? $0.space.head : $0.space.position(age: age))
    }
    return true
  }

  /// Returns false: there is nothing to be written, nor to wait for.
  private mutating func nothingIsNew(at now: Instant) -> Bool {
    journal.element.rest(at: now)
    journal.element.durablePosition = outbox.stored.element.lastSerial
    outbox.stored.element.newBytes = 0
    return false
  }

  /// More than three quarters of the ring are in use.
  private var needsCleaning: Bool { oldestAge > journal.element.space.blocks / 4 &* 3 }

  private var oldestAge: UInt32 { outbox.oldestPlace.map { journal.element.space.age(of: $0) } ?? 0 }
}

/// What is durable when everything is that was new at one time: so many whole commits; or the frames up to one.
public struct JournalTarget: BitwiseCopyable {
  var commits: UInt32 = 0
  var accepted = Counter()
  /// How many commits were durable before.
  var firstCommit: UInt32 = 0

  /// After so many more, a whole one is not waited for.
  static var patience: UInt32 { 4 }
}

/// Numbers of a journal.
public struct FrameJournalNumbers: BitwiseCopyable {
  /// How many frames were accepted for it, and up to which of them all are durable, or have ended.
  public let accepted: Counter
  public let stored: Counter
  /// How many commits have failed, and why the last one did.
  public let failures: UInt32
  public let lastError: Int32
  /// How many blocks the ring has, and how many of them recovery would need.
  public let blocks: UInt32
  public let used: UInt32
  /// How many blocks there were of a commit that was being written when the process before this one ended.
  public let torn: UInt32
}

extension UInt32 {
  /// Whether a count that wraps has come so far.
  fileprivate func isReached(by count: UInt32) -> Bool { Int32(truncatingIfNeeded: count &- self) >= 0 }
}
