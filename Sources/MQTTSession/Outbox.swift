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
    /// Of what is in the ring: the packet, or of a stream what comes before its payload.
    var length: UInt32
    /// While `completed` the next completed message; before that, where the Message Expiry Interval is in the
    /// packet, or 0.
    var link: UInt32
    /// With `MessageFlags.expires`: the second in which it is of no use any more.
    var expiresAt: UInt32
    var flags: MessageFlags
    /// With `isRequest` what tells it in the table of replies, with `hasAlias` its alias in the table of aliases.
    var tag: UInt16
    var state: DeliveryState
    var outcome: Outcome
    /// With `hasReasonCode` the server's: of PUBREC while `released`, of the end once `completed`.
    var reasonCode: UInt8

    var qos: QoS { flags.qos }
    var size: Int { Int(truncatingIfNeeded: length) }
    var start: Int { Int(truncatingIfNeeded: offset) }
    var end: Int { Int(truncatingIfNeeded: offset &+ length) }

    /// What the server said about it.
    var answer: UInt8? {
      get { flags.contains(.hasReasonCode) ? reasonCode : nil }
      set {
        flags.set(.hasReasonCode, newValue != nil)
        reasonCode = newValue ?? 0
      }
    }
  }

  var bytes: Region
  var descriptors: Table<Descriptor>

  // The ring of descriptors: `stored` from `head` on.
  private(set) var head = 0
  private(set) var stored = 0
  var tail = 0
  private var headIdentifier: PacketIdentifier
  var nextIdentifier: PacketIdentifier
  /// Where the next packet would begin, if it fits there.
  var tailOffset = 0
  /// Messages whose fate is open.
  public private(set) var incomplete = 0

  // What is to be sent: `unsent` from `sendSlot` on. See Outbox+Transmit.swift.
  var sendSlot = 0
  var unsent = 0
  var readySlot = 0
  var runCount = 0
  /// Where the first packet of the run that is not yet whole begins; between it and `runStart` are bytes sent.
  var runBase = 0
  var runStart = 0
  var runEnd = 0
  /// What goes before the run: the beginning of a packet that has lost its own.
  var prefix: Region
  var prefixStart = 0
  var prefixEnd = 0
  var sendQuota = 0
  var sendQuotaLimit = 0
  var releaseSlot = 0
  var releasesToCheck = 0

  /// The second in which the first message expires, if one does.
  var nextExpiry: UInt32? = nil
  var aliases: SentAliases
  var reservation: Reservation? = nil
  var stream: OutgoingStream? = nil

  // The completed messages, in the order in which that happened, linked through `link`.
  private var firstCompleted: UInt32 = Outbox.none
  private var lastCompleted: UInt32 = Outbox.none
  private static var none: UInt32 { .max }

  /// A message was turned away for want of room, and nobody was told yet that there is some again.
  private var isStarved = false
  private(set) var hasNewRoom = false

  /// How many messages ended as their QoS promises, and otherwise.
  public private(set) var delivered = Counter()
  public private(set) var failed = Counter()
  public private(set) var expired = Counter()
  public private(set) var bytesPeak = 0
  public private(set) var messagesPeak = 0

  init(
    bytes: consuming Region, descriptors: consuming Table<Descriptor>, prefix: consuming Region,
    aliases: consuming SentAliases, first: PacketIdentifier
  ) {
    precondition(descriptors.count <= PacketIdentifier.messageCount)
    self.bytes = bytes
    self.descriptors = descriptors
    self.prefix = prefix
    self.aliases = aliases
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
    let headOffset = descriptors[head].start
    return tailOffset > headOffset
      ? tailOffset - headOffset : bytes.count - headOffset + tailOffset
  }

  var hasCompletion: Bool { firstCompleted != Outbox.none }

  // MARK: What the application wants

  /// Takes a message in, or changes nothing.
  @inline(__always)
  mutating func append(
    _ publish: borrowing Publish, _ handling: Handling, version: ProtocolVersion, limits: ServerLimits
  ) throws(SessionError) {
    if aliases.isInUse {
      try appendUnderAlias(publish, handling, version: version, limits: limits)
    } else {
      try store(publish, handling, version: version, limits: limits)
    }
  }

  @inline(__always)
  mutating func store(
    _ publish: borrowing Publish, _ handling: Handling, version: ProtocolVersion, limits: ServerLimits
  ) throws(SessionError) {
    // Before any sum: on 32 bits a payload of nearly 2 GiB would make it wrap.
    guard publish.payloadSize <= VariableByteInteger.maximum else { throw .tooLarge }
    let remainingLength = publish.remainingLength(version)
    guard remainingLength <= VariableByteInteger.maximum else { throw .tooLarge }
    let packetSize = 1 &+ VariableByteInteger.encodedSize(remainingLength) &+ remainingLength
    let size = handling.kind == .stream ? packetSize &- publish.payloadSize : packetSize
    guard size <= bytes.count else { throw .tooLarge }
    switch limits.verdict(packetSize: packetSize, qos: publish.qos, retain: publish.retain) {
    case nil: break
    case .packetTooLarge: throw .tooLarge
    case .qosNotSupported: throw .qosNotSupported
    default: throw .retainNotSupported
    }
    var offset = 0
    if stored > 0 {
      let headOffset = descriptors[head].start
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
    var flags = MessageFlags(qos: publish.qos)
    flags.set(.isQuiet, handling.isQuiet)
    flags.set(.retain, publish.retain)
    flags.set(.hasProperties, version.hasProperties)
    descriptors[tail] = Descriptor(
      cookie: handling.cookie, offset: UInt32(truncatingIfNeeded: offset),
      length: UInt32(truncatingIfNeeded: size), link: 0, expiresAt: 0, flags: flags, tag: 0,
      state: .queued, outcome: .delivered, reasonCode: 0)
    if handling.isSpecial { note(handling, publish, remainingLength: remainingLength, version: version) }
    tail = slot(after: tail)
    tailOffset = offset &+ size
    nextIdentifier = identifier.next
    stored &+= 1
    unsent &+= 1
    incomplete &+= 1
    messagesPeak = Swift.max(messagesPeak, stored)
    bytesPeak = Swift.max(bytesPeak, byteCount)
  }

  /// Where `size` bytes fit in one piece: behind the tail, or at the front once the head has moved.
  @inline(__always)
  static func place(_ size: Int, head: Int, tail: Int, capacity: Int) -> Int? {
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
    if outcome == .expired { expired.increment() }
    let flags = descriptors[slot].flags
    if flags.contains(.hasNoTopic) { aliases.release(Int(descriptors[slot].tag)) }
    if flags.contains(.isStream) { stream = nil }
    if flags.contains(.isDismissed) || (flags.contains(.isQuiet) && outcome == .delivered) {
      descriptors[slot].state = .free
      if slot == head { collect() }
      return
    }
    descriptors[slot].state = .completed
    descriptors[slot].outcome = outcome
    descriptors[slot].answer = reasonCode
    descriptors[slot].link = Outbox.none
    let link = UInt32(truncatingIfNeeded: slot)
    if lastCompleted == Outbox.none {
      firstCompleted = link
    } else {
      descriptors[Int(truncatingIfNeeded: lastCompleted)].link = link
    }
    lastCompleted = link
  }

  mutating func takeCompletion() -> Completion? {
    guard firstCompleted != Outbox.none else { return nil }
    let slot = Int(truncatingIfNeeded: firstCompleted)
    let descriptor = descriptors[slot]
    firstCompleted = descriptor.link
    if firstCompleted == Outbox.none { lastCompleted = Outbox.none }
    descriptors[slot].state = .free
    if slot == head { collect() }
    return Completion(
      cookie: descriptor.cookie, outcome: descriptor.outcome, reasonCode: descriptor.answer,
      replyTag: descriptor.flags.contains(.isRequest) ? descriptor.tag : nil, slot: slot)
  }

  /// Takes a completion out of their row: nobody wants it.
  mutating func dropCompletion(_ slot: Int) {
    let link = UInt32(truncatingIfNeeded: slot)
    let next = descriptors[slot].link
    var before = Outbox.none
    if firstCompleted == link {
      firstCompleted = next
    } else {
      before = firstCompleted
      while descriptors[Int(truncatingIfNeeded: before)].link != link {
        before = descriptors[Int(truncatingIfNeeded: before)].link
      }
      descriptors[Int(truncatingIfNeeded: before)].link = next
    }
    if lastCompleted == link { lastCompleted = before }
    descriptors[slot].state = .free
    if slot == head { collect() }
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

  /// Takes the newest message back: it was never there.
  mutating func removeNewest(tailOffset offset: Int) {
    tail = slot(head, plus: stored &- 1)
    nextIdentifier = headIdentifier.advanced(by: stored &- 1)
    tailOffset = offset
    stored &-= 1
    unsent &-= 1
    incomplete &-= 1
    hasNewRoom = isStarved
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

  func identifier(at distance: Int) -> PacketIdentifier { headIdentifier.advanced(by: distance) }

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
