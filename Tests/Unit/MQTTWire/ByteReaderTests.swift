import MQTTWire
import Storage
import TestSupport
import Testing

@Suite struct ByteReaderTests {
  @Test func readsFrontToBack() throws {
    let bytes = hex("01 02 03 04 05 06 07 00 02 AA BB 00 01 61 EE EF")
    var reader = ByteReader(bytes.span)
    #expect(try reader.byte() == 0x01)
    #expect(try reader.uint16() == 0x0203)
    #expect(try reader.uint32() == 0x0405_0607)
    #expect(try reader.binaryData() == ByteRange(offset: 9, count: 2))
    #expect(try reader.binaryData(isText: true) == ByteRange(offset: 13, count: 1))
    #expect(reader.position == 14 && !reader.isAtEnd)
    #expect(reader.rest() == ByteRange(offset: 14, count: 2))
    #expect(reader.position == 16 && reader.isAtEnd)
    #expect(reader.rest() == ByteRange(offset: 16, count: 0))
  }

  /// A part of the span: offsets stay those of the whole, and nothing behind it is read.
  @Test func readsAPart() throws {
    let bytes = hex("01 02 03 04 05")
    var reader = ByteReader(bytes.span, in: ByteRange(offset: 1, count: 3))
    #expect(reader.position == 1 && reader.end == 4)
    #expect(throws: Malformed.truncated) { try readUInt32(bytes, in: ByteRange(offset: 1, count: 3)) }
    #expect(try reader.byte() == 0x02)
    #expect(try reader.uint16() == 0x0304)
    #expect(reader.isAtEnd == true)
  }

  private func readUInt32(_ bytes: [UInt8], in extent: ByteRange) throws -> UInt32 {
    var reader = ByteReader(bytes.span, in: extent)
    return try reader.uint32()
  }

  @Test func extentsOutsideAreRefused() {
    for count in [4, 5, Int.max, -1, Int.min] {
      #expect(throws: Malformed.truncated) {
        let bytes: [UInt8] = [1, 2, 3, 4]
        var reader = ByteReader(bytes.span)
        _ = try reader.byte()
        _ = try reader.extent(count)
      }
    }
  }

  @Test func extents() {
    let extent = ByteRange(offset: 3, count: 4)
    #expect(extent.end == 7)
    #expect(extent.range == 3..<7)
    #expect(!extent.isEmpty && ByteRange.empty.isEmpty)
    #expect(extent.shifted(by: 10) == ByteRange(offset: 13, count: 4))
    #expect(extent.shifted(by: -3) == ByteRange(offset: 0, count: 4))
  }
}
