/// What a packet is encoded into, front to back. There are two writers: `ByteWriter` checks each write, and
/// the size of an `UncheckedWriter` is checked once for the whole packet.
public protocol PacketWriter: ~Copyable, ~Escapable {
  @_lifetime(self: copy self)
  mutating func put(_ byte: UInt8)

  /// The high byte first.
  @_lifetime(self: copy self)
  mutating func put(_ value: UInt16)

  @_lifetime(self: copy self)
  mutating func put(_ bytes: Span<UInt8>)
}
