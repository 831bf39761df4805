import Journal
import MQTTSession
import MQTTWire
import Storage
import TestSupport

/// A session in memory of its own, driven by hand: bytes and instants in, bytes and events out.
final class SessionHarness {
  /// Everything a session can be asked to be, small where nothing is said.
  struct Options {
    var keepSession = true
    var keepAlive: UInt16 = 60
    var clientID = "abc"
    var isClientIDTemplate = false
    var userName = ""
    var password = ""
    var sessionExpiry: UInt32 = 0
    /// `nil`: as large as the receive buffer; 0: none.
    var maximumPacketSize: UInt32?
    /// Said in CONNECT, too, if it is not 0.
    var saidReceiveMaximum: UInt16 = 0
    var properties: [UInt8] = []
    var allowsFallback = false
    var beginsNewSession = false
    var holdsMessages = false
    var deliversParts = false
    var pingTimeout: UInt32 = 10_000
    var outboxBytes = 4096
    var outboxMessages = 32
    var receiveBytes = 1024
    var inFlightMaximum = 65_535
    var receiveMaximum = 64
    var unreleasedMaximum = 0
    var requests = 8
    var subscriptions = 0
    var subscriptionBytes = 256
    var resubscribing = Resubscribing.ifLost
    var subscribeBytes = 1024
    var controlBytes = 512
    var aliasesReceived = 0
    var aliasesSent = 0
    var aliasBytes = 128
    var replies = 0
    var streamBytes = 0
    var references = 0
    var random: UInt32 = 0
    var urgentMessages = 0
    var urgentBytes = 256
    var needsConnection = false
    var ackTimeout: UInt32 = 0
    var connectBytes = 0
    var repeatsExactlyOnce = false
    var dropsSubscribes = false
    /// 0: there is no journal.
    var journalBlocks = 0
    var journalDelay: UInt32 = 0
    var journalIsStrict = false
    var journalTellsStored = false
  }

  /// The version that was asked for.
  let version: ProtocolVersion
  let options: Options
  private let block: UnsafeMutableRawPointer
  var session: Session
  var now = Instant(milliseconds: 0)
  /// Taken by `connect`, and not asked for yet.
  private var taken: [ReportedEvent] = []
  /// The token of the message that was handed out last; 0: it has none.
  private(set) var token: UInt32 = 0
  /// The payload of the stream that is published, and how much of it is given at a time.
  var streamPayload: [UInt8] = []
  var streamPiece = Int.max
  /// The transport takes `outputPayload` together with `output`.
  var takesPayloads = true
  /// What was lent, until the session is gone.
  private var lent: [UnsafeMutablePointer<UInt8>] = []

  convenience init(
    _ version: ProtocolVersion = .v3_1_1, keepSession: Bool = true, keepAlive: UInt16 = 60,
    pingTimeout: UInt32 = 10_000, outboxBytes: Int = 4096, outboxMessages: Int = 32,
    receiveBytes: Int = 1024, inFlightMaximum: Int = 65_535, firstIdentifier: UInt16 = 1
  ) {
    self.init(version) {
      $0.keepSession = keepSession
      $0.keepAlive = keepAlive
      $0.pingTimeout = pingTimeout
      $0.outboxBytes = outboxBytes
      $0.outboxMessages = outboxMessages
      $0.receiveBytes = receiveBytes
      $0.inFlightMaximum = inFlightMaximum
      $0.random = UInt32(firstIdentifier) - 1
    }
  }

  init(_ version: ProtocolVersion, configure: (inout Options) -> Void) {
    var asked = Options()
    configure(&asked)
    self.version = version
    self.options = asked
    var plan: SessionPlan?
    var memory = ArenaLayout()
    Self.withOptions(version, asked) { plan = SessionPlan($0, in: &memory) }
    let block = UnsafeMutableRawPointer.allocate(
      byteCount: memory.byteCount, alignment: ArenaLayout.alignment)
    // What a caller's memory holds before is nobody's business: here it looks like messages on their way.
    block.initializeMemory(as: UInt8.self, repeating: 1, count: memory.byteCount)
    self.block = block
    session = Self.withOptions(version, asked) {
      Session($0, plan: plan!, block: unsafe Arena(start: block), random: asked.random)
    }
  }

  deinit {
    block.deallocate()
    for payload in lent { payload.deallocate() }
  }

  /// What CONNECT says is to be something else. False: it was not taken.
  func renew(_ version: ProtocolVersion? = nil, _ configure: (inout Options) -> Void) -> Bool {
    var asked = options
    configure(&asked)
    return Self.withOptions(version ?? self.version, asked) { session.renew($0) }
  }

  private static func withOptions<Result: ~Copyable>(
    _ version: ProtocolVersion, _ asked: Options, _ body: (borrowing SessionOptions) -> Result
  ) -> Result {
    let (clientID, userName, password) = (asked.clientID.bytes, asked.userName.bytes, asked.password.bytes)
    var properties = Connect.SessionProperties()
    properties.maximumPacketSize = asked.maximumPacketSize ?? UInt32(asked.receiveBytes)
    properties.sessionExpiryInterval = asked.sessionExpiry
    properties.receiveMaximum = asked.saidReceiveMaximum
    properties.topicAliasMaximum = UInt16(asked.aliasesReceived)
    var options = SessionOptions(
      connect: Connect(
        version: version, cleanStart: !asked.keepSession, keepAlive: asked.keepAlive, clientID: clientID.span,
        userName: userName.span, password: password.span,
        will: Connect.Will(
          topic: Span(), payload: Span(), qos: .atMostOnce, retain: false, properties: Span()),
        session: properties, properties: asked.properties.span, isClientIDTemplate: asked.isClientIDTemplate))
    options.allowsFallback = asked.allowsFallback
    options.beginsNewSession = asked.beginsNewSession
    options.holdsMessages = asked.holdsMessages
    options.deliversParts = asked.deliversParts
    options.pingTimeout = asked.pingTimeout
    options.outboxBytes = asked.outboxBytes
    options.outboxMessages = asked.outboxMessages
    options.receiveBytes = asked.receiveBytes
    options.inFlightMaximum = asked.inFlightMaximum
    options.receiveMaximum = asked.receiveMaximum
    options.unreleasedMaximum = asked.unreleasedMaximum
    options.subscribePackets = asked.requests
    options.subscriptions = asked.subscriptions
    options.subscriptionBytes = asked.subscriptionBytes
    options.resubscribing = asked.resubscribing
    options.subscribeBytes = asked.subscribeBytes
    options.controlBytes = asked.controlBytes
    options.aliasesReceived = asked.aliasesReceived
    options.aliasesSent = asked.aliasesSent
    options.aliasBytes = asked.aliasBytes
    options.responses = asked.replies
    options.streamBytes = asked.streamBytes
    options.references = asked.references
    options.urgentMessages = asked.urgentMessages
    options.urgentBytes = asked.urgentMessages > 0 ? asked.urgentBytes : 0
    options.needsConnection = asked.needsConnection
    options.ackTimeout = asked.ackTimeout
    options.connectBytes = asked.connectBytes
    options.repeatsExactlyOnce = asked.repeatsExactlyOnce
    options.dropsSubscribes = asked.dropsSubscribes
    options.journalBatchBytes = asked.journalBlocks * Block.size
    options.journalDelay = asked.journalDelay
    options.journalIsStrict = asked.journalIsStrict
    options.journalTellsStored = asked.journalTellsStored
    return body(options)
  }

  // `#expect` can't look into a noncopyable value.
  var isConnected: Bool { session.isConnected }
  var isDrained: Bool { session.isDrained }
  var ending: CloseReason? { session.closeReason }
  var hasUndeliveredEvent: Bool { session.hasUndeliveredEvent }
  var serverRejectedVersion: Bool { session.serverRejectedVersion }
  var isJournalCurrent: Bool { session.isJournalCurrent }
  var wantsTransmit: Bool { session.wantsTransmit }
  var wantsReceive: Bool { session.wantsReceive }
  var nextDeadline: UInt32? { session.nextDeadline?.milliseconds }
  var hasEvent: Bool { !taken.isEmpty || session.hasEvent }
  var outbox: OutboxNumbers.Fill { session.outboxNumbers.ordinary }
  var outboxNumbers: OutboxNumbers { session.outboxNumbers }
  var inbox: InboxNumbers { session.inboxNumbers }
  var counters: Counters { session.counters }

  /// Everything that tells how full the outbox is.
  var numbers: [Int] {
    let numbers = session.outboxNumbers
    return [
      numbers.ordinary.bytes, numbers.ordinary.bytesPeak, numbers.ordinary.bytesCapacity,
      numbers.ordinary.messages, numbers.ordinary.messagesPeak, numbers.ordinary.messagesCapacity,
      numbers.inFlight, numbers.inFlightMaximum,
    ]
  }

  /// That of this connection, or of the next one.
  var spoken: ProtocolVersion { session.version }
  var clientID: String { Self.clientID(session) }

  private static func clientID(_ session: borrowing Session) -> String {
    let bytes = session.clientID
    return String(decoding: (0..<bytes.count).map { bytes[$0] }, as: UTF8.self)
  }

  // MARK: The network

  /// What one call to the transport would take, at most `limit` bytes; `nil`: there is nothing to send.
  func transmit(_ limit: Int = .max) -> [UInt8]? {
    if let offset = session.pullOffset, streamPiece > 0 {
      session.pulled(Self.fill(&session, streamPayload[offset...].prefix(streamPiece)))
    }
    guard session.prepareTransmit(at: now) else { return nil }
    var bytes: [UInt8] = []
    do {
      let output = session.output
      let count = min(output.count, limit)
      bytes.reserveCapacity(count)
      for index in 0..<count { bytes.append(output[index]) }
    }
    if takesPayloads {
      let payload = session.outputPayload
      for index in 0..<min(payload.count, limit - bytes.count) { bytes.append(payload[index]) }
    }
    precondition(!bytes.isEmpty, "prepareTransmit promised bytes")
    session.transmitted(bytes.count, at: now)
    return bytes
  }

  private static func fill(_ session: inout Session, _ bytes: ArraySlice<UInt8>) -> Int {
    var space = session.pullSpace
    let count = min(space.count, bytes.count)
    for index in 0..<count { space[index] = bytes[bytes.startIndex + index] }
    return count
  }

  /// Everything the session wants to send now.
  func drain(piece: Int = .max) -> [UInt8] {
    var bytes: [UInt8] = []
    while let more = transmit(piece) { bytes += more }
    return bytes
  }

  /// The same, as the pieces in which the transport gets it.
  func spans() -> [[UInt8]] {
    var spans: [[UInt8]] = []
    while let span = transmit() { spans.append(span) }
    return spans
  }

  /// Hands bytes from the server over, as long as the session wants any; in pieces if asked to. Returns
  /// what was not taken.
  @discardableResult
  func receive(_ bytes: [UInt8], piece: Int = .max) -> [UInt8] {
    var rest = bytes[...]
    while !rest.isEmpty, session.wantsReceive {
      var count = 0
      do {
        var space = session.receiveSpace
        count = min(rest.count, piece, space.count)
        for index in 0..<count { space[index] = rest[rest.startIndex + index] }
      }
      rest = rest.dropFirst(count)
      session.received(count, at: now)
    }
    return Array(rest)
  }

  /// What a transport does that finds nothing to read.
  func receiveNothing() -> Int { Self.size(of: &session) }

  private static func size(of session: inout Session) -> Int {
    let space = session.receiveSpace
    return space.count
  }

  /// Opens a connection; returns what is sent on it before the server has said a word.
  @discardableResult
  func open() -> [UInt8] {
    session.connectionOpened()
    return drain()
  }

  /// Opens a connection and gets it accepted.
  func connect(sessionPresent: Bool = false, properties: [UInt8] = []) {
    open()
    accept(sessionPresent: sessionPresent, properties: properties)
  }

  /// CONNACK. The event it makes is taken, and kept for `events`: nothing behind it would be looked at.
  func accept(sessionPresent: Bool = false, properties: [UInt8] = []) {
    taken = []
    receive(connack(session.version, sessionPresent: sessionPresent, properties: properties))
    guard isConnected else { return }
    if let event = session.nextEvent() { taken.append(ReportedEvent(event, self)) }
    session.releaseEvent()
  }

  func lose() { session.connectionClosed() }

  func fallBack() -> Bool { session.fallBack() }

  func disconnect() -> Bool { session.disconnect() }

  /// True: what it had said before has not all been handed out.
  func peerClosed() -> Bool {
    session.peerClosed()
    return session.hasUndeliveredEvent
  }

  func reconnect(sessionPresent: Bool, properties: [UInt8] = []) {
    lose()
    connect(sessionPresent: sessionPresent, properties: properties)
  }

  // MARK: The application

  func publish(
    _ topic: String = "a", _ payload: [UInt8] = [], qos: QoS = .atMostOnce, retain: Bool = false,
    cookie: UInt64 = 0, isQuiet: Bool = false
  ) throws(SessionError) {
    let name = topic.bytes
    try session.publish(
      topic: name.span, payload: payload.span, MessageFlags(qos: qos, retain: retain, isQuiet: isQuiet),
      cookie: cookie)
  }

  /// The same with an overflow policy. False: it was dropped at once.
  func publish(
    _ topic: String = "a", _ payload: [UInt8] = [], qos: QoS = .atMostOnce, retain: Bool = false,
    cookie: UInt64 = 0, isQuiet: Bool = false, overflow: PublishOptions.Overflow, isUrgent: Bool = false
  ) throws(SessionError) -> Bool {
    let name = topic.bytes
    var handling = PublishOptions(cookie: cookie, isQuiet: isQuiet)
    handling.overflow = overflow
    handling.isUrgent = isUrgent
    guard handling.needsSlowPath else {
      try publish(topic, payload, qos: qos, retain: retain, cookie: cookie, isQuiet: isQuiet)
      return true
    }
    return try session.publish(
      Publish(topic: name.span, payload: payload.span, qos: qos, retain: retain), handling, at: now)
  }

  /// The same with everything else a message may have.
  func publish(
    _ topic: String = "a", _ payload: [UInt8] = [], qos: QoS = .atMostOnce, cookie: UInt64 = 0,
    isQuiet: Bool = false, expiry: UInt32 = 0, properties: [UInt8] = []
  ) throws(SessionError) {
    let name = topic.bytes
    var handling = PublishOptions(cookie: cookie, isQuiet: isQuiet)
    handling.expiry = expiry
    try session.publish(
      Publish(
        topic: name.span, payload: payload.span, qos: qos, retain: false, properties: properties.span),
      handling, at: now)
  }

  func reserve(
    _ topic: String = "a", size: Int, qos: QoS = .atMostOnce, cookie: UInt64 = 0, expiry: UInt32 = 0,
    properties: [UInt8] = []
  ) throws(SessionError) {
    try publishWithoutPayload(
      .reserved, topic, size: size, qos: qos, cookie: cookie, expiry: expiry, properties: properties)
  }

  /// Writes the payload of the reservation.
  func fill(_ payload: [UInt8]) {
    Self.fill(&session, payload)
  }

  private static func fill(_ session: inout Session, _ payload: [UInt8]) {
    var space = session.reservedPayload
    for index in 0..<payload.count { space[index] = payload[index] }
  }

  func commit(_ size: Int) throws(SessionError) { try session.commit(payloadSize: size) }

  func abort() throws(SessionError) { try session.abort() }

  func stream(
    _ topic: String = "a", _ payload: [UInt8], qos: QoS = .atMostOnce, cookie: UInt64 = 0,
    expiry: UInt32 = 0, properties: [UInt8] = []
  ) throws(SessionError) {
    try publishWithoutPayload(
      .stream, topic, size: payload.count, qos: qos, cookie: cookie, expiry: expiry, properties: properties)
    streamPayload = payload
  }

  /// Publishes a payload that stays where it is. Returns it, so that a test can write to it once it is the
  /// program's again; `nil`: the message was dropped at once.
  @discardableResult
  func lend(
    _ topic: String = "a", _ payload: [UInt8], qos: QoS = .atMostOnce, cookie: UInt64 = 0,
    isQuiet: Bool = false, overflow: PublishOptions.Overflow = .refuse, isUrgent: Bool = false,
    expiry: UInt32 = 0, properties: [UInt8] = []
  ) throws(SessionError) -> UnsafeMutableBufferPointer<UInt8>? {
    let name = topic.bytes
    let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: max(payload.count, 1))
    bytes.initialize(from: payload, count: payload.count)
    lent.append(bytes)
    var handling = PublishOptions(cookie: cookie, isQuiet: isQuiet)
    handling.overflow = overflow
    handling.isUrgent = isUrgent
    handling.expiry = expiry
    let isAccepted = try session.publishReference(
      Publish(
        topic: name.span, payloadSize: payload.count, qos: qos, retain: false, properties: properties.span),
      handling, unsafe LentBytes(start: bytes, count: payload.count), at: now)
    return isAccepted ? UnsafeMutableBufferPointer(start: bytes, count: payload.count) : nil
  }

  private func publishWithoutPayload(
    _ kind: PublishOptions.Kind, _ topic: String, size: Int, qos: QoS, cookie: UInt64, expiry: UInt32,
    properties: [UInt8]
  ) throws(SessionError) {
    let name = topic.bytes
    var handling = PublishOptions(cookie: cookie, isQuiet: false)
    handling.kind = kind
    handling.expiry = expiry
    try session.publish(
      Publish(topic: name.span, payloadSize: size, qos: qos, retain: false, properties: properties.span),
      handling, at: now)
  }

  func request(
    _ topic: String = "q", _ payload: [UInt8] = [], qos: QoS = .atMostOnce, responseTopic: String = "r",
    timeout: UInt32 = 1000, cookie: UInt64 = 0, expiry: UInt32 = 0, properties: [UInt8] = []
  ) throws(SessionError) {
    let (name, response) = (topic.bytes, responseTopic.bytes)
    var message = Publish(
      topic: name.span, payload: payload.span, qos: qos, retain: false, properties: properties.span)
    message.own.responseTopic = response.span
    var handling = PublishOptions(cookie: cookie, isQuiet: false)
    handling.expiry = expiry
    try session.publishRequest(message, handling, timeout: timeout, at: now)
  }

  func subscribe(
    _ filters: [String], qos: QoS = .atMostOnce, cookie: UInt64 = 0, properties: [UInt8] = [],
    identifier: UInt32 = 0
  ) throws(SessionError) {
    try subscribe(
      Filters(filters.map { ($0, SubscriptionOptions(maximumQoS: qos)) }), cookie: cookie,
      properties: properties, identifier: identifier)
  }

  func subscribe(
    _ list: Filters, cookie: UInt64 = 0, properties: [UInt8] = [], identifier: UInt32 = 0
  ) throws(SessionError) {
    try session.subscribe(list, properties: properties.span, identifier: identifier, cookie: cookie)
  }

  func unsubscribe(
    _ filters: [String], cookie: UInt64 = 0, properties: [UInt8] = []
  ) throws(SessionError) {
    try session.unsubscribe(
      Filters(filters.map { ($0, SubscriptionOptions(maximumQoS: .atMostOnce)) }),
      properties: properties.span, cookie: cookie)
  }

  /// Lends memory for what follows of a large message. Returns it, and eight bytes behind it which are not
  /// lent.
  @discardableResult
  func receive(into size: Int) throws(SessionError) -> UnsafeMutableBufferPointer<UInt8> {
    let space = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: size + 8)
    space.initialize(repeating: 0xEE)
    lent.append(space.baseAddress!)
    try session.receive(into: unsafe LentSpace(start: space.baseAddress, size: size))
    return space
  }

  func endLending() throws(SessionError) {
    try session.receive(into: unsafe LentSpace(start: nil, size: 0))
  }

  func hold() -> Bool { session.hold() }

  func acknowledge(
    _ token: UInt32, _ code: UInt8 = 0, properties: [UInt8] = []
  ) throws(SessionError) {
    try session.acknowledge(token, reasonCode: code, properties: properties.span)
  }

  func authenticate(_ code: UInt8, _ data: [UInt8] = [], properties: [UInt8] = []) throws(SessionError) {
    try session.authenticate(reasonCode: code, data: data.span, properties: properties.span)
  }

  /// Looks at the deadlines, as if so much time had passed.
  func advanceClock(_ milliseconds: UInt32) {
    now = now.advanced(by: milliseconds)
    session.timedOut(at: now)
  }

  func event() -> ReportedEvent? {
    if !taken.isEmpty { return taken.removeFirst() }
    token = 0
    guard let event = nextEvent() else { return nil }
    if case .message(let message) = event { token = message.token }
    return ReportedEvent(event, self)
  }

  /// As smq_next_event() takes it.
  private func nextEvent() -> SessionEvent? {
    switch session.advanceToNextEvent() {
    case .completion where session.plainCompletion != nil:
      session.plainCompletion.map { .completed(session.takePlainCompletion($0)) }
    case .plainMessage: .message(MessageEvent(session.takePlainMessage()))
    case let source: session.takeEvent(source)
    }
  }

  func events() -> [ReportedEvent] {
    var events: [ReportedEvent] = []
    while let event = event() { events.append(event) }
    return events
  }

  /// The bytes an extent of an event or of an ending stands for.
  func received(_ extent: ByteRange) -> [UInt8] { Self.received(extent, session) }

  func lent(_ extent: ByteRange) -> [UInt8] { Self.lent(extent, session) }

  private static func lent(_ extent: ByteRange, _ session: borrowing Session) -> [UInt8] {
    let bytes = session.lentBytes
    return extent.range.map { bytes[$0] }
  }

  func aliasedTopic(_ extent: ByteRange) -> [UInt8] { Self.aliasedTopic(extent, session) }

  func subscribedFilter(_ extent: ByteRange) -> [UInt8] { Self.subscribedFilter(extent, session) }

  private static func subscribedFilter(_ extent: ByteRange, _ session: borrowing Session) -> [UInt8] {
    let bytes = session.subscribedFilters
    return extent.range.map { bytes[$0] }
  }

  private static func received(_ extent: ByteRange, _ session: borrowing Session) -> [UInt8] {
    let bytes = session.receivedBytes
    return extent.range.map { bytes[$0] }
  }

  private static func aliasedTopic(_ extent: ByteRange, _ session: borrowing Session) -> [UInt8] {
    let bytes = session.aliasedTopics
    return extent.range.map { bytes[$0] }
  }
}

/// An event, comparable.
enum ReportedEvent: Equatable, Sendable {
  case connected(sessionPresent: Bool)
  case delivered(UInt64)
  case refused(UInt64, UInt8?)
  case failed(UInt64, DeliveryResult)
  case aboveLimit(UInt64, UInt8?)
  case answered(UInt64, [UInt8], refusal: UInt8?)
  case message(ReceivedMessage)
  case handshake(ControlPacketType, UInt64, UInt8, reason: [UInt8], properties: [UInt8])
  case authentication(UInt8, [UInt8])
  case requestFailed(UInt64, DeliveryResult)
  case responseTimedOut(UInt64)
  case subscriptionLost(String, UInt8)
  case journal(JournalEvent)
  case room

  init(_ event: SessionEvent, _ harness: SessionHarness) {
    switch event {
    case .connected(let connected): self = .connected(sessionPresent: connected.sessionPresent)
    case .room: self = .room
    case .journal(let event): self = .journal(event)
    case .acknowledged: preconditionFailure("it goes with its completion")
    case .subscribeCompleted(let answer):
      self = .answered(answer.cookie, harness.received(answer.reasonCodes), refusal: answer.refusal)
    case .handshake(let event):
      self = .handshake(
        event.type, event.cookie, event.reasonCode, reason: harness.received(event.reasonString),
        properties: harness.received(event.properties))
    case .message(let message): self = .message(ReceivedMessage(message, harness))
    case .authentication(let event): self = .authentication(event.reasonCode, harness.received(event.data))
    case .requestFailed(let completion): self = .requestFailed(completion.cookie, completion.result)
    case .responseTimedOut(let cookie): self = .responseTimedOut(cookie)
    case .subscriptionLost(let filter, let code):
      self = .subscriptionLost(String(decoding: harness.subscribedFilter(filter), as: UTF8.self), code)
    case .completed(let completion):
      switch completion.result {
      case .delivered: self = .delivered(completion.cookie)
      case .refused: self = .refused(completion.cookie, completion.reasonCode)
      case .aboveLimit: self = .aboveLimit(completion.cookie, completion.reasonCode)
      default: self = .failed(completion.cookie, completion.result)
      }
    }
  }
}

/// A message from the server, or a part of it, copied out of the receive buffer. The token is left out.
struct ReceivedMessage: Equatable, Sendable {
  var topic: String
  var payload: [UInt8]
  var payloadOffset = 0
  var payloadSize: Int
  var isFirst = true
  var isLast = true
  var isOversize = false
  var properties: [UInt8] = []
  var qos = QoS.atMostOnce
  var retain = false
  var duplicate = false
  var subscriptionIdentifier: UInt32 = 0
  var responseCookie: UInt64?

  init(_ topic: String, _ payload: [UInt8] = [], qos: QoS = .atMostOnce, duplicate: Bool = false) {
    self.topic = topic
    self.payload = payload
    payloadSize = payload.count
    self.qos = qos
    self.duplicate = duplicate
  }

  init(_ event: MessageEvent, _ harness: SessionHarness) {
    let name = event.isTopicAliased ? harness.aliasedTopic(event.topic) : harness.received(event.topic)
    topic = String(decoding: name, as: UTF8.self)
    payload = event.isLent ? harness.lent(event.payload) : harness.received(event.payload)
    payloadOffset = event.payloadOffset
    payloadSize = event.payloadSize
    isFirst = event.isFirst
    isLast = event.isLast
    isOversize = event.isOversize
    properties = harness.received(event.properties)
    qos = event.qos
    retain = event.retain
    duplicate = event.duplicate
    subscriptionIdentifier = event.subscriptionIdentifier
    responseCookie = event.responseCookie
  }
}

/// A list of Topic Filters with their options.
struct Filters: SubscriptionList, Sendable {
  private var bytes: [UInt8] = []
  private var ranges: [Range<Int>] = []
  private var options: [SubscriptionOptions] = []

  init(_ list: [(String, SubscriptionOptions)]) {
    for (filter, option) in list {
      ranges.append(bytes.count..<bytes.count + filter.utf8.count)
      bytes += filter.bytes
      options.append(option)
    }
  }

  var count: Int { ranges.count }

  @_lifetime(borrow self)
  func filter(at index: Int) -> Span<UInt8> { bytes.span.extracting(ranges[index]) }

  func options(at index: Int) -> SubscriptionOptions { options[index] }
}
