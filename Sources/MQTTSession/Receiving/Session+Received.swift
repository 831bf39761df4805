import MQTTWire
import Storage

/// What a packet from the server does. Parsing yields plain values, so that every decision is made
/// on something already checked.
extension Session {
  /// Parses what was received, packet by packet, as long as there is room for the acknowledgements and no
  /// event that the application has to release first.
  mutating func parse() {
    parsePackets()
    if state.inbox.isPostponing { advanceBacklog() }
  }

  private mutating func parsePackets() {
    while connection.isReceiving, !hasUndeliveredEvent {
      sendAcknowledgements()
      arrival.blockage = .none
      // Nothing may be missing of a message larger than the buffer.
      guard !receiver.isEmpty || arrival.hasLarge else { return }
      parseAcknowledgements()
      if !control.hasRoom || !journalHasRoom, connection.phase != .peerClosed, !receiver.isEmpty {
        arrival.blockage = .controlQueueFull
        return
      }
      switch parsePlainMessageOutOfLine() {
      case .pending, .waits: return
      case .finished: continue
      case .notPlain: break
      }
      do throws(Malformed) {
        guard try parseNext() else { return }
      } catch {
        close(CloseReason(cause: .malformed(error)), sending: error.reasonCode)
      }
    }
  }

  /// Handles the next packet. Returns false if nothing more can be done with what was received.
  private mutating func parseNext() throws(Malformed) -> Bool {
    if arrival.hasLarge { return try receiveMore() }
    guard let header = try FixedHeader(parsing: receiver.unread, version: version) else { return false }
    let isAllowed = header.packetSize <= identity.maximumPacketSize || !version.hasProperties
    guard isAllowed, header.packetSize <= receiver.capacity else {
      if isAllowed, header.type == .publish, connection.isUp { return try beginLarge(header) }
      guard try failSubscribe(header) else { return false }
      violate(.packetTooLarge)
      return false
    }
    guard header.packetSize <= receiver.unread.count else { return false }
    // AUTH or CONNACK may come first [MQTT-3.2.0-1], CONNACK only once [MQTT-3.2.0-2].
    if connection.phase == .awaitingConnack, header.type != .connack, header.type != .auth {
      violate(.firstPacket)
      return false
    }
    guard try handle(header) else { return false }
    return true
  }

  /// Removes a handled packet.
  mutating func finish(_ header: FixedHeader) {
    counters.packetsReceived.increment()
    receiver.consume(header.packetSize)
  }

  /// Makes an event that points into the packet.
  mutating func makePending(_ event: SessionEvent, _ header: FixedHeader) {
    counters.packetsReceived.increment()
    arrival.event.set(event, ByteRange(offset: 0, count: header.packetSize))
  }

  /// Handles a whole packet. Returns false if it has to wait.
  private mutating func handle(_ header: FixedHeader) throws(Malformed) -> Bool {
    switch header.type {
    case .publish:
      return try receivePublish(header)
    case .puback, .pubrec, .pubcomp:
      let packet = try Acknowledgement(
        parsing: receiver.body(of: header), type: header.type, version: version)
      handle(packet, header)
    case .pubrel:
      let packet = try Acknowledgement(
        parsing: receiver.body(of: header), type: header.type, version: version)
      handle(pubrel: packet, header)
    case .pingresp:
      try Ping.parseResponse(receiver.body(of: header))
      if let time = connection.keepAlive.receivedPingresp(at: state.outbox.now) {
        counters.pongs &+= 1
        counters.lastRoundTrip = time
        counters.roundTrips.add(time)
        if connection.backlogPing == .sent { connection.backlogPing = .acknowledged }
      }
      finish(header)
    case .connack where connection.phase == .awaitingConnack: try handleConnack(header)
    case .suback, .unsuback: try handleSuback(header)
    case .disconnect where version.hasProperties: try handleDisconnect(header)
    case .auth where Feature.hasAuthentication: try handleAuth(header)
    default:
      violate(.unexpectedPacket)  // only clients send it, or not now
    }
    return true
  }

  // What comes rarely is handled out of line, so that a message does not need the stack for it.

  @inline(never)
  private mutating func handleConnack(_ header: FixedHeader) throws(Malformed) {
    handle(try Connack(parsing: receiver.body(of: header), version: version), header)
  }

  @inline(never)
  private mutating func handleSuback(_ header: FixedHeader) throws(Malformed) {
    do throws(Malformed) {
      let suback = try Suback(
        parsing: receiver.body(of: header), type: header.type, version: version)
      handle(suback, header)
    } catch {
      _ = try failSubscribe(header)
      throw error
    }
  }

  @inline(never)
  private mutating func handleDisconnect(_ header: FixedHeader) throws(Malformed) {
    handle(try Disconnect(parsing: receiver.body(of: header)), header)
  }

  @inline(never)
  private mutating func handleAuth(_ header: FixedHeader) throws(Malformed) {
    handle(try Auth(parsing: receiver.body(of: header)), header: header)
  }

  private mutating func handle(_ disconnect: Disconnect, _ header: FixedHeader) {
    let offset = receiver.position &+ header.size
    counters.packetsReceived.increment()
    close(
      CloseReason(
        cause: .disconnected, reasonCode: disconnect.reasonCode,
        reasonString: disconnect.reasonString.shifted(by: offset),
        serverReference: disconnect.serverReference.shifted(by: offset),
        properties: disconnect.properties.shifted(by: offset)),
      sending: nil)
  }
}
