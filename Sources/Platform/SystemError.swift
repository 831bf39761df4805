import CPlatform

/// A call of the system failed.
public struct PlatformError: Error, BitwiseCopyable {
  /// The system's number: with Linux an errno.
  public let code: Int32

  public init(code: Int32) { self.code = code }
}

/// The system's numbers that the library says itself.
public enum SystemError {
  public static var invalidArgument: Int32 { Int32(PLATFORM_EINVAL) }
  public static var noSuchFile: Int32 { Int32(PLATFORM_ENOENT) }
  public static var wouldBlock: Int32 { Int32(PLATFORM_EWOULDBLOCK) }
  /// What was to be read lies behind the end of a file. No errno is negative.
  public static var endOfFile: Int32 { Int32(PLATFORM_END_OF_FILE) }
  public static var outOfMemory: Int32 { Int32(PLATFORM_ENOMEM) }
  public static var nameTooLong: Int32 { Int32(PLATFORM_ENAMETOOLONG) }
  public static var brokenPipe: Int32 { Int32(PLATFORM_EPIPE) }
  public static var notSupported: Int32 { Int32(PLATFORM_EOPNOTSUPP) }
  public static var connectionReset: Int32 { Int32(PLATFORM_ECONNRESET) }
  public static var timedOut: Int32 { Int32(PLATFORM_ETIMEDOUT) }
  /// Makes it the last error of the thread, which a C program asks for as `errno`.
  public static func set(_ code: Int32) { platform_set_error(code) }
  /// The resolver's number for a name that does not exist.
  public static var noSuchName: Int32 { Int32(PLATFORM_EAI_NONAME) }
}
