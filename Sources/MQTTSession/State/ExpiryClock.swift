import Storage

/// A count of seconds, from 1 on, for expiries that are longer than an `Instant` reaches: Message Expiry
/// Interval goes up to 136 years.
struct ExpiryClock: BitwiseCopyable {
  private(set) var seconds: UInt32 = 1
  /// The instant at which the last of them began.
  private var begin = Instant(milliseconds: 0)
  private var isRunning = false

  /// Nobody waits: a second begins now, and how long ago the last one began does not matter.
  mutating func restart(at now: Instant) {
    advance(to: now)
    begin = now
  }

  /// Needs to be called at least every 49 days while somebody waits; see `deadline`.
  mutating func advance(to now: Instant) {
    guard isRunning else {
      begin = now
      isRunning = true
      return
    }
    let distance = now.milliseconds &- begin.milliseconds
    // A clock that was read a moment earlier is not one that has nearly come round.
    guard distance <= UInt32.max &- 60_000 else { return }
    let passed = distance / 1000
    guard passed > 0 else { return }
    seconds &+= passed
    begin = begin.advanced(by: passed &* 1000)
  }

  /// The first second that begins `wait` seconds from now, or later. Beyond the end of this clock: for ever.
  func second(after wait: UInt32, from now: Instant) -> UInt32 {
    let end = seconds.addingReportingOverflow(wait)
    if end.overflow || end.partialValue == .max { return .max }
    return now == begin ? end.partialValue : end.partialValue &+ 1
  }

  /// When `second` will be reached, or a day from now to look again.
  func deadline(of second: UInt32) -> Instant {
    let wait = second > seconds ? second &- seconds : 0
    return begin.advanced(by: min(wait, Self.day) &* 1000)
  }

  private static var day: UInt32 { 86_400 }
}
