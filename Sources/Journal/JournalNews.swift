public import Storage

/// What happened to a journal, for the application.
public enum JournalEvent: Sendable, BitwiseCopyable, Equatable {
  /// So many messages of an earlier process are there again.
  case recovered(messages: Int)
  /// A commit has failed: the system's number. What was accepted since the last one is stored nowhere.
  case failed(Int32)
  /// After that, all is durable again.
  case healed
  /// All messages up to this position are durable, or have ended.
  case stored(Counter)
}

/// What the application has not been told, in that order.
public struct JournalNews: BitwiseCopyable {
  public var recovered = 0
  private var error: Int32 = 0
  private var isHealed = false
  public var isStored = false
  /// It was told that the journal failed, and not that it is healed.
  private var hasFailed = false

  public init() {}

  public var isEmpty: Bool { recovered == 0 && error == 0 && !isHealed && !isStored }

  /// A failure is news once: the next one is, when the journal was healed meanwhile.
  @_optimize(size)
  public mutating func failed(_ error: Int32) {
    isHealed = false
    guard !hasFailed else { return }
    hasFailed = true
    self.error = error
  }

  @_optimize(size)
  public mutating func healed() {
    guard hasFailed else { return }
    hasFailed = false
    isHealed = true
  }

  @inline(never)
  @_optimize(size)
  public mutating func take(durable: Counter) -> JournalEvent? {
    if recovered > 0 {
      defer { recovered = 0 }
      return .recovered(messages: recovered)
    }
    if error != 0 {
      defer { error = 0 }
      return .failed(error)
    }
    if isHealed {
      isHealed = false
      return .healed
    }
    guard isStored else { return nil }
    isStored = false
    return .stored(durable)
  }
}
