import Storage

/// Everything the driver itself waits for. (The engine and the transport say what they wait for.)
///
/// An `Instant` wraps: a deadline that was reached 2^31 ms (24.8 days) ago counts as one to come. No timer is
/// started more than a day ahead, and none stays set for so long after its deadline while the program lets the
/// driver run, because the first step after the deadline stops it or starts it again:
///
/// | timer | what the first step after its deadline does |
/// |---|---|
/// | `retry` | begins the next attempt; starts it again as long as the program has not taken the last end |
/// | `connect` | ends the attempt; a connection that is accepted has stopped it |
/// | `stable` | starts it again: it stays due |
/// | `write` | sends, which stops it or starts it again, or ends the connection |
/// | `leave` | queues the final packet, for which there is `linger` seconds' time |
/// | `linger` | ends the connection |
///
/// The program has a reason to call as long as one of them is due, except for `stable`: nothing wakes up for
/// it. A connection without Keep Alive on which nothing happens for 24 days may therefore count as one that has
/// not lasted, and the wait after it is not the shortest then.
enum Timer: UInt8, BitwiseCopyable {
  case retry  // the next attempt begins
  case connect  // the attempt has taken too long
  case stable  // the connection has lasted
  case write  // the system should have taken some bytes
  case leave  // draining has taken long enough
  case linger  // the end of the connection has taken long enough

  static var count: Int { 6 }

  fileprivate var bit: UInt8 { 1 << rawValue }
}

/// When each timer is due, if it runs.
struct Timers: BitwiseCopyable {
  private var deadlines = InlineArray<6, Instant>(repeating: Instant(milliseconds: 0))
  /// A bit for each that runs.
  private var running: UInt8 = 0

  init() {}

  func isRunning(_ timer: Timer) -> Bool { running & timer.bit != 0 }

  func isDue(_ timer: Timer, at now: Instant) -> Bool {
    isRunning(timer) && deadlines[Int(timer.rawValue)].isReached(at: now)
  }

  subscript(timer: Timer) -> Instant? { isRunning(timer) ? deadlines[Int(timer.rawValue)] : nil }

  mutating func start(_ timer: Timer, at deadline: Instant) {
    deadlines[Int(timer.rawValue)] = deadline
    running |= timer.bit
  }

  /// A timer that runs goes on as it is.
  mutating func startIfStopped(_ timer: Timer, at deadline: Instant) {
    if !isRunning(timer) { start(timer, at: deadline) }
  }

  /// A timer that runs may become due earlier, not later.
  @inline(never)
  mutating func startOrHasten(_ timer: Timer, at deadline: Instant) {
    if let other = self[timer], !deadline.isReached(at: other) { return }
    start(timer, at: deadline)
  }

  mutating func stop(_ timer: Timer) { running &= ~timer.bit }

  mutating func stopAll(but timer: Timer) { running &= timer.bit }

  /// There is a timer to wake up for.
  var areRunning: Bool { running & ~Timer.stable.bit != 0 }

  /// The first deadline to wake up for.
  var next: Instant? {
    @inline(never) get { earliest }
  }

  private var earliest: Instant? {
    var earliest: Instant? = nil
    var rest = running & ~Timer.stable.bit
    while rest != 0 {
      earliest = Instant.earlier(earliest, deadlines[rest.trailingZeroBitCount])
      rest &= rest &- 1
    }
    return earliest
  }
}
