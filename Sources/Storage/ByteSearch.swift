/// Finds a byte, sixteen at a time on a processor of 64 bits.
public enum ByteSearch {
  /// Returns where it is, from `start` on; the number of bytes: nowhere.
  @inline(__always)
  public static func firstIndex(of byte: UInt8, in bytes: Span<UInt8>, from start: Int) -> Int {
    precondition(start >= 0 && start <= bytes.count)
    return unsafe bytes.withUnsafeBytes { bytes in
      guard let memory = bytes.baseAddress else { return 0 }
      return unsafe search(byte, memory, start, bytes.count)
    }
  }

  /// Does the same, a word at a time, and adds to `strange` what `isStrange` finds in the bytes before it. Of a word, only the
  /// highest bit of each byte counts, and it may depend on the bytes before it.
  ///
  /// It is inlined: texts with an end are short, and one pass that also checks them saves the loop of another one.
  @inline(__always)
  public static func firstIndex(
    of byte: UInt8, in bytes: Span<UInt8>, from start: Int, strange: inout UInt, isStrange: (UInt) -> UInt
  ) -> Int {
    precondition(start >= 0 && start <= bytes.count)
    let pattern = Word.repeated(byte)
    let count = bytes.count
    var index = start
    return unsafe bytes.withUnsafeBytes { bytes in
      while count &- index >= Word.size {
        let word = unsafe bytes.baseAddress.unsafelyUnwrapped.loadUnaligned(
          fromByteOffset: index, as: UInt.self)
        let found = zeros(word ^ pattern)
        if found != 0 {
          // All bits up to the one that was found.
          strange |= isStrange(word) & (found ^ (found &- 1))
          return index &+ found.trailingZeroBitCount / 8
        }
        strange |= isStrange(word)
        index &+= Word.size
      }
      return unsafe lastIndex(
        of: byte, bytes.baseAddress, index, count, strange: &strange, isStrange: isStrange)
    }
  }

  /// The same for the last bytes, fewer than a word has. It is a function of its own so that the loop above has its registers.
  ///
  /// The caller guarantees that there are `count` bytes.
  @inline(never)
  private static func lastIndex(
    of byte: UInt8, _ memory: UnsafeRawPointer?, _ start: Int, _ count: Int, strange: inout UInt,
    isStrange: (UInt) -> UInt
  ) -> Int {
    var index = start
    while index < count {
      let next = unsafe memory.unsafelyUnwrapped.load(fromByteOffset: index, as: UInt8.self)
      if next == byte { break }
      strange |= isStrange(Word.repeated(next))
      index &+= 1
    }
    return index
  }

  /// The caller guarantees that there are `count` bytes.
  @inline(never)
  @_optimize(speed)
  private static func search(_ byte: UInt8, _ memory: UnsafeRawPointer, _ start: Int, _ count: Int) -> Int {
    let pattern = Word.repeated(byte)
    let size = Word.size
    var index = start
    while count &- index >= 2 &* size {
      let first = unsafe memory.loadUnaligned(fromByteOffset: index, as: UInt.self) ^ pattern
      let second = unsafe memory.loadUnaligned(fromByteOffset: index &+ size, as: UInt.self) ^ pattern
      let inFirst = zeros(first)
      let inSecond = zeros(second)
      if inFirst | inSecond != 0 {
        return inFirst != 0
          ? index &+ inFirst.trailingZeroBitCount / 8 : index &+ size &+ inSecond.trailingZeroBitCount / 8
      }
      index &+= 2 &* size
    }
    while index < count {
      if unsafe memory.load(fromByteOffset: index, as: UInt8.self) == byte { return index }
      index &+= 1
    }
    return count
  }

  /// The lowest bit that is set is in the first byte that is zero. (Bytes behind it may have theirs set, too.)
  @inline(__always)
  private static func zeros(_ word: UInt) -> UInt { Word.containsZero(word) & ~word }
}
