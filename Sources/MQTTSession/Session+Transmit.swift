public import Storage
import MQTTWire

/// Outputs: what is to be sent, where the received bytes go, and when something is due.
extension Session {
  /// Looks for bytes to send. True: they are in `output`.
  public mutating func prepareTransmit(at now: Instant) -> Bool {
    advance(to: now)
    source = chooseSource(at: now)
    return source != .none
  }

  /// The bytes to send, in one piece; after `prepareTransmit` said there are any.
  public var output: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get {
      switch source {
      case .none: Span()
      case .connect: connects.bytes.extracting(connectRest)
      case .control: control.pending
      case .request: requests.output
      case .urgent: urgentOutput
      case .run: outbox.run
      case .restOfPacket: isInsideUrgent ? urgentOutput : outbox.restOfPacket
      case .stream: streamBuffer.bytes.extracting(streamStart..<streamEnd)
      }
    }
  }

  /// Whether `prepareTransmit` might find something: asks without changing anything.
  public var wantsTransmit: Bool {
    switch phase {
    case .disconnected: false
    case .sendingConnect: true
    case .awaitingConnack: !control.isEmpty
    case .connected:
      !isPeerGone
        && (outbox.isInsideStream
          ? streamStart < streamEnd
          : !control.isEmpty || requests.queued > 0 || canTransmitMessage || outbox.releasesToCheck > 0
            || (!urgent.isEmpty && urgent.element.releasesToCheck > 0) || canResubscribe)
    case .ending: !control.isEmpty && (!outbox.isInsideStream || streamStart < streamEnd)
    }
  }

  /// DISCONNECT, or what is in its way, was not handed to the transport.
  public var hasUnsentDisconnect: Bool { !control.isEmpty }

  /// Where the next bytes from the transport go; empty if they have to wait.
  public var receiveSpace: MutableSpan<UInt8> {
    @_lifetime(&self)
    mutating get {
      // An event points into it, and so does the header of a message that comes in parts.
      if !hasUndeliveredEvent, incoming == nil, receiver.shouldCompact { receiver.compact() }
      return receiver.space
    }
  }

  /// Bytes may be received: not before CONNECT is sent, not after the end.
  public var wantsReceive: Bool {
    guard phase == .awaitingConnack || phase == .connected else { return false }
    return !hasUndeliveredEvent && incoming == nil ? receiver.hasSpace : receiver.hasTailSpace
  }

  /// When `timedOut` needs to be called, if nothing else happens.
  public var nextDeadline: Instant? {
    @inline(never) get {
      var deadline = phase == .connected ? Instant.earlier(keepAlive.deadline, answers.deadline) : nil
      if let second = earliestExpiry {
        deadline = Instant.earlier(deadline, clock.deadline(of: second))
      }
      return replyCheck == nil ? Instant.earlier(deadline, replies.deadline) : deadline
    }
  }

  // MARK: Helpers

  /// It lies in the block as long as the session does. The compiler (6.3.1) would have it end with the access to the
  /// cell.
  private var urgentOutput: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get {
      let isRun = source == .urgent
      let bytes = unsafe urgent.read { lane in
        let bytes = isRun ? lane.run : lane.restOfPacket
        return unsafe bytes.withUnsafeBufferPointer { unsafe $0 }
      }
      return unsafe _overrideLifetime(Span(_unsafeElements: bytes), borrowing: self)
    }
  }

  /// As `chooseSource` chooses.
  private var canTransmitMessage: Bool {
    if urgent.isEmpty { return outbox.canTransmit(quota) }
    if urgent.element.unsent > 0, urgent.element.resends > 0 || outbox.resends > 0 {
      return outbox.isInsidePacket || isInsideUrgent || quota.left &+ runQuota > 0
    }
    return outbox.canTransmit(quota) || urgent.element.canTransmit(quota)
  }

  /// What the runs have taken of the quota, and give back if it is wanted elsewhere.
  private var runQuota: Int { outbox.runCount > 0 || urgent.element.runCount > 0 ? 1 : 0 }

  /// The second in which the first message expires, if one does.
  var earliestExpiry: UInt32? {
    guard !urgent.isEmpty, let second = urgent.element.nextExpiry else { return outbox.nextExpiry }
    return min(second, outbox.nextExpiry ?? second)
  }

  /// A part of an urgent message is sent: the rest of it is next.
  var isInsideUrgent: Bool { !urgent.isEmpty && urgent.element.isInsidePacket }

  private var connectRest: Range<Int> {
    let packet = connects.packet(version)
    return packet.offset &+ connectSent..<packet.end
  }

  /// Control packets go first, but never into the middle of another packet.
  private mutating func chooseSource(at now: Instant) -> Source {
    switch phase {
    case .disconnected: return .none
    case .sendingConnect: return .connect
    case .awaitingConnack: return control.isEmpty ? .none : .control
    case .connected, .ending:
      guard !isPeerGone else { return .none }
      if phase == .connected {
        refillReleases()
        resubscribe()
      }
      if outbox.isInsideStream { return mayStream && streamStart < streamEnd ? .stream : .none }
      if requests.isInsidePacket { return .request }
      let isInsidePacket = outbox.isInsidePacket || isInsideUrgent
      if !control.isEmpty { return isInsidePacket ? .restOfPacket : .control }
      guard phase == .connected else { return .none }
      if requests.queued > 0 {
        if isInsidePacket { return .restOfPacket }
        requests.prepare()
        return .request
      }
      clock.advance(to: now)
      expire()
      if !urgent.isEmpty, urgent.element.unsent > 0 {
        if outbox.isInsidePacket { return .restOfPacket }
        if urgent.element.resends > 0 || outbox.resends > 0 { return chooseResend() }
        // What is in the run has not been begun, and may wait for its place in the window.
        outbox.shrinkWindow(&quota)
        urgent.element.extendWindow(version: version, second: clock.seconds, quota: &quota)
        if urgent.element.runCount > 0 { return .urgent }
      }
      outbox.extendWindow(version: version, second: clock.seconds, quota: &quota)
      return outbox.runCount > 0 ? .run : .none
    }
  }

  /// What is sent again keeps its order, whichever lane it is on [MQTT-4.6.0-1].
  private mutating func chooseResend() -> Source {
    outbox.shrinkWindow(&quota)
    if urgent.element.isInsidePacket { return .urgent }
    urgent.element.shrinkWindow(&quota)
    let (first, second) = (urgent.element.nextResend(), outbox.nextResend())
    urgent.element.extendWindow(.resends(before: second), version: version, second: clock.seconds, quota: &quota)
    if urgent.element.runCount > 0 { return .urgent }
    outbox.extendWindow(.resends(before: first), version: version, second: clock.seconds, quota: &quota)
    return outbox.runCount > 0 ? .run : .none
  }

  private mutating func refillReleases() {
    while control.hasRoom, let identifier = nextRelease() {
      var packet = Acknowledgement(type: .pubrel, identifier: identifier)
      packet.isDuplicate = version == .v3_1 && !DropIn.isOn  // which has DUP for PUBREL too (its §2.1)
      _ = control.append(packet)
    }
  }

  private mutating func nextRelease() -> PacketIdentifier? {
    if !urgent.isEmpty, let identifier = urgent.element.nextRelease() { return identifier }
    return outbox.nextRelease()
  }
}
