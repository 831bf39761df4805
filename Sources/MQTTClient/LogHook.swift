/// The application's function that is told what the driver does (`smq_log`). It learns no secrets: neither user name nor
/// password, nor anything of a message.
@safe public struct LogHook: BitwiseCopyable {
  public typealias Function =
    @convention(c) (UnsafeMutableRawPointer?, Int32, Int32, Int32, Int32) -> Void

  public enum Level: Int32, BitwiseCopyable {
    case warning = 1
    case info
    case debug
  }

  /// Each with the two numbers that go with it.
  public enum What: Int32, BitwiseCopyable {
    case attempt = 1  // which one; server
    case lookUp  // server
    case addresses  // how many
    case address  // which one
    case addressFailed  // lane; errno
    case opened
    case connected  // version
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
  let level: Level

  /// The caller guarantees that `function` may be called with `user` until there is another hook, or none.
  @unsafe public init(_ function: @escaping Function, user: UnsafeMutableRawPointer?, level: Level) {
    unsafe self.function = function
    unsafe self.user = user
    self.level = level
  }

  func tell(_ what: What, _ number: Int32, _ other: Int32) {
    guard what.level.rawValue <= level.rawValue else { return }
    unsafe function(user, what.level.rawValue, what.rawValue, number, other)
  }
}
