public import Journal
public import Storage

/// An engine that can have a journal: it takes up what an earlier process has left, and says up to where all is durable. What
/// it wants to have written, and hears of, is a part of `ProtocolEngine`.
public protocol JournaledEngine: ProtocolEngine, ~Copyable {
  /// What is to be waited for: see `hurryJournal`.
  associatedtype JournalTarget: BitwiseCopyable

  /// Whose journal it is: that of another owner is not taken up.
  var journalOwner: Salt { get }

  // MARK: Taking up what there is

  /// Where blocks are to be read to.
  @_lifetime(&self) mutating func recoverySpace() -> MutableSpan<UInt8>
  /// Begins with a new file.
  mutating func beginJournal(_ superblock: Superblock)
  /// Begins with the file that has this superblock.
  mutating func beginRecovery(_ superblock: Superblock)
  /// The blocks that were asked for are there.
  mutating func recoveryRead()
  /// Goes on as far as it gets without reading. `wallClock`: seconds since 1970, as far as the system knows.
  mutating func recover(at now: Instant, wallClock: UInt32) -> RecoveryStep
  /// Reads all of it, and takes up nothing.
  mutating func survey() -> RecoveryStep
  /// After `survey`: how it gets into another file; `nil`: that is too small.
  func move(to superblock: Superblock) -> LogMove?

  // MARK: Waiting

  /// What there is to be written is written without a delay. Returns what `isJournalDone` wants to know.
  mutating func hurryJournal() -> JournalTarget
  func isJournalDone(_ target: JournalTarget) -> Bool
  /// After a commit that failed, the next one is not tried for a while.
  var isJournalPaused: Bool { get }
  /// How many commits have failed, and why the last one did.
  var journalFailures: (count: UInt32, lastError: Int32) { get }
}
