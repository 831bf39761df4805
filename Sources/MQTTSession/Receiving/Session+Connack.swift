import MQTTWire
import Storage

/// What CONNACK does (§3.2): it accepts a connection, or refuses it.
extension Session {
  mutating func handle(_ connack: Connack, _ header: FixedHeader) {
    let offset = receiver.position &+ header.size
    counters.packetsReceived.increment()
    guard connack.isAccepted else {
      return close(
        CloseReason(
          cause: .refused, reasonCode: connack.reasonCode,
          reasonString: connack.reasonString.shifted(by: offset),
          serverReference: connack.serverReference.shifted(by: offset),
          properties: connack.properties.shifted(by: offset)),
        sending: nil)
    }
    // The session was not asked for [MQTT-3.2.2-4]. One that was asked for may be that of an earlier
    // process (docs/decisions/0009).
    guard !(connack.sessionPresent && sentCleanStart) else { return violate(.unwantedSession) }
    guard isMethodOurs(connack.authenticationMethod.shifted(by: offset)) else {
      return violate(.unexpectedAuthentication)
    }
    // 3.1 does not report Session Present. If the server has no session after all, resending does no harm.
    let isKnown = !version.isV31
    let sessionPresent = isKnown ? connack.sessionPresent : !sentCleanStart
    connection.phase = .connected
    identity.acceptedVersion = version
    counters.connections &+= 1
    if identity.beginsNewSession {
      identity.beginsNewSession = false
      identity.cleanStart = false
      connects.setCleanStart(false)
    }
    switch connection.authentication {
    case .connecting, .connectingAuthDue: connection.authentication = .done
    default: break
    }
    connection.limits = ServerLimits(
      connack, ownKeepAlive: identity.keepAlive,
      ownSessionExpiry: version.hasProperties ? identity.sessionExpiry : sentCleanStart ? 0 : .max)
    connection.keepAlive.start(seconds: connection.limits.keepAlive)
    connection.quota = SendQuota(limit: min(sendMaximum, connection.limits.receiveMaximum))
    state.connected(
      version, sessionPresent: sessionPresent, repeatsExactlyOnce: policy.repeatsExactlyOnce,
      quota: &connection.quota, limits: connection.limits)
    restartAckTimeout()
    switch policy.resubscribing {
    case .always: state.subscriptions.sessionLost()
    case .ifLost where !(isKnown && sessionPresent): state.subscriptions.sessionLost()
    default: break
    }
    state.inbox.connected(
      version, sessionPresent: sessionPresent, isKnown: isKnown,
      endsWithConnection: identity.cleanStart || connection.limits.sessionExpiry == 0)
    if isJournaled, !sessionPresent { forgetSession() }
    arrival.event.set(
      .connected(
        ConnectedEvent(
          sessionPresent: isKnown && sessionPresent, reasonString: connack.reasonString.shifted(by: offset),
          properties: connack.properties.shifted(by: offset))),
      ByteRange(offset: 0, count: header.packetSize))
  }

  /// Whether CONNECT had Clean Start or Clean Session. Only 5.0 can begin a new session and keep it.
  private var sentCleanStart: Bool {
    identity.beginsNewSession && version != connects.version ? false : identity.cleanStart
  }

  private var sendMaximum: Int {
    if inFlightMaximum > 0 { return inFlightMaximum }
    return version.hasProperties ? 65_535 : 20
  }
}
