/// How long the server took, counted in classes of doubling width.
public struct LatencyHistogram: BitwiseCopyable {
  public static var count: Int { 16 }

  /// Below 1 ms, below 2 ms, below 4 ms, …; the last one has all the rest.
  private var counts = InlineArray<16, UInt32>(repeating: 0)

  public init() {}

  public subscript(_ index: Int) -> UInt32 { counts[index] }

  mutating func add(_ milliseconds: UInt32) {
    let index = min(32 &- milliseconds.leadingZeroBitCount, Self.count &- 1)
    counts[index] &+= 1
  }

  mutating func add(_ other: LatencyHistogram) {
    for index in 0..<Self.count { counts[index] &+= other.counts[index] }
  }
}
