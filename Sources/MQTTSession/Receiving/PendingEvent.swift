import MQTTWire
public import Storage

/// A message that came whole, without properties and under its own topic.
public struct PlainMessage: BitwiseCopyable {
  /// In `Session.receivedBytes`, until the event is released.
  public var topic = ByteRange.empty
  public var payload = ByteRange.empty
  public var qos = QoS.atMostOnce
  public var retain = false
  /// Its acknowledgement refers to this; 0: it needs none.
  public var token: UInt32 = 0
}

/// The event whose bytes are in the receive buffer: nothing behind it is parsed until it is released.
struct PendingEvent: BitwiseCopyable {
  enum Kind: UInt8, BitwiseCopyable {
    case none
    /// `message`, which costs less to hand out than `event`.
    case plainMessage
    case event
    // Events of these kinds come before a completion, or with it.
    /// `event` reports that the server has accepted the connection, before everything else.
    case connected
    /// `event` goes with the completion of its message.
    case acknowledged
  }

  private(set) var kind = Kind.none
  /// It was handed out and not released yet.
  var isBorrowed = false
  /// The message that it has waits for `acknowledge`.
  var isHeld = false
  /// The bytes that are freed when it is released: the first unread ones, or, for a part of a message,
  /// those behind its header.
  private(set) var bytes = ByteRange.empty
  /// The token of the message that it reports; 0: there is nothing to acknowledge.
  private(set) var token: UInt32 = 0
  // Of a plain message.
  private var topic = ByteRange.empty
  private var payload = ByteRange.empty
  private var qos = QoS.atMostOnce
  private var retain = false
  private(set) var event = SessionEvent.room

  var message: PlainMessage {
    @inline(__always) get {
      PlainMessage(topic: topic, payload: payload, qos: qos, retain: retain, token: token)
    }
  }

  /// Whether it has to be handed out before a completion, or with it.
  var precedesCompletions: Bool {
    @inline(__always) get { kind.rawValue >= Kind.connected.rawValue }
  }

  /// Whether a plain message may be handed out behind it before it is released.
  var mayBeFollowed: Bool {
    @inline(__always) get { kind == .plainMessage && isBorrowed }
  }

  /// Its bytes were freed before it is released.
  @inline(__always)
  mutating func forgetBytes() { bytes = .empty }

  /// Whether it waits to be handed out.
  var isWaiting: Bool {
    @inline(__always) get { kind != .none && kind != .acknowledged && !isBorrowed }
  }

  @inline(__always)
  mutating func set(
    plain topic: ByteRange, _ payload: ByteRange, _ qos: QoS, retain: Bool, token: UInt32, packetSize: Int
  ) {
    self.topic = topic
    self.payload = payload
    self.qos = qos
    self.retain = retain
    self.token = token
    bytes = ByteRange(offset: 0, count: packetSize)
    kind = .plainMessage
  }

  mutating func set(_ event: SessionEvent, _ bytes: ByteRange) {
    self.event = event
    self.bytes = bytes
    token = 0
    switch event {
    case .connected: kind = .connected
    case .acknowledged: kind = .acknowledged
    case .message(let message):
      kind = .event
      token = message.token
    default: kind = .event
    }
  }

  /// Removes the event.
  @inline(__always)
  mutating func clear() {
    kind = .none
    isBorrowed = false
    isHeld = false
  }
}
