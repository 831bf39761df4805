import Driver
import MQTTClient
import Platform
import Transports

/// What the driver promises of its attempts and connections: when they begin and end, in which order that is told, how
/// long it waits between them, and for how long anything may take.
final class AttemptRules {
  private let world: DriverWorld
  private let traits: ProgramTraits
  private let number: Int

  // The attempt, or the connection.
  private var attempt: UInt32 = 0
  private var began: UInt64 = 0
  /// An attempt that nobody has looked at yet.
  private var lookedUpAt: UInt64? = nil
  private var server = 0
  private var acceptedAt: UInt64? = nil
  private var isTold = false
  private var ends = 0
  private var endsTold = 0
  private var endedAt: UInt64 = 0
  /// What the last connection was like when it ended.
  private var lasted: UInt64? = nil
  private var state = DriverState.disconnected

  // Between them.
  private var bound: UInt64 = 0
  /// When the next one begins; and, where the network is said to be there again, when at the earliest.
  private var nextAt: UInt64? = nil
  private var earliest: UInt64 = 0
  private var tried: Set<Int> = []
  private var redirects = 0
  private var isRedirected = false
  private var isForGood = false
  /// The wait behind the end that is to be told was drawn, and given up before anybody heard of it.
  private var isWaitGivenUp = false
  private var extraEnds: UInt32 = 0

  // Leaving.
  private(set) var isLeaving = false
  var hasHinted: Bool { hintedAt != nil }
  private var hintedAt: UInt64? = nil
  private var leaveEnd: UInt64? = nil

  // The race.
  private var lastScope: UInt32? = nil
  private var lastTry: UInt64 = 0
  private var isRaceOver = true

  // The log.
  private var logged: UInt32 = 0
  private var loggedEnds: UInt32 = 0
  private var isLoggedOpen = false
  private var loggedWait: Int32? = nil

  init(_ world: DriverWorld, _ traits: ProgramTraits, _ number: Int) {
    self.world = world
    self.traits = traits
    self.number = number
  }

  private func require(_ condition: Bool, _ text: @autoclosure () -> String) throws(Failure) {
    guard condition else { throw Failure("\(number): \(text())") }
  }

  private func timeout(_ option: UInt32, usual: UInt32) -> UInt64? {
    option == .max ? nil : UInt64(option == 0 ? usual : option)
  }

  // MARK: What the program does

  func connects() {
    tried = []
    nextAt = nil
    isLeaving = false
    leaveEnd = nil
  }

  func givesUp(drain: UInt32) {
    if state == .waiting {
      // That the wait ends is an end of its own, unless the one before it is still to be told.
      if endsTold == ends { extraEnds += 1 } else { isWaitGivenUp = true }
    }
    nextAt = nil
    isLeaving = true
    let end = world.now + UInt64(drain) + 2000
    leaveEnd = min(leaveEnd ?? end, end)
  }

  /// The network is there again: the wait may be the shortest there is.
  func hinted(isUp: Bool = false) {
    hintedAt = world.now
    guard isUp, let time = nextAt else { return }
    let shortest = endedAt + UInt64(traits.shortest)
    earliest = min(time, shortest)
    nextAt = max(min(time, shortest), world.now)
  }

  // MARK: What can be seen

  /// An attempt asks for the addresses of its server.
  func looksUp() { lookedUpAt = lookedUpAt ?? world.now }

  /// The program does not look for so long.
  func pauses(_ duration: UInt64) { leaveEnd = leaveEnd.map { $0 + duration } }

  func observe(
    attempt: UInt32, server: Int, isAccepted: Bool, ended: Int, state: DriverState, openSockets: Int
  ) throws(Failure) {
    let hasEnded = ended != ends
    if hasEnded {
      lasted = acceptedAt.map { world.now - $0 }
      ends = ended
      endedAt = world.now
      acceptedAt = nil
      lookedUpAt = nil
      isRaceOver = true
    }
    if attempt != self.attempt {
      world.counts[.attempt] += Int(attempt &- self.attempt)
      try require(attempt == self.attempt &+ 1, "attempt \(attempt) behind \(self.attempt)")
      try require(
        UInt32(endsTold) == self.attempt &+ extraEnds, "an attempt before the end of the last was told")
      // One that also ended meanwhile began when it was due.
      began = lookedUpAt ?? (hasEnded ? nextAt : nil) ?? world.now
      if let nextAt, !world.hasSteppedClock {
        try require(
          began >= min(nextAt, earliest), "attempt \(attempt) is \(nextAt - began) ms too early")
      }
      self.attempt = attempt
      self.server = server
      nextAt = nil
      isTold = false
      isRaceOver = false
      lastScope = nil
      lasted = nil
    }
    if isAccepted, acceptedAt == nil {
      acceptedAt = world.now
      isRaceOver = true
      world.counts[.connection] += 1
    }
    self.state = state
    switch state {
    case .disconnected, .waiting: try require(openSockets == 0, "\(openSockets) connections are left open")
    case .connected: try require(openSockets <= 1, "\(openSockets) connections at a time")
    default: break
    }
  }

  /// When it wants to be called again: not behind anything that is due.
  func checkWaking(_ wakeAt: UInt64, requests: UInt64?, hasEvent: Bool) throws(Failure) {
    guard !hasEvent, !world.hasSteppedClock else { return }
    // While it disconnects a client waits for nothing else, for two seconds at most (docs/architecture.md).
    let linger: UInt64 = state == .disconnecting ? 2000 : 0
    if let requests {
      try require(wakeAt <= max(requests, world.now + linger), "a reply's time is not waited for")
    }
    if let nextAt, state == .waiting {
      try require(
        wakeAt <= max(nextAt, world.now), "the next attempt is at \(nextAt), and it sleeps until \(wakeAt)")
    }
    if state == .connecting, let limit = timeout(traits.connectTimeout, usual: 30_000), !isLeaving {
      try require(wakeAt <= began + limit, "an attempt has no end: it sleeps until \(wakeAt)")
    }
    if isLeaving, state == .disconnecting, let leaveEnd {
      try require(wakeAt <= max(leaveEnd, world.now), "leaving takes until \(wakeAt), not \(leaveEnd)")
    }
  }

  /// Addresses are tried one after the other, each a moment behind the one before it.
  func tries(_ scope: UInt32, running: Int) {
    var fault: String? = nil
    if running > 0 {
      world.counts[.raced] += 1
      if let last = lastScope, scope != last + 1 { fault = "address \(scope) behind \(last)" }
      if running > Channel.sockets { fault = "\(running) addresses at a time" }
    }
    lastScope = scope
    lastTry = world.now
    if let fault { world.failure = world.failure ?? Failure("\(number): \(fault)") }
  }

  // MARK: What it is told

  func connected(attempt: UInt32) throws(Failure) {
    try require(!isTold, "connected twice")
    try require(UInt32(endsTold) + 1 == attempt &+ extraEnds, "connected, and the end before it is not told")
    isTold = true
  }

  func ended(
    _ failure: ClientFailure, wants: Bool, attempt: UInt32, servers: Int
  ) throws(Failure) {
    endsTold += 1
    try require(UInt32(endsTold) == attempt &+ extraEnds, "end \(endsTold) of attempt \(attempt)")
    try require(endsTold == ends, "end \(endsTold) of \(ends)")
    if case .timeout = failure.cause { try checkTimeout(failure) }
    if isLeaving, let leaveEnd, !world.hasSteppedClock {
      try require(endedAt <= leaveEnd, "leaving took \(endedAt - leaveEnd) ms too long")
    }
    isLeaving = false
    leaveEnd = nil
    if let lasted, lasted >= UInt64(traits.stableTime) {
      bound = 0
      redirects = 0
    }
    guard wants, traits.reconnects else {
      try require(failure.retry == nil, "another attempt in \(failure.retry ?? 0) ms, and none is wanted")
      // It counts as a failure like any other: only a connection that lasted begins a new sequence (header,
      // `reconnect_min_ms`).
      if isWaitGivenUp, !world.hasSteppedClock { try checkWait(nil, failure, servers) }
      isWaitGivenUp = false
      return
    }
    guard let retry = failure.retry else { throw Failure("\(number): no other attempt follows") }
    if !world.hasSteppedClock { try checkWait(UInt64(retry), failure, servers) }
    nextAt = endedAt + UInt64(retry)
    earliest = nextAt!
    if let hintedAt, hintedAt >= endedAt { earliest = min(earliest, endedAt + UInt64(traits.shortest)) }
  }

  private func checkTimeout(_ failure: ClientFailure) throws(Failure) {
    let limit: UInt64?
    switch failure.stage {
    case .acknowledgement, .write, .disconnect, .none: return
    default: limit = timeout(traits.connectTimeout, usual: 30_000)
    }
    guard let limit else { throw Failure("\(number): connect_timeout is off") }
    guard !world.hasSteppedClock else { return }
    try require(endedAt >= began + limit, "an attempt was given up after \(endedAt - began) ms")
  }

  /// `nil`: a wait that nobody was told of.
  private func checkWait(_ retry: UInt64?, _ failure: ClientFailure, _ servers: Int) throws(Failure) {
    let wasAccepted = lasted != nil
    let pointsElsewhere = failure.details?.reasonCode == 0x9C || failure.details?.reasonCode == 0x9D
    let wasRedirected = isRedirected
    if !wasRedirected { tried.insert(server) }
    try require(wasRedirected == (server == servers), "server \(server), redirected: \(wasRedirected)")
    isRedirected = false
    if pointsElsewhere, traits.redirects, redirects < 4 {
      redirects += 1
      isRedirected = true
      isForGood = failure.details?.reasonCode == 0x9D
      world.counts[.redirected] += 1
      return try require((retry ?? 0) == 0, "another server, and a wait of \(retry ?? 0) ms")
    }
    if !wasRedirected, !wasAccepted, tried.count < servers {
      world.counts[.nextServer] += 1
      return try require(
        (retry ?? 0) == 0, "\(tried.count) of \(servers) servers were tried, and a wait of \(retry ?? 0) ms")
    }
    // A server that moved for good is the one to come back to.
    isRedirected = wasRedirected && isForGood && (lasted.map { $0 >= UInt64(traits.stableTime) } ?? false)
    tried = []
    world.counts[.backedOff] += 1
    // A connection that was given up so that the server sends the rest again has done what it was for: the wait before
    // the next is the shortest (docs/decisions/0014).
    if case .backlog = failure.cause { bound = 0 }
    try checkBackoff(retry)
  }

  private func checkBackoff(_ told: UInt64?) throws(Failure) {
    let (shortest, longest) = (UInt64(traits.shortest), UInt64(traits.longest))
    let last = bound == 0 ? shortest : bound
    let allowed: ClosedRange<UInt64>
    if traits.jitter == 2 {
      allowed = shortest...min(3 * last, longest)
      // Of one that was not told the most it may have been is what counts.
      bound = told ?? allowed.upperBound
    } else {
      bound = bound == 0 ? shortest : min(2 * last, longest)
      allowed = (traits.jitter == 3 ? bound : shortest / 2)...bound
    }
    guard let told else { return }
    try require(allowed ~= told, "a wait of \(told) ms, not of \(allowed)")
  }

  // MARK: The log

  static let told: LogHook.Function = { user, level, what, number, other in
    guard let user else { return }
    unsafe Unmanaged<AttemptRules>.fromOpaque(user).takeUnretainedValue().log(what, number)
  }

  private func log(_ what: Int32, _ number: Int32) {
    var fault: String? = nil
    switch LogHook.Step(rawValue: what) {
    case .attempt:
      if number != Int32(bitPattern: logged &+ 1) {
        fault = "the log says attempt \(number) behind \(logged)"
      }
      if loggedEnds != logged &+ extraEnds {
        fault = "the log says attempt, with \(loggedEnds) ends of \(logged)"
      }
      logged = UInt32(bitPattern: number)
      isLoggedOpen = false
    case .opened: isLoggedOpen = true
    case .connected: if !isLoggedOpen { fault = "the log says connected, and not opened" }
    case .fallback: isLoggedOpen = false
    case .ended: loggedEnds += 1
    default: break
    }
    if let fault { world.failure = world.failure ?? Failure("\(self.number): \(fault)") }
  }
}
