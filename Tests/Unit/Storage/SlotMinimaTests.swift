import Testing

@testable import Storage

/// Bounds against an array of numbers: the search finds each group that has a small number, and passes over those that were
/// said to have none.
@Suite struct SlotMinimaTests {
  @Test(arguments: [1, 63, 64, 65, 200, 4096, 4097, 9000])
  func finds(slots: Int) {
    var plan = ArenaLayout()
    let place = plan.reserve(SlotMinima.boundCount(slots: slots), of: UInt32.self)
    withBlock(of: plan) { block in
      var minima = SlotMinima(block.table(place), slots: slots)
      compare(&minima, slots: slots)
    }
  }

  private func compare(_ minima: inout SlotMinima, slots: Int) {
    let size = SlotMinima.groupSize
    var numbers = [UInt32](repeating: .max, count: slots)
    #expect(minima.least == .max)
    #expect(minima.group(from: 0, atMost: .max - 1) == nil)

    var state: UInt32 = 7
    func random(_ bound: Int) -> Int {
      state = state &* 1_664_525 &+ 1_013_904_223
      return Int(state >> 8) % bound
    }
    for _ in 0..<2000 {
      let slot = random(slots)
      if random(3) > 0 {
        let number = UInt32(random(5000))
        numbers[slot] = min(numbers[slot], number)
        minima.add(number, at: slot)
      } else {
        // The numbers of a group change, and it is looked at.
        let group = slot / size
        let range = group * size..<min((group + 1) * size, slots)
        for slot in range where random(2) == 0 { numbers[slot] = .max }
        minima.set(group, numbers[range].min()!)
      }
      let limit = UInt32(random(5000))
      let start = random(slots) / size
      let expected = (start..<(slots + size - 1) / size).first { group in
        numbers[group * size..<min((group + 1) * size, slots)].min()! <= limit
      }
      #expect(minima.group(from: start, atMost: limit) == expected)
      #expect(minima.least == numbers.min()!)
    }
    minima.removeAll()
    #expect(minima.least == .max)
  }
}
