import Storage
import TestSupport
import Testing

@testable import Journal

/// What recovery makes of a file: what was promised, without what was being written, and never without what
/// was durable.
@Suite struct LogReaderTests {
  @Test func aNewFileHasNothing() throws {
    let found = try LogFile().read()
    #expect(found.values == [] && found.torn == 0 && found.space.free == 16)
  }

  /// A file that was made anew where another one had been may still have the blocks of that one.
  @Test func blocksOfAnotherFile() throws {
    let old = LogFile(salt: Salt(low: 1, high: 2))
    for value in UInt8(1)...9 { old.write(value) }
    let file = LogFile()
    file.bytes = old.bytes
    #expect(try file.read().values == [])
    let head = file.write(20)
    file.write(21, head: head)
    #expect(try file.read().values == [20, 21])
  }

  @Test(arguments: 1...4)
  func allThatIsNeeded(bufferBlocks: Int) throws {
    let file = LogFile(blocks: 16)
    let head = file.write(1, count: 4000)
    for value in UInt8(2)...9 { file.write(value, head: head) }
    #expect(try file.read(bufferBlocks: bufferBlocks).values == Array(1...9))
  }

  @Test func fromTheHeadOn() throws {
    let file = LogFile()
    file.write(1)
    let head = file.write(2)
    file.write(3, head: head)
    #expect(try file.read().values == [2, 3])
  }

  /// A commit goes on at the beginning of the ring, in a second run.
  @Test func aroundTheEnd() throws {
    let file = LogFile()
    for value in UInt8(1)...14 { file.write(value) }
    let head = file.write(15, count: 3 * Block.room - 8)
    file.write(16, head: head)
    let found = try file.read()
    #expect(found.values == [15, 16] && found.space.free == 12)
  }

  @Test func manyLaps() throws {
    let file = LogFile()
    for round in 0..<1000 { file.write(UInt8(round % 200)) }
    #expect(try file.read().values == [UInt8(999 % 200)])
  }

  @Test func whatWasBeingWritten() throws {
    let file = LogFile()
    file.write(1)
    let head = file.write(2)
    file.write(3, count: 3 * 4000, head: head, .inFlight)
    #expect(try file.read().values == [2, 3])
    file.damage(3)
    let found = try file.read()
    #expect(found.values == [2] && found.torn == 3)
  }

  @Test(arguments: [2, 3, 4])
  func aBlockOfItIsNotThere(place: Int) throws {
    let file = LogFile()
    file.write(1)
    let head = file.write(2)
    file.write(3, count: 3 * 4000, head: head, .inFlight)
    file.damage(place, offset: 20)
    #expect(try file.read().values == [2])
  }

  @Test func theFirstCommitOfAll() throws {
    let file = LogFile()
    file.write(1, count: 5000, .inFlight)
    file.damage(0)
    let found = try file.read()
    #expect(found.values == [] && found.torn == 2)
  }

  @Test(arguments: [0, 1, 2], [20, 60])
  func corruption(place: Int, offset: Int) throws {
    let file = LogFile()
    let head = file.write(1)
    for value in UInt8(2)...4 { file.write(value, head: head) }
    file.damage(place, offset: offset)
    #expect(throws: LogReader.Mistake.corrupt) { try file.read() }
  }

  @Test func corruptionOfTheCommitBeforeTheOneThatWasBeingWritten() throws {
    let file = LogFile()
    let head = file.write(1)
    file.write(2, head: head)
    file.write(3, head: head, .inFlight)
    file.damage(1)
    file.damage(2)
    #expect(throws: LogReader.Mistake.corrupt) { try file.read() }
  }

  @Test func whatNobodyNeedsMayBeDamaged() throws {
    let file = LogFile()
    for value in UInt8(1)...4 { file.write(value) }
    file.damage(0)
    file.damage(3, offset: 3000)
    #expect(try file.read().values == [4])
  }

  @Test func aCommitThatIsTooLong() throws {
    let file = LogFile()
    file.write(1, count: 4 * 4000)
    #expect(try file.read(bufferBlocks: 4).values == [1])
    #expect(throws: LogReader.Mistake.buffer) { try file.read(bufferBlocks: 3) }
  }

  // MARK: Commits that failed

  @Test(arguments: [LogFile.Fate.failed, .notWritten])
  func failedCommitsAreLeftOut(fate: LogFile.Fate) throws {
    let file = LogFile(blocks: 40)
    let head = file.write(1)
    file.write(2, head: head, fate)
    file.write(3, count: 5000, head: head, fate)
    file.write(4, head: head)
    file.write(5, head: head)
    file.write(6, head: head, fate)
    file.write(7, head: head)
    #expect(try file.read().values == [1, 4, 5, 7])
  }

  /// It was written, but nobody knew: it may be there.
  @Test func theLastCommitFailed() throws {
    let file = LogFile()
    let head = file.write(1)
    file.write(2, head: head, .failed)
    #expect(try file.read().values == [1, 2])
  }

  @Test func aFailedCommitBeforeTheOneThatWasBeingWritten() throws {
    let file = LogFile()
    let head = file.write(1)
    file.write(2, head: head, .failed)
    file.write(3, count: 5000, head: head, .inFlight)
    #expect(try file.read().values == [1, 3])
    file.damage(2)
    #expect(try file.read().values == [1])
  }

  @Test func afterRecoveryAsWell() throws {
    let file = LogFile()
    let head = file.write(1)
    file.write(2, count: 5000, head: head, .inFlight)
    file.damage(2)
    file.space = try file.read().space
    #expect(file.space.used(from: head) == 3)
    file.write(3, head: head)
    #expect(try file.read().values == [1, 3])
  }
}
