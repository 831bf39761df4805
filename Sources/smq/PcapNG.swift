/// Blocks of a capture file (draft-ietf-opsawg-pcapng), little-endian. Its packets are of link type 252, "Wireshark Upper
/// PDU": what the dissector of MQTT reads, without a TCP connection around it.
struct PcapNG {
  private(set) var bytes: [UInt8] = []

  /// A capture file begins with it.
  mutating func sectionHeader(program: [UInt8]) {
    block(0x0A0D_0D0A) { block in
      block.little32(0x1A2B_3C4D)  // which tells the byte order
      block.little16(1)  // version 1.0
      block.little16(0)
      block.little32(0xFFFF_FFFF)  // how long the section is, is not known
      block.little32(0xFFFF_FFFF)
      block.option(4, program)  // shb_userappl
      block.endOptions()
    }
  }

  /// A client. The packets that name it come later; the first one is interface 0.
  mutating func interface(name: [UInt8]) {
    block(1) { block in
      block.little16(252)
      block.little16(0)
      block.little32(0)  // packets are as long as they are
      block.option(2, name)  // if_name
      block.option(9, [6])  // if_tsresol: microseconds
      block.endOptions()
    }
  }

  /// `microseconds` since 1970. `connection` tells the connections of a client apart.
  mutating func packet(
    interface: UInt32, microseconds: UInt64, isSent: Bool, connection: UInt16, length: Int, comment: [UInt8],
    _ data: [UInt8]
  ) {
    let tags = Self.tags(isSent: isSent, connection: connection)
    block(6) { block in
      block.little32(interface)
      block.little32(UInt32(truncatingIfNeeded: microseconds >> 32))
      block.little32(UInt32(truncatingIfNeeded: microseconds))
      block.little32(UInt32(tags.count + data.count))
      block.little32(UInt32(tags.count + length))
      block.bytes += tags
      block.bytes += data
      block.pad()
      block.option(1, comment)  // opt_comment
      block.option(2, [isSent ? 2 : 1, 0, 0, 0])  // epb_flags: outbound, inbound
      block.endOptions()
    }
  }

  /// What the dissector has to know, big-endian. The addresses are made up: they are what tells the two directions, and
  /// the connections, apart.
  private static func tags(isSent: Bool, connection: UInt16) -> [UInt8] {
    let client: [UInt8] = [127, 0, 0, 1]
    let server: [UInt8] = [127, 0, 0, 2]
    let port = UInt32(49_152 + connection % 16_384)
    var tags = PcapNG()
    tags.tag(12, ascii("mqtt"))  // the dissector
    tags.tag(20, isSent ? client : server)  // IPv4 source
    tags.tag(21, isSent ? server : client)  // and destination
    tags.tag(24, [0, 0, 0, 2])  // ports of TCP
    tags.tag(25, big32(isSent ? port : 1883))
    tags.tag(26, big32(isSent ? 1883 : port))
    tags.tag(0, [])
    return tags.bytes
  }

  // ---- Helpers

  private mutating func block(_ type: UInt32, _ body: (inout PcapNG) -> Void) {
    var inner = PcapNG()
    body(&inner)
    let size = UInt32(inner.bytes.count + 12)
    little32(type)
    little32(size)
    bytes += inner.bytes
    little32(size)
  }

  private mutating func option(_ code: UInt16, _ value: [UInt8]) {
    let value = value.prefix(65_535)
    guard !value.isEmpty else { return }
    little16(code)
    little16(UInt16(value.count))
    bytes += value
    pad()
  }

  private mutating func endOptions() { little32(0) }

  /// A tag's length counts its padding, and all of these are padded.
  private mutating func tag(_ type: UInt8, _ value: [UInt8]) {
    bytes += [0, type, 0, UInt8(value.count)]
    bytes += value
  }

  private mutating func pad() { while bytes.count % 4 != 0 { bytes.append(0) } }

  private mutating func little16(_ value: UInt16) {
    bytes += [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)]
  }

  private mutating func little32(_ value: UInt32) {
    little16(UInt16(truncatingIfNeeded: value))
    little16(UInt16(truncatingIfNeeded: value >> 16))
  }

  private static func big32(_ value: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: value >> UInt32(24 - 8 * $0)) }
  }
}
