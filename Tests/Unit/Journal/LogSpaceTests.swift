import Storage
import TestSupport
import Testing

@testable import Journal

@Suite struct LogSpaceTests {
  /// The head of a commit counts when that is durable, and not before.
  @Test func theRuleOfReuse() {
    let file = LogFile(blocks: 16)
    let head = file.write(1)
    for value in UInt8(2)...15 { file.write(value, head: head) }
    #expect(file.space.free == 1)
    file.write(16, .inFlight)
    #expect(file.space.free == 0)
    file.space.written(true)
    #expect(file.space.free == 15)
  }

  @Test func aFailedCommitFreesNothing() {
    let file = LogFile(blocks: 16)
    let head = file.write(1)
    file.write(2, .failed)
    #expect(file.space.free == 14)
    file.write(3, head: head)
    #expect(file.space.free == 13)
  }

  /// Other blocks come first. When none is left, those that have failed are used once more, and never those that
  /// something durable is in.
  @Test func failedBlocksAreTheLastChoice() throws {
    let file = LogFile(blocks: 16)
    let head = file.write(1)
    for _ in 0..<15 { file.write(2, count: 10, head: head, .failed) }
    #expect(file.space.free == 0)
    for value in UInt8(3)...40 {
      let position = file.write(value, head: head, .failed)
      #expect(position.place >= 1 && position.lap == 0)
      #expect(try file.read().values.first == 1)
    }
    file.write(41, head: head)
    file.write(42, head: head)
    #expect(try file.read().values == [1, 41, 42])
  }

  @Test func runs() {
    let file = LogFile(blocks: 16)
    for value in UInt8(1)...15 { file.write(value) }
    file.write(16, count: 2 * Block.room, .inFlight)
    let runs = file.space.runs
    #expect(runs.first == (17, 1) && runs.second == (2, 2))
  }

  @Test func positionsOfManyLaps() {
    let ring = Ring(count: 16)
    let last = LogPosition(lap: .max - 1, place: 15)
    let next = ring.advanced(last, by: 1)
    #expect(next == LogPosition(lap: .max, place: 0) && last < next)
    #expect(ring.before(next, by: 1) == last && ring.distance(from: last, to: next) == 1)
    #expect(ring.before(LogPosition(lap: 0, place: 3), by: 4) == nil)
    #expect(ring.distance(from: next, to: last) == nil)
    #expect(ring.distance(from: LogPosition(lap: 1, place: 3), to: LogPosition(lap: 2, place: 4)) == nil)
    #expect(ring.distance(from: LogPosition(lap: 1, place: 3), to: LogPosition(lap: 2, place: 3)) == 16)
  }
}
