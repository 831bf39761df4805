import MQTTSession
import Storage
import TestSupport

/// What all parts of a run of drivers share: time, random, and what is going to happen.
final class DriverWorld {
  let scenario: DriverScenario
  let trace: Trace
  let ledger: DriverLedger
  var random: SeededRandom
  var counts = Counts<DriverCount>()
  /// Milliseconds since the beginning.
  private(set) var now: UInt64 = 0
  /// How far the clock of the clients is ahead of that.
  private var offset: UInt32
  /// From then on nobody knows when what is due.
  private(set) var hasSteppedClock = false
  /// What went wrong where nothing can be thrown.
  var failure: Failure? = nil
  /// Nothing goes wrong any more.
  var isPeaceful = false
  /// Until then nothing gets through.
  var outageEnd: UInt64 = 0
  var programs: [Program] = []
  /// A program is blocked in a wait, and the world goes on around it.
  private var isWaiting = false

  private struct Event {
    let time: UInt64
    let number: Int
    let action: () throws(Failure) -> Void
  }

  /// The last is the next.
  private var events: [Event] = []
  private var eventCount = 0

  init(seed: UInt64, trace: Trace, _ hardships: Hardships) {
    random = SeededRandom(seed: seed)
    scenario = DriverScenario(&random, hardships)
    ledger = DriverLedger(programs: scenario.programs.count)
    offset = scenario.clockStart
    self.trace = trace
  }

  /// What the clients' clock shows.
  var clock: UInt32 { offset &+ UInt32(truncatingIfNeeded: now) }
  var instant: Instant { Instant(milliseconds: clock) }

  /// All clocks are so far ahead at once, and nobody has looked meanwhile.
  func stepClock(by step: UInt32) {
    offset = offset &+ step
    hasSteppedClock = true
  }

  func after(_ delay: Int, _ action: @escaping () throws(Failure) -> Void) {
    at(now + UInt64(max(delay, 0)), action)
  }

  func at(_ time: UInt64, _ action: @escaping () throws(Failure) -> Void) {
    eventCount += 1
    let event = Event(time: max(time, now), number: eventCount, action: action)
    var place = events.count
    while place > 0, events[place - 1].time <= event.time { place -= 1 }
    events.insert(event, at: place)
  }

  /// A random part of what could be done at once.
  func portion(of count: Int) -> Int {
    random.percent(scenario.partPercent) ? 1 + random.below(max(1, count)) : count
  }

  /// Lets the next thing happen, at `limit` at the latest; `waiting` is in a wait itself. False: nothing will.
  func step(limit: UInt64?, waiting: Program?) throws(Failure) -> Bool {
    var due: [Program] = []
    for program in programs where program !== waiting && program.isDue { due.append(program) }
    if !due.isEmpty {
      try random.pick(due).turn()
      return true
    }
    var next = limit
    for program in programs where program !== waiting {
      if let time = program.wakingTime { next = min(next ?? time, time) }
    }
    if let event = events.last, event.time <= next ?? .max {
      events.removeLast()
      now = max(now, event.time)
      trace.begin(step: Int(now))
      try event.action()
      return true
    }
    guard let next else { return false }
    now = max(now, next)
    trace.begin(step: Int(now))
    return true
  }

  /// Blocks one program until it is `isReady` or the time is up, while the others go on.
  func block(_ program: Program, until end: UInt64, isReady: () -> Bool) {
    guard !isWaiting else { return }
    isWaiting = true
    defer { isWaiting = false }
    while !isReady(), now < end {
      do throws(Failure) {
        _ = try step(limit: end, waiting: program)
      } catch {
        failure = failure ?? error
        return
      }
    }
  }

  var mayBlock: Bool { !isWaiting }

  /// Lets go of everybody, and of what would still have happened: each knows the world.
  func end() {
    programs = []
    events = []
  }
}
