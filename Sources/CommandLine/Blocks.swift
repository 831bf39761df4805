import Capture

/// Blocks of a capture, collected.
struct Blocks {
  private(set) var bytes: [UInt8] = []

  mutating func sectionHeader(program: [UInt8]) {
    append(atMost: BlockWriter.headerOverhead + program.count) { $0.sectionHeader(program: program.span) }
  }

  mutating func interface(name: [UInt8]) {
    append(atMost: BlockWriter.headerOverhead + name.count) { $0.interface(name: name.span) }
  }

  mutating func packet(_ packet: CapturedPacket, _ data: [UInt8]) {
    append(atMost: BlockWriter.packetOverhead + data.count) {
      $0.packet(packet, of: Program.captured, data.span, Span())
    }
  }

  private mutating func append(atMost size: Int, _ write: (inout BlockWriter) -> Void) {
    var block = [UInt8](repeating: 0, count: size)
    var writer = BlockWriter(block.mutableSpan)
    write(&writer)
    let count = writer.count
    bytes += block[..<count]
  }
}

extension Blocks {
  mutating func packet(_ seen: SeenPacket) {
    let time = UInt64(bitPattern: seen.microseconds)
    packet(
      CapturedPacket(
        interface: UInt32(seen.client),
        time: CaptureTime(
          high: UInt32(truncatingIfNeeded: time >> 32), low: UInt32(truncatingIfNeeded: time)),
        isSent: seen.isSent, connection: seen.connection, length: seen.length, outbox: seen.outbox),
      seen.bytes)
  }
}

extension SeenPacket {
  /// What the comment says; `nil`: it is none of this project.
  fileprivate var outbox: CapturedPacket.Outbox? {
    let words = comment.filter { $0 != 44 }.split(separator: 32).map { Array($0) }
    guard words.count == 5, words[0] == "outbox", words[2] == "in", words[3] == "flight",
      let messages = words[1].number(in: 0...Int64(UInt32.max)),
      let inFlight = words[4].number(in: 0...Int64(UInt32.max))
    else { return nil }
    return CapturedPacket.Outbox(messages: UInt32(messages), inFlight: UInt32(inFlight))
  }
}
