import MQTTWire
import Storage

/// What PUBACK, PUBREC, PUBREL and PUBCOMP from the server do (§4.3).
extension Session {
  /// Works through acknowledgements that say no more than that, as long as nothing else comes. They are handled as all are; so
  /// many of them come that they have a loop of their own.
  mutating func parseAcknowledgements() {
    state.recordPeaks()
    guard connection.phase == .connected, !arrival.hasLarge else { return }
    var count = 0
    while let (firstByte, identifier) = receiver.plainAcknowledgement, handlePlain(firstByte, identifier) {
      receiver.consume(Acknowledgement.plainSize)
      count &+= 1
    }
    guard count > 0 else { return }
    counters.packetsReceived.add(count)
    answered()
  }

  /// False: it has to be looked at more closely.
  @inline(always)
  private mutating func handlePlain(_ firstByte: UInt8, _ identifier: PacketIdentifier) -> Bool {
    switch firstByte {
    case ControlPacketType.puback.firstByte: return acknowledgedAtLeastOnce(identifier)
    case ControlPacketType.pubrec.firstByte: return acknowledgedExactlyOnce(.pubrec, identifier)
    case ControlPacketType.pubcomp.firstByte: return acknowledgedExactlyOnce(.pubcomp, identifier)
    case ControlPacketType.pubrel.firstByte: return releasedPlain(identifier)
    default: return false
    }
  }

  /// PUBACK, of which most come.
  @inline(always)
  private mutating func acknowledgedAtLeastOnce(_ identifier: PacketIdentifier) -> Bool {
    guard let slot = state.outbox.slot(of: identifier) else { return false }
    let packet = Acknowledgement(type: .puback, identifier: identifier)
    let response = state.outbox.acknowledged(
      slot, packet, hasReasonCode: version.hasProperties, quota: &connection.quota)
    guard case .nothing = response else { return false }
    return true
  }

  @inline(never)
  private mutating func acknowledgedExactlyOnce(
    _ type: ControlPacketType, _ identifier: PacketIdentifier
  ) -> Bool {
    guard type != .pubrec || control.hasRoom, state.outbox.slot(of: identifier) != nil else { return false }
    let packet = Acknowledgement(type: type, identifier: identifier)
    switch state.outbox.acknowledged(packet, hasReasonCode: version.hasProperties, quota: &connection.quota)
      .response
    {
    case .nothing: return true
    case .pubrel(let reason):
      appendAcknowledgement(.pubrel, identifier, reason)
      return true
    case .violation: return false
    }
  }

  @inline(__always)
  private mutating func releasedPlain(_ identifier: PacketIdentifier) -> Bool {
    guard !DropIn.isOn, control.hasRoom, !state.inbox.hasPending, state.inbox.released(identifier) else {
      return false
    }
    control.put(Acknowledgement(type: .pubcomp, identifier: identifier))
    return true
  }

  /// Whether the message that an identifier belongs to is in the priority queue.
  @inline(__always)
  private func isUrgent(_ identifier: PacketIdentifier) -> Bool {
    !state.urgent.isEmpty && IdentifierRange.urgent.contains(identifier)
  }

  mutating func handle(_ packet: Acknowledgement, _ header: FixedHeader) {
    let isUrgent = isUrgent(packet.identifier)
    let (slot, response) =
      isUrgent
      ? state.urgent.element.acknowledged(
        packet, hasReasonCode: version.hasProperties, quota: &connection.quota)
      : state.outbox.acknowledged(
        packet, hasReasonCode: version.hasProperties, quota: &connection.quota)
    answered()
    switch response {
    case .nothing: break
    case .pubrel(let reason): appendAcknowledgement(.pubrel, packet.identifier, reason)
    case .violation: return violate(.handshake)
    }
    guard !packet.properties.isEmpty else { return finish(header) }
    switch isUrgent ? state.urgent.element.details(slot) : state.outbox.details(slot) {
    case .nothing: finish(header)
    case .released(let cookie): show(packet, cookie: cookie, header)
    case .ended(let slot):
      let offset = receiver.position &+ header.size
      show(
        .acknowledged(
          AcknowledgementDetails(
            slot: slot, isUrgent: isUrgent, reasonString: packet.reasonString.shifted(by: offset),
            properties: packet.properties.shifted(by: offset))),
        header)
    }
  }

  /// In the middle of the delivery: there is an event if there is something to be read.
  private mutating func show(_ packet: Acknowledgement, cookie: UInt64?, _ header: FixedHeader) {
    guard let cookie, !packet.properties.isEmpty || DropIn.isOn else { return finish(header) }
    let offset = receiver.position &+ header.size
    show(
      .handshake(
        HandshakeEvent(
          type: packet.type, cookie: cookie, reasonCode: packet.reasonCode,
          reasonString: packet.reasonString.shifted(by: offset),
          properties: packet.properties.shifted(by: offset))),
      header)
  }

  /// PUBCOMP answers PUBREL, whether the message is known or not [MQTT-4.3.3-11].
  mutating func handle(pubrel packet: Acknowledgement, _ header: FixedHeader) {
    if state.inbox.isUnacknowledged(packet.identifier) { return violate(.handshake) }
    let isKnown = state.inbox.released(packet.identifier)
    appendAcknowledgement(.pubcomp, packet.identifier, isKnown ? .success : .packetIdentifierNotFound)
    // The drop-in has kept the message until now, under its identifier.
    show(
      packet, cookie: DropIn.isOn ? Counter(UInt32(packet.identifier.rawValue)).uint64 : 0, header)
  }

  @inline(__always)
  mutating func appendAcknowledgement(
    _ type: ControlPacketType, _ identifier: PacketIdentifier, _ reason: ReasonCode
  ) {
    let said = version.hasProperties && !DropIn.isOn ? reason : .success
    _ = control.append(withinLimits(Acknowledgement(type: type, identifier: identifier, reasonCode: said)))
  }

  /// A Reason Code takes a byte that a very small Maximum Packet Size may not allow [MQTT-3.2.2-15].
  @inline(__always)
  func withinLimits(_ packet: Acknowledgement) -> Acknowledgement {
    if connection.limits.maximumPacketSize >= Acknowledgement.maximumEncodedSize { return packet }
    return Acknowledgement(type: packet.type, identifier: packet.identifier)
  }
}
