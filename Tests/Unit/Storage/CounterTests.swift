import Testing

@testable import Storage

@Suite struct CounterTests {
  private func value(_ counter: Counter) -> UInt64 { UInt64(counter.high) << 32 | UInt64(counter.low) }

  @Test func startsAtZero() {
    #expect(value(Counter()) == 0)
  }

  @Test func carries() {
    var counter = Counter()
    counter.add(0xFFFF_FFFF)
    #expect(counter.high == 0 && counter.low == 0xFFFF_FFFF)
    counter.increment()
    #expect(counter.high == 1 && counter.low == 0)
    counter.add(0)
    #expect(counter.high == 1 && counter.low == 0)
  }

  @Test func addsUpLike64Bits() {
    var counter = Counter()
    var expected: UInt64 = 0
    for step in 0..<100 {
      let amount = (step &* 2_654_435_761) & 0xFFFF_FFFF
      counter.add(amount)
      expected += UInt64(amount)
    }
    #expect(expected > 0xFFFF_FFFF)
    #expect(value(counter) == expected)
  }

  /// The C face hands a counter out as a little-endian uint64_t.
  @Test func isA64BitIntegerInMemory() {
    var counter = Counter()
    counter.add(0xFFFF_FFFF)
    counter.add(0x10)
    #expect(MemoryLayout<Counter>.size == 8)
    #expect(unsafeBitCast(counter, to: UInt64.self).littleEndian == 0x1_0000_000F)
  }
}
