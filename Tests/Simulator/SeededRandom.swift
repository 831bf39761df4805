/// SplitMix64: a seed makes the same numbers every time.
struct SeededRandom {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  /// 0 to `bound` - 1.
  mutating func below(_ bound: Int) -> Int { Int(truncatingIfNeeded: next() >> 33) % bound }

  mutating func from(_ range: ClosedRange<Int>) -> Int {
    range.lowerBound + below(range.upperBound - range.lowerBound + 1)
  }

  mutating func percent(_ share: Int) -> Bool { below(100) < share }

  mutating func permille(_ share: Int) -> Bool { below(1000) < share }

  mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }
}
