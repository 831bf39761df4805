/// How often each duration occurred, with a resolution of 1/32, in 15 KiB whatever the count.
struct Histogram {
  private var counts = [UInt32](repeating: 0, count: 60 * 32)
  /// By how many bits its microseconds have.
  private var powers = [UInt32](repeating: 0, count: 55)
  private(set) var count: Int64 = 0
  private(set) var largest: Int64 = 0
  private(set) var smallest: Int64 = .max
  private var sum: Int64 = 0

  var mean: Int64 { count == 0 ? 0 : sum / count }

  mutating func add(_ nanoseconds: Int64) {
    let value = max(0, nanoseconds)
    counts[Self.index(value)] &+= 1
    powers[64 - (value / 1000).leadingZeroBitCount] &+= 1
    count += 1
    sum &+= value
    largest = max(largest, value)
    smallest = min(smallest, value)
  }

  /// The duration below which that many of 100,000 are.
  func percentile(_ part: Int64) -> Int64 {
    guard count > 0 else { return 0 }
    let wanted = max(1, (count * part + 99_999) / 100_000)
    var seen: Int64 = 0
    for (index, number) in counts.enumerated() {
      seen += Int64(number)
      if seen >= wanted { return min(largest, Self.upper(index)) }
    }
    return largest
  }

  struct Class {
    /// All of its durations are below so many microseconds: a power of two.
    let bound: Int64
    let count: Int64
  }

  /// From the first in which there is a duration to the last.
  var classes: [Class] {
    guard let first = powers.firstIndex(where: { $0 > 0 }), let last = powers.lastIndex(where: { $0 > 0 })
    else {
      return []
    }
    return (first...last).map { Class(bound: 1 << Int64($0), count: Int64(powers[$0])) }
  }

  /// Below 32 each value has its own class; then each power of two has 32.
  private static func index(_ value: Int64) -> Int {
    guard value >= 32 else { return Int(value) }
    let power = 63 - value.leadingZeroBitCount
    return (power - 4) * 32 + Int(value >> Int64(power - 5)) - 32
  }

  /// The largest value of a class.
  private static func upper(_ index: Int) -> Int64 {
    guard index >= 32 else { return Int64(index) }
    let power = index / 32 + 4
    return (Int64(index % 32 + 33) << Int64(power - 5)) - 1
  }
}
