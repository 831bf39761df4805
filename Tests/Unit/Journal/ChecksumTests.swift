import TestSupport
import Testing

@testable import Journal

/// CRC-32C against the values of RFC 3720, appendix B.4, and of the literature.
@Suite struct ChecksumTests {
  @Test(arguments: [
    ([UInt8](repeating: 0, count: 32), 0x8A91_36AA),
    ([UInt8](repeating: 0xFF, count: 32), 0x62A8_AB43),
    ([UInt8](0..<32), 0x46DD_794E),
    ([UInt8]((0..<32).reversed()), 0x113F_DB5C),
    ("123456789".bytes, 0xE306_9283),
    ([], 0),
  ])
  func knownValues(bytes: [UInt8], checksum: Int) {
    #expect(CRC32C.checksum(bytes.span) == UInt32(checksum))
  }

  @Test func inParts() {
    let bytes = [UInt8](0..<200)
    for cut in [0, 1, 7, 100, 200] {
      let first = CRC32C.checksum(bytes.span.extracting(0..<cut))
      #expect(CRC32C.checksum(bytes.span.extracting(cut..<200), after: first) == CRC32C.checksum(bytes.span))
    }
  }

  /// The definition, bit by bit.
  private static func reference(_ bytes: [UInt8], after crc: UInt32 = 0) -> UInt32 {
    var register = ~crc
    for byte in bytes {
      register ^= UInt32(byte)
      for _ in 0..<8 { register = register >> 1 ^ (register & 1 != 0 ? 0x82F6_3B78 : 0) }
    }
    return ~register
  }

  /// From some size on, parts are done side by side, and what is left behind them.
  @Test(arguments: [0, 1, 511, 512, 513, 514, 515, 516, 1000, 4047, 4048, 4049, 9999])
  func anySize(_ size: Int) {
    var random = SeededRandom(seed: UInt64(size))
    let bytes = random.bytes(size)
    #expect(CRC32C.checksum(bytes.span) == Self.reference(bytes))
    let half = size / 2
    let first = CRC32C.checksum(bytes.span.extracting(0..<half))
    #expect(CRC32C.checksum(bytes.span.extracting(half..<size), after: first) == Self.reference(bytes))
  }

  @Test func aQuarterOfABlock() {
    // What is written down for full blocks is what any other size is computed with.
    let block = [UInt8](repeating: 0xA5, count: Block.room)
    #expect(CRC32C.checksum(block.span) == Self.reference(block))
    #expect(CRC32C.power(Block.room / 4) == 0xB4E7_CF58)
  }
}
