public import Storage

/// The records since the last commit, in the blocks in which they will be written.
public struct Commit: ~Copyable {
  /// Recovery reads into them, before there is a commit.
  public var blocks: Region
  /// How many bytes of records it has.
  public private(set) var count = 0

  /// The caller guarantees that `blocks` has a whole number of blocks, at least one.
  @_optimize(size)
  public init(_ blocks: consuming Region) {
    precondition(blocks.count >= Block.size && blocks.count % Block.size == 0)
    capacity = blocks.count / Block.size &* Block.room
    self.blocks = blocks
  }

  /// How many bytes of records there is room for.
  public private(set) var capacity: Int

  /// How many blocks they take.
  public var blockCount: Int { (count &+ Block.room &- 1) / Block.room }

  public func fits(_ body: Int) -> Bool { body <= capacity &- count &- Record.headerSize }

  /// Adds a record whose body, of `length` bytes, follows with `put`. The caller has asked whether it `fits`.
  @_optimize(size)
  public mutating func begin(kind: UInt8, flags: UInt8 = 0, subject: UInt16, length: Int) {
    precondition(length >= 0 && fits(length))
    var header: InlineArray<8, UInt8> = [kind, flags, 0, 0, 0, 0, 0, 0]
    var bytes = header.mutableSpan
    bytes.put(subject, at: 2)
    bytes.put(UInt32(truncatingIfNeeded: length), at: 4)
    put(header.span)
  }

  @_optimize(size)
  public mutating func put(_ value: UInt16) { put(integer: value) }

  @_optimize(size)
  public mutating func put(_ value: UInt32) { put(integer: value) }

  @inline(__always)
  private mutating func put<Integer: FixedWidthInteger & BitwiseCopyable>(integer: Integer) {
    // A value has the bytes that it has in memory.
    unsafe withUnsafeBytes(of: integer) { bytes in
      put(unsafe Span(_unsafeBytes: bytes))
    }
  }

  @inline(never)
  @_optimize(size)
  public mutating func put(_ bytes: Span<UInt8>) {
    var position = 0
    while position < bytes.count {
      let offset = offset(of: count)
      let part = min(bytes.count &- position, Block.size &- offset % Block.size)
      var target = blocks.mutableBytes(in: offset..<offset &+ part)
      copy(bytes.extracting(position..<position &+ part), into: &target)
      count &+= part
      position &+= part
    }
  }

  /// Where a byte of the records is in the blocks.
  @_optimize(size)
  private func offset(of position: Int) -> Int {
    position / Block.room &* Block.size &+ BlockHeader.size &+ position % Block.room
  }

  /// Completes the blocks but for their checksums, which `finish` computes. `header` is that of the first
  /// one.
  @inline(never)
  @_optimize(size)
  mutating func seal(_ header: BlockHeader, in ring: Ring) {
    var header = header
    header.count = UInt16(truncatingIfNeeded: blockCount)
    for index in 0..<blockCount {
      let used = min(count &- index &* Block.room, Block.room)
      let start = index &* Block.size
      header.index = UInt16(truncatingIfNeeded: index)
      header.used = UInt16(truncatingIfNeeded: used)
      var block = blocks.mutableBytes(in: start..<start &+ Block.size)
      header.encode(into: &block)
      blocks.wipe(start &+ BlockHeader.size &+ used..<start &+ Block.size)
      header.position = ring.advanced(header.position, by: 1)
    }
  }

  /// The blocks that `seal` has completed.
  public var sealed: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { blocks.bytes.extracting(0..<blockCount &* Block.size) }
  }

  /// Computes the checksums of blocks that `seal` has completed. It takes some 11 µs for each; it needs nothing else,
  /// so whoever writes them can do that, in another thread.
  @_optimize(size)
  public static func finish(_ blocks: inout MutableSpan<UInt8>) {
    for index in 0..<blocks.count / Block.size {
      var block = blocks._mutatingExtracting(index &* Block.size..<(index &+ 1) &* Block.size)
      Block.finish(&block)
    }
  }

  /// Begins anew, with at most so many blocks.
  @_optimize(size)
  public mutating func removeAll(limit: UInt32 = .max) {
    count = 0
    let blocks = UInt32(truncatingIfNeeded: blocks.count / Block.size)
    capacity = Int(truncatingIfNeeded: min(blocks, limit)) &* Block.room
  }

  /// How many milliseconds the next commit has to wait after so many failures: 100, doubled each time, up to 51,200. Broken
  /// flash is not worn out further by a client that tries again and again.
  public static func pause(after failures: UInt32) -> UInt32 { 100 << min(failures, 9) }
}
