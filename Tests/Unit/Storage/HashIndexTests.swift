import TestSupport
import Testing

@testable import Storage

/// Does the index find each slot by its hash, whatever was added and removed?
@Suite struct HashIndexTests {
  /// An index beside the hashes of the slots that are in it.
  final class Pair {
    private let memory: Memory
    private var index: HashIndex
    var hashes: [UInt32?]

    init(count: Int, without: Int = HashIndex.slotsWithout) {
      let links = HashIndex.linkCount(for: count, without: without)
      memory = Memory(links * 2)
      index = HashIndex(links: memory.table(links, of: UInt16.self))
      hashes = [UInt32?](repeating: nil, count: count)
    }

    var isEmpty: Bool { index.isEmpty }

    func insert(_ slot: Int, _ hash: UInt32) {
      index.insert(slot, hash)
      hashes[slot] = hash
    }

    func remove(_ slot: Int) {
      guard let hash = hashes[slot] else { return }
      index.remove(slot, hash)
      hashes[slot] = nil
    }

    func removeAbsent(_ slot: Int, _ hash: UInt32) { index.remove(slot, hash) }

    func removeAll() {
      index.removeAll()
      hashes = [UInt32?](repeating: nil, count: hashes.count)
    }

    func found(_ hash: UInt32) -> [Int] {
      var found: [Int] = []
      var slot = index.first(hash, of: hashes.count)
      while let next = slot, found.count <= hashes.count {
        found.append(next)
        slot = index.next(next, of: hashes.count)
      }
      return found
    }

    /// Each slot with a hash is found by it, once; nothing is found that is not in the index.
    var agrees: Bool {
      for hash in Set(hashes.compactMap { $0 }) {
        let found = found(hash)
        guard Set(found).count == found.count, found.allSatisfy({ hashes[$0] != nil }) else { return false }
        for (slot, other) in hashes.enumerated() where other == hash && !found.contains(slot) { return false }
      }
      return true
    }
  }

  @Test(arguments: [17, 18, 32, 33, 100])
  func againstAList(count: Int) {
    for seed in UInt64(0)..<100 {
      var random = SeededRandom(seed: seed)
      let pair = Pair(count: count)
      // Of few hashes, so that chains are long; or of many, and nearly all bits.
      let hashes = random.percent(50) ? 5 : 1 << 32
      for step in 0..<200 {
        let slot = random.below(count)
        if random.percent(1) {
          pair.removeAll()
        } else if pair.hashes[slot] == nil {
          let hash = UInt32(truncatingIfNeeded: random.next() % UInt64(hashes))
          // What is not there is not removed, and nothing else in its stead.
          if random.percent(20) { pair.removeAbsent(slot, hash) }
          pair.insert(slot, hash)
        } else {
          pair.remove(slot)
        }
        if step % 10 == 0, !pair.agrees {
          Issue.record("seed \(seed), step \(step)")
          return
        }
      }
    }
  }

  /// There are as many chains as slots, so that few are in one.
  @Test(arguments: [17, 64, 65, 1000, 65_535])
  func shortChains(count: Int) {
    let pair = Pair(count: count)
    for slot in 0..<count { pair.insert(slot, UInt32(slot)) }
    let isShort = (0..<count).allSatisfy { pair.found(UInt32($0)) == [$0] }
    #expect(isShort)
  }

  /// A small table has no index, and takes no memory for one.
  @Test(arguments: [0, 1, 2, 16])
  func withoutAnIndex(count: Int) {
    #expect(HashIndex.linkCount(for: count) == 0)
    let pair = Pair(count: count)
    #expect(pair.isEmpty)
    for slot in 0..<count { pair.insert(slot, 7) }
    if count > 0 { pair.remove(0) }
    #expect(pair.found(7) == Array(0..<count) && pair.found(8) == Array(0..<count))
  }

  @Test func fromAnotherSizeOn() {
    #expect(HashIndex.linkCount(for: 64, without: 64) == 0)
    #expect(HashIndex.linkCount(for: 65, without: 64) == 65 + 128)
    #expect(HashIndex.linkCount(for: 17) == 17 + 32)
    #expect(HashIndex.linkCount(for: 32) == 32 + 32)
    #expect(HashIndex.linkCount(for: 65_535) == 65_535 + 65_536)
  }

  /// The hash that is never made.
  @Test func shortHashes() {
    #expect(TopicHash.short(0) == 0)
    #expect(TopicHash.short(0x0001_0002) == 3)
    #expect(TopicHash.short(0xFFFF_0000) == 0xFFFE && TopicHash.short(0x0000_FFFF) == 0xFFFE)
    let none: [UInt8] = []
    let text: [UInt8] = Array("foobar".utf8)
    // The test vectors of FNV-1a.
    #expect(TopicHash.of(none.span) == 0x811C_9DC5)
    #expect(TopicHash.of(text.span) == 0xBF9C_F968)
  }
}
