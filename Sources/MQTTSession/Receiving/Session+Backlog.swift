import MQTTWire

/// A backlog of QoS 2 messages that a kept session brings, larger than `SessionOptions.unreleasedMaximum`.
///
/// A QoS 2 identifier is remembered from PUBLISH to PUBREL, and Mosquitto 2.0 sends all the messages it has
/// kept before the first PUBREL. Those without room are neither handed out nor acknowledged, and everything
/// behind them is read, because PUBREL is there. When no more PUBREL comes, the client closes this
/// connection: on the next one the server has to resend what was not acknowledged [MQTT-4.4.0-1], and there
/// is room for some of it. So each connection shortens the backlog.
///
/// The server has sent everything when it has answered a PINGREQ, and no PUBREL has come since the PINGREQ
/// was queued.
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
