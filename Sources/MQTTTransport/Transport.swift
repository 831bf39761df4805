/// What a transport did with bytes.
public enum Transfer: BitwiseCopyable {
  case moved(Int)  // this many, at least one
  case later  // none now; the platform tells when
  case closed  // the peer has closed
  case failed(Int32)  // errno
}

/// A system call failed.
public struct PlatformError: Error, BitwiseCopyable {
  public let errno: Int32

  public init(errno: Int32) { self.errno = errno }
}
