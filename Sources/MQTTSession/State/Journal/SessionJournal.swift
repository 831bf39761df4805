import Journal
import MQTTWire
import Storage

/// What a session has for its journal, beside what the outboxes know of their messages: the log, the commit
/// that is filled or written, and what waits for it.
struct SessionJournal: ~Copyable {
  /// It is read or made before anything is written; see `Session.recover`.
  var space = LogSpace.none
  var isOpen = false
  var commit: Commit
  /// How long a change may wait for others, in milliseconds.
  let delay: UInt32
  /// When the first change was seen that is in no commit.
  var waitingSince: Instant? = nil
  /// The identifiers for which PUBCOMP has to be sent, and whether they were known: see `Withheld`.
  var withheld: FixedRing<Withheld>
  /// How many of them a durable commit has, and how many more the commit that is being written.
  var releasable = 0
  var covered = 0
  /// `IdentifierSet.changes` of the identifiers that the journal has, or will have with the commit that is written.
  var inboundVersion: UInt32 = 0
  /// And of those that are durable.
  var durableInboundVersion: UInt32 = 0
  /// Where the commit begins that has them; `nil`: none has.
  var inboundPlace: UInt32? = nil
  var isInboundWriting = false
  /// The head stays where it is until all that a failed commit had is durable.
  var isHealing = false
  /// The commit that is being written has all that was new.
  var isComplete = false
  /// While an earlier process' journal is taken up.
  var recovery: Recovery? = nil
  /// Nothing is sent until what has become of the old session is durable.
  var holdsAll = false

  /// PUBCOMP waits until the journal no longer has the identifier: after a crash it would swallow the next
  /// message that comes with it.
  struct Withheld: BitwiseCopyable {
    let identifier: PacketIdentifier
    let isKnown: Bool
  }

  init(blocks: consuming Region, withheld: consuming Table<Withheld>, delay: UInt32) {
    commit = Commit(blocks)
    self.withheld = FixedRing(withheld)
    self.delay = delay
  }

  /// Keeps the PUBCOMP of an identifier until the journal no longer has it. The caller has seen that there is
  /// room.
  mutating func withhold(_ identifier: PacketIdentifier, isKnown: Bool) {
    withheld.append(Withheld(identifier: identifier, isKnown: isKnown))
  }

  mutating func release() {
    withheld.removeFirst()
    releasable &-= 1
  }

  /// Adds all identifiers to the commit. Returns false if they do not fit.
  mutating func tellInbound(_ identifiers: borrowing IdentifierSet, place: UInt32) -> Bool {
    guard commit.fits(2 &* identifiers.count) else { return false }
    commit.begin(kind: JournalRecord.Kind.inbound.rawValue, subject: 0, length: 2 &* identifiers.count)
    var cursor = 0
    while let identifier = identifiers.next(after: &cursor) { commit.put(identifier) }
    inboundVersion = identifiers.changes
    inboundPlace = place
    isInboundWriting = true
    return true
  }

  /// How many blocks before the next commit the oldest block lies that has something, given the oldest
  /// messages.
  func oldestAge(_ one: UInt32?, _ other: UInt32?) -> UInt32 {
    max(max(age(one), age(other)), age(inboundPlace))
  }

  private func age(_ place: UInt32?) -> UInt32 { place.map { space.age(of: $0) } ?? 0 }

  /// Handles that the connection is gone: the server will send its PUBRELs again.
  mutating func connectionLost() {
    while withheld.count > 0 { withheld.removeFirst() }
    releasable = 0
    covered = 0
  }
}
