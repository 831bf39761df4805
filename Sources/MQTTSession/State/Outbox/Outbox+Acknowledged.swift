import MQTTWire
import Storage

/// What the server's acknowledgements do to a message: `DeliveryHandshake` decides, and this acts.
extension Outbox {
  /// What is to be said to the server.
  enum Response: BitwiseCopyable {
    case nothing
    case pubrel(ReasonCode)
    case violation
  }

  /// PUBACK, PUBREC or PUBCOMP came. Returns where its message was, if there is one.
  @inline(never)
  mutating func acknowledged(
    _ packet: Acknowledgement, hasReasonCode: Bool, quota: inout SendQuota
  ) -> (slot: Int?, response: Response) {
    guard let slot = slot(of: packet.identifier) else { return (nil, unknown(packet)) }
    return (slot, acknowledged(slot, packet, hasReasonCode: hasReasonCode, quota: &quota))
  }

  /// The same for the message that it is for. Before 5.0 it says nothing but that it came.
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
      // PUBREC says more than the PUBCOMP that follows it.
      let earlier = packet.type == .pubcomp ? message.serverReason : nil
      finish(
        slot, step == .complete ? .delivered : .refused, reasonCode: earlier ?? reasonCode, latency: latency)
      return .nothing
    case .sendPubrel:
      descriptors[slot].state = .pubrelSent
      descriptors[slot].serverReason = reasonCode
      return .pubrel(.success)
    case .resendPubrel: return .pubrel(.success)
    case .wait: return .nothing
    case .unknown: return unknown(packet)
    case .violation: return .violation
    }
  }

  /// An identifier nothing waits for. A PUBREC is answered all the same, or the server would wait
  /// for ever; the others are what a server may send after a message was given up.
  private func unknown(_ packet: Acknowledgement) -> Response {
    packet.type == .pubrec && !packet.isRefusal ? .pubrel(.packetIdentifierNotFound) : .nothing
  }

  /// What an acknowledgement with properties tells the application.
  enum Details: BitwiseCopyable {
    case nothing
    case ended(slot: Int)  // goes with the completion
    case pubrecReceived(cookie: UInt64?)  // PUBREC has come, PUBCOMP not yet; `nil`: nobody wants to hear of it
  }

  /// `slot`: where the message was when the acknowledgement came.
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
