import MQTTSession
import MQTTWire
import Storage

/// A session, and what MQTTClient does for it: the same turns in the same order, over a simulated link. What the
/// application does is in Application.swift.
final class Endpoint {
  enum Phase {
    case offline
    case open
    /// The connection is gone, but what it brought is still being handed out.
    case settling
  }

  let name: Int
  let world: World
  let traits: ClientTraits
  let rules: WireRules
  private let server: any Server
  private let block: UnsafeMutableRawPointer
  var session: Session

  private(set) var phase = Phase.offline
  private(set) var link: Link? = nil
  /// The application has taken all events of the last connection: only then it can begin another.
  var isDone = true
  private var hasNoticed = false
  var isLeaving = false
  /// Turns in which the last words could not be sent.
  var turnsAfterDisconnect = 0

  // The application: see Application.swift and Events.swift.
  var published = 0
  var isStarved = false
  /// Messages that wait to be acknowledged, and on which connection and in which session they came.
  var held: [Held] = []
  var partial: [UInt8]? = nil
  var reserved: (number: Int, room: Int)? = nil
  var stream: Int? = nil
  /// The cookies of SUBSCRIBE and UNSUBSCRIBE that are not answered, with their number of filters.
  var requests: [(cookie: UInt64, count: Int)] = []
  var nextRequest: UInt64 = 1 << 32

  struct Held {
    let token: UInt32
    let number: Int
    let connection: Int
    let session: Int
  }

  init(name: Int, world: World, server: any Server) {
    self.name = name
    self.world = world
    self.server = server
    let scenario = world.scenario
    traits = scenario.clients[name]
    let inFlightMaximum = scenario.inFlightMaximum(of: name)
    rules = WireRules(name: name, world: world, inFlightMaximum: inFlightMaximum)
    var properties = Connect.SessionProperties()
    if scenario.version == .v5_0 {
      properties.sessionExpiryInterval = scenario.keepsSession ? .max : 0
      properties.receiveMaximum = UInt16(traits.receiveMaximum)
      properties.maximumPacketSize = UInt32(traits.maximumPacketSize)
      properties.topicAliasMaximum = UInt16(traits.aliasesReceived)
    }
    // Too long for 3.1, which does not say whether there is a session.
    let clientID = [UInt8](repeating: UInt8(ascii: "A") + UInt8(name), count: 24)
    var options = SessionOptions(
      connect: Connect(
        version: scenario.version, cleanStart: !scenario.keepsSession, keepAlive: traits.keepAlive,
        clientID: clientID.span, userName: Span(), password: Span(),
        will: Connect.Will(
          topic: Span(), payload: Span(), qos: .atMostOnce, retain: false, properties: Span()),
        session: properties, properties: Span()))
    traits.set(&options)
    options.inFlightMaximum = inFlightMaximum
    options.beginsNewSession = traits.beginsNewSession && scenario.keepsSession
    var memory = ArenaLayout()
    let plan = SessionPlan(options, in: &memory)
    block = .allocate(byteCount: memory.byteCount, alignment: ArenaLayout.alignment)
    // What a caller's memory holds before is nobody's business: here it looks like messages on their way.
    unsafe block.initializeMemory(as: UInt8.self, repeating: 1, count: memory.byteCount)
    session = Session(
      options, plan: plan, block: unsafe Arena(start: block), random: UInt32(traits.firstIdentifier) - 1
    )
  }

  deinit { unsafe block.deallocate() }

  var parsedPackets: UInt64 { session.counters.packetsReceived.uint64 }

  /// For the trace.
  var summary: String {
    let outbox = session.outboxNumbers
    let inbox = session.inboxNumbers
    return "\(name): \(phase); \(link?.up.count ?? 0) bytes up, \(link?.down.count ?? 0) down; outbox"
      + " \(outbox.ordinary.messages) messages, \(outbox.inFlight) in flight; inbox \(inbox.unacknowledged) of"
      + " \(inbox.maximum); event \(session.hasEvent), wants to send \(session.wantsTransmit), to receive"
      + " \(session.wantsReceive)"
  }

  // MARK: The connection

  func connect() throws(Failure) {
    guard phase == .offline, isDone else { return }
    session.connecting()
    try open()
  }

  private func open() throws(Failure) {
    let link = Link(capacity: world.scenario.linkCapacity)
    self.link = link
    world.trace("\(name): opens a connection, \(session.version)")
    phase = .open
    isDone = false
    isLeaving = false
    hasNoticed = false
    turnsAfterDisconnect = 0
    rules.connectionOpened(session.version)
    try server.open(link, from: name)
    session.connectionOpened()
  }

  /// The transport reports that the connection is gone.
  func lost() throws(Failure) {
    world.trace("\(name): the connection is lost")
    session.peerClosed()
    if session.serverRejectedVersion, session.fallBack() { return try reopen() }
    if session.hasUndeliveredEvent {
      phase = .settling
      closeLink()
      return try look()
    }
    try look()
    try end()
  }

  func reopen() throws(Failure) {
    world.trace("\(name): falls back")
    world.counts[.fallback] += 1
    closeLink()
    session.connectionClosed()
    try open()
  }

  private func closeLink() {
    if let link, link.isOpen { link.closeBySession() }
    link = nil
  }

  /// The connection is over, without a word or after it.
  func end() throws(Failure) {
    world.trace("\(name): disconnected")
    try rules.parsed(parsedPackets)
    closeLink()
    session.connectionClosed()
    phase = .offline
    isLeaving = false
  }

  /// Looks at what the session has made of it.
  func look() throws(Failure) {
    try rules.parsed(parsedPackets)
    if session.isAccepted, !hasNoticed {
      hasNoticed = true
      server.noticed(by: name)
    }
    guard let ending = session.closeReason else { return }
    switch ending.cause {
    case .requested, .refused, .stream: break
    case .keepAlive:
      world.counts[.keepAlive] += 1
      try require(traits.keepAlive > 0, "\(name): Keep Alive is off")
    default: throw Failure("\(name): the session ends with \(ending.cause)")
    }
  }

  func settle() throws(Failure) {
    if phase == .settling, !session.hasUndeliveredEvent { try end() }
  }

  /// The application leaves, with messages in flight or without.
  func leave() {
    guard phase == .open, session.isAccepted, !isLeaving else { return }
    world.trace("\(name): leaves")
    isLeaving = true
    session.beginDisconnect(reasonCode: 0, properties: Span())
  }

  func release() throws(Failure) {
    session.releaseEvent()
    try look()
  }

  func checkTime() throws(Failure) {
    if let deadline = session.nextDeadline, deadline.isReached(at: world.now) {
      session.timedOut(at: world.now)
      try look()
    }
  }
}

extension ClientTraits {
  func set(_ options: inout SessionOptions) {
    options.allowsFallback = allowsFallback
    options.holdsMessages = holdsMessages
    options.deliversParts = deliversParts
    options.outboxBytes = outboxBytes
    options.outboxMessages = outboxMessages
    // Applications hold messages back for as long as they like.
    options.ackTimeout = 0
    options.urgentMessages = urgentMessages
    options.urgentBytes = urgentBytes
    options.receiveBytes = receiveBytes
    options.receiveMaximum = receiveMaximum
    options.subscribePackets = requests
    options.subscribeBytes = subscribeBytes
    options.controlBytes = controlBytes
    let isNew = options.connect.version == .v5_0
    options.aliasesReceived = isNew ? aliasesReceived : 0
    options.aliasesSent = isNew ? aliasesSent : 0
    options.aliasBytes = aliasBytes
    options.streamBytes = streamBytes
  }
}
