/// Moves `count` bytes from one offset to another; the two ranges may overlap.
@inline(__always)
public func move(_ bytes: inout MutableSpan<UInt8>, from source: Int, to target: Int, count: Int) {
  precondition(count >= 0 && source >= 0 && target >= 0)
  precondition(source <= bytes.count &- count && target <= bytes.count &- count)
  unsafe bytes.withUnsafeMutableBytes { bytes in
    guard let start = bytes.baseAddress else { return }
    unsafe (start + target).copyMemory(from: UnsafeRawPointer(start + source), byteCount: count)
  }
}

/// Copies `source` to the beginning of `target`, which must be at least as long, and masks each four bytes with
/// those of `key`, the lowest one first. It works on a word at a time.
@inline(never)
public func copy(_ source: Span<UInt8>, maskedWith key: UInt32, into target: inout MutableSpan<UInt8>) {
  precondition(source.count <= target.count)
  let half = UInt(truncatingIfNeeded: key)
  let mask = half | half << 32  // of 32 bits, nothing is left of the shifted half
  unsafe source.withUnsafeBytes { source in
    unsafe target.withUnsafeMutableBytes { target in
      guard let from = source.baseAddress, let to = target.baseAddress else { return }
      let words = source.count & ~(MemoryLayout<UInt>.size &- 1)
      var offset = 0
      while offset < words {
        let word = unsafe from.loadUnaligned(fromByteOffset: offset, as: UInt.self)
        unsafe to.storeBytes(of: word ^ mask, toByteOffset: offset, as: UInt.self)
        offset &+= MemoryLayout<UInt>.size
      }
      while offset < source.count {
        let byte = unsafe from.load(fromByteOffset: offset, as: UInt8.self)
        let part = UInt8(truncatingIfNeeded: key >> (UInt32(truncatingIfNeeded: offset & 3) &* 8))
        unsafe to.storeBytes(of: byte ^ part, toByteOffset: offset, as: UInt8.self)
        offset &+= 1
      }
    }
  }
}
