public import Journal
public import Platform
public import Storage
import Transports

/// Why a journal cannot be taken up.
public enum JournalError: Error, BitwiseCopyable {
  case system(Int32)  // the system's number
  case locked  // another process, or another client, has it open
  case corrupt  // a block that was durable is not as it was written, or the file is no journal
  case other  // it is another client's, or needs a newer library
  case size  // it is too small for this client, or has more than the client has room for

  @_optimize(size)
  init(_ error: PlatformError) {
    self = error.code == SystemError.wouldBlock ? .locked : .system(error.code)
  }
}

/// What has become of `syncJournal`.
public enum JournalSync: BitwiseCopyable {
  case stored
  case timedOut
  case failed(Int32)  // the system's number
}

extension Driver where Engine: JournaledEngine & ~Copyable, Link: ~Copyable, System == Linux {
  /// Opens the journal, or makes it, and takes up what it has. It comes before the first connection, and waits for
  /// the disk. The client's session has room for a journal.
  ///
  /// The caller guarantees that nothing else uses `memory` as long as the client lives.
  @inline(never)
  @_optimize(size)
  @unsafe public mutating func openJournal(
    _ names: inout JournalNames, _ options: JournalOptions,
    in memory: UnsafeMutablePointer<BlockWriterMemory>
  ) throws(JournalError) {
    let owner = engine.journalOwner
    var file: BlockFile
    let salt = Salt(low: randomNumber(), high: randomNumber())
    let new = Superblock(salt: salt, blocks: options.blocks, owner: owner)
    if let old = try Self.open(names) {
      var superblock = try Self.superblock(of: old, owner, &engine)
      file = old
      if !options.wants(superblock.blocks),
        let moved = try Self.move(file, superblock, to: new, names, options, &engine)
      {
        // The old one, and with it its lock, stays until the new one has the name: nobody else may take it up in between.
        try Self.name(moved, &names)
        file = moved
        superblock = new
      }
      try recover(from: file, superblock)
    } else {
      file = try Self.create(names, new, replaces: false, &engine)
      try Self.name(file, &names)
      engine.beginJournal(new)
    }
    do throws(PlatformError) {
      unsafe try attach(file, in: memory, hasThread: options.hasThread) { blocks, count in
        // They belong to whoever writes them until the driver has the answer.
        var blocks = unsafe MutableSpan(
          _unsafeStart: blocks.unsafelyUnwrapped, count: Int(truncatingIfNeeded: count) &* Block.size)
        Commit.finish(&blocks)
      }
    } catch {
      throw .system(error.code)
    }
  }

  /// Waits until all that there is to be written is durable: at most `timeout` milliseconds; -1: as long as it takes. The
  /// connection goes on meanwhile; no event is released.
  @inline(never)
  @_optimize(size)
  public mutating func syncJournal(timeout: Int32) -> JournalSync {
    guard engine.hasJournal else { return .stored }
    // What other threads submitted before, as far as the outbox has room: each round takes some of it.
    for _ in 0..<Self.rounds {
      guard engine.hasWork(at: time) else { break }
      engine.takeWork(at: time)
    }
    let target = engine.hurryJournal()
    // Its application writes the journal, and is told to by the next request.
    if isCallerDriven { return engine.isJournalDone(target) ? .stored : .timedOut }
    let failures = engine.journalFailures.count
    let isOver = waitForJournal(timeout: timeout) {
      $0.isJournalDone(target) || $0.isJournalPaused
        || $0.journalFailures.count != failures
    }
    if engine.isJournalDone(target) { return .stored }
    return isOver ? .failed(engine.journalFailures.lastError) : .timedOut
  }

  /// More than it takes for the longest queue.
  private static var rounds: Int { 512 }

  // MARK: Helpers

  // Static, because what is lent of the engine is a hold on all of `self`.

  /// `nil`: there is none.
  @_optimize(size)
  private static func open(_ names: borrowing JournalNames) throws(JournalError) -> BlockFile? {
    do throws(PlatformError) {
      return try BlockFile(opening: names.path.bytes)
    } catch {
      if error.code == SystemError.noSuchFile { return nil }
      throw JournalError(error)
    }
  }

  /// Makes a file that does not have its name yet.
  @inline(never)
  @_optimize(size)
  private static func create(
    _ names: borrowing JournalNames, _ superblock: Superblock, replaces: Bool, _ engine: inout Engine
  ) throws(JournalError) -> BlockFile {
    var space = engine.recoverySpace()
    var block = space._mutatingExtracting(0..<Block.size)
    superblock.encode(into: &block)
    do throws(PlatformError) {
      return try BlockFile(
        creating: names.path.bytes, as: names.unfinished.bytes, replaces: replaces, block: &block,
        blocks: superblock.blocks)
    } catch {
      throw JournalError(error)
    }
  }

  @_optimize(size)
  private static func name(_ file: borrowing BlockFile, _ names: inout JournalNames) throws(JournalError) {
    do throws(PlatformError) {
      try name(file, names.path, &names.unfinished)
    } catch {
      BlockFile.discard(names.unfinished.bytes)
      throw JournalError(error)
    }
  }

  @_optimize(size)
  private static func name(
    _ file: borrowing BlockFile, _ path: borrowing Region, _ unfinished: inout Region
  ) throws(PlatformError) {
    var name = unfinished.mutableBytes
    try file.getName(path.bytes, insteadOf: &name)
  }

  @inline(never)
  @_optimize(size)
  private static func superblock(
    of file: borrowing BlockFile, _ owner: Salt, _ engine: inout Engine
  ) throws(JournalError) -> Superblock {
    for index in 0..<UInt32(Superblock.count) {
      var space = engine.recoverySpace()
      var block = space._mutatingExtracting(0..<Block.size)
      try read(index, of: file, into: &block)
      guard let superblock = try Self.superblock(in: block.span) else { continue }
      guard superblock.owner == owner else { throw .other }
      return superblock
    }
    throw .corrupt
  }

  /// `nil`: the block is none.
  @_optimize(size)
  private static func superblock(in block: Span<UInt8>) throws(JournalError) -> Superblock? {
    do throws(Superblock.Mistake) {
      return try Superblock(block)
    } catch {
      if case .newer = error { throw .other }
      return nil
    }
  }

  @_optimize(size)
  private static func read(
    _ block: UInt32, of file: borrowing BlockFile, into space: inout MutableSpan<UInt8>
  ) throws(JournalError) {
    do throws(PlatformError) {
      try file.read(block, into: &space)
    } catch {
      // The file is shorter than its superblock says.
      throw error.code == SystemError.endOfFile ? .corrupt : .system(error.code)
    }
  }

  @inline(never)
  @_optimize(size)
  private mutating func recover(
    from file: borrowing BlockFile, _ superblock: Superblock
  ) throws(JournalError) {
    engine.beginRecovery(superblock)
    let (now, wallClock) = (time, wallClock)
    repeat {} while try Self.goOn(&engine, from: file) { $0.recover(at: now, wallClock: wallClock) }
  }

  /// Takes the log to a new file, which does not have its name yet. `nil`: the old one is to be used further, because
  /// that did not work, or what it has does not fit.
  @inline(never)
  @_optimize(size)
  private static func move(
    _ old: borrowing BlockFile, _ superblock: Superblock, to new: Superblock,
    _ names: borrowing JournalNames, _ options: JournalOptions, _ engine: inout Engine
  ) throws(JournalError) -> BlockFile? {
    do throws(JournalError) {
      engine.beginRecovery(superblock)
      repeat {} while try goOn(&engine, from: old) { $0.survey() }
      guard let move = engine.move(to: new) else { throw .size }
      let file = try create(names, new, replaces: true, &engine)
      do throws(JournalError) {
        try copy(move, from: old, to: file, &engine)
      } catch {
        BlockFile.discard(names.unfinished.bytes)
        throw error
      }
      return file
    } catch {
      // Enough for these options is enough.
      guard superblock.blocks >= options.leastBlocks else { throw error }
      return nil
    }
  }

  @inline(never)
  @_optimize(size)
  private static func copy(
    _ move: LogMove, from old: borrowing BlockFile, to new: borrowing BlockFile, _ engine: inout Engine
  ) throws(JournalError) {
    var move = move
    let capacity = UInt32(truncatingIfNeeded: engine.recoverySpace().count / Block.size)
    while let (from, to, count) = move.next(capacity: capacity) {
      var space = engine.recoverySpace()
      var blocks = space._mutatingExtracting(0..<Int(truncatingIfNeeded: count) &* Block.size)
      try read(from, of: old, into: &blocks)
      move.convert(&blocks)
      do throws(PlatformError) {
        try new.write(blocks.span, to: to)
      } catch {
        throw .system(error.code)
      }
    }
  }

  /// Does what a step of reading asks for. Returns false if that was the last one.
  @_optimize(size)
  private static func goOn(
    _ engine: inout Engine, from file: borrowing BlockFile, _ step: (inout Engine) -> RecoveryStep
  ) throws(JournalError) -> Bool {
    switch step(&engine) {
    case .read(let block, let count, let offset):
      var space = engine.recoverySpace()
      var part = space._mutatingExtracting(offset..<offset &+ Int(truncatingIfNeeded: count) &* Block.size)
      try read(block, of: file, into: &part)
      engine.recoveryRead()
      return true
    case .done: return false
    case .failed(.corrupt): throw .corrupt
    case .failed(.size): throw .size
    }
  }
}
