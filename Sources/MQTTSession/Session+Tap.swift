public import Storage

/// What goes over the connection, for whoever looks on.
extension Session {
  /// Nothing has been sent of a packet that is not sent as a whole.
  @_optimize(size)
  public var isBetweenSentPackets: Bool {
    control.isEmpty && !state.outbox.isInsidePacket && !state.isInsideUrgent
      && !state.subscribeQueue.isInsidePacket
      && !(connection.phase == .sendingConnect && connection.connectSent > 0)
  }

  /// How full the outbox is.
  public var outboxFill: OutboxFill {
    OutboxFill(
      messages: state.outbox.messageCount &+ (state.hasUrgent ? state.urgent.element.messageCount : 0),
      inFlight: connection.quota.inFlight)
  }

  /// How many bytes were received and not read, which begin with a packet; `nil`: they are somewhere in one.
  public var unreadCount: Int? { arrival.hasLarge ? nil : receiver.unread.count }

  /// The most bytes of a packet that can be here at a time.
  public var receiveCapacity: Int { receiver.capacity }

  /// What comes goes to memory of the program.
  public var isReceivingElsewhere: Bool { Feature.hasParts && receivesIntoLent }

  /// The last bytes that were received, and those behind them that `received` was not told yet.
  @_lifetime(borrow self)
  public borrowing func received(_ count: Int, and new: Int) -> Span<UInt8> {
    receiver.bytes.extracting(max(0, receiver.end &- count)..<receiver.end &+ new)
  }
}

/// Messages in the outbox, and those of them that were sent and are not acknowledged.
public struct OutboxFill: BitwiseCopyable {
  public let messages: Int
  public let inFlight: Int

  public static var unknown: OutboxFill { OutboxFill(messages: 0, inFlight: 0) }
}
