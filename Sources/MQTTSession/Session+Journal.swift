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

  /// What there is to be written is written without a delay. Returns what `isJournalDone` wants to know when that is
  /// durable.
  @_optimize(size)
  public mutating func hurryJournal() -> JournalTarget {
    guard isJournaled else { return JournalTarget() }
    if !journal.element.space.isWriting { lookForNews() }
    guard !isJournalCurrent else { return JournalTarget() }
    journal.element.isHurried = true
    var target = JournalTarget(commits: nextWholeCommit)
    // Where each message has a number, and there is one queue, it is known up to which all are durable.
    if !state.hasUrgent, !state.outbox.hasUnconsidered {
      target.accepted = acceptedPosition
      target.inbound = state.inbox.awaitingPubrel.changes
      target.numbers = journal.element.numbers.changes
      target.firstCommit = journal.element.durableCommits
    }
    return target
  }

  /// How many whole commits are durable when what is new now is. One that is being written does not have it.
  private var nextWholeCommit: UInt32 {
    journal.element.wholeCommits &+ (journal.element.space.isWriting && journal.element.isComplete ? 2 : 1)
  }

  /// Whether everything is durable that was to be written when `hurryJournal` returned that.
  @_optimize(size)
  public func isJournalDone(_ target: JournalTarget) -> Bool {
    guard isJournaled, !isJournalCurrent else { return true }
    if Self.isReached(target.commits, by: journal.element.wholeCommits) { return true }
    // Under load no commit may ever have all that is new.
    guard let accepted = target.accepted, !journal.element.isHealing,
      Self.isReached(target.firstCommit &+ JournalTarget.patience, by: journal.element.durableCommits)
    else { return false }
    return !(journal.element.durablePosition < accepted)
      && Self.isReached(target.inbound, by: journal.element.durableInboundVersion)
      && Self.isReached(target.numbers, by: journal.element.durableNumbersVersion)
  }

  private static func isReached(_ count: UInt32, by other: UInt32) -> Bool {
    Int32(truncatingIfNeeded: other &- count) >= 0
  }

  var hasJournalNews: Bool { isJournaled && !journal.element.news.isEmpty }

  @_optimize(size)
  mutating func takeJournalEvent() -> SessionEvent? {
    let durable = journalPosition().durable
    return journal.change { $0.news.take(durable: durable) }.map { .journal($0) }
  }

  /// A commit is on its way to the disk.
  public var isJournalWriting: Bool { isJournaled && journal.element.space.isWriting }

  /// Whether everything that the journal is to have is durable.
  public var isJournalCurrent: Bool { isJournaled && !journal.element.space.isWriting && !hasNews }

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

  /// Up to which message all are durable, or have ended.
  public var durablePosition: Counter {
    isJournalCurrent ? acceptedPosition : journal.element.durablePosition
  }

  public var journalNumbers: JournalNumbers? {
    mutating get {
      guard isJournaled else { return nil }
      let position = journalPosition()
      let space = journal.element.space
      return JournalNumbers(
        accepted: position.accepted, stored: position.durable, failures: journal.element.failedCommits,
        lastError: journal.element.lastError, blocks: space.blocks, used: space.used(from: space.head),
        torn: journal.element.torn)
    }
  }

  /// How many commits have failed, and why the last one did.
  public var journalFailures: (count: UInt32, lastError: Int32) {
    isJournaled ? (journal.element.failedCommits, journal.element.lastError) : (0, 0)
  }

  /// After a commit that failed, the next one is not tried for a while.
  public var isJournalPaused: Bool {
    guard isJournaled, journal.element.isHealing, !journal.element.space.isWriting,
      let retry = journal.element.retryAt
    else { return false }
    return !retry.isReached(at: state.outbox.now)
  }

  /// Whether a packet would leave if the journal had what is new. The drop-in asks.
  @_optimize(size)
  public var isHeldByJournal: Bool {
    guard isJournaled, connection.isUp, !isJournalPaused, !journal.element.space.isWriting else {
      return false
    }
    if journal.element.holdsAll || journal.element.withheld.count > journal.element.releasable { return true }
    return (connection.quota.left > 0 && state.outbox.holdsPublish) || state.outbox.holdsAnyPubrel
  }

  /// How many messages were accepted for the journal since the program began, and up to which of them all are durable,
  /// or have ended.
  @_optimize(size)
  public mutating func journalPosition() -> (accepted: Counter, durable: Counter) {
    guard isJournaled else { return (Counter(), Counter()) }
    considerNewMessages()
    let accepted = acceptedPosition
    return (accepted, durablePosition)
  }

  /// Handles that the journal has what the commit was filled with, or has not.
  @inline(never)
  @_optimize(size)
  private mutating func told(_ isDurable: Bool) {
    state.outbox.written(isDurable)
    if state.hasUrgent { state.urgent.element.written(isDurable) }
    if isDurable {
      journal.element.durableInboundVersion = journal.element.inboundVersion
      journal.element.durableNumbersVersion = journal.element.numbersVersion
      let withheld = journal.element.withheld.count
      journal.element.releasable =
        hasInboundNews ? journal.element.releasable &+ journal.element.covered : withheld
    } else if journal.element.isInboundWriting {
      journal.element.inboundVersion &-= 1
      journal.element.numbersVersion = journal.element.durableNumbersVersion
    }
    journal.element.covered = 0
    journal.element.isInboundWriting = false
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

  private var hasNews: Bool {
    state.outbox.hasNews || (state.hasUrgent && state.urgent.element.hasNews) || hasInboundNews
  }

  /// Whether the journal has other identifiers of received messages than the session.
  var hasInboundNews: Bool {
    state.inbox.awaitingPubrel.changes != journal.element.inboundVersion
      || journal.element.numbers.changes != journal.element.numbersVersion
  }

  @_optimize(size)
  private mutating func lookForNews() {
    considerNewMessages()
    if connection.isUp { bindNext() }
  }

  @_optimize(size)
  private mutating func considerNewMessages() {
    state.outbox.considerNewMessages()
    if state.hasUrgent { state.urgent.element.considerNewMessages() }
  }

  @_optimize(size)
  private mutating func forgetNewBytes() {
    state.outbox.stored.element.newBytes = 0
    if state.hasUrgent { state.urgent.element.stored.element.newBytes = 0 }
  }

  var acceptedPosition: Counter {
    var position = state.outbox.stored.element.lastSerial
    if state.hasUrgent { position.add(state.urgent.element.stored.element.lastSerial) }
    return position
  }

  @_optimize(size)
  private mutating func refuse(_ isRefusing: Bool) {
    state.outbox.stored.element.isRefusing = isRefusing
    if state.hasUrgent { state.urgent.element.stored.element.isRefusing = isRefusing }
  }

  /// No commit is tried for a while: one has failed, or there is no room.
  @_optimize(size)
  private mutating func pause(at now: Instant) {
    journal.element.retryAt = now.advanced(by: SessionJournal.pause(after: journal.element.failures))
    journal.element.failures &+= 1
  }

  @_optimize(size)
  private mutating func bindNext() {
    let count = connection.quota.limit
    state.outbox.bindNext(count)
    if state.hasUrgent { state.urgent.element.bindNext(count) }
  }

  /// More than three quarters of the ring are in use.
  private var needsCleaning: Bool { oldestAge > journal.element.space.blocks / 4 &* 3 }

  private var oldestAge: UInt32 {
    journal.element.oldestAge(
      state.outbox.oldestPlace, state.hasUrgent ? state.urgent.element.oldestPlace : nil)
  }

  /// Adds what is in the oldest commit once more. Returns whether that worked.
  @inline(never)
  @_optimize(size)
  private mutating func tellOldest() -> Bool {
    let space = journal.element.space
    let second = state.expiry.seconds
    let (one, other) = (
      state.outbox.oldestPlace.map { space.age(of: $0) } ?? 0,
      state.hasUrgent ? state.urgent.element.oldestPlace.map { space.age(of: $0) } ?? 0 : 0
    )
    if let place = journal.element.inboundPlace, space.age(of: place) >= max(one, other) {
      return tellInbound(space.next.place)
    }
    let place = space.next.place
    return journal.change {
      one >= other
        ? state.outbox.tellOldest(&$0.commit, place: place, second: second, isUrgent: false)
        : state.urgent.element.tellOldest(&$0.commit, place: place, second: second, isUrgent: true)
    }
  }

  /// Puts as much of the news into a commit as fits. Returns false if that is nothing, or if the ring has no
  /// room.
  @inline(never)
  @_optimize(size)
  private mutating func fillCommit(_ wallClock: UInt32) -> Bool {
    journal.change {
      $0.space.makeRoom(for: UInt32(truncatingIfNeeded: $0.commit.blocks.count / Block.size))
      $0.commit.removeAll(limit: $0.space.free)
    }
    let place = journal.element.space.next.place
    // What was covered by an earlier commit has to be in this one, too, so this comes first, unless a message has waited
    // for one without the list.
    let isMessageDue = journal.element.isMessageDue && !journal.element.isHealing
    let hasInbound = hasInboundNews && !isMessageDue && tellInbound(place)
    var fits = !hasInboundNews || hasInbound
    let start = journal.element.commit.count
    // Then what a failed commit had, and the oldest messages again as long as they keep too much of the ring: news would
    // fill it up.
    while fits || isMessageDue, !hasUnsaid, needsCleaning, tellOldest() {}
    if fits || isMessageDue { fits = tellMessages(place) && fits }
    if state.outbox.hasUnconsidered || (state.hasUrgent && state.urgent.element.hasUnconsidered) {
      fits = false
    }
    journal.element.isMessageDue = !fits && hasInbound && journal.element.commit.count == start
    guard journal.element.commit.count > 0 else {
      told(false)
      return false
    }
    journal.change { $0.tellTime(wallClock) }
    journal.element.isComplete = fits
    if fits {
      journal.element.isHurried = false
      journal.element.tellingPosition = acceptedPosition
      forgetNewBytes()
    } else if !state.hasUrgent {
      journal.element.tellingPosition = state.outbox.stored.element.toldSerial
    }
    journal.element.covered =
      hasInboundNews ? 0 : journal.element.withheld.count &- journal.element.releasable
    // What a failed commit had may be nowhere else than before it.
    let isPinned =
      journal.element.isHealing && (hasUnsaid || hasInboundNews) && journal.element.space.hasCommit
    let age = oldestAge
    journal.change {
      $0.space.write(&$0.commit, head: isPinned ? $0.space.head : $0.space.position(age: age))
    }
    return true
  }

  @_optimize(size)
  private mutating func tellInbound(_ place: UInt32) -> Bool {
    journal.change { $0.tellInbound(state.inbox.awaitingPubrel, place: place) }
  }

  /// Whether the next commit begins with what a failed one had.
  private var hasUnsaid: Bool {
    state.outbox.stored.element.unsaid > 0
      || (state.hasUrgent && state.urgent.element.stored.element.unsaid > 0)
  }

  @inline(never)
  @_optimize(size)
  private mutating func tellMessages(_ place: UInt32) -> Bool {
    let second = state.expiry.seconds
    if state.hasUrgent {
      let isAll = journal.change {
        state.urgent.element.tell(&$0.commit, place: place, second: second, isUrgent: true)
      }
      guard isAll else { return false }
    }
    return journal.change {
      state.outbox.tell(&$0.commit, place: place, second: second, isUrgent: false)
    }
  }
}

/// What is durable when everything is that was new at one time: so many whole commits; or, if they are known, the messages
/// up to this one, and the lists of received messages.
public struct JournalTarget: BitwiseCopyable {
  var commits: UInt32 = 0
  var accepted: Counter? = nil
  var inbound: UInt32 = 0
  var numbers: UInt32 = 0
  /// How many commits were durable before.
  var firstCommit: UInt32 = 0

  /// After so many more, a whole one is not waited for.
  static var patience: UInt32 { 4 }

  init() {}

  init(commits: UInt32) { self.commits = commits }
}
