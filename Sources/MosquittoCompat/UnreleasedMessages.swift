// QoS 2 messages between PUBREC and PUBREL. libmosquitto hands them out when PUBREL has come, behind what
// came meanwhile. The core hands them out when PUBLISH comes, and remembers no more than the Packet
// Identifier.

import CMosquitto

struct UnreleasedMessage: BitwiseCopyable {
  let message: ReceivedMessage
  /// In bytes, with those of the list.
  let size: Int
}

extension Mosquitto.Locked {
  /// False: the message is handed out at once, because it is none of these, or because there is no room for
  /// it: its PUBREC is on its way, so it would be lost otherwise.
  mutating func keepUntilReleased(_ received: ReceivedMessage) -> Bool {
    guard unsafe received.message.qos == 2, received.isAcknowledged, !received.isOversize else {
      return false
    }
    let size =
      unsafe LinkedList<UnreleasedMessage>.bytesOfNode &+ spanOrNone(received.message.topic).count
      &+ received.size &+ encodedSize(of: received.properties)
    // A message with the same identifier will not be released. In 3.1 a server does not report that it has
    // lost the session; or the client was made anew, and does not know that it has received before what comes
    // again.
    let is31 = state.version == UInt32(MQTT_PROTOCOL_V31)
    if is31 || received.isDuplicate, let other = unsafe takeUnreleased(received.message.mid) {
      if is31 { deferCallback(.released(other)) } else { other.free() }
    }
    guard state.unreleasedBytes &+ size <= Int(truncatingIfNeeded: Limits.receiveBytes),
      state.unreleased.append(UnreleasedMessage(message: received, size: size))
    else { return false }
    state.unreleasedBytes &+= size
    return true
  }

  /// PUBREL has come. PUBCOMP is sent before the callback, as every acknowledgement is.
  mutating func released(_ mid: Int32) {
    flush()
    log(SHIM_RECEIVED_PUBREL, mid)
    log(SHIM_SENDING_PUBCOMP, mid)
    if let message = takeUnreleased(mid) { callMessage(message) }
  }

  /// Nearly always it is the first.
  mutating func takeUnreleased(_ mid: Int32) -> ReceivedMessage? {
    removed(state.unreleased.removeFirst { unsafe $0.message.message.mid == mid })
  }

  /// The server has no session, or does not report whether it has (3.1): of a session that is gone no PUBREL
  /// comes. Since PUBREC the client owns the messages [MQTT-4.3.3-8], so it hands them out, which
  /// libmosquitto never does.
  mutating func settleUnreleased() {
    guard state.version != UInt32(MQTT_PROTOCOL_V31) || state.cleanSession else { return }
    while let message = removed(state.unreleased.removeFirst()) { deferCallback(.released(message)) }
  }

  mutating func freeUnreleased() {
    while let message = removed(state.unreleased.removeFirst()) { message.free() }
  }

  private mutating func removed(_ unreleased: UnreleasedMessage?) -> ReceivedMessage? {
    guard let unreleased else { return nil }
    state.unreleasedBytes &-= unreleased.size
    return unreleased.message
  }
}
