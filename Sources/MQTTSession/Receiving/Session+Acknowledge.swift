public import MQTTWire
public import Storage

/// What the application wants: to acknowledge messages.
extension Session {
  /// Lets the message that was handed out last wait for `acknowledge`. Returns false if there is none.
  public mutating func hold() -> Bool {
    guard arrival.event.isBorrowed, state.inbox.isPending(arrival.event.token) else { return false }
    arrival.event.isHeld = true
    return true
  }

  /// Returns the Packet Identifier of a message that is not acknowledged yet.
  public func packetIdentifier(of token: UInt32) -> UInt16? { state.inbox.identifier(of: token)?.rawValue }

  /// Returns the number of a QoS 2 message that is not acknowledged yet. As soon as the journal has it, the message has the same
  /// one when it is handed out again, by the next process as well.
  @inline(never)
  @_optimize(size)
  public mutating func deliveryNumber(of token: UInt32) throws(SessionError) -> Counter {
    guard isJournaled, journal.element.numbers.capacity > 0, !version.isV31 else { throw .notSupported }
    guard state.inbox.isPending(token), let identifier = state.inbox.identifier(of: token) else {
      throw .token
    }
    guard state.inbox.isExactlyOnce(token) else { throw .qosNotSupported }
    let wanted = identifier.rawValue
    if let position = journal.element.numbers.position(of: wanted) {
      return journal.element.numbers[position].number
    }
    guard !journal.element.numbers.isFull else { throw .full }
    return journal.change { $0.numbers.add(wanted) }
  }

  /// Acknowledges a message, or changes nothing. The acknowledgement is sent after those of the messages
  /// before it.
  public mutating func acknowledge(
    _ token: UInt32, reasonCode: UInt8, properties: Span<UInt8>
  ) throws(SessionError) {
    guard state.inbox.isPending(token) else { throw .token }
    guard Acknowledgement.isAllowedFromClient(reasonCode, version) else { throw .reasonCode }
    // A refusal ends the exchange at once, and the identifier could come back before the journal knows.
    if isJournaled, reasonCode >= 0x80, hasNumber(token) { throw .reasonCode }
    guard properties.count > 0 else {
      _ = state.inbox.accept(token, reasonCode: reasonCode)
      sendAcknowledgements()
      parse()  // parsing may have waited for this acknowledgement
      return
    }
    guard version.hasProperties, PropertyReader.isValid(properties, in: .packet(.puback, from: .client))
    else { throw .property }
    let size = FixedHeader.packetSize(Acknowledgement.remainingLength(properties: properties))
    guard size <= control.capacity else { throw .tooLarge }
    guard connection.isUp, state.inbox.isNext(token), control.hasRoom(besides: size) else { throw .full }
    _ = state.inbox.accept(token, reasonCode: reasonCode)
    if let packet = state.inbox.next, size <= connection.limits.maximumPacketSize {
      // If the packet would be above the server's Maximum Packet Size, it is sent without properties
      // [MQTT-3.4.2-2] [MQTT-3.4.2-3].
      _ = control.append(packet, properties: properties)
      state.inbox.removeNext()
    }
    parse()
  }

  @_optimize(size)
  private func hasNumber(_ token: UInt32) -> Bool {
    guard let identifier = state.inbox.identifier(of: token) else { return false }
    return journal.element.numbers.position(of: identifier.rawValue) != nil
  }

  /// Accepts a message that the application is done with.
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

  /// Queues the acknowledgements that may be sent, in the order of the messages.
  mutating func sendAcknowledgements() {
    guard state.inbox.hasPending, connection.phase == .connected else { return }
    while control.hasRoom, let packet = state.inbox.next {
      control.put(withinLimits(packet))
      state.inbox.removeNext()
    }
  }
}
