public import FixedMemory
public import MQTTWire

/// The protocol, without IO: bytes and instants go in; bytes, one deadline and events come out (D1).
///
/// Four families of methods, in this order: getters, things that happened, things the application
/// wants, outputs. After any of the second and third, whoever drives the session looks at the
/// fourth: `prepareTransmit`, `nextDeadline`, `ending`, `nextEvent`. What the application wants is in
/// Session+Publish.swift, Session+Subscribe.swift and Session+Authentication.swift; what a packet from the server
/// does, in Session+Received.swift and Session+Message.swift.
public struct Session: ~Copyable {
  enum Phase: BitwiseCopyable {
    case disconnected
    case sendingConnect
    case awaitingConnack
    case connected
    /// Nothing more is accepted from the server; what is in the control queue still goes out.
    case ending
  }

  /// Where the bytes to be transmitted lie.
  enum Source: BitwiseCopyable { case none, connect, control, request, run, restOfPacket, stream }

  /// What is done with the bytes of an event when it is released.
  enum Release: BitwiseCopyable {
    case consume(Int)  // from the front
    case cut(at: Int, count: Int)  // a part of a message, behind its header
  }

  /// The version of this connection, or of the next one.
  public internal(set) var version: ProtocolVersion
  /// The one that what is queued is encoded for: the last that a server accepted.
  var acceptedVersion: ProtocolVersion
  var cleanStart: Bool
  var beginsNewSession: Bool
  let ownKeepAlive: UInt16
  let ownSessionExpiry: UInt32
  let ownMaximumPacketSize: Int
  let inFlightMaximum: Int
  let holdsMessages: Bool
  let deliversParts: Bool

  var connects: ConnectPackets
  var outbox: Outbox
  var requests: RequestQueue
  var replies: ReplyTable
  var control: ControlQueue
  var receiver: ReceiveBuffer
  var inbox: Inbox
  var receivedAliases: ReceivedAliases
  var streamBuffer: Region
  var streamStart = 0
  var streamEnd = 0
  var keepAlive: KeepAlive
  public internal(set) var limits = ServerLimits()
  var clock = SecondsClock()

  var phase = Phase.disconnected
  var source = Source.none
  var connectSent = 0
  /// The application asked to leave: nothing new is taken.
  var isLeaving = false
  /// What DISCONNECT is to say.
  var farewell: Region
  var farewellSize = 0
  var farewellReason: UInt8 = 0
  /// The server has said something on this connection.
  var hasHeard = false
  /// The transport is gone, but what it brought is still being handed out.
  var isPeerGone = false
  public internal(set) var ending: Ending? = nil

  /// The event whose bytes are in the receive buffer: nothing behind it is parsed until it is released.
  var view: SessionEvent? = nil
  /// The application has it.
  var isViewTaken = false
  var isViewHeld = false
  var viewRelease = Release.consume(0)
  /// A message is there that has to wait for the application to acknowledge others.
  var isStalled = false
  /// A PUBLISH that is larger than the receive buffer, and not yet at its end.
  var incoming: IncomingMessage? = nil
  var authentication = AuthenticationState.none
  /// When `timedOut` found that a request waits for too long.
  var replyCheck: Instant? = nil
  public internal(set) var counters = Counters()

  static var farewellBytes: Int { 256 }

  /// The caller guarantees that `options` are those the plan was made with. Packet Identifiers
  /// begin at random, so that a client which takes up the session of an
  /// earlier process does not begin with the identifiers that one had in flight.
  public init(
    _ options: borrowing SessionOptions, plan: SessionPlan, block: borrowing MemoryBlock,
    random: UInt32
  ) {
    version = options.connect.version
    acceptedVersion = options.connect.version
    cleanStart = options.connect.cleanStart || options.beginsNewSession
    beginsNewSession = options.beginsNewSession
    ownKeepAlive = options.connect.keepAlive
    ownSessionExpiry = options.connect.session.sessionExpiryInterval
    let maximum = options.connect.session.maximumPacketSize
    ownMaximumPacketSize =
      maximum == 0 || !options.connect.version.hasProperties ? .max : Int(truncatingIfNeeded: maximum)
    inFlightMaximum = options.inFlightMaximum
    holdsMessages = options.holdsMessages
    deliversParts = options.deliversParts
    connects = ConnectPackets(region: block.region(plan.connect), options)
    outbox = Outbox(
      bytes: block.region(plan.outbox), descriptors: block.table(plan.descriptors),
      prefix: block.region(plan.prefix),
      aliases: SentAliases(
        entries: block.table(plan.aliasesSent), topics: block.region(plan.topicsSent),
        topicBytes: options.aliasBytes),
      first: .message(random: UInt16(truncatingIfNeeded: random)))
    requests = RequestQueue(
      bytes: block.region(plan.requestBytes), table: block.table(plan.requests))
    replies = ReplyTable(entries: block.table(plan.replies), mark: random)
    control = ControlQueue(region: block.region(plan.control))
    farewell = block.region(plan.farewell)
    receiver = ReceiveBuffer(region: block.region(plan.receive))
    inbox = Inbox(
      ring: block.table(plan.inbox), unreleased: IdentifierSet(slots: block.table(plan.unreleased)))
    receivedAliases = ReceivedAliases(
      entries: block.table(plan.aliasesReceived), topics: block.region(plan.topicsReceived),
      topicBytes: options.aliasBytes)
    streamBuffer = block.region(plan.stream)
    keepAlive = KeepAlive(pingTimeout: options.pingTimeout)
  }

  /// Completes a Client Identifier that is a template (`Connect.isClientIDTemplate`). To be called once, before the
  /// first connection.
  public mutating func fillClientID(_ nextByte: () -> UInt8) { connects.fillClientID(nextByte) }

  // MARK: Getters

  public var isConnected: Bool { phase == .connected }

  /// CONNACK accepted this connection, whatever has become of it since.
  public internal(set) var isAccepted = false

  /// Every message and every request is complete, and nothing waits to be sent.
  public var isDrained: Bool {
    outbox.incomplete == 0 && requests.incomplete == 0 && control.isEmpty
  }

  /// Where the extents of an `Ending` or of an event point.
  public var receivedBytes: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { receiver.bytes }
  }

  /// Where the topic of a message is that came as a Topic Alias.
  public var aliasedTopics: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { receivedAliases.bytes }
  }

  public var clientID: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { connects.bytes.extracting(connects.clientID.range) }
  }

  public var outboxNumbers: OutboxNumbers {
    OutboxNumbers(
      delivered: outbox.delivered, failed: outbox.failed, expired: outbox.expired,
      bytes: outbox.byteCount, bytesPeak: outbox.bytesPeak, bytesCapacity: outbox.byteCapacity,
      messages: outbox.messageCount, messagesPeak: outbox.messagesPeak,
      messagesCapacity: outbox.messageCapacity, inFlight: outbox.inFlight,
      inFlightMaximum: outbox.sendQuotaLimit)
  }

  public var inboxNumbers: InboxNumbers {
    InboxNumbers(
      unacknowledged: inbox.count, peak: inbox.peak, maximum: inbox.maximum,
      requests: requests.incomplete)
  }

  /// CONNECT is sent, or a part of it, and not a byte came back; nor has this server ever spoken this version.
  public var isUnheard: Bool {
    guard !hasHeard, counters.connections == 0 else { return false }
    return phase == .awaitingConnack || (phase == .sendingConnect && connectSent > 0)
  }

  /// CONNACK said that the server does not speak this version.
  public var isVersionRefused: Bool {
    guard case .refused = ending?.cause else { return false }
    let code = version.hasProperties ? ReasonCode.unsupportedProtocolVersion.rawValue : 1
    return ending?.reasonCode == code
  }

  // MARK: Things that happened

  /// An attempt to connect begins, with the version a server accepted last.
  public mutating func connecting() { version = acceptedVersion }

  /// The server does not speak this version. True: the next connection will be with an older one.
  public mutating func fallBack() -> Bool {
    guard let older = connects.older(than: version) else { return false }
    version = older
    return true
  }

  /// The transport is open: CONNECT is the first packet on it [MQTT-3.1.0-1].
  public mutating func connectionOpened() {
    precondition(phase == .disconnected)
    phase = .sendingConnect
    connectSent = 0
    isAccepted = false
    isLeaving = false
    isPeerGone = false
    hasHeard = false
    farewellSize = 0
    farewellReason = 0
    ending = nil
    view = nil
    isViewTaken = false
    isViewHeld = false
    isStalled = false
    incoming = nil
    authentication = connects.authenticationMethod == nil ? .none : .connecting
    control.removeAll()
    receiver.removeAll()
    receivedAliases.removeAll()
  }

  /// The transport is closed, by either side. The Session State stays [MQTT-4.1.0-1].
  public mutating func connectionClosed() {
    phase = .disconnected
    isAccepted = false
    isLeaving = false
    limits = ServerLimits()
    outbox.connectionLost()
    requests.connectionLost()
    control.removeAll()
    keepAlive.stop()
    streamStart = 0
    streamEnd = 0
  }

  /// The transport is closed by the peer, but what it brought before may not have been handed out: it is as
  /// long as this is true.
  public mutating func peerClosed() -> Bool {
    guard phase == .connected else { return false }
    isPeerGone = true
    control.removeAll()
    parse()
    return view != nil
  }

  /// `count` bytes were written to the front of `receiveSpace`.
  public mutating func received(_ count: Int, at now: Instant) {
    counters.bytesReceived.add(count)
    counters.receiveCalls.increment()
    receiver.received(count)
    hasHeard = true
    keepAlive.heard(at: now)
    parse()
  }

  /// `count` bytes from the front of `output` were handed to the transport.
  public mutating func transmitted(_ count: Int, at now: Instant) {
    counters.bytesSent.add(count)
    counters.sendCalls.increment()
    switch source {
    case .restOfPacket, .stream: keepAlive.sentPart(at: now)
    default: keepAlive.sent(at: now)
    }
    switch source {
    case .none: break
    case .connect:
      connectSent &+= count
      if connectSent == connects.packet(version).count {
        counters.packetsSent.increment()
        phase = .awaitingConnack
      }
    case .control:
      counters.packetsSent.add(control.transmitted(count))
      parse()  // what had to wait for room
    case .request:
      if requests.transmitted(count) { counters.packetsSent.increment() }
    case .run, .restOfPacket:
      counters.packetsSent.add(outbox.transmitted(count))
    case .stream:
      streamStart &+= count
      counters.packetsSent.add(outbox.transmittedStream(count))
    }
    source = .none
  }

  /// `nextDeadline` may have been reached.
  public mutating func timedOut(at now: Instant) {
    clock.advance(to: now)
    outbox.expire(at: clock.seconds)
    if let deadline = replies.deadline, deadline.isReached(at: now) { replyCheck = now }
    guard phase == .connected else { return }
    switch keepAlive.verdict(at: now) {
    case .nothing: break
    case .ping:
      // Without room there is something to send already; the server has to show that it lives all
      // the same.
      _ = control.appendPingRequest()
      keepAlive.pinged(at: now)
    case .dead:
      // Behind what waits for the application, its answer may lie unread.
      if view != nil || isStalled { return keepAlive.postpone(at: now) }
      end(Ending(cause: .keepAlive), saying: nil)
    }
  }

  // MARK: Outputs

  /// Looks for bytes to send. True: they are in `output`.
  public mutating func prepareTransmit(at now: Instant) -> Bool {
    source = chooseSource(at: now)
    return source != .none
  }

  /// The bytes to send, in one piece; after `prepareTransmit` said there are any.
  public var output: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get {
      switch source {
      case .none: Span()
      case .connect: connects.bytes.extracting(connectRest)
      case .control: control.pending
      case .request: requests.output
      case .run: outbox.run
      case .restOfPacket: outbox.restOfPacket
      case .stream: streamBuffer.bytes.extracting(streamStart..<streamEnd)
      }
    }
  }

  /// Whether `prepareTransmit` might find something: asks without changing anything.
  public var wantsTransmit: Bool {
    switch phase {
    case .disconnected: false
    case .sendingConnect: true
    case .awaitingConnack: !control.isEmpty
    case .connected:
      !isPeerGone
        && (outbox.isInsideStream
          ? streamStart < streamEnd
          : !control.isEmpty || requests.queued > 0 || outbox.canTransmit || outbox.releasesToCheck > 0)
    case .ending: !control.isEmpty && (!outbox.isInsideStream || streamStart < streamEnd)
    }
  }

  /// DISCONNECT, or what is in its way, was not handed to the transport.
  public var hasUnsentFarewell: Bool { !control.isEmpty }

  /// Where the next bytes from the transport go; empty if they have to wait.
  public var receiveSpace: MutableSpan<UInt8> {
    @_lifetime(&self)
    mutating get {
      // An event points into it, and so does the header of a message that comes in parts.
      if view == nil, incoming == nil, receiver.isCramped { receiver.moveToFront() }
      return receiver.space
    }
  }

  /// Bytes may be received: not before CONNECT is sent, not after the end.
  public var wantsReceive: Bool {
    guard phase == .awaitingConnack || phase == .connected, !isPeerGone else { return false }
    return view == nil && incoming == nil ? receiver.hasSpace : receiver.hasSpaceBehind
  }

  /// When `timedOut` needs to be called, if nothing else happens.
  public var nextDeadline: Instant? {
    @inline(never) get {
      var deadline = phase == .connected ? keepAlive.deadline : nil
      if let second = outbox.nextExpiry {
        deadline = Instant.earlier(deadline, clock.deadline(of: second))
      }
      return replyCheck == nil ? Instant.earlier(deadline, replies.deadline) : deadline
    }
  }

  public var hasEvent: Bool {
    (view != nil && !isViewTaken) || outbox.hasCompletion || requests.hasFailure || replyCheck != nil
      || outbox.hasNewRoom
  }

  /// An event was handed out and not yet released: what is behind it has not been looked at.
  public var isHoldingBack: Bool { isViewTaken }

  /// What the transport brought has not all been handed out.
  public var isDelivering: Bool { view != nil }

  /// The next thing the application should know. Releases the event before.
  public mutating func nextEvent() -> SessionEvent? {
    release()
    if case .connected = view, let event = takeView() { return event }
    while var completion = outbox.takeCompletion() {
      if case .acknowledged(let details) = view, details.slot == completion.slot {
        completion.reasonString = details.reasonString
        completion.properties = details.properties
        isViewTaken = true
      }
      guard let tag = completion.replyTag else { return .completed(completion) }
      // Its reply, or the end of its time, came first.
      guard replies.take(tag: tag, cookie: completion.cookie) else { continue }
      return .requestFailed(completion)
    }
    if let failure = requests.takeFailure() {
      return .completed(
        Completion(
          cookie: failure.cookie, outcome: .aboveLimit, reasonCode: failure.reasonCode, replyTag: nil,
          slot: -1))
    }
    if let replyCheck {
      if let cookie = replies.takeExpired(at: replyCheck) { return .requestTimedOut(cookie: cookie) }
      self.replyCheck = nil
    }
    if let event = takeView() { return event }
    return outbox.takeRoomEvent() ? .room : nil
  }

  /// The application has done with the event that was handed out last: a message may be acknowledged, and what
  /// is behind it parsed.
  public mutating func release() {
    guard isViewTaken, let event = view else { return }
    view = nil
    isViewTaken = false
    if case .message(let message) = event, message.serial != 0, !isViewHeld {
      _ = inbox.accept(message.serial, reasonCode: ReasonCode.success.rawValue)
    }
    isViewHeld = false
    switch viewRelease {
    case .consume(let count): receiver.consume(count)
    case .cut(let offset, let count): receiver.cut(at: offset, count: count)
    }
    parse()
  }

  // MARK: Helpers

  private var connectRest: Range<Int> {
    let packet = connects.packet(version)
    return packet.offset &+ connectSent..<packet.end
  }

  private mutating func takeView() -> SessionEvent? {
    guard !isViewTaken, let event = view else { return nil }
    if case .acknowledged = event { return nil }  // goes with its completion
    isViewTaken = true
    if case .message = event { isViewHeld = holdsMessages }
    return event
  }

  /// Control packets go first, but never into the middle of another packet.
  private mutating func chooseSource(at now: Instant) -> Source {
    switch phase {
    case .disconnected: return .none
    case .sendingConnect: return .connect
    case .awaitingConnack: return control.isEmpty ? .none : .control
    case .connected, .ending:
      guard !isPeerGone else { return .none }
      if phase == .connected { refillReleases() }
      if outbox.isInsideStream { return mayStream && streamStart < streamEnd ? .stream : .none }
      if requests.isInsidePacket { return .request }
      if !control.isEmpty { return outbox.isInsidePacket ? .restOfPacket : .control }
      guard phase == .connected else { return .none }
      if requests.queued > 0 {
        if outbox.isInsidePacket { return .restOfPacket }
        requests.prepare()
        return .request
      }
      clock.advance(to: now)
      outbox.expire(at: clock.seconds)
      outbox.extendRun(version: version, second: clock.seconds)
      return outbox.runCount > 0 ? .run : .none
    }
  }

  private mutating func refillReleases() {
    while outbox.releasesToCheck > 0, control.hasRoom, let identifier = outbox.nextRelease() {
      var packet = Acknowledgement(type: .pubrel, identifier: identifier)
      packet.isDuplicate = version == .v3_1  // which has DUP for PUBREL too (its §2.1)
      _ = control.append(packet)
    }
  }

  /// Ends the connection from this side. 5.0 tells the server why (§4.13), 3.1.1 only says goodbye,
  /// and only if that is meant: a DISCONNECT of 3.1.1 discards the Will.
  mutating func end(_ ending: Ending, saying reason: ReasonCode?) {
    self.ending = ending
    phase = .ending
    if let reason, version.hasProperties || reason == .success {
      if version.hasProperties, reason != .success { self.ending?.reasonCode = reason.rawValue }
      let packet = Disconnect(reasonCode: reason)
      // There may be no byte for the reason [MQTT-3.2.2-15]; a DISCONNECT without it would discard the Will.
      if packet.encodedSize(version) <= limits.maximumPacketSize {
        _ = control.append(packet, version: version)
      }
    } else if case .violation(.receiveMaximum) = ending.cause {
      // What is acknowledged is not sent again: the next connection gets further.
    } else {
      control.removeAll()  // nobody listens any more
    }
  }

  mutating func violate(_ violation: Violation) {
    end(Ending(cause: .violation(violation)), saying: violation.reasonCode)
  }
}
