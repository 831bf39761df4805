import MQTTWire
import Storage

/// Where the next event comes from.
public enum EventSource: UInt8, BitwiseCopyable {
  case none
  case connected
  case urgentCompletion
  case completion
  case failedRequest
  case lostSubscription
  case overdueResponse
  /// What the server has sent.
  case packet
  /// The same, if it is a plain message that `advanceToNextEvent` has just found: `takePlainMessage` is cheaper then.
  case plainMessage
  case room
}

/// Outputs: what the application should know, one event at a time (docs/decisions/0011).
extension Session {
  /// The order in which things are told.
  public var nextSource: EventSource {
    @inline(__always) get {
      if arrival.event.kind == .connected, !arrival.event.isBorrowed { return .connected }
      if let source = sourceBeforePackets { return source }
      if arrival.event.isWaiting { return .packet }
      return hasRoomEvent ? .room : .none
    }
  }

  private var urgentCompletion: EventSource? {
    @inline(__always) get {
      state.hasUrgent && state.urgent.element.hasCompletion ? .urgentCompletion : nil
    }
  }

  /// What is told before a packet that has come and is no CONNACK.
  private var sourceBeforePackets: EventSource? {
    @inline(__always) get {
      if let urgentCompletion { return urgentCompletion }
      if state.outbox.hasCompletion { return .completion }
      if state.requests.hasFailure { return .failedRequest }
      if state.subscriptions.hasRefused { return .lostSubscription }
      return state.overdueAt == nil ? nil : .overdueResponse
    }
  }

  /// `release` has something to do.
  public var hasEventToRelease: Bool {
    @inline(__always) get { arrival.event.isBorrowed || state.lostSubscription != nil }
  }

  /// `nextEvent` will find one.
  public var hasEvent: Bool { nextSource != .none }

  /// An event was handed out and not yet released: what is behind it has not been looked at.
  public var eventIsBorrowed: Bool { arrival.event.isBorrowed }

  /// What the transport brought has not all been handed out.
  public var hasUndeliveredEvent: Bool { arrival.event.kind != .none }

  /// The next thing the application should know. Releases the event before.
  public mutating func nextEvent() -> SessionEvent? {
    let source = advanceToNextEvent()
    return take(source)
  }

  /// Releases the event before. What comes next is there to be taken.
  @inline(__always)
  public mutating func advanceToNextEvent() -> EventSource {
    // Most often one message follows another.
    guard releaseAndShow() else { return nextSource }
    return sourceBeforePackets ?? .plainMessage
  }

  /// The event of the source that `advanceToNextEvent` has told.
  @inline(never)
  public mutating func take(_ source: EventSource) -> SessionEvent? {
    switch source {
    case .none: return nil
    case .urgentCompletion:
      guard Feature.hasUrgent else { return nil }
      return state.urgent.element.takeCompletion().map { event($0, isUrgent: true) }
    case .completion: return state.outbox.takeCompletion().map { event($0, isUrgent: false) }
    case .failedRequest: return takeFailedRequest()
    case .lostSubscription: return takeLostSubscription()
    case .overdueResponse: return takeOverdueResponse()
    case .packet where arrival.event.kind != .plainMessage: return takePacket()
    case .packet, .plainMessage:
      guard Feature.hasFastPaths else { return nil }
      return .message(MessageEvent(takePlainMessage()))
    case .connected: return takePacket()
    case .room:
      let hasRoom = state.outbox.takeRoomEvent()
      guard state.hasUrgent else { return hasRoom ? .room : nil }
      return state.urgent.element.takeRoomEvent() || hasRoom ? .room : nil
    }
  }

  /// The slot of the completion that comes next, if there is no event to release, and it says no more than that its message
  /// has arrived.
  public var plainCompletion: Int? {
    @inline(__always) get {
      guard Feature.hasFastPaths, !arrival.event.precedesCompletions, urgentCompletion == nil else {
        return nil
      }
      return state.outbox.plainCompletion
    }
  }

  /// The completion whose slot `plainCompletion` has just told.
  @inline(__always)
  public mutating func takePlainCompletion(_ slot: Int) -> Completion {
    state.outbox.takeCompletion(first: slot)
  }

  /// That of `EventSource.plainMessage`.
  @inline(__always)
  public mutating func takePlainMessage() -> PlainMessage {
    arrival.event.isBorrowed = true
    arrival.event.isHeld = policy.holdsMessages
    return arrival.event.message
  }

  /// The application has done with the event that was handed out last: a message may be acknowledged, and what
  /// is behind it parsed.
  public mutating func release() { _ = releaseAndShow() }

  /// True: behind the event is a plain message, which is the event now.
  @inline(always)
  private mutating func releaseAndShow() -> Bool {
    guard arrival.event.isBorrowed else {
      if state.lostSubscription != nil { forgetLostSubscription() }
      return false
    }
    releaseEvent()
    if showPlainMessage() == .shown { return true }
    parse()
    return false
  }

  /// There is no event any more; its bytes are free.
  @inline(__always)
  mutating func releaseEvent() {
    let bytes = arrival.event.bytes
    if bytes.offset == 0 {
      receiver.consume(bytes.count)
    } else {
      receiver.removeRange(at: bytes.offset, count: bytes.count)
    }
    let token = arrival.event.token
    guard token != 0 else { return arrival.event.clear() }
    let isHeld = arrival.event.isHeld
    arrival.event.clear()
    if !isHeld { accept(token) }
  }

  // MARK: Helpers

  private var hasRoomEvent: Bool {
    state.outbox.hasNewRoom || (state.hasUrgent && state.urgent.element.hasNewRoom)
  }

  private mutating func takePacket() -> SessionEvent {
    let event = arrival.event.event
    arrival.event.isBorrowed = true
    if case .message = event { arrival.event.isHeld = policy.holdsMessages }
    return event
  }

  /// A completion, with what came with the acknowledgement.
  private mutating func event(_ completion: Completion, isUrgent: Bool) -> SessionEvent {
    var completion = completion
    if arrival.event.kind == .acknowledged, case .acknowledged(let details) = arrival.event.event,
      details.slot == completion.slot, details.isUrgent == isUrgent
    {
      completion.reasonString = details.reasonString
      completion.properties = details.properties
      arrival.event.isBorrowed = true
    }
    guard let tag = completion.responseTag else { return .completed(completion) }
    state.responses.take(tag: tag)
    updateOverdue()
    return .requestFailed(completion)
  }

  private mutating func takeFailedRequest() -> SessionEvent? {
    guard let place = state.requests.firstFailure else { return nil }
    settle(place, nil)
    let failure = state.requests.takeFailure(place)
    return .completed(
      Completion(
        cookie: failure.cookie, type: failure.type, result: failure.result,
        reasonCode: failure.result == .aboveLimit ? failure.reasonCode : nil, responseTag: nil, slot: -1))
  }

  private mutating func takeLostSubscription() -> SessionEvent? {
    guard let slot = state.subscriptions.firstRefused else { return nil }
    state.lostSubscription = slot
    return .subscriptionLost(
      filter: state.subscriptions.filter(slot), reasonCode: state.subscriptions[slot].reasonCode)
  }

  @inline(never)
  private mutating func forgetLostSubscription() {
    if let slot = state.lostSubscription { state.subscriptions.forget(slot) }
    state.lostSubscription = nil
  }

  private mutating func takeOverdueResponse() -> SessionEvent? {
    guard let time = state.overdueAt, let request = state.responses.takeExpired(at: time) else {
      state.overdueAt = nil
      return take(nextSource)
    }
    updateOverdue()
    state.outbox.dismiss(request, isTimeUp: true, quota: &connection.quota)
    return .responseTimedOut(cookie: request.cookie)
  }

  /// A request has ended: there may be no other whose time was up at the last look.
  mutating func updateOverdue() {
    guard let time = state.overdueAt else { return }
    if let deadline = state.responses.deadline, deadline.isReached(at: time) { return }
    state.overdueAt = nil
  }
}

extension MessageEvent {
  /// A plain message as any other is told.
  @inline(__always)
  public init(_ message: PlainMessage) {
    topic = message.topic
    isTopicAliased = false
    payload = message.payload
    payloadOffset = 0
    payloadSize = message.payload.count
    isFirst = true
    isLast = true
    isOversize = false
    properties = .empty
    qos = message.qos
    retain = message.retain
    duplicate = false
    subscriptionIdentifier = 0
    token = message.token
    responseCookie = nil
  }
}
