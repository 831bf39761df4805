public import FixedMemory
public import MQTTWire

/// The protocol, without IO: bytes and instants go in; bytes, one deadline and events come out (D1).
///
/// Four families of methods, in this order: getters, things that happened, things the application
/// wants, outputs. After any of the second and third, whoever drives the session looks at the
/// fourth: `prepareTransmit`, `nextDeadline`, `ending`, `nextEvent`.
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
  enum Source: BitwiseCopyable { case none, connect, control, run, restOfPacket }

  let version: ProtocolVersion
  let cleanStart: Bool
  let ownKeepAlive: UInt16
  let inFlightMaximum: Int

  var connectPacket: Region
  var outbox: Outbox
  var control: ControlQueue
  var receiver: ReceiveBuffer
  var keepAlive: KeepAlive
  var limits = ServerLimits()

  var phase = Phase.disconnected
  var source = Source.none
  var connectSent = 0
  /// The application asked to leave: nothing new is taken.
  var isLeaving = false
  public internal(set) var ending: Ending? = nil
  var connectedEvent: ConnectedEvent? = nil
  public internal(set) var counters = Counters()

  /// The caller guarantees that `options` are those the plan was made with. Packet Identifiers
  /// begin with `firstIdentifier`: at random, so that a client which takes up the session of an
  /// earlier process does not begin with the identifiers that one had in flight.
  public init(
    _ options: borrowing SessionOptions, plan: SessionPlan, block: borrowing MemoryBlock,
    firstIdentifier: PacketIdentifier
  ) {
    version = options.connect.version
    cleanStart = options.connect.cleanStart
    ownKeepAlive = options.connect.keepAlive
    inFlightMaximum = options.inFlightMaximum
    connectPacket = block.region(plan.connect)
    outbox = Outbox(
      bytes: block.region(plan.outbox), descriptors: block.table(plan.descriptors),
      first: firstIdentifier)
    control = ControlQueue(region: block.region(plan.control))
    receiver = ReceiveBuffer(region: block.region(plan.receive))
    keepAlive = KeepAlive(pingTimeout: options.pingTimeout)
    var writer = ByteWriter(connectPacket.mutableBytes(in: 0..<connectPacket.count))
    options.connect.encode(into: &writer)
  }

  // MARK: Getters

  public var isConnected: Bool { phase == .connected }

  /// Every message is complete, and nothing waits to be sent.
  public var isDrained: Bool { outbox.incomplete == 0 && control.isEmpty }

  /// Where the extents of an `Ending` or of an event point.
  public var receivedBytes: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { receiver.bytes }
  }

  public var outboxNumbers: OutboxNumbers {
    OutboxNumbers(
      delivered: outbox.delivered, failed: outbox.failed,
      bytes: outbox.byteCount, bytesPeak: outbox.bytesPeak, bytesCapacity: outbox.byteCapacity,
      messages: outbox.messageCount, messagesPeak: outbox.messagesPeak,
      messagesCapacity: outbox.messageCapacity, inFlight: outbox.inFlight,
      inFlightMaximum: outbox.sendQuotaLimit)
  }

  // MARK: Things that happened

  /// The transport is open: CONNECT is the first packet on it [MQTT-3.1.0-1].
  public mutating func connectionOpened() {
    precondition(phase == .disconnected)
    phase = .sendingConnect
    connectSent = 0
    isLeaving = false
    ending = nil
    connectedEvent = nil
    control.removeAll()
    receiver.removeAll()
  }

  /// The transport is closed, by either side. The Session State stays [MQTT-4.1.0-1].
  public mutating func connectionClosed() {
    phase = .disconnected
    isLeaving = false
    limits = ServerLimits()
    outbox.connectionLost()
    control.removeAll()
    keepAlive.stop()
  }

  /// `count` bytes were written to the front of `receiveSpace`.
  public mutating func received(_ count: Int, at now: Instant) {
    counters.bytesReceived.add(count)
    counters.receiveCalls.increment()
    receiver.received(count)
    keepAlive.heard(at: now)
    connectedEvent?.reasonString = .empty  // not taken in time: the bytes are gone
    parse()
  }

  /// `count` bytes from the front of `output` were handed to the transport.
  public mutating func transmitted(_ count: Int, at now: Instant) {
    counters.bytesSent.add(count)
    counters.sendCalls.increment()
    keepAlive.sent(at: now)
    switch source {
    case .none: break
    case .connect:
      connectSent &+= count
      if connectSent == connectPacket.count {
        counters.packetsSent.increment()
        phase = .awaitingConnack
      }
    case .control:
      counters.packetsSent.add(control.transmitted(count))
      parse()  // what had to wait for room
    case .run, .restOfPacket:
      counters.packetsSent.add(outbox.transmitted(count))
    }
    source = .none
  }

  /// `nextDeadline` may have been reached.
  public mutating func timedOut(at now: Instant) {
    guard phase == .connected else { return }
    switch keepAlive.verdict(at: now) {
    case .nothing: break
    case .ping:
      // Without room there is something to send already; the server has to show that it lives all
      // the same.
      _ = control.appendPingRequest()
      keepAlive.pinged(at: now)
    case .dead:
      end(Ending(cause: .keepAlive), saying: nil)
    }
  }

  // MARK: Things the application wants

  /// Takes a message into the outbox, or changes nothing.
  @inline(__always)
  public mutating func publish(
    _ message: borrowing Publish, cookie: UInt64, isQuiet: Bool
  ) throws(SessionError) {
    guard !isLeaving else { throw .leaving }
    do throws(TopicName.Fault) {
      try TopicName.validate(message.topic)
    } catch {
      if case .utf8 = error { throw .utf8 }
      throw .topicName
    }
    try outbox.append(
      message, version: version, cookie: cookie, isQuiet: isQuiet, limits: limits)
    counters.messagesPublished.increment()
  }

  /// No more messages: the application wants to leave when the outbox is drained.
  public mutating func leave() { isLeaving = true }

  /// DISCONNECT is the last packet [MQTT-3.14.4-1]; `ending` tells when the transport may go.
  public mutating func disconnect() {
    guard phase != .disconnected else { return }
    end(Ending(cause: .requested), saying: phase == .connected ? .success : nil)
  }

  // MARK: Outputs

  /// Looks for bytes to send. True: they are in `output`.
  public mutating func prepareTransmit() -> Bool {
    source = chooseSource()
    return source != .none
  }

  /// The bytes to send, in one piece; after `prepareTransmit` said there are any.
  public var output: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get {
      switch source {
      case .none: Span()
      case .connect: connectPacket.bytes.extracting(connectSent...)
      case .control: control.pending
      case .run: outbox.run
      case .restOfPacket: outbox.restOfPacket
      }
    }
  }

  /// Whether `prepareTransmit` might find something: asks without changing anything.
  public var wantsTransmit: Bool {
    switch phase {
    case .disconnected, .awaitingConnack: false
    case .sendingConnect: true
    case .connected: !control.isEmpty || outbox.canTransmit || outbox.releasesToCheck > 0
    case .ending: !control.isEmpty
    }
  }

  /// Where the next bytes from the transport go; empty if they have to wait.
  public var receiveSpace: MutableSpan<UInt8> {
    @_lifetime(&self)
    mutating get {
      if receiver.isCramped {
        connectedEvent?.reasonString = .empty  // not taken in time: its bytes are about to move
        receiver.moveToFront()
      }
      return receiver.space
    }
  }

  /// Bytes may be received: not before CONNECT is sent, not after the end.
  public var wantsReceive: Bool {
    (phase == .awaitingConnack || phase == .connected) && receiver.hasSpace
  }

  /// When `timedOut` needs to be called, if nothing else happens.
  public var nextDeadline: Instant? { phase == .connected ? keepAlive.deadline : nil }

  public var hasEvent: Bool { connectedEvent != nil || outbox.hasCompletion || outbox.hasNewRoom }

  /// The next thing the application should know.
  public mutating func nextEvent() -> SessionEvent? {
    if let event = connectedEvent {
      connectedEvent = nil
      return .connected(event)
    }
    if let completion = outbox.takeCompletion() { return .completed(completion) }
    return outbox.takeRoomEvent() ? .room : nil
  }

  // MARK: Helpers

  /// Control packets go first, but never into the middle of another packet.
  private mutating func chooseSource() -> Source {
    switch phase {
    case .disconnected, .awaitingConnack: return .none
    case .sendingConnect: return .connect
    case .connected, .ending:
      if phase == .connected { refillReleases() }
      if !control.isEmpty { return outbox.isInsidePacket ? .restOfPacket : .control }
      guard phase == .connected else { return .none }
      outbox.extendRun()
      return outbox.runCount > 0 ? .run : .none
    }
  }

  private mutating func refillReleases() {
    while outbox.releasesToCheck > 0, control.hasRoom, let identifier = outbox.nextRelease() {
      _ = control.append(Acknowledgement(type: .pubrel, identifier: identifier))
    }
  }

  /// Ends the connection from this side. 5.0 tells the server why (§4.13), 3.1.1 only says goodbye,
  /// and only if that is meant: a DISCONNECT of 3.1.1 discards the Will.
  mutating func end(_ ending: Ending, saying reason: ReasonCode?) {
    self.ending = ending
    phase = .ending
    if let reason, version.hasProperties || reason == .success {
      _ = control.append(Disconnect(reasonCode: reason), version: version)
    } else {
      control.removeAll()  // nobody listens any more
    }
  }
}

/// What `Session` counts; read by the statistics.
public struct Counters: BitwiseCopyable {
  public var connections: UInt32 = 0
  public var messagesPublished = Counter()
  public var packetsSent = Counter()
  public var packetsReceived = Counter()
  public var bytesSent = Counter()
  public var bytesReceived = Counter()
  public var sendCalls = Counter()
  public var receiveCalls = Counter()
}

/// What became of the messages in the outbox, and how full it is.
public struct OutboxNumbers: BitwiseCopyable {
  /// Messages that ended as their QoS promises, and those that ended otherwise.
  public let delivered: Counter
  public let failed: Counter
  public let bytes: Int
  public let bytesPeak: Int
  public let bytesCapacity: Int
  public let messages: Int
  public let messagesPeak: Int
  public let messagesCapacity: Int
  public let inFlight: Int
  public let inFlightMaximum: Int
}
