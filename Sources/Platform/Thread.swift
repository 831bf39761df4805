import CPlatform

/// A thread of the library's own.
public enum OwnThread {
  /// Which one is running.
  public static var current: UInt { platform_thread_self() }

  /// Starts one that takes no signals. `name` has at most 15 bytes and no zero; `priority` 0: that of its
  /// creator, else SCHED_FIFO with this one; `stackBytes` 0: libc's own.
  ///
  /// The caller guarantees that `argument` is what `body` wants, until the thread has ended.
  public static func start(
    name: Span<UInt8>, priority: Int32, stackBytes: UInt32, argument: UnsafeMutableRawPointer,
    _ body: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
  ) throws(PlatformError) -> UInt {
    var wanted = platform_thread()
    wanted.priority = priority
    wanted.stack_bytes = stackBytes
    unsafe withUnsafeMutableBytes(of: &wanted.name) { buffer in
      for index in 0..<min(name.count, buffer.count &- 1) { unsafe buffer[index] = name[index] }
    }
    var thread: UInt = 0
    let error = unsafe platform_thread_start(&wanted, body, argument, &thread)
    guard error == 0 else { throw PlatformError(code: error) }
    return thread
  }

  /// Waits for the end of one that `start` gave, once.
  public static func join(_ thread: UInt) { platform_thread_join(thread) }
}
