/// One run of drivers: some time in which everything goes wrong, then peace, until everybody is done; then everything
/// must be in its place.
final class DriverRun {
  let world: DriverWorld
  private let broker: BrokerModel
  private let network: Network

  init(seed: UInt64, trace: Trace, _ hardships: Hardships) {
    world = DriverWorld(seed: seed, trace: trace, hardships)
    broker = BrokerModel(world)
    network = Network(world, broker)
  }

  var counts: Counts<DriverCount> {
    var counts = world.counts
    counts[.message] = world.ledger.messages.count
    return counts
  }

  func run() throws(Failure) {
    defer { world.end() }
    world.trace("\(world.scenario)")
    for number in world.scenario.programs.indices {
      let program = try Program(world, network, number)
      world.programs.append(program)
    }
    for program in world.programs { try program.start() }
    if world.scenario.faultPace > 0 { scheduleFault() }
    for _ in 0..<world.scenario.bursts { scheduleBurst() }
    try go(until: UInt64(world.scenario.length)) { false }
    world.trace("---- peace")
    try makePeace()
    try goUntilFinished()
    if let text = unfinished() { throw Failure("there is no end to it: \(text)") }
    try checkSubscriptions()
    try leave()
    try world.ledger.checkAll()
  }

  /// With every timeout that there is, and a few attempts.
  private static let patience: UInt64 = 900_000

  /// Instants can be compared as long as they are less than 24 days apart (docs/decisions/0008). When the clock has gone
  /// further at once, a deadline of before can seem to be ahead by as much: it is reached when that time has passed, and in
  /// two steps all of it has.
  private func goUntilFinished() throws(Failure) {
    try go(until: world.now + Self.patience) { unfinished() == nil }
    guard world.hasSteppedClock else { return }
    for _ in 0..<2 where unfinished() != nil {
      world.trace("---- 12 days pass")
      world.stepClock(by: 1 << 30)
      for program in world.programs { program.wakeAt = world.now }
      try go(until: world.now + Self.patience) { unfinished() == nil }
    }
  }

  private func go(until end: UInt64, isDone: () -> Bool) throws(Failure) {
    var steps = 0
    while world.now < end, !isDone() {
      steps += 1
      try require(steps < 200_000, "\(steps) steps, and no end")
      let waiting = world.programs.filter { $0.traits.style == .waiting }
      if !waiting.isEmpty, world.random.percent(50) {
        try world.random.pick(waiting).waitLong()
      }
      _ = try world.step(limit: end, waiting: nil)
      if let failure = world.failure { throw failure }
    }
  }

  private func unfinished() -> String? {
    for program in world.programs {
      if let text = program.unfinished() { return text }
      if broker.connection(of: program.number) == nil {
        return "\(program.number) takes itself for connected"
      }
    }
    return broker.unfinished()
  }

  private func checkSubscriptions() throws(Failure) {
    guard !world.ledger.isServerUnreliable else { return }
    for program in world.programs {
      let filters = broker.sessions[program.number]?.subscriptions.map(\.filter) ?? []
      try require(filters.contains(program.subscription), "\(program.number): the subscription is lost")
    }
  }

  /// Every client disconnects.
  private func leave() throws(Failure) {
    world.trace("---- leaving")
    for program in world.programs {
      program.hasLeft = false
      program.isLast = true
      try program.disconnect(drain: 5000)
      program.wakeAt = world.now
    }
    let before = world.programs.map { network.broker.connection(of: $0.number) != nil }
    try require(before.allSatisfy { $0 }, "not connected")
    try go(until: world.now + 10_000) { world.programs.allSatisfy(\.hasLeft) }
    for program in world.programs {
      try require(program.hasLeft, "\(program.number): does not leave")
      try require(program.host.openSockets == 0, "\(program.number): connections are left open")
    }
  }

  private func makePeace() throws(Failure) {
    world.isPeaceful = true
    broker.lastTrouble = max(broker.lastTrouble, min(world.outageEnd, world.now))
    world.outageEnd = 0
    network.redraw()
    for wire in network.wires where !wire.isClosed {
      // What has no end by itself: a kernel gives up some time.
      if wire.outcome == nil { world.after(world.random.below(5000)) { () throws(Failure) in wire.giveUp() } }
      let traits = world.scenario.programs[wire.program]
      if wire.isDead, traits.keepAlive == .max || traits.connectTimeout == .max {
        world.after(world.random.below(5000)) { () throws(Failure) in try wire.reset() }
      }
    }
    for program in world.programs {
      program.host.answerLookUp()
      program.stir()
    }
  }

  private func scheduleBurst() {
    world.after(world.random.below(world.scenario.length)) { [self] () throws(Failure) in
      let count = world.random.from(1...world.scenario.burst)
      world.trace("---- somebody publishes \(count) messages")
      world.counts[.burst] += 1
      try broker.publish(count, qos: world.random.percent(50) ? 2 : nil)
    }
  }

  // MARK: What goes wrong

  private func scheduleFault() {
    world.after(world.random.below(2 * world.scenario.faultPace)) { [self] () throws(Failure) in
      guard !world.isPeaceful else { return }
      try disturb()
      scheduleFault()
    }
  }

  private func disturb() throws(Failure) {
    switch world.random.below(100) {
    case 0..<40:
      guard let wire = network.anyWire() else { return }
      let isSilent = world.random.percent(25)
      world.trace("---- connection \(wire.number) of \(wire.program) is cut\(isSilent ? ", silently" : "")")
      world.counts[isSilent ? .deadLink : .cut] += 1
      try wire.cut(reset: world.random.percent(50), silently: isSilent)
    case 40..<50:
      let duration = world.random.from(1...3000)
      world.trace("---- nothing gets through for \(duration) ms")
      world.counts[.outage] += 1
      world.outageEnd = world.now + UInt64(duration)
      broker.lastTrouble = max(broker.lastTrouble, world.outageEnd)
    case 50..<58:
      let duration = world.random.from(1...3000)
      world.trace("---- the server stands still for \(duration) ms")
      world.counts[.stall] += 1
      broker.stall(duration)
    case 58..<70: restart()
    case 70..<76:
      let program = world.random.below(world.programs.count)
      world.trace("---- the server forgets \(program)")
      world.counts[.forgotten] += 1
      broker.forget(program)
    case 76..<82: network.redraw()
    case 82..<88: broker.takeSnapshot()
    case 88..<94:
      let program = world.random.below(world.programs.count)
      if world.scenario.server.redirectPercent > 0 {
        world.trace("---- the server sends \(program) away")
        broker.sendAway(program)
      }
    default:
      guard world.scenario.stepsClock, world.mayBlock else { return }
      let step = world.random.pick([1 << 30, (1 << 31) - 1, (1 << 31) + 5000, 3 << 30]) as UInt32
      world.trace("---- \(step) ms pass at once")
      world.counts[.clockStep] += 1
      world.stepClock(by: step)
    }
  }

  private func restart() {
    let memory: BrokerModel.Memory =
      switch world.random.below(10) {
      case 0..<5: .kept
      case 5..<9: .lost
      default: .old
      }
    let duration = world.random.from(0...2000)
    world.trace("---- the server restarts, memory \(memory), down for \(duration) ms")
    world.counts[memory == .old ? .stale : .restart] += 1
    broker.restart(memory, after: duration)
  }
}
