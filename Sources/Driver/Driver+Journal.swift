public import Platform
import Storage
import Transports

/// The engine's journal: what it wants to have written goes to the system, what became of it to the engine.
extension Driver where Engine: ~Copyable, Link: ~Copyable, System: ~Copyable {
  /// Keeps the connection going until `isDone`, at most `timeout` milliseconds; -1: as long as it takes. It releases
  /// no event. False: the time is up, or the system cannot wait.
  @_optimize(size)
  public mutating func waitForJournal(timeout: Int32, until isDone: (borrowing Engine) -> Bool) -> Bool {
    var now = Instant(milliseconds: system.now())
    let end = timeout < 0 ? nil : now.advanced(by: UInt32(timeout))
    step(nil, at: now)
    while !isDone(engine) {
      if let end, end.isReached(at: now) { return false }
      var pause: UInt32 = .max
      if let end { pause = end.remaining(at: now) }
      if let deadline = nextDeadline { pause = min(pause, deadline.remaining(at: now)) }
      let result = system.wait(timeout: pause == .max ? -1 : Int32(clamping: pause))
      now = Instant(milliseconds: system.now())
      switch result {
      case .failed: return false
      case .interrupted: break
      case .ready(let readiness): step(readiness, at: now)
      }
    }
    return true
  }

  public func randomNumber() -> UInt32 { system.randomNumber() }

  /// Seconds since 1970, as far as the system knows.
  public var wallClock: UInt32 { UInt32(truncatingIfNeeded: system.wallClock()) }

  /// What the disk has done may let packets leave, so this comes before they are sent.
  @inline(never)
  mutating func serviceJournal(at now: Instant) {
    // Without a thread, a write has ended when it returns. What is left then is due at once, and comes with the next call.
    for _ in 0..<Self.commitsAtOnce {
      if let error = system.written() { engine.journalWritten(error, at: now) }
      guard engine.prepareJournal(at: now, wallClock: wallClock) else { return }
      Self.write(from: &engine, on: &system)
    }
    if let error = system.written() { engine.journalWritten(error, at: now) }
  }

  /// How many commits one call writes at most.
  private static var commitsAtOnce: Int { 16 }

  // Static, because the compiler takes a span of one part of `self` for a hold on all of it.
  @_optimize(size)
  private static func write(from engine: inout Engine, on system: inout System) {
    let runs = engine.journalRuns
    var blocks = engine.journalBlocks()
    system.write(&blocks, to: runs)
  }
}

extension Driver where Engine: ~Copyable, Link: ~Copyable, System == Linux {
  /// From now on, what the engine's journal wants to have written goes to this file.
  ///
  /// The caller guarantees that nothing else uses `memory` as long as the client lives, and that `finish` changes
  /// nothing but the blocks.
  @_optimize(size)
  @unsafe public mutating func attach(
    _ file: consuming BlockFile, in memory: UnsafeMutablePointer<BlockWriterMemory>, hasThread: Bool,
    finish: BlockFinisher
  ) throws(PlatformError) {
    unsafe try system.attach(file, in: memory, hasThread: hasThread, finish: finish)
  }
}
