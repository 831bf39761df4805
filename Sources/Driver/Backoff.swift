/// How long to wait between attempts to connect: exponential backoff with jitter, so that ten thousand clients
/// whose server was restarted do not come back in one moment.
public struct Backoff: BitwiseCopyable {
  /// How a wait is randomized.
  public enum Jitter: UInt32, BitwiseCopyable, Sendable {
    /// Anything from half of the shortest wait to a bound that doubles.
    case full = 1
    /// Anything from the shortest wait to three times the last one.
    case decorrelated = 2
    /// The bound itself, which doubles.
    case none = 3
  }

  public let shortest: UInt32
  public let longest: UInt32
  /// The bound of the last wait, or with `decorrelated` the last wait; 0: there was none.
  private var last: UInt32 = 0
  public let jitter: Jitter

  /// Milliseconds. The caller guarantees 1 ≤ shortest ≤ longest ≤ a day.
  public init(shortest: UInt32, longest: UInt32, jitter: Jitter) {
    self.shortest = shortest
    self.longest = longest
    self.jitter = jitter
  }

  /// The wait before the next attempt. `random` is any number.
  @_optimize(size)
  public mutating func next(random: UInt32) -> UInt32 {
    switch jitter {
    case .none: raise(by: 2)
    case .full:
      raise(by: 2)
      return Self.draw(shortest / 2, last, random)
    case .decorrelated:
      raise(by: 3)
      last = Self.draw(shortest, last, random)
    }
    return last
  }

  /// The next wait is the first of a new sequence.
  public mutating func reset() { last = 0 }

  private mutating func raise(by factor: UInt32) {
    guard last > 0 else {
      // With `decorrelated` the first wait is drawn, too.
      last = min(jitter == .decorrelated ? shortest &* factor : shortest, longest)
      return
    }
    // Three days in milliseconds fit.
    last = min(last &* factor, longest)
  }

  private static func draw(_ least: UInt32, _ most: UInt32, _ random: UInt32) -> UInt32 {
    least &+ random.remainder(by: most &- least &+ 1)
  }
}
