/// What a recovery is at.
public enum RecoveryStep: BitwiseCopyable {
  /// Read `count` blocks of the file from `block` on to `offset` of where the session has room for
  /// them, then tell it that they are there.
  case read(block: UInt32, count: UInt32, offset: Int)
  /// All messages are back.
  case done
  case failed(RecoveryError)
}

public enum RecoveryError: Error, BitwiseCopyable {
  /// A block that was durable is not as it was written.
  case corrupt
  /// What the journal has does not fit into the memory that this client has.
  case size
}
