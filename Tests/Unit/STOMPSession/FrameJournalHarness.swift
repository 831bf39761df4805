import Journal
import Storage
import TestSupport

@testable import STOMPSession

/// A session with a journal, in a file that is an array of bytes. A crash takes the session and leaves the file.
final class FrameJournalHarness {
  private let configure: (inout STOMPHarness.Options) -> Void
  private(set) var stomp: STOMPHarness
  private var disk: JournalDisk
  /// After a commit that has failed, the session waits for so long that the next one may be tried.
  private var pauses: UInt32 = 0

  init(blocks: UInt32 = 32, configure: @escaping (inout STOMPHarness.Options) -> Void = { _ in }) throws {
    self.configure = {
      $0.journalBlocks = 4
      $0.receiptTimeout = 0
      configure(&$0)
    }
    disk = JournalDisk(blocks: blocks)
    stomp = STOMPHarness(self.configure)
    try Self.recover(&stomp.session, disk)
  }

  /// What the journal knows as now.
  var now: Instant { stomp.now.advanced(by: pauses) }
  var isWriting: Bool { !disk.pending.isEmpty }
  var position: (accepted: Counter, durable: Counter) { stomp.session.journalPosition }

  var isCurrent: Bool { stomp.session.isJournalCurrent }
  var isDrained: Bool { stomp.session.isDrained }
  var isPaused: Bool { stomp.session.isJournalPaused(at: stomp.now) }
  var deadline: Instant? { stomp.session.journalDeadline(at: now) }

  /// Writes what there is now.
  func hurry() -> Bool {
    _ = stomp.session.hurryJournal()
    return write()
  }

  func store(_ body: String, cookie: UInt64 = 0, quiet: Bool = false) -> STOMPError? {
    stomp.send(body, cookie: cookie, quiet: quiet, stored: true)
  }

  /// Seals a commit, if there is news that is due. It is on its way then.
  @discardableResult
  func write() -> Bool {
    guard stomp.session.prepareJournal(at: now) else { return false }
    disk.write(Self.blocks(&stomp.session), to: stomp.session.journalRuns)
    return true
  }

  private static func blocks(_ session: inout STOMPSession) -> [UInt8] {
    var blocks = session.journalBlocks
    Commit.finish(&blocks)
    return (0..<blocks.count).map { blocks[$0] }
  }

  /// The commit is on the disk.
  func sync() {
    disk.end(arrived: true)
    stomp.session.journalWritten(0, at: now)
  }

  /// It is not, and perhaps all of it is all the same.
  func fail(arrived: Bool) {
    disk.end(arrived: arrived)
    stomp.session.journalWritten(5, at: now)
    pauses += 60_000
  }

  /// Everything that is new gets durable.
  func commit() {
    if isWriting { sync() }
    _ = stomp.session.hurryJournal()
    while write() { sync() }
  }

  /// The process is gone, and the next one begins with what is on the disk.
  func crash(arrived: Bool = false, _ change: (inout STOMPHarness.Options) -> Void = { _ in }) throws {
    disk.end(arrived: arrived)
    stomp = STOMPHarness {
      configure(&$0)
      change(&$0)
    }
    try Self.recover(&stomp.session, disk)
  }

  func damage(block: Int) { disk.damage(block: block) }

  private static func recover(_ session: inout STOMPSession, _ disk: borrowing JournalDisk) throws {
    session.beginRecovery(try disk.superblock())
    for _ in 0..<100_000 {
      switch session.recover() {
      case .read(let block, let count, let offset):
        var space = session.recoverySpace
        disk.read(block, count, to: offset, of: &space)
        session.recoveryRead()
      case .done: return
      case .failed(let error): throw error
      }
    }
    preconditionFailure("recovery does not end")
  }
}
