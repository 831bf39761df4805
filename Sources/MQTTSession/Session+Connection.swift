import MQTTWire
import Storage

/// Things that happened: the beginning of a connection, its bytes, its time, its end.
extension Session {
  /// Begins an attempt to connect, with the version that a server accepted last.
  public mutating func connecting() { version = identity.acceptedVersion }

  /// Sets the user name and the password that CONNECT has from now on.
  public mutating func setCredentials(userName: Span<UInt8>, password: Span<UInt8>) throws(SessionError) {
    let limit = min(connects.credentialBytes, UTF8EncodedString.maximumSize)
    guard userName.count <= limit, password.count <= limit,
      userName.count &+ password.count <= connects.credentialBytes
    else { throw .tooLarge }
    guard UTF8EncodedString.isValid(userName) else { throw .utf8 }
    guard password.count == 0 || userName.count > 0 || !connects.needsUserName else { throw .option }
    connects.setCredentials(userName: userName, password: password)
  }

  /// Replaces the contents of CONNECT, and what follows from them, for the connections to come. The Session
  /// State stays. It returns false, and changes nothing, while there is a connection, or if the contents do
  /// not fit into memory that was laid out for others.
  public mutating func renew(_ options: borrowing SessionOptions) -> Bool {
    guard connection.phase == .disconnected, options.connect.version == connects.version,
      !options.allowsFallback, options.credentialBytes == 0,
      options.receiveMaximum <= state.inbox.maximum, options.receiveBytes <= receiver.capacity,
      options.aliasesReceived <= receivedAliases.maximum, connects.renew(options)
    else { return false }
    let acceptedVersion = identity.acceptedVersion
    identity = Identity(options)
    identity.acceptedVersion = acceptedVersion
    inFlightMaximum = options.inFlightMaximum
    connection.keepAlive = KeepAlive(pingTimeout: options.pingTimeout)
    return true
  }

  /// Handles that the server does not speak this version. Returns true if the next connection will use an
  /// older one.
  public mutating func fallBack() -> Bool {
    guard let older = connects.older(than: version) else { return false }
    version = older
    return true
  }

  /// Begins a connection when the transport is open: CONNECT is the first packet on it [MQTT-3.1.0-1].
  public mutating func connectionOpened() {
    precondition(connection.phase == .disconnected)
    connection = connection.next(.sendingConnect)
    if connects.authenticationMethod != nil { connection.authentication = .connecting }
    arrival = Arrival()
    control.removeAll()
    receiver.removeAll()
    receivedAliases.removeAll()
  }

  /// Ends the connection when the transport is closed, by either side. The Session State stays
  /// [MQTT-4.1.0-1].
  public mutating func connectionClosed() {
    connection = connection.next(.disconnected)
    control.removeAll()
    if isJournaled { journal.change { $0.connectionLost() } }
    state.connectionLost(dropsAtMostOnce: policy.needsConnection, dropsSubscribes: policy.dropsSubscribes)
  }

  /// Handles that the server has closed its side. What it sent before can still be `received`, and is
  /// handed out as long as `hasUndeliveredEvent`.
  public mutating func peerClosed() {
    guard connection.isUp else { return }
    connection.phase = .peerClosed
    control.removeAll()
    parse()
  }

  /// Handles that `count` bytes were written to the front of `receiveSpace`.
  public mutating func received(_ count: Int, at now: Instant) {
    counters.bytesReceived.add(count)
    counters.receiveCalls.increment()
    advance(to: now)
    if !Feature.hasParts || !arrival.isLent || !receivedIntoLent(count) { receiver.received(count) }
    arrival.hasBegun = true
    connection.keepAlive.heard(at: now)
    parse()
  }

  /// Handles that `nextDeadline` may have been reached.
  public mutating func timedOut(at now: Instant) {
    if Feature.hasExpiry { state.expiry.advance(to: now) }
    state.expire(quota: &connection.quota)
    if let deadline = state.responses.deadline, deadline.isReached(at: now) { state.overdueAt = now }
    guard connection.isUp else { return }
    if let deadline = connection.ackTimeout.deadline, deadline.isReached(at: now) {
      // An acknowledgement may be unread behind what waits for the application, or in the transport because
      // it did not fit into the buffer.
      guard isHeldUp || arrival.hasLarge || receiver.wasFilled else {
        return close(CloseReason(cause: .ackTimeout), sending: nil)
      }
      receiver.wasFilled = false
      connection.ackTimeout.acknowledged(at: now, waiting: state.unacknowledged)
    }
    switch connection.keepAlive.verdict(at: now) {
    case .nothing: break
    case .ping: ping(at: now)
    case .dead:
      // PINGRESP may be unread behind what waits for the application.
      if isHeldUp { return connection.keepAlive.postpone(at: now) }
      close(CloseReason(cause: .keepAlive), sending: nil)
    }
  }

  /// Whether a part of what the server has sent may be unread.
  private var isHeldUp: Bool { hasUndeliveredEvent || arrival.blockage != .none }

  /// Sends PINGREQ at once, without waiting for Keep Alive.
  public mutating func probe(at now: Instant) {
    guard connection.phase == .connected, connection.keepAlive.mayProbe else { return }
    ping(at: now)
  }

  /// Sets the time of what happens now.
  public mutating func advance(to now: Instant) { state.advance(to: now) }

  // MARK: Helpers

  mutating func ping(at now: Instant) {
    _ = control.appendPingRequest()
    connection.keepAlive.pinged(at: now)
    counters.pings &+= 1
  }

  /// Restarts the acknowledgement timeout, because the server has acknowledged something.
  mutating func restartAckTimeout() {
    connection.ackTimeout.acknowledged(at: state.outbox.now, waiting: state.unacknowledged)
  }

  /// Closes the connection from this side. 5.0 tells the server why (§4.13). Older versions send DISCONNECT
  /// only if the program asked for it, because their DISCONNECT discards the Will.
  mutating func close(_ closeReason: CloseReason, sending reason: ReasonCode?) {
    arrival.closeReason = closeReason
    connection.beginClosing()
    if let reason, version.hasProperties || reason == .success {
      if version.hasProperties, reason != .success { arrival.closeReason?.reasonCode = reason.rawValue }
      let packet = Disconnect(reasonCode: reason)
      // Maximum Packet Size may leave no byte for the reason [MQTT-3.2.2-15]. A DISCONNECT without it would
      // discard the Will.
      if packet.encodedSize(version) <= connection.limits.maximumPacketSize {
        _ = control.append(packet, version: version)
      }
    } else if closeReason.cause.keepsAcknowledgements {
      // What is acknowledged is not resent, so the next connection makes progress.
    } else {
      control.removeAll()  // the server will read no more
    }
  }

  mutating func violate(_ violation: ProtocolViolation) {
    close(CloseReason(cause: .violation(violation)), sending: violation.reasonCode)
  }
}
