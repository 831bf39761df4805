/// Numbers in the file are little-endian, as all processors are that this runs on.
extension Span<UInt8> {
  public func littleEndian16(at offset: Int) -> UInt16 {
    UInt16(self[offset]) | UInt16(self[offset &+ 1]) << 8
  }

  public func littleEndian32(at offset: Int) -> UInt32 {
    UInt32(littleEndian16(at: offset)) | UInt32(littleEndian16(at: offset &+ 2)) << 16
  }
}

extension MutableSpan<UInt8> {
  @_lifetime(self: copy self)
  public mutating func put(_ value: UInt16, at offset: Int) {
    self[offset] = UInt8(truncatingIfNeeded: value)
    self[offset &+ 1] = UInt8(truncatingIfNeeded: value >> 8)
  }

  @_lifetime(self: copy self)
  public mutating func put(_ value: UInt32, at offset: Int) {
    put(UInt16(truncatingIfNeeded: value), at: offset)
    put(UInt16(truncatingIfNeeded: value >> 16), at: offset &+ 2)
  }
}
