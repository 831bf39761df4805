import Testing

@testable import Storage

/// When the owner of a `MPSCQueue` is woken up.
@Suite struct ChainEndTests {
  private let box = Box(slots: 8)

  private func put(_ wakeUp: () -> Void) {
    if let found = box.put(0) { box.queue.wakeOwner(for: found, wakeUp) }
  }

  private func wakeUps(_ puts: Int = 1) -> Int {
    var wakeUps = 0
    for _ in 0..<puts { put { wakeUps += 1 } }
    return wakeUps
  }

  @Test func oneForEachChain() {
    for _ in 0..<5 {
      #expect(wakeUps(4) == 1)
      #expect(box.takeAll().count == 4)
      #expect(box.takeAll().isEmpty)
    }
  }

  /// The owner collects between another thread's `put` and its `wakeOwner`, and later finds nothing.
  @Test func afterTheOwnerHasFoundNothing() throws {
    let found = try #require(box.put(1))
    #expect(box.takeAll() == [1])
    var wakeUps = 0
    box.queue.wakeOwner(for: found) { wakeUps += 1 }
    #expect(wakeUps == 0)
    #expect(box.takeAll() == [])
    #expect(self.wakeUps() == 1)
  }

  /// A thread is stopped in the middle: others come, and the owner.
  @Test func byAnotherThreadIfOneIsStoppedBefore() {
    put {
      #expect(wakeUps() == 1)
      #expect(wakeUps() == 0)
      #expect(box.takeAll().count == 3)
    }
    // What the first notes at last is of a chain that is gone.
    #expect(wakeUps() == 1)
  }

  @Test func notBeforeTheItemIsThere() {
    put { #expect(box.takeAll().count == 1) }
  }

  /// A note that comes so late that the number of its chain has come round: who finds the chain empty does not heed it.
  @Test func whateverIsNotedOfAnEmptyChain() throws {
    let found = try #require(box.put(0))
    let first = found.word
    var end = ChainEnd(word: first)
    #expect(end.isOfSameChain(as: found))
    end = end.woken
    #expect(end.needsWakeUp)
    #expect(!end.putting(1).needsWakeUp)
    #expect(end.putting(1).collected.needsWakeUp)
  }

  @Test func theNumberOfChainsWraps() {
    let last = ChainEnd(word: .max)
    #expect(last.newest == 0x1_FFFF)
    #expect(last.collected.word == 0)
    #expect(!last.collected.isOfSameChain(as: last))
    let largest = ChainEnd(word: 0).putting(65_536)
    #expect(largest.newest == 65_536)
    #expect(largest.isOfSameChain(as: ChainEnd(word: 0)))
    #expect(largest.collected.newest == 0)
  }
}
