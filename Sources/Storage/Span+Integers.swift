/// Integers of several bytes, the highest byte first, as protocols have them. They are `nil` where the bytes
/// end too early: the check of the bounds is the answer to that.
extension Span where Element == UInt8 {
  @inline(__always)
  public func uint16(at offset: Int) -> UInt16? { integer(at: offset).map { UInt16(bigEndian: $0) } }

  @inline(__always)
  public func uint32(at offset: Int) -> UInt32? { integer(at: offset).map { UInt32(bigEndian: $0) } }

  @inline(__always)
  private func integer<Integer: FixedWidthInteger & BitwiseCopyable>(at offset: Int) -> Integer? {
    guard offset >= 0, count &- offset >= MemoryLayout<Integer>.size else { return nil }
    return unsafe withUnsafeBytes { bytes in
      unsafe bytes.baseAddress.unsafelyUnwrapped.loadUnaligned(fromByteOffset: offset, as: Integer.self)
    }
  }
}

/// Integers as they lie in the memory of a little-endian processor, at any offset.
extension Span where Element == UInt8 {
  @inline(__always)
  public func load<Integer: FixedWidthInteger & BitwiseCopyable>(
    at offset: Int, as type: Integer.Type
  ) -> Integer {
    precondition(offset >= 0 && count &- offset >= MemoryLayout<Integer>.size)
    return unsafe withUnsafeBytes { bytes in
      unsafe bytes.baseAddress.unsafelyUnwrapped.loadUnaligned(fromByteOffset: offset, as: Integer.self)
    }
  }
}

extension MutableSpan where Element == UInt8 {
  @_lifetime(self: copy self)
  @inline(__always)
  public mutating func store<Integer: FixedWidthInteger & BitwiseCopyable>(_ value: Integer, at offset: Int) {
    precondition(offset >= 0 && count &- offset >= MemoryLayout<Integer>.size)
    unsafe withUnsafeMutableBytes { bytes in
      unsafe bytes.baseAddress.unsafelyUnwrapped.storeBytes(of: value, toByteOffset: offset, as: Integer.self)
    }
  }
}
