import Driver
import TestSupport
import Testing

@Suite struct BackoffTests {
  @Test(arguments: [(Backoff.Jitter.full, 500), (.decorrelated, 1000)] as [(Backoff.Jitter, UInt32)])
  func bounds(jitter: Backoff.Jitter, least: UInt32) {
    var random = SeededRandom(seed: 7)
    var sum: UInt64 = 0
    for _ in 0..<1000 {
      var backoff = Backoff(shortest: 1000, longest: 30_000, jitter: jitter)
      var bound: UInt32 = jitter == .full ? 1000 : 3000
      for _ in 0..<12 {
        let wait = backoff.next(random: UInt32(truncatingIfNeeded: random.next()))
        #expect(wait >= least && wait <= min(bound, 30_000), "\(wait), at most \(bound)")
        bound = jitter == .full ? min(bound * 2, 30_000) : min(wait * 3, 30_000)
        sum += UInt64(wait)
      }
    }
    // It is spread over the whole of it.
    #expect(sum / 12_000 > 5000 && sum / 12_000 < 20_000)
  }

  @Test func extremes() {
    for jitter in [Backoff.Jitter.full, .decorrelated, .none] {
      for (shortest, longest) in [(10, 10), (10, 11), (86_400_000, 86_400_000), (10, 86_400_000)]
        as [(UInt32, UInt32)]
      {
        var backoff = Backoff(shortest: shortest, longest: longest, jitter: jitter)
        for random in [0, 1, UInt32.max, UInt32.max / 2] + (0..<100).map({ UInt32($0) &* 0x9E37_79B9 }) {
          let wait = backoff.next(random: random)
          #expect(wait <= longest && wait >= shortest / 2)
        }
        for random in [0, 20, 1_000_000, UInt32.max] {
          backoff.reset()
          #expect(backoff.next(random: random) <= min(shortest * 3, longest))
        }
      }
    }
  }
}
