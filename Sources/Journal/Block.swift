/// The unit of the file: what file systems and flash translation layers write as a whole anyway.
public enum Block {
  public static var size: Int { 4096 }
  /// How many bytes of records it has room for.
  public static var room: Int { size - BlockHeader.size }

  /// Computes the checksums of a block that is complete but for them. It needs nothing but the block, so that
  /// the thread which writes it can do this.
  @_optimize(size)
  public static func finish(_ block: inout MutableSpan<UInt8>) {
    let used = Int(block.span.littleEndian16(at: BlockHeader.usedOffset))
    let body = CRC32C.checksum(block.span.extracting(BlockHeader.size..<BlockHeader.size &+ used))
    block.put(body, at: BlockHeader.bodyChecksumOffset)
    block.put(BlockHeader.checksum(of: block.span), at: BlockHeader.checksumOffset)
  }
}
