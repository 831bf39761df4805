import Storage

/// How long a server may acknowledge nothing at all while something waits for an acknowledgement. PINGRESP
/// does not count: a server can be alive and process nothing.
struct AckTimeout: BitwiseCopyable {
  /// Milliseconds; 0: for ever.
  let timeout: UInt32
  /// When the last acknowledgement came, or the first of what waits was sent; `nil`: nothing waits.
  private var since: Instant? = nil

  init(timeout: UInt32) { self.timeout = timeout }

  mutating func sent(at now: Instant, waiting: Int) {
    if since == nil, waiting > 0 { since = now }
  }

  /// Restarts the time, because an acknowledgement came or cannot be read yet.
  mutating func acknowledged(at now: Instant, waiting: Int) { since = waiting > 0 ? now : nil }

  var deadline: Instant? {
    guard timeout != 0, let since else { return nil }
    return since.advanced(by: timeout)
  }
}
