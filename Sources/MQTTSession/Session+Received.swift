import FixedMemory
import MQTTWire

/// What a packet from the server does. Parsing yields plain values, so that every decision is made
/// on something already checked.
extension Session {
  /// Works through what was received, packet by packet, as long as there is room for the answers.
  mutating func parse() {
    while phase == .awaitingConnack || phase == .connected, control.hasRoom {
      do throws(Malformed) {
        guard let header = try FixedHeader(parsing: receiver.unread, version: version) else { return }
        guard header.packetSize <= receiver.capacity else {
          return end(Ending(cause: .receivedTooLarge), saying: .packetTooLarge)
        }
        guard header.packetSize <= receiver.unread.count else { return }
        try handle(header)
        counters.packetsReceived.increment()
        receiver.consume(header.packetSize)
      } catch {
        end(Ending(cause: .malformed(error)), saying: error.reasonCode)
      }
    }
  }

  private mutating func handle(_ header: FixedHeader) throws(Malformed) {
    // Only CONNACK may come first [MQTT-3.2.0-1], and only once [MQTT-3.2.0-2].
    guard (header.type == .connack) == (phase == .awaitingConnack) else { return violate() }
    switch header.type {
    case .connack:
      let connack = try Connack(parsing: receiver.body(of: header), version: version)
      handle(connack, bodyOffset: header.size)
    case .puback, .pubrec, .pubcomp:
      let packet = try Acknowledgement(
        parsing: receiver.body(of: header), type: header.type, version: version)
      handle(packet)
    case .pingresp:
      try Ping.parseResponse(receiver.body(of: header))
      keepAlive.answered()
    case .disconnect where version.hasProperties:
      let disconnect = try Disconnect(parsing: receiver.body(of: header))
      handle(disconnect, bodyOffset: header.size)
    case .publish, .pubrel, .suback, .unsuback:
      // Nothing was subscribed to: the receiving half of the protocol is the next step.
      violate()
    case .connect, .subscribe, .unsubscribe, .pingreq, .disconnect, .auth:
      violate()  // only clients send these, or only those that asked for it
    }
  }

  private mutating func handle(_ connack: Connack, bodyOffset: Int) {
    let offset = receiver.position &+ bodyOffset
    guard connack.isAccepted else {
      return end(
        Ending(
          cause: .refused, reasonCode: connack.reasonCode,
          reasonString: connack.reasonString.shifted(by: offset),
          serverReference: connack.serverReference.shifted(by: offset)),
        saying: nil)
    }
    // A session that we did not ask for [MQTT-3.2.2-4]. One that we did ask for may be that of an earlier
    // process (docs/decisions/0009).
    guard !(connack.sessionPresent && cleanStart) else { return violate() }
    // 3.1 does not say. If the server has no session after all, sending again does no harm.
    let sessionPresent = version == .v3_1 ? !cleanStart : connack.sessionPresent
    phase = .connected
    isAccepted = true
    counters.connections &+= 1
    limits = ServerLimits(connack)
    keepAlive.start(seconds: connack.serverKeepAlive ?? ownKeepAlive)  // [MQTT-3.2.2-21]
    outbox.connected(
      sessionPresent: sessionPresent,
      quota: min(inFlightMaximum, Int(connack.receiveMaximum)), limits: limits)
    connectedEvent = ConnectedEvent(
      sessionPresent: sessionPresent,
      reasonString: connack.reasonString.shifted(by: offset))
  }

  private mutating func handle(_ packet: Acknowledgement) {
    switch outbox.acknowledged(packet, hasReasonCode: version.hasProperties) {
    case .nothing: break
    case .pubrel(let reason):
      _ = control.append(
        Acknowledgement(
          type: .pubrel, identifier: packet.identifier,
          reasonCode: version.hasProperties ? reason : .success))
    case .violation: violate()
    }
  }

  private mutating func handle(_ disconnect: Disconnect, bodyOffset: Int) {
    let offset = receiver.position &+ bodyOffset
    end(
      Ending(
        cause: .disconnected, reasonCode: disconnect.reasonCode,
        reasonString: disconnect.reasonString.shifted(by: offset),
        serverReference: disconnect.serverReference.shifted(by: offset)),
      saying: nil)
  }

  private mutating func violate() {
    end(Ending(cause: .protocolError), saying: .protocolError)
  }
}
