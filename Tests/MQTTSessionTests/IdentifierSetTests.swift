import FixedMemory
import MQTTWire
import Testing

@testable import MQTTSession

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

    func insert(_ number: UInt16) {
      identifiers.insert(PacketIdentifier(number)!)
      all.insert(number)
      marked.insert(number)
    }

    func remove(_ number: UInt16) -> Bool {
      let wasThere = identifiers.remove(PacketIdentifier(number)!)
      marked.remove(number)
      return wasThere == (all.remove(number) != nil)
    }

    func removeMarks() {
      identifiers.removeMarks()
      marked = []
    }

    func removeAll() {
      identifiers.removeAll()
      all = []
      marked = []
    }

    func contains(_ number: UInt16) -> Bool { identifiers.contains(PacketIdentifier(number)!) }

    var agrees: Bool {
      identifiers.count == all.count && identifiers.markedCount == marked.count && all.allSatisfy(contains)
    }

    /// What it has forgotten to make room.
    func forgotten() -> Set<UInt16> {
      let gone = all.filter { !contains($0) }
      all.subtract(gone)
      return gone
    }
  }

  /// From one place, side by side, and with as many collisions as can be.
  static func number(_ random: inout SeededGenerator, slots: Int) -> UInt16 {
    switch random.below(3) {
    case 0: UInt16(1 + random.below(slots))
    case 1: UInt16(1 + (random.below(4) + slots * random.below(8)) % 65_535)
    default: UInt16(1 + random.below(65_535))
    }
  }

  @Test(arguments: [1, 2, 3, 7, 8, 9, 40])
  func againstASet(capacity: Int) {
    for seed in UInt64(0)..<1000 {
      var random = SeededGenerator(seed: seed)
      let pair = Pair(capacity: capacity)
      for step in 0..<200 {
        let number = Self.number(&random, slots: IdentifierSet.slotCount(for: capacity))
        var isRight = true
        switch random.below(100) {
        case 0..<45: if pair.all.count < capacity || pair.all.contains(number) { pair.insert(number) }
        case 45..<80:
          let known = pair.all.sorted()
          isRight = pair.remove(
            known.isEmpty || random.chance(20) ? number : known[random.below(known.count)])
        case 80..<95: isRight = pair.contains(number) == pair.all.contains(number)
        case 95..<99: pair.removeMarks()
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
    var random = SeededGenerator(seed: 1)
    let pair = Pair(capacity: 65_535)
    let numbers = Array(UInt16(1)...65_535)
    for number in numbers.shuffled(using: &random) { pair.insert(number) }
    #expect(pair.agrees)
    var isRight = true
    for number in numbers.shuffled(using: &random) { isRight = pair.remove(number) && isRight }
    #expect(isRight && pair.agrees && pair.all.isEmpty)
  }

  /// A server that never releases anything, connection after connection: those of the last ones stay, and the
  /// set never runs full (a search in a full one would not end).
  @Test(arguments: [1, 2, 5, 16, 100])
  func oneWithoutAMarkMakesRoom(maximum: Int) {
    var random = SeededGenerator(seed: UInt64(maximum))
    let pair = Pair(capacity: 2 * maximum)
    var forgotten = 0
    for _ in 0..<50 {
      pair.removeMarks()
      for _ in 0..<maximum {
        let before = pair.marked
        pair.insert(UInt16(1 + random.below(65_535)))
        let gone = pair.forgotten()
        forgotten += gone.count
        #expect(gone.isDisjoint(with: before))
        #expect(gone.isEmpty || pair.all.count >= 2 * maximum)
        #expect(pair.agrees)
      }
    }
    #expect(forgotten > 20 * maximum)
  }

  @Test func slotCounts() {
    for count in 1...3000 {
      let slots = IdentifierSet.slotCount(for: count)
      #expect(slots >= 2 * count && slots & (slots - 1) == 0)
    }
    #expect(IdentifierSet.slotCount(for: 131_070) == 131_072)
  }
}
