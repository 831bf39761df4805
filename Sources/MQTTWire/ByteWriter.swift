public import Storage

/// Writes a packet front to back into a span that is known to be large enough.
///
/// Every packet says its `encodedSize` first, so a write beyond the end is a defect of this module, and
/// traps. It can't be caused from outside.
public struct ByteWriter: PacketWriter, ~Copyable, ~Escapable {
  private var target: MutableSpan<UInt8>
  public private(set) var count = 0

  @_lifetime(copy target)
  @inline(__always)
  public init(_ target: consuming MutableSpan<UInt8>) {
    self.target = target
  }

  @_lifetime(self: copy self)
  @inline(__always)
  public mutating func put(_ byte: UInt8) {
    target[count] = byte
    count &+= 1
  }

  /// Writes a Two Byte Integer (§1.5.2).
  @_lifetime(self: copy self)
  @inline(__always)
  public mutating func put(_ value: UInt16) {
    put(UInt8(truncatingIfNeeded: value >> 8))
    put(UInt8(truncatingIfNeeded: value))
  }

  @_lifetime(self: copy self)
  @inline(__always)
  public mutating func put(_ bytes: Span<UInt8>) {
    var destination = target._mutatingExtracting(count..<count &+ bytes.count)
    copy(bytes, into: &destination)
    count &+= bytes.count
  }
}

/// The data types of §1.5 that consist of those.
extension PacketWriter where Self: ~Copyable, Self: ~Escapable {
  /// Writes a Four Byte Integer (§1.5.3).
  @_lifetime(self: copy self)
  public mutating func put(_ value: UInt32) {
    put(UInt16(truncatingIfNeeded: value >> 16))
    put(UInt16(truncatingIfNeeded: value))
  }

  /// Writes a Variable Byte Integer (§1.5.5).
  @_lifetime(self: copy self)
  @inline(__always)
  public mutating func put(variableByteInteger value: Int) {
    var rest = value
    while rest > 127 {
      put(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    put(UInt8(truncatingIfNeeded: rest))
  }

  /// Writes a UTF-8 Encoded String or Binary Data: a Two Byte Integer length, then the bytes (§1.5.4,
  /// §1.5.6).
  @_lifetime(self: copy self)
  @inline(__always)
  public mutating func put(prefixed bytes: Span<UInt8>) {
    put(UInt16(truncatingIfNeeded: bytes.count))
    put(bytes)
  }

  /// Writes a constant ASCII text as a UTF-8 Encoded String.
  @_lifetime(self: copy self)
  mutating func put(prefixed text: StaticString) {
    put(UInt16(truncatingIfNeeded: text.utf8CodeUnitCount))
    for index in 0..<text.utf8CodeUnitCount { put(unsafe text.utf8Start[index]) }
  }
}
