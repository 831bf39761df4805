import Testing

@testable import Storage

@Suite struct TableTests {
  struct Slot: BitwiseCopyable, Equatable {
    var offset: UInt32
    var flags: UInt8
  }

  @Test func elementsChangeInPlace() {
    var plan = ArenaLayout()
    let place = plan.reserve(3, of: Slot.self)
    withBlock(of: plan) { block in
      var table = block.table(place)
      #expect(table.count == 3)
      for slot in 0..<3 { table[slot] = Slot(offset: UInt32(slot) * 100, flags: 1) }
      table[1].flags |= 8
      table[2].offset += 7
      increment(&table[0].offset)
      #expect(table[0] == Slot(offset: 1, flags: 1))
      #expect(table[1] == Slot(offset: 100, flags: 9))
      #expect(table[2] == Slot(offset: 207, flags: 1))
    }
  }

  private func increment(_ value: inout UInt32) { value += 1 }

  /// Two tables over the same place see each other's writes: nothing is kept elsewhere.
  @Test func elementsLiveInTheBlock() {
    var plan = ArenaLayout()
    let place = plan.reserve(2, of: UInt16.self)
    withBlock(of: plan) { block in
      var table = block.table(place)
      table[0] = 0x1111
      table[1] = 0x2222
      #expect(block.table(place)[1] == 0x2222)
    }
  }

  @Test(arguments: [-1, 2, Int.max, Int.min])
  func slotsOutsideTrap(slot: Int) async {
    await #expect(processExitsWith: .failure) { [slot] in
      var plan = ArenaLayout()
      let place = plan.reserve(2, of: UInt16.self)
      withBlock(of: plan) { block in
        var table = block.table(place)
        table[slot] = 1
      }
    }
  }
}
