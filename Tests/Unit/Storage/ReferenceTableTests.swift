import TestSupport
import Testing

@testable import Storage

@Suite struct ReferenceTableTests {
  @Test func entriesAreUsedAgain() {
    var layout = ArenaLayout()
    let slice = layout.reserve(3, of: ReferenceTable.Entry.self)
    let block = UnsafeMutableRawPointer.allocate(
      byteCount: layout.byteCount, alignment: ArenaLayout.alignment)
    defer { block.deallocate() }
    block.initializeMemory(as: UInt8.self, repeating: 0xA5, count: layout.byteCount)
    let arena = unsafe Arena(start: block)
    var table = ReferenceTable(arena.table(slice))
    let bytes: [UInt8] = [1, 2, 3, 4, 5]
    unsafe bytes.withUnsafeBytes { bytes in
      let all = unsafe LentBytes(start: bytes.baseAddress, count: 5)
      let some = unsafe LentBytes(start: bytes.baseAddress, count: 2)
      #expect(table.add(all) == 0)
      #expect(table.add(some) == 1)
      table.remove(0)
      #expect(table.add(some) == 0)
      #expect(table.add(all) == 2)
      #expect(table.add(all) == nil)
      table.remove(1)
      table.remove(0)
      #expect(table.add(all) == 0)
      #expect(table.add(some) == 1)
      #expect(table.add(some) == nil)
      #expect((0..<3).map { table.count($0) } == [5, 2, 5])
      let (last, none, tooMany) = (table.last(2, of: 2), table.last(0, of: 2), table.last(6, of: 2))
      #expect((0..<last.count).map { last[$0] } == [4, 5])
      #expect(none.count == 0 && tooMany.count == 0)
    }
  }
}
