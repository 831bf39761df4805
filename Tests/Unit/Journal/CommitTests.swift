import Storage
import TestSupport
import Testing

@testable import Journal

@Suite struct CommitTests {
  let memory = Memory(3 * Block.size)

  /// Records run across the blocks, and nothing else is in them.
  @Test func layout() {
    var commit = Commit(memory.region(2 * Block.size))
    #expect(commit.capacity == 2 * 4048 && commit.fits(8088) && !commit.fits(8089))
    commit.begin(kind: 3, flags: 4, subject: 0x0605, length: 4100)
    let body = [UInt8](repeating: 0xAB, count: 4100)
    commit.put(body.span)
    let header = BlockHeader(
      salt: Salt(low: 1, high: 2), position: LogPosition(lap: 3, place: 15), head: 5, back: 6, failures: 7,
      index: 0,
      count: 0, used: 0)
    commit.seal(header, in: Ring(count: 16))
    commit.finish()
    let blocks = commit.sealed.array
    #expect(blocks.count == 8192)
    #expect(Array(blocks[0..<4]) == "SQBK".bytes)
    #expect(
      Array(blocks[12..<48])
        == hex("01 00*3 02 00*3 03 00*3 0F 00*3 05 00*3 06 00*3 07 00*3 00 00 02 00 D0 0F 00 00"))
    #expect(Array(blocks[48..<56]) == hex("03 04 05 06 04 10 00 00"))
    #expect(blocks[56..<4096].allSatisfy { $0 == 0xAB })
    #expect(Array(blocks[4096 + 20..<4096 + 28]) == hex("04 00*3 00*4"))
    #expect(Array(blocks[4096 + 40..<4096 + 46]) == hex("01 00 02 00 3C 00"))
    #expect(blocks[4096 + 48..<4096 + 48 + 60].allSatisfy { $0 == 0xAB })
    #expect(blocks[(4096 + 48 + 60)...].allSatisfy { $0 == 0 })
  }

  @Test func whatIsNoRecordEndsThem() {
    let bytes = hex("01 00 02 00 02 00*3 AA BB 01 00 00 00 05 00*3 11 22")
    var reader = RecordReader(ByteRange(offset: 0, count: bytes.count))
    let first = reader.next(bytes.span)
    #expect(first?.kind == 1 && first?.subject == 2 && first?.body == ByteRange(offset: 8, count: 2))
    #expect(reader.next(bytes.span) == nil)
  }
}
