import MQTTWire
public import Storage

/// Why a session wants its connection closed.
public struct CloseReason: BitwiseCopyable {
  public enum Cause: BitwiseCopyable {
    case requested  // the application disconnected
    case refused  // CONNACK with a Reason Code
    case disconnected  // DISCONNECT from the server
    case malformed(Malformed)
    case violation(ProtocolViolation)
    case backlog  // the server resends what had no room: Session+Backlog.swift
    case keepAlive
    case ackTimeout  // nothing that waits was acknowledged in time
    case stream  // the application did not supply the payload of a packet that was begun

    /// Whether queued acknowledgements are still sent before the connection is closed.
    var keepsAcknowledgements: Bool {
      switch self {
      case .backlog, .violation(.receiveMaximum): true
      default: false
      }
    }
  }

  public let cause: Cause
  /// The server's, if it gave one, or the one that the client sent.
  public var reasonCode: UInt8? = nil
  /// Extents in `Session.receivedBytes`, which stay there until the next connection is opened.
  public var reasonString = ByteRange.empty
  public var serverReference = ByteRange.empty
  public var properties = ByteRange.empty
}
