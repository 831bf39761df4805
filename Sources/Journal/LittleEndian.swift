public import Storage

/// Numbers in the file are little-endian, as all processors are that this runs on.
extension Span<UInt8> {
  public func littleEndian16(at offset: Int) -> UInt16 { load(at: offset, as: UInt16.self) }

  public func littleEndian32(at offset: Int) -> UInt32 { load(at: offset, as: UInt32.self) }
}

extension MutableSpan<UInt8> {
  @_lifetime(self: copy self)
  public mutating func put(_ value: UInt16, at offset: Int) { store(value, at: offset) }

  @_lifetime(self: copy self)
  public mutating func put(_ value: UInt32, at offset: Int) { store(value, at: offset) }
}
