public import Journal
import STOMPWire
import Storage

/// What the application is told.
public enum STOMPEvent: BitwiseCopyable {
  case connected
  case completed(FrameCompletion)
  case subscription(SubscriptionResult)
  case message(STOMPMessage)
  case transactionsLost(Int)  // how many ended with their connection
  case room  // there was none for a frame; now there is some
  case journal(JournalEvent)
}

/// Outputs: events, one at a time.
extension STOMPSession {
  public var hasEvent: Bool {
    isConnectedWaiting || outbox.completions &+ urgent.completions > 0 || subscriptions.results > 0
      || lostTransactions > 0
      || isMessageWaiting || hasRoomEvent || hasJournalNews
  }

  private var hasRoomEvent: Bool {
    outbox.hasRoomEvent || urgent.hasRoomEvent || wasControlFull && control.isEmpty
  }

  private var isMessageWaiting: Bool { arrival.event.kind != .none && !arrival.event.isBorrowed }
  private var isConnectedWaiting: Bool { arrival.event.kind == .connected && !arrival.event.isBorrowed }

  /// What the transport brought has not all been handed out.
  public var hasUndeliveredEvent: Bool { arrival.event.kind != .none }
  public var eventIsBorrowed: Bool { arrival.event.isBorrowed }

  /// Releases the last event, and returns the next one.
  public mutating func nextEvent(at now: Instant) -> STOMPEvent? {
    release(at: now)
    if hasJournalNews, let event = takeJournalEvent() { return .journal(event) }
    if isConnectedWaiting {
      arrival.event.isBorrowed = true
      return .connected
    }
    // The numbers are asked first: most often there is nothing, and taking is a call.
    if outbox.completions &+ urgent.completions > 0,
      let completion = urgent.takeCompletion() ?? outbox.takeCompletion()
    {
      return .completed(completion)
    }
    if subscriptions.results > 0, let result = subscriptions.takeResult() { return .subscription(result) }
    if lostTransactions > 0 {
      defer { lostTransactions = 0 }
      return .transactionsLost(lostTransactions)
    }
    if isMessageWaiting {
      lendMessage()
      return .message(arrival.event.message)
    }
    if hasRoomEvent {
      if outbox.hasRoomEvent { outbox.takeRoomEvent() }
      if urgent.hasRoomEvent { urgent.takeRoomEvent() }
      if control.isEmpty { wasControlFull = false }
      return .room
    }
    return nil
  }

  /// Does the same, if the next event is a message, which is `eventMessage` then. False: it is none, or there is none.
  ///
  /// Most events are messages: here they are not handed through all that may be an event.
  @inline(__always)
  public mutating func takeMessage(at now: Instant) -> Bool {
    release(at: now)
    guard isMessageWaiting, arrival.event.kind != .connected, outbox.completions &+ urgent.completions == 0,
      subscriptions.results == 0, lostTransactions == 0, !hasJournalNews
    else { return false }
    lendMessage()
    return true
  }

  @inline(__always)
  private mutating func lendMessage() {
    arrival.event.isBorrowed = true
    if arrival.parser.frame.hasEscapes { undoEscapes() }
    let token = arrival.event.message.token
    // Since it came, its subscription may have ended, or its connection, or the application is leaving.
    if token != 0, !isConnected || isLeaving || held.slot(of: token) == nil {
      arrival.event.message.token = 0
    }
  }

  @inline(never)
  mutating func undoEscapes() {
    Self.undoEscapes(&arrival.parser, in: &receiver, version)
  }

  private static func undoEscapes(
    _ parser: inout FrameParser, in receiver: inout ByteQueue, _ version: STOMPVersion
  ) {
    var bytes = receiver.mutableBytes(at: 0, count: parser.frame.bodyOffset)
    parser.undoEscapes(in: &bytes, version)
  }

  /// The application is done with the message that it has.
  public mutating func release(at now: Instant) {
    guard arrival.event.isBorrowed else { return }
    let isPart = arrival.event.kind == .part
    arrival.event.kind = .none
    arrival.event.isBorrowed = false
    if isPart, arrival.large != nil {
      releasePart()
    } else if phase != .disconnected, arrival.hasHead {
      consume(arrival.event.size)
    }
    // Most messages come alone.
    guard phase != .disconnected, !receiver.isEmpty else { return }
    parse(at: now)
  }
}
