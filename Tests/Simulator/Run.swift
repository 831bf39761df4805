import MQTTSession

/// One run: some time of random, then peace, until everybody is quiet; then everything must be in its place.
final class Run {
  let world: World
  private let server: any Server
  private let broker: Broker?
  private let endpoints: [Endpoint]
  private let weights: [[Int]]

  private enum Action: Int, CaseIterable {
    case arriveUp, arriveDown, receive, transmit, server, serverPublishes, publish, event, release,
      acknowledge
    case request, commit, leave, time, connect
  }

  init(seed: UInt64, trace: Trace) {
    let world = World(seed: seed, trace: trace)
    self.world = world
    let broker = world.scenario.shape == .broker ? Broker(world: world) : nil
    let server: any Server = broker ?? Relay(world: world)
    self.broker = broker
    self.server = server
    endpoints = world.scenario.clients.indices.map { Endpoint(name: $0, world: world, server: server) }
    weights = endpoints.map { endpoint in
      let traits = endpoint.traits
      return Action.allCases.map { action in
        switch action {
        case .arriveUp, .arriveDown: 12
        case .receive, .transmit, .server: 15
        case .serverPublishes: broker == nil ? 0 : world.scenario.server.publishWeight
        case .publish: traits.publishWeight
        case .event: traits.eventWeight
        case .release, .time: 3
        case .acknowledge: traits.acknowledgeWeight
        case .request: traits.requestWeight
        case .commit: 3
        case .leave: traits.leaveWeight
        case .connect: 10
        }
      }
    }
  }

  /// What it was good for.
  var counts: Counts<SessionCount> {
    var counts = world.counts
    counts[.message] = world.ledger.messages.count
    for endpoint in endpoints {
      counts[.connection] += endpoint.rules.connections
      counts[.sessionLost] += endpoint.rules.sessionsLost
      counts[.duplicate] += Int(endpoint.session.counters.messagesDuplicate.uint64)
      counts[.oversize] += Int(endpoint.session.counters.messagesOversize.uint64)
    }
    return counts
  }

  func run() throws(Failure) {
    world.trace("\(world.scenario)")
    for step in 0..<world.scenario.steps {
      world.trace.begin(step: step)
      world.now = world.now.advanced(by: UInt32(world.random.below(world.scenario.pace)))
      let endpoint = endpoints[world.random.below(endpoints.count)]
      // A run should not spend its time without a connection.
      let isIdle = endpoint.phase == .offline && world.random.percent(40)
      try act(endpoint, isIdle ? (endpoint.isDone ? .connect : .event) : pick(weights[endpoint.name]))
      if world.random.percent(world.scenario.hastePercent) { try move(endpoint) }
      try disturb(endpoint)
      try endpoint.settle()
    }
    world.trace("---- peace")
    world.isEnding = true
    for endpoint in endpoints {
      // Nobody else will say that it is over.
      if endpoint.link?.isDead == true { try endpoint.end() }
    }
    try calm()
    try checkQuiet()
    try proveIt()
  }

  private func pick(_ weights: [Int]) -> Action {
    var left = world.random.below(weights.reduce(0, +))
    for action in Action.allCases {
      left -= weights[action.rawValue]
      if left < 0 { return action }
    }
    return .connect
  }

  private func act(_ endpoint: Endpoint, _ action: Action) throws(Failure) {
    switch action {
    case .arriveUp: arrive(endpoint.link, \.up)
    case .arriveDown: arrive(endpoint.link, \.down)
    case .receive: _ = try endpoint.receive()
    case .transmit: _ = try endpoint.transmit()
    case .server: _ = try server.act()
    case .serverPublishes:
      for _ in 0..<world.random.from(1...4) { guard broker?.publish() == true else { break } }
    case .publish:
      for _ in 0..<world.random.from(1...4) { guard try endpoint.publish() else { break } }
    case .event:
      for _ in 0..<world.random.from(1...3) { guard try endpoint.takeEvent() else { break } }
    case .release: try endpoint.release()
    case .acknowledge: _ = try endpoint.acknowledge()
    case .request: _ = try endpoint.request()
    case .commit: _ = try endpoint.commit()
    case .leave: endpoint.leave()
    case .time: try endpoint.checkTime()
    case .connect: try endpoint.connect()
    }
  }

  /// Lets the network do something everywhere.
  private func move(_ endpoint: Endpoint) throws(Failure) {
    _ = try endpoint.transmit()
    arrive(endpoint.link, \.up)
    _ = try server.act()
    arrive(endpoint.link, \.down)
    _ = try endpoint.receive()
  }

  private func arrive(_ link: Link?, _ direction: ReferenceWritableKeyPath<Link, Direction>) {
    guard let link, !link.isDead || world.random.percent(20) else { return }
    let count = link[keyPath: direction].count
    if count > 0 { link[keyPath: direction].arrive(world.portion(of: count)) }
  }

  // MARK: What goes wrong

  private func disturb(_ endpoint: Endpoint) throws(Failure) {
    guard let link = endpoint.link else { return }
    if link.isDead {
      if world.random.percent(5) { try endpoint.end() }
      return
    }
    guard link.isOpen, world.random.permille(world.scenario.cutPermille) else { return }
    if world.random.percent(15) {
      world.trace("---- \(endpoint.name) gives up")
      return try endpoint.end()
    }
    let cut = world.random.pick(Link.Cut.allCases)
    world.trace("---- connection \(endpoint.name) ends: \(cut)")
    link.cut(cut, &world.random)
  }

  // MARK: Peace

  private func calm() throws(Failure) {
    for round in 0..<3000 {
      world.trace.begin(step: world.scenario.steps + round)
      world.now = world.now.advanced(by: 1)
      var isBusy = false
      for endpoint in endpoints where try endpoint.turn() { isBusy = true }
      if try server.act() { isBusy = true }
      if !isBusy { return }
    }
    for endpoint in endpoints { world.trace(endpoint.summary) }
    throw Failure("there is no end to it")
  }

  private func checkQuiet() throws(Failure) {
    for endpoint in endpoints { world.trace(endpoint.summary) }
    for endpoint in endpoints { try endpoint.checkQuiet() }
    try server.checkQuiet()
    try world.ledger.checkAll(refusalsAreSticky: broker != nil)
  }

  /// On another connection nobody has anything left to say.
  private func proveIt() throws(Failure) {
    world.trace("---- once more")
    for endpoint in endpoints {
      endpoint.rules.isSilenceExpected = true
      try endpoint.end()
    }
    try calm()
    try checkQuiet()
  }
}
