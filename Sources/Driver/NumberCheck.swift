/// Checks many numbers and throws once: a throwing call for each takes 30 KB of code.
public struct NumberCheck {
  public var areValid = true

  /// A duration that is switched off.
  public static var off: UInt32 { .max }
  public static var dayInMilliseconds: UInt32 { 86_400_000 }

  public init() {}

  /// 0 if this build does not have what the number is for.
  @inline(__always)
  public mutating func value(
    _ requested: UInt32, if isThere: Bool, default usual: UInt32, minimum: UInt32 = 1, maximum: UInt32
  ) -> UInt32 {
    isThere ? value(requested, default: usual, minimum: minimum, maximum: maximum) : 0
  }

  /// 0 stands for `usual`, `NumberCheck.off` for `off` if that is given.
  @inline(never)
  public mutating func value(
    _ requested: UInt32, default usual: UInt32, minimum: UInt32 = 1, maximum: UInt32,
    off: UInt32? = nil
  ) -> UInt32 {
    if requested == 0 { return usual }
    if let off, requested == Self.off { return off }
    if requested < minimum || requested > maximum { areValid = false }
    return requested
  }
}
