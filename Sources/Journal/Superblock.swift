/// The first and the second block of a file: what does not change as long as the file exists, twice.
///
/// Both are written when the file is made, before it gets its name, and never again. So there is always one
/// that is whole, unless the disk loses what it had promised.
public struct Superblock: BitwiseCopyable {
  public var salt: Salt
  /// How many blocks the ring has.
  public var blocks: UInt32
  /// A hash of the Client Identifier: the journal of another client is not taken up.
  public var owner: Salt

  /// How many blocks of the file come before the ring.
  public static var count: Int { 2 }
  /// Readers refuse a file that needs a newer one.
  static var version: UInt32 { 1 }
  private static var size: Int { 64 }
  private static var checksumOffset: Int { 8 }
  /// The smallest ring that the library makes, and the largest: 64 KiB and 1 GiB.
  public static var blockCounts: ClosedRange<UInt32> { 16...262_144 }

  @_optimize(size)
  public init(salt: Salt, blocks: UInt32, owner: Salt) {
    self.salt = salt
    self.blocks = blocks
    self.owner = owner
  }

  /// Why a block is no superblock of a file that can be taken up.
  public enum Mistake: Error {
    /// It is none, or it is damaged.
    case unknown
    /// A newer library has made it.
    case newer
  }

  @inline(never)
  @_optimize(size)
  public init(_ block: Span<UInt8>) throws(Mistake) {
    guard Self.begins(block), block.littleEndian32(at: Self.checksumOffset) == Self.checksum(of: block) else {
      throw .unknown
    }
    // What follows it may have another meaning in another version.
    guard block.littleEndian32(at: 12) <= Self.version else { throw .newer }
    salt = Salt(low: block.littleEndian32(at: 16), high: block.littleEndian32(at: 20))
    blocks = block.littleEndian32(at: 24)
    owner = Salt(low: block.littleEndian32(at: 32), high: block.littleEndian32(at: 36))
    guard Self.blockCounts.contains(blocks) else { throw .unknown }
  }

  /// Writes the whole block.
  @inline(never)
  @_optimize(size)
  public func encode(into block: inout MutableSpan<UInt8>) {
    for offset in 0..<Block.size { block[offset] = 0 }
    for index in 0..<Self.name.count { block[index] = Self.name[index] }
    block.put(Self.version, at: 12)
    block.put(salt.low, at: 16)
    block.put(salt.high, at: 20)
    block.put(blocks, at: 24)
    block.put(owner.low, at: 32)
    block.put(owner.high, at: 36)
    block.put(Self.checksum(of: block.span), at: Self.checksumOffset)
  }

  /// "SMQJRNL1".
  private static let name: InlineArray<8, UInt8> = [0x53, 0x4D, 0x51, 0x4A, 0x52, 0x4E, 0x4C, 0x31]

  @_optimize(size)
  private static func begins(_ block: Span<UInt8>) -> Bool {
    for index in 0..<name.count where block[index] != name[index] { return false }
    return true
  }

  @_optimize(size)
  private static func checksum(of block: Span<UInt8>) -> UInt32 {
    CRC32C.checksum(
      block.extracting(checksumOffset &+ 4..<size),
      after: CRC32C.checksum(block.extracting(0..<checksumOffset)))
  }
}
