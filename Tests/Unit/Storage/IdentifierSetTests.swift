import TestSupport
import Testing

@testable import Storage

/// Is it a set, whatever is put into it and taken out, and does it stay within its memory?
@Suite struct IdentifierSetTests {
  /// The set beside two of the standard library: all, and those that are marked.
  final class Pair {
    private let memory: Memory
    private var identifiers: IdentifierSet
    private(set) var all: Set<UInt16> = []
    private(set) var marked: Set<UInt16> = []
    /// How many it must be able to hold.
    let capacity: Int

    init(capacity: Int) {
      let slots = IdentifierSet.slotCount(for: capacity)
      self.capacity = capacity
      memory = Memory(slots * 4)
      identifiers = IdentifierSet(slots: memory.table(slots, of: UInt32.self))
    }

    /// False: there was no room, as there should not be.
    func insert(_ number: UInt16) -> Bool {
      let hadRoom = all.contains(number) || all.count < identifiers.maximum
      guard identifiers.insert(number) else { return !hadRoom }
      all.insert(number)
      marked.insert(number)
      return hadRoom
    }

    /// What is there keeps its mark; without room, nothing changes.
    func insertUnmarked(_ number: UInt16) {
      if all.count < identifiers.maximum { all.insert(number) }
      identifiers.insertUnmarked(number)
    }

    func remove(_ number: UInt16) -> Bool {
      let wasThere = identifiers.remove(number)
      marked.remove(number)
      return wasThere == (all.remove(number) != nil)
    }

    func removeMarks() {
      identifiers.removeMarks()
      marked = []
    }

    func removeUnmarked() {
      identifiers.removeUnmarked()
      if !isMap { all = marked }
    }

    /// Every identifier has room in it, and it keeps no marks.
    private var isMap: Bool { identifiers.maximum == 65_535 }

    func removeAll() {
      identifiers.removeAll()
      all = []
      marked = []
    }

    func contains(_ number: UInt16) -> Bool { identifiers.contains(number) }

    var agrees: Bool {
      identifiers.count == all.count && Int(identifiers.marked) == (isMap ? 0 : marked.count)
        && all.allSatisfy(contains)
        && all.allSatisfy { identifiers.isMarked($0) == (!isMap && marked.contains($0)) }
        && identifiers.isFull == (all.count == identifiers.maximum) && identifiers.maximum >= capacity
    }
  }

  /// From one place, side by side, and with as many collisions as can be.
  static func number(_ random: inout SeededRandom, slots: Int) -> UInt16 {
    switch random.below(3) {
    case 0: UInt16(1 + random.below(slots))
    case 1: UInt16(1 + (random.below(4) + slots * random.below(8)) % 65_535)
    default: UInt16(1 + random.below(65_535))
    }
  }

  /// Beyond its capacity, too. From 513 on it is a map.
  @Test(arguments: [1, 2, 3, 7, 8, 9, 40, 513])
  func againstASet(capacity: Int) {
    for seed in UInt64(0)..<(capacity > 500 ? 50 : 1000) {
      var random = SeededRandom(seed: seed)
      let pair = Pair(capacity: capacity)
      for step in 0..<200 {
        let number = Self.number(&random, slots: IdentifierSet.slotCount(for: capacity))
        var isRight = true
        switch random.below(100) {
        case 0..<40: isRight = pair.insert(number)
        case 40..<45: pair.insertUnmarked(number)
        case 45..<80:
          let known = pair.all.sorted()
          isRight = pair.remove(
            known.isEmpty || random.percent(20) ? number : known[random.below(known.count)])
        case 80..<95: isRight = pair.contains(number) == pair.all.contains(number)
        case 95..<98: pair.removeMarks()
        case 98: pair.removeUnmarked()
        default: pair.removeAll()
        }
        if !isRight || !pair.agrees {
          Issue.record("seed \(seed), step \(step)")
          return
        }
      }
    }
  }

  /// All there are, in an order of chance, and out again.
  @Test func everyIdentifier() {
    var random = SeededRandom(seed: 1)
    let pair = Pair(capacity: 65_535)
    let numbers = Array(UInt16(1)...65_535)
    var isRight = true
    for number in numbers.shuffled(using: &random) { isRight = pair.insert(number) && isRight }
    #expect(pair.agrees)
    for number in numbers.shuffled(using: &random) { isRight = pair.remove(number) && isRight }
    #expect(isRight && pair.agrees && pair.all.isEmpty)
  }

  /// However many are put into it: every search comes to an end, and those that are there stay.
  @Test(arguments: [1, 2, 5, 16, 100])
  func fullStaysFull(capacity: Int) {
    var random = SeededRandom(seed: UInt64(capacity))
    let pair = Pair(capacity: capacity)
    var isRight = true
    for _ in 0..<1000 { isRight = pair.insert(UInt16(1 + random.below(65_535))) && isRight }
    #expect(isRight && pair.agrees && pair.all.count >= capacity)
    pair.removeMarks()
    pair.removeUnmarked()
    #expect(pair.agrees && pair.all.isEmpty)
  }

  @Test func slotCounts() {
    for count in 1...512 {
      let slots = IdentifierSet.slotCount(for: count)
      #expect(slots >= 2 * count && slots & (slots - 1) == 0)
    }
    for count in [513, 2048, 3000, 65_535] { #expect(IdentifierSet.slotCount(for: count) == 2048) }
  }
}
