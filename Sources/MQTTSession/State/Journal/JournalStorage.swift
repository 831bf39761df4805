import Journal
import Storage

/// What a journal knows of a storage that is the application's.
struct JournalStorage: BitwiseCopyable {
  enum Step: BitwiseCopyable {
    /// The superblock, or its copy.
    case reading(UInt8)
    case recovering
    /// The copy of a new journal's superblock, a sync, the superblock, and a sync.
    case creating(UInt8)
    case writing(Part)
  }

  /// The parts of a commit: a run of blocks, another one if the ring wraps, a sync.
  enum Part: BitwiseCopyable {
    case first, second, sync
  }

  /// That of a journal which is begun if there is none.
  let superblock: Superblock
  let leastBlocks: UInt32
  private(set) var step = Step.reading(0)
  /// What was asked for, and is not done yet.
  var request: StorageRequest? = .read(block: 0, count: 1, offset: 0)
  /// The application was told of it.
  var isAsked = false
  /// There is nothing where the superblock should be.
  var isBlank = true
  var wallClock: UInt32 = 0

  @_optimize(size)
  init(_ superblock: Superblock, leastBlocks: UInt32) {
    self.superblock = superblock
    self.leastBlocks = leastBlocks
  }

  /// That of a journal whose file is the driver's.
  static var none: JournalStorage {
    var storage = JournalStorage(
      Superblock(salt: Salt(low: 0, high: 0), blocks: 0, owner: Salt(low: 0, high: 0)), leastBlocks: 0)
    storage.request = nil
    return storage
  }

  @_optimize(size)
  mutating func begin(_ step: Step, _ request: StorageRequest) {
    self.step = step
    self.request = request
    isAsked = false
  }
}

extension SessionJournal {
  /// The superblock in the first block that was read; `nil`: it is none.
  @inline(never)
  @_optimize(size)
  mutating func superblock() throws(StorageError) -> Superblock? {
    guard let superblock = try Self.superblock(in: commit.blocks.bytes(at: 0, count: Block.size)) else {
      if case .reading(0) = storage.step {
        storage.isBlank = !commit.blocks.bytes.hasOther(than: 0, in: 0..<Block.size)
      }
      return nil
    }
    guard superblock.owner == storage.superblock.owner else { throw .other }
    guard superblock.blocks >= storage.leastBlocks else { throw .size }
    return superblock
  }

  @_optimize(size)
  private static func superblock(in block: Span<UInt8>) throws(StorageError) -> Superblock? {
    do throws(Superblock.Mistake) {
      return try Superblock(block)
    } catch {
      if case .newer = error { throw .other }
      return nil
    }
  }

  /// The first run of the commit that is to be written.
  var firstRun: StorageRequest {
    let run = space.runs.first
    return .write(block: run.block, count: run.count, offset: 0)
  }

  /// What follows a part of a commit; `nil`: it is durable.
  @_optimize(size)
  func run(after part: JournalStorage.Part) -> (JournalStorage.Part, StorageRequest)? {
    let (first, second) = space.runs
    switch part {
    case .first where second.count > 0:
      return (
        .second,
        .write(
          block: second.block, count: second.count, offset: Int(truncatingIfNeeded: first.count) &* Block.size
        )
      )
    case .first, .second: return (.sync, .sync)
    case .sync: return nil
    }
  }
}

extension Span<UInt8> {
  fileprivate func hasOther(than value: UInt8, in range: Range<Int>) -> Bool {
    for index in range where self[index] != value { return true }
    return false
  }
}
