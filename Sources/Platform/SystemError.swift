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
  public static var outOfMemory: Int32 { Int32(PLATFORM_ENOMEM) }
  public static var brokenPipe: Int32 { Int32(PLATFORM_EPIPE) }
  public static var notSupported: Int32 { Int32(PLATFORM_EOPNOTSUPP) }
  public static var connectionReset: Int32 { Int32(PLATFORM_ECONNRESET) }
  public static var timedOut: Int32 { Int32(PLATFORM_ETIMEDOUT) }
  /// The resolver's number for a name that does not exist.
  public static var noSuchName: Int32 { Int32(PLATFORM_EAI_NONAME) }
}
