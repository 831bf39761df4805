public import Journal
import Storage

/// What the storage of a journal is to do next, with blocks that lie in `recoverySpace`.
public enum StorageRequest: BitwiseCopyable {
  /// Read `count` blocks from `block` on; what the storage does not have is zeros.
  case read(block: UInt32, count: UInt32, offset: Int)
  case write(block: UInt32, count: UInt32, offset: Int)
  /// Make durable what was written.
  case sync
}

/// Why a journal cannot be taken up.
public enum StorageError: Error, BitwiseCopyable {
  case system(Int32)  // the storage's own number
  case corrupt  // a block that was durable is not as it was written, or there is no journal
  case other  // it is another client's, or needs a newer library
  case size  // it is too small for this client, or has more than the client has room for
}

/// The journal of a client whose application has the storage: requests go out, and what became of them comes back. The first
/// ones take up what there is, or begin a new journal.
extension Session {
  public var isJournalOpen: Bool { !isJournaled || journal.element.isOpen }

  /// Begins with what the storage has. `superblock` is that of a journal which is begun if there is none.
  @_optimize(size)
  public mutating func openJournal(_ superblock: Superblock, leastBlocks: UInt32) {
    journal.element.storage = JournalStorage(superblock, leastBlocks: leastBlocks)
  }

  /// Returns what is to be done next: the same again until `storageDone` has been called; `nil`: nothing now.
  /// `wallClock`: seconds since 1970, as far as the application knows.
  @inline(never)
  @_optimize(size)
  public mutating func storageRequest(at now: Instant, wallClock: UInt32) -> StorageRequest? {
    guard isJournaled else { return nil }
    journal.element.storage.wallClock = wallClock
    if journal.element.storage.request == nil, prepareJournal(at: now, wallClock: wallClock) {
      Self.finish(&self)
      journal.element.storage.begin(.writing(.first), journal.element.firstRun)
    }
    journal.element.storage.isAsked = journal.element.storage.request != nil
    return journal.element.storage.request
  }

  /// Handles that the request was carried out, or why not: a number that is not 0. It throws what is wrong with the
  /// journal; then it cannot be used.
  @inline(never)
  @_optimize(size)
  public mutating func storageDone(_ error: Int32, at now: Instant) throws(StorageError) {
    guard isJournaled, journal.element.storage.isAsked else { return }
    journal.element.storage.isAsked = false
    journal.element.storage.request = nil
    switch journal.element.storage.step {
    case .writing(let part):
      guard error == 0 else { return journalWritten(error, at: now) }
      guard let (next, request) = journal.element.run(after: part) else { return journalWritten(0, at: now) }
      journal.element.storage.begin(.writing(next), request)
    default:
      guard error == 0 else { throw .system(error) }
      try goOnOpening(at: now)
    }
  }

  // MARK: Helpers

  @inline(never)
  @_optimize(size)
  private mutating func goOnOpening(at now: Instant) throws(StorageError) {
    switch journal.element.storage.step {
    case .reading(let copy):
      guard let superblock = try journal.element.superblock() else {
        guard copy == 0 else { return try beginNew() }
        return journal.element.storage.begin(.reading(1), .read(block: 1, count: 1, offset: 0))
      }
      beginRecovery(superblock)
      try recoverOn(at: now)
    case .recovering:
      recoveryRead()
      try recoverOn(at: now)
    case .creating(let copy):
      switch copy {
      case 0: journal.element.storage.begin(.creating(1), .sync)
      case 1: journal.element.storage.begin(.creating(2), .write(block: 0, count: 1, offset: 0))
      case 2: journal.element.storage.begin(.creating(3), .sync)
      default: beginJournal(journal.element.storage.superblock)
      }
    case .writing: return
    }
  }

  /// There is no superblock: a new journal is begun where there is nothing. Its copy comes first, so that block 0 is blank
  /// until there is a whole one: power may fail at any moment.
  @_optimize(size)
  private mutating func beginNew() throws(StorageError) {
    guard journal.element.storage.isBlank else { throw .corrupt }
    let superblock = journal.element.storage.superblock
    var space = recoverySpace
    var block = space._mutatingExtracting(0..<Block.size)
    superblock.encode(into: &block)
    journal.element.storage.begin(.creating(0), .write(block: 1, count: 1, offset: 0))
  }

  @_optimize(size)
  private mutating func recoverOn(at now: Instant) throws(StorageError) {
    switch recover(at: now, wallClock: journal.element.storage.wallClock) {
    case .read(let block, let count, let offset):
      journal.element.storage.begin(.recovering, .read(block: block, count: count, offset: offset))
    case .done: break
    case .failed(.corrupt): throw .corrupt
    case .failed(.size): throw .size
    }
  }

  // Static, because a span of one part of `self` counts as a hold on all of it.
  private static func finish(_ session: inout Session) {
    var blocks = session.mutableJournalBlocks
    Commit.finish(&blocks)
  }
}
