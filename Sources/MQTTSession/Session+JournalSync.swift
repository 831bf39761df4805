import Journal
public import Storage

/// Up to where the journal has what it is to have, for whoever wants to know or to wait.
extension Session {
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
  var nextWholeCommit: UInt32 {
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

  /// Whether everything that the journal is to have is durable.
  public var isJournalCurrent: Bool { isJournaled && !journal.element.space.isWriting && !hasNews }

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

  var acceptedPosition: Counter {
    var position = state.outbox.stored.element.lastSerial
    if state.hasUrgent { position.add(state.urgent.element.stored.element.lastSerial) }
    return position
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
