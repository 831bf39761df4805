import Storage

/// The application's function that is told what the client does (`smq_log`). It gets no secrets: no user name,
/// no password, and nothing of a message.
@safe public struct LogHook: BitwiseCopyable {
  public typealias Function =
    @convention(c) (UnsafeMutableRawPointer?, Int32, Int32, Int32, Int32) -> Void

  public enum Level: Int32, BitwiseCopyable {
    case warning = 1
    case info
    case debug
  }

  /// Each with the two numbers that go with it.
  public enum Step: Int32, BitwiseCopyable {
    case attempt = 1  // which one; server
    case lookUp  // server
    case addresses  // how many
    case address  // which one
    case addressFailed  // which attempt of those that race; errno
    case opened
    case connected  // version of the protocol
    case ended  // cause; stage
    case waiting  // milliseconds
    case ping
    case pong  // milliseconds
    case blocked
    case unblocked
    case hint  // 1: up, 0: down
    case fallback  // version
    case redirected  // server

    var level: Level {
      switch self {
      case .addressFailed, .fallback: .warning
      case .attempt, .connected, .ended, .waiting, .hint, .redirected: .info
      default: .debug
      }
    }
  }

  private let function: Function
  private let user: UnsafeMutableRawPointer?
  private let level: Level

  /// The caller guarantees that `function` may be called with `user` until there is another hook, or none.
  @unsafe public init(_ function: @escaping Function, user: UnsafeMutableRawPointer?, level: Level) {
    unsafe self.function = function
    unsafe self.user = user
    self.level = level
  }

  fileprivate func call(_ step: Step, _ number: Int32, _ other: Int32) {
    guard step.level.rawValue <= level.rawValue else { return }
    unsafe function(user, step.level.rawValue, step.rawValue, number, other)
  }
}

/// Where the driver and the transports log what they do: nowhere, as long as there is no hook.
@safe public struct Log: BitwiseCopyable {
  public var hook: LogHook? = nil

  public init() {}

  public var isOn: Bool { Feature.hasLog && hook != nil }

  @inline(__always)
  public func callAsFunction(_ step: LogHook.Step, _ number: Int = 0, _ other: Int = 0) {
    guard isOn else { return }
    write(step, number, other)
  }

  @inline(never)
  private func write(_ step: LogHook.Step, _ number: Int, _ other: Int) {
    hook?.call(step, Int32(truncatingIfNeeded: number), Int32(truncatingIfNeeded: other))
  }
}
