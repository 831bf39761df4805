public import Driver
public import MQTTSession
public import MQTTWire
import Platform
public import Storage
import Transports

/// Things the application wants of MQTT. Each may change `output`: of bytes that were offered to an
/// application with a transport of its own, none count as taken any more.
extension Driver where Engine == MQTTEngine, Link: ~Copyable, System: ~Copyable {
  /// The next attempt goes to the server of these options, takes as long as they say, and says what they say
  /// in CONNECT; what is queued and in flight stays. The rest of them is to be what it was. False, and
  /// nothing has changed: there is an attempt or a connection, or it does not fit (`ClientOptions.hostBytes`,
  /// `SessionOptions.connectBytes`). For a client with one server.
  public mutating func renew(_ options: borrowing ClientOptions) -> Bool {
    let host = options.driver.hosts.extracting(options.driver.servers.host(0).range)
    guard options.driver.servers.count == 1, canSetServer(hostSize: host.count),
      engine.session.renew(options.session)
    else { return false }
    let port = options.driver.servers.port(0) == 0 ? options.driver.port : options.driver.servers.port(0)
    setServer(host, port: port, connectTimeout: options.driver.connectTimeout)
    return true
  }

  /// `SessionOptions.inFlightMaximum`, from the next CONNACK on.
  public mutating func setInFlightMaximum(_ maximum: Int) { engine.session.inFlightMaximum = maximum }

  /// Publishes a message that is a topic and a payload, without options.
  @inline(__always)
  public mutating func publish(
    topic: Span<UInt8>, payload: Span<UInt8>, _ flags: MessageFlags, cookie: UInt64
  ) throws(SessionError) {
    offeredBytes = 0
    try engine.session.publish(topic: topic, payload: payload, flags, cookie: cookie)
  }

  /// False: it was dropped at once, as it asked for.
  public mutating func publish(
    _ message: consuming Publish, _ options: PublishOptions, at now: Instant
  ) throws(SessionError) -> Bool {
    offeredBytes = 0
    return try engine.session.publish(message, options, at: now)
  }

  public mutating func publishStream(
    _ message: consuming Publish, _ options: PublishOptions, from source: PayloadSource, at now: Instant
  ) throws(SessionError) -> Bool {
    offeredBytes = 0
    guard try engine.session.publish(message, options, at: now) else { return false }
    engine.pull(from: source)
    return true
  }

  /// False: it was dropped at once, as it asked for.
  public mutating func publishReference(
    _ message: consuming Publish, _ options: PublishOptions, _ payload: LentBytes, at now: Instant
  ) throws(SessionError) -> Bool {
    offeredBytes = 0
    return try engine.session.publishReference(message, options, payload, at: now)
  }

  public mutating func publishRequest(
    _ message: consuming Publish, _ options: PublishOptions, timeout: UInt32, at now: Instant
  ) throws(SessionError) -> Bool {
    offeredBytes = 0
    return try engine.session.publishRequest(message, options, timeout: timeout, at: now)
  }

  public var reservedPayload: MutableSpan<UInt8> {
    @_lifetime(&self)
    mutating get { engine.session.reservedPayload }
  }

  public mutating func commit(payloadSize: Int) throws(SessionError) {
    offeredBytes = 0
    try engine.session.commit(payloadSize: payloadSize)
  }

  public mutating func abort() throws(SessionError) {
    offeredBytes = 0
    try engine.session.abort()
  }

  /// `identifier`: the Subscription Identifier; 0: none.
  public mutating func subscribe<List: SubscriptionList & ~Copyable & ~Escapable>(
    _ list: consuming List, properties: Span<UInt8>, identifier: UInt32, cookie: UInt64
  ) throws(SessionError) {
    offeredBytes = 0
    try engine.session.subscribe(list, properties: properties, identifier: identifier, cookie: cookie)
  }

  public mutating func unsubscribe<List: SubscriptionList & ~Copyable & ~Escapable>(
    _ list: consuming List, properties: Span<UInt8>, cookie: UInt64
  ) throws(SessionError) {
    offeredBytes = 0
    try engine.session.unsubscribe(list, properties: properties, cookie: cookie)
  }

  /// Lends memory for what follows of the message that was handed out last, or takes it back.
  public mutating func receive(into space: LentSpace) throws(SessionError) {
    offeredBytes = 0
    try engine.session.receive(into: space)
  }

  public mutating func hold() -> Bool { engine.session.hold() }

  /// The Packet Identifier that a message came with, as long as it is not acknowledged.
  public func packetIdentifier(of token: UInt32) -> UInt16? { engine.session.packetIdentifier(of: token) }

  /// The number of a QoS 2 message that is not acknowledged; it survives the end of the process.
  @_optimize(size)
  public mutating func deliveryNumber(of token: UInt32) throws(SessionError) -> Counter {
    try engine.session.deliveryNumber(of: token)
  }

  /// Returns whether a message, a SUBSCRIBE or an UNSUBSCRIBE has this Packet Identifier; the drop-in asks.
  public func isIdentifierInUse(_ identifier: PacketIdentifier, _ count: UInt32) -> Bool {
    engine.session.isIdentifierInUse(identifier, count)
  }

  public mutating func acknowledge(
    _ token: UInt32, reasonCode: UInt8, properties: Span<UInt8>
  ) throws(SessionError) {
    offeredBytes = 0
    try engine.session.acknowledge(token, reasonCode: reasonCode, properties: properties)
  }

  public mutating func authenticate(
    reasonCode: UInt8, data: Span<UInt8>, properties: Span<UInt8>
  ) throws(SessionError) {
    offeredBytes = 0
    try engine.session.authenticate(reasonCode: reasonCode, data: data, properties: properties)
  }

  /// The answer to `credentialsWanted`. Only that of this attempt counts.
  public mutating func provide(
    userName: Span<UInt8>, password: Span<UInt8>, attempt: UInt32, at now: Instant
  ) throws(SessionError) {
    do throws(QueryError) {
      try expectCredentials(attempt: attempt)
    } catch {
      throw error == .token ? .token : .state
    }
    try engine.session.setCredentials(userName: userName, password: password)
    credentialsAreSet(at: now)
  }

  /// Disconnects when everything is sent and acknowledged, or after `drain` milliseconds.
  public mutating func disconnect(
    drain: UInt32, reasonCode: UInt8, properties: Span<UInt8>, at now: Instant
  ) throws(SessionError) {
    try engine.session.checkDisconnect(reasonCode: reasonCode, properties: properties)
    if beginDisconnect(drain: drain, at: now) {
      engine.beginDisconnect(reasonCode: reasonCode, properties: properties)
    }
  }
}
