import CPlatform

/// What lets any thread, or a signal handler, end the `wait` of a platform.
public struct WakeUp: BitwiseCopyable {
  /// Ends nothing.
  public static var none: WakeUp { WakeUp(descriptor: -1) }

  private let descriptor: Int32

  init(descriptor: Int32) { self.descriptor = descriptor }

  public func send() { if descriptor >= 0 { platform_wake(descriptor) } }
}
