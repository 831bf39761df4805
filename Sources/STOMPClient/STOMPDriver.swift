public import Driver
public import Platform
public import STOMPSession
public import Storage
public import Transports

/// STOMP's driver.
public typealias STOMPDriver<System: Platform & ~Copyable> = Driver<STOMPEngine, AnyTransport, System>

extension Driver where Engine == STOMPEngine, Link == AnyTransport, System: ~Copyable {
  /// The caller guarantees that `options` are those the plan was made with.
  public init(
    _ options: borrowing STOMPClientOptions, plan: borrowing STOMPClientPlan, block: borrowing Arena,
    on system: consuming System
  ) {
    let tcp = TCP(
      addresses: block.table(plan.driver.addresses), asksAddresses: options.driver.asksAddresses)
    self.init(
      over: AnyTransport(options.transport, tcp, options.layers, plan: plan.layers, block: block),
      on: system, options.driver, plan: plan.driver, block: block
    ) { _ in STOMPEngine(options, plan: plan, block: block) }
  }

  /// Overwrites secrets, before the block goes back to the application.
  public mutating func wipeSecrets() {
    engine.session.wipeSecrets()
    link.wipeSecrets()
  }

  /// The request of the next attempts. False: there is no room for it.
  public mutating func setWebSocketRequest(path: Span<UInt8>, headers: Span<UInt8>) -> Bool {
    link.setWebSocketRequest(path: path, headers: headers)
  }
}

extension Driver where Engine == STOMPEngine, Link: ~Copyable, System: ~Copyable {
  /// Releases the last event. True: the next one is a message, and was taken; it is `engine.session.eventMessage`.
  @inline(__always)
  public mutating func takeMessage() -> Bool {
    offeredBytes = 0
    return engine.takeMessage()
  }
}

/// Things the application wants of STOMP. Each may change `output`: of bytes that were offered to an application with a
/// transport of its own, none count as taken any more.
extension Driver where Engine == STOMPEngine, Link: ~Copyable, System: ~Copyable {
  /// False: `send` is to be asked.
  @inline(__always)
  public mutating func sendPlain(
    to destination: Span<UInt8>, _ body: Span<UInt8>, isQuiet: Bool, cookie: UInt64
  ) -> Bool {
    offeredBytes = 0
    return engine.session.sendPlain(to: destination, body, isQuiet: isQuiet, cookie: cookie)
  }

  public mutating func send(_ frame: borrowing OutgoingFrame) throws(STOMPError) -> Bool {
    offeredBytes = 0
    return try engine.session.send(frame)
  }

  public mutating func subscribe(
    to destination: Span<UInt8>, _ mode: AckMode, headers: Span<UInt8>, cookie: UInt64
  ) throws(STOMPError) -> Int {
    offeredBytes = 0
    return try engine.session.subscribe(to: destination, mode, headers: headers, cookie: cookie)
  }

  public mutating func unsubscribe(
    _ slot: Int, headers: Span<UInt8>, cookie: UInt64
  ) throws(STOMPError) {
    offeredBytes = 0
    try engine.session.unsubscribe(slot, headers: headers, cookie: cookie)
    engine.session.resume(at: now)
  }

  public mutating func acknowledge(
    _ token: UInt64, isAccepted: Bool, headers: Span<UInt8>, transaction: UInt16
  ) throws(STOMPError) {
    offeredBytes = 0
    try engine.session.acknowledge(
      token, isAccepted: isAccepted, headers: headers, transaction: transaction)
    engine.session.resume(at: now)
  }

  public mutating func begin() throws(STOMPError) -> UInt16 {
    offeredBytes = 0
    return try engine.session.begin()
  }

  public mutating func commit(_ transaction: UInt16, cookie: UInt64) throws(STOMPError) {
    offeredBytes = 0
    try engine.session.commit(transaction, cookie: cookie)
  }

  public mutating func abort(_ transaction: UInt16, cookie: UInt64) throws(STOMPError) {
    offeredBytes = 0
    try engine.session.abort(transaction, cookie: cookie)
  }

  /// The answer to `credentialsWanted`. Only that of this attempt counts.
  public mutating func provide(
    login: Span<UInt8>, passcode: Span<UInt8>, attempt: UInt32, at now: Instant
  ) throws(STOMPError) {
    do throws(QueryError) {
      try expectCredentials(attempt: attempt)
    } catch {
      throw error == .token ? .token : .state
    }
    try engine.session.setCredentials(login: login, passcode: passcode)
    credentialsAreSet(at: now)
  }

  /// Tells another function of frames, or none.
  public mutating func observe(_ tap: FrameTap?) { engine.observe(tap) }

  /// Disconnects when everything is sent and confirmed, or after `drain` milliseconds.
  public mutating func disconnect(drain: UInt32, at now: Instant) {
    guard beginDisconnect(drain: drain, at: now) else { return }
    engine.beginDisconnect()
    engine.session.resume(at: now)
  }
}
