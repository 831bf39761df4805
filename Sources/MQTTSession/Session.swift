public import Storage
public import MQTTWire

/// The protocol, without IO: bytes and instants go in; bytes, one deadline and events come out (D1).
///
/// Four families of methods, in this order: getters, things that happened, things the application
/// wants, outputs. After any of the second and third, whoever drives the session looks at the
/// fourth: `prepareTransmit`, `nextDeadline`, `closeReason`, `nextEvent`. Here is the state and what can be asked of it.
/// What happened is in Session+Connection.swift, and what a packet from the server does in Session+Received.swift and
/// Session+Message.swift; what the application wants in Session+Publish.swift, +Subscribe, +Acknowledge and
/// +Authentication; the outputs are in Session+Transmit.swift and Session+Events.swift.
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
  enum Source: BitwiseCopyable { case none, connect, control, request, urgent, run, restOfPacket, stream }

  /// What is done with the bytes of an event when it is released.
  enum Release: BitwiseCopyable {
    case consume(Int)  // from the front
    case cut(at: Int, count: Int)  // a part of a message, behind its header
  }

  /// The version of this connection, or of the next one.
  public internal(set) var version: ProtocolVersion
  /// The one that what is queued is encoded for: the last that a server accepted.
  var acceptedVersion: ProtocolVersion { didSet { if acceptedVersion != oldValue { updateFastPath() } } }
  var cleanStart: Bool
  var beginsNewSession: Bool
  var ownKeepAlive: UInt16

  // Side by side, as a gap between any two would be memory of every client.
  /// How many QoS 1 and 2 messages were sent; wraps.
  var order: UInt16 = 0
  let holdsMessages: Bool
  let deliversParts: Bool
  /// QoS 0 is not queued without a connection.
  let needsConnection: Bool
  let repeatsExactlyOnce: Bool
  let forgetsRequests: Bool
  var phase = Phase.disconnected { didSet { if phase != oldValue { updateFastPath() } } }
  var source = Source.none
  /// The application asked to leave: nothing new is taken.
  var isLeaving = false { didSet { if isLeaving != oldValue { updateFastPath() } } }
  /// CONNACK accepted this connection, whatever has become of it since.
  public internal(set) var isAccepted = false
  /// The server has said something on this connection.
  var receivedAnything = false
  /// The transport is gone, but what it brought is still being handed out.
  var isPeerGone = false { didSet { if isPeerGone != oldValue { updateFastPath() } } }
  /// The application has the event that is in `view`.
  var isViewTaken = false
  /// It has the message that is in `shown`.
  var isShownTaken = false
  /// The message that it has waits for `acknowledge`.
  var isViewHeld = false
  /// A message is there that has to wait for the application to acknowledge others.
  var isStalled = false
  /// What is there has to wait for room for the answer to it.
  var lacksRoom = false
  /// Whether all has come that the server had to say to a backlog: see Session+Backlog.swift.
  var roundTrip = RoundTrip.none
  /// What comes, and what completes, may go the short way: see Session+Plain.swift.
  var isFastPathOpen = false
  /// The Reason Code of DISCONNECT.
  var farewellReason: UInt8 = 0

  var ownSessionExpiry: UInt32
  var ownMaximumPacketSize: Int
  /// From the next CONNACK on.
  public var inFlightMaximum: Int

  var connects: ConnectPackets
  var outbox: Outbox
  /// What goes first; empty: there is no room for such messages.
  var urgent: OptionalSlot<Outbox>
  var quota = SendQuota()
  var requests: SubscribeQueue
  var subscriptions: SubscriptionTable
  /// The event that was handed out last tells that this one is no more.
  var lostSubscription: Int? = nil { didSet { updateFastPath() } }
  let resubscribing: Resubscribing
  var authentication = AuthenticationState.none
  private let inPlace = InPlace()
  var replies: PendingResponses
  var control: ControlQueue
  var receiver: ReceiveBuffer
  var inbox: Inbox
  var receivedAliases: ReceivedAliases
  var streamBuffer: Region
  var streamStart = 0
  var streamEnd = 0
  var keepAlive: KeepAlive
  var answers: AckTimeout
  public internal(set) var limits = ServerLimits() { didSet { updateFastPath() } }
  var clock = ExpiryClock()

  /// What may be published the short way.
  var fastPathLimits = FastPathLimits()
  /// The properties of DISCONNECT.
  var farewell: Region
  var farewellSize = 0
  /// Where in it the Session Expiry Interval is.
  var farewellExpiry = 0..<0
  public internal(set) var closeReason: CloseReason? = nil
  /// How many bytes of CONNECT.
  var connectSent = 0

  /// The event whose bytes are in the receive buffer: nothing behind it is parsed until it is released.
  var view: SessionEvent? = nil { didSet { updateFastPath() } }
  /// Instead of a view, if `shownSize` is not 0: the message at the front of the receive buffer, which takes so many bytes.
  public internal(set) var shown = PlainMessage()
  var shownSize = 0
  var viewRelease = Release.consume(0)
  /// A PUBLISH that is larger than the receive buffer, and not yet at its end. Set by `begin` and `endIncoming` alone:
  /// the short way depends on whether there is one.
  var incoming: IncomingMessage? = nil
  /// When `timedOut` found that a request waits for too long.
  var replyCheck: Instant? = nil { didSet { updateFastPath() } }
  public internal(set) var counters = Counters()

  static var farewellBytes: Int { 256 }

  /// The caller guarantees that `options` are those the plan was made with. Packet Identifiers
  /// begin at random, so that a client which takes up the session of an
  /// earlier process does not begin with the identifiers that one had in flight.
  public init(
    _ options: borrowing SessionOptions, plan: SessionPlan, block: borrowing Arena,
    random: UInt32
  ) {
    version = options.connect.version
    acceptedVersion = options.connect.version
    cleanStart = options.connect.cleanStart || options.beginsNewSession
    beginsNewSession = options.beginsNewSession
    ownKeepAlive = options.connect.keepAlive
    ownSessionExpiry = options.connect.session.sessionExpiryInterval
    ownMaximumPacketSize = options.ownMaximumPacketSize
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
      identifiers: .messages, random: UInt16(truncatingIfNeeded: random))
    urgent = OptionalSlot(plan.urgent, in: block) {
      Outbox(
        bytes: block.region(plan.urgentBytes), descriptors: block.table(plan.urgentDescriptors),
        prefix: block.region(plan.none),
        aliases: SentAliases(
          entries: block.table(plan.noAliases), topics: block.region(plan.none), topicBytes: 0),
        identifiers: .urgent, random: UInt16(truncatingIfNeeded: random >> 16))
    }
    needsConnection = options.needsConnection
    repeatsExactlyOnce = options.repeatsExactlyOnce
    forgetsRequests = options.forgetsRequests
    requests = SubscribeQueue(
      bytes: block.region(plan.requestBytes), table: block.table(plan.requests))
    subscriptions = SubscriptionTable(
      entries: block.table(plan.subscriptions), filters: block.region(plan.subscriptionBytes))
    resubscribing = options.resubscribing
    replies = PendingResponses(entries: block.table(plan.replies), mark: random)
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
    answers = AckTimeout(timeout: options.answerTimeout)
    updateFastPath()
  }

  /// Completes a Client Identifier that is a template (`Connect.isClientIDTemplate`). To be called once, before the
  /// first connection.
  public mutating func fillClientID(_ nextByte: () -> UInt8) { connects.fillClientID(nextByte) }

  /// The session is over, and its block goes back to whoever it belongs to: credentials and authentication data do not.
  public mutating func wipeSecrets() {
    connects.wipe()
    farewell.wipe(0..<farewell.count)
    control.wipe()
    if connects.authenticationMethod != nil { receiver.wipe() }
  }

  // MARK: Getters

  public var isConnected: Bool { phase == .connected }

  /// Every message and every request is complete, and nothing waits to be sent.
  public var isDrained: Bool {
    outbox.incomplete == 0 && (urgent.isEmpty || urgent.element.incomplete == 0) && requests.incomplete == 0
      && control.isEmpty
  }

  /// Where the extents of an `CloseReason` or of an event point.
  public var receivedBytes: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { receiver.bytes }
  }

  /// Where the topic of a message is that came as a Topic Alias.
  public var aliasedTopics: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { receivedAliases.bytes }
  }

  /// Where the Topic Filter of a subscription is that could not be made again.
  public var subscribedFilters: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { subscriptions.bytes }
  }

  public var clientID: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { connects.bytes.extracting(connects.clientID.range) }
  }

  public var outboxNumbers: OutboxNumbers { OutboxNumbers(outbox, urgent, quota) }

  public var inboxNumbers: InboxNumbers {
    InboxNumbers(
      unacknowledged: inbox.count, peak: inbox.peak, maximum: inbox.maximum,
      requests: requests.incomplete, requestsPeak: requests.peak, replies: replies.waiting,
      repliesPeak: replies.peak, subscriptions: subscriptions.count, receiveBytesPeak: receiver.peak,
      controlBytesPeak: control.peak)
  }

  /// A server that does not speak this version says so in CONNACK, or closes the connection without a word.
  public var serverRejectedVersion: Bool {
    guard let closeReason else { return isUnheard }
    guard case .refused = closeReason.cause else { return false }
    let code = version.hasProperties ? ReasonCode.unsupportedProtocolVersion.rawValue : 1
    return closeReason.reasonCode == code
  }

  /// CONNECT is sent, or a part of it, and not a byte came back; nor has this server ever spoken this version.
  private var isUnheard: Bool {
    guard !receivedAnything, counters.connections == 0 else { return false }
    return phase == .awaitingConnack || (phase == .sendingConnect && connectSent > 0)
  }
}
