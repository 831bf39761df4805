import STOMPWire
import Storage

/// Things that happened to the connection.
extension STOMPSession {
  /// An attempt to connect begins: what the last connection was says nothing about it.
  public mutating func attemptBegins() { isAccepted = false }

  /// The transport is open.
  public mutating func connectionOpened() {
    phase = .connecting
    isAccepted = false
    isLeaving = false
    hasDisconnect = false
    leaveDeadline = nil
    receiptDeadline = nil
    forgetStop()
    wasControlFull = false
    arrival = Arrival()
    sending = Sending()
    receiver.removeAll()
    control.removeAll()
    isControlInStep = true
    company = Company()
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
    urgent.connectionEnded()
    subscriptions.connectionEnded()
    // A message that is not whole has no further parts; its last one makes it whole.
    if arrival.large != nil, !arrival.event.isBorrowed, !arrival.event.message.isLast {
      arrival.event.kind = .none
    }
    arrival.large = nil
    arrival.isBlocked = false
  }

  /// `count` bytes were written to the front of `receiveSpace()`.
  public mutating func received(_ count: Int, at now: Instant) {
    receiver.append(count)
    counters.bytesReceived.add(count)
    counters.receiveCalls.add(1)
    advance(to: now)
    heartBeats.heard(at: now)
    parse(at: now)
    noteStop(at: now)
  }

  public mutating func timedOut(at now: Instant) {
    guard phase == .up, arrival.closeReason == nil else { return }
    advance(to: now)
    // "a client may not receive the last frame sent by the server" ("Connection Lingering").
    if let leaveDeadline, leaveDeadline.isReached(at: now) { return close(.requested) }
    beat(at: now)
    // Bytes that wait to be read are life, too, and a receipt may be among them.
    guard wantsReceive else { return }
    if let receiptDeadline, receiptDeadline.isReached(at: now) { return giveUp(.receiptTimeout, at: now) }
    if heartBeats.isDead(at: now) { giveUp(.heartBeat, at: now) }
  }

  /// When `timedOut` or `prepareTransmit` needs to be called, if nothing else happens.
  public var nextDeadline: Instant? {
    guard phase == .up, arrival.closeReason == nil else { return nil }
    // Without heart-beats, most often there is none: that is a question of each turn of the loop.
    guard heartBeats.areAgreed || receiptDeadline != nil || leaveDeadline != nil else { return nil }
    // What is to be sent is as good as a heart-beat, and what waits to be read may be one.
    var earliest = leaveDeadline
    if !wantsTransmit, !hasDisconnect { earliest = Instant.earlier(earliest, heartBeats.sendDeadline) }
    if wantsReceive {
      earliest = Instant.earlier(earliest, Instant.earlier(receiptDeadline, heartBeats.deadDeadline))
    }
    return earliest
  }

  /// The server takes nothing any more, and sends nothing.
  public mutating func peerClosed() { if hasSentDisconnect { close(.requested) } }

  /// Nothing comes any more.
  public mutating func inputEnded(at now: Instant) {
    arrival.hasEnded = true
    parse(at: now)
  }

  /// The server is too late with something. If that is the rest of an ERROR, this one is the reason.
  private mutating func giveUp(_ cause: STOMPCloseReason.Cause, at now: Instant) {
    if isErrorBegun { failInPart(at: now) } else { close(cause) }
  }

  mutating func close(_ cause: STOMPCloseReason.Cause) {
    guard arrival.closeReason == nil else { return }
    arrival.closeReason = STOMPCloseReason(cause: cause)
  }

  // MARK: The end

  /// Far enough for DISCONNECT.
  public var canSendDisconnect: Bool { phase == .up && arrival.closeReason == nil }

  /// From now on nothing is acknowledged, so that no message has to wait for it.
  public mutating func beginDisconnect() {
    isLeaving = true
    unblock()
  }

  /// Queues DISCONNECT with a receipt: "to do a graceful shutdown". It goes out behind the frame that is being sent, and
  /// before all others: "Clients MUST NOT send any more frames after the DISCONNECT frame is sent." False: there is no room
  /// for it yet.
  public mutating func disconnect(at now: Instant) -> Bool {
    guard !hasDisconnect else { return true }
    var size = FrameSize(version)
    Self.describeDisconnect(to: &size)
    guard control.tailCount >= size.count else { return false }
    let version = version
    var writer = FrameWriter(control.tail(), version)
    Self.describeDisconnect(to: &writer)
    control.append(size.count)
    hasDisconnect = true
    leaveDeadline = now.advanced(by: Self.leaveTimeout)
    // A frame of which nothing was sent waits for the next connection.
    if sending.sent == 0, sending.source != .connect, sending.source != .control { sending = Sending() }
    return true
  }

  private static func describeDisconnect<Output: FrameOutput & ~Copyable & ~Escapable>(
    to output: inout Output
  ) {
    output.begin(.disconnect)
    output.header("receipt", Receipt.disconnect)
    output.end()
  }

  var hasSentDisconnect: Bool { hasDisconnect && control.isEmpty }
  /// It is still of use: the server has not ended the connection by itself.
  public var hasUnsentDisconnect: Bool {
    guard hasDisconnect, !control.isEmpty else { return false }
    if let reason = arrival.closeReason, case .requested = reason.cause { return true }
    return arrival.closeReason == nil
  }
}

/// What a receipt is called: a number for a frame of the queue, and letters for others.
enum Receipt: BitwiseCopyable {
  case frame(UInt32)
  case urgent(UInt32)
  case subscription(UInt32)
  case end

  static var disconnect: StaticString { "bye" }
  /// Before the number of SUBSCRIBE and UNSUBSCRIBE (`SubscriptionSlots.number`).
  static var subscriptionLetter: UInt8 { UInt8(ascii: "s") }
  /// Before that of an urgent frame.
  static var urgentLetter: UInt8 { UInt8(ascii: "u") }

  /// `nil`: it is none of this client.
  init?(_ text: Span<UInt8>) {
    guard text.count > 0 else { return nil }
    if text.equals(Self.disconnect) {
      self = .end
    } else if text[0] == Self.subscriptionLetter || text[0] == Self.urgentLetter {
      guard let number = DecimalNumber.parse32(text.extracting(1..<text.count)) else { return nil }
      self = text[0] == Self.urgentLetter ? .urgent(number) : .subscription(number)
    } else {
      guard let number = DecimalNumber.parse32(text) else { return nil }
      self = .frame(number)
    }
  }
}
