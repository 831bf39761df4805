import MQTTWire
public import Storage

/// The payload of a large message, received into memory that the program lends.
///
/// The program lends it while it has a part of the message. When that part is released, `receiveSpace` is the
/// rest of the memory, so that the transport writes each byte where it stays; of the message, the receive
/// buffer then has the header alone. The memory never reaches beyond the payload. When it is full it is the
/// next part.
extension Session {
  /// The bytes that the last part with `MessageEvent.isLent` points into.
  public var lentBytes: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { arrival.lent.bytes }
  }

  /// Lends memory for what follows the part that was handed out last, instead of what was lent since that. No
  /// memory ends the use of what was lent before: what is in it is the next part.
  @inline(never)
  @_optimize(size)
  public mutating func receive(into space: LentSpace) throws(SessionError) {
    guard space.size > 0 else {
      guard arrival.isLent else { return }
      arrival.lent.giveUpRest()
      if arrival.lent.count == 0 { arrival.isLent = false } else { parse() }
      return
    }
    guard arrival.event.isBorrowed, let left = arrival.large?.remaining else { throw .state }
    arrival.lent = space.first(left)
    arrival.isLent = true
  }

  /// Whether the next bytes go into lent memory. If it is full it becomes an event as soon as there is room for
  /// acknowledgements, and `wantsReceive` is false until then.
  var receivesIntoLent: Bool { arrival.isLent && !hasUndeliveredEvent }

  /// The space for the next bytes while memory is lent.
  var spaceWhileLent: MutableSpan<UInt8> {
    @_lifetime(&self)
    @inline(never)
    @_optimize(size)
    mutating get { receivesIntoLent ? arrival.lent.rest : receiver.space }
  }

  /// Handles that bytes were written to the front of `spaceWhileLent`. False: that was in the receive buffer.
  @inline(never)
  @_optimize(size)
  mutating func receivedIntoLent(_ count: Int) -> Bool {
    guard receivesIntoLent else { return false }
    arrival.lent.append(count)
    receiver.wasFilled = arrival.lent.isFull
    return true
  }

  /// Continues to receive a message into lent memory. What the receive buffer has of the payload came before
  /// the memory was lent. Returns false if more bytes are needed.
  @inline(never)
  @_optimize(size)
  mutating func receiveLentPayload(_ message: LargeMessage) -> Bool {
    let count = Self.copyPayload(behind: message.headerSize, in: receiver, into: &arrival.lent)
    receiver.removeRange(at: message.headerSize, count: count)
    guard arrival.lent.isFull else { return false }
    arrival.isLent = false
    makePart(message, ByteRange(offset: 0, count: arrival.lent.size), isLent: true)
    return true
  }

  // Static, because the compiler takes a span of one part of `self` for a hold on all of it.
  private static func copyPayload(
    behind headerSize: Int, in receiver: borrowing ReceiveBuffer, into lent: inout LentSpace
  ) -> Int {
    lent.fill(from: receiver.unread.extracting(headerSize...))
  }
}
