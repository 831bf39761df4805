import MQTTWire
import Storage

/// SUBSCRIBE and UNSUBSCRIBE packets until they are answered. They go ahead of the outbox: messages in flight
/// must not hold them back [MQTT-3.3.4-8].
///
/// The Packet Identifier tells the place in the table. A packet whose connection ended before the answer is
/// sent once more on the next one: both mean the same when they come twice.
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
    var isRepeat: Bool
  }

  enum State: UInt8, BitwiseCopyable {
    case queued
    case sent
    case failed  // above a limit of the server, or its answer could not be read
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

  private var bytes: ByteRing
  private(set) var table: FixedRing<Descriptor>
  private(set) var incomplete = 0
  private(set) var queued = 0
  private(set) var peak = 0
  private var failed = 0

  // The packet being sent.
  private var sending = 0
  private var sentBytes = 0

  init(bytes: consuming Region, table: consuming Table<Descriptor>) {
    self.bytes = ByteRing(region: bytes)
    self.table = FixedRing(table)
  }

  var hasFailure: Bool { failed > 0 }

  // MARK: What the application wants

  /// Takes a request in, or changes nothing.
  mutating func append<List: SubscriptionList & ~Copyable & ~Escapable>(
    _ request: borrowing SubscriptionRequest<List>, count: Int, needs: Needs, version: ProtocolVersion,
    cookie: UInt64, isRepeat: Bool = false, limits: ServerLimits
  ) throws(SessionError) {
    let remainingLength = request.remainingLength(version)
    guard remainingLength <= VariableByteInteger.maximum else { throw .tooLarge }
    let size = 1 &+ VariableByteInteger.encodedSize(remainingLength) &+ remainingLength
    guard size <= bytes.capacity else { throw .tooLarge }
    if let limit = limits.verdict(packetSize: size, needs: needs, version: version) {
      throw limit == .packetTooLarge ? .tooLarge : .notSupported
    }
    guard !table.isFull, let offset = place(size) else { throw .full }
    let slot = table.tail
    var writer = ByteWriter(bytes.mutableBytes(in: offset..<offset &+ size))
    request.encode(into: &writer, identifier: Self.identifier(slot, cookie), version: version)
    table.append(
      Descriptor(
        cookie: cookie, offset: UInt32(truncatingIfNeeded: offset), length: UInt32(truncatingIfNeeded: size),
        count: UInt16(truncatingIfNeeded: count), type: request.type, needs: needs, state: .queued,
        result: .aboveLimit, reasonCode: 0, hasProperties: version.hasProperties, wasSent: false,
        isRepeat: isRepeat))
    bytes.moveTail(to: offset &+ size)
    incomplete &+= 1
    queued &+= 1
    peak = max(peak, table.count)
  }

  /// Whether a packet of this size would be taken.
  func hasRoom(_ size: Int) -> Bool { !table.isFull && size <= bytes.capacity && place(size) != nil }

  private func place(_ size: Int) -> Int? {
    bytes.room(for: size, head: table.count > 0 ? Int(truncatingIfNeeded: table[table.head].offset) : nil)
  }

  // MARK: Things that happened

  /// The request that a SUBACK or UNSUBACK answers. `nil`: there is none, or one of the other kind.
  func request(for answer: Suback) -> Descriptor? {
    guard let place = place(answer.identifier), place < table.capacity, isStored(place) else { return nil }
    let request = table[place]
    let expected: ControlPacketType = answer.type == .suback ? .subscribe : .unsubscribe
    return request.state == .sent && request.type == expected ? request : nil
  }

  /// It is answered.
  mutating func complete(_ identifier: PacketIdentifier) {
    guard let place = place(identifier) else { return }
    incomplete &-= 1
    free(place)
  }

  /// Its answer could not be read. The place of one that is a repetition, which is not failed.
  mutating func giveUp(_ identifier: PacketIdentifier) -> Int? {
    guard let place = place(identifier), place < table.capacity, isStored(place),
      table[place].state == .sent
    else { return nil }
    if table[place].isRepeat { return place }
    table[place].result = .unreadable
    fail(place)
    return nil
  }

  private mutating func fail(_ slot: Int) {
    table[slot].state = .failed
    incomplete &-= 1
    failed &+= 1
  }

  /// What was sent and not answered is to be sent again, but for the session's own: those it makes anew.
  mutating func connectionLost() {
    sentBytes = 0
    queued = 0
    dropRepeats()
    for index in 0..<table.count {
      let slot = table.slot(at: index)
      if table[slot].state == .sent {
        table[slot].state = .queued
        table[slot].wasSent = true
      }
      if table[slot].state == .queued { queued &+= 1 }
    }
  }

  /// None is answered any more.
  mutating func removeAll() {
    sentBytes = 0
    queued = 0
    incomplete = 0
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
        queued &-= 1
        fail(slot)
      }
    }
  }

  private mutating func dropRepeats() {
    for index in 0..<table.count {
      let slot = table.slot(at: index)
      guard table[slot].isRepeat, table[slot].state == .queued || table[slot].state == .sent else { continue }
      incomplete &-= 1
      table[slot].state = .free
    }
    collect()
  }

  /// A request that a server can't take, or whose answer could not be read.
  var firstFailure: Int? {
    guard failed > 0 else { return nil }
    for index in 0..<table.count where table[table.slot(at: index)].state == .failed {
      return table.slot(at: index)
    }
    return nil
  }

  mutating func takeFailure(_ slot: Int) -> Descriptor {
    failed &-= 1
    let request = table[slot]
    free(slot)
    return request
  }

  /// The place of the request that an identifier belongs to; `request(for:)` has seen that there is one.
  func place(of identifier: PacketIdentifier) -> Int { place(identifier) ?? 0 }

  /// The Topic Filters of a request, where they are in `filters`, one after the other. `nil`: that was the last.
  func filter(of slot: Int, at position: inout Int) -> ByteRange? {
    let request = table[slot]
    let end = Int(truncatingIfNeeded: request.offset &+ request.length)
    if position == 0 { position = firstFilter(request) }
    guard position < end else { return nil }
    let packet = bytes.bytes
    let size = Int(packet[position]) << 8 | Int(packet[position &+ 1])
    let filter = ByteRange(offset: position &+ 2, count: size)
    position = filter.end &+ (request.type == .subscribe ? 1 : 0)
    return filter
  }

  var filters: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { bytes.bytes }
  }

  /// Our own packet: it can be read.
  private func firstFilter(_ request: Descriptor) -> Int {
    let packet = bytes.bytes
    var position = Int(truncatingIfNeeded: request.offset) &+ 1
    while packet[position] >= 0x80 { position &+= 1 }
    position &+= 3
    guard request.hasProperties else { return position }
    var length = 0
    var shift = 0
    while true {
      let byte = packet[position]
      position &+= 1
      length |= Int(byte & 0x7F) << shift
      shift &+= 7
      if byte < 0x80 { return position &+ length }
    }
  }

  // MARK: Outputs

  var isInsidePacket: Bool { sentBytes > 0 }

  /// The packet to send, or the rest of it; only while `queued` is not 0.
  mutating func prepare() {
    guard sentBytes == 0 else { return }
    for index in 0..<table.count {
      sending = table.slot(at: index)
      if table[sending].state == .queued { return }
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

  /// True: the packet is whole.
  mutating func transmitted(_ count: Int) -> Bool {
    sentBytes &+= count
    guard sentBytes == Int(truncatingIfNeeded: table[sending].length) else { return false }
    sentBytes = 0
    queued &-= 1
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

  private func isStored(_ place: Int) -> Bool {
    table.index(of: place) < table.count
  }

  @inline(__always)
  private static func identifier(_ slot: Int, _ cookie: UInt64) -> PacketIdentifier {
    DropIn.isOn ? PacketIdentifier(given: cookie) : .request(slot)
  }

  @inline(__always)
  private func place(_ identifier: PacketIdentifier) -> Int? {
    DropIn.isOn ? placeOfGiven(identifier) : identifier.requestPlace
  }

  /// 3.1 has DUP for SUBSCRIBE and UNSUBSCRIBE too (its §2.1).
  private mutating func setDuplicateFlag(_ slot: Int) {
    let offset = Int(truncatingIfNeeded: table[slot].offset)
    var packet = bytes.mutableBytes(in: offset..<offset &+ 1)
    packet[0] |= Publish.duplicateFlag
  }

  /// Makes a packet of 5.0 one of 3.1.1: without properties and Subscription Options but the QoS.
  private mutating func downgrade(_ slot: Int) {
    let request = table[slot]
    let end = Int(truncatingIfNeeded: request.offset &+ request.length)
    var packet = bytes.mutableBytes(in: Int(truncatingIfNeeded: request.offset)..<end)
    var reader = ByteReader(packet.span)
    // Our own packet: it can be read.
    guard (try? reader.byte()) != nil, (try? reader.variableByteInteger()) != nil,
      (try? reader.uint16()) != nil, let length = try? reader.variableByteInteger(),
      (try? reader.extent(length)) != nil
    else { return }
    let filters = reader.position
    var position = filters
    while request.type == .subscribe, position < packet.count {
      position &+= 2 &+ (Int(packet[position]) << 8 | Int(packet[position &+ 1]))
      packet[position] &= 3
      position &+= 1
    }
    let remainingLength = 2 &+ packet.count &- filters
    let start = filters &- 3 &- VariableByteInteger.encodedSize(remainingLength)
    var header = ByteWriter(packet._mutatingExtracting(start..<filters))
    header.put(request.type.firstByte)
    header.put(variableByteInteger: remainingLength)
    header.put(Self.identifier(slot, request.cookie).rawValue)
    table[slot].offset = request.offset &+ UInt32(truncatingIfNeeded: start)
    table[slot].length = request.length &- UInt32(truncatingIfNeeded: start)
    table[slot].hasProperties = false
  }
}
