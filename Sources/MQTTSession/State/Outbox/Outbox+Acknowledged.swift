import MQTTWire
import Storage

/// What the server's acknowledgements do to a message. `DeliveryHandshake` decides, and the outbox acts.
extension Outbox {
  /// The answer to the server.
  enum Response: BitwiseCopyable {
    case nothing
    case pubrel(ReasonCode)
    case violation
  }

  /// Handles PUBACK, PUBREC or PUBCOMP. Returns the slot of its message, if there is one.
  @inline(never)
  mutating func acknowledged(
    _ packet: Acknowledgement, hasReasonCode: Bool, quota: inout SendQuota
  ) -> (slot: Int?, response: Response) {
    guard let slot = slot(of: packet.identifier) else { return (nil, unknown(packet)) }
    return (slot, acknowledged(slot, packet, hasReasonCode: hasReasonCode, quota: &quota))
  }

  /// Handles an acknowledgement whose message has been found. Before 5.0 an acknowledgement has no Reason
  /// Code.
  @inline(always)
  mutating func acknowledged(
    _ slot: Int, _ packet: Acknowledgement, hasReasonCode: Bool, quota: inout SendQuota
  ) -> Response {
    let message = descriptors[slot]
    let step = DeliveryHandshake.step(
      qos: message.qos, state: message.state, on: packet.type, isRefusal: packet.isRefusal)
    let reasonCode = hasReasonCode ? packet.reasonCode : nil
    switch step {
    case .complete, .refuse:
      quota.left &+= 1
      unacknowledged &-= 1
      let latency = now.milliseconds &- message.since
      latencies.add(latency)
      // The Reason Code of PUBREC says more than that of the PUBCOMP which follows it.
      let earlier = packet.type == .pubcomp ? message.serverReason : nil
      finish(
        slot, step == .complete ? .delivered : .refused, reasonCode: earlier ?? reasonCode, latency: latency)
      return .nothing
    case .sendPubrel:
      descriptors[slot].state = .pubrelSent
      descriptors[slot].serverReason = reasonCode
      return holdsPubrel(slot) ? .nothing : .pubrel(.success)
    case .resendPubrel: return holdsPubrel(slot) ? .nothing : .pubrel(.success)
    case .wait: return .nothing
    case .unknown: return unknown(packet)
    case .violation: return .violation
    }
  }

  /// Handles an identifier that no message waits for. A PUBREC is answered with PUBREL all the same, or the
  /// server would wait forever. The server may send the others after a message was abandoned.
  private func unknown(_ packet: Acknowledgement) -> Response {
    packet.type == .pubrec && !packet.isRefusal ? .pubrel(.packetIdentifierNotFound) : .nothing
  }

  /// What an acknowledgement with properties means to the application.
  enum Details: BitwiseCopyable {
    case nothing
    case ended(slot: Int)  // reported with the completion
    case pubrecReceived(cookie: UInt64?)  // PUBCOMP has not come yet; `nil`: it is not reported
  }

  /// Returns what to report about an acknowledgement. `slot` is where its message was when it came.
  func details(_ slot: Int?) -> Details {
    guard let slot else { return .nothing }
    let message = descriptors[slot]
    switch message.state {
    case .completed: return .ended(slot: slot)
    case .pubrelSent: return .pubrecReceived(cookie: message.flags.contains(.isQuiet) ? nil : message.cookie)
    default: return .nothing
    }
  }
}
