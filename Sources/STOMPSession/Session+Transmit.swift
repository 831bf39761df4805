import STOMPWire
import Storage

/// Outputs: bytes.
extension STOMPSession {
  /// `prepareTransmit` might find something.
  public var wantsTransmit: Bool {
    if sending.source != .none { return true }
    switch phase {
    case .disconnected, .awaiting: return false
    case .connecting: return true
    case .up:
      guard arrival.closeReason == nil else { return false }
      return !control.isEmpty
        || !hasDisconnect && (subscriptions.unsent > 0 || isUrgentReady || isOutboxReady)
    }
  }

  /// Looks for bytes to send. True: they are in `output`.
  public mutating func prepareTransmit(at now: Instant) -> Bool {
    // As long as no byte of a frame was sent, another one may go first.
    if sending.sent == 0, sending.source != .connect, sending.source != .control { sending = Sending() }
    if sending.source == .none { choose(at: now) }
    if sending.source == .outbox {
      // Found once, although `output` is asked for more than once: it goes over all frames that wait. What has to go first goes
      // out behind the first of them.
      let isFollowed =
        hasDisconnect || !control.isEmpty || isUrgentReady || subscriptions.unsent > 0 || sendsOneByOne
      sending.window = isFollowed ? outbox.frame(without: sending.sent) : outbox.window(without: sending.sent)
    }
    return sending.source != .none
  }

  private var isUrgentReady: Bool { urgent.hasUnsent && mayGoOn }
  private var isOutboxReady: Bool { outbox.hasUnsent && mayGoOn }

  private var mayGoOn: Bool { !sendsOneByOne || receiptsDue &+ subscriptions.unsent == 0 }

  /// After an ERROR that named no frame, until all that it may have meant have ended: each waits for the receipt of the one
  /// before, so that the next ERROR says which it is.
  var sendsOneByOne: Bool { outbox.hasSuspects || urgent.hasSuspects }

  /// Bytes are sent while one goes after the other.
  @inline(never)
  @_optimize(size)
  private mutating func noteCompany() {
    switch sending.source {
    case .none, .connect, .subscription: break
    case .control: if control.bytes[0] != UInt8(ascii: "\n") || !isControlInStep { company.came() }
    case .urgent: company.sent(hasReceipt: urgent.nextHasReceipt, isBegun: sending.sent > 0)
    case .outbox: company.sent(hasReceipt: outbox.nextHasReceipt, isBegun: sending.sent > 0)
    }
  }

  private mutating func choose(at now: Instant) {
    guard phase == .connecting || phase == .up && arrival.closeReason == nil else { return }
    if phase == .connecting {
      sending.source = .connect
    } else if !control.isEmpty {
      sending.source = .control
    } else if hasDisconnect {
      return
    } else if isUrgentReady {
      sending.source = .urgent
    } else if let slot = subscriptions.next {
      sending.source = .subscription
      sending.slot = slot
    } else if isOutboxReady {
      sending.source = .outbox
    }
  }

  /// "if the sender has no real STOMP frame to send, it MUST send a single newline octet".
  mutating func beat(at now: Instant) {
    guard !wantsTransmit, !hasDisconnect, heartBeats.isDue(at: now), control.tailCount > 0 else { return }
    var space = control.tail()
    space[0] = UInt8(ascii: "\n")
    control.append(1)
  }

  /// As `prepareTransmit` has found it.
  public var output: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get {
      switch sending.source {
      case .none: return Span()
      case .connect: return connect.bytes(at: sending.sent, count: connectCount &- sending.sent)
      case .control: return control.bytes
      case .subscription:
        let frame = subscriptions.frame(of: sending.slot)
        return frame.extracting(sending.sent..<frame.count)
      case .urgent: return urgent.bytes.extracting(urgent.frame(without: sending.sent).range)
      case .outbox: return outbox.bytes.extracting(sending.window.range)
      }
    }
  }

  /// `count` bytes from the front of `output` were handed to the transport.
  public mutating func transmitted(_ count: Int, at now: Instant) {
    guard count > 0 else { return }
    heartBeats.sent(at: now)
    counters.bytesSent.add(count)
    counters.sendCalls.add(1)
    if taps.isOn { tellSent(count, at: now) }
    if sendsOneByOne { noteCompany() }
    defer { if receiptDeadline == nil { startReceiptTime(at: now) } }
    switch sending.source {
    case .none: return
    case .connect:
      sending.sent &+= count
      guard sending.sent == connectCount else { return }
      counters.framesSent.add(1)
      phase = .awaiting
      sending = Sending()
    case .control:
      counters.framesSent.add(Self.frames(in: control, count))
      isControlInStep = endsFrame(count)
      control.removeFirst(count)
      guard control.isEmpty else { return }
      sending = Sending()
    case .subscription:
      sending.sent &+= count
      guard sending.sent == subscriptions.frame(of: sending.slot).count else { return }
      counters.framesSent.add(1)
      subscriptions.sent(sending.slot)
      sending = Sending()
    case .urgent: Self.transmitted(count, &sending, of: &urgent, &counters)
    case .outbox: Self.transmitted(count, &sending, of: &outbox, &counters)
    }
  }

  private static func transmitted(
    _ count: Int, _ sending: inout Sending, of queue: inout FrameQueue, _ counters: inout STOMPCounters
  ) {
    sending.sent = queue.transmitted(count, behind: sending.sent)
    counters.framesSent.add(queue.transmittedFrames)
    // Between two frames others may go first.
    if sending.sent == 0 { sending = Sending() }
  }

  /// Each frame there ends with a zero, and has no other.
  private static func frames(in control: borrowing ByteQueue, _ count: Int) -> Int {
    let bytes = control.bytes(at: 0, count: count)
    var frames = 0
    for index in 0..<count where bytes[index] == 0 { frames &+= 1 }
    return frames
  }

  // MARK: Space

  public var wantsReceive: Bool {
    phase != .disconnected && arrival.closeReason == nil && arrival.event.kind == .none
      && !arrival.isBlocked && receiver.count < receiver.capacity
  }

  @_lifetime(&self)
  public mutating func receiveSpace() -> MutableSpan<UInt8> {
    if receiver.tailCount == 0, receiver.position > 0 { receiver.compact() }
    return receiver.tail()
  }
}
