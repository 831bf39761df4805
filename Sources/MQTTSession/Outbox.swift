import FixedMemory
import MQTTWire

/// What was published: encoded once, kept until it needs no sending any more (D4).
///
/// Two rings. One holds nothing but wire bytes, each packet contiguous, so that one `send` covers
/// all that is ready. The other holds a descriptor for each packet, in the same order. Room comes
/// back from the head only: a message that is not acknowledged keeps what came after it.
///
/// A message's Packet Identifier follows from its place: the head's identifier plus its distance
/// from the head. So an acknowledgement finds its message without a search, an identifier can't be
/// used twice at a time, and QoS 0 simply skips a number.
public struct Outbox: ~Copyable {
  struct Descriptor: BitwiseCopyable {
    var cookie: UInt64
    var offset: UInt32
    var length: UInt32
    /// The next completed message; only while `state` is `completed`.
    var nextCompleted: UInt32
    var state: DeliveryState
    let qos: QoS
    let isQuiet: Bool
    let retain: Bool
    /// PUBREL is to be sent again on this connection.
    var needsRelease: Bool
    var outcome: Outcome
    /// The server's, if it gave one: of PUBREC while `released`, of the end once `completed`.
    var reasonCode: UInt8?
  }

  var bytes: Region
  var descriptors: Table<Descriptor>

  // The ring of descriptors: `stored` from `head` on.
  private(set) var head = 0
  private(set) var stored = 0
  private var tail = 0
  private var headIdentifier: PacketIdentifier
  private var nextIdentifier: PacketIdentifier
  /// Where the next packet would begin, if it fits there.
  private var tailOffset = 0
  /// Messages whose fate is open.
  public private(set) var incomplete = 0

  // What is to be sent: `unsent` from `sendSlot` on. See Outbox+Transmit.swift.
  var sendSlot = 0
  var unsent = 0
  var readySlot = 0
  var runCount = 0
  var runStart = 0
  var runEnd = 0
  var sendQuota = 0
  var sendQuotaLimit = 0
  var releaseSlot = 0
  var releasesToCheck = 0

  // The completed messages, in the order in which that happened, linked through `nextCompleted`.
  private var firstCompleted: UInt32 = Outbox.none
  private var lastCompleted: UInt32 = Outbox.none
  private static var none: UInt32 { .max }

  /// A message was turned away for want of room, and nobody was told yet that there is some again.
  private var isStarved = false
  private(set) var hasNewRoom = false

  /// How many messages ended as their QoS promises, and otherwise.
  public private(set) var delivered = Counter()
  public private(set) var failed = Counter()
  public private(set) var bytesPeak = 0
  public private(set) var messagesPeak = 0

  init(
    bytes: consuming Region, descriptors: consuming Table<Descriptor>, first: PacketIdentifier
  ) {
    precondition(descriptors.count <= 65_535)
    self.bytes = bytes
    self.descriptors = descriptors
    headIdentifier = first
    nextIdentifier = first
  }

  // MARK: Getters

  public var messageCapacity: Int { descriptors.count }
  public var byteCapacity: Int { bytes.count }
  public var messageCount: Int { stored }
  public var inFlight: Int { sendQuotaLimit &- sendQuota }

  public var byteCount: Int {
    guard stored > 0 else { return 0 }
    let headOffset = Int(descriptors[head].offset)
    return tailOffset > headOffset
      ? tailOffset - headOffset : bytes.count - headOffset + tailOffset
  }

  var hasCompletion: Bool { firstCompleted != Outbox.none }

  // MARK: What the application wants

  /// Takes a message in, or changes nothing.
  @inline(__always)
  mutating func append(
    _ publish: borrowing Publish, version: ProtocolVersion, cookie: UInt64, isQuiet: Bool,
    limits: ServerLimits
  ) throws(SessionError) {
    let remainingLength = publish.remainingLength(version)
    guard remainingLength <= VariableByteInteger.maximum else { throw .tooLarge }
    let size = 1 &+ VariableByteInteger.encodedSize(remainingLength) &+ remainingLength
    guard size <= bytes.count else { throw .tooLarge }
    switch limits.verdict(packetSize: size, qos: publish.qos, retain: publish.retain) {
    case .qosNotSupported: throw .qosNotSupported
    case .retainNotSupported: throw .retainNotSupported
    case .packetTooLarge: throw .tooLarge
    default: break
    }
    var offset = 0
    if stored > 0 {
      let headOffset = Int(truncatingIfNeeded: descriptors[head].offset)
      guard stored < descriptors.count,
        let place = Self.place(size, head: headOffset, tail: tailOffset, capacity: bytes.count)
      else {
        isStarved = true
        throw .full
      }
      offset = place
    }

    let identifier = nextIdentifier
    var writer = ByteWriter(bytes.mutableBytes(in: offset..<offset &+ size))
    publish.encode(into: &writer, identifier: identifier, version: version)
    descriptors[tail] = Descriptor(
      cookie: cookie, offset: UInt32(truncatingIfNeeded: offset),
      length: UInt32(truncatingIfNeeded: size), nextCompleted: Outbox.none, state: .queued,
      qos: publish.qos, isQuiet: isQuiet, retain: publish.retain, needsRelease: false,
      outcome: .delivered, reasonCode: nil)
    tail = slot(after: tail)
    tailOffset = offset &+ size
    nextIdentifier = identifier.next
    stored &+= 1
    unsent &+= 1
    incomplete &+= 1
    isStarved = false
    hasNewRoom = false
    messagesPeak = Swift.max(messagesPeak, stored)
    bytesPeak = Swift.max(bytesPeak, byteCount)
  }

  /// Where `size` bytes fit in one piece: behind the tail, or at the front once the head has moved.
  @inline(__always)
  private static func place(_ size: Int, head: Int, tail: Int, capacity: Int) -> Int? {
    if tail > head {
      if capacity &- tail >= size { return tail }
      return head >= size ? 0 : nil
    }
    return head &- tail >= size ? tail : nil
  }

  // MARK: Completion

  /// Ends a message. If somebody wants to know, its slot is kept until the completion is taken.
  mutating func complete(_ slot: Int, _ outcome: Outcome, reasonCode: UInt8? = nil) {
    incomplete &-= 1
    if outcome == .delivered { delivered.increment() } else { failed.increment() }
    if descriptors[slot].isQuiet && outcome == .delivered {
      descriptors[slot].state = .free
      if slot == head { collect() }
      return
    }
    descriptors[slot].state = .completed
    descriptors[slot].outcome = outcome
    descriptors[slot].reasonCode = reasonCode
    descriptors[slot].nextCompleted = Outbox.none
    let link = UInt32(truncatingIfNeeded: slot)
    if lastCompleted == Outbox.none {
      firstCompleted = link
    } else {
      descriptors[Int(truncatingIfNeeded: lastCompleted)].nextCompleted = link
    }
    lastCompleted = link
  }

  mutating func takeCompletion() -> Completion? {
    guard firstCompleted != Outbox.none else { return nil }
    let slot = Int(truncatingIfNeeded: firstCompleted)
    let descriptor = descriptors[slot]
    firstCompleted = descriptor.nextCompleted
    if firstCompleted == Outbox.none { lastCompleted = Outbox.none }
    descriptors[slot].state = .free
    if slot == head { collect() }
    return Completion(
      cookie: descriptor.cookie, outcome: descriptor.outcome, reasonCode: descriptor.reasonCode)
  }

  /// Gives the room of the free messages at the head back.
  private mutating func collect() {
    while stored > 0, descriptors[head].state == .free {
      if unsent == stored {
        // It ended without being sent; the send cursor stood on it.
        unsent &-= 1
        sendSlot = slot(after: sendSlot)
        readySlot = sendSlot
      }
      head = slot(after: head)
      headIdentifier = headIdentifier.next
      stored &-= 1
      hasNewRoom = isStarved
    }
  }

  mutating func takeRoomEvent() -> Bool {
    guard hasNewRoom else { return false }
    hasNewRoom = false
    isStarved = false
    return true
  }

  // MARK: Slots

  /// The message an identifier belongs to.
  @inline(__always)
  func slot(of identifier: PacketIdentifier) -> Int? {
    let distance = identifier.distance(from: headIdentifier)
    guard distance < stored else { return nil }
    return slot(head, plus: distance)
  }

  func identifier(at distance: Int) -> PacketIdentifier {
    let sum = Int(headIdentifier.rawValue) &+ distance
    return PacketIdentifier(UInt16(truncatingIfNeeded: sum > 65_535 ? sum &- 65_535 : sum)) ?? .first
  }

  @inline(__always)
  func slot(after slot: Int) -> Int { slot &+ 1 == descriptors.count ? 0 : slot &+ 1 }

  @inline(__always)
  func slot(_ slot: Int, plus distance: Int) -> Int {
    let sum = slot &+ distance
    return sum >= descriptors.count ? sum &- descriptors.count : sum
  }

  /// How far a slot is from the head.
  func distance(of slot: Int) -> Int {
    slot >= head ? slot &- head : slot &- head &+ descriptors.count
  }
}
