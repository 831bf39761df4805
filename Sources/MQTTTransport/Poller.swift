import CPlatform

/// The one descriptor a program waits on, whatever the client is waiting for behind it.
public struct Poller: ~Copyable {
  public let descriptor: Int32

  /// What is watched at the moment, to leave out system calls that change nothing.
  private var watched: (descriptor: Int32, readiness: Readiness)? = nil

  /// What a descriptor is ready for, or waited for. (Not an `OptionSet`: its array literals allocate.)
  public struct Readiness: BitwiseCopyable, Equatable {
    public let readable: Bool
    public let writable: Bool

    public init(readable: Bool, writable: Bool) {
      self.readable = readable
      self.writable = writable
    }

    var bits: Int32 {
      Int32((readable ? PLATFORM_READABLE : 0) | (writable ? PLATFORM_WRITABLE : 0))
    }
  }

  public enum Result: BitwiseCopyable {
    case ready(Readiness)  // for nothing: the time is up
    case interrupted  // a signal handler ran
    case failed(Int32)  // errno
  }

  /// Fails with errno.
  public init() throws(PlatformError) {
    descriptor = platform_poller_open()
    guard descriptor >= 0 else { throw PlatformError(errno: -descriptor) }
  }

  deinit { platform_close(descriptor) }

  /// From now on `wait` is about this descriptor alone, until `forget`.
  public mutating func watch(_ target: Int32, for readiness: Readiness) throws(PlatformError) {
    let isNew = watched?.descriptor != target
    if isNew { forget() }
    guard isNew || watched?.readiness != readiness else { return }
    let result = platform_poller_set(descriptor, target, readiness.bits, isNew ? 1 : 0)
    guard result == 0 else { throw PlatformError(errno: -result) }
    watched = (target, readiness)
  }

  /// The watched descriptor is about to be closed.
  public mutating func forget() {
    guard let watched else { return }
    platform_poller_remove(descriptor, watched.descriptor)
    self.watched = nil
  }

  /// Waits at most `timeout` milliseconds; -1: for ever.
  public func wait(timeout: Int32) -> Result {
    let result = platform_wait(descriptor, timeout)
    if result < 0 { return .failed(-result) }
    if result & Int32(PLATFORM_INTERRUPTED) != 0 { return .interrupted }
    return .ready(
      Readiness(
        readable: result & Int32(PLATFORM_READABLE) != 0,
        writable: result & Int32(PLATFORM_WRITABLE) != 0))
  }
}

/// A system call failed.
public struct PlatformError: Error, BitwiseCopyable {
  public let errno: Int32
}
