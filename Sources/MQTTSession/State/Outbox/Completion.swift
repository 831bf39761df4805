public import MQTTWire
public import Storage

/// How a message ended.
public enum DeliveryResult: UInt8, BitwiseCopyable {
  case delivered  // as its QoS promises
  case refused  // by the server, with a Reason Code
  case sessionLost  // QoS 2, sent in a session the server has forgotten: its fate is unknown
  case aboveLimit  // of a server that was met later; the Reason Code says which
  case expired  // before it could be sent
  case aborted  // its payload was not supplied
  case unreadable  // SUBACK or UNSUBACK broke a rule, or was larger than the receive buffer
  case dropped  // it was expendable, and made room
  case disconnected  // QoS 0 that is for a connection only
  case replaced  // by a newer one with the same topic

  /// Whether this is the result that the options of the message asked for.
  var isAsAsked: Bool { self == .delivered || self == .dropped || self == .replaced }
}

/// The one report about a message, or about a SUBSCRIBE or UNSUBSCRIBE that failed.
public struct Completion: BitwiseCopyable {
  public let cookie: UInt64
  public var type = ControlPacketType.publish
  public let result: DeliveryResult
  /// The server's, if it gave one; with `aboveLimit` the one that names the limit.
  public let reasonCode: UInt8?
  /// Milliseconds from when it was sent until the acknowledgement came.
  public var latency: UInt32? = nil
  /// 5.0: what came with the acknowledgement; extents in `Session.receivedBytes`, as long as the event is not
  /// released.
  public internal(set) var reasonString = ByteRange.empty
  public internal(set) var properties = ByteRange.empty
  /// Of a request, its tag in `PendingResponses`.
  let responseTag: UInt16?
  let slot: Int
}
