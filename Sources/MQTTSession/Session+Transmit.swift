import MQTTWire
public import Storage

/// Outputs: what is to be sent, where the received bytes go, and when something is due.
extension Session {
  /// Looks for bytes to send. Returns true if they are in `output`.
  public mutating func prepareTransmit(at now: Instant) -> Bool {
    advance(to: now)
    connection.source = chooseSource(at: now)
    return connection.source != .none
  }

  /// The bytes to send, in one piece, after `prepareTransmit` has returned true. They are not empty.
  public var output: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get {
      switch connection.source {
      case .none: Span()
      case .connect: connects.bytes.extracting(connectRest)
      case .control: control.pending
      case .subscribe: state.subscribeQueue.output
      case .urgent: urgentOutput
      case .window: state.outbox.window
      case .restOfPacket: state.isInsideUrgent ? urgentOutput : state.outbox.restOfPacket
      case .stream: streamBuffer.bytes.extracting(connection.stream.range)
      }
    }
  }

  /// What follows `output`, and may be sent with it: a payload that is in the program's memory.
  public var outputPayload: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get {
      guard Feature.hasReferences, state.outbox.payloadLeft > 0, state.outbox.hasWindowBytes else {
        return Span()
      }
      return switch connection.source {
      case .window: state.outbox.windowPayload
      case .restOfPacket where !state.isInsideUrgent: state.outbox.payloadOfPacket
      default: Span()
      }
    }
  }

  /// Handles that `count` bytes from the front of `output`, and of `outputPayload` behind it, were handed to
  /// the transport.
  public mutating func transmitted(_ count: Int, at now: Instant) {
    advance(to: now)
    counters.bytesSent.add(count)
    counters.sendCalls.increment()
    switch connection.source {
    case .restOfPacket, .stream: connection.keepAlive.sentPart(at: now)
    default: connection.keepAlive.sent(at: now)
    }
    defer { connection.ackTimeout.sent(at: now, waiting: state.unacknowledged) }
    switch connection.source {
    case .none: break
    case .connect: transmittedConnect(count)
    case .control:
      counters.packetsSent.add(control.transmitted(count))
      // Acknowledgements may have waited for room, also behind an event that the application has.
      sendAcknowledgements()
      parse()
    case .subscribe:
      if state.subscribeQueue.transmitted(count) { counters.packetsSent.increment() }
    case .urgent:
      guard Feature.hasUrgent else { break }
      counters.packetsSent.add(state.urgent.element.transmitted(count, order: &state.order))
    case .restOfPacket where state.isInsideUrgent:
      counters.packetsSent.add(state.urgent.element.transmitted(count, order: &state.order))
    case .window, .restOfPacket:
      counters.packetsSent.add(state.outbox.transmitted(count, order: &state.order))
    case .stream:
      connection.stream = connection.stream.dropping(count)
      counters.packetsSent.add(state.outbox.transmittedStream(count, order: &state.order))
    }
    connection.source = .none
  }

  private mutating func transmittedConnect(_ count: Int) {
    connection.connectSent &+= count
    guard connection.connectSent == connects.packet(version).count else { return }
    counters.packetsSent.increment()
    connection.phase = .awaitingConnack
  }

  /// Whether `prepareTransmit` might find something. It changes nothing.
  public var wantsTransmit: Bool {
    switch connection.phase {
    case .disconnected, .peerClosed: false
    case .sendingConnect: true
    case .awaitingConnack: !control.isEmpty
    case .connected:
      state.outbox.isInsideStream
        ? !connection.stream.isEmpty
        : !control.isEmpty || hasReleasable || (hasPackets && !(isJournaled && journal.element.holdsAll))
    case .closing: !control.isEmpty && (!state.outbox.isInsideStream || !connection.stream.isEmpty)
    }
  }

  /// Whether DISCONNECT, or a packet before it, was not handed to the transport.
  public var hasUnsentDisconnect: Bool { !control.isEmpty }

  /// The space for the next bytes from the transport. It is empty if they have to wait.
  public var receiveSpace: MutableSpan<UInt8> {
    @_lifetime(&self)
    mutating get {
      if Feature.hasParts, arrival.isLent { return spaceWhileLent }
      // No event may point into the buffer, and no message with its header in it may be incomplete.
      if !hasUndeliveredEvent, !arrival.hasLarge, receiver.shouldCompact { receiver.compact() }
      return receiver.space
    }
  }

  /// Whether bytes may be received: not before CONNECT is sent, and not after the end.
  public var wantsReceive: Bool {
    guard connection.isReceiving else { return false }
    if !hasUndeliveredEvent {
      guard arrival.hasLarge else { return receiver.hasSpace }
      // Lent memory that is full is no event yet if there is no room for acknowledgements.
      if Feature.hasParts, arrival.isLent { return !arrival.lent.isFull }
    }
    return receiver.hasTailSpace
  }

  /// When `timedOut` has to be called, if nothing else happens.
  public var nextDeadline: Instant? {
    @inline(never) get {
      var deadline =
        connection.isUp
        ? Instant.earlier(connection.keepAlive.deadline, connection.ackTimeout.deadline) : nil
      if let second = state.earliestExpiry {
        deadline = Instant.earlier(deadline, state.expiry.deadline(of: second))
      }
      return state.overdueAt == nil ? Instant.earlier(deadline, state.responses.deadline) : deadline
    }
  }

  // MARK: Helpers

  /// The bytes stay in the block as long as the session lasts. The compiler (6.3.1) would end their
  /// lifetime with the access to the slot.
  private var urgentOutput: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get {
      guard Feature.hasUrgent else { return Span() }
      let isWindow = connection.source == .urgent
      let bytes = unsafe state.urgent.read { urgent in
        let bytes = isWindow ? urgent.window : urgent.restOfPacket
        return unsafe bytes.withUnsafeBufferPointer { unsafe $0 }
      }
      return unsafe _overrideLifetime(Span(_unsafeElements: bytes), borrowing: self)
    }
  }

  /// Whether `chooseSource` would choose a message.
  private var hasPackets: Bool {
    @inline(__always) get {
      state.subscribeQueue.queued > 0 || canTransmitMessage || hasPubrelsToCheck || canResubscribe
    }
  }

  private var canTransmitMessage: Bool {
    let quota = connection.quota
    if !state.hasUrgent { return state.outbox.canTransmit(quota) }
    let urgentUnsent = state.urgent.element.unsent
    if urgentUnsent > 0, state.urgent.element.resends > 0 || state.outbox.resends > 0 {
      return state.outbox.isInsidePacket || state.isInsideUrgent || quota.left &+ windowQuota > 0
    }
    return state.outbox.canTransmit(quota) || state.urgent.element.canTransmit(quota)
  }

  /// What the windows hold of the quota, at least, and would give back to the other queue.
  private var windowQuota: Int {
    state.outbox.windowCount > 0 || state.urgent.element.windowCount > 0 ? 1 : 0
  }

  private var hasPubrelsToCheck: Bool {
    state.outbox.pubrelsToCheck > 0 || (state.hasUrgent && state.urgent.element.pubrelsToCheck > 0)
  }

  private var connectRest: Range<Int> {
    let packet = connects.packet(version)
    return packet.offset &+ connection.connectSent..<packet.end
  }

  private mutating func chooseSource(at now: Instant) -> Connection.Source {
    switch connection.phase {
    case .disconnected, .peerClosed, .closing(after: .peerClosed): .none
    case .sendingConnect: .connect
    case .awaitingConnack: control.isEmpty ? .none : .control
    case .connected, .closing: choosePacket(at: now)
    }
  }

  /// Chooses the next packet. Control packets are sent first, but never inside another packet.
  private mutating func choosePacket(at now: Instant) -> Connection.Source {
    let isConnected = connection.phase == .connected
    // Each of these is asked first whether it has anything to do: mostly none has, in every turn.
    if isConnected {
      if isJournaled {
        sendReleasable()
        if journal.element.holdsAll { return control.isEmpty ? .none : .control }
      }
      if hasPubrelsToCheck { resendPubrels() }
      if state.subscriptions.firstLost != nil { resubscribe() }
    }
    if state.outbox.isInsideStream { return mayStream && !connection.stream.isEmpty ? .stream : .none }
    if state.subscribeQueue.isInsidePacket { return .subscribe }
    let isInsidePacket = state.outbox.isInsidePacket || state.isInsideUrgent
    if !control.isEmpty { return isInsidePacket ? .restOfPacket : .control }
    guard isConnected else { return .none }
    if state.subscribeQueue.queued > 0 {
      if isInsidePacket { return .restOfPacket }
      state.subscribeQueue.prepare()
      return .subscribe
    }
    if Feature.hasExpiry { state.expiry.advance(to: now) }
    state.expire(quota: &connection.quota)
    if state.hasUrgent, state.urgent.element.unsent > 0 {
      if state.outbox.isInsidePacket { return .restOfPacket }
      if state.urgent.element.resends > 0 || state.outbox.resends > 0 { return chooseResend() }
      // What is in the window is not partly sent, and may wait.
      state.outbox.shrinkWindow(&connection.quota)
      state.urgent.element.extendWindow(
        version: version, second: state.expiry.seconds, quota: &connection.quota)
      if state.urgent.element.windowCount > 0 { return .urgent }
    }
    if state.outbox.mayExtendWindow {
      state.outbox.extendWindow(version: version, second: state.expiry.seconds, quota: &connection.quota)
    }
    return state.outbox.windowCount > 0 ? .window : .none
  }

  /// Chooses the next resend. Messages are resent in their order, whichever queue they are in
  /// [MQTT-4.6.0-1].
  private mutating func chooseResend() -> Connection.Source {
    state.outbox.shrinkWindow(&connection.quota)
    if state.urgent.element.isInsidePacket { return .urgent }
    state.urgent.element.shrinkWindow(&connection.quota)
    let (first, second) = (state.urgent.element.nextResend(), state.outbox.nextResend())
    state.urgent.element.extendWindow(
      .resends(before: second), version: version, second: state.expiry.seconds, quota: &connection.quota)
    if state.urgent.element.windowCount > 0 { return .urgent }
    state.outbox.extendWindow(
      .resends(before: first), version: version, second: state.expiry.seconds, quota: &connection.quota)
    return state.outbox.windowCount > 0 ? .window : .none
  }

  private mutating func resendPubrels() {
    while control.hasRoom, let identifier = nextPubrel() {
      var packet = Acknowledgement(type: .pubrel, identifier: identifier)
      packet.isDuplicate = version.isV31 && !DropIn.isOn  // which has DUP for PUBREL too (its §2.1)
      control.put(packet)
    }
  }

  private mutating func nextPubrel() -> PacketIdentifier? {
    if state.hasUrgent, let identifier = state.urgent.element.nextPubrel() { return identifier }
    return state.outbox.nextPubrel()
  }
}
