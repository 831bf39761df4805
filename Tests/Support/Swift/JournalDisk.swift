import Journal
import Storage

/// The file of a journal, as an array of bytes, and the commit that is on its way there.
public struct JournalDisk {
  /// What is on the disk.
  public private(set) var file: [UInt8]
  /// What is being written.
  public private(set) var pending: [(offset: Int, bytes: [UInt8])] = []

  public init(blocks: UInt32) {
    var first = [UInt8](repeating: 0, count: Block.size)
    var span = first.mutableSpan
    Superblock(salt: Salt(low: 5, high: 6), blocks: blocks, owner: Salt(low: 7, high: 8)).encode(into: &span)
    file = first + first + [UInt8](repeating: 0, count: Int(blocks) * Block.size)
  }

  /// A commit is on its way.
  public mutating func write(
    _ blocks: [UInt8],
    to runs: (first: (block: UInt32, count: UInt32), second: (block: UInt32, count: UInt32))
  ) {
    let first = Int(runs.first.count) * Block.size
    pending = [(Int(runs.first.block) * Block.size, Array(blocks[0..<first]))]
    if runs.second.count > 0 {
      pending.append((Int(runs.second.block) * Block.size, Array(blocks[first...])))
    }
  }

  /// It is over: on the disk, or not.
  public mutating func end(arrived: Bool) {
    if arrived {
      for write in pending {
        file.replaceSubrange(write.offset..<write.offset + write.bytes.count, with: write.bytes)
      }
    }
    pending = []
  }

  public mutating func damage(block: Int) { file[block * Block.size + 60] ^= 1 }

  public func superblock() throws -> Superblock { try Superblock(file.span.extracting(0..<Block.size)) }

  public func read(_ block: UInt32, _ count: UInt32, to offset: Int, of space: inout MutableSpan<UInt8>) {
    let start = Int(block) * Block.size
    for index in 0..<Int(count) * Block.size { space[offset + index] = file[start + index] }
  }
}
