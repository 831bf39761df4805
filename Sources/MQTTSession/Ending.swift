import MQTTWire

/// Why a session wants its connection closed.
public struct Ending: BitwiseCopyable {
  public enum Cause: BitwiseCopyable {
    case requested  // the application disconnected
    case refused  // CONNACK with a Reason Code
    case disconnected  // DISCONNECT from the server
    case malformed(Malformed)
    case protocolError
    case receivedTooLarge
    case keepAlive
  }

  public let cause: Cause
  /// The server's, if it gave one.
  public var reasonCode: UInt8? = nil
  /// Extents in `Session.receivedBytes`, which stay there until the next connection is opened.
  public var reasonString = Extent.empty
  public var serverReference = Extent.empty
}
