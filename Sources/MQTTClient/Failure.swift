public import MQTTSession
public import MQTTWire

/// Why and where an attempt to connect, or a connection, ended (D9).
public struct Failure: BitwiseCopyable {
  public enum Cause: BitwiseCopyable {
    case requested  // the application wanted it: no failure
    case refused
    case serverClosed
    case malformed(Malformed)
    case violation(Violation)
    case keepAlive
    case stream
    case resolve(Int32)  // EAI_…
    case network(Int32)  // errno
    case closed
    case timeout
  }

  public enum Stage: BitwiseCopyable {
    case none, resolve, connect, connack, connected, keepAlive, disconnect, answer, write
  }

  public let cause: Cause
  public let stage: Stage
  /// What the server said, if it said anything; the extents are in `Client.receivedBytes`.
  public var reasonCode: UInt8? = nil
  public var reasonString = Extent.empty
  public var serverReference = Extent.empty
  public var properties = Extent.empty
  /// Milliseconds until the next attempt; `nil`: there will be none.
  public var retry: UInt32? = nil
}
