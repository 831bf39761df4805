public import MQTTWire
public import Storage

/// The protocol, without IO: bytes and instants go in; bytes, one deadline and events come out (D1).
///
/// The methods form four families: getters, things that happened, things the application wants, and
/// outputs. After a call of the second or third family the driver asks the outputs: `prepareTransmit`,
/// `nextDeadline`, `closeReason`, `nextEvent`.
///
/// This file has the state and the getters. What happened is in Session+Connection.swift, and what a packet
/// from the server does in Session+Received.swift and Session+Message.swift. What the application wants is
/// in Session+Publish.swift, +Subscribe, +Acknowledge and +Authentication. The outputs are in
/// Session+Transmit.swift and Session+Events.swift.
public struct Session: ~Copyable {
  /// What CONNECT has, and what follows from it.
  struct Identity: BitwiseCopyable {
    /// The version that queued packets are encoded for: the last that a server accepted.
    var acceptedVersion: ProtocolVersion
    var cleanStart: Bool
    var beginsNewSession: Bool
    var keepAlive: UInt16
    var sessionExpiry: UInt32
    /// The largest packet that the server may send.
    var maximumPacketSize: Int

    init(_ options: borrowing SessionOptions) {
      acceptedVersion = options.connect.version
      cleanStart = options.connect.cleanStart || options.beginsNewSession
      beginsNewSession = options.beginsNewSession
      keepAlive = options.connect.keepAlive
      sessionExpiry = options.connect.session.sessionExpiryInterval
      maximumPacketSize = options.ownMaximumPacketSize
    }
  }

  /// The options that never change.
  struct Policy: BitwiseCopyable {
    let holdsMessages: Bool
    let deliversParts: Bool
    /// QoS 0 is not queued without a connection.
    let needsConnection: Bool
    let repeatsExactlyOnce: Bool
    let dropsSubscribes: Bool
    let resubscribing: Resubscribing

    init(_ options: borrowing SessionOptions) {
      holdsMessages = options.holdsMessages
      deliversParts = options.deliversParts
      needsConnection = options.needsConnection
      repeatsExactlyOnce = options.repeatsExactlyOnce
      dropsSubscribes = options.dropsSubscribes
      resubscribing = options.resubscribing
    }
  }

  /// What came on a connection and was not handed out. It outlasts the connection, until the next one
  /// begins.
  struct Arrival: BitwiseCopyable {
    enum Blockage: BitwiseCopyable {
      case none
      /// A message has to wait until the application acknowledges others.
      case inboxFull
      /// A packet has to wait for room for its acknowledgement.
      case controlQueueFull
    }

    var event = PendingEvent()
    /// The messages that were handed out in one call with it, before it.
    var batch = MessageBatch()
    /// A PUBLISH that is larger than the receive buffer, and not complete.
    var large: LargeMessage? = nil
    /// Whether there is one: looking into an optional of that size takes a call.
    private(set) var hasLarge = false
    /// Memory of the program for its payload. It stays when it is full, for the part that points into it.
    var lent = LentSpace()
    /// Whether it is not full yet.
    var isLent = false
    var blockage = Blockage.none
    /// The server has sent something.
    var hasBegun = false
    /// Why the session wants this connection closed.
    var closeReason: CloseReason? = nil

    mutating func begin(_ message: LargeMessage) {
      large = message
      hasLarge = true
    }

    mutating func endLarge() {
      large = nil
      hasLarge = false
    }
  }

  /// The version of this connection, or of the next one.
  public internal(set) var version: ProtocolVersion
  var identity: Identity
  let policy: Policy
  private let inPlace = InPlace()
  /// From the next CONNACK on.
  public var inFlightMaximum: Int

  /// What outlives a connection.
  var state: SessionState
  /// What lasts as long as one.
  var connection: Connection
  var arrival = Arrival()

  // Memory for what lasts as long as a connection.
  var connects: ConnectPackets
  var control: ControlQueue
  var receiver: ReceiveBuffer
  var receivedAliases: ReceivedAliases
  var streamBuffer: Region
  /// See Session+Journal.swift; empty: there is none.
  var journal: JournalSlot<SessionJournal>
  /// The properties of DISCONNECT.
  var disconnectProperties: Region

  public internal(set) var counters = Counters()

  static var disconnectPropertyBytes: Int { 256 }

  /// The caller guarantees that `options` are those the plan was made with. Packet Identifiers begin at
  /// random, so that a client which resumes the session of an earlier process does not begin with the
  /// identifiers which that process had in flight.
  public init(
    _ options: borrowing SessionOptions, plan: borrowing SessionPlan, block: borrowing Arena,
    random: UInt32
  ) {
    version = options.connect.version
    identity = Identity(options)
    policy = Policy(options)
    inFlightMaximum = options.inFlightMaximum
    state = SessionState(options, plan: plan, block: block, random: random)
    connection = Connection(
      .disconnected, pingTimeout: options.pingTimeout, ackTimeout: options.ackTimeout)
    connects = ConnectPackets(region: block.region(plan.connect), options)
    control = ControlQueue(region: block.region(plan.control))
    receiver = ReceiveBuffer(region: block.region(plan.receive))
    receivedAliases = ReceivedAliases(
      entries: block.table(plan.aliasesReceived), topics: block.region(plan.topicsReceived),
      topicBytes: options.aliasBytes)
    streamBuffer = block.region(plan.stream)
    disconnectProperties = block.region(plan.disconnectProperties)
    journal = plan.journal.journal(in: block)
  }

  /// Completes a Client Identifier that is a template (`Connect.isClientIDTemplate`). It has to be called
  /// once, before the first connection.
  public mutating func fillClientID(_ nextByte: () -> UInt8) { connects.fillClientID(nextByte) }

  /// Overwrites credentials and authentication data when the session is over, before its block returns to
  /// its owner.
  public mutating func wipeSecrets() {
    connects.wipe()
    disconnectProperties.wipe(0..<disconnectProperties.count)
    control.wipe()
    if connects.authenticationMethod != nil { receiver.wipe() }
  }

  // MARK: Getters

  public var isConnected: Bool { connection.isUp }

  /// Whether CONNACK accepted this connection, whatever has become of it since.
  public var isAccepted: Bool { connection.wasAccepted }

  /// What the server supports.
  public var limits: ServerLimits { connection.limits }

  /// Why the session wants the connection closed; `nil`: it does not.
  public var closeReason: CloseReason? { arrival.closeReason }

  /// Whether the application asked to disconnect, so that no more messages are accepted.
  var isLeaving: Bool {
    @inline(__always) get { connection.pendingDisconnect != nil }
  }

  /// Whether every message, SUBSCRIBE and UNSUBSCRIBE is complete, and nothing waits to be sent.
  public var isDrained: Bool { state.isDrained && control.isEmpty }

  /// The bytes that the ranges of a `CloseReason` or of an event point into.
  public var receivedBytes: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { receiver.bytes }
  }

  /// The bytes that hold the topic of a message that came with a Topic Alias.
  public var aliasedTopics: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { receivedAliases.bytes }
  }

  /// The bytes that hold the Topic Filter of a lost subscription.
  public var subscribedFilters: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { state.subscriptions.bytes }
  }

  public var clientID: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { connects.bytes.extracting(connects.clientID.range) }
  }

  public var outboxNumbers: OutboxNumbers { OutboxNumbers(state.outbox, state.urgent, connection.quota) }

  public var inboxNumbers: InboxNumbers {
    InboxNumbers(
      unacknowledged: state.inbox.count, peak: state.inbox.peak, maximum: state.inbox.maximum,
      subscribes: state.subscribeQueue.incomplete, subscribesPeak: state.subscribeQueue.peak,
      responses: state.responses.waiting,
      responsesPeak: state.responses.peak, subscriptions: state.subscriptions.count,
      receiveBytesPeak: receiver.peak,
      controlBytesPeak: control.peak)
  }

  /// Whether the server does not speak this version: it reports that in CONNACK, or closes the connection
  /// without giving a reason.
  public var serverRejectedVersion: Bool {
    guard let closeReason else { return closedWithoutConnack }
    guard case .refused = closeReason.cause else { return false }
    let code = version.hasProperties ? ReasonCode.unsupportedProtocolVersion.rawValue : 1
    return closeReason.reasonCode == code
  }

  /// Whether CONNECT is sent, or a part of it, and no byte came back from a server that has never accepted
  /// this version.
  private var closedWithoutConnack: Bool {
    guard !arrival.hasBegun, counters.connections == 0 else { return false }
    switch connection.phase {
    case .awaitingConnack: return true
    case .sendingConnect: return connection.connectSent > 0
    default: return false
    }
  }
}
