public import Storage

/// Writes blocks of a capture file (draft-ietf-opsawg-pcapng), little-endian, into a span that is known to be large
/// enough: a write beyond its end traps. Its packets have the link type 252, "Wireshark Upper PDU": what the dissector
/// of a protocol reads, without a TCP connection around it.
public struct BlockWriter: ~Copyable, ~Escapable {
  private var target: MutableSpan<UInt8>
  /// How many bytes are written.
  public private(set) var count = 0
  /// Where the block is that was begun.
  private var start = 0

  @_lifetime(copy target)
  public init(_ target: consuming MutableSpan<UInt8>) { self.target = target }

  /// What a packet's block has beside the packet, at most.
  public static var packetOverhead: Int { 160 }
  /// What the blocks have with which a capture begins, beside names.
  public static var headerOverhead: Int { 80 }
  /// Where the bytes of the packet are in its block.
  public static func packetOffset(of content: CapturedProtocol) -> Int { 28 &+ tagsSize(of: content) }
  /// What a block of statistics has beside its text, and where that is in it.
  public static var statisticsOverhead: Int { 64 }
  public static var statisticsTextOffset: Int { 24 }
  /// The longest text or name.
  public static var longestText: Int { 65_535 }

  /// What a capture file begins with.
  @_lifetime(self: copy self)
  @inline(never)
  @_optimize(size)
  public mutating func sectionHeader(program: Span<UInt8>) {
    begin(.sectionHeader)
    put(0x1A2B_3C4D)  // which tells the byte order
    put(1)  // version 1.0
    put(0xFFFF_FFFF)  // how long the section is, is not known
    put(0xFFFF_FFFF)
    option(4, program)  // shb_userappl
    end()
  }

  /// A client. The packets that name it come later; the first one is interface 0.
  @_lifetime(self: copy self)
  @inline(never)
  @_optimize(size)
  public mutating func interface(name: Span<UInt8>) {
    begin(.interfaceDescription)
    put(252)  // the link type
    put(0)  // packets are as long as they are
    option(2, name)  // if_name
    put(option: 9, count: 1)  // if_tsresol
    put(6)  // microseconds
    end()
  }

  /// A packet, of which `front`, and then `more`, are here.
  @_lifetime(self: copy self)
  @inline(never)
  @_optimize(size)
  public mutating func packet(
    _ packet: CapturedPacket, of content: CapturedProtocol, _ front: Span<UInt8>, _ more: Span<UInt8>
  ) {
    let tagsSize = Self.tagsSize(of: content)
    begin(.enhancedPacket)
    put(packet.interface)
    put(packet.time)
    put(UInt32(truncatingIfNeeded: tagsSize &+ front.count &+ more.count))
    put(UInt32(truncatingIfNeeded: tagsSize &+ packet.length))
    putTags(packet, of: content)
    put(front)
    put(more)
    pad()
    if let outbox = packet.outbox { comment(outbox) }
    put(option: 2, count: 4)  // epb_flags
    put(packet.isSent ? 2 : 1)  // outbound, inbound
    end()
  }

  /// How many packets of an interface there were, how many of them are not here, and a text of so many bytes, which
  /// begins `statisticsTextOffset` bytes behind the beginning of the block already.
  @_lifetime(self: copy self)
  @inline(never)
  @_optimize(size)
  public mutating func statistics(
    of interface: UInt32, _ time: CaptureTime, seen: UInt32, lost: UInt32, textInPlace text: Int
  ) {
    begin(.interfaceStatistics)
    put(interface)
    put(time)
    if text > 0 {
      put(option: 1, count: text)  // opt_comment
      count &+= text
      pad()
    }
    put(option: 4, count: 8)  // isb_ifrecv
    put(seen)
    put(0)
    put(option: 5, count: 8)  // isb_ifdrop
    put(lost)
    put(0)
    end()
  }

  // MARK: Helpers

  private static func tagsSize(of content: CapturedProtocol) -> Int {
    switch content {
    case .mqtt: 52
    case .stomp: 64
    }
  }

  /// What the dissector has to know, big-endian. A tag's length counts its padding. The addresses are made up: they are
  /// what tells the two directions, and the connections, apart.
  @_lifetime(self: copy self)
  private mutating func putTags(_ packet: CapturedPacket, of content: CapturedProtocol) {
    let client: UInt32 = 0x7F00_0001
    let server: UInt32 = 0x7F00_0002
    let port = 49_152 + packet.connection % 16_384
    // The dissector.
    switch content {
    case .mqtt: tag(12, 0x6D71_7474)
    case .stomp:
      put((12 << 16 | 16 as UInt32).byteSwapped)
      put(text: content.dissector)
      pad()
    }
    tag(20, packet.isSent ? client : server)  // IPv4 source
    tag(21, packet.isSent ? server : client)  // and destination
    tag(24, 2)  // ports of TCP
    tag(25, packet.isSent ? port : content.port)
    tag(26, packet.isSent ? content.port : port)
    put(0)  // the end
  }

  @_lifetime(self: copy self)
  private mutating func comment(_ outbox: CapturedPacket.Outbox) {
    let start = count
    put(option: 1, count: 0)  // opt_comment
    let text = count
    put(text: "outbox ")
    put(decimal: outbox.messages)
    put(text: ", in flight ")
    put(decimal: outbox.inFlight)
    target.store(UInt16(truncatingIfNeeded: count &- text), at: start &+ 2)
    pad()
  }

  @_lifetime(self: copy self)
  private mutating func begin(_ type: CaptureBlock) {
    start = count
    put(type.rawValue)
    put(0)
  }

  /// Ends the options, and the block.
  @_lifetime(self: copy self)
  private mutating func end() {
    pad()
    put(0)
    let size = UInt32(truncatingIfNeeded: count &- start &+ 4)
    put(size)
    target.store(size, at: start &+ 4)
  }

  @_lifetime(self: copy self)
  private mutating func option(_ code: UInt16, _ value: Span<UInt8>) {
    guard !value.isEmpty else { return }
    let value = value.extracting(first: Self.longestText)
    put(option: code, count: value.count)
    put(value)
    pad()
  }

  @_lifetime(self: copy self)
  private mutating func put(option code: UInt16, count: Int) {
    put(UInt32(code) | UInt32(truncatingIfNeeded: count) << 16)
  }

  @_lifetime(self: copy self)
  @inline(never)
  @_optimize(size)
  private mutating func tag(_ type: UInt32, _ value: UInt32) {
    put((type << 16 | 4).byteSwapped)
    put(value.byteSwapped)
  }

  @_lifetime(self: copy self)
  private mutating func put(_ time: CaptureTime) {
    put(time.high)
    put(time.low)
  }

  @_lifetime(self: copy self)
  @inline(never)
  @_optimize(size)
  private mutating func put(_ value: UInt32) {
    target.store(value, at: count)
    count &+= 4
  }

  @_lifetime(self: copy self)
  @inline(never)
  @_optimize(size)
  private mutating func put(_ bytes: Span<UInt8>) {
    var room = target._mutatingExtracting(count..<count &+ bytes.count)
    copy(bytes, into: &room)
    count &+= bytes.count
  }

  /// Zeros up to the next multiple of four.
  @_lifetime(self: copy self)
  @inline(never)
  @_optimize(size)
  private mutating func pad() {
    while (count &- start) & 3 != 0 {
      target[count] = 0
      count &+= 1
    }
  }

  // MARK: Text

  @_lifetime(self: copy self)
  private mutating func put(text: StaticString) { put(text.bytes) }

  @_lifetime(self: copy self)
  private mutating func put(decimal value: UInt32) {
    Decimal.append(Counter(value), to: &target, &count)
  }
}
