import Storage

/// For how long a server may acknowledge nothing at all while something waits for it. PINGRESP is no answer to a
/// PUBLISH: a server can be alive and do nothing.
struct AckTimeout: BitwiseCopyable {
  /// Milliseconds; 0: for ever.
  let timeout: UInt32
  /// When the last answer came, or the first of what waits was sent; `nil`: nothing waits.
  private var since: Instant? = nil

  init(timeout: UInt32) { self.timeout = timeout }

  mutating func sent(at now: Instant, waiting: Int) {
    if since == nil, waiting > 0 { since = now }
  }

  /// An answer came, or cannot be seen yet.
  mutating func acknowledged(at now: Instant, waiting: Int) { since = waiting > 0 ? now : nil }

  mutating func stop() { since = nil }

  var deadline: Instant? {
    guard timeout != 0, let since else { return nil }
    return since.advanced(by: timeout)
  }
}
