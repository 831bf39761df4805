import MQTTWire
import TestSupport
import Testing

@Suite struct ByteWriterTests {
  @Test func writesFrontToBack() {
    let text = "ab".bytes
    let bytes = encoded(14) { writer in
      writer.put(UInt8(1))
      writer.put(UInt16(0x0203))
      writer.put(UInt32(0x0405_0607))
      writer.put(text.span)
      writer.put(prefixed: text.span)
      writer.put(UInt8(0xEE))
    }
    #expect(bytes == hex("01 02 03 04 05 06 07 61 62 00 02 61 62 EE"))
  }

  /// Over the end is a bug of the caller: it traps instead of writing elsewhere.
  @Test func overTheEndTraps() async {
    await #expect(processExitsWith: .failure) {
      _ = encoded(3) { $0.put(UInt32(1)) }
    }
    await #expect(processExitsWith: .failure) {
      _ = encoded(3) { $0.put([1, 2, 3, 4].span) }
    }
  }
}
