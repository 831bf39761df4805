/// How a frame of the application ended.
public enum FrameOutcome: UInt8, BitwiseCopyable, Sendable {
  case delivered  // sent or, with a receipt, confirmed
  case refused  // the server answered with ERROR
  case unknown  // the connection broke before the receipt: the server has it, or not
  case connectionLost  // it was of a connection, and not sent
  case dropped  // it made room for a later one
  case version  // the version of the connection does not have what it says
  case journal  // it was to be stored, and the journal does not work
}

public struct FrameCompletion: BitwiseCopyable {
  public let cookie: UInt64
  let kind: FrameQueue.Kind
  public let outcome: FrameOutcome

  public var commits: Bool { kind == .commit }
  /// COMMIT or ABORT, which end a transaction.
  public var endsTransaction: Bool { kind == .commit || kind == .abort }
}
