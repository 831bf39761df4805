/// A range of bytes in a buffer: offset and length instead of a pointer, so that what was parsed is a plain
/// value.
public struct ByteRange: BitwiseCopyable, Equatable {
  // No buffer needs larger numbers.
  private let start: UInt32
  private let size: UInt32

  @inline(__always)
  public init(offset: Int, count: Int) {
    start = UInt32(truncatingIfNeeded: offset)
    size = UInt32(truncatingIfNeeded: count)
  }

  public static var empty: ByteRange { ByteRange(offset: 0, count: 0) }

  @inline(__always)
  public var offset: Int { Int(truncatingIfNeeded: start) }
  @inline(__always)
  public var count: Int { Int(truncatingIfNeeded: size) }
  public var isEmpty: Bool { size == 0 }
  public var end: Int { offset &+ count }
  public var range: Range<Int> { offset..<end }

  /// Returns the range without its first bytes.
  public func dropping(_ first: Int) -> ByteRange {
    ByteRange(offset: offset &+ first, count: count &- first)
  }

  /// Returns the same bytes as a range of a buffer that begins `distance` bytes earlier.
  public func shifted(by distance: Int) -> ByteRange {
    ByteRange(offset: offset &+ distance, count: count)
  }
}
