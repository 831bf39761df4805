public import FixedMemory

/// What `Session` counts; read by the statistics.
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
}

/// What became of the messages in the outbox, and how full it is.
public struct OutboxNumbers: BitwiseCopyable {
  /// Messages that ended as their QoS promises, and those that ended otherwise.
  public let delivered: Counter
  public let failed: Counter
  /// Of these, those that were not sent in time.
  public let expired: Counter
  public let bytes: Int
  public let bytesPeak: Int
  public let bytesCapacity: Int
  public let messages: Int
  public let messagesPeak: Int
  public let messagesCapacity: Int
  public let inFlight: Int
  public let inFlightMaximum: Int
}

/// What is received and not yet acknowledged or released, and the requests that wait for their answer.
public struct InboxNumbers: BitwiseCopyable {
  public let unacknowledged: Int
  public let peak: Int
  public let maximum: Int
  public let requests: Int
}
