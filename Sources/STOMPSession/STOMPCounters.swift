public import Storage

/// What a session has done.
public struct STOMPCounters: BitwiseCopyable {
  public internal(set) var connections: UInt32 = 0
  public internal(set) var framesSent = Counter()
  public internal(set) var framesReceived = Counter()
  public internal(set) var bytesSent = Counter()
  public internal(set) var bytesReceived = Counter()
  public internal(set) var sendCalls = Counter()
  public internal(set) var receiveCalls = Counter()
  public internal(set) var messagesReceived = Counter()
  public internal(set) var messagesOversize = Counter()
}

/// What is queued, and what became of what was.
public struct OutboxCounts: BitwiseCopyable {
  /// SEND alone.
  public internal(set) var delivered = Counter()
  public internal(set) var failed = Counter()
  /// They made room for others.
  public internal(set) var dropped = Counter()
  public internal(set) var bytes = 0
  public internal(set) var bytesPeak = 0
  public internal(set) var frames = 0
  public internal(set) var framesPeak = 0
  public internal(set) var urgentFrames = 0
  public internal(set) var urgentFramesPeak = 0
}
