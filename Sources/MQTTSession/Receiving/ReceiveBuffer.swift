import MQTTWire
import Storage

/// Bytes from the server in one linear run, parsed where they lie.
struct ReceiveBuffer: ~Copyable {
  private var region: Region
  private var start = 0
  private var end = 0
  private(set) var peak = 0
  /// It was full when bytes came last: there may be more where they came from.
  var wasFilled = false

  init(region: consuming Region) { self.region = region }

  var capacity: Int { region.count }

  /// There is nothing that was not parsed.
  var isEmpty: Bool { start == end }

  var hasSpace: Bool { end &- start < region.count }

  /// There is space without moving what is unread.
  var hasTailSpace: Bool { end < region.count }

  /// What was received and not yet parsed.
  var unread: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { region.bytes.extracting(start..<end) }
  }

  /// What follows the Fixed Header of the packet at the front.
  @_lifetime(borrow self)
  borrowing func body(of header: FixedHeader) -> Span<UInt8> {
    unread.extracting(header.size..<header.packetSize)
  }

  /// Everything, for extents that outlive parsing.
  var bytes: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { region.bytes }
  }

  /// Where the unread bytes begin in `bytes`.
  var position: Int { start }

  /// The first byte and the Packet Identifier of the next packet, if it is an acknowledgement of four bytes.
  @inline(__always)
  var plainAcknowledgement: (firstByte: UInt8, identifier: PacketIdentifier)? {
    guard end &- start >= Acknowledgement.plainSize else { return nil }
    let word = region.littleEndian(at: start)
    guard UInt8(truncatingIfNeeded: word >> 8) == Acknowledgement.plainRemainingLength,
      let identifier = PacketIdentifier(UInt16(truncatingIfNeeded: word >> 16).byteSwapped)
    else { return nil }
    return (UInt8(truncatingIfNeeded: word), identifier)
  }

  /// A PUBLISH as `plainMessage` finds it.
  struct PlainPacket: BitwiseCopyable {
    let packetSize: Int
    /// In `bytes`.
    let topic: ByteRange
    let payload: ByteRange
    let qos: QoS
    let retain: Bool
    /// `nil` with QoS 0.
    let identifier: PacketIdentifier?
  }

  /// The next packet, if it is a whole PUBLISH without DUP, without properties and with a valid Topic Name.
  @inline(__always)
  func plainMessage(hasProperties: Bool) -> PlainPacket? {
    let available = end &- start
    guard available >= 5 else { return nil }
    // First byte, Remaining Length and the length of the topic.
    let word = region.littleEndian(at: start)
    guard word & UInt32(Self.plainMask) == UInt32(ControlPacketType.publish.rawValue << 4),
      let qos = QoS(rawValue: UInt8(truncatingIfNeeded: word >> 1) & 3)
    else { return nil }
    let low = Int(truncatingIfNeeded: word >> 8 & 0xFF)
    let third = Int(truncatingIfNeeded: word >> 16 & 0xFF)
    let fourth = Int(truncatingIfNeeded: word >> 24)
    var size = 2 &+ low
    var topicCount = third << 8 | fourth
    var position = start &+ 4
    if low >= 128 {
      // In the fewest bytes, and no more than two.
      guard 1...127 ~= third else { return nil }
      size = 3 &+ (low & 127 | third << 7)
      topicCount = fourth << 8 | Int(region[position])
      position &+= 1
    }
    let topic = ByteRange(offset: position, count: topicCount)
    position &+= topicCount
    let packetEnd = start &+ size
    let rest = (qos == .atMostOnce ? 0 : 2) &+ (hasProperties ? 1 : 0)
    guard size <= available, position &+ rest <= packetEnd else { return nil }
    var identifier: PacketIdentifier? = nil
    if qos != .atMostOnce {
      identifier = PacketIdentifier(region.uint16(at: position))
      guard identifier != nil else { return nil }
      position &+= 2
    }
    if hasProperties {
      guard region[position] == 0 else { return nil }
      position &+= 1
    }
    guard TopicName.isValid(region.bytes(at: topic.offset, count: topicCount)) else { return nil }
    return PlainPacket(
      packetSize: size, topic: topic, payload: ByteRange(offset: position, count: packetEnd &- position),
      qos: qos,
      retain: word & UInt32(Publish.retainFlag) != 0, identifier: identifier)
  }

  /// Packet type and DUP.
  private static var plainMask: UInt8 { 0xF0 | Publish.duplicateFlag }

  /// The place for the next bytes.
  var space: MutableSpan<UInt8> {
    @_lifetime(&self)
    mutating get { region.mutableBytes(in: end..<region.count) }
  }

  /// Less than half of the region is behind the unread bytes, and there is some in front of them.
  var shouldCompact: Bool { start > 0 && region.count &- end < region.count / 2 }

  /// Makes the most of the space. No event may point into it.
  mutating func compact() {
    region.move(from: start, to: 0, count: end &- start)
    end &-= start
    start = 0
  }

  mutating func received(_ count: Int) {
    precondition(count >= 0 && count <= region.count &- end)
    end &+= count
    peak = max(peak, end &- start)
    wasFilled = !hasTailSpace
  }

  mutating func consume(_ count: Int) {
    precondition(count >= 0 && count <= end &- start)
    start &+= count
    if start == end { removeAll() }
  }

  /// Drops `count` unread bytes that begin `offset` bytes behind the front.
  mutating func removeRange(at offset: Int, count: Int) {
    precondition(offset >= 0 && count >= 0 && offset + count <= end - start)
    let rest = start &+ offset &+ count
    region.move(from: rest, to: rest &- count, count: end &- rest)
    end &-= count
  }

  /// What the server has said leaves the memory.
  mutating func wipe() { region.wipe(0..<region.count) }

  mutating func removeAll() {
    start = 0
    end = 0
  }
}
