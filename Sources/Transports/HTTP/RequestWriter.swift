import Storage

/// Writes a message of a handshake, and counts the bytes that do not fit.
struct RequestWriter: ~Copyable, ~Escapable {
  private var target: MutableSpan<UInt8>
  /// How many bytes the message has, written or not.
  private(set) var count = 0

  @_lifetime(copy target)
  init(_ target: consuming MutableSpan<UInt8>) { self.target = target }

  /// How many bytes were written; `nil`: there was no room for all of them.
  var size: Int? { count <= target.count ? count : nil }

  @_lifetime(self: copy self)
  @inline(never)
  mutating func put(_ byte: UInt8) {
    if count < target.count { target[count] = byte }
    count &+= 1
  }

  @_lifetime(self: copy self)
  @inline(never)
  mutating func put(_ bytes: Span<UInt8>) { for index in 0..<bytes.count { put(bytes[index]) } }

  @_lifetime(self: copy self)
  @inline(__always)
  mutating func put(_ text: StaticString) { put(text.bytes) }

  /// Writes the high byte first.
  @_lifetime(self: copy self)
  mutating func put(_ value: UInt16) {
    put(UInt8(truncatingIfNeeded: value >> 8))
    put(UInt8(truncatingIfNeeded: value))
  }

  @_lifetime(self: copy self)
  @_optimize(size)
  mutating func put(decimal value: UInt16) {
    var unit: UInt16 = 10_000
    while unit > 0 {
      if value >= unit || unit == 1 { put(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: value / unit % 10)) }
      unit /= 10
    }
  }
}
