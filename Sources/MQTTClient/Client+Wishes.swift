public import MQTTSession
public import MQTTTransport
public import MQTTWire
import Storage

/// Things the application wants. With a transport of its own each may change what it was given to send.
extension Client where System: ~Copyable {
  /// Starts to connect. False: it is about to already, there is a connection, or its end has not been taken.
  public mutating func connect(at now: Instant) -> Bool {
    guard phase == .disconnected, failure == nil else { return false }
    isLeaving = false
    isWanted = true
    beginRound()
    begin(at: now)
    return true
  }

  /// The next attempt goes to the server of these options, takes as long as they say, and says what they say in
  /// CONNECT; what is queued and in flight stays. The rest of them is to be what it was. False, and nothing has
  /// changed: there is an attempt or a connection, or it does not fit (`ClientOptions.hostBytes`,
  /// `SessionOptions.connectBytes`). For a client with one server.
  public mutating func renew(_ options: borrowing ClientOptions) -> Bool {
    let host = options.hosts.extracting(options.servers.host(0).range)
    guard phase == .disconnected, servers.count == 1, options.servers.count == 1,
      servers.hasRoom(for: host.count), session.renew(options.session)
    else { return false }
    servers.set(0, host, port: options.servers.port(0) == 0 ? options.port : options.servers.port(0))
    connectTimeout = options.connectTimeout
    return true
  }

  /// `SessionOptions.inFlightMaximum`, from the next CONNACK on.
  public mutating func setInFlightMaximum(_ maximum: Int) { session.inFlightMaximum = maximum }

  /// A message that is no more than a topic and a payload.
  @inline(__always)
  public mutating func publish(
    topic: Span<UInt8>, payload: Span<UInt8>, _ flags: MessageFlags, cookie: UInt64
  ) throws(SessionError) {
    outputSize = 0
    try session.publish(topic: topic, payload: payload, flags, cookie: cookie)
  }

  /// False: it was dropped at once, as it asked for.
  public mutating func publish(
    _ message: borrowing Publish, _ options: PublishOptions, at now: Instant
  ) throws(SessionError) -> Bool {
    outputSize = 0
    return try session.publish(message, options, at: now)
  }

  public mutating func publishStream(
    _ message: borrowing Publish, _ options: PublishOptions, from source: PayloadSource, at now: Instant
  ) throws(SessionError) -> Bool {
    outputSize = 0
    guard try session.publish(message, options, at: now) else { return false }
    payloadSource = source
    pullAgain = nil
    return true
  }

  public mutating func publishRequest(
    _ message: consuming Publish, _ options: PublishOptions, timeout: UInt32, at now: Instant
  ) throws(SessionError) -> Bool {
    outputSize = 0
    return try session.publishRequest(message, options, timeout: timeout, at: now)
  }

  public var reservedPayload: MutableSpan<UInt8> {
    @_lifetime(&self)
    mutating get { session.reservedPayload }
  }

  public mutating func commit(payloadSize: Int) throws(SessionError) {
    outputSize = 0
    try session.commit(payloadSize: payloadSize)
  }

  public mutating func abort() throws(SessionError) {
    outputSize = 0
    try session.abort()
  }

  public mutating func request<List: SubscriptionList & ~Copyable & ~Escapable>(
    _ type: ControlPacketType, _ list: consuming List, properties: Span<UInt8>, identifier: UInt32,
    cookie: UInt64
  ) throws(SessionError) {
    outputSize = 0
    try session.request(type, list, properties: properties, identifier: identifier, cookie: cookie)
  }

  public mutating func hold() -> Bool { session.hold() }

  /// The Packet Identifier that a message came with, as long as it is not acknowledged.
  public func packetIdentifier(of token: UInt32) -> UInt16? { session.packetIdentifier(of: token) }

  /// A message or a request has this Packet Identifier; the drop-in asks.
  public func isGiven(_ identifier: PacketIdentifier, _ count: UInt32) -> Bool {
    session.isGiven(identifier, count)
  }

  public mutating func acknowledge(
    _ token: UInt32, reasonCode: UInt8, properties: Span<UInt8>
  ) throws(SessionError) {
    outputSize = 0
    try session.acknowledge(token, reasonCode: reasonCode, properties: properties)
  }

  public mutating func authenticate(
    reasonCode: UInt8, data: Span<UInt8>, properties: Span<UInt8>
  ) throws(SessionError) {
    outputSize = 0
    try session.authenticate(reasonCode: reasonCode, data: data, properties: properties)
  }

  /// Leaves when all is sent and acknowledged, or after `drain` milliseconds.
  public mutating func disconnect(
    drain: UInt32, reasonCode: UInt8, properties: Span<UInt8>, at now: Instant
  ) throws(SessionError) {
    try session.checkDisconnect(reasonCode: reasonCode, properties: properties)
    self.now = now
    outputSize = 0
    isWanted = false
    guard phase == .open, session.canSendDisconnect, loss == nil else { return giveUp() }
    connectDeadline = nil
    let deadline = now.advanced(by: session.isAccepted ? drain : 0)
    leaveDeadline = isLeaving ? Instant.earlier(leaveDeadline, deadline) : deadline
    guard !isLeaving else { return }
    submissions.collect()
    isLeaving = true
    session.beginDisconnect(reasonCode: reasonCode, properties: properties)
  }

  /// Closes the transport without a word, so that the server takes the client for lost (and its Will for due).
  public mutating func cutOff(at now: Instant) {
    self.now = now
    outputSize = 0
    isWanted = false
    guard phase == .open, loss == nil else { return giveUp() }
    end(Failure(cause: .closed, stage: .connected))
  }

  /// There is nobody to say goodbye to.
  private mutating func giveUp() {
    switch phase {
    case .disconnected, .closing: break
    case .waiting where failure != nil:
      // The event that is still to be taken says it all.
      failure?.retry = nil
      phase = .disconnected
      retryDeadline = nil
    default: if loss == nil { end(.requested) }
    }
  }

  /// The network is there again, or the machine woke up: a wait is as short as the backoff allows, and a connection
  /// is looked at.
  public mutating func hintUp(at now: Instant) {
    self.now = now
    outputSize = 0
    note(.hint, 1)
    retryDeadline =
      retryDeadline.map { Instant.earlier($0, retrySince.advanced(by: backoff.shortest)) } ?? nil
    session.probe(at: now)
  }

  /// The network is gone, it is said: a connection is looked at.
  public mutating func hintDown(at now: Instant) {
    self.now = now
    outputSize = 0
    note(.hint, 0)
    session.probe(at: now)
  }

  /// What ends a wait from any other thread; `nil`: the system has no descriptor left for it.
  public mutating func wakeUp() -> WakeUp? { try? platform.wakeUp() }
}
