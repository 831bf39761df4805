/// Takes a log into a ring of another size: the blocks from its head to its last commit follow each other there
/// from the first place on.
///
/// All that a block says of others is how far away they are, so its place in the ring is all that changes.
public struct LogMove: BitwiseCopyable {
  private let source: Ring
  private let salt: Salt
  private let newSalt: Salt
  private let first: LogPosition
  private let count: UInt32
  private var moved: UInt32 = 0

  /// `reader` has read the whole log. `nil`: the new ring has no room for it and `spare` blocks more.
  @_optimize(size)
  public init?(_ reader: LogReader, to superblock: Superblock, spare: UInt32) {
    source = reader.ring
    salt = reader.salt
    newSalt = superblock.salt
    (first, count) = reader.span
    guard superblock.blocks > spare, count <= superblock.blocks &- spare else { return nil }
  }

  /// The next blocks to be moved, at most `capacity`: from which block of the old file on, to which one of the new
  /// file, and how many; `nil`: all were.
  @_optimize(size)
  public func next(capacity: UInt32) -> (from: UInt32, to: UInt32, count: UInt32)? {
    guard moved < count else { return nil }
    let place = source.advanced(first, by: moved).place
    let start = UInt32(truncatingIfNeeded: Superblock.count)
    return (start &+ place, start &+ moved, min(min(capacity, count &- moved), source.count &- place))
  }

  /// Makes blocks of the new file of those that `next` named. What a commit that failed has left there may be no block of
  /// this log.
  @inline(never)
  @_optimize(size)
  public mutating func convert(_ blocks: inout MutableSpan<UInt8>) {
    for index in 0..<blocks.count / Block.size {
      var block = blocks._mutatingExtracting(index &* Block.size..<(index &+ 1) &* Block.size)
      let position = source.advanced(first, by: moved)
      if var header = BlockHeader(block.span), header.salt == salt, header.position == position {
        header.salt = newSalt
        header.position = LogPosition(lap: 0, place: moved)
        header.encode(into: &block)
        block.put(BlockHeader.checksum(of: block.span), at: BlockHeader.checksumOffset)
      } else {
        for offset in block.indices { block[offset] = 0 }
      }
      moved &+= 1
    }
  }
}
