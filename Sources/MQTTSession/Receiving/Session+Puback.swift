import MQTTWire
import Storage

/// What PUBACK, PUBREC, PUBREL and PUBCOMP from the server do (§4.3).
extension Session {
  /// Handles acknowledgements without Reason Code and properties as long as nothing else comes. They do
  /// what all acknowledgements do, but so many of them come that they have a loop of their own.
  mutating func parseAcknowledgements() {
    state.recordPeaks()
    guard Feature.hasFastPaths, connection.phase == .connected, !arrival.hasLarge else { return }
    var count = 0
    while let (firstByte, identifier) = receiver.plainAcknowledgement, handlePlain(firstByte, identifier) {
      receiver.consume(Acknowledgement.plainSize)
      count &+= 1
    }
    guard count > 0 else { return }
    counters.packetsReceived.add(count)
    restartAckTimeout()
  }

  /// Returns false if the packet has to be handled by the slow path.
  @inline(always)
  private mutating func handlePlain(_ firstByte: UInt8, _ identifier: PacketIdentifier) -> Bool {
    switch firstByte {
    case ControlPacketType.puback.firstByte: return acknowledgedAtLeastOnce(identifier)
    case ControlPacketType.pubrec.firstByte: return acknowledgedExactlyOnce(.pubrec, identifier)
    case ControlPacketType.pubcomp.firstByte: return acknowledgedExactlyOnce(.pubcomp, identifier)
    case ControlPacketType.pubrel.firstByte: return receivedPlainPubrel(identifier)
    default: return false
    }
  }

  /// Handles PUBACK, the most frequent one.
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
  private mutating func receivedPlainPubrel(_ identifier: PacketIdentifier) -> Bool {
    guard !DropIn.isOn, !isJournaled, control.hasRoom, !state.inbox.hasPending,
      state.inbox.receivedPubrel(identifier)
    else {
      return false
    }
    control.put(Acknowledgement(type: .pubcomp, identifier: identifier))
    return true
  }

  /// Returns whether the message that an identifier belongs to is in the priority queue.
  @inline(__always)
  private func isUrgent(_ identifier: PacketIdentifier) -> Bool {
    state.hasUrgent && IdentifierRange.urgent.contains(identifier)
  }

  mutating func handle(_ packet: Acknowledgement, _ header: FixedHeader) {
    let isUrgent = isUrgent(packet.identifier)
    let (slot, response) =
      isUrgent
      ? state.urgent.element.acknowledged(
        packet, hasReasonCode: version.hasProperties, quota: &connection.quota)
      : state.outbox.acknowledged(
        packet, hasReasonCode: version.hasProperties, quota: &connection.quota)
    restartAckTimeout()
    switch response {
    case .nothing: break
    case .pubrel(let reason): appendAcknowledgement(.pubrel, packet.identifier, reason)
    case .violation: return violate(.handshake)
    }
    guard !packet.properties.isEmpty else { return finish(header) }
    switch isUrgent ? state.urgent.element.details(slot) : state.outbox.details(slot) {
    case .nothing: finish(header)
    case .pubrecReceived(let cookie): makePending(packet, cookie: cookie, header)
    case .ended(let slot):
      let offset = receiver.position &+ header.size
      makePending(
        .acknowledged(
          AcknowledgementDetails(
            slot: slot, isUrgent: isUrgent, reasonString: packet.reasonString.shifted(by: offset),
            properties: packet.properties.shifted(by: offset))),
        header)
    }
  }

  /// Reports PUBREC or PUBREL in the middle of a delivery, if there is something to read.
  private mutating func makePending(_ packet: Acknowledgement, cookie: UInt64?, _ header: FixedHeader) {
    guard let cookie, !packet.properties.isEmpty || DropIn.isOn else { return finish(header) }
    let offset = receiver.position &+ header.size
    makePending(
      .handshake(
        HandshakeEvent(
          type: packet.type, cookie: cookie, reasonCode: packet.reasonCode,
          reasonString: packet.reasonString.shifted(by: offset),
          properties: packet.properties.shifted(by: offset))),
      header)
  }

  /// Answers PUBREL with PUBCOMP, whether the message is known or not [MQTT-4.3.3-11].
  mutating func handle(pubrel packet: Acknowledgement, _ header: FixedHeader) {
    if state.inbox.isUnacknowledged(packet.identifier) { return violate(.handshake) }
    let isKnown = state.inbox.receivedPubrel(packet.identifier)
    // A message that an earlier process has accepted, and not stored that, may have a number.
    if isJournaled { journal.element.numbers.remove(packet.identifier.rawValue) }
    if withholdsPubcomp {
      journal.change { $0.withhold(packet.identifier, isKnown: isKnown) }
    } else {
      appendAcknowledgement(.pubcomp, packet.identifier, isKnown ? .success : .packetIdentifierNotFound)
    }
    // The drop-in has kept the message until now, by its identifier.
    makePending(
      packet, cookie: DropIn.isOn ? Counter(UInt32(packet.identifier.rawValue)).uint64 : 0, header)
  }

  @inline(__always)
  mutating func appendAcknowledgement(
    _ type: ControlPacketType, _ identifier: PacketIdentifier, _ reason: ReasonCode
  ) {
    let sentReason = version.hasProperties && !DropIn.isOn ? reason : .success
    _ = control.append(
      withinLimits(Acknowledgement(type: type, identifier: identifier, reasonCode: sentReason)))
  }

  /// Leaves out the Reason Code if a very small Maximum Packet Size does not allow its byte
  /// [MQTT-3.2.2-15].
  @inline(__always)
  func withinLimits(_ packet: Acknowledgement) -> Acknowledgement {
    if connection.limits.maximumPacketSize >= Acknowledgement.maximumEncodedSize { return packet }
    return Acknowledgement(type: packet.type, identifier: packet.identifier)
  }
}
