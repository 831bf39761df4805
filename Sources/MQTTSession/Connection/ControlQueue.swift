import MQTTWire
import Storage

/// The small packets that are sent before the outbox, between its packets: acknowledgements, PINGREQ, AUTH,
/// DISCONNECT. None of them outlives a connection.
struct ControlQueue: ~Copyable {
  private var queue: ByteQueue
  private var packets = 0
  /// A packet was there that had more than numbers in it.
  private var hadContents = false
  /// The most bytes there ever were. Between two removals the number only grows.
  var peak: Int { max(peakSeen, queue.count) }
  private var peakSeen = 0

  init(region: consuming Region) { queue = ByteQueue(region: region) }

  var isEmpty: Bool { queue.isEmpty }

  /// Whether there is room for one more acknowledgement, and for the PINGREQ or DISCONNECT that must always
  /// fit.
  var hasRoom: Bool { hasRoom(for: Acknowledgement.maximumEncodedSize &+ Self.reserve) }

  private static var reserve: Int { 8 }

  /// The size of the largest packet that can ever fit.
  var capacity: Int { queue.capacity &- Self.reserve }

  /// Returns whether there is room for a packet of this size, and for what must always fit.
  func hasRoom(besides size: Int) -> Bool { hasRoom(for: size &+ Self.reserve) }

  private func hasRoom(for size: Int) -> Bool { queue.tailCount >= size }

  var pending: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { queue.bytes }
  }

  /// Appends a packet. Each of these functions returns false, and changes nothing, if there is no room.
  mutating func append(_ packet: Acknowledgement) -> Bool {
    guard hasRoom else { return false }
    put(packet)
    return true
  }

  /// The caller has seen that there is room.
  @inline(__always)
  mutating func put(_ packet: Acknowledgement) {
    // The packet writes as many bytes as `encodedSize` says.
    var writer = unsafe queue.tailWriter(count: packet.encodedSize)
    packet.encode(into: &writer)
    finish(packet.encodedSize)
  }

  mutating func append(_ packet: Disconnect, version: ProtocolVersion) -> Bool {
    guard hasRoom(for: packet.encodedSize(version)) else { return false }
    var writer = ByteWriter(queue.tail())
    packet.encode(into: &writer, version: version)
    finish(writer.count)
    return true
  }

  mutating func append(_ packet: Acknowledgement, properties: Span<UInt8>) -> Bool {
    let length = Acknowledgement.remainingLength(properties: properties)
    guard hasRoom(besides: FixedHeader.packetSize(length)) else { return false }
    hadContents = true
    var writer = ByteWriter(queue.tail())
    packet.encode(into: &writer, properties: properties)
    finish(writer.count)
    return true
  }

  mutating func append(_ packet: Disconnect, properties: Span<UInt8>) -> Bool {
    let length = Disconnect.remainingLength(properties: properties)
    guard hasRoom(for: FixedHeader.packetSize(length)) else { return false }
    hadContents = true
    var writer = ByteWriter(queue.tail())
    packet.encode(into: &writer, properties: properties)
    finish(writer.count)
    return true
  }

  /// AUTH (§3.15).
  mutating func appendAuth(
    reasonCode: UInt8, method: Span<UInt8>, data: Span<UInt8>, properties: Span<UInt8>
  ) -> Bool {
    let length = Auth.remainingLength(
      propertyLength: Auth.propertyLength(method: method, data: data, properties: properties))
    guard hasRoom(besides: FixedHeader.packetSize(length)) else { return false }
    hadContents = true
    var writer = ByteWriter(queue.tail())
    Auth.encode(
      into: &writer, reasonCode: reasonCode, method: method, data: data, properties: properties)
    finish(writer.count)
    return true
  }

  /// Appends PINGREQ, and leaves room for a DISCONNECT.
  mutating func appendPingRequest() -> Bool {
    guard hasRoom(for: Ping.encodedSize &+ 3) else { return false }
    var writer = ByteWriter(queue.tail())
    Ping.encodeRequest(into: &writer)
    finish(writer.count)
    return true
  }

  private mutating func finish(_ size: Int) {
    queue.append(size)
    packets &+= 1
  }

  /// Returns how many packets are wholly sent, counted when the queue becomes empty.
  mutating func transmitted(_ count: Int) -> Int {
    peakSeen = peak
    queue.removeFirst(count)
    guard queue.isEmpty else { return 0 }
    let gone = packets
    packets = 0
    return gone
  }

  /// Overwrites authentication data and properties. Where only numbers were, four kilobytes would be zeroed for
  /// nothing.
  mutating func wipe() { if hadContents { queue.wipe() } }

  mutating func removeAll() {
    peakSeen = peak
    queue.removeAll()
    packets = 0
  }
}
