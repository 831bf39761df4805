/// Two halves of 64 bits. The salt of a file is a random number that every block of a file has. Blocks of an older file that lie in the same sectors have
/// another.
public struct Salt: BitwiseCopyable, Equatable {
  let low: UInt32
  let high: UInt32

  @_optimize(size)
  public init(low: UInt32, high: UInt32) {
    self.low = low
    self.high = high
  }

  /// A hash: CRC-32C, and FNV-1a, which knows the order of bytes in another way.
  @_optimize(size)
  public init(hashing bytes: Span<UInt8>) {
    low = CRC32C.checksum(bytes)
    var hash: UInt32 = 2_166_136_261
    for index in bytes.indices { hash = (hash ^ UInt32(bytes[index])) &* 16_777_619 }
    high = hash
  }
}
