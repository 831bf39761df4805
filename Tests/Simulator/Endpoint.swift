import FixedMemory
import MQTTSession
import MQTTWire

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
  private var farewellTurns = 0

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
    let serial: UInt32
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
    rules = WireRules(name: name, ledger: world.ledger, inFlightMaximum: inFlightMaximum)
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
    var memory = MemoryPlan()
    let plan = SessionPlan(options, in: &memory)
    block = .allocate(byteCount: memory.byteCount, alignment: MemoryPlan.alignment)
    // What a caller's memory holds before is nobody's business: here it looks like messages on their way.
    unsafe block.initializeMemory(as: UInt8.self, repeating: 1, count: memory.byteCount)
    session = Session(
      options, plan: plan, block: unsafe MemoryBlock(start: block), random: UInt32(traits.firstIdentifier) - 1
    )
  }

  deinit { unsafe block.deallocate() }

  var parsedPackets: UInt64 { session.counters.packetsReceived.uint64 }

  /// For the trace.
  var summary: String {
    let outbox = session.outboxNumbers
    let inbox = session.inboxNumbers
    return "\(name): \(phase); \(link?.up.count ?? 0) bytes up, \(link?.down.count ?? 0) down; outbox"
      + " \(outbox.messages) messages, \(outbox.inFlight) in flight; inbox \(inbox.unacknowledged) of"
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
    farewellTurns = 0
    rules.connectionOpened(session.version)
    try server.open(link, from: name)
    session.connectionOpened()
  }

  /// The transport reports that the connection is gone.
  private func lost() throws(Failure) {
    world.trace("\(name): the connection is lost")
    if session.ending == nil, session.isUnheard, session.fallBack() { return try reopen() }
    if session.ending == nil, session.peerClosed() {
      phase = .settling
      closeLink()
      return try look()
    }
    try look()
    try end()
  }

  private func reopen() throws(Failure) {
    world.trace("\(name): falls back")
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
    guard let ending = session.ending else { return }
    switch ending.cause {
    case .requested, .refused, .stream: break
    case .keepAlive: try require(traits.keepAlive > 0, "\(name): Keep Alive is off")
    default: throw Failure("\(name): the session ends with \(ending.cause)")
    }
  }

  func settle() throws(Failure) {
    if phase == .settling, !session.isDelivering { try end() }
  }

  // MARK: Bytes

  /// Reads once what has arrived. True: something happened.
  func receive() throws(Failure) -> Bool {
    guard phase == .open, let link, session.wantsReceive else { return false }
    guard link.down.arrived > 0 else {
      guard link.down.isAtEnd else { return false }
      try lost()
      return true
    }
    let limit = world.portion(of: link.down.arrived)
    let count = min(Self.space(of: &session), limit)
    try require(count > 0, "\(name): wants to receive, and has no space")
    let bytes = link.down.read(count)
    world.trace("\(name): receives \(Trace.hex(bytes))")
    Self.fill(&session, bytes)
    rules.received(bytes)
    session.received(count, at: world.now)
    try look()
    return true
  }

  private static func space(of session: inout Session) -> Int {
    let space = session.receiveSpace
    return space.count
  }

  private static func fill(_ session: inout Session, _ bytes: [UInt8]) {
    var space = session.receiveSpace
    for index in 0..<bytes.count { space[index] = bytes[index] }
  }

  /// Sends what the link takes. True: something happened.
  func transmit() throws(Failure) -> Bool {
    var hasSent = false
    while phase == .open, let link {
      pull()
      guard session.prepareTransmit(at: world.now) else { break }
      if link.isBroken {
        while try receive() {}
        if phase == .open { try lost() }
        return true
      }
      let room = min(link.room, world.portion(of: link.room))
      // What is ready may well stay where it is.
      guard room > 0, world.isEnding || world.chance.percent(95) else { break }
      let bytes = Self.output(session, room)
      try require(!bytes.isEmpty, "\(name): wants to send nothing")
      world.trace("\(name): sends \(Trace.hex(bytes))")
      link.up.write(bytes)
      try rules.sent(bytes)
      session.transmitted(bytes.count, at: world.now)
      try look()
      hasSent = true
      if !world.isEnding, world.chance.percent(50) { break }
    }
    return try conclude() || hasSent
  }

  private static func output(_ session: borrowing Session, _ limit: Int) -> [UInt8] {
    let output = session.output
    let count = min(limit, output.count)
    return [UInt8](unsafeUninitializedCapacity: count) { bytes, initialized in
      for index in 0..<count { unsafe bytes[index] = output[index] }
      initialized = count
    }
  }

  /// Supplies payload for the stream that is being sent.
  private func pull() {
    guard let offset = session.pullOffset, let stream else { return }
    if !world.isEnding, world.chance.percent(3) {
      world.trace("\(name): gives the stream up")
      return session.pullFailed()
    }
    guard world.isEnding || world.chance.percent(80) else { return }
    let left = Self.pullRoom(&session)
    let count = world.portion(of: left)
    Self.supply(&session, stream, offset, count)
    session.pulled(count)
  }

  private static func pullRoom(_ session: inout Session) -> Int {
    let space = session.pullSpace
    return space.count
  }

  private static func supply(_ session: inout Session, _ number: Int, _ offset: Int, _ count: Int) {
    var space = session.pullSpace
    for index in 0..<count { space[index] = Ledger.byte(number, at: offset + index) }
  }

  /// Says goodbye when it is time, and closes when all is said.
  private func conclude() throws(Failure) -> Bool {
    guard phase == .open else { return false }
    if isLeaving, session.ending == nil, session.isDrained || world.isEnding || world.chance.percent(10) {
      world.trace("\(name): disconnects")
      _ = session.disconnect()
      try look()
    }
    guard let ending = session.ending else { return false }
    farewellTurns += 1
    guard !session.wantsTransmit || farewellTurns > 40 else { return world.isEnding }
    world.trace("\(name): the session has ended: \(ending.cause)")
    if session.isVersionRefused, session.fallBack() {
      try reopen()
    } else {
      try end()
    }
    return true
  }

  /// The application leaves, with messages in flight or without.
  func leave() {
    guard phase == .open, session.isAccepted, !isLeaving else { return }
    world.trace("\(name): leaves")
    isLeaving = true
    session.leave(reasonCode: 0, properties: Span())
  }

  func release() throws(Failure) {
    session.release()
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
    options.receiveBytes = receiveBytes
    options.receiveMaximum = receiveMaximum
    options.requests = requests
    options.requestBytes = requestBytes
    options.controlBytes = controlBytes
    let isNew = options.connect.version == .v5_0
    options.aliasesReceived = isNew ? aliasesReceived : 0
    options.aliasesSent = isNew ? aliasesSent : 0
    options.aliasBytes = aliasBytes
    options.streamBytes = streamBytes
  }
}
