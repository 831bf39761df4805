public import MQTTWire

/// What a session tells the application.
public enum SessionEvent: BitwiseCopyable {
  case connected(ConnectedEvent)
  case completed(Completion)
  case room  // there was none for a message; now there is some
}

/// The server accepted the connection.
public struct ConnectedEvent: BitwiseCopyable {
  public let sessionPresent: Bool
  /// An extent in `Session.receivedBytes`, as long as nothing more is received.
  public internal(set) var reasonString: Extent
}
