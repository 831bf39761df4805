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
    guard isJournaled, !journal.element.space.isWriting, let since = journal.element.waitingSince else {
      return nil
    }
    return since.advanced(by: journal.element.delay)
  }

  /// Whether everything that the journal is to have is durable.
  public var isJournalCurrent: Bool { isJournaled && !journal.element.space.isWriting && !hasNews }

  /// Looks for what the journal is to be told. Returns true if a commit is in `journalBlocks`, to be written where
  /// `journalRuns` says; `journalWritten` follows.
  public mutating func prepareJournal(at now: Instant) -> Bool {
    guard isJournaled, journal.element.isOpen, !journal.element.space.isWriting else { return false }
    state.outbox.considerNewMessages()
    if state.hasUrgent { state.urgent.element.considerNewMessages() }
    if connection.isUp { bindNext() }
    guard hasNews else {
      journal.element.waitingSince = nil
      journal.element.holdsAll = false
      return false
    }
    let since = journal.element.waitingSince ?? now
    journal.element.waitingSince = since
    guard since.advanced(by: journal.element.delay).isReached(at: now) else { return false }
    journal.element.waitingSince = nil
    return fillCommit()
  }

  /// The blocks of the commit.
  public var journalBlocks: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { journal.bytes { journal, use in use(journal.commit.sealed) } }
  }

  /// Computes the checksums of the blocks, which takes some 11 µs for each: what writes them can do that.
  public mutating func finishJournal() { journal.change { $0.commit.finish() } }

  /// The numbers of the blocks of the file where they go: two runs, of which the second may have none.
  public var journalRuns: (first: (block: UInt32, count: UInt32), second: (block: UInt32, count: UInt32)) {
    journal.element.space.runs
  }

  /// Handles that the commit is durable, or that it failed.
  public mutating func journalWritten(_ isDurable: Bool) {
    guard isJournaled, journal.element.space.isWriting else { return }
    journal.element.space.written(isDurable)
    told(isDurable)
    if isDurable, journal.element.isComplete { journal.element.isHealing = false }
    if !isDurable { journal.element.isHealing = true }
  }

  /// Handles that the journal has what the commit was filled with, or has not.
  private mutating func told(_ isDurable: Bool) {
    state.outbox.written(isDurable)
    if state.hasUrgent { state.urgent.element.written(isDurable) }
    if isDurable {
      journal.element.durableInboundVersion = journal.element.inboundVersion
      journal.element.holdsAll = false
      let withheld = journal.element.withheld.count
      journal.element.releasable =
        hasInboundNews ? journal.element.releasable &+ journal.element.covered : withheld
    } else if journal.element.isInboundWriting {
      journal.element.inboundVersion &-= 1
    }
    journal.element.covered = 0
    journal.element.isInboundWriting = false
  }

  /// Handles that the server has a new session. Until the journal knows, nothing leaves that would let the
  /// server use an identifier which the journal has from the old one.
  mutating func forgetSession() {
    state.outbox.considerNewMessages()
    state.outbox.forgetIdentifiers()
    if state.hasUrgent {
      state.urgent.element.considerNewMessages()
      state.urgent.element.forgetIdentifiers()
    }
    journal.element.holdsAll = hasNews
  }

  /// Whether the PUBCOMP of an identifier that the session no longer has must wait.
  var withholdsPubcomp: Bool {
    isJournaled && state.inbox.awaitingPubrel.changes != journal.element.durableInboundVersion
  }

  /// Whether one more PUBCOMP can wait for the journal.
  var journalHasRoom: Bool { !isJournaled || !journal.element.withheld.isFull }

  /// Whether PUBCOMPs that waited for the journal can be sent.
  var hasReleasable: Bool { isJournaled && journal.element.releasable > 0 }

  /// Sends the PUBCOMPs of identifiers that the journal no longer has.
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
  }

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

  /// Has what is in the oldest commit written again.
  private mutating func rewriteOldest() -> Bool {
    let space = journal.element.space
    let (one, other) = (
      state.outbox.oldestPlace.map { space.age(of: $0) } ?? 0,
      state.hasUrgent ? state.urgent.element.oldestPlace.map { space.age(of: $0) } ?? 0 : 0
    )
    if let place = journal.element.inboundPlace, space.age(of: place) >= max(one, other) {
      return tellInbound(space.next.place)
    }
    return one >= other ? state.outbox.rewriteOldest() : state.urgent.element.rewriteOldest()
  }

  /// Puts as much of the news into a commit as fits. Returns false if that is nothing, or if the ring has no
  /// room.
  private mutating func fillCommit() -> Bool {
    journal.change { $0.commit.removeAll(limit: $0.space.free) }
    let place = journal.element.space.next.place
    // What was covered by an earlier commit has to be in this one, too, so this comes first.
    var fits = !hasInboundNews || tellInbound(place)
    fits = fits && tellMessages(place)
    // Behind the messages the oldest ones are written again, as long as they keep too much of the ring.
    while fits, needsCleaning, rewriteOldest() { fits = tellMessages(place) }
    guard journal.element.commit.count > 0 else {
      told(false)
      return false
    }
    journal.element.isComplete = fits
    journal.element.covered = journal.element.withheld.count &- journal.element.releasable
    // What a failed commit had may be nowhere else than before it.
    let isPinned = journal.element.isHealing && !fits
    let age = oldestAge
    journal.change {
      $0.space.write(&$0.commit, head: isPinned ? $0.space.head : $0.space.position(age: age))
    }
    return true
  }

  private mutating func tellInbound(_ place: UInt32) -> Bool {
    journal.change { $0.tellInbound(state.inbox.awaitingPubrel, place: place) }
  }

  private mutating func tellMessages(_ place: UInt32) -> Bool {
    let second = state.expiry.seconds
    let isAll = journal.change {
      state.outbox.tell(&$0.commit, place: place, second: second, isUrgent: false)
    }
    guard isAll, state.hasUrgent else { return isAll }
    return journal.change {
      state.urgent.element.tell(&$0.commit, place: place, second: second, isUrgent: true)
    }
  }
}
