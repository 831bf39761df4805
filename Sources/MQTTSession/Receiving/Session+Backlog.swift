import MQTTWire

/// A backlog of QoS 2 messages that a kept session brings, larger than `SessionOptions.unreleasedMaximum`.
///
/// A QoS 2 identifier is remembered from PUBLISH to PUBREL, and Mosquitto 2.0 sends all the messages it has kept before the
/// first PUBREL. Those that have no place are neither handed out nor answered, and everything behind them is read, as PUBREL is
/// there. When the server has released what it will release, this connection is given up: on the next one it has to send
/// again what was not answered [MQTT-4.4.0-1], and there are places for it. So each connection brings the backlog further.
///
/// That the server has no more to say is known when it answers a PINGREQ, and has sent no PUBREL since it was asked.
extension Session {
  enum BacklogPing: BitwiseCopyable { case none, sent, acknowledged }

  mutating func advanceBacklog() {
    guard state.inbox.isPostponing, connection.phase == .connected, !hasUndeliveredEvent, !arrival.hasLarge,
      arrival.blockage == .none, state.inbox.canReconnectForBacklog
    else { return }
    switch connection.backlogPing {
    case .sent: break
    case .acknowledged where !state.inbox.hasReceivedPubrel:
      state.inbox.reconnectForBacklog()
      close(CloseReason(cause: .backlog), sending: .quotaExceeded)
    case .none, .acknowledged:
      guard control.hasRoom, connection.keepAlive.mayProbe else { return }
      state.inbox.forgetPubrels()
      connection.backlogPing = .sent
      ping(at: state.outbox.now)
    }
  }
}
