/// The sizes that structs between a program and a library begin with.
public enum StructSize {
  /// No version of a header will have a struct that is larger: its size was not set.
  public static var largest: UInt32 { 4096 }

  /// Whether a struct of the caller has a size that can be: at least that of version 1, and zeros in what a newer
  /// header may have added.
  ///
  /// The caller guarantees `size` readable bytes at `start`.
  @inline(__always)
  public static func isKnown(_ start: UnsafeRawPointer, _ size: UInt32, known: Int) -> Bool {
    if Int(truncatingIfNeeded: size) == known { return true }
    return unsafe isTailZero(start, size, known: known)
  }

  @inline(never)
  private static func isTailZero(_ start: UnsafeRawPointer, _ size: UInt32, known: Int) -> Bool {
    guard size > UInt32(truncatingIfNeeded: known), size <= largest else { return false }
    for offset in known..<Int(truncatingIfNeeded: size) {
      guard unsafe start.load(fromByteOffset: offset, as: UInt8.self) == 0 else { return false }
    }
    return true
  }

  /// Whether the library may fill a struct of this size.
  @inline(__always)
  public static func isRoom(_ size: UInt32, known: Int) -> Bool {
    size >= UInt32(truncatingIfNeeded: known) && size <= largest
  }

  /// Zeroes what a newer header has added to a struct that the library fills.
  ///
  /// The caller guarantees `size` writable bytes at `start`.
  public static func clearTail(_ start: UnsafeMutableRawPointer, _ size: UInt32, known: Int) {
    for offset in known..<max(known, min(Int(truncatingIfNeeded: size), Int(largest))) {
      unsafe start.storeBytes(of: 0, toByteOffset: offset, as: UInt8.self)
    }
  }
}

/// The span of bytes that a program passes, which lasts as long as the call it came with. `nil`: a size without bytes.
@inline(__always)
@_lifetime(immortal)
public func callSpan(_ data: UnsafeRawPointer?, _ size: Int) -> Span<UInt8>? {
  guard size != 0 else { return Span() }
  guard let data = unsafe data else { return nil }
  let start = unsafe data.assumingMemoryBound(to: UInt8.self)
  // A 32-bit Int takes 2 GiB and more for a negative number. So much is more than any parameter may have,
  // and the check of its size refuses it before a byte is read.
  let count = size & ~0x7FFF_FFFF == 0 ? size : 0x7FFF_FFFF
  let span = unsafe Span(_unsafeStart: start, count: count)
  return unsafe _overrideLifetime(span, copying: ())
}
