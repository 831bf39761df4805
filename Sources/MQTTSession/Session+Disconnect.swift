import MQTTWire
public import Storage

/// What the application wants: to disconnect.
extension Session {
  /// Checks a Reason Code and properties for DISCONNECT, and changes nothing.
  public func checkDisconnect(reasonCode: UInt8, properties: Span<UInt8>) throws(SessionError) {
    guard Disconnect.isAllowedFromClient(reasonCode, version) else { throw .reasonCode }
    if properties.count > 0 {
      guard version.hasProperties else { throw .property }
      try validateDisconnect(properties)
      let size = FixedHeader.packetSize(Disconnect.remainingLength(properties: properties))
      guard properties.count <= disconnectProperties.count, size <= control.capacity else { throw .tooLarge }
    }
  }

  /// Accepts no more messages, because the application wants to disconnect when all is drained. DISCONNECT
  /// will have what `checkDisconnect` allowed.
  public mutating func beginDisconnect(reasonCode: UInt8, properties: Span<UInt8>) {
    guard !isLeaving else { return }
    connection.pendingDisconnect = Connection.PendingDisconnect(
      reasonCode: reasonCode, propertyBytes: properties.count,
      sessionExpiry: Self.sessionExpiry(in: properties))
    guard properties.count > 0 else { return }
    var target = disconnectProperties.mutableBytes(in: 0..<properties.count)
    copy(properties, into: &target)
  }

  /// Returns the range of the Session Expiry Interval in a list.
  private static func sessionExpiry(in properties: Span<UInt8>) -> ByteRange {
    var reader = PropertyReader(properties, in: .packet(.disconnect, from: .client))
    var start = 0
    while let property = try? reader.next() {
      if property.identifier == .sessionExpiryInterval {
        return ByteRange(offset: start, count: reader.position &- start)
      }
      start = reader.position
    }
    return .empty
  }

  private func validateDisconnect(_ properties: Span<UInt8>) throws(SessionError) {
    var reader = PropertyReader(properties, in: .packet(.disconnect, from: .client))
    do throws(Malformed) {
      while let property = try reader.next() {
        // A session that was to end with the connection cannot be kept now (§3.14.2.2.2).
        if property.identifier == .sessionExpiryInterval, property.number != 0, identity.sessionExpiry == 0 {
          throw .propertyValue
        }
      }
    } catch {
      throw .property
    }
  }

  /// Queues DISCONNECT, which is the last packet [MQTT-3.14.4-1]; `closeReason` says when the transport may
  /// be closed. Returns false if there is no room for it yet.
  public mutating func disconnect() -> Bool {
    guard connection.phase != .disconnected else { return true }
    guard canSendDisconnect, connection.phase != .peerClosed else {
      close(CloseReason(cause: .requested), sending: nil)
      return true
    }
    guard queueDisconnect() else { return false }
    arrival.closeReason = CloseReason(cause: .requested)
    connection.beginClosing()
    return true
  }

  /// Whether CONNECT is wholly sent: from then on the server would publish the Will [MQTT-3.1.2-8]. The
  /// client need not wait for CONNACK (§3.1.4).
  public var canSendDisconnect: Bool { connection.isReceiving }

  private mutating func queueDisconnect() -> Bool {
    guard let pending = connection.pendingDisconnect else {
      return queue(Disconnect(reasonCode: .success))
    }
    let packet = Disconnect(rawReasonCode: pending.reasonCode)
    // Properties that would make it too large are left out [MQTT-3.14.2-3] [MQTT-3.14.2-4].
    if let range = fitting(ByteRange(offset: 0, count: pending.propertyBytes))
      ?? fitting(pending.sessionExpiry)
    {
      return Self.append(packet, to: &control, properties: disconnectProperties, range)
    }
    return queue(packet)
  }

  /// Queues DISCONNECT, unless Maximum Packet Size leaves no byte for its Reason Code, without which it
  /// would discard the Will.
  private mutating func queue(_ packet: Disconnect) -> Bool {
    let fits = packet.encodedSize(version) <= connection.limits.maximumPacketSize
    return !fits || control.append(packet, version: version)
  }

  private func fitting(_ range: ByteRange) -> ByteRange? {
    let size = FixedHeader.packetSize(Disconnect.remainingLengthWithProperties(range.count))
    return range.isEmpty || size > connection.limits.maximumPacketSize ? nil : range
  }

  // Static, because the compiler takes a span of one part of `self` for a hold on all of it.
  private static func append(
    _ packet: Disconnect, to control: inout ControlQueue, properties: borrowing Region, _ range: ByteRange
  ) -> Bool {
    control.append(packet, properties: properties.bytes.extracting(range.range))
  }
}
