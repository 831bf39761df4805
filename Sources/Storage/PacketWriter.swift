/// Where a packet is encoded, front to back. There are two: one that checks each write, and `UncheckedWriter`, whose size is
/// checked once for the whole packet.
public protocol PacketWriter: ~Copyable, ~Escapable {
  @_lifetime(self: copy self)
  mutating func put(_ byte: UInt8)

  /// The high byte first.
  @_lifetime(self: copy self)
  mutating func put(_ value: UInt16)

  @_lifetime(self: copy self)
  mutating func put(_ bytes: Span<UInt8>)
}
