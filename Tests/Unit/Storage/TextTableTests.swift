import TestSupport
import Testing

@testable import Storage

/// Does each text stay what it is, wherever it moves to when others are removed?
@Suite struct TextTableTests {
  /// A table in memory of its own, beside an array of the texts.
  final class Pair {
    private let memory: UnsafeMutableRawPointer
    private var table: TextTable
    private(set) var texts: [[UInt8]?]
    let capacity: Int

    init(slots: Int, capacity: Int) {
      var layout = ArenaLayout()
      let plan = TextTable.Plan(slots: slots, bytes: capacity, in: &layout)
      memory = .allocate(byteCount: max(layout.byteCount, 1), alignment: ArenaLayout.alignment)
      memory.initializeMemory(as: UInt8.self, repeating: 1, count: layout.byteCount)
      table = TextTable(plan, in: Arena(start: memory))
      texts = [[UInt8]?](repeating: nil, count: slots)
      self.capacity = capacity
    }

    deinit { memory.deallocate() }

    var free: Int { capacity - texts.reduce(0) { $0 + ($1?.count ?? 0) } }
    var hasIndex: Bool { table.hasIndex }

    func add(_ slot: Int, _ text: [UInt8]) {
      table.add(slot, text.span, table.hash(of: text.span))
      texts[slot] = text
    }

    func remove(_ slot: Int) {
      table.remove(slot)
      texts[slot] = nil
    }

    func offset(_ slot: Int) -> Int { table.range(slot).offset }

    func find(_ text: [UInt8]) -> Int? { table.find(text.span) }

    var agrees: Bool {
      guard table.capacity == capacity, table.free == free, table.slots == texts.count else { return false }
      for (slot, text) in texts.enumerated() {
        guard let text else {
          // It can be read all the same.
          guard table.range(slot).isEmpty, table.text(slot).isEmpty else { return false }
          continue
        }
        guard array(table.text(slot)) == text, array(table.bytes.extracting(table.range(slot).range)) == text,
          let found = table.find(text.span), texts[found] == text
        else { return false }
      }
      return true
    }
  }

  @Test(arguments: [(0, 10), (1, 1), (4, 20), (16, 64), (17, 64), (17, 700), (60, 300), (60, 5000)])
  func againstAnArray(slots: Int, capacity: Int) {
    var filled = 0
    for seed in UInt64(0)..<200 {
      var random = SeededRandom(seed: seed)
      let pair = Pair(slots: slots, capacity: capacity)
      #expect(pair.hasIndex == (slots > 16))
      for step in 0..<150 where slots > 0 {
        let slot = random.below(slots)
        if pair.texts[slot] != nil {
          pair.remove(slot)
        } else if pair.free > 0 {
          let size = random.percent(20) ? pair.free : 1 + random.below(min(pair.free, 12))
          // Of two letters, so that texts are alike.
          pair.add(slot, (0..<size).map { _ in random.percent(50) ? 0x61 : 0x62 })
        }
        if pair.free == 0 { filled += 1 }
        let other: [UInt8] = (0..<random.below(8)).map { _ in random.percent(50) ? 0x61 : 0x62 }
        if !pair.agrees || (pair.find(other) != nil) != pair.texts.contains(other) {
          Issue.record("seed \(seed), step \(step)")
          return
        }
      }
    }
    #expect(filled > 100 || slots == 0 || capacity == 5000)
  }

  /// A table that is full stays so, however often a text is replaced.
  @Test(arguments: [16, 17, 40])
  func replacedInAFullTable(slots: Int) {
    let pair = Pair(slots: slots, capacity: slots * 9)
    for slot in 0..<slots { pair.add(slot, [UInt8](repeating: UInt8(slot), count: 9)) }
    for turn in 0..<1000 {
      let slot = turn * 7 % slots
      pair.remove(slot)
      #expect(pair.free == 9)
      pair.add(slot, [UInt8](repeating: UInt8(truncatingIfNeeded: turn), count: 9))
    }
    #expect(pair.agrees && pair.free == 0)
  }

  /// Adding a text moves no other one: the program may still read one of them.
  @Test func addingMovesNothing() {
    let pair = Pair(slots: 17, capacity: 200)
    for slot in 0..<10 { pair.add(slot, [UInt8](repeating: 7, count: 20)) }
    for slot in 0..<2 { pair.remove(slot) }
    let offsets = (2..<10).map { pair.offset($0) }
    for slot in 10..<12 { pair.add(slot, [UInt8](repeating: 8, count: 20)) }
    #expect((2..<10).map { pair.offset($0) } == offsets)
    #expect(pair.agrees && pair.free == 0)
  }

  /// What is closed is closed: the gaps of texts that were replaced do not come along.
  @Test func gapsOfReplacedTexts() {
    let pair = Pair(slots: 17, capacity: 160)
    for slot in 0..<8 { pair.add(slot, [UInt8](repeating: 7, count: 16)) }
    for slot in 0..<2 {
      pair.remove(slot)
      pair.add(slot, [UInt8](repeating: 8, count: 16))
    }
    // Too much for a third one: with it, all gaps go.
    pair.remove(2)
    let last = pair.offset(7)
    for slot in 3..<5 { pair.remove(slot) }
    #expect(pair.offset(7) == last)
    #expect(pair.agrees)
  }

  /// Gaps of up to a quarter of the capacity stay.
  @Test func gapsAreClosedTogether() {
    let pair = Pair(slots: 17, capacity: 160)
    for slot in 0..<8 { pair.add(slot, [UInt8](repeating: 7, count: 16)) }
    let last = pair.offset(7)
    for slot in 0..<2 { pair.remove(slot) }
    #expect(pair.offset(7) == last)
    pair.remove(2)
    #expect(pair.offset(7) == last - 60)
    #expect(pair.agrees)
  }

  /// Without an index a gap is closed at once: those before it stay where they are, those behind it move up.
  @Test(arguments: 0..<3)
  func placesAfterARemoval(index: Int) {
    let pair = Pair(slots: 3, capacity: 6)
    for (slot, text) in ["a", "bb", "ccc"].enumerated() { pair.add(slot, Array(text.utf8)) }
    #expect(pair.agrees && pair.free == 0)
    pair.remove(index)
    let expected = [[0, 2], [0, 1], [0, 1]][index]
    #expect(pair.agrees && [0, 1, 2].filter { $0 != index }.map { pair.offset($0) } == expected)
  }

  enum Misuse: String, CaseIterable, Codable, Sendable {
    case addTooMuch, addTwice, removeTwice, removeNothing

    func commit() {
      let pair = Pair(slots: 3, capacity: 4)
      pair.add(0, [1, 2])
      switch self {
      case .addTooMuch: pair.add(1, [4, 5, 6])
      case .addTwice: pair.add(0, [1])
      case .removeTwice:
        pair.remove(0)
        pair.remove(0)
      case .removeNothing: pair.remove(1)
      }
    }
  }

  @Test(arguments: Misuse.allCases)
  func wrongUseTraps(misuse: Misuse) async {
    await #expect(processExitsWith: .failure) { [misuse] in misuse.commit() }
  }
}
