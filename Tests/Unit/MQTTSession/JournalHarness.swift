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
  /// What is on the disk.
  private(set) var file: [UInt8]
  /// What is being written.
  private(set) var pending: [(offset: Int, bytes: [UInt8])] = []

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
    var first = [UInt8](repeating: 0, count: Block.size)
    var span = first.mutableSpan
    Superblock(salt: Salt(low: 5, high: 6), blocks: blocks, owner: Salt(low: 7, high: 8)).encode(into: &span)
    file = first + first + [UInt8](repeating: 0, count: Int(blocks) * Block.size)
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
    let blocks = Self.blocks(&session.session)
    let runs = session.session.journalRuns
    let first = Int(runs.first.count) * Block.size
    pending = [(Int(runs.first.block) * Block.size, Array(blocks[0..<first]))]
    if runs.second.count > 0 {
      pending.append((Int(runs.second.block) * Block.size, Array(blocks[first...])))
    }
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
    for write in pending {
      file.replaceSubrange(write.offset..<write.offset + write.bytes.count, with: write.bytes)
    }
    pending = []
    session.session.journalWritten(0, at: now)
  }

  /// It is not, and perhaps a part of it is.
  func fail(arrived: Bool) {
    if arrived {
      for write in pending {
        file.replaceSubrange(write.offset..<write.offset + write.bytes.count, with: write.bytes)
      }
    }
    pending = []
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
    if arrived {
      for write in pending {
        file.replaceSubrange(write.offset..<write.offset + write.bytes.count, with: write.bytes)
      }
    }
    pending = []
    session = SessionHarness(version, configure: configure)
    try recover()
  }

  func damage(block: Int) { file[block * Block.size + 60] ^= 1 }

  private func recover() throws { try Self.recover(&session.session, file, session.now, wallClock) }

  private static func recover(
    _ session: inout Session, _ file: [UInt8], _ now: Instant, _ wallClock: UInt32
  ) throws {
    session.beginRecovery(try Superblock(file.span.extracting(0..<Block.size)))
    for _ in 0..<100_000 {
      switch session.recover(at: now, wallClock: wallClock) {
      case .read(let block, let count, let offset):
        var space = session.recoverySpace
        let start = Int(block) * Block.size
        for index in 0..<Int(count) * Block.size { space[offset + index] = file[start + index] }
        session.recoveryRead()
      case .done: return
      case .failed(let error): throw error
      }
    }
    preconditionFailure("recovery does not end")
  }
}
