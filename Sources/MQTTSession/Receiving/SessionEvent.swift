public import Journal
public import MQTTWire
public import Storage

/// An event for the application.
public enum SessionEvent: BitwiseCopyable {
  case connected(ConnectedEvent)
  case completed(Completion)
  /// It is not handed out itself, but belongs to a completion that waits to be taken.
  case acknowledged(AcknowledgementDetails)
  case handshake(HandshakeEvent)
  case subscribeCompleted(SubscribeResult)
  case message(MessageEvent)
  case authentication(AuthenticationEvent)
  case requestFailed(Completion)  // the message of the request failed
  case responseTimedOut(cookie: UInt64)
  /// It was granted once, and not again; the extent is in `Session.subscribedFilters`.
  case subscriptionLost(filter: ByteRange, reasonCode: UInt8)
  case room  // there was none for a message; now there is some
  case journal(JournalEvent)
}

/// The server accepted the connection.
public struct ConnectedEvent: BitwiseCopyable {
  /// As CONNACK says; false in 3.1, which does not say.
  public let sessionPresent: Bool
  public let reasonString: ByteRange
  public let properties: ByteRange
}

/// PUBACK, PUBREC or PUBCOMP with properties, which ended a message.
public struct AcknowledgementDetails: BitwiseCopyable {
  let slot: Int
  let isUrgent: Bool
  let reasonString: ByteRange
  let properties: ByteRange
}

/// PUBREC or PUBREL with properties, in the middle of the delivery of a QoS 2 message.
public struct HandshakeEvent: BitwiseCopyable {
  public let type: ControlPacketType
  /// The cookie of the message that PUBREC is for. Of the one that PUBREL is for only the Packet Identifier
  /// is kept.
  public let cookie: UInt64
  public let reasonCode: UInt8
  public let reasonString: ByteRange
  public let properties: ByteRange
}

/// SUBACK or UNSUBACK.
public struct SubscribeResult: BitwiseCopyable {
  public let cookie: UInt64
  /// SUBSCRIBE or UNSUBSCRIBE: what is acknowledged.
  public let type: ControlPacketType
  /// The first refusal among `reasonCodes`.
  public let refusal: UInt8?
  /// One for each Topic Filter.
  public let reasonCodes: ByteRange
  public let reasonString: ByteRange
  public let properties: ByteRange
}

/// AUTH.
public struct AuthenticationEvent: BitwiseCopyable {
  public let reasonCode: UInt8
  public let data: ByteRange
  public let reasonString: ByteRange
  public let properties: ByteRange
}

/// An Application Message, or a part of one. The large fields first, so that an event has no gaps: up to 64
/// bytes the compiler copies in place on 32-bit processors too.
public struct MessageEvent: BitwiseCopyable {
  public internal(set) var topic: ByteRange
  public internal(set) var payload: ByteRange
  public let properties: ByteRange
  public internal(set) var payloadOffset: Int
  public internal(set) var payloadSize: Int
  public let subscriptionIdentifier: UInt32
  /// Its acknowledgement refers to this; 0: it needs none.
  public internal(set) var token: UInt32
  /// The cookie of the request that it responds to.
  public internal(set) var responseCookie: UInt64?
  /// `topic` is in `Session.aliasedTopics`: it came as a Topic Alias.
  public internal(set) var isTopicAliased: Bool
  /// `payload` is in `Session.lentBytes`: it was received into memory of the program.
  public internal(set) var isLent = false
  public internal(set) var isLast: Bool
  /// Its payload was dropped, or its topic is not known, for want of room.
  public internal(set) var isOversize: Bool
  public let qos: QoS
  public let retain: Bool
  public let duplicate: Bool

  public var isFirst: Bool { payloadOffset == 0 }
}
