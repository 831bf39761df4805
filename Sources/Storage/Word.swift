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
    guard bytes.count >= size else {
      var word = ones &* UInt(UInt8(ascii: "A"))
      for index in 0..<bytes.count { word = word << 8 | UInt(bytes[index]) }
      return isStrange(word) != 0
    }
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

  private static var ones: UInt { .max / 255 }
  private static var highBits: UInt { ones << 7 }
}
