import Storage

/// How a message is to be handled, beside what it says.
public struct PublishOptions: BitwiseCopyable {
  public enum Kind: BitwiseCopyable {
    case whole
    case reserved  // the payload is written into the outbox later
    case stream  // the payload never is in the outbox
    case reference  // nor here: it stays where the program has it
  }

  /// What happens when the outbox is full.
  public enum Overflow: UInt8, BitwiseCopyable {
    case refuse
    case dropOldest  // of those that may be dropped
    case dropNewest  // this one
    case latest  // one with the same topic, whether there is room or not; else as `dropOldest`
  }

  public var cookie: UInt64
  public var isQuiet: Bool
  public var kind = Kind.whole
  private var overflowPolicy = Overflow.refuse
  private var wantsPriority = false
  private var staysOutOfJournal = false
  /// Seconds from now; 0: it does not expire.
  public var expiry: UInt32 = 0
  /// When that is, in seconds of the session's clock.
  var expiresAt: UInt32 = 0
  /// Where the value of a Message Expiry Interval is in the message's own list of properties.
  public var expiryInProperties: Int? = nil
  /// The index of the payload in `Outbox.references`, of a reference.
  var reference: UInt16 = 0
  /// The tag of the request in `PendingResponses`.
  var responseTag: UInt16? = nil

  public init(cookie: UInt64, isQuiet: Bool) {
    self.cookie = cookie
    self.isQuiet = isQuiet
  }

  @inline(__always)
  public var overflow: Overflow {
    get { Feature.hasOverflow ? overflowPolicy : .refuse }
    set { overflowPolicy = newValue }
  }

  /// It is sent first, from the priority queue.
  @inline(__always)
  public var isUrgent: Bool {
    get { Feature.hasUrgent && wantsPriority }
    set { wantsPriority = newValue }
  }

  /// The journal does not get it.
  @inline(__always)
  public var isUnstored: Bool {
    get { Feature.hasJournal && staysOutOfJournal }
    set { staysOutOfJournal = newValue }
  }

  @inline(__always)
  var isReserved: Bool { Feature.hasReserve && kind == .reserved }

  @inline(__always)
  var isStream: Bool { Feature.hasStreams && kind == .stream }

  @inline(__always)
  var isReference: Bool { Feature.hasReferences && kind == .reference }

  /// Whether the payload is not in the ring.
  @inline(__always)
  var isOutside: Bool { isStream || isReference }

  /// Whether the message needs the slow path.
  @inline(__always)
  public var needsSlowPath: Bool { isUrgent || overflow != .refuse || expiry != 0 }

  /// Whether the descriptor has to record more than the flags of the message.
  @inline(__always)
  var needsAnnotation: Bool {
    isReserved || isOutside || overflow != .refuse || (Feature.hasExpiry && expiresAt != 0)
      || (Feature.hasReplies && responseTag != nil)
  }
}
