public import Driver
public import MQTTSession
public import MQTTWire
public import Platform
public import Storage
public import Transports

/// MQTT's driver.
public typealias Client<System: Platform & ~Copyable> = Driver<MQTTEngine, AnyTransport, System>

public typealias ClientEvent = DriverEvent<SessionEvent, MQTTEngine.CloseDetails>
public typealias ClientFailure = ConnectionFailure<MQTTEngine.CloseDetails>

extension Driver where Engine == MQTTEngine, Link == AnyTransport, System: ~Copyable {
  /// The caller guarantees that `options` are those the plan was made with.
  public init(
    _ options: borrowing ClientOptions, plan: borrowing ClientPlan, block: borrowing Arena,
    on system: consuming System
  ) {
    let tcp = TCP(
      addresses: block.table(plan.driver.addresses), asksAddresses: options.driver.asksAddresses)
    self.init(
      over: AnyTransport(options.transport, tcp, options.layers, plan: plan.layers, block: block),
      on: system,
      options.driver, plan: plan.driver, block: block
    ) { system in MQTTEngine(options, plan: plan, block: block, on: system) }
  }
}

// MARK: Getters

extension Driver where Engine == MQTTEngine, Link: ~Copyable, System: ~Copyable {
  public var counters: Counters { engine.session.counters }
  public var outboxNumbers: OutboxNumbers { engine.session.outboxNumbers }
  public var inboxNumbers: InboxNumbers { engine.session.inboxNumbers }
  public var submissionNumbers: SubmissionNumbers { engine.submissionNumbers }
  public var isDrained: Bool { engine.isDrained }
  public var hasJournal: Bool { engine.hasJournal }
  public var journalNumbers: JournalNumbers? {
    mutating get { engine.session.journalNumbers }
  }

  /// How long the oldest message that was not sent yet waits, as of the last step; 0: none does.
  public var outboxAge: UInt32 {
    guard let since = engine.session.outboxNumbers.waitingSince else { return 0 }
    // What was published since the last step is newer than that.
    return since.isReached(at: now) ? now.milliseconds &- since.milliseconds : 0
  }

  public var version: ProtocolVersion { engine.session.version }

  /// What the server can do; `nil` without a connection.
  public var server: ServerLimits? { engine.session.isAccepted ? engine.session.limits : nil }

  public var clientID: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { engine.session.clientID }
  }

  /// Where the topic of a message is that came as a Topic Alias.
  public var aliasedTopics: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { engine.session.aliasedTopics }
  }

  /// Where the Topic Filter of a subscription is that resubscribing could not make again.
  public var subscribedFilters: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { engine.session.subscribedFilters }
  }

  /// What the byte ranges of events refer to.
  public var receivedBytes: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { engine.session.receivedBytes }
  }

  /// Where the payload of a part is that was received into memory of the program.
  public var lentBytes: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { engine.session.lentBytes }
  }

  // MARK: Events

  /// `advanceToNextEvent` has something to release.
  public var hasEventToRelease: Bool {
    @inline(__always) get { engine.session.hasEventToRelease }
  }

  /// Where the next event comes from, if there is nothing to release.
  public var nextSource: EventSource {
    @inline(__always) mutating get {
      offeredBytes = 0
      return engine.session.nextSource
    }
  }

  /// Releases the last event, and says where the next one comes from; `none`: the session has none, but
  /// `take` may find one of the driver.
  @inline(__always)
  public mutating func advanceToNextEvent() -> EventSource {
    offeredBytes = 0
    return engine.session.advanceToNextEvent()
  }

  /// The slot of the next completion, if it only reports that a message was delivered. `nil` if another event
  /// comes first. To be asked only when there is no event to release.
  public var plainCompletion: Int? {
    @inline(__always) get { engine.session.plainCompletion }
  }

  /// Takes the completion whose slot `plainCompletion` has just told.
  @inline(__always)
  public mutating func takePlainCompletion(_ slot: Int) -> Completion {
    offeredBytes = 0
    return engine.session.takePlainCompletion(slot)
  }

  /// Releases the last event.
  @inline(never)
  public mutating func releaseEvent() {
    offeredBytes = 0
    engine.release()
  }

  /// Takes the completion of a message that comes next, if no details came with it. To be called only when
  /// there is no event to release.
  @inline(never)
  public mutating func takeBareCompletion() -> Completion? {
    offeredBytes = 0
    return engine.session.takeBareCompletion()
  }

  /// Takes the event of `EventSource.plainMessage`.
  @inline(__always)
  public mutating func takePlainMessage() -> PlainMessage { engine.session.takePlainMessage() }

  /// Takes a message that follows the event of `takePlainMessage`, without releasing that.
  @inline(__always)
  public mutating func takeAnotherPlainMessage() -> PlainMessage? {
    engine.session.takeAnotherPlainMessage()
  }

  /// Takes the event of the source that `advanceToNextEvent` has named.
  public mutating func take(_ source: EventSource) -> ClientEvent? {
    if let event = engine.session.takeEvent(source) { return .engine(event) }
    return nextOwnEvent()
  }
}
