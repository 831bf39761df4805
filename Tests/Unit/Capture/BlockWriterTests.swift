import Storage
import TestSupport
import Testing

@testable import Capture

/// Blocks against the layout of draft-ietf-opsawg-pcapng, byte for byte.
@Suite struct BlockWriterTests {
  private static func written(room: Int = 1000, _ write: (inout BlockWriter) -> Void) -> [UInt8] {
    var bytes = [UInt8](repeating: 0xAA, count: room)
    var writer = BlockWriter(bytes.mutableSpan)
    write(&writer)
    let count = writer.count
    return Array(bytes[..<count])
  }

  @Test func sectionHeader() {
    let block = Self.written { $0.sectionHeader(program: "abc".bytes.span) }
    #expect(
      block == [
        0x0A, 0x0D, 0x0D, 0x0A, 40, 0, 0, 0, 0x4D, 0x3C, 0x2B, 0x1A, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255,
        255, 255, 4, 0, 3, 0, 97, 98, 99, 0, 0, 0, 0, 0, 40, 0, 0, 0,
      ])
  }

  @Test func interface() {
    let block = Self.written { $0.interface(name: "id".bytes.span) }
    #expect(
      block == [
        1, 0, 0, 0, 40, 0, 0, 0, 252, 0, 0, 0, 0, 0, 0, 0, 2, 0, 2, 0, 105, 100, 0, 0, 9, 0, 1, 0, 6, 0, 0, 0,
        0, 0,
        0, 0, 40, 0, 0, 0,
      ])
  }

  /// An empty name is left out.
  @Test func interfaceWithoutAName() {
    let block = Self.written { $0.interface(name: Span()) }
    #expect(Array(block[16..<20]) == [9, 0, 1, 0])
  }

  private static func packet(isSent: Bool, length: Int, outbox: CapturedPacket.Outbox?) -> CapturedPacket {
    CapturedPacket(
      interface: 3, time: CaptureTime(high: 0x0102_0304, low: 0x0506_0708), isSent: isSent, connection: 1,
      length: length, outbox: outbox)
  }

  @Test func packet() {
    let block = Self.written {
      $0.packet(
        Self.packet(isSent: true, length: 9, outbox: .init(messages: 12, inFlight: 3)), of: .mqtt,
        "ab".bytes.span,
        "cde".bytes.span)
    }
    #expect(
      Array(block[..<28]) == [
        6, 0, 0, 0, 132, 0, 0, 0, 3, 0, 0, 0, 4, 3, 2, 1, 8, 7, 6, 5, 57, 0, 0, 0, 61, 0, 0, 0,
      ])
    #expect(
      Array(block[28..<80]) == [
        0, 12, 0, 4, 109, 113, 116, 116, 0, 20, 0, 4, 127, 0, 0, 1, 0, 21, 0, 4, 127, 0, 0, 2, 0, 24, 0, 4, 0,
        0, 0, 2,
        0, 25, 0, 4, 0, 0, 0xC0, 1, 0, 26, 0, 4, 0, 0, 7, 0x5B, 0, 0, 0, 0,
      ])
    #expect(BlockWriter.packetOffset(of: .mqtt) == 80)
    #expect(Array(block[80..<88]) == "abcde\0\0\0".bytes)
    #expect(Array(block[88..<92]) == [1, 0, 22, 0])
    #expect(Array(block[92..<116]) == "outbox 12, in flight 3\0\0".bytes)
    #expect(Array(block.suffix(16)) == [2, 0, 4, 0, 2, 0, 0, 0, 0, 0, 0, 0] + [UInt8(block.count), 0, 0, 0])
  }

  /// The addresses and ports change places, and there is no comment.
  @Test func aReceivedPacketOfATrace() {
    let block = Self.written {
      $0.packet(Self.packet(isSent: false, length: 0, outbox: nil), of: .mqtt, Span(), Span())
    }
    #expect(Array(block[40..<52]) == [127, 0, 0, 2, 0, 21, 0, 4, 127, 0, 0, 1])
    #expect(Array(block[80..<92]) == [2, 0, 4, 0, 1, 0, 0, 0, 0, 0, 0, 0])
    #expect(block.count == 96)
  }

  /// Wireshark shows frames of STOMP as text.
  @Test func aFrameOfSTOMP() {
    let block = Self.written {
      $0.packet(Self.packet(isSent: true, length: 5, outbox: nil), of: .stomp, "SEND\0".bytes.span, Span())
    }
    #expect(Array(block[28..<48]) == [0, 12, 0, 16] + "data-text-lines\0".bytes)
    #expect(Array(block[72..<88]) == [0, 25, 0, 4, 0, 0, 0xC0, 1, 0, 26, 0, 4, 0, 0, 0xF0, 0xAD])
    #expect(Array(block[88..<92]) == [0, 0, 0, 0])
    #expect(BlockWriter.packetOffset(of: .stomp) == 92)
    #expect(Array(block[92..<100]) == "SEND\0\0\0\0".bytes)
  }

  /// With the largest numbers, a packet of any size takes no more than is said.
  @Test(arguments: 0..<9, [false, true])
  func theOverheadIsEnough(_ size: Int, isOfSTOMP: Bool) {
    let data = [UInt8](repeating: 1, count: size)
    let block = Self.written(room: size + BlockWriter.packetOverhead) {
      $0.packet(
        Self.packet(isSent: true, length: size, outbox: .init(messages: .max, inFlight: .max)),
        of: isOfSTOMP ? .stomp : .mqtt,
        data.span,
        Span())
    }
    #expect(block.count % 4 == 0)
    let header = Self.written(room: 2 * size + BlockWriter.headerOverhead) {
      $0.sectionHeader(program: data.span)
      $0.interface(name: data.span)
    }
    #expect(header.count % 4 == 0)
  }

  /// The text is there before the block is written around it.
  @Test func statistics() {
    var bytes = [UInt8](repeating: 0xAA, count: 100)
    for (index, byte) in "a 1\nb 2\nc".bytes.enumerated() {
      bytes[BlockWriter.statisticsTextOffset + index] = byte
    }
    var writer = BlockWriter(bytes.mutableSpan)
    writer.statistics(of: 0, CaptureTime(high: 1, low: 2), seen: 3, lost: 4, textInPlace: 9)
    let count = writer.count
    #expect(
      Array(bytes[..<count]) == [
        5, 0, 0, 0, 68, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 9, 0,
      ] + "a 1\nb 2\nc\0\0\0".bytes + [
        4, 0, 8, 0, 3, 0, 0, 0, 0, 0, 0, 0, 5, 0, 8, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 68, 0, 0, 0,
      ])
  }
}
