/// How a message ended.
public enum Outcome: UInt8, BitwiseCopyable {
  case delivered  // as its QoS promises
  case refused  // by the server, with a Reason Code
  case sessionLost  // QoS 2, sent in a session the server has forgotten: its fate is unknown
  case packetTooLarge  // above the Maximum Packet Size of a server that was met later
  case qosNotSupported  // above its Maximum QoS
  case retainNotSupported  // RETAIN, and it has no retained messages
}

/// The one report about a message.
public struct Completion: BitwiseCopyable {
  public let cookie: UInt64
  public let outcome: Outcome
  /// The server's, if it gave one.
  public let reasonCode: UInt8?
}
