import STOMPWire
public import Storage

/// ACK and NACK. A call that throws has changed nothing.
extension STOMPSession {
  /// Sends ACK, or NACK, for a message, with more headers (`HeaderList`).
  public mutating func acknowledge(
    _ token: UInt64, isAccepted: Bool = true, headers: Span<UInt8> = Span(), transaction: UInt16 = 0
  ) throws(STOMPError) {
    guard isConnected else { throw .state }
    guard !isLeaving else { throw .leaving }
    guard headers.count < Self.tooManyBytes else { throw .tooLarge }
    guard isAccepted || version.hasNack else { throw .version }
    guard headers.count == 0 || HeaderList.isValid(headers, version) else { throw .header }
    guard let slot = held.slot(of: token) else { throw .token }
    guard transaction == 0 || transactions.contains(transaction) else { throw .transaction }
    var size = FrameSize(version)
    Self.describe(to: &size, held, slot, isAccepted, headers, transaction, version)
    if transaction == 0 {
      // DISCONNECT, and a heart-beat, always have room.
      guard control.capacity >= size.count &+ Self.controlReserve else { throw .tooLarge }
      if control.tailCount < size.count &+ Self.controlReserve, sending.source != .control {
        control.compact()
      }
      guard control.tailCount >= size.count &+ Self.controlReserve else {
        wasControlFull = true
        throw .full
      }
      Self.write(to: &control, held, slot, isAccepted, headers, version)
      control.append(size.count)
    } else {
      let offset = try room(for: size.count)
      Self.write(to: &outbox, offset, size.count, held, slot, isAccepted, headers, transaction, version)
      append(.acknowledge, offset, size.count, transaction, cookie: 0, hasReceipt: false)
    }
    held.acknowledged(slot)
    unblock()
  }

  mutating func unblock() {
    if arrival.isBlocked { (arrival.isBlocked, arrival.isUnblocked) = (false, true) }
  }

  /// Reads on, if a message had to wait for `acknowledge`.
  public mutating func resume(at now: Instant) {
    guard phase == .up, arrival.isUnblocked else { return }
    arrival.isUnblocked = false
    parse(at: now)
  }

  // Static, because the compiler takes a span of one part of `self` for a hold on all of it.
  private static func write(
    to control: inout ByteQueue, _ held: borrowing HeldMessages, _ slot: Int, _ isAccepted: Bool,
    _ headers: Span<UInt8>, _ version: STOMPVersion
  ) {
    var writer = FrameWriter(control.tail(), version)
    describe(to: &writer, held, slot, isAccepted, headers, 0, version)
  }

  private static func write(
    to outbox: inout FrameQueue, _ offset: Int, _ size: Int, _ held: borrowing HeldMessages, _ slot: Int,
    _ isAccepted: Bool, _ headers: Span<UInt8>, _ transaction: UInt16, _ version: STOMPVersion
  ) {
    var writer = FrameWriter(outbox.space(at: offset, count: size), version)
    describe(to: &writer, held, slot, isAccepted, headers, transaction, version)
  }

  private static var controlReserve: Int { 64 }

  private static func describe<Output: FrameOutput & ~Copyable & ~Escapable>(
    to output: inout Output, _ held: borrowing HeldMessages, _ slot: Int, _ isAccepted: Bool,
    _ headers: Span<UInt8>, _ transaction: UInt16, _ version: STOMPVersion
  ) {
    output.begin(isAccepted ? .ack : .nack)
    // As it came, with its escapes.
    output.header(version.hasAckHeader ? "id" : "message-id", verbatim: held.text(slot))
    if version == .v11 { output.header("subscription", UInt32(truncatingIfNeeded: held.subscription(slot))) }
    if transaction != 0 { output.header("transaction", UInt32(transaction)) }
    if headers.count > 0 { output.headers(headers) }
    output.end()
  }
}
