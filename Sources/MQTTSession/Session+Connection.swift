import Storage
import MQTTWire

/// Things that happened: the beginning of a connection, its bytes, its time, its end.
extension Session {
  /// An attempt to connect begins, with the version a server accepted last.
  public mutating func connecting() { version = acceptedVersion }

  /// What CONNECT is to say from now on.
  public mutating func setCredentials(userName: Span<UInt8>, password: Span<UInt8>) throws(SessionError) {
    let limit = min(connects.credentialBytes, UTF8EncodedString.maximumSize)
    guard userName.count <= limit, password.count <= limit,
      userName.count &+ password.count <= connects.credentialBytes
    else { throw .tooLarge }
    guard UTF8EncodedString.isValid(userName) else { throw .utf8 }
    guard password.count == 0 || userName.count > 0 || !connects.needsUserName else { throw .option }
    connects.setCredentials(userName: userName, password: password)
  }

  /// What CONNECT says, and what follows from it, on the connections to come; the Session State stays. False, and nothing
  /// has changed: there is a connection, or it does not fit into memory that was laid out for something else.
  public mutating func renew(_ options: borrowing SessionOptions) -> Bool {
    guard phase == .disconnected, options.connect.version == connects.version, !options.allowsFallback,
      options.credentialBytes == 0, options.receiveMaximum <= inbox.maximum,
      options.receiveBytes <= receiver.capacity, options.aliasesReceived <= receivedAliases.maximum,
      connects.renew(options)
    else { return false }
    cleanStart = options.connect.cleanStart || options.beginsNewSession
    beginsNewSession = options.beginsNewSession
    ownKeepAlive = options.connect.keepAlive
    ownSessionExpiry = options.connect.session.sessionExpiryInterval
    ownMaximumPacketSize = options.ownMaximumPacketSize
    inFlightMaximum = options.inFlightMaximum
    keepAlive = KeepAlive(pingTimeout: options.pingTimeout)
    return true
  }

  /// The server does not speak this version. True: the next connection will be with an older one.
  public mutating func fallBack() -> Bool {
    guard let older = connects.older(than: version) else { return false }
    version = older
    return true
  }

  /// The transport is open: CONNECT is the first packet on it [MQTT-3.1.0-1].
  public mutating func connectionOpened() {
    precondition(phase == .disconnected)
    phase = .sendingConnect
    connectSent = 0
    isAccepted = false
    isLeaving = false
    isPeerGone = false
    receivedAnything = false
    farewellSize = 0
    farewellExpiry = 0..<0
    farewellReason = 0
    closeReason = nil
    if view != nil { view = nil }
    shownSize = 0
    isShownTaken = false
    isViewTaken = false
    isViewHeld = false
    lacksRoom = false
    isStalled = false
    roundTrip = .none
    if incoming != nil { endIncoming() }
    authentication = connects.authenticationMethod == nil ? .none : .connecting
    control.removeAll()
    receiver.removeAll()
    receivedAliases.removeAll()
  }

  /// The transport is closed, by either side. The Session State stays [MQTT-4.1.0-1].
  public mutating func connectionClosed() {
    phase = .disconnected
    isAccepted = false
    isLeaving = false
    limits = ServerLimits()
    quota = SendQuota()
    outbox.connectionLost()
    if needsConnection || DropIn.isOn { outbox.dropAtMostOnce() }
    if !urgent.isEmpty {
      urgent.element.connectionLost()
      if needsConnection { urgent.element.dropAtMostOnce() }
    }
    if forgetsRequests { requests.removeAll() } else { requests.connectionLost() }
    subscriptions.connectionLost()
    control.removeAll()
    keepAlive.stop()
    answers.stop()
    streamStart = 0
    streamEnd = 0
  }

  /// The peer takes nothing any more. What it had sent before can still be `received`, and is handed out as long as
  /// `hasUndeliveredEvent`.
  public mutating func peerClosed() {
    guard phase == .connected else { return }
    isPeerGone = true
    control.removeAll()
    parse()
  }

  /// `count` bytes were written to the front of `receiveSpace`.
  public mutating func received(_ count: Int, at now: Instant) {
    counters.bytesReceived.add(count)
    counters.receiveCalls.increment()
    advance(to: now)
    receiver.received(count)
    receivedAnything = true
    keepAlive.heard(at: now)
    parse()
  }

  /// `count` bytes from the front of `output` were handed to the transport.
  public mutating func transmitted(_ count: Int, at now: Instant) {
    advance(to: now)
    counters.bytesSent.add(count)
    counters.sendCalls.increment()
    switch source {
    case .restOfPacket, .stream: keepAlive.sentPart(at: now)
    default: keepAlive.sent(at: now)
    }
    defer { answers.sent(at: now, waiting: waitingForAnswer) }
    switch source {
    case .none: break
    case .connect:
      connectSent &+= count
      if connectSent == connects.packet(version).count {
        counters.packetsSent.increment()
        phase = .awaitingConnack
      }
    case .control:
      counters.packetsSent.add(control.transmitted(count))
      // What had to wait for room: also behind an event that the application has.
      sendAcknowledgements()
      parse()
    case .request:
      if requests.transmitted(count) { counters.packetsSent.increment() }
    case .urgent:
      counters.packetsSent.add(urgent.element.transmitted(count, order: &order))
    case .restOfPacket where isInsideUrgent:
      counters.packetsSent.add(urgent.element.transmitted(count, order: &order))
    case .run, .restOfPacket:
      counters.packetsSent.add(outbox.transmitted(count, order: &order))
    case .stream:
      streamStart &+= count
      counters.packetsSent.add(outbox.transmittedStream(count, order: &order))
    }
    source = .none
  }

  /// `nextDeadline` may have been reached.
  public mutating func timedOut(at now: Instant) {
    clock.advance(to: now)
    expire()
    if let deadline = replies.deadline, deadline.isReached(at: now) { replyCheck = now }
    guard phase == .connected else { return }
    if let deadline = answers.deadline, deadline.isReached(at: now) {
      // Behind what waits for the application, or did not fit into the buffer, one may lie unread.
      guard hasUndeliveredEvent || isStalled || lacksRoom || incoming != nil || receiver.wasFilled else {
        return end(CloseReason(cause: .ackTimeout), saying: nil)
      }
      receiver.wasFilled = false
      answers.answered(at: now, waiting: waitingForAnswer)
    }
    switch keepAlive.verdict(at: now) {
    case .nothing: break
    case .ping: ping(at: now)
    case .dead:
      // Behind what waits for the application, its answer may lie unread.
      if hasUndeliveredEvent || isStalled || lacksRoom { return keepAlive.postpone(at: now) }
      end(CloseReason(cause: .keepAlive), saying: nil)
    }
  }

  /// Looks whether the server is there, without waiting for Keep Alive.
  public mutating func probe(at now: Instant) {
    guard phase == .connected, !isPeerGone, keepAlive.mayProbe else { return }
    ping(at: now)
  }

  // MARK: Helpers

  mutating func ping(at now: Instant) {
    _ = control.appendPingRequest()
    keepAlive.pinged(at: now)
    counters.pings &+= 1
  }

  /// The time of what happens now.
  public mutating func advance(to now: Instant) {
    outbox.advance(to: now)
    if !urgent.isEmpty { urgent.element.advance(to: now) }
  }

  /// Before an acknowledgement takes something out.
  mutating func notePeaks() {
    outbox.notePeaks()
    if !urgent.isEmpty { urgent.element.notePeaks() }
  }

  /// PUBLISH, PUBREL, SUBSCRIBE and UNSUBSCRIBE that are sent, each whole, and that the server has not answered.
  var waitingForAnswer: Int {
    outbox.unacknowledged &+ (urgent.isEmpty ? 0 : urgent.element.unacknowledged) &+ requests.incomplete
      &- requests.queued
  }

  mutating func answered() { answers.answered(at: outbox.now, waiting: waitingForAnswer) }

  mutating func expire() {
    outbox.expire(at: clock.seconds, quota: &quota)
    if !urgent.isEmpty { urgent.element.expire(at: clock.seconds, quota: &quota) }
  }

  /// Ends the connection from this side. 5.0 tells the server why (§4.13), 3.1.1 only says goodbye,
  /// and only if that is meant: a DISCONNECT of 3.1.1 discards the Will.
  mutating func end(_ closeReason: CloseReason, saying reason: ReasonCode?) {
    self.closeReason = closeReason
    phase = .ending
    if let reason, version.hasProperties || reason == .success {
      if version.hasProperties, reason != .success { self.closeReason?.reasonCode = reason.rawValue }
      let packet = Disconnect(reasonCode: reason)
      // There may be no byte for the reason [MQTT-3.2.2-15]; a DISCONNECT without it would discard the Will.
      if packet.encodedSize(version) <= limits.maximumPacketSize {
        _ = control.append(packet, version: version)
      }
    } else if closeReason.cause.keepsAcknowledgements {
      // What is acknowledged is not sent again: the next connection gets further.
    } else {
      control.removeAll()  // nobody listens any more
    }
  }

  mutating func violate(_ violation: ProtocolViolation) {
    end(CloseReason(cause: .violation(violation)), saying: violation.reasonCode)
  }
}
