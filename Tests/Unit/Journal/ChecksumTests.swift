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
}
