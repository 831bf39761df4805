import CPlatform

/// Descriptors of which any that turns readable ends one wait, each known by a number.
public struct DescriptorSet: ~Copyable {
  /// Turns readable when one of them is.
  public let descriptor: Int32

  public init() throws(PlatformError) {
    descriptor = platform_poller_open()
    guard descriptor >= 0 else { throw PlatformError(code: -descriptor) }
  }

  deinit { platform_close(descriptor) }

  /// Returns false if the system watches no further descriptor.
  public func add(_ member: Int32, number: Int) -> Bool {
    platform_poller_set(
      descriptor, member, UInt32(truncatingIfNeeded: number), Int32(PLATFORM_READABLE), 1) == 0
  }

  public func remove(_ member: Int32) { platform_poller_remove(descriptor, member) }

  /// Waits at most `timeout` milliseconds; -1: without end. Returns how many numbers it put into `found`, or a
  /// system's number below zero: `interrupted`, if a signal handler ran.
  @inline(__always)
  public func wait(timeout: Int32, into found: inout InlineArray<32, UInt32>) -> Int32 {
    var span = found.mutableSpan
    // C writes no more numbers than there is room for.
    return unsafe span.withUnsafeMutableBufferPointer { found in
      unsafe platform_wait_many(descriptor, timeout, found.baseAddress, Int32(PLATFORM_MAX_READY))
    }
  }

  public static var interrupted: Int32 { -Int32(PLATFORM_EINTR) }
}
