import TestSupport
import Testing

@testable import Storage

/// Does each text stay what it is, wherever it moves to when others are removed?
@Suite struct PackedStringsTests {
  /// The strings and the places that their owner keeps, beside an array of the texts.
  final class Pair {
    private let memory: Memory
    private var strings: PackedStrings
    private(set) var texts: [[UInt8]] = []
    private(set) var places: [ByteRange] = []
    let capacity: Int

    init(capacity: Int) {
      self.capacity = capacity
      memory = Memory(capacity)
      strings = PackedStrings(region: memory.region(capacity))
    }

    var free: Int { capacity - texts.reduce(0) { $0 + $1.count } }

    func append(_ text: [UInt8]) {
      places.append(strings.append(text.span))
      texts.append(text)
    }

    func remove(_ index: Int) {
      let removed = places.remove(at: index)
      texts.remove(at: index)
      strings.remove(removed)
      for index in places.indices {
        let offset = PackedStrings.offset(UInt32(places[index].offset), without: removed)
        places[index] = ByteRange(offset: Int(offset), count: places[index].count)
      }
    }

    func isEqual(_ index: Int, to text: [UInt8]) -> Bool { strings.isEqual(places[index], to: text.span) }

    var agrees: Bool {
      guard strings.capacity == capacity, strings.free == free, strings.used == capacity - free else {
        return false
      }
      // Without gaps, in the order in which they came.
      var end = 0
      for (text, place) in zip(texts, places) {
        guard place.offset == end, place.count == text.count,
          array(strings.bytes.extracting(place.range)) == text,
          strings.isEqual(place, to: text.span)
        else { return false }
        end = place.end
      }
      return true
    }
  }

  @Test(arguments: [0, 1, 2, 10, 64, 300])
  func againstAnArray(capacity: Int) {
    var filled = 0
    for seed in UInt64(0)..<300 {
      var random = SeededRandom(seed: seed)
      let pair = Pair(capacity: capacity)
      for step in 0..<100 {
        if random.percent(60) {
          let size = random.percent(20) ? pair.free : random.below(min(pair.free, 12) + 1)
          // Of two letters, so that texts are alike.
          pair.append((0..<size).map { _ in random.percent(50) ? 0x61 : 0x62 })
        } else if !pair.texts.isEmpty {
          pair.remove(random.below(pair.texts.count))
        }
        if pair.free == 0 { filled += 1 }
        if !pair.agrees {
          Issue.record("seed \(seed), step \(step)")
          return
        }
      }
    }
    #expect(filled > 100)
  }

  /// The first, one in the middle and the last: those before it stay where they are, those behind it move up.
  @Test(arguments: 0..<3)
  func placesAfterARemoval(index: Int) {
    let pair = Pair(capacity: 6)
    for text in ["a", "bb", "ccc"] { pair.append(Array(text.utf8)) }
    #expect(pair.agrees && pair.free == 0)
    pair.remove(index)
    let expected = [[0, 2], [0, 1], [0, 1]][index]
    #expect(pair.agrees && pair.places.map(\.offset) == expected)
  }

  /// An empty text takes nothing, and is not moved by its neighbour that begins at the same place.
  @Test func emptyTexts() {
    let pair = Pair(capacity: 3)
    pair.append([])
    pair.append([1, 2, 3])
    pair.append([])
    #expect(pair.agrees && pair.places.map(\.offset) == [0, 0, 3])
    pair.remove(1)
    #expect(pair.agrees && pair.places.map(\.offset) == [0, 0] && pair.free == 3)
  }

  /// A text is equal to one of the same length with the same bytes, to the last.
  @Test func equality() {
    let pair = Pair(capacity: 6)
    pair.append([1, 2, 3])
    pair.append([1, 2, 4])
    for (text, isFirst) in [
      ([1, 2, 3], true), ([1, 2, 4], false), ([1, 2], false), ([1, 2, 3, 1], false), ([], false),
    ]
      as [([UInt8], Bool)]
    {
      #expect(pair.isEqual(0, to: text) == isFirst)
    }
  }

  enum Misuse: String, CaseIterable, Codable, Sendable {
    case appendTooMuch, removeBehind, removeTwice

    func commit() {
      let memory = Memory(4)
      var strings = PackedStrings(region: memory.region(4))
      let place = strings.append([1, 2, 3].span)
      switch self {
      case .appendTooMuch: _ = strings.append([4, 5].span)
      case .removeBehind: strings.remove(ByteRange(offset: 2, count: 2))
      case .removeTwice:
        strings.remove(place)
        strings.remove(place)
      }
    }
  }

  @Test(arguments: Misuse.allCases)
  func outsideTraps(misuse: Misuse) async {
    await #expect(processExitsWith: .failure) { [misuse] in misuse.commit() }
  }
}
