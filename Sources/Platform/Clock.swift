import CPlatform

/// Where time and random numbers come from.
public enum Clock {
  /// Milliseconds of the monotonic clock, wrapping.
  public static func milliseconds() -> UInt32 { platform_now_ms() }

  public static func randomNumber() -> UInt32 { platform_random() }
}
