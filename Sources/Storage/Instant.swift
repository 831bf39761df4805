/// A point in time: milliseconds of a clock that never jumps and wraps after 49 days.
///
/// 32 bits, because 64-bit arithmetic is slow on armv7 and its widening is refused there under
/// `-no-allocations`. Two instants can be compared as long as they are less than 24 days apart;
/// no timer is set further ahead than a day (`Timer` of the driver says what else keeps them comparable).
public struct Instant: BitwiseCopyable, Equatable {
  public let milliseconds: UInt32

  public init(milliseconds: UInt32) { self.milliseconds = milliseconds }

  public func advanced(by duration: UInt32) -> Instant {
    Instant(milliseconds: milliseconds &+ duration)
  }

  public func isReached(at now: Instant) -> Bool {
    Int32(bitPattern: now.milliseconds &- milliseconds) >= 0
  }

  /// Returns how long it is until then, or 0 if it is past.
  public func remaining(at now: Instant) -> UInt32 {
    isReached(at: now) ? 0 : milliseconds &- now.milliseconds
  }

  /// Returns the earlier of two deadlines, where `nil` is none.
  public static func earlier(_ one: Instant?, _ other: Instant?) -> Instant? {
    guard let one else { return other }
    guard let other else { return one }
    return one.isReached(at: other) ? one : other
  }
}
