import TestSupport
import Testing

@testable import Storage

/// Is it a queue of a fixed size, in which no element moves?
@Suite struct FixedRingTests {
  /// The ring beside an array of its elements, each with its slot.
  final class Pair {
    private let memory: Memory
    private var ring: FixedRing<UInt32>
    private(set) var elements: [(slot: Int, value: UInt32)] = []
    /// Of the element that comes next.
    private(set) var next = 0
    let capacity: Int

    init(capacity: Int) {
      self.capacity = capacity
      memory = Memory(4 * capacity)
      ring = FixedRing(memory.table(capacity, of: UInt32.self))
    }

    var isFull: Bool { elements.count == capacity }

    func append(_ value: UInt32) {
      ring.append(value)
      elements.append((next, value))
      next = (next + 1) % capacity
    }

    func removeFirst() {
      ring.removeFirst()
      elements.removeFirst()
    }

    func removeLast() {
      ring.removeLast()
      next = elements.removeLast().slot
    }

    func removeAll() {
      ring.removeAll()
      elements = []
    }

    func reset() {
      ring.reset()
      (elements, next) = ([], 0)
    }

    func rotate() {
      ring.rotate()
      let value = elements.removeFirst().value
      elements.append((next, value))
      next = (next + 1) % capacity
    }

    func write(_ value: UInt32, at index: Int) {
      if value % 2 == 0 { ring[at: index] = value } else { ring[elements[index].slot] = value }
      elements[index].value = value
    }

    var agrees: Bool {
      guard ring.capacity == capacity, ring.count == elements.count, ring.isFull == isFull,
        ring.tail == next, ring.head == elements.first?.slot ?? next
      else { return false }
      for (index, element) in elements.enumerated() {
        guard ring[at: index] == element.value, ring[element.slot] == element.value,
          ring.slot(at: index) == element.slot, ring.index(of: element.slot) == index,
          ring.slot(after: element.slot) == (element.slot + 1) % capacity,
          ring.slot(before: element.slot) == (element.slot + capacity - 1) % capacity
        else { return false }
      }
      // Up to the one behind the last slot, which is the first one again.
      for slot in 0..<capacity {
        for distance in 0...capacity
        where ring.slot(slot, plus: distance) != (slot + distance) % capacity { return false }
      }
      return true
    }
  }

  @Test(arguments: [1, 2, 3, 8])
  func againstAnArray(capacity: Int) {
    var (filled, wraps) = (0, 0)
    for seed in UInt64(0)..<500 {
      var random = SeededRandom(seed: seed)
      let pair = Pair(capacity: capacity)
      for step in 0..<100 {
        let hasAny = !pair.elements.isEmpty
        let value = UInt32(random.below(1_000_000))
        switch random.below(100) {
        case 0..<45: if !pair.isFull { pair.append(value) }
        case 45..<65: if hasAny { pair.removeFirst() }
        case 65..<75: if hasAny { pair.removeLast() }
        case 75..<85: if hasAny { pair.write(value, at: random.below(pair.elements.count)) }
        case 85..<95: if hasAny { pair.rotate() }
        case 95..<98: pair.removeAll()
        default: pair.reset()
        }
        if pair.isFull { filled += 1 }
        if let first = pair.elements.first, pair.elements.last!.slot < first.slot { wraps += 1 }
        if !pair.agrees {
          Issue.record("seed \(seed), step \(step)")
          return
        }
      }
    }
    #expect(filled > 1000 && (wraps > 1000 || capacity == 1))
  }

  /// The slot behind the last one of the table is the first: an element comes there, and what is there stays.
  @Test func wrapsExactlyAtTheEnd() {
    let pair = Pair(capacity: 3)
    for value: UInt32 in 1...3 { pair.append(value) }
    #expect(pair.agrees && pair.isFull && pair.next == 0)
    pair.removeFirst()
    pair.append(4)
    #expect(pair.agrees && pair.elements.map(\.slot) == [1, 2, 0])
    pair.removeLast()
    #expect(pair.agrees && pair.next == 0)
  }

  /// With one slot the first element is the last, and turning the ring changes nothing.
  @Test func oneSlot() {
    let pair = Pair(capacity: 1)
    pair.append(7)
    #expect(pair.agrees && pair.isFull)
    pair.rotate()
    #expect(pair.agrees && pair.elements.map(\.value) == [7])
    pair.removeLast()
    #expect(pair.agrees && pair.elements.isEmpty)
  }

  @Test func withoutSlots() {
    let memory = Memory(0)
    var ring = FixedRing(memory.table(0, of: UInt32.self))
    ring.removeAll()
    ring.reset()
    let facts = (ring.isFull, ring.count, ring.capacity)
    #expect(facts == (true, 0, 0))
  }

  enum Misuse: String, CaseIterable, Codable, Sendable {
    case appendToAFullOne, appendWithoutSlots, removeFirst, removeLast, rotate, slotBehind, slotBefore

    func commit() {
      let memory = Memory(8)
      var ring = FixedRing(memory.table(self == .appendWithoutSlots ? 0 : 2, of: UInt32.self))
      switch self {
      case .appendToAFullOne: for value: UInt32 in 1...3 { ring.append(value) }
      case .appendWithoutSlots: ring.append(1)
      case .removeFirst: ring.removeFirst()
      case .removeLast: ring.removeLast()
      case .rotate: ring.rotate()
      case .slotBehind: ring[2] = 1
      case .slotBefore: ring[-1] = 1
      }
    }
  }

  @Test(arguments: Misuse.allCases)
  func outsideTraps(misuse: Misuse) async {
    await #expect(processExitsWith: .failure) { [misuse] in misuse.commit() }
  }
}
