import MQTTWire
import Storage

/// Bytes from the server, parsed in place.
struct ReceiveBuffer: ~Copyable {
  private var queue: ByteQueue
  private(set) var peak = 0
  /// It was full after the last bytes came, so the transport may have more.
  var wasFilled = false

  init(region: consuming Region) { queue = ByteQueue(region: region) }

  var capacity: Int { queue.capacity }

  /// Whether everything was parsed.
  var isEmpty: Bool { queue.isEmpty }

  var hasSpace: Bool { queue.count < queue.capacity }

  /// Whether there is space without moving what is unread.
  var hasTailSpace: Bool { queue.tailCount > 0 }

  /// What was received and not yet parsed.
  var unread: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { queue.bytes }
  }

  /// What follows the Fixed Header of the packet at the front.
  @_lifetime(borrow self)
  borrowing func body(of header: FixedHeader) -> Span<UInt8> {
    unread.extracting(header.size..<header.packetSize)
  }

  /// All bytes, for ranges that outlive parsing.
  var bytes: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { queue.allBytes }
  }

  /// Where the unread bytes begin in `bytes`.
  var position: Int { queue.position }

  /// The first byte and the Packet Identifier of the next packet, if it is an acknowledgement of four bytes.
  @inline(__always)
  var plainAcknowledgement: (firstByte: UInt8, identifier: PacketIdentifier)? {
    // Its Remaining Length is that of a plain acknowledgement.
    guard let word = queue.firstWord,
      UInt8(truncatingIfNeeded: word >> 8) == Acknowledgement.plainRemainingLength,
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
  }

  /// Returns the next packet if it is a whole PUBLISH without DUP, without properties and with a valid
  /// Topic Name.
  @inline(always)
  func plainMessage(hasProperties: Bool) -> PlainPacket? {
    let available = queue.count
    // First byte, Remaining Length and the length of the topic.
    guard available >= 5, let word = queue.firstWord else { return nil }
    guard word & UInt32(Self.plainMask) == UInt32(ControlPacketType.publish.rawValue << 4),
      let qos = QoS(rawValue: UInt8(truncatingIfNeeded: word >> 1) & 3)
    else { return nil }
    let low = Int(truncatingIfNeeded: word >> 8 & 0xFF)
    let third = Int(truncatingIfNeeded: word >> 16 & 0xFF)
    let fourth = Int(truncatingIfNeeded: word >> 24)
    var size = 2 &+ low
    var topicCount = third << 8 | fourth
    var offset = 4
    if low >= 128 {
      // Remaining Length has to be encoded in the fewest bytes. This path reads no more than two.
      guard 1...127 ~= third else { return nil }
      size = 3 &+ (low & 127 | third << 7)
      topicCount = fourth << 8 | Int(queue[offset])
      offset &+= 1
    }
    // The identifier is checked where it is used.
    var payloadOffset = offset &+ topicCount &+ (qos == .atMostOnce ? 0 : PacketIdentifier.encodedSize)
    guard size <= available, payloadOffset <= size else { return nil }
    if hasProperties {
      guard payloadOffset < size, queue[payloadOffset] == 0 else { return nil }
      payloadOffset &+= 1
    }
    guard TopicName.isValid(queue.bytes(at: offset, count: topicCount)) else { return nil }
    return PlainPacket(
      packetSize: size, topic: ByteRange(offset: queue.position &+ offset, count: topicCount),
      payload: ByteRange(offset: queue.position &+ payloadOffset, count: size &- payloadOffset),
      qos: qos, retain: word & UInt32(Publish.retainFlag) != 0)
  }

  /// Returns the Packet Identifier of a plain message that has one, or `nil` if it is 0, which is not
  /// allowed.
  func identifier(of packet: PlainPacket) -> PacketIdentifier? {
    PacketIdentifier(queue.uint16(at: packet.topic.offset &+ packet.topic.count &- queue.position))
  }

  /// Returns whether `ReceivedPublish` reads the same in the packet. Debug builds, like those of the unit
  /// tests, check it for each plain message, so that the two readers cannot come to differ.
  func agreesWithReceivedPublish(_ packet: PlainPacket, _ version: ProtocolVersion) -> Bool {
    guard let header = try? FixedHeader(parsing: unread, version: version),
      let publish = try? ReceivedPublish(parsing: body(of: header), flags: header.flags, version: version)
    else { return false }
    let offset = position &+ header.size
    return header.packetSize == packet.packetSize && publish.topic.shifted(by: offset) == packet.topic
      && publish.payload.shifted(by: offset) == packet.payload && publish.qos == packet.qos
      && publish.retain == packet.retain && !publish.duplicate && publish.properties.isEmpty
  }

  /// Packet type and DUP.
  private static var plainMask: UInt8 { 0xF0 | Publish.duplicateFlag }

  /// The space for the next bytes.
  var space: MutableSpan<UInt8> {
    @_lifetime(&self)
    mutating get { queue.tail() }
  }

  /// Whether less than half of the region is free behind the unread bytes, and some is in front of them.
  var shouldCompact: Bool { queue.position > 0 && queue.tailCount < queue.capacity / 2 }

  /// Moves the unread bytes to the front of the region. No event may point into them.
  mutating func compact() { queue.compact() }

  mutating func received(_ count: Int) {
    queue.append(count)
    peak = max(peak, queue.count)
    wasFilled = !hasTailSpace
  }

  @inline(__always)
  mutating func consume(_ count: Int) { queue.removeFirst(count) }

  /// Where the unread bytes end in `bytes`.
  var end: Int {
    @inline(__always) get { queue.position &+ queue.count }
  }

  /// Keeps what was parsed, in front of an offset, although nothing is unread.
  mutating func keepParsed(before offset: Int) { if queue.isEmpty { queue.begin(at: offset) } }

  /// Drops `count` unread bytes that begin `offset` bytes behind the front.
  mutating func removeRange(at offset: Int, count: Int) { queue.remove(at: offset, count: count) }

  /// Overwrites what was received.
  mutating func wipe() { queue.wipe() }

  mutating func removeAll() { queue.removeAll() }
}
