import STOMPWire
import Storage

/// Things that happened to the connection.
extension STOMPSession {
  /// The transport is open.
  public mutating func connectionOpened() {
    phase = .connecting
    isAccepted = false
    isLeaving = false
    hasDisconnect = false
    leaveDeadline = nil
    receiptDeadline = nil
    arrival = Arrival()
    sending = Sending()
    receiver.removeAll()
    control.removeAll()
    heartBeats.stop()
    held.connectionBegins()
    transactions.connectionEnded()
  }

  /// The transport is closed, by either side.
  public mutating func connectionClosed() {
    phase = .disconnected
    isLeaving = false
    leaveDeadline = nil
    receiptDeadline = nil
    heartBeats.stop()
    sending = Sending()
    control.removeAll()
    lostTransactions &+= transactions.open
    transactions.connectionEnded()
    outbox.connectionEnded()
    subscriptions.connectionEnded()
    // A message that is not whole has no further parts.
    if arrival.large != nil, !arrival.event.isBorrowed { arrival.event.kind = .none }
    arrival.large = nil
    arrival.isBlocked = false
  }

  /// `count` bytes were written to the front of `receiveSpace()`.
  public mutating func received(_ count: Int, at now: Instant) {
    receiver.append(count)
    counters.bytesReceived.add(count)
    counters.receiveCalls.add(1)
    heartBeats.heard(at: now)
    parse(at: now)
  }

  public mutating func timedOut(at now: Instant) {
    guard phase == .up, arrival.closeReason == nil else { return }
    // "a client may not receive the last frame sent by the server" ("Connection Lingering").
    if let leaveDeadline, leaveDeadline.isReached(at: now) { return close(.requested) }
    beat(at: now)
    // Bytes that wait to be read are life, too, and a receipt may be among them.
    guard wantsReceive else { return }
    if let receiptDeadline, receiptDeadline.isReached(at: now) { return close(.receiptTimeout) }
    if heartBeats.isDead(at: now) { close(.heartBeat) }
  }

  /// When `timedOut` or `prepareTransmit` needs to be called, if nothing else happens.
  public var nextDeadline: Instant? {
    guard phase == .up, arrival.closeReason == nil else { return nil }
    // What is to be sent is as good as a heart-beat, and what waits to be read may be one.
    var earliest = leaveDeadline
    if !wantsTransmit, !hasDisconnect { earliest = Instant.earlier(earliest, heartBeats.sendDeadline) }
    if wantsReceive {
      earliest = Instant.earlier(earliest, Instant.earlier(receiptDeadline, heartBeats.deadDeadline))
    }
    return earliest
  }

  /// The server takes nothing any more, and sends nothing.
  public mutating func peerClosed() { if leaveDeadline != nil { close(.requested) } }

  mutating func close(_ cause: STOMPCloseReason.Cause) {
    guard arrival.closeReason == nil else { return }
    arrival.closeReason = STOMPCloseReason(cause: cause)
  }

  // MARK: The end

  /// Far enough for DISCONNECT.
  public var canSendDisconnect: Bool { phase == .up && arrival.closeReason == nil }

  public mutating func beginDisconnect() { isLeaving = true }

  /// Queues DISCONNECT with a receipt: "to do a graceful shutdown". False: there is no room for it yet.
  public mutating func disconnect() -> Bool {
    guard !hasDisconnect else { return true }
    // Behind what is being sent it would leave before frames of other queues, which may not follow it.
    guard sending.source != .control else { return false }
    var size = FrameSize(version)
    Self.describeDisconnect(to: &size)
    guard control.tailCount >= size.count else { return false }
    let version = version
    var writer = FrameWriter(control.tail(), version)
    Self.describeDisconnect(to: &writer)
    control.append(size.count)
    hasDisconnect = true
    return true
  }

  private static func describeDisconnect<Output: FrameOutput & ~Copyable & ~Escapable>(
    to output: inout Output
  ) {
    output.begin(.disconnect)
    output.header("receipt", Receipt.disconnect)
    output.end()
  }

  public var hasUnsentDisconnect: Bool { hasDisconnect && !control.isEmpty }
}

/// What a receipt is called: a number for a frame of the queue, and letters for others.
enum Receipt: BitwiseCopyable {
  case frame(UInt32)
  case subscription(Int)
  case end

  static var disconnect: StaticString { "bye" }
  /// Before the number of a subscription's slot, in its receipt.
  static var subscriptionLetter: UInt8 { UInt8(ascii: "s") }

  /// `nil`: it is none of this client.
  init?(_ text: Span<UInt8>) {
    guard text.count > 0 else { return nil }
    if text.equals(Self.disconnect) {
      self = .end
    } else if text[0] == Self.subscriptionLetter {
      guard let slot = DecimalNumber.parse(text.extracting(1..<text.count), most: 65_535) else { return nil }
      self = .subscription(slot)
    } else {
      guard let number = DecimalNumber.parse32(text) else { return nil }
      self = .frame(number)
    }
  }
}
