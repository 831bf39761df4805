import Journal
import MQTTWire
import Storage

/// What was published: encoded once, and kept until it needs no sending any more (D4).
///
/// There are two rings. One holds nothing but wire bytes, each packet contiguous, so that one `send` covers
/// all that is ready. The other holds a descriptor for each packet, in the same order. Room is freed at the
/// front only: a message that is not acknowledged keeps what came after it. The bytes of a message that has
/// ended need not wait until its completion has been taken, but its descriptor does.
///
/// A message's Packet Identifier follows from its index in the ring: it is the head's identifier plus the
/// distance from the head. So an acknowledgement finds its message without a search, no identifier is used
/// twice at a time, and QoS 0 skips a number.
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
    /// When it was published, once sent when that was, and once `completed` how long it took since then;
    /// milliseconds.
    var since: UInt32
    var flags: MessageFlags
    /// Once sent: how many were before it, in both queues; wraps. With `isLatest` the next one of its chain.
    var order: UInt16
    /// With `isRequest` its tag in `PendingResponses`, with `hasAlias` its alias in the table of aliases, with
    /// `isReference` its payload in `references`.
    var tag: UInt16
    var state: DeliveryState
    var result: DeliveryResult
    /// With `hasReasonCode` the server's: of PUBREC while `pubrelSent`, of the end once `completed`.
    var reasonCode: UInt8

    var qos: QoS { flags.qos }
    var size: Int { Int(truncatingIfNeeded: length) }
    var start: Int { Int(truncatingIfNeeded: offset) }
    var end: Int { Int(truncatingIfNeeded: offset &+ length) }

    /// The Reason Code that the server sent for it.
    var serverReason: UInt8? {
      get { flags.contains(.hasReasonCode) ? reasonCode : nil }
      set {
        flags.set(.hasReasonCode, newValue != nil)
        reasonCode = newValue ?? 0
      }
    }
  }

  var bytes: ByteRing
  var descriptors: FixedRing<Descriptor>

  // The last `live` of the descriptors have bytes; `first` is the first of those.
  var first = 0
  var live = 0
  let identifiers: IdentifierRange
  var headIdentifier: PacketIdentifier
  var nextIdentifier: PacketIdentifier
  /// Messages whose fate is open.
  public internal(set) var incomplete = 0

  /// See Outbox+Batch.swift.
  var batch = Batch()
  /// A message was refused for lack of room, and the application has not been told yet that there is some
  /// again.
  var isStarved = false
  var hasNewRoom = false
  /// Some of the free descriptors behind the head can perhaps be reclaimed: it is worth looking.
  var mayHaveGaps = false
  /// How many messages it takes.
  public let messageCapacity: Int
  /// How many of the descriptors behind the head are free; see Outbox+Reclaim.swift.
  var gaps = 0
  /// While there are so many descriptors, `findRoom` has to be asked: there may be none left; with a journal it is
  /// asked for every message.
  var fullAt: Int
  private let inPlace = InPlace()

  // What is to be sent: `unsent` from `sendSlot` on. See Outbox+Transmit.swift.
  var sendSlot = 0
  var unsent = 0
  /// How many of them are sent again.
  var resends = 0
  /// How many messages from the head on the server may know by their identifiers.
  var known = 0
  /// How many wait for an acknowledgement, on this connection or from an earlier one.
  var unacknowledged = 0
  var readySlot = 0
  var windowCount = 0
  /// Where the first packet of the window that is not all sent begins; between it and `windowStart` are bytes
  /// sent.
  var windowBase = 0
  var windowStart = 0
  var windowEnd = 0
  /// How much of the payload of its last packet, a reference, is not sent.
  var payloadLeft = 0
  /// What is sent before the window: the beginning of a packet that has lost its own.
  var prefix: Region
  var prefixStart = 0
  var prefixEnd = 0
  var pubrelSlot = 0
  var pubrelsToCheck = 0

  /// The time of the last step.
  var now = Instant(milliseconds: 0)
  /// The second in which the first message expires, if one does.
  var nextExpiry: UInt32? = nil
  /// Messages of requests have other slots than `PendingResponses` knows; see Outbox+Response.swift.
  var hasMovedRequests = false
  /// How many messages both queues had sent when this connection came up.
  var resumedAt: UInt16 = 0
  var aliases: SentAliases
  var reservation: Reservation? = nil
  var stream: OutgoingStream? = nil
  /// See Outbox+Reference.swift.
  var references: ReferenceTable
  /// How many bytes the messages have whose fate is open.
  var openBytes = 0
  /// See Outbox+Expendable.swift.
  var expendable = Expendable()
  var latest: LatestChains
  /// The seconds in which messages expire, by slot.
  var expiries: SlotMinima
  /// See Outbox+Journal.swift; empty: there is no journal.
  var stored: JournalSlot<StoredMessages>

  // The completed messages, in the order in which that happened, linked through `link`.
  var firstCompleted: UInt32 = Outbox.none
  var lastCompleted: UInt32 = Outbox.none
  static var none: UInt32 { .max }

  /// How many messages ended as their QoS promises, and otherwise.
  public internal(set) var delivered = Counter()
  public internal(set) var failed = Counter()
  public internal(set) var expired = Counter()
  /// And those that were never taken in.
  public internal(set) var dropped = Counter()
  public internal(set) var replaced = Counter()
  /// Of QoS 1 and 2: from when it was sent to its acknowledgement.
  public var latencies = LatencyHistogram()
  private var bytesPeakSeen = 0
  private var messagesPeakSeen = 0

  init(
    bytes: consuming Region, descriptors: consuming Table<Descriptor>, prefix: consuming Region,
    aliases: consuming SentAliases, references: consuming ReferenceTable, latest: consuming LatestChains,
    expiries: consuming Table<UInt32>, stored: consuming JournalSlot<StoredMessages>, messages: Int,
    identifiers: IdentifierRange, random: UInt16
  ) {
    precondition(descriptors.count <= identifiers.count && messages <= descriptors.count)
    messageCapacity = messages
    fullAt = 0
    self.expiries = SlotMinima(expiries, slots: descriptors.count)
    self.latest = latest
    self.stored = stored
    self.bytes = ByteRing(region: bytes)
    self.descriptors = FixedRing(descriptors)
    self.prefix = prefix
    self.aliases = aliases
    self.references = references
    self.identifiers = identifiers
    headIdentifier = identifiers.any(random)
    nextIdentifier = headIdentifier
    gapsChanged()
  }

  // MARK: Getters

  public var byteCapacity: Int { bytes.capacity }
  /// How many descriptors are in use. It does not count the free ones behind an older message, which are
  /// reclaimed when there are no others.
  public var messageCount: Int { descriptors.count &- gaps }

  public var byteCount: Int {
    live > 0 ? bytes.count(head: descriptors[first].start) : 0
  }

  /// It holds because between two calls of `recordPeaks` the count only grows.
  var bytesPeak: Int { max(bytesPeakSeen, byteCount) }
  var messagesPeak: Int { max(messagesPeakSeen, descriptors.count) }

  /// When the oldest message that was not sent yet was published.
  var waitingSince: Instant? {
    var slot = sendSlot
    for _ in 0..<unsent {
      let message = descriptors[slot]
      if message.state == .queued { return Instant(milliseconds: message.since) }
      slot = descriptors.slot(after: slot)
    }
    return nil
  }

  var hasCompletion: Bool { firstCompleted != Outbox.none }

  // MARK: Things that happened

  /// Sets the time, before something may be removed.
  mutating func advance(to now: Instant) {
    self.now = now
    recordPeaks()
  }

  /// Has to be called before something is removed.
  mutating func recordPeaks() {
    bytesPeakSeen = bytesPeak
    recordMessagesPeak()
  }

  @inline(__always)
  mutating func recordMessagesPeak() { messagesPeakSeen = messagesPeak }

  // MARK: Slots

  /// The slot of the message that was added last.
  var newestSlot: Int { descriptors.slot(at: descriptors.count &- 1) }

  /// Returns the slot of the message that an identifier belongs to.
  @inline(__always)
  func slot(of identifier: PacketIdentifier) -> Int? {
    guard !DropIn.isOn else { return slotByCookie(identifier) }
    let distance = identifiers.distance(from: headIdentifier, to: identifier)
    guard distance < descriptors.count else { return nil }
    return descriptors.slot(at: distance)
  }

  func identifier(at distance: Int) -> PacketIdentifier {
    guard !DropIn.isOn else { return cookieIdentifier(descriptors.slot(at: distance)) }
    return identifiers.advanced(headIdentifier, by: distance)
  }

  /// Returns the identifier of the message that is added next.
  @inline(__always)
  func newIdentifier(_ cookie: UInt64) -> PacketIdentifier {
    DropIn.isOn ? PacketIdentifier(cookie: cookie) : nextIdentifier
  }
}
