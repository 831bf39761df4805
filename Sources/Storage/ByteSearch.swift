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
