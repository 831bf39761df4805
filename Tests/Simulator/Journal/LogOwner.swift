import Journal
import Storage
import TestSupport

/// The simplest thing that a log can be kept for: values that are set and removed. It does with the log what
/// a session does: it writes what has changed, writes again what is oldest, and moves the head on.
final class LogOwner {
  typealias Values = [UInt16: [UInt8]]

  /// The commit that is being written.
  private struct InFlight {
    var values: Values
    var dirty: Set<UInt16>
    var positions: [UInt16: LogPosition]
    var runs: [Range<Int>]
  }

  static let set: UInt8 = 1
  static let removed: UInt8 = 2

  private let memory: Memory
  private(set) var commit: Commit
  private(set) var space: LogSpace
  private let ring: Int
  private(set) var values: Values
  /// In which commit the last record of each value is, if it is still there.
  private var positions: [UInt16: LogPosition]
  private var dirty: Set<UInt16> = []
  private var inFlight: InFlight? = nil
  /// What recovery yields if nothing that was not durable arrives.
  private(set) var promised: Values
  /// What it may yield as well: commits that failed, or that are being written.
  private(set) var possible: [Values] = []
  private(set) var cleaned = 0
  /// The blocks of the file that the last commit has, and the one before it if that is not known.
  private var lastRuns: [Range<Int>]

  /// Takes up what recovery found.
  init(_ found: Recovered, bufferBlocks: Int) {
    memory = Memory(bufferBlocks * Block.size)
    commit = Commit(memory.region(bufferBlocks * Block.size))
    space = found.space
    ring = found.ring
    values = found.values
    promised = found.values
    positions = found.positions
    lastRuns = [0..<Superblock.count + found.ring]
  }

  var liveBytes: Int { values.values.reduce(0) { $0 + $1.count + Record.headerSize } }
  var isWriting: Bool { space.isWriting }
  var isDirty: Bool { !dirty.isEmpty }

  /// Returns whether a block of the file belongs to the commit that became durable last.
  func isInLastCommit(block: Int) -> Bool { lastRuns.contains { $0.contains(block) } }

  func set(_ subject: UInt16, _ value: [UInt8]) {
    values[subject] = value
    dirty.insert(subject)
  }

  func remove(_ subject: UInt16) {
    guard values.removeValue(forKey: subject) != nil else { return }
    dirty.insert(subject)
  }

  /// Seals a commit, and returns what it writes where; `nil` if there is nothing, or no room.
  func seal() -> [(offset: Int, bytes: [UInt8])]? {
    space.makeRoom(for: UInt32(commit.blocks.count / Block.size))
    commit.removeAll(limit: space.free)
    var written: Set<UInt16> = []
    for subject in dirty.sorted() where put(subject) { written.insert(subject) }
    // The oldest are written again, if they keep too much of the ring.
    let limit = UInt32(ring * 3 / 4)
    while let oldest = oldest(without: written), space.used(from: oldest.position) > limit,
      put(oldest.subject)
    {
      written.insert(oldest.subject)
      cleaned += 1
    }
    guard commit.count > 0, commit.blockCount <= space.free else { return nil }
    let head = oldest(without: written)?.position ?? space.next
    let position = space.next
    space.write(&commit, head: head)
    commit.finish()
    var after = promised
    var places = positions
    for subject in written {
      after[subject] = values[subject]
      places[subject] = values[subject] == nil ? nil : position
    }
    inFlight = InFlight(
      values: after, dirty: dirty.intersection(written), positions: places,
      runs: runs.map { $0.offset / Block.size..<($0.offset + $0.bytes.count) / Block.size })
    dirty.subtract(written)
    possible.append(after)
    return runs
  }

  private var runs: [(offset: Int, bytes: [UInt8])] {
    let bytes = commit.sealed.array
    let runs = space.runs
    let first = Int(runs.first.count) * Block.size
    let all = [(Int(runs.first.block) * Block.size, Array(bytes[0..<first]))]
    guard runs.second.count > 0 else { return all }
    return all + [(Int(runs.second.block) * Block.size, Array(bytes[first...]))]
  }

  func written(_ isDurable: Bool) {
    guard let inFlight else { return }
    self.inFlight = nil
    space.written(isDurable)
    guard isDurable else { return dirty.formUnion(inFlight.dirty) }
    promised = inFlight.values
    lastRuns = inFlight.runs
    positions = inFlight.positions
    possible = []
  }

  private func put(_ subject: UInt16) -> Bool {
    let value = values[subject]
    guard commit.fits(value?.count ?? 0) else { return false }
    commit.begin(kind: value == nil ? Self.removed : Self.set, subject: subject, length: value?.count ?? 0)
    let bytes = value ?? []
    commit.put(bytes.span)
    return true
  }

  private func oldest(without written: Set<UInt16>) -> (subject: UInt16, position: LogPosition)? {
    positions.filter { !written.contains($0.key) }.min {
      space.used(from: $0.value) > space.used(from: $1.value)
    }.map { ($0.key, $0.value) }
  }
}

/// What a reader finds in a file.
struct Recovered {
  var values: LogOwner.Values = [:]
  var positions: [UInt16: LogPosition] = [:]
  var space: LogSpace
  var ring: Int
  var torn: Int
  private let reader: LogReader

  /// Reads an image of a file. It throws what the reader reports.
  init(_ image: [UInt8], bufferBlocks: Int) throws(LogReader.Mistake) {
    guard let superblock = Self.superblock(image) else { throw .corrupt }
    let memory = Memory(bufferBlocks * Block.size)
    var buffer = memory.region(bufferBlocks * Block.size)
    var reader = LogReader(superblock, capacity: UInt32(bufferBlocks))
    reading: while true {
      switch reader.next(&buffer) {
      case .read(let block, let count, let offset):
        let start = Int(block) * Block.size
        var bytes = buffer.mutableBytes
        for index in 0..<Int(count) * Block.size { bytes[offset + index] = image[start + index] }
        reader.wasRead()
      case .records(let range):
        var records = RecordReader(range)
        while let record = records.next(buffer.bytes) {
          let body = buffer.bytes.extracting(record.body.range).array
          values[record.subject] = record.kind == LogOwner.set ? body : nil
          positions[record.subject] = record.kind == LogOwner.set ? reader.position : nil
        }
      case .end: break reading
      case .failed(let mistake): throw mistake
      }
    }
    space = reader.space
    ring = Int(superblock.blocks)
    torn = Int(reader.torn)
    self.reader = reader
  }

  /// Returns a file with another ring that has the same log; `nil`: that ring is too small.
  func moved(_ image: [UInt8], to superblock: Superblock, bufferBlocks: Int) -> [UInt8]? {
    guard var move = LogMove(reader, to: superblock, spare: UInt32(bufferBlocks)) else { return nil }
    var result = Self.file(superblock)
    while let (from, to, count) = move.next(capacity: UInt32(bufferBlocks)) {
      var blocks = Array(image[Int(from) * Block.size..<Int(from + count) * Block.size])
      var span = blocks.mutableSpan
      move.convert(&span)
      result.replaceSubrange(Int(to) * Block.size..<Int(to + count) * Block.size, with: blocks)
    }
    return result
  }

  /// A file of zeros.
  static func file(_ superblock: Superblock) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Block.size)
    var span = bytes.mutableSpan
    superblock.encode(into: &span)
    return bytes + bytes + [UInt8](repeating: 0, count: Int(superblock.blocks) * Block.size)
  }

  private static func superblock(_ image: [UInt8]) -> Superblock? {
    (try? Superblock(image.span.extracting(0..<Block.size)))
      ?? (try? Superblock(image.span.extracting(Block.size..<2 * Block.size)))
  }
}

extension Commit {
  /// Completes the blocks, as whoever writes them does.
  fileprivate mutating func finish() {
    var blocks = blocks.mutableBytes(in: 0..<blockCount * Block.size)
    Commit.finish(&blocks)
  }
}
