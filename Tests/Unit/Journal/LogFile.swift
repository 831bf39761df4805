import Storage
import TestSupport

@testable import Journal

/// A file of a journal in memory, written as a client would write it.
final class LogFile {
  let superblock: Superblock
  var bytes: [UInt8]
  var space: LogSpace
  private let memory: Memory
  private var commit: Commit

  init(blocks: UInt32 = 16, bufferBlocks: Int = 4, salt: Salt = Salt(low: 7, high: 9)) {
    superblock = Superblock(salt: salt, blocks: blocks, owner: Salt(low: 1, high: 2))
    space = LogSpace(superblock)
    bytes = [UInt8](repeating: 0, count: (Int(blocks) + Superblock.count) * Block.size)
    memory = Memory(bufferBlocks * Block.size)
    commit = Commit(memory.region(bufferBlocks * Block.size))
  }

  /// What happens to a commit.
  enum Fate { case durable, failed, inFlight, notWritten }

  /// Writes a commit of one record of so many bytes, all alike. Returns its position.
  @discardableResult
  func write(_ value: UInt8, count: Int = 10, head: LogPosition? = nil, _ fate: Fate = .durable)
    -> LogPosition
  {
    commit.removeAll()
    space.makeRoom(for: UInt32((count + Record.headerSize + Block.room - 1) / Block.room))
    commit.begin(kind: 1, subject: UInt16(value), length: count)
    let body = [UInt8](repeating: value, count: count)
    commit.put(body.span)
    let position = space.next
    space.write(&commit, head: head ?? position)
    commit.finish()
    let sealed = commit.sealed.array
    let runs = space.runs
    let first = Int(runs.first.count) * Block.size
    if fate != .notWritten {
      put(sealed[0..<first], at: runs.first.block)
      put(sealed[first...], at: runs.second.block)
    }
    if fate != .inFlight { space.written(fate == .durable) }
    return position
  }

  private func put(_ part: ArraySlice<UInt8>, at block: UInt32) {
    let start = Int(block) * Block.size
    bytes.replaceSubrange(start..<start + part.count, with: part)
  }

  /// Damages a block of the ring.
  func damage(_ place: Int, offset: Int = 60) { bytes[(Superblock.count + place) * Block.size + offset] ^= 1 }

  /// What a reader with so many blocks of memory says: the values of the records, in order, and how many
  /// blocks are torn.
  func read(bufferBlocks: Int = 4) throws(LogReader.Mistake) -> (
    values: [UInt8], torn: UInt32, space: LogSpace
  ) {
    let memory = Memory(bufferBlocks * Block.size)
    var buffer = memory.region(bufferBlocks * Block.size)
    var reader = LogReader(superblock, capacity: UInt32(bufferBlocks))
    var values: [UInt8] = []
    for _ in 0..<10_000 {
      switch reader.next(&buffer) {
      case .read(let block, let count, let offset):
        let start = Int(block) * Block.size
        var target = buffer.mutableBytes
        for index in 0..<Int(count) * Block.size { target[offset + index] = bytes[start + index] }
        reader.wasRead()
      case .records(let range):
        var records = RecordReader(range)
        while let record = records.next(buffer.bytes) {
          let body = buffer.bytes.extracting(record.body.range).array
          precondition(record.kind == 1 && body.allSatisfy { $0 == UInt8(record.subject) })
          values.append(UInt8(record.subject))
        }
      case .end: return (values, reader.torn, reader.space)
      case .failed(let mistake): throw mistake
      }
    }
    preconditionFailure("the reader does not end")
  }
}

extension Commit {
  /// Completes the blocks, as whoever writes them does.
  mutating func finish() {
    var blocks = blocks.mutableBytes(in: 0..<blockCount * Block.size)
    Commit.finish(&blocks)
  }
}
