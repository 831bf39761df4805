public import Driver
import Journal
public import MQTTSession
import Platform
public import Storage
import Transports

/// The application has the storage of the journal.
extension Driver where Engine == MQTTEngine, Link: ~Copyable, System == Linux {
  /// What the storage is to do next begins with the first block of a journal.
  @_optimize(size)
  public mutating func openOwnStorage(_ options: JournalOptions) {
    let superblock = Superblock(
      salt: Salt(low: randomNumber(), high: randomNumber()), blocks: options.blocks,
      owner: engine.journalOwner)
    engine.session.openJournal(superblock, leastBlocks: options.leastBlocks)
  }

  public var isJournalOpen: Bool { engine.session.isJournalOpen }

  @_optimize(size)
  public mutating func storageRequest(at now: Instant, wallClock: UInt32) -> StorageRequest? {
    engine.session.storageRequest(at: now, wallClock: wallClock)
  }

  @_optimize(size)
  public mutating func storageDone(_ error: Int32, at now: Instant) throws(JournalError) {
    do throws(StorageError) {
      try engine.session.storageDone(error, at: now)
    } catch {
      throw JournalError(error)
    }
  }

  /// Where the blocks of a request lie.
  public var storageSpace: MutableSpan<UInt8> {
    @_lifetime(&self)
    mutating get { engine.session.recoverySpace }
  }
}

extension JournalError {
  @_optimize(size)
  init(_ error: StorageError) {
    switch error {
    case .system(let code): self = .system(code)
    case .corrupt: self = .corrupt
    case .other: self = .other
    case .size: self = .size
    }
  }
}
