import TestSupport
import Testing

@testable import Journal

@Suite struct SuperblockTests {
  let superblock = Superblock(
    salt: Salt(low: 0x0403_0201, high: 0x0807_0605), blocks: 1000, owner: Salt(low: 0x1122_3344, high: 5))

  var bytes: [UInt8] {
    var bytes = [UInt8](repeating: 0xEE, count: Block.size)
    var span = bytes.mutableSpan
    superblock.encode(into: &span)
    return bytes
  }

  /// Changes a byte and makes the checksum right again.
  func changed(_ offset: Int, _ value: UInt8) -> [UInt8] {
    var bytes = bytes
    bytes[offset] = value
    let crc = CRC32C.checksum(
      bytes.span.extracting(12..<64), after: CRC32C.checksum(bytes.span.extracting(0..<8)))
    var span = bytes.mutableSpan
    span.put(crc, at: 8)
    return bytes
  }

  /// docs/journal.md has this table.
  @Test func layout() {
    let bytes = bytes
    #expect(Array(bytes[0..<8]) == "SMQJRNL1".bytes)
    #expect(Array(bytes[12..<16]) == [1, 0, 0, 0])
    #expect(Array(bytes[16..<24]) == [1, 2, 3, 4, 5, 6, 7, 8])
    #expect(Array(bytes[24..<28]) == [0xE8, 3, 0, 0])
    #expect(Array(bytes[32..<40]) == [0x44, 0x33, 0x22, 0x11, 5, 0, 0, 0])
    #expect(bytes[40...].allSatisfy { $0 == 0 })
  }

  @Test func comesBack() throws {
    let read = try Superblock(bytes.span)
    #expect(read.salt == superblock.salt && read.owner == superblock.owner && read.blocks == 1000)
  }

  @Test func everyBitCounts() {
    for offset in 0..<64 {
      for bit in 0..<8 {
        var bytes = bytes
        bytes[offset] ^= UInt8(1 << bit)
        #expect(throws: Superblock.Mistake.unknown) { try Superblock(bytes.span) }
      }
    }
  }

  @Test func newerVersion() {
    #expect(throws: Superblock.Mistake.newer) { try Superblock(changed(12, 2).span) }
    #expect(throws: Superblock.Mistake.newer) { try Superblock(changed(15, 1).span) }
  }

  @Test(arguments: [(24, UInt8(15)), (27, 1)])
  func sizesOutOfRange(offset: Int, value: UInt8) {
    var bytes = changed(25, 0)
    #expect((try? Superblock(bytes.span)) != nil)
    bytes[offset] = value
    let crc = CRC32C.checksum(
      bytes.span.extracting(12..<64), after: CRC32C.checksum(bytes.span.extracting(0..<8)))
    var span = bytes.mutableSpan
    span.put(crc, at: 8)
    #expect(throws: Superblock.Mistake.unknown) { try Superblock(bytes.span) }
  }
}
