public import MQTTWire

/// What the application wants: messages to be acknowledged.
extension Session {
  /// The message that was handed out last waits for `acknowledge`. False: there is none.
  public mutating func hold() -> Bool {
    guard let token = borrowedToken, inbox.isPending(token) else { return false }
    isViewHeld = true
    return true
  }

  /// The Packet Identifier that a message came with, as long as it is not acknowledged.
  public func packetIdentifier(of token: UInt32) -> UInt16? { inbox.identifier(of: token)?.rawValue }

  /// Acknowledges a message, or changes nothing. It leaves when those before it have.
  public mutating func acknowledge(
    _ token: UInt32, reasonCode: UInt8, properties: Span<UInt8>
  ) throws(SessionError) {
    guard inbox.isPending(token) else { throw .token }
    guard Acknowledgement.isAllowedFromClient(reasonCode, version) else { throw .reasonCode }
    guard properties.count > 0 else {
      _ = inbox.accept(token, reasonCode: reasonCode)
      sendAcknowledgements()
      parse()  // if that was what had to be waited for
      return
    }
    guard version.hasProperties, PropertyReader.isValid(properties, in: .packet(.puback, from: .client))
    else { throw .property }
    let size = FixedHeader.packetSize(Acknowledgement.remainingLength(properties: properties))
    guard size <= control.capacity else { throw .tooLarge }
    guard phase == .connected, inbox.isNext(token), control.hasRoom(besides: size) else { throw .full }
    _ = inbox.accept(token, reasonCode: reasonCode)
    if let packet = inbox.next, size <= limits.maximumPacketSize {
      // Above the server's Maximum Packet Size it goes without [MQTT-3.4.2-2] [MQTT-3.4.2-3].
      _ = control.append(packet, properties: properties)
      inbox.removeNext()
    }
    parse()
  }

  /// Of the message that the application has, if it is to be acknowledged.
  private var borrowedToken: UInt32? {
    if shownSize > 0, isShownTaken { return shown.token == 0 ? nil : shown.token }
    guard isViewTaken, case .message(let message) = view, message.token != 0 else { return nil }
    return message.token
  }

  /// Lets the acknowledgements leave that may, in the order of the messages.
  mutating func sendAcknowledgements() {
    guard inbox.hasPending, phase == .connected, !isPeerGone else { return }
    while control.hasRoom, let packet = inbox.next {
      _ = control.append(withinLimits(packet))
      inbox.removeNext()
    }
  }
}
