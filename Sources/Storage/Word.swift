/// Checks several bytes at a time.
///
/// A loop over single bytes costs about a dozen instructions for each, and the compiler does not make
/// vector code of it. Checking a word costs as much for four or eight bytes.
public enum Word {
  public static var size: Int { MemoryLayout<UInt>.size }

  /// Returns the highest bit of each byte that is not ASCII.
  @inline(__always)
  public static func nonASCII(_ word: UInt) -> UInt { word & highBits }

  /// Returns a word of this byte alone.
  @inline(__always)
  public static func repeated(_ byte: UInt8) -> UInt { ones &* UInt(byte) }

  /// Returns a number that is not zero if one of the bytes is zero. It may also differ from zero if one of
  /// them is not ASCII.
  @inline(__always)
  public static func containsZero(_ word: UInt) -> UInt { (word &- ones) & highBits }

  /// Returns a number that is not zero if one of the bytes is `byte`, which is ASCII. It may also differ
  /// from zero if one of them is not ASCII.
  @inline(__always)
  public static func contains(_ byte: UInt8, in word: UInt) -> UInt {
    containsZero(word ^ repeated(byte))
  }

  /// Returns whether `isStrange` finds a word of `bytes` strange. Each byte is checked at least once; a
  /// word may be padded with the letter A.
  @inline(__always)
  public static func anyWord(of bytes: Span<UInt8>, isStrange: (UInt) -> UInt) -> Bool {
    var strange: UInt = 0
    guard bytes.count >= size else { return isStrange(padded(bytes)) != 0 }
    unsafe bytes.withUnsafeBytes { bytes in
      // The last word may overlap what comes before it.
      let last = bytes.count &- size
      var index = 0
      while index < last {
        strange |= isStrange(
          unsafe bytes.baseAddress.unsafelyUnwrapped.loadUnaligned(fromByteOffset: index, as: UInt.self))
        index &+= size
      }
      strange |= isStrange(
        unsafe bytes.baseAddress.unsafelyUnwrapped.loadUnaligned(fromByteOffset: last, as: UInt.self))
    }
    return strange != 0
  }

  /// Does the same for at most two words' bytes, without a loop.
  @inline(__always)
  public static func anyOfTwo(_ bytes: Span<UInt8>, isStrange: (UInt) -> UInt) -> Bool {
    guard bytes.count >= size else { return isStrange(padded(bytes)) != 0 }
    precondition(bytes.count <= 2 &* size)
    return unsafe bytes.withUnsafeBytes { bytes in
      let first = unsafe bytes.loadUnaligned(fromByteOffset: 0, as: UInt.self)
      let last = unsafe bytes.loadUnaligned(fromByteOffset: bytes.count &- size, as: UInt.self)
      return isStrange(first) | isStrange(last) != 0
    }
  }

  /// Returns a word with each of fewer than `size` bytes: as two halves that overlap, or as the first, the
  /// middle and the last byte.
  @inline(__always)
  private static func padded(_ bytes: Span<UInt8>) -> UInt {
    let count = bytes.count
    if size == 8, let first = bytes.uint32(at: 0), let last = bytes.uint32(at: count &- 4) {
      return UInt(first) << 32 | UInt(last)
    }
    let padding = repeated(UInt8(ascii: "A")) << 24
    guard count > 0 else { return padding | padding >> 24 }
    return padding | UInt(bytes[0]) << 16 | UInt(bytes[count / 2]) << 8 | UInt(bytes[count &- 1])
  }

  private static var ones: UInt { .max / 255 }
  private static var highBits: UInt { ones << 7 }
}
