public import MQTTWire

/// What the application wants: messages to be acknowledged.
extension Session {
  /// The message that was handed out last waits for `acknowledge`. False: there is none.
  public mutating func hold() -> Bool {
    guard arrival.event.isBorrowed, state.inbox.isPending(arrival.event.token) else { return false }
    arrival.event.isHeld = true
    return true
  }

  /// The Packet Identifier that a message came with, as long as it is not acknowledged.
  public func packetIdentifier(of token: UInt32) -> UInt16? { state.inbox.identifier(of: token)?.rawValue }

  /// Acknowledges a message, or changes nothing. It leaves when those before it have.
  public mutating func acknowledge(
    _ token: UInt32, reasonCode: UInt8, properties: Span<UInt8>
  ) throws(SessionError) {
    guard state.inbox.isPending(token) else { throw .token }
    guard Acknowledgement.isAllowedFromClient(reasonCode, version) else { throw .reasonCode }
    guard properties.count > 0 else {
      _ = state.inbox.accept(token, reasonCode: reasonCode)
      sendAcknowledgements()
      parse()  // if that was what had to be waited for
      return
    }
    guard version.hasProperties, PropertyReader.isValid(properties, in: .packet(.puback, from: .client))
    else { throw .property }
    let size = FixedHeader.packetSize(Acknowledgement.remainingLength(properties: properties))
    guard size <= control.capacity else { throw .tooLarge }
    guard connection.isUp, state.inbox.isNext(token), control.hasRoom(besides: size) else { throw .full }
    _ = state.inbox.accept(token, reasonCode: reasonCode)
    if let packet = state.inbox.next, size <= connection.limits.maximumPacketSize {
      // Above the server's Maximum Packet Size it goes without [MQTT-3.4.2-2] [MQTT-3.4.2-3].
      _ = control.append(packet, properties: properties)
      state.inbox.removeNext()
    }
    parse()
  }

  /// The application has done with a message.
  @inline(never)
  mutating func accept(_ token: UInt32) {
    guard connection.phase == .connected, control.hasRoom, let packet = state.inbox.acceptNext(token) else {
      return acceptLater(token)
    }
    control.put(packet)
  }

  @inline(never)
  private mutating func acceptLater(_ token: UInt32) {
    _ = state.inbox.accept(token, reasonCode: ReasonCode.success.rawValue)
  }

  /// Lets the acknowledgements leave that may, in the order of the messages.
  mutating func sendAcknowledgements() {
    guard state.inbox.hasPending, connection.phase == .connected else { return }
    while control.hasRoom, let packet = state.inbox.next {
      control.put(withinLimits(packet))
      state.inbox.removeNext()
    }
  }
}
