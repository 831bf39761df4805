/// SHA-1 (RFC 3174), which the handshake of WebSocket asks for: to show that the server has understood the
/// request. It protects nothing.
enum SHA1 {
  @_optimize(size)
  static func hash(_ message: Span<UInt8>) -> InlineArray<20, UInt8> {
    var state: InlineArray<5, UInt32> = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
    let blocks = (message.count &+ 9 &+ 63) / 64
    for block in 0..<blocks { add(block, of: message, isLast: block == blocks &- 1, to: &state) }
    var digest = InlineArray<20, UInt8>(repeating: 0)
    for index in 0..<20 {
      digest[index] = UInt8(truncatingIfNeeded: state[index / 4] >> (24 &- 8 &* UInt32(index % 4)))
    }
    return digest
  }

  /// Section 6.2: the schedule is a ring of the last 16 words.
  @_optimize(size)
  private static func add(
    _ block: Int, of message: Span<UInt8>, isLast: Bool, to state: inout InlineArray<5, UInt32>
  ) {
    var words = InlineArray<16, UInt32>(repeating: 0)
    for offset in 0..<64 {
      words[offset / 4] = words[offset / 4] << 8 | UInt32(paddedByte(at: block &* 64 &+ offset, of: message))
    }
    if isLast {
      words[14] = UInt32(truncatingIfNeeded: message.count >> 29)
      words[15] = UInt32(truncatingIfNeeded: message.count << 3)
    }
    var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
    for round in 0..<80 {
      if round >= 16 {
        let mixed = words[(round &- 3) & 15] ^ words[(round &- 8) & 15] ^ words[(round &- 14) & 15]
        words[round & 15] = rotated(mixed ^ words[round & 15], by: 1)
      }
      let (function, constant): (UInt32, UInt32) =
        switch round {
        case 0..<20: ((b & c) | (~b & d), 0x5A82_7999)
        case 20..<40: (b ^ c ^ d, 0x6ED9_EBA1)
        case 40..<60: ((b & c) | (b & d) | (c & d), 0x8F1B_BCDC)
        default: (b ^ c ^ d, 0xCA62_C1D6)
        }
      let next = rotated(a, by: 5) &+ function &+ e &+ constant &+ words[round & 15]
      (a, b, c, d, e) = (next, a, rotated(b, by: 30), c, d)
    }
    state[0] &+= a
    state[1] &+= b
    state[2] &+= c
    state[3] &+= d
    state[4] &+= e
  }

  /// Section 4: one bit and zeros follow the message.
  private static func paddedByte(at offset: Int, of message: Span<UInt8>) -> UInt8 {
    offset < message.count ? message[offset] : offset == message.count ? 0x80 : 0
  }

  private static func rotated(_ word: UInt32, by count: UInt32) -> UInt32 {
    word << count | word >> (32 &- count)
  }
}
