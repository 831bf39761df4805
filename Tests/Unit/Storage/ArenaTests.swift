import Testing

@testable import Storage

@Suite struct ArenaTests {
  @Test func emptyPlanNeedsNothing() {
    #expect(ArenaLayout().byteCount == 0)
  }

  @Test func placesFollowEachOtherWithTheLeastPadding() {
    var plan = ArenaLayout()
    let bytes = plan.reserve(3, of: UInt8.self)
    let shorts = plan.reserve(1, of: UInt16.self)
    let longs = plan.reserve(2, of: UInt64.self)
    let byte = plan.reserve(1, of: UInt8.self)
    let vector = plan.reserve(1, of: SIMD2<UInt32>.self)
    #expect([bytes.offset, shorts.offset, longs.offset, byte.offset, vector.offset] == [0, 4, 8, 24, 32])
    #expect([bytes.count, shorts.count, longs.count, byte.count, vector.count] == [3, 1, 2, 1, 1])
    #expect(plan.byteCount == 40)
  }

  @Test func theLastPlaceEndsTheBlock() {
    var plan = ArenaLayout()
    _ = plan.reserve(1, of: UInt64.self)
    _ = plan.reserve(5, of: UInt8.self)
    #expect(plan.byteCount == 13)
  }

  @Test func noElementsNeedNoRoom() {
    var plan = ArenaLayout()
    _ = plan.reserve(8, of: UInt8.self)
    #expect(plan.reserve(0, of: UInt64.self).offset == 8)
    #expect(plan.byteCount == 8)
  }

  /// Elements lie a stride apart, which can be more than their size.
  @Test func elementsTakeTheirStride() {
    struct Padded: BitwiseCopyable {
      var long: UInt32
      var byte: UInt8
    }
    var plan = ArenaLayout()
    _ = plan.reserve(3, of: Padded.self)
    #expect(plan.byteCount == 24)
  }

  @Test func samePlanTwice() {
    func make() -> [Int] {
      var plan = ArenaLayout()
      let first = plan.reserve(100, of: UInt8.self)
      let second = plan.reserve(7, of: UInt32.self)
      return [first.offset, second.offset, plan.byteCount]
    }
    #expect(make() == make())
    #expect(make() == [0, 100, 128])
  }

  @Test func everythingCarvedIsAlignedAndApart() {
    var plan = ArenaLayout()
    let first = plan.reserve(5, of: UInt8.self)
    let table = plan.reserve(3, of: UInt32.self)
    let last = plan.reserve(2, of: UInt8.self)
    withBlock(of: plan) { block in
      var head = block.region(first)
      var middle = block.table(table)
      var tail = block.region(last)
      fill(&head, with: [1, 2, 3, 4, 5])
      for slot in 0..<middle.count { middle[slot] = 0xFFFF_FFF0 + UInt32(slot) }
      fill(&tail, with: [6, 7])
      #expect(array(head.bytes) == [1, 2, 3, 4, 5])
      #expect((0..<3).map { middle[$0] } == [0xFFFF_FFF0, 0xFFFF_FFF1, 0xFFFF_FFF2])
      #expect(array(tail.bytes) == [6, 7])
    }
  }
}
