import Storage
import MQTTWire

/// Outputs: what the application should know, one event at a time (docs/decisions/0011).
extension Session {
  /// `nextEvent` will find one.
  public var hasEvent: Bool {
    (view != nil && !isViewTaken) || isShownWaiting || outbox.hasNews
      || (!urgent.isEmpty && urgent.element.hasNews)
      || requests.hasFailure || replyCheck != nil || subscriptions.hasRefused
  }

  /// An event was handed out and not yet released: what is behind it has not been looked at.
  public var eventIsBorrowed: Bool { isViewTaken || (shownSize > 0 && isShownTaken) }

  /// What the transport brought has not all been handed out.
  public var hasUndeliveredEvent: Bool { view != nil || shownSize > 0 }

  /// The next thing the application should know. Releases the event before.
  public mutating func nextEvent() -> SessionEvent? {
    release()
    if case .connected = view, let event = takeView() { return event }
    let urgentCompletion = urgent.isEmpty ? nil : urgent.element.takeAnyCompletion()
    if var completion = urgentCompletion ?? outbox.takeAnyCompletion() {
      if case .acknowledged(let details) = view, details.slot == completion.slot,
        details.isUrgent == (urgentCompletion != nil)
      {
        completion.reasonString = details.reasonString
        completion.properties = details.properties
        isViewTaken = true
      }
      guard let tag = completion.replyTag else { return .completed(completion) }
      replies.take(tag: tag)
      settleReplyCheck()
      return .requestFailed(completion)
    }
    if let place = requests.firstFailure {
      settle(place, nil)
      let failure = requests.takeFailure(place)
      return .completed(
        Completion(
          cookie: failure.cookie, outcome: failure.outcome,
          reasonCode: failure.outcome == .aboveLimit ? failure.reasonCode : nil, replyTag: nil, slot: -1))
    }
    if let slot = subscriptions.firstRefused {
      lostSubscription = slot
      return .subscriptionLost(filter: subscriptions.filter(slot), reasonCode: subscriptions[slot].reasonCode)
    }
    if let replyCheck, let request = replies.takeExpired(at: replyCheck) {
      settleReplyCheck()
      outbox.dismiss(request, isTimeUp: true, quota: &quota)
      return .responseTimedOut(cookie: request.cookie)
    }
    if let event = takeView() { return event }
    if isShownWaiting {
      takeShown()
      return .message(MessageEvent(shown))
    }
    let hasRoom = outbox.takeRoomEvent()
    if urgent.isEmpty { return hasRoom ? .room : nil }
    return urgent.element.takeRoomEvent() || hasRoom ? .room : nil
  }

  /// The application has done with the event that was handed out last: a message may be acknowledged, and what
  /// is behind it parsed.
  public mutating func release() {
    if let lostSubscription {
      subscriptions.forget(lostSubscription)
      self.lostSubscription = nil
    }
    guard eventIsBorrowed else { return }
    if shownSize > 0 { releaseShown() } else { releaseView() }
    parse()
  }

  mutating func releaseView() {
    guard let event = view else { return }
    view = nil
    isViewTaken = false
    if case .message(let message) = event, message.token != 0, !isViewHeld {
      acceptLater(message.token)
    }
    isViewHeld = false
    switch viewRelease {
    case .consume(let count): receiver.consume(count)
    case .cut(let offset, let count): receiver.removeRange(at: offset, count: count)
    }
  }

  // MARK: Helpers

  /// A request has ended: there may be no other whose time was up at the last look.
  mutating func settleReplyCheck() {
    guard let check = replyCheck else { return }
    if let deadline = replies.deadline, deadline.isReached(at: check) { return }
    replyCheck = nil
  }

  private mutating func takeView() -> SessionEvent? {
    guard !isViewTaken, let event = view else { return nil }
    if case .acknowledged = event { return nil }  // goes with its completion
    isViewTaken = true
    if case .message = event { isViewHeld = holdsMessages }
    return event
  }
}
