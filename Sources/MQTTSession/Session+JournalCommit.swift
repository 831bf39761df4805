import Journal
import Storage

/// What goes into a commit, and what becomes of it.
extension Session {
  /// Puts as much of the news into a commit as fits. Returns false if that is nothing, or if the ring has no
  /// room.
  @inline(never)
  @_optimize(size)
  mutating func fillCommit(_ wallClock: UInt32) -> Bool {
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

  /// Handles that the journal has what the commit was filled with, or has not.
  @inline(never)
  @_optimize(size)
  mutating func told(_ isDurable: Bool) {
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
