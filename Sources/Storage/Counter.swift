/// A 64-bit count for the statistics, kept as two halves.
///
/// On armv7 the compiler takes the widening of an integer to 64 bits for an allocation and refuses it under
/// `-no-allocations` (Swift 6.3.1). So the carry is computed here, and nowhere else.
public struct Counter: Sendable, BitwiseCopyable, Equatable {
  public private(set) var low: UInt32 = 0
  public private(set) var high: UInt32 = 0

  public init() {}

  public init(_ value: UInt32) { low = value }

  public init(value: UInt64) { self = unsafe unsafeBitCast(value, to: Counter.self) }

  public init(low: UInt32, high: UInt32) {
    self.low = low
    self.high = high
  }

  public static func high(_ value: UInt64) -> UInt32 { unsafe unsafeBitCast(value, to: Counter.self).high }

  /// Returns the value as 32 bits, or `nil` if it needs more.
  public static func uint32(_ value: UInt64) -> UInt32? {
    let counter = unsafe unsafeBitCast(value, to: Counter.self)
    return counter.high == 0 ? counter.low : nil
  }

  public var uint64: UInt64 {
    // In memory the two halves are a uint64_t, because every target is little-endian.
    unsafe unsafeBitCast(self, to: UInt64.self)
  }

  public mutating func add(_ amount: Int) {
    let sum = low.addingReportingOverflow(UInt32(truncatingIfNeeded: amount))
    low = sum.partialValue
    if sum.overflow { high &+= 1 }
  }

  public mutating func add(_ other: Counter) {
    let sum = low.addingReportingOverflow(other.low)
    low = sum.partialValue
    high &+= other.high &+ (sum.overflow ? 1 : 0)
  }

  public mutating func increment() { add(1) }

  public static func < (one: Counter, other: Counter) -> Bool {
    one.high == other.high ? one.low < other.low : one.high < other.high
  }
}
