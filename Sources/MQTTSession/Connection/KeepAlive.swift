import Storage

/// Keep Alive (§3.1.2.10). PINGREQ is sent when nothing was sent, or nothing was received, for long enough,
/// and its PINGRESP has a deadline of its own. Otherwise a program that publishes all the time and receives
/// nothing would never notice that the server is gone.
struct KeepAlive: BitwiseCopyable {
  /// How long the server may stay silent after PINGREQ, in milliseconds.
  let pingTimeout: UInt32
  /// 0: off.
  private var interval: UInt32 = 0
  private var lastSent = Instant(milliseconds: 0)
  private var lastHeard = Instant(milliseconds: 0)
  private var pingrespDue: Instant? = nil
  /// A PINGREQ is queued; nothing was sent since.
  private var isPingQueued = false
  /// When the PINGREQ that was not answered was sent.
  private var pinged: Instant? = nil

  init(pingTimeout: UInt32) { self.pingTimeout = pingTimeout }

  /// What is to be done now.
  enum Verdict { case nothing, ping, dead }

  /// Starts Keep Alive when CONNACK has come. The time runs from the last packet sent, CONNECT.
  mutating func start(seconds: UInt16) {
    let period = UInt32(seconds) &* 1000
    // A timer fires late, never early. The interval is shorter than Keep Alive, so that the gap between two
    // packets never exceeds it [MQTT-3.1.2-20].
    interval = period &- Swift.min(period / 8, 1000)
    pingrespDue = nil
    isPingQueued = false
    pinged = nil
  }

  mutating func sent(at now: Instant) {
    lastSent = now
    if isPingQueued, pingrespDue != nil { pinged = pinged ?? now }
    isPingQueued = false
  }

  /// Handles that the transport took a part of a packet. A PINGREQ has to wait for its end, and so does the
  /// server.
  mutating func sentPart(at now: Instant) {
    lastSent = now
    if isPingQueued, pingrespDue != nil { pingrespDue = now.advanced(by: pingTimeout) }
  }

  /// Handles received bytes. Any byte shows that the server is alive, but only PINGRESP ends the wait for
  /// it, as a large message may be in front of it.
  mutating func heard(at now: Instant) {
    lastHeard = now
    if pingrespDue != nil { pingrespDue = now.advanced(by: pingTimeout) }
  }

  /// Handles PINGRESP. Returns how long it took, if it answers a PINGREQ.
  mutating func receivedPingresp(at now: Instant) -> UInt32? {
    guard pingrespDue != nil, let pinged else { return nil }
    pingrespDue = nil
    self.pinged = nil
    return now.milliseconds &- pinged.milliseconds
  }

  /// Extends the wait, because PINGRESP may be there and cannot be read yet.
  mutating func postpone(at now: Instant) { pingrespDue = now.advanced(by: pingTimeout) }

  /// Whether a PINGREQ may be sent at once: none is queued or unanswered.
  var mayProbe: Bool { pingrespDue == nil && !isPingQueued }

  /// Records that a PINGREQ was queued. A second one does not extend the wait for the first PINGRESP.
  mutating func pinged(at now: Instant) {
    isPingQueued = true
    pingrespDue = pingrespDue ?? now.advanced(by: pingTimeout)
  }

  func verdict(at now: Instant) -> Verdict {
    if let pingrespDue, pingrespDue.isReached(at: now) { return .dead }
    if let pingDue, pingDue.isReached(at: now) { return .ping }
    return .nothing
  }

  var deadline: Instant? { Instant.earlier(pingDue, pingrespDue) }

  private var pingDue: Instant? {
    guard interval != 0, !isPingQueued else { return nil }
    let quiet = lastSent.advanced(by: interval)
    // While a PINGREQ is unanswered, `pingrespDue` watches over what is received.
    return pingrespDue != nil ? quiet : Instant.earlier(quiet, lastHeard.advanced(by: interval))
  }
}
