import Testing

@testable import smq

@Suite struct HistogramTests {
  @Test func nothingWasSeen() {
    let histogram = Histogram()
    #expect(histogram.percentile(50_000) == 0)
    #expect(histogram.mean == 0 && histogram.count == 0)
  }

  @Test func aFewValues() {
    var histogram = Histogram()
    for value in [-3, 10, 20, 31] as [Int64] { histogram.add(value) }
    #expect(
      histogram.count == 4 && histogram.smallest == 0 && histogram.largest == 31 && histogram.mean == 15)
    #expect(
      [0, 25_000, 25_001, 50_000, 75_000, 100_000].map(histogram.percentile) == [0, 0, 10, 10, 20, 31])
  }

  /// Whatever the durations, to a part in 32, and never above the largest that was seen.
  @Test(arguments: 0..<62)
  func ofEachSize(_ power: Int64) {
    let size: Int64 = 1 << power
    for value in [size, size + size / 3, size + (size - 1)] {
      var histogram = Histogram()
      histogram.add(value)
      #expect(histogram.percentile(50_000) == value)
      histogram.add(1 << 62)
      let found = histogram.percentile(50_000)
      #expect(found >= value && found - value <= value / 32)
      #expect(histogram.percentile(50_001) == 1 << 62)
    }
  }
}
