public import Storage

/// What `Session` counts, for the statistics.
public struct Counters: BitwiseCopyable {
  public var connections: UInt32 = 0
  public var messagesPublished = Counter()
  public var packetsSent = Counter()
  public var packetsReceived = Counter()
  public var bytesSent = Counter()
  public var bytesReceived = Counter()
  public var sendCalls = Counter()
  public var receiveCalls = Counter()
  public var messagesReceived = Counter()
  public var messagesDuplicate = Counter()
  public var messagesOversize = Counter()
  public var messagesPostponed = Counter()
  public var pings: UInt32 = 0
  public var pongs: UInt32 = 0
  /// How long the last of them took, in milliseconds.
  public var lastRoundTrip: UInt32 = 0
  /// From PINGREQ to PINGRESP.
  public var roundTrips = LatencyHistogram()
}

/// What became of the published messages, and how full the outbox is.
public struct OutboxNumbers: BitwiseCopyable {
  /// Messages that ended as their QoS promises, and those that ended otherwise.
  public private(set) var delivered = Counter()
  public private(set) var failed = Counter()
  /// Of these, those that were not sent in time, and those that made room.
  public private(set) var expired = Counter()
  public private(set) var dropped = Counter()
  public private(set) var replaced = Counter()
  public let ordinary: Fill
  public let urgent: Fill
  public let inFlight: Int
  public let inFlightMaximum: Int
  /// When the oldest message that was not sent yet was published; `nil`: all are sent.
  public let waitingSince: Instant?
  public private(set) var latencies = LatencyHistogram()

  public struct Fill: BitwiseCopyable {
    public private(set) var bytes = 0
    public private(set) var bytesPeak = 0
    public private(set) var bytesCapacity = 0
    public private(set) var messages = 0
    public private(set) var messagesPeak = 0
    public private(set) var messagesCapacity = 0

    init() {}

    init(_ outbox: borrowing Outbox) {
      bytes = outbox.byteCount
      bytesPeak = outbox.bytesPeak
      bytesCapacity = outbox.byteCapacity
      messages = outbox.messageCount
      messagesPeak = min(outbox.messagesPeak, outbox.messageCapacity)
      messagesCapacity = outbox.messageCapacity
    }
  }

  init(_ outbox: borrowing Outbox, _ urgent: borrowing OptionalSlot<Outbox>, _ quota: SendQuota) {
    ordinary = Fill(outbox)
    inFlight = quota.inFlight
    inFlightMaximum = quota.limit
    guard !urgent.isEmpty else {
      self.urgent = Fill()
      waitingSince = outbox.waitingSince
      add(outbox)
      return
    }
    self.urgent = Fill(urgent.element)
    waitingSince = urgent.element.waitingSince ?? outbox.waitingSince
    add(outbox)
    add(urgent.element)
  }

  private mutating func add(_ outbox: borrowing Outbox) {
    delivered.add(outbox.delivered)
    failed.add(outbox.failed)
    expired.add(outbox.expired)
    dropped.add(outbox.dropped)
    replaced.add(outbox.replaced)
    latencies.add(outbox.latencies)
  }
}

/// What was received and not yet acknowledged, or waits for PUBREL; and how many SUBSCRIBE, UNSUBSCRIBE and
/// requests wait for the server.
public struct InboxNumbers: BitwiseCopyable {
  public let unacknowledged: Int
  public let peak: Int
  public let maximum: Int
  public let subscribes: Int
  public let subscribesPeak: Int
  public let responses: Int
  public let responsesPeak: Int
  public let subscriptions: Int
  public let receiveBytesPeak: Int
  public let controlBytesPeak: Int
}

/// Of a journal.
public struct JournalNumbers: BitwiseCopyable {
  /// How many messages were accepted for it, and up to which of them all are durable, or have ended.
  public let accepted: Counter
  public let stored: Counter
  /// How many commits have failed, and why the last one did.
  public let failures: UInt32
  public let lastError: Int32
  /// How many blocks the ring has, and how many of them recovery would need.
  public let blocks: UInt32
  public let used: UInt32
  /// How many blocks there were of a commit that was being written when the process before this one ended.
  public let torn: UInt32
}
