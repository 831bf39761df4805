import MQTTWire
import Storage

/// SUBSCRIBE and UNSUBSCRIBE packets until they are acknowledged. They are sent before the outbox: messages
/// in flight must not hold them back [MQTT-3.3.4-8].
///
/// The Packet Identifier follows from the slot. A packet whose connection ended before its acknowledgement
/// came is resent on the next one, since both packets mean the same when they come twice.
struct SubscribeQueue: ~Copyable {
  struct Descriptor: BitwiseCopyable {
    let cookie: UInt64
    var offset: UInt32
    var length: UInt32
    /// How many Topic Filters.
    let count: UInt16
    let type: ControlPacketType
    let needs: Needs
    var state: State
    var result: DeliveryResult
    var reasonCode: UInt8
    /// Encoded with properties.
    var hasProperties: Bool
    /// On a connection before this one.
    var wasSent: Bool
    /// The session's own; it has no cookie.
    var isResubscription: Bool
  }

  enum State: UInt8, BitwiseCopyable {
    case queued
    case sent
    case failed  // above a limit of the server, or its acknowledgement could not be read
    case free
  }

  /// What the server must be able to do (§3.2.2.3.11 to 13).
  struct Needs: BitwiseCopyable {
    var wildcard = false
    var shared = false
    var identifier = false
    /// 5.0. Without it the messages that it keeps away would come.
    var noLocal = false
  }

  var bytes: ByteRing
  var table: FixedRing<Descriptor>
  // There are at most `PacketIdentifier.subscribeCount` of them, so two bytes are enough for a number of them.
  private var incompleteCount: UInt16 = 0
  private var queuedCount: UInt16 = 0
  private var peakCount: UInt16 = 0
  private var failed: UInt16 = 0
  /// All that are queued are among so many last ones.
  private var unsent: UInt16 = 0

  // The packet being sent.
  private var sendingSlot: UInt16 = 0
  private var sentBytes = 0

  private var sending: Int {
    get { Int(sendingSlot) }
    set { sendingSlot = UInt16(truncatingIfNeeded: newValue) }
  }

  init(bytes: consuming Region, table: consuming Table<Descriptor>) {
    self.bytes = ByteRing(region: bytes)
    self.table = FixedRing(table)
  }

  var hasFailure: Bool { failed > 0 }
  var incomplete: Int { Int(incompleteCount) }
  var queued: Int { Int(queuedCount) }
  /// The most that there ever were.
  var peak: Int { Int(peakCount) }

  // MARK: What the application wants

  /// Adds a packet, or changes nothing.
  mutating func append<List: SubscriptionList & ~Copyable & ~Escapable>(
    _ packet: borrowing SubscribePacket<List>, count: Int, needs: Needs, version: ProtocolVersion,
    cookie: UInt64, isResubscription: Bool = false, limits: ServerLimits
  ) throws(SessionError) {
    let remainingLength = packet.remainingLength(version)
    guard remainingLength <= VariableByteInteger.maximum else { throw .tooLarge }
    let size = 1 &+ VariableByteInteger.encodedSize(remainingLength) &+ remainingLength
    guard size <= bytes.capacity else { throw .tooLarge }
    if let limit = limits.verdict(packetSize: size, needs: needs, version: version) {
      throw limit == .packetTooLarge ? .tooLarge : .notSupported
    }
    guard !table.isFull, let offset = offset(for: size) else { throw .full }
    let slot = table.tail
    var writer = ByteWriter(bytes.mutableBytes(in: offset..<offset &+ size))
    packet.encode(into: &writer, identifier: Self.identifier(slot, cookie), version: version)
    table.append(
      Descriptor(
        cookie: cookie, offset: UInt32(truncatingIfNeeded: offset), length: UInt32(truncatingIfNeeded: size),
        count: UInt16(truncatingIfNeeded: count), type: packet.type, needs: needs, state: .queued,
        result: .aboveLimit, reasonCode: 0, hasProperties: version.hasProperties, wasSent: false,
        isResubscription: isResubscription))
    bytes.moveTail(to: offset &+ size)
    incompleteCount &+= 1
    queuedCount &+= 1
    unsent &+= 1
    peakCount = max(peakCount, UInt16(truncatingIfNeeded: table.count))
  }

  /// Returns whether a packet of this size would be added.
  func hasRoom(_ size: Int) -> Bool { !table.isFull && size <= bytes.capacity && offset(for: size) != nil }

  private func offset(for size: Int) -> Int? {
    bytes.room(for: size, head: table.count > 0 ? Int(truncatingIfNeeded: table[table.head].offset) : nil)
  }

  // MARK: Things that happened

  /// Returns the packet that a SUBACK or UNSUBACK acknowledges. It is `nil` if there is none, or one of the
  /// other type.
  func descriptor(for suback: Suback) -> Descriptor? {
    guard let slot = findSlot(suback.identifier), slot < table.capacity, isStored(slot) else { return nil }
    let descriptor = table[slot]
    let expected: ControlPacketType = suback.type == .suback ? .subscribe : .unsubscribe
    return descriptor.state == .sent && descriptor.type == expected ? descriptor : nil
  }

  /// Removes a packet that was acknowledged.
  mutating func complete(_ identifier: PacketIdentifier) {
    guard let slot = findSlot(identifier) else { return }
    incompleteCount &-= 1
    free(slot)
  }

  /// Fails a packet whose acknowledgement could not be read. A packet with which the session resubscribes
  /// is not failed: its slot is returned.
  mutating func failUnreadable(_ identifier: PacketIdentifier) -> Int? {
    guard let slot = findSlot(identifier), slot < table.capacity, isStored(slot),
      table[slot].state == .sent
    else { return nil }
    if table[slot].isResubscription { return slot }
    table[slot].result = .unreadable
    fail(slot)
    return nil
  }

  private mutating func fail(_ slot: Int) {
    table[slot].state = .failed
    incompleteCount &-= 1
    failed &+= 1
  }

  /// Queues again what was sent and not acknowledged. The packets with which the session resubscribes are
  /// dropped, because it makes them anew.
  mutating func connectionLost() {
    sentBytes = 0
    queuedCount = 0
    dropResubscriptions()
    unsent = UInt16(truncatingIfNeeded: table.count)
    for index in 0..<table.count {
      let slot = table.slot(at: index)
      if table[slot].state == .sent {
        table[slot].state = .queued
        table[slot].wasSent = true
      }
      if table[slot].state == .queued { queuedCount &+= 1 }
    }
  }

  /// Removes all packets, none of which will be acknowledged.
  mutating func removeAll() {
    sentBytes = 0
    queuedCount = 0
    incompleteCount = 0
    failed = 0
    while table.count > 0 { table.removeLast() }
  }

  mutating func connected(_ version: ProtocolVersion, limits: ServerLimits) {
    for index in 0..<table.count {
      let slot = table.slot(at: index)
      guard table[slot].state == .queued else { continue }
      if Feature.hasFallback, table[slot].hasProperties, !version.hasProperties { downgrade(slot) }
      if table[slot].wasSent, version.isV31 { setDuplicateFlag(slot) }
      let verdict = limits.verdict(
        packetSize: Int(truncatingIfNeeded: table[slot].length), needs: table[slot].needs, version: version)
      if let verdict {
        table[slot].reasonCode = verdict.reasonCode.rawValue
        queuedCount &-= 1
        fail(slot)
      }
    }
  }

  private mutating func dropResubscriptions() {
    for index in 0..<table.count {
      let slot = table.slot(at: index)
      guard table[slot].isResubscription, table[slot].state == .queued || table[slot].state == .sent else {
        continue
      }
      incompleteCount &-= 1
      table[slot].state = .free
    }
    collect()
  }

  /// The slot of a packet that is above a limit of the server, or whose acknowledgement could not be read.
  var firstFailed: Int? {
    guard failed > 0 else { return nil }
    for index in 0..<table.count where table[table.slot(at: index)].state == .failed {
      return table.slot(at: index)
    }
    return nil
  }

  mutating func removeFailed(_ slot: Int) -> Descriptor {
    failed &-= 1
    let descriptor = table[slot]
    free(slot)
    return descriptor
  }

  /// Returns the slot of the packet that has this identifier. `descriptor(for:)` has shown that there is
  /// one.
  func slot(of identifier: PacketIdentifier) -> Int { findSlot(identifier) ?? 0 }

  // MARK: Outputs

  var isInsidePacket: Bool { sentBytes > 0 }

  /// Chooses the packet to send, unless one is partly sent. It may be called only while `queued` is not 0.
  mutating func prepare() {
    guard sentBytes == 0 else { return }
    unsent = min(unsent, UInt16(truncatingIfNeeded: table.count))
    while unsent > 0 {
      sending = table.slot(at: table.count &- Int(unsent))
      if table[sending].state == .queued { return }
      unsent &-= 1
    }
  }

  var output: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get {
      let start = Int(truncatingIfNeeded: table[sending].offset)
      return bytes.bytes.extracting(
        start &+ sentBytes..<start &+ Int(truncatingIfNeeded: table[sending].length))
    }
  }

  /// Returns true if the packet is wholly sent.
  mutating func transmitted(_ count: Int) -> Bool {
    sentBytes &+= count
    guard sentBytes == Int(truncatingIfNeeded: table[sending].length) else { return false }
    sentBytes = 0
    queuedCount &-= 1
    table[sending].state = .sent
    return true
  }

  // MARK: Helpers

  private mutating func free(_ slot: Int) {
    table[slot].state = .free
    collect()
  }

  private mutating func collect() {
    while table.count > 0, table[table.head].state == .free { table.removeFirst() }
  }

  private func isStored(_ slot: Int) -> Bool {
    table.index(of: slot) < table.count
  }

  @inline(__always)
  static func identifier(_ slot: Int, _ cookie: UInt64) -> PacketIdentifier {
    DropIn.isOn ? PacketIdentifier(cookie: cookie) : .subscribe(slot)
  }

  @inline(__always)
  private func findSlot(_ identifier: PacketIdentifier) -> Int? {
    DropIn.isOn ? slotByCookie(identifier) : identifier.subscribeIndex
  }
}
