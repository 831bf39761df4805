import Driver
import MQTTClient
import MQTTSession
import MQTTWire
import Platform
import Storage
import Transports

/// A program with a client: it calls what a program calls, and is told what a program is told.
final class Program {
  let world: DriverWorld
  let network: Network
  let host: Host
  let number: Int
  let traits: ProgramTraits
  private let block: UnsafeMutableRawPointer
  var client: Client<SimulatedPlatform>
  let submitter: Submitter
  /// Of the same queue, to look at.
  let queue: MPSCConsumer<Submission>
  let rules: AttemptRules
  let serverCount: Int

  // When it looks again.
  var wakeAt: UInt64 = 0
  private var pausedUntil: UInt64 = 0
  private var nextAction: UInt64 = 0
  private(set) var isBlocked = false
  private(set) var turns = 0

  // What it has to do.
  var published = 0
  var isStarved = false
  /// It wants to be connected.
  var wants = false
  var hasLeft = false
  /// It will not connect again.
  var isLast = false
  /// Tokens of messages that wait to be acknowledged.
  var held: [UInt32] = []
  var replies: [(topic: [UInt8], correlation: [UInt8])] = []
  /// By cookie: the message, and when the time is up.
  var requests: [UInt64: (number: Int, deadline: UInt64)] = [:]
  var subscription: [UInt8] = []
  var isSubscribed = false
  var pendingAnswer: (time: UInt64, isCredentials: Bool)? = nil
  var wantedHost = ("", UInt16(0))

  // Other threads.
  var submitted = 0
  /// What each that is stopped between its two steps has found in the queue.
  var threads: [ChainEnd?] = []

  static let subscribeCookie: UInt64 = 1 << 40

  init(_ world: DriverWorld, _ network: Network, _ number: Int) throws(Failure) {
    self.world = world
    self.network = network
    self.number = number
    let traits = world.scenario.programs[number]
    self.traits = traits
    let host = Host(world, network, number)
    self.host = host
    rules = AttemptRules(world, traits, number)
    do throws(OptionsError) {
      let text = Array(traits.url.utf8)
      // Too long for 3.1, which does not say whether there is a session.
      let clientID = [UInt8](repeating: UInt8(ascii: "A") + UInt8(number), count: 24)
      var request = RequestedOptions()
      request.connection.host = text.span
      request.clientID = clientID.span
      request.connection.servers = try MQTTURL(checking: text.span).url.servers
      serverCount = request.connection.servers.count
      traits.set(&request)
      let options = try ClientOptions(checking: request)
      var memory = ArenaLayout()
      let plan = ClientPlan(options, in: &memory)
      block = .allocate(byteCount: memory.byteCount, alignment: ArenaLayout.alignment)
      unsafe block.initializeMemory(as: UInt8.self, repeating: 1, count: memory.byteCount)
      client = Client(
        options, plan: plan, block: unsafe Arena(start: block), on: SimulatedPlatform(host: host))
      let wakeUp = traits.threads > 0 ? client.wakeUp() ?? .none : .none
      submitter = Submitter(options, queue: client.engine.submissions.queue, wakeUp: wakeUp)
      queue = MPSCConsumer(client.engine.submissions.queue)
    } catch {
      throw Failure("\(number): options: \(error)")
    }
    host.program = self
    if traits.isLogged {
      let user = unsafe Unmanaged.passUnretained(rules).toOpaque()
      client.log = unsafe LogHook(AttemptRules.told, user: user, level: .debug)
    }
    threads = [ChainEnd?](repeating: nil, count: traits.threads)
  }

  deinit { unsafe block.deallocate() }

  // MARK: When it runs

  var isDue: Bool {
    guard !isBlocked, pausedUntil <= world.now else { return false }
    return wakeAt <= world.now || nextAction <= world.now || host.readiness != 0
  }

  /// When it looks by itself; `nil`: never.
  var wakingTime: UInt64? {
    guard !isBlocked else { return nil }
    let time = max(min(wakeAt, nextAction), pausedUntil)
    return time == .max ? nil : time
  }

  /// It is neither blocked in a wait, nor between two calls.
  var isAsleep: Bool {
    isBlocked || (wakeAt > world.now && nextAction > world.now && pausedUntil <= world.now)
  }

  func turn() throws(Failure) {
    switch traits.style {
    case .loop: _ = client.service(at: world.instant)
    case .waiting: try wait(0)
    }
    try go()
  }

  /// As a program with nothing else to do: waits for something to happen, while the rest of the world goes on.
  func waitLong() throws(Failure) {
    guard pausedUntil <= world.now else { return }
    let end = min(nextAction, world.now + UInt64(world.random.from(1...3000)))
    try wait(Int32(clamping: end > world.now ? end - world.now : 0))
    try go()
  }

  private func wait(_ timeout: Int32) throws(Failure) {
    isBlocked = timeout > 0
    let result = client.wait(timeout: timeout)
    isBlocked = false
    if let failure = world.failure { throw failure }
    if case .failed = result { throw Failure("\(number): the wait failed") }
  }

  /// What is behind each look.
  private func go() throws(Failure) {
    turns += 1
    world.counts[.turn] += 1
    if let failure = world.failure { throw failure }
    try observe()
    let isSlow = !world.isPeaceful && world.random.percent(traits.slowPercent)
    var left = isSlow ? world.random.from(0...2) : Int.max
    while left > 0, try takeEvent() { left -= 1 }
    try observe()
    if nextAction <= world.now { try act() }
    try observe()
    if world.isPeaceful, turns > 50_000 {
      throw Failure("\(number): \(turns) turns, and \(unfinished() ?? "no end")")
    }
    let timeout = client.nextTimeout(at: world.instant)
    wakeAt = timeout < 0 ? .max : world.now + UInt64(timeout)
    pausedUntil = world.now
    if isSlow {
      pausedUntil = world.now + UInt64(world.random.from(1...400))
      wakeAt = min(wakeAt, pausedUntil)
      rules.pauses(pausedUntil - world.now)
    } else {
      try rules.checkWaking(
        wakeAt, requests: requests.values.map(\.deadline).min(), hasEvent: client.hasEvent)
    }
  }

  private func act() throws(Failure) {
    host.activity += 1
    try world.isPeaceful ? finish() : actAtRandom()
    // A program that has published all has little to do.
    let pace = world.isPeaceful ? 100 : published < traits.messages ? traits.pace : 400 + 4 * traits.pace
    nextAction = world.now + UInt64(world.random.from(1...pace))
    if world.isPeaceful, held.isEmpty, replies.isEmpty, pendingAnswer == nil { nextAction = .max }
  }

  /// It has something to do again.
  func stir() { nextAction = min(nextAction, world.now) }

  func observe() throws(Failure) {
    try rules.observe(
      attempt: client.attempt, server: client.serverIndex, isAccepted: client.server != nil,
      ended: client.failures.total, state: client.state, openSockets: host.openSockets)
    if client.server != nil { network.broker.noticed(by: number) }
    if let failure = world.failure { throw failure }
  }

  // What the platform tells.

  func looksUp() { rules.looksUp() }

  func tries(_ scope: UInt32, running: Int) { rules.tries(scope, running: running) }

  // MARK: The end

  /// Nothing is left that the program itself has to do.
  private var isIdle: Bool {
    wants && isSubscribed && held.isEmpty && replies.isEmpty && pendingAnswer == nil
  }

  /// What is not done yet, if anything.
  func unfinished() -> String? {
    guard client.server != nil else { return "\(number) is not connected" }
    guard isIdle else { return "\(number) has something to do" }
    guard client.isDrained, !queue.hasUncollected else { return "\(number) is not drained" }
    guard !client.hasEvent, requests.isEmpty else { return "\(number) waits for \(requests.count) replies" }
    guard submitted == submissions || threads.allSatisfy({ $0 == nil }) else {
      return "a thread of \(number) is stopped"
    }
    guard submitted == submissions else { return "threads of \(number) are not done" }
    return nil
  }

  var submissions: Int { traits.threads > 0 ? traits.messages : 0 }
}

extension FailureCounts {
  var total: Int {
    Int(
      requested + refused + serverClosed + malformed + violation + keepAlive + stream + resolve + network
        + closed + timeout + declined)
  }
}

extension ProgramTraits {
  func set(_ request: inout RequestedOptions) {
    request.protocolVersion = UInt32(version.rawValue)
    request.fallback = fallback
    request.keepSession = keepsSession
    request.clientIDAsIs = true
    request.hold = holds
    request.connection.noReconnect = !reconnects
    request.connection.shuffle = shuffles
    request.redirect = redirects
    request.atMostOnceConnected = onlyConnected
    request.connection.askCredentials = asksCredentials
    request.connection.ownResolver = asksAddresses
    request.connection.connectTimeout = connectTimeout
    request.connection.reconnectMinimum = shortest
    request.connection.reconnectMaximum = longest
    request.connection.jitter = jitter
    request.connection.stableTime = stableTime
    request.keepAlive = keepAlive
    request.pingTimeout = pingTimeout
    request.ackTimeout = ackTimeout
    request.connection.writeTimeout = writeTimeout
    request.outboxBytes = outboxBytes
    request.outboxMessages = outboxMessages
    request.receiveBytes = receiveBytes
    request.receiveMaximum = receiveMaximum
    request.unreleasedMaximum = unreleasedMaximum
    request.inFlightMaximum = inFlightMaximum
    request.urgentMessages = urgentMessages
    request.urgentBytes = urgentMessages > 0 ? 600 : 0
    request.responses = replies
    request.connection.addresses = addresses
    request.topicAliasesOut = aliases
    request.submitMessages = submitMessages
  }
}
