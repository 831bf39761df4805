import Journal
import MQTTSession
import MQTTWire
import Storage
import TestSupport

/// A session with a journal, in a file that is an array of bytes. A crash takes the session and leaves the
/// file.
final class JournalHarness {
  let version: ProtocolVersion
  private let configure: (inout SessionHarness.Options) -> Void
  private(set) var session: SessionHarness
  private var disk: JournalDisk
  /// What is being written.
  var pending: [(offset: Int, bytes: [UInt8])] { disk.pending }

  init(
    _ version: ProtocolVersion, blocks: UInt32 = 32,
    configure: @escaping (inout SessionHarness.Options) -> Void = { _ in }
  ) throws {
    self.version = version
    self.configure = {
      $0.journalBlocks = 4
      $0.unreleasedMaximum = 16
      configure(&$0)
    }
    disk = JournalDisk(blocks: blocks)
    session = SessionHarness(version, configure: self.configure)
    try recover()
  }

  /// After a commit that has failed, the session waits for so long that the next one may be tried.
  var pauses: UInt32 = 0
  private var now: Instant { session.now.advanced(by: pauses) }

  /// Seals a commit, if there is news. It is on its way then.
  @discardableResult
  func write() -> Bool {
    guard Self.prepare(&session.session, now, wallClock) else { return false }
    disk.write(Self.blocks(&session.session), to: session.session.journalRuns)
    return true
  }

  /// Seconds since 1970, as the system says.
  var wallClock: UInt32 = 1_800_000_000

  private static func prepare(_ session: inout Session, _ now: Instant, _ wallClock: UInt32) -> Bool {
    session.prepareJournal(at: now, wallClock: wallClock)
  }

  private static func blocks(_ session: inout Session) -> [UInt8] {
    var blocks = session.mutableJournalBlocks
    Commit.finish(&blocks)
    return session.journalBlocks.array
  }

  /// The commit is on the disk.
  func sync() {
    disk.end(arrived: true)
    session.session.journalWritten(0, at: now)
  }

  /// It is not, and perhaps a part of it is.
  func fail(arrived: Bool) {
    disk.end(arrived: arrived)
    session.session.journalWritten(5, at: now)
    pauses += 60_000
  }

  /// Everything that is new gets durable.
  func commit() {
    if !pending.isEmpty { sync() }
    while write() { sync() }
  }

  var position: (accepted: Counter, durable: Counter) { Self.position(&session.session) }
  private static func position(_ session: inout Session) -> (Counter, Counter) {
    let position = session.journalPosition()
    return (position.accepted, position.durable)
  }

  /// The process is gone, and the next one begins with what is on the disk.
  func crash(arrived: Bool = false) throws {
    disk.end(arrived: arrived)
    session = SessionHarness(version, configure: configure)
    try recover()
  }

  func damage(block: Int) { disk.damage(block: block) }

  private func recover() throws { try Self.recover(&session.session, disk, session.now, wallClock) }

  private static func recover(
    _ session: inout Session, _ disk: borrowing JournalDisk, _ now: Instant, _ wallClock: UInt32
  ) throws {
    session.beginRecovery(try disk.superblock())
    for _ in 0..<100_000 {
      switch session.recover(at: now, wallClock: wallClock) {
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
