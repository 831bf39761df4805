import Journal
import Storage
import TestSupport

/// How often something happened in the runs of the journal.
enum JournalCount: Int, CountKind {
  case commit, blocks, wrapped, cleaned, failedCommit, exhausted
  case crashState, tornState, flightState, promisedState, failedState
  case crash, moved, corruption, corruptionFound
}

/// A history of one log, on a disk that loses power at any moment: whatever is then on the disk, recovery
/// finds what was promised last, or that and the commit that was being written.
final class JournalRun {
  private(set) var counts = Counts<JournalCount>()
  private let trace: Trace
  private var random: SeededRandom
  private var ring: Int
  private let bufferBlocks: Int
  private let largest: Int
  private let failures: Int
  private var disk: Disk
  private var owner: LogOwner

  init(seed: UInt64, trace: Trace) {
    self.trace = trace
    random = SeededRandom(seed: seed)
    ring = random.pick([16, 17, 24, 40])
    bufferBlocks = random.pick([1, 2, 3, ring / 8])
    largest = random.pick([100, 1000, bufferBlocks * Block.room - Record.headerSize])
    failures = random.pick([0, 0, 5, 50, 90])
    let superblock = Superblock(
      salt: Salt(low: UInt32(truncatingIfNeeded: random.next()), high: UInt32(truncatingIfNeeded: seed)),
      blocks: UInt32(ring), owner: Salt(low: 1, high: 2))
    disk = Disk(Self.newFile(superblock, garbage: random.percent(30), &random))
    guard let empty = try? Recovered(disk.durable, bufferBlocks: bufferBlocks) else { preconditionFailure() }
    owner = LogOwner(empty, bufferBlocks: bufferBlocks)
  }

  /// A file of zeros, or one whose blocks have what was in their sectors before.
  private static func newFile(_ superblock: Superblock, garbage: Bool, _ random: inout SeededRandom)
    -> [UInt8]
  {
    let file = Recovered.file(superblock)
    let start = Superblock.count * Block.size
    return garbage ? file[..<start] + random.bytes(file.count - start) : file
  }

  func run() throws(Failure) {
    for step in 0..<random.from(20...120) {
      trace.begin(step: step)
      change()
      if random.percent(60) { try commit() }
      if random.percent(3) { try crash() }
      if random.percent(3) { try corrupt() }
    }
  }

  private func change() {
    for _ in 0..<random.from(0...6) {
      let subject = UInt16(random.below(30))
      if random.percent(35) {
        owner.remove(subject)
      } else {
        let value = random.bytes(random.percent(40) ? random.from(0...largest) : random.from(0...64))
        if owner.liveBytes + value.count < room(ring) { owner.set(subject, value) }
      }
    }
  }

  private func commit() throws(Failure) {
    guard let writes = owner.seal() else {
      if owner.isDirty { counts[.exhausted] += 1 }
      return
    }
    counts[.commit] += 1
    counts[.blocks] += owner.commit.blockCount
    if writes.count > 1 { counts[.wrapped] += 1 }
    trace("commit of \(owner.commit.blockCount) blocks")
    for write in writes {
      disk.write(write.bytes, at: write.offset)
      try checkStates(3)
    }
    if random.percent(failures) {
      trace("the sync fails")
      disk.failToSync(&random)
      owner.written(false)
      counts[.failedCommit] += 1
    } else {
      disk.sync()
      owner.written(true)
    }
    try checkStates(1)
  }

  /// Looks at what recovery makes of a few of the things that the disk may have now.
  private func checkStates(_ count: Int) throws(Failure) {
    try check(disk.allArrived)
    try check(disk.durable)
    for _ in 0..<count { try check(disk.afterPowerCut(&random)) }
  }

  @discardableResult
  private func check(_ image: [UInt8]) throws(Failure) -> Recovered {
    let found: Recovered
    do { found = try Recovered(image, bufferBlocks: bufferBlocks) } catch {
      throw Failure("recovery says \(error)")
    }
    counts[.crashState] += 1
    if found.torn > 0 { counts[.tornState] += 1 }
    if found.values == owner.promised {
      counts[.promisedState] += 1
    } else if let index = owner.possible.firstIndex(of: found.values) {
      counts[index == owner.possible.count - 1 ? .flightState : .failedState] += 1
    } else {
      throw Failure("recovery finds \(describe(found.values)), not \(describe(owner.promised))")
    }
    return found
  }

  private func describe(_ values: LogOwner.Values) -> String {
    values.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value.count)" }.joined(separator: " ")
  }

  /// The power fails, and the next process goes on with what is there.
  private func crash() throws(Failure) {
    if random.percent(70), let writes = owner.seal() {
      for write in writes { disk.write(write.bytes, at: write.offset) }
    }
    let image = random.percent(30) ? disk.allArrived : disk.afterPowerCut(&random)
    let found = try check(image)
    trace("crash: \(found.values.count) values, \(found.torn) blocks torn")
    counts[.cleaned] += owner.cleaned
    counts[.crash] += 1
    if random.percent(30), try move(image, found) { return }
    disk = Disk(image)
    owner = LogOwner(found, bufferBlocks: bufferBlocks)
  }

  /// The next process wants a ring of another size. Returns false if that has no room.
  private func move(_ image: [UInt8], _ found: Recovered) throws(Failure) -> Bool {
    let size = random.pick([16, 17, 24, 40, 64])
    guard owner.liveBytes < room(size), size != ring else { return false }
    let superblock = Superblock(
      salt: Salt(low: UInt32(truncatingIfNeeded: random.next()), high: 0), blocks: UInt32(size),
      owner: Salt(low: 1, high: 2))
    guard let other = found.moved(image, to: superblock, bufferBlocks: bufferBlocks) else { return false }
    guard let again = try? Recovered(other, bufferBlocks: bufferBlocks), again.values == found.values else {
      throw Failure("a ring of \(size) blocks has something else than that of \(ring)")
    }
    trace("from \(ring) to \(size) blocks")
    counts[.moved] += 1
    ring = size
    disk = Disk(other)
    owner = LogOwner(again, bufferBlocks: bufferBlocks)
    return true
  }

  /// Half of a ring, without the room that two commits take: so there is always room to clean.
  private func room(_ ring: Int) -> Int { (ring / 2 - 2 * bufferBlocks) * Block.room }

  /// A byte of a block that is durable changes. Either recovery says so, or nothing needed it; the last
  /// commit alone cannot be told from one that was being written.
  private func corrupt() throws(Failure) {
    guard !disk.hasPending, owner.possible.isEmpty else { return }
    var image = disk.durable
    let offset = random.from(2 * Block.size...image.count - 1)
    image[offset] ^= UInt8(1 << random.below(8))
    counts[.corruption] += 1
    do {
      let found = try Recovered(image, bufferBlocks: bufferBlocks)
      try require(
        found.values == owner.promised || owner.isInLastCommit(block: offset / Block.size),
        "a changed byte at \(offset) is not found")
    } catch let failure as Failure {
      throw failure
    } catch {
      counts[.corruptionFound] += 1
    }
  }
}
