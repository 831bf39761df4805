import MQTTWire
import Storage

/// What CONNACK does (§3.2): a connection is accepted, or it is not.
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
        saying: nil)
    }
    // A session that we did not ask for [MQTT-3.2.2-4]. One that we did ask for may be that of an earlier
    // process (docs/decisions/0009).
    guard !(connack.sessionPresent && saidClean) else { return violate(.unwantedSession) }
    guard isMethodOurs(connack.authenticationMethod.shifted(by: offset)) else {
      return violate(.unexpectedAuthentication)
    }
    // 3.1 does not say. If the server has no session after all, sending again does no harm.
    let isKnown = !version.isV31
    let sessionPresent = isKnown ? connack.sessionPresent : !saidClean
    connection.phase = .connected
    identity.acceptedVersion = version
    counters.connections &+= 1
    if identity.beginsNewSession {
      identity.beginsNewSession = false
      identity.cleanStart = false
      connects.setCleanStart(false)
    }
    switch connection.authentication {
    case .connecting, .connectingAnswerDue: connection.authentication = .done
    default: break
    }
    connection.limits = ServerLimits(
      connack, ownKeepAlive: identity.keepAlive,
      ownSessionExpiry: version.hasProperties ? identity.sessionExpiry : saidClean ? 0 : .max)
    connection.keepAlive.start(seconds: connection.limits.keepAlive)
    connection.quota = SendQuota(limit: min(sendMaximum, connection.limits.receiveMaximum))
    state.connected(
      version, sessionPresent: sessionPresent, repeatsExactlyOnce: policy.repeatsExactlyOnce,
      quota: &connection.quota, limits: connection.limits)
    answered()
    switch policy.resubscribing {
    case .always: state.subscriptions.sessionLost()
    case .ifLost where !(isKnown && sessionPresent): state.subscriptions.sessionLost()
    default: break
    }
    state.inbox.connected(
      version, sessionPresent: sessionPresent, isKnown: isKnown,
      endsWithConnection: identity.cleanStart || connection.limits.sessionExpiry == 0)
    arrival.event.show(
      .connected(
        ConnectedEvent(
          sessionPresent: isKnown && sessionPresent, reasonString: connack.reasonString.shifted(by: offset),
          properties: connack.properties.shifted(by: offset))),
      ByteRange(offset: 0, count: header.packetSize))
  }

  /// What CONNECT said. That a new session is to begin, only that of 5.0 says.
  private var saidClean: Bool {
    identity.beginsNewSession && version != connects.version ? false : identity.cleanStart
  }

  private var sendMaximum: Int {
    if inFlightMaximum > 0 { return inFlightMaximum }
    return version.hasProperties ? 65_535 : 20
  }
}
