public import Journal
import MQTTWire
public import Storage

/// The journal: the session says which blocks are to be written and where, and hears that they are durable.
/// It writes nothing itself, and waits for nothing.
extension Session {
  public var isJournaled: Bool {
    @inline(__always) get { Feature.hasJournal && !journal.isEmpty }
  }

  /// When `prepareJournal` has to be called, if nothing else happens; `nil`: there is nothing to be written,
  /// or a commit is being written.
  public var journalDeadline: Instant? {
    guard isJournaled, !journal.element.space.isWriting else { return nil }
    if let since = journal.element.waitingSince { return due(since) }
    // What is new has not been looked at.
    return journal.element.isOpen && hasNews ? state.outbox.now : nil
  }

  /// When the commit is to be written whose first change was seen at an instant.
  @_optimize(size)
  private func due(_ since: Instant) -> Instant {
    if let retry = journal.element.retryAt { return retry }
    var bytes = state.outbox.stored.element.newBytes
    if state.hasUrgent { bytes &+= state.urgent.element.stored.element.newBytes }
    let isFull = !journal.element.isComplete || bytes >= journal.element.commit.blocks.count
    return isFull || journal.element.isHurried ? since : since.advanced(by: journal.element.delay)
  }

  var hasJournalNews: Bool { isJournaled && !journal.element.news.isEmpty }

  @_optimize(size)
  mutating func takeJournalEvent() -> SessionEvent? {
    let durable = journalPosition().durable
    return journal.change { $0.news.take(durable: durable) }.map { .journal($0) }
  }

  /// A commit is on its way to the disk.
  public var isJournalWriting: Bool { isJournaled && journal.element.space.isWriting }

  /// Looks for what the journal is to be told. Returns true if a commit is in `journalBlocks`, to be written where
  /// `journalRuns` says; `journalWritten` follows.
  /// `wallClock`: seconds since 1970, as far as the system knows.
  @inline(never)
  @_optimize(size)
  public mutating func prepareJournal(at now: Instant, wallClock: UInt32) -> Bool {
    guard isJournaled, journal.element.isOpen, !journal.element.space.isWriting else { return false }
    // What is left of a message's time is written down.
    if state.earliestExpiry != nil { state.expiry.advance(to: now) }
    lookForNews()
    guard hasNews else { return nothingIsNew() }
    let since = journal.element.waitingSince ?? now
    journal.element.waitingSince = since
    guard due(since).isReached(at: now) else { return false }
    guard fillCommit(wallClock) else {
      // All of it may have ended before the journal had any of it.
      guard hasNews else { return nothingIsNew() }
      pause(at: now)
      return false
    }
    journal.element.waitingSince = nil
    return true
  }

  /// Returns false: there is nothing to be written, nor to wait for.
  @_optimize(size)
  private mutating func nothingIsNew() -> Bool {
    journal.element.waitingSince = nil
    journal.element.isHurried = false
    journal.element.holdsAll = false
    journal.element.durablePosition = acceptedPosition
    forgetNewBytes()
    return false
  }

  /// The blocks of the commit.
  public var journalBlocks: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { journal.bytes { journal, use in use(journal.commit.sealed) } }
  }

  /// The same, for `finish`.
  public var mutableJournalBlocks: MutableSpan<UInt8> {
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
    told(isDurable)
    guard isDurable else {
      journal.element.isHealing = true
      journal.element.failedCommits &+= 1
      journal.element.lastError = error
      journal.element.news.failed(error)
      // It has not told the old session's end, nor has it told anything else.
      journal.element.holdsUntil = nextWholeCommit
      if journal.element.isStrict { refuse(true) }
      return pause(at: now)
    }
    journal.element.failures = 0
    journal.element.retryAt = nil
    journal.element.durableCommits &+= 1
    if journal.element.isComplete {
      journal.element.wholeCommits &+= 1
      let left = Int32(truncatingIfNeeded: journal.element.holdsUntil &- journal.element.wholeCommits)
      if left <= 0 { journal.element.holdsAll = false }
    }
    if !hasNews { journal.element.holdsAll = false }
    if journal.element.tellsStored { journal.element.news.isStored = true }
    if journal.element.isComplete, journal.element.isHealing {
      journal.element.isHealing = false
      journal.element.news.healed()
      if journal.element.isStrict { refuse(false) }
    }
    // What a failed commit had comes behind newer messages.
    if !journal.element.isHealing, journal.element.durablePosition < journal.element.tellingPosition {
      journal.element.durablePosition = journal.element.tellingPosition
    }
  }

  /// Handles that the server has a new session. Until the journal knows, nothing leaves that would let the
  /// server use an identifier which the journal has from the old one.
  @inline(never)
  @_optimize(size)
  mutating func forgetSession() {
    journal.element.numbers.removeAll()
    state.outbox.considerNewMessages()
    state.outbox.forgetIdentifiers()
    if state.hasUrgent {
      state.urgent.element.considerNewMessages()
      state.urgent.element.forgetIdentifiers()
    }
    // What the commit that is being written has of them is what they were. A journal that never had a commit knows none.
    let space = journal.element.space
    journal.element.holdsAll = space.isWriting || (hasNews && space.hasCommit)
    journal.element.holdsUntil = nextWholeCommit
  }

  /// Whether the PUBCOMP of an identifier that the session no longer has must wait.
  var withholdsPubcomp: Bool {
    guard isJournaled else { return false }
    return state.inbox.awaitingPubrel.changes != journal.element.durableInboundVersion
      || journal.element.numbers.changes != journal.element.durableNumbersVersion
  }

  /// Whether one more PUBCOMP can wait for the journal.
  var journalHasRoom: Bool { !isJournaled || !journal.element.withheld.isFull }

  /// Whether PUBCOMPs that waited for the journal can be sent.
  var hasReleasable: Bool { isJournaled && journal.element.releasable > 0 }

  /// Sends the PUBCOMPs of identifiers that the journal no longer has.
  @_optimize(size)
  mutating func sendReleasable() {
    while journal.element.releasable > 0, control.hasRoom {
      let next = journal.element.withheld[at: 0]
      journal.change { $0.release() }
      appendAcknowledgement(.pubcomp, next.identifier, next.isKnown ? .success : .packetIdentifierNotFound)
    }
  }

  // MARK: Helpers

  var hasNews: Bool {
    state.outbox.hasNews || (state.hasUrgent && state.urgent.element.hasNews) || hasInboundNews
  }

  /// Whether the journal has other identifiers of received messages than the session.
  var hasInboundNews: Bool {
    state.inbox.awaitingPubrel.changes != journal.element.inboundVersion
      || journal.element.numbers.changes != journal.element.numbersVersion
  }

  @_optimize(size)
  mutating func lookForNews() {
    considerNewMessages()
    if connection.isUp { bindNext() }
  }

  @_optimize(size)
  mutating func considerNewMessages() {
    state.outbox.considerNewMessages()
    if state.hasUrgent { state.urgent.element.considerNewMessages() }
  }

  @_optimize(size)
  mutating func forgetNewBytes() {
    state.outbox.stored.element.newBytes = 0
    if state.hasUrgent { state.urgent.element.stored.element.newBytes = 0 }
  }

  @_optimize(size)
  private mutating func refuse(_ isRefusing: Bool) {
    state.outbox.stored.element.isRefusing = isRefusing
    if state.hasUrgent { state.urgent.element.stored.element.isRefusing = isRefusing }
  }

  /// No commit is tried for a while: one has failed, or there is no room.
  @_optimize(size)
  private mutating func pause(at now: Instant) {
    journal.element.retryAt = now.advanced(by: Commit.pause(after: journal.element.failures))
    journal.element.failures &+= 1
  }

  @_optimize(size)
  private mutating func bindNext() {
    let count = connection.quota.limit
    state.outbox.bindNext(count)
    if state.hasUrgent { state.urgent.element.bindNext(count) }
  }
}
