import Storage

/// Everything the driver itself waits for. (What the engine and the transport wait for, they say.)
enum Timer: UInt8, BitwiseCopyable {
  case retry  // the next attempt begins
  case connect  // the attempt has taken too long
  case stable  // the connection has lasted; nobody wakes up for it
  case write  // the system should have taken some bytes
  case leave  // draining has taken long enough
  case linger  // so has the end of the connection

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

  /// One that runs goes on as it is.
  mutating func startIfStopped(_ timer: Timer, at deadline: Instant) {
    if !isRunning(timer) { start(timer, at: deadline) }
  }

  /// One that runs may become due earlier, not later.
  @inline(never)
  mutating func startOrHasten(_ timer: Timer, at deadline: Instant) {
    if let other = self[timer], !deadline.isReached(at: other) { return }
    start(timer, at: deadline)
  }

  mutating func stop(_ timer: Timer) { running &= ~timer.bit }

  mutating func stopAll(but timer: Timer) { running &= timer.bit }

  /// Somebody has to wake up for one.
  var areRunning: Bool { running & ~Timer.stable.bit != 0 }

  /// The first deadline of those that somebody has to wake up for.
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
