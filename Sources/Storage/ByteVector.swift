/// Checks sixteen bytes at a time, on the processors that have registers for them. The others check word by
/// word (`Word`): there the compiler (6.3.1) splits a vector into single bytes.
public enum ByteVector {
  public typealias Lanes = SIMD16<Int8>

  public static var size: Int { 16 }

  @inline(__always)
  public static var isSupported: Bool {
    #if arch(x86_64) || arch(arm64)
      true
    #else
      false
    #endif
  }

  /// Returns a vector of this byte alone. A comparison with a scalar would be done byte by byte.
  @inline(__always)
  public static func repeated(_ byte: UInt8) -> Lanes { Lanes(repeating: Int8(bitPattern: byte)) }

  /// Returns whether `isStrange` finds one of the bytes strange, of which there are at least sixteen. Each
  /// byte is checked at least once.
  @inline(__always)
  public static func anyByte(of bytes: Span<UInt8>, isStrange: (Lanes) -> SIMDMask<Lanes>) -> Bool {
    precondition(bytes.count >= size)
    var strange = SIMDMask<Lanes>(repeating: false)
    unsafe bytes.withUnsafeBytes { bytes in
      // The last sixteen bytes may overlap those before them.
      let last = bytes.count &- size
      let start = unsafe bytes.baseAddress.unsafelyUnwrapped
      var index = 0
      while index < last {
        strange = unsafe strange .| isStrange(start.loadUnaligned(fromByteOffset: index, as: Lanes.self))
        index &+= size
      }
      strange = unsafe strange .| isStrange(start.loadUnaligned(fromByteOffset: last, as: Lanes.self))
    }
    let halves = unsafe unsafeBitCast(strange, to: SIMD2<UInt64>.self)
    return halves.x | halves.y != 0
  }
}
