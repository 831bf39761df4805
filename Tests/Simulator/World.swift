import MQTTSession
import MQTTWire
import Storage
import TestSupport

/// What all parts of a run share.
final class World {
  let scenario: Scenario
  let ledger: Ledger
  let trace: Trace
  var counts = Counts<SessionCount>()
  var random: SeededRandom
  var now: Instant
  /// Nothing goes wrong any more, and everybody does all there is to do.
  var isEnding = false

  init(seed: UInt64, trace: Trace) {
    random = SeededRandom(seed: seed)
    scenario = Scenario(&random)
    ledger = Ledger(topics: scenario.topics)
    self.trace = trace
    // Now and then where the clock begins again.
    now = Instant(milliseconds: random.percent(30) ? .max - UInt32(random.below(10_000)) : 0)
  }

  /// A random part of what could be done at once; at the end all of it.
  func portion(of count: Int) -> Int {
    isEnding || random.percent(40) ? count : 1 + random.below(max(1, count))
  }

  /// A size below `largest`, a small one more often than not.
  func size(_ largest: Int) -> Int { 4 + random.below(random.percent(50) ? largest + 1 : 12) }
}

/// What the sessions are connected to.
protocol Server: AnyObject {
  /// A session has opened a connection.
  func open(_ link: Link, from client: Int) throws(Failure)
  /// Does something; at the end everything. True: there was something to do.
  func act() throws(Failure) -> Bool
  func checkQuiet() throws(Failure)
  /// The session has been told what CONNACK says about the Session State.
  func noticed(by client: Int)
}
