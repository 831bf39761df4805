import Testing

@testable import Storage

/// Gives `body` a block as a plan asks for, and checks that nothing beyond it was touched.
private func withBlock(of plan: ArenaLayout, _ body: (borrowing Arena) -> Void) {
  let guardSize = 32
  let start = UnsafeMutableRawPointer.allocate(
    byteCount: plan.byteCount + guardSize, alignment: ArenaLayout.alignment)
  defer { start.deallocate() }
  start.initializeMemory(as: UInt8.self, repeating: 0xEE, count: plan.byteCount + guardSize)
  body(Arena(start: start))
  let beyond = UnsafeRawBufferPointer(start: start + plan.byteCount, count: guardSize)
  #expect(beyond.allSatisfy { $0 == 0xEE })
}

private func withRegion(_ contents: [UInt8], _ body: (inout Region) -> Void) {
  var plan = ArenaLayout()
  let place = plan.reserve(contents.count, of: UInt8.self)
  withBlock(of: plan) { block in
    var region = block.region(place)
    fill(&region, with: contents)
    body(&region)
  }
}

private func fill(_ region: inout Region, with contents: [UInt8]) {
  var bytes = region.mutableBytes
  for index in contents.indices { bytes[index] = contents[index] }
}

private func array(_ bytes: Span<UInt8>) -> [UInt8] { bytes.indices.map { bytes[$0] } }

@Suite struct MemoryPlanTests {
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

@Suite struct RegionTests {
  @Test func whatIsWrittenIsRead() {
    withRegion([9, 8, 7]) { region in
      #expect(region.count == 3)
      #expect(array(region.bytes) == [9, 8, 7])
      var bytes = region.mutableBytes
      bytes[1] = 0
      #expect(array(region.bytes) == [9, 0, 7])
    }
  }

  @Test func emptyRegion() {
    withRegion([]) { region in
      #expect(region.count == 0)
      #expect(array(region.bytes) == [])
      region.move(from: 0, to: 0, count: 0)
    }
  }

  /// Every source, target and length in a small region, most of them overlapping: against a copy.
  @Test func movesOverlapBothWays() {
    let contents = [UInt8](1...9)
    var wrong: [(Int, Int, Int)] = []
    withRegion(contents) { region in
      for count in 0...9 {
        for source in 0...9 - count {
          for target in 0...9 - count {
            fill(&region, with: contents)
            region.move(from: source, to: target, count: count)
            var expected = contents
            expected.replaceSubrange(target..<target + count, with: contents[source..<source + count])
            if array(region.bytes) != expected { wrong.append((source, target, count)) }
          }
        }
      }
    }
    #expect(wrong.isEmpty)
  }

  @Test(arguments: [
    (1, 0, 4), (0, 1, 4), (-1, 0, 1), (0, -1, 1), (0, 0, -1), (0, 0, 5), (5, 0, 0), (0, 5, 0),
  ])
  func movesOutsideTrap(source: Int, target: Int, count: Int) async {
    await #expect(processExitsWith: .failure) { [source, target, count] in
      withRegion([1, 2, 3, 4]) { $0.move(from: source, to: target, count: count) }
    }
  }
}

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

@Suite struct CounterTests {
  private func value(_ counter: Counter) -> UInt64 { UInt64(counter.high) << 32 | UInt64(counter.low) }

  @Test func startsAtZero() {
    #expect(value(Counter()) == 0)
  }

  @Test func carries() {
    var counter = Counter()
    counter.add(0xFFFF_FFFF)
    #expect(counter.high == 0 && counter.low == 0xFFFF_FFFF)
    counter.increment()
    #expect(counter.high == 1 && counter.low == 0)
    counter.add(0)
    #expect(counter.high == 1 && counter.low == 0)
  }

  @Test func addsUpLike64Bits() {
    var counter = Counter()
    var expected: UInt64 = 0
    for step in 0..<100 {
      let amount = (step &* 2_654_435_761) & 0xFFFF_FFFF
      counter.add(amount)
      expected += UInt64(amount)
    }
    #expect(expected > 0xFFFF_FFFF)
    #expect(value(counter) == expected)
  }

  /// The C face hands a counter out as a little-endian uint64_t.
  @Test func isA64BitIntegerInMemory() {
    var counter = Counter()
    counter.add(0xFFFF_FFFF)
    counter.add(0x10)
    #expect(MemoryLayout<Counter>.size == 8)
    #expect(unsafeBitCast(counter, to: UInt64.self).littleEndian == 0x1_0000_000F)
  }
}

@Suite struct CopyTests {
  @Test(arguments: 0...33)
  func copiesToTheBeginning(count: Int) {
    let source = (0..<count).map { UInt8($0 + 1) }
    var target = [UInt8](repeating: 0xEE, count: count + 3)
    var span = target.mutableSpan
    copy(source.span, into: &span)
    #expect(target == source + [0xEE, 0xEE, 0xEE])
  }

  @Test func copiesWithoutRoomToSpare() {
    var target: [UInt8] = [0, 0]
    var span = target.mutableSpan
    copy([5, 6].span, into: &span)
    #expect(target == [5, 6])
  }

  @Test func tooLittleRoomTraps() async {
    await #expect(processExitsWith: .failure) {
      var target: [UInt8] = [0]
      var span = target.mutableSpan
      copy([1, 2].span, into: &span)
    }
  }
}
