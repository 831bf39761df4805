import Storage

/// Encodes bytes that come in pieces (RFC 4648 section 4).
struct Base64: BitwiseCopyable {
  /// The bytes that do not make up a group yet, and how many.
  private var group: UInt32 = 0
  private var count: UInt8 = 0

  @_optimize(size)
  @inline(never)
  mutating func encode(_ bytes: Span<UInt8>, into writer: inout RequestWriter) {
    for index in 0..<bytes.count {
      group = group << 8 | UInt32(bytes[index])
      count &+= 1
      if count == 3 { put(4, into: &writer) }
    }
  }

  /// Fills the last group up.
  @_optimize(size)
  mutating func finish(into writer: inout RequestWriter) {
    guard count > 0 else { return }
    let missing = 3 &- count
    group <<= UInt32(missing) &* 8
    put(4 &- missing, into: &writer)
    for _ in 0..<missing { writer.put(UInt8(ascii: "=")) }
  }

  /// Writes the first characters of a group.
  @_optimize(size)
  @inline(never)
  private mutating func put(_ characters: UInt8, into writer: inout RequestWriter) {
    for index in 0..<UInt32(characters) {
      writer.put(Self.character(UInt8(truncatingIfNeeded: group >> (18 &- 6 &* index)) & 63))
    }
    group = 0
    count = 0
  }

  private static func character(_ value: UInt8) -> UInt8 {
    switch value {
    case 0..<26: UInt8(ascii: "A") &+ value
    case 26..<52: UInt8(ascii: "a") &+ value &- 26
    case 52..<62: UInt8(ascii: "0") &+ value &- 52
    case 62: UInt8(ascii: "+")
    default: UInt8(ascii: "/")
    }
  }
}
