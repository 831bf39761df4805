import MQTTSession

/// Telling what is done, as it is done.
extension Client where System: ~Copyable {
  @inline(__always)
  func note(_ what: LogHook.What, _ number: Int = 0, _ other: Int = 0) {
    guard log != nil else { return }
    tell(what, number, other)
  }

  @inline(never)
  private func tell(_ what: LogHook.What, _ number: Int, _ other: Int) {
    log?.tell(what, Int32(truncatingIfNeeded: number), Int32(truncatingIfNeeded: other))
  }

  /// What was done before there was somebody to tell it to.
  mutating func forgetUntold() {
    toldPings = session.counters.pings
    toldPongs = session.counters.pongs
  }

  /// What the session did by itself in this turn.
  @inline(__always)
  mutating func noteTurn() {
    if log != nil { tellTurn() }
  }

  @inline(never)
  private mutating func tellTurn() {
    let counters = session.counters
    if counters.pings != toldPings { note(.ping) }
    if counters.pongs != toldPongs { note(.pong, Int(truncatingIfNeeded: counters.lastRoundTrip)) }
    forgetUntold()
  }
}
