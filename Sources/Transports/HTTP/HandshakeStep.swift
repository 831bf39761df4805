/// What a handshake wants after the bytes that it has taken.
public enum HandshakeStep: UInt8, BitwiseCopyable {
  case needsBytes
  /// The next message: `request`.
  case send
  case done
  /// The handshake keeps what the peer said.
  case failed
}
