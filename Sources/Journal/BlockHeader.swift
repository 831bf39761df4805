/// What every block begins with. docs/journal.md has the format, byte by byte.
///
/// It has two checksums: recovery reads all headers, but only those blocks whole that it needs.
struct BlockHeader: BitwiseCopyable {
  var salt: Salt
  var position: LogPosition
  /// How many blocks before the first one of this commit the oldest block lies that recovery needs.
  var head: UInt32
  /// How many blocks before the first one of this commit the last one of the commit before it lies; 0: there
  /// was none. It is more than 1 if a commit between them failed.
  var back: UInt32
  /// How many commits had failed before this one.
  var failures: UInt32
  /// Which block of its commit it is, and how many those are.
  var index: UInt16
  var count: UInt16
  /// How many bytes of records follow.
  var used: UInt16

  static var size: Int { 48 }
  static var checksumOffset: Int { 4 }
  static var bodyChecksumOffset: Int { 8 }
  static var usedOffset: Int { 44 }
  private static var magic: UInt32 { 0x4B42_5153 }  // "SQBK"

  /// Writes it to the beginning of a block, without the checksums.
  @inline(never)
  @_optimize(size)
  func encode(into block: inout MutableSpan<UInt8>) {
    block.put(Self.magic, at: 0)
    block.put(salt.low, at: 12)
    block.put(salt.high, at: 16)
    block.put(position.lap, at: 20)
    block.put(position.place, at: 24)
    block.put(head, at: 28)
    block.put(back, at: 32)
    block.put(failures, at: 36)
    block.put(index, at: 40)
    block.put(count, at: 42)
    block.put(used, at: Self.usedOffset)
    block.put(UInt16(0), at: 46)
  }

  /// Returns the checksum of a header, which covers the body's as well.
  @_optimize(size)
  static func checksum(of block: Span<UInt8>) -> UInt32 {
    CRC32C.checksum(
      block.extracting(bodyChecksumOffset..<size),
      after: CRC32C.checksum(block.extracting(0..<checksumOffset)))
  }

  /// Whether it was written before another one. After a failure, positions are used again; the count of failures
  /// never falls.
  @_optimize(size)
  func isOlder(than other: BlockHeader) -> Bool {
    failures == other.failures ? position < other.position : failures < other.failures
  }

  /// Returns whether the body of a block is as it was written.
  @_optimize(size)
  func isWhole(_ block: Span<UInt8>) -> Bool {
    block.littleEndian32(at: Self.bodyChecksumOffset)
      == CRC32C.checksum(block.extracting(Self.size..<Self.size &+ Int(used)))
  }
}

extension BlockHeader {
  /// Reads the header of a block. It returns `nil` if it is none that this library wrote, or not all of it.
  @inline(never)
  @_optimize(size)
  init?(_ block: Span<UInt8>) {
    guard block.littleEndian32(at: 0) == Self.magic,
      block.littleEndian32(at: Self.checksumOffset) == Self.checksum(of: block)
    else { return nil }
    salt = Salt(low: block.littleEndian32(at: 12), high: block.littleEndian32(at: 16))
    position = LogPosition(lap: block.littleEndian32(at: 20), place: block.littleEndian32(at: 24))
    head = block.littleEndian32(at: 28)
    back = block.littleEndian32(at: 32)
    failures = block.littleEndian32(at: 36)
    index = block.littleEndian16(at: 40)
    count = block.littleEndian16(at: 42)
    used = block.littleEndian16(at: Self.usedOffset)
    guard index < count, Int(used) <= Block.room else { return nil }
  }
}
