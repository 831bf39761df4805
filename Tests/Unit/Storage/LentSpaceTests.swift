import TestSupport
import Testing

@testable import Storage

@Suite struct LentSpaceTests {
  /// Fills with bytes that are copied, and with bytes that somebody else writes.
  @Test func filledFromTheFront() {
    var memory = [UInt8](repeating: 0xEE, count: 8)
    unsafe memory.withUnsafeMutableBytes { memory in
      var space = unsafe LentSpace(start: memory.baseAddress, size: 7).first(6)
      #expect(space.size == 6 && space.count == 0 && !space.isFull)
      let (two, many): ([UInt8], [UInt8]) = ([1, 2], [5, 6, 7, 8, 9])
      let none = space.fill(from: Span())
      let some = space.fill(from: two.span)
      #expect((none, some) == (0, 2))
      Self.write([3, 4], into: &space)
      #expect(space.count == 4 && !space.isFull)
      let rest = space.fill(from: many.span)
      #expect(rest == 2 && space.isFull)
      #expect(Self.bytes(space) == [1, 2, 3, 4, 5, 6])
      #expect(Self.room(&space) == 0)
    }
    #expect(memory == [1, 2, 3, 4, 5, 6, 0xEE, 0xEE])
  }

  @Test func restIsGivenUp() {
    var memory = [UInt8](repeating: 0xEE, count: 8)
    unsafe memory.withUnsafeMutableBytes { memory in
      var space = unsafe LentSpace(start: memory.baseAddress, size: 8)
      Self.write([1, 2, 3], into: &space)
      #expect(Self.room(&space) == 5)
      space.giveUpRest()
      #expect(space.isFull && space.size == 3)
      #expect(Self.bytes(space) == [1, 2, 3])
    }
  }

  @Test func withoutMemory() {
    var none = LentSpace()
    #expect(none.size == 0 && none.isFull)
    #expect(Self.bytes(none) == [] && Self.room(&none) == 0)
  }

  /// 32 bits hold no size of 2 GiB as a positive number.
  @Test func hugeSizes() {
    let space = unsafe LentSpace(start: nil, size: .min)
    #expect(space.size == .max)
    #expect(space.first(268_435_455).size == 268_435_455)
  }

  private static func bytes(_ space: LentSpace) -> [UInt8] {
    let bytes = space.bytes
    return (0..<bytes.count).map { bytes[$0] }
  }

  private static func room(_ space: inout LentSpace) -> Int {
    let rest = space.rest
    return rest.count
  }

  private static func write(_ bytes: [UInt8], into space: inout LentSpace) {
    do {
      var rest = space.rest
      for index in 0..<bytes.count { rest[index] = bytes[index] }
    }
    space.append(bytes.count)
  }
}
