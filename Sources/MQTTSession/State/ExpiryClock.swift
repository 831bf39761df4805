import Storage

/// A count of seconds, from 1 on, for expiries that are longer than an `Instant` reaches: Message Expiry
/// Interval goes up to 136 years.
struct ExpiryClock: BitwiseCopyable {
  private(set) var seconds: UInt32 = 1
  /// The instant at which the last of them began.
  private var begin = Instant(milliseconds: 0)
  private var isRunning = false

  /// Call it when no message waits to expire: a second begins now, and how long ago the last one began does
  /// not matter.
  mutating func restart(at now: Instant) {
    advance(to: now)
    begin = now
  }

  /// It has to be called at least every 49 days while a message waits to expire; `deadline` sees to that.
  mutating func advance(to now: Instant) {
    guard isRunning else {
      begin = now
      isRunning = true
      return
    }
    let distance = now.milliseconds &- begin.milliseconds
    // An instant that was read a moment before `begin` lies a little less than one turn of the 32 bits
    // ahead. No time has passed then.
    guard distance >= 1000, distance <= UInt32.max &- 60_000 else { return }
    pass(distance)
  }

  /// Kept out of line: inlined into callers that are optimised for size, it would need libgcc's division
  /// on processors without one.
  @inline(never)
  private mutating func pass(_ distance: UInt32) {
    let passed = distance / 1000
    seconds &+= passed
    begin = begin.advanced(by: passed &* 1000)
  }

  /// Returns the first second that begins `wait` seconds from now or later. An expiry beyond the end of
  /// this clock never comes.
  func second(after wait: UInt32, from now: Instant) -> UInt32 {
    let end = seconds.addingReportingOverflow(wait)
    if end.overflow || end.partialValue == .max { return .max }
    return now == begin ? end.partialValue : end.partialValue &+ 1
  }

  /// Returns the instant at which `second` is reached, or one day from now if that is earlier.
  func deadline(of second: UInt32) -> Instant {
    let wait = second > seconds ? second &- seconds : 0
    return begin.advanced(by: min(wait, Self.day) &* 1000)
  }

  private static var day: UInt32 { 86_400 }
}
