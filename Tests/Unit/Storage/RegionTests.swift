import Testing

@testable import Storage

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
