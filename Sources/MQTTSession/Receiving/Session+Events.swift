import MQTTWire
import Storage

/// Where the next event comes from.
public enum EventSource: UInt8, BitwiseCopyable {
  case none
  case connected
  case urgentCompletion
  case completion
  case failedSubscribe
  case lostSubscription
  case overdueResponse
  /// What the server has sent.
  case packet
  /// A packet which is a plain message that `advanceToNextEvent` has just found: `takePlainMessage` costs
  /// less then.
  case plainMessage
  case room
  case journal
}

/// Outputs: events, one at a time (docs/decisions/0011).
extension Session {
  /// The source of the next event, in the order in which events are handed out.
  public var nextSource: EventSource {
    @inline(__always) get {
      if arrival.event.kind == .connected, !arrival.event.isBorrowed { return .connected }
      if let source = sourceBeforePackets { return source }
      if arrival.event.isWaiting { return .packet }
      if hasJournalNews { return .journal }
      return hasRoomEvent ? .room : .none
    }
  }

  private var urgentCompletion: EventSource? {
    @inline(__always) get {
      state.hasUrgent && state.urgent.element.hasCompletion ? .urgentCompletion : nil
    }
  }

  /// The source of an event that comes before a packet other than CONNACK.
  private var sourceBeforePackets: EventSource? {
    @inline(__always) get {
      if let urgentCompletion { return urgentCompletion }
      if state.outbox.hasCompletion { return .completion }
      if state.subscribeQueue.hasFailure { return .failedSubscribe }
      if state.subscriptions.hasRefused { return .lostSubscription }
      return state.overdueAt == nil ? nil : .overdueResponse
    }
  }

  /// Whether `releaseEvent` has something to do.
  public var hasEventToRelease: Bool {
    @inline(__always) get { arrival.event.isBorrowed || state.lostSubscription != nil }
  }

  /// Whether `nextEvent` will return an event.
  public var hasEvent: Bool { nextSource != .none }

  /// Whether an event was handed out and not yet released: what is behind it has not been parsed.
  public var eventIsBorrowed: Bool { arrival.event.isBorrowed }

  /// Whether an event in the receive buffer was not released yet.
  public var hasUndeliveredEvent: Bool { arrival.event.kind != .none }

  /// Releases the last event, and returns the next one.
  public mutating func nextEvent() -> SessionEvent? {
    let source = advanceToNextEvent()
    return takeEvent(source)
  }

  /// Releases the last event, and returns the source of the next one.
  @inline(__always)
  public mutating func advanceToNextEvent() -> EventSource {
    // Most often another message follows.
    guard releaseAndParsePlain() else { return nextSource }
    return sourceBeforePackets ?? .plainMessage
  }

  /// Takes the event of the source that `advanceToNextEvent` returned.
  @inline(never)
  public mutating func takeEvent(_ source: EventSource) -> SessionEvent? {
    switch source {
    case .none: return nil
    case .urgentCompletion:
      guard Feature.hasUrgent else { return nil }
      return state.urgent.element.takeCompletion().map { event($0, isUrgent: true) }
    case .completion: return state.outbox.takeCompletion().map { event($0, isUrgent: false) }
    case .failedSubscribe: return takeFailedSubscribe()
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
    case .journal: return takeJournalEvent()
    }
  }

  /// The slot of the completion that comes next, if there is no event to release, and the completion
  /// reports only that its message was delivered.
  public var plainCompletion: Int? {
    @inline(__always) get {
      guard Feature.hasFastPaths, !arrival.event.precedesCompletions, urgentCompletion == nil else {
        return nil
      }
      return state.outbox.plainCompletion
    }
  }

  /// Takes the completion whose slot `plainCompletion` has just returned.
  @inline(__always)
  public mutating func takePlainCompletion(_ slot: Int) -> Completion {
    state.outbox.takeCompletion(first: slot)
  }

  /// Takes the completion of a message, if that is the next event, the message was no request, and nothing
  /// came with its acknowledgement. There must be no event to release.
  @inline(__always)
  public mutating func takeBareCompletion() -> Completion? {
    guard !arrival.event.precedesCompletions else { return nil }
    if state.hasUrgent, state.urgent.element.hasCompletion {
      return state.urgent.element.takeBareCompletion()
    }
    return state.outbox.takeBareCompletion()
  }

  /// Takes the event of `EventSource.plainMessage`.
  @inline(__always)
  public mutating func takePlainMessage() -> PlainMessage {
    arrival.event.isBorrowed = true
    arrival.event.isHeld = policy.holdsMessages
    return arrival.event.message
  }

  /// Releases the event that was handed out last: its message may be acknowledged, and what is behind it
  /// parsed.
  public mutating func releaseEvent() { _ = releaseAndParsePlain() }

  /// Returns true if a plain message follows, which is the pending event now.
  @inline(always)
  private mutating func releaseAndParsePlain() -> Bool {
    guard arrival.event.isBorrowed else {
      if state.lostSubscription != nil { forgetLostSubscription() }
      return false
    }
    consumeEvent()
    if parsePlainMessage() == .pending { return true }
    parse()
    return false
  }

  /// Removes the event, and frees its bytes.
  @inline(__always)
  mutating func consumeEvent() {
    let bytes = arrival.event.bytes
    if bytes.offset == 0 {
      receiver.consume(bytes.count)
    } else {
      receiver.removeRange(at: bytes.offset, count: bytes.count)
    }
    if !arrival.batch.isEmpty { acceptBatch() }
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

  /// Makes the event of a completion, with what came with the acknowledgement.
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
    state.responses.remove(tag: tag)
    updateOverdue()
    return .requestFailed(completion)
  }

  @inline(never)
  @_optimize(size)
  private mutating func takeFailedSubscribe() -> SessionEvent? {
    guard let slot = state.subscribeQueue.firstFailed else { return nil }
    recordSuback(slot, nil)
    let failure = state.subscribeQueue.removeFailed(slot)
    return .completed(
      Completion(
        cookie: failure.cookie, type: failure.type, result: failure.result,
        reasonCode: failure.result == .aboveLimit ? failure.reasonCode : nil, responseTag: nil, slot: -1))
  }

  private mutating func takeLostSubscription() -> SessionEvent? {
    guard let slot = state.subscriptions.firstRefused else { return nil }
    state.lostSubscription = UInt16(truncatingIfNeeded: slot)
    return .subscriptionLost(
      filter: state.subscriptions.filter(slot), reasonCode: state.subscriptions[slot].reasonCode)
  }

  @inline(never)
  private mutating func forgetLostSubscription() {
    if let slot = state.lostSubscription { state.subscriptions.forget(Int(slot)) }
    state.lostSubscription = nil
  }

  private mutating func takeOverdueResponse() -> SessionEvent? {
    state.outbox.locateRequests(&state.responses)
    guard let time = state.overdueAt, let request = state.responses.removeExpired(at: time) else {
      state.overdueAt = nil
      return takeEvent(nextSource)
    }
    updateOverdue()
    state.outbox.dismiss(request, isTimeUp: true, quota: &connection.quota)
    return .responseTimedOut(cookie: request.cookie)
  }

  /// After a request has ended there may be no other whose response was overdue at the last check.
  mutating func updateOverdue() {
    guard let time = state.overdueAt else { return }
    if let deadline = state.responses.deadline, deadline.isReached(at: time) { return }
    state.overdueAt = nil
  }
}

extension MessageEvent {
  /// Makes the event of a plain message.
  @inline(__always)
  public init(_ message: PlainMessage) {
    topic = message.topic
    isTopicAliased = false
    payload = message.payload
    payloadOffset = 0
    payloadSize = message.payload.count
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
