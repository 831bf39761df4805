import MQTTWire
import Storage

/// What a packet from the server does. Parsing yields plain values, so that every decision is made
/// on something already checked.
extension Session {
  /// Works through what was received, packet by packet, as long as there is room for the answers and no event
  /// that the application has to be done with first.
  mutating func parse() {
    parsePackets()
    if state.inbox.isPostponing { settleBacklog() }
  }

  private mutating func parsePackets() {
    while connection.isReceiving, !hasUndeliveredEvent {
      sendAcknowledgements()
      arrival.blockage = .none
      // Of a message larger than the buffer there may be nothing more to come.
      guard !receiver.isEmpty || arrival.hasLarge else { return }
      parseAcknowledgements()
      if !control.hasRoom, connection.phase != .peerClosed, !receiver.isEmpty {
        arrival.blockage = .controlQueueFull
        return
      }
      switch showPlainMessageOutOfLine() {
      case .shown, .waits: return
      case .finished: continue
      case .notPlain: break
      }
      do throws(Malformed) {
        guard try parseNext() else { return }
      } catch {
        close(CloseReason(cause: .malformed(error)), saying: error.reasonCode)
      }
    }
  }

  /// Works through acknowledgements that say no more than that, as long as nothing else comes. They are handled as all are; so
  /// many of them come that they have a loop of their own.
  private mutating func parseAcknowledgements() {
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

  /// False: there is nothing more to be done with what is there.
  private mutating func parseNext() throws(Malformed) -> Bool {
    if arrival.hasLarge { return try receiveMore() }
    guard let header = try FixedHeader(parsing: receiver.unread, version: version) else { return false }
    let isAllowed = header.packetSize <= identity.maximumPacketSize || !version.hasProperties
    guard isAllowed, header.packetSize <= receiver.capacity else {
      if isAllowed, header.type == .publish, connection.isUp { return try beginLarge(header) }
      guard try giveUpRequest(header) else { return false }
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

  /// An answer that cannot be read ends its request: sent again, it would be answered in the same way. False: more
  /// bytes are needed.
  private mutating func giveUpRequest(_ header: FixedHeader) throws(Malformed) -> Bool {
    guard header.type == .suback || header.type == .unsuback else { return true }
    guard receiver.unread.count >= header.size &+ 2 else { return false }
    var reader = ByteReader(receiver.unread.extracting(header.size..<header.size &+ 2))
    if let identifier = PacketIdentifier(try reader.uint16()) { giveUpRequest(identifier) }
    return true
  }

  private mutating func giveUpRequest(_ identifier: PacketIdentifier) {
    guard let place = state.requests.giveUp(identifier) else { return }
    // One of the session's own has nobody to tell but the application that made the subscription.
    resubscribeCompleted(place, reasonCode: ReasonCode.implementationSpecificError.rawValue)
    state.requests.complete(identifier)
  }

  /// The packet is done with, or an event shows it.
  private mutating func finish(_ header: FixedHeader) {
    counters.packetsReceived.increment()
    receiver.consume(header.packetSize)
  }

  /// An event has views into the packet.
  mutating func show(_ event: SessionEvent, _ header: FixedHeader) {
    counters.packetsReceived.increment()
    arrival.event.show(event, ByteRange(offset: 0, count: header.packetSize))
  }

  /// False: it has to wait.
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
      if let time = connection.keepAlive.answered(at: state.outbox.now) {
        counters.pongs &+= 1
        counters.lastRoundTrip = time
        counters.roundTrips.add(time)
        if connection.roundTrip == .asked { connection.roundTrip = .answered }
      }
      finish(header)
    case .connack where connection.phase == .awaitingConnack: try handleConnack(header)
    case .suback, .unsuback: try handleAnswer(header)
    case .disconnect where version.hasProperties: try handleDisconnect(header)
    case .auth: try handleAuth(header)
    default:
      violate(.unexpectedPacket)  // only clients send it, or not now
    }
    return true
  }

  // What seldom comes has a frame of its own, so that a message does not need the stack for it.

  @inline(never)
  private mutating func handleConnack(_ header: FixedHeader) throws(Malformed) {
    handle(try Connack(parsing: receiver.body(of: header), version: version), header)
  }

  @inline(never)
  private mutating func handleAnswer(_ header: FixedHeader) throws(Malformed) {
    do throws(Malformed) {
      let answer = try Suback(
        parsing: receiver.body(of: header), type: header.type, version: version)
      handle(answer, header)
    } catch {
      _ = try giveUpRequest(header)
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

  private mutating func handle(_ connack: Connack, _ header: FixedHeader) {
    let offset = receiver.position &+ header.size
    counters.packetsReceived.increment()
    guard connack.isAccepted else {
      return close(
        CloseReason(
          cause: .refused, reasonCode: connack.reasonCode,
          reasonString: connack.reasonString.shifted(by: offset),
          serverReference: connack.serverReference.shifted(by: offset),
          properties: connack.properties.shifted(by: offset)),
        saying: nil)
    }
    // A session that we did not ask for [MQTT-3.2.2-4]. One that we did ask for may be that of an earlier
    // process (docs/decisions/0009).
    guard !(connack.sessionPresent && saidClean) else { return violate(.unwantedSession) }
    guard isMethodOurs(connack.authenticationMethod.shifted(by: offset)) else {
      return violate(.unexpectedAuthentication)
    }
    // 3.1 does not say. If the server has no session after all, sending again does no harm.
    let isKnown = version != .v3_1
    let sessionPresent = isKnown ? connack.sessionPresent : !saidClean
    connection.phase = .connected
    identity.acceptedVersion = version
    counters.connections &+= 1
    if identity.beginsNewSession {
      identity.beginsNewSession = false
      identity.cleanStart = false
      connects.setCleanStart(false)
    }
    switch connection.authentication {
    case .connecting, .connectingAnswerDue: connection.authentication = .done
    default: break
    }
    connection.limits = ServerLimits(
      connack, ownKeepAlive: identity.keepAlive,
      ownSessionExpiry: version.hasProperties ? identity.sessionExpiry : saidClean ? 0 : .max)
    connection.keepAlive.start(seconds: connection.limits.keepAlive)
    connection.quota = SendQuota(limit: min(sendMaximum, connection.limits.receiveMaximum))
    state.connected(
      version, sessionPresent: sessionPresent, repeatsExactlyOnce: policy.repeatsExactlyOnce,
      quota: &connection.quota, limits: connection.limits)
    answered()
    switch policy.resubscribing {
    case .always: state.subscriptions.sessionLost()
    case .ifLost where !(isKnown && sessionPresent): state.subscriptions.sessionLost()
    default: break
    }
    state.inbox.connected(
      version, sessionPresent: sessionPresent, isKnown: isKnown,
      endsWithConnection: identity.cleanStart || connection.limits.sessionExpiry == 0)
    arrival.event.show(
      .connected(
        ConnectedEvent(
          sessionPresent: isKnown && sessionPresent, reasonString: connack.reasonString.shifted(by: offset),
          properties: connack.properties.shifted(by: offset))),
      ByteRange(offset: 0, count: header.packetSize))
  }

  /// What CONNECT said. That a new session is to begin, only that of 5.0 says.
  private var saidClean: Bool {
    identity.beginsNewSession && version != connects.version ? false : identity.cleanStart
  }

  private var sendMaximum: Int {
    if inFlightMaximum > 0 { return inFlightMaximum }
    return version.hasProperties ? 65_535 : 20
  }

  /// Whether the message that an identifier belongs to is in the priority queue.
  @inline(__always)
  private func isUrgent(_ identifier: PacketIdentifier) -> Bool {
    !state.urgent.isEmpty && IdentifierRange.urgent.contains(identifier)
  }

  private mutating func handle(_ packet: Acknowledgement, _ header: FixedHeader) {
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
    case .violation: violate(.handshake)
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
  private mutating func handle(pubrel packet: Acknowledgement, _ header: FixedHeader) {
    if state.inbox.isUnacknowledged(packet.identifier) { return violate(.handshake) }
    let isKnown = state.inbox.released(packet.identifier)
    appendAcknowledgement(.pubcomp, packet.identifier, isKnown ? .success : .packetIdentifierNotFound)
    // The drop-in has kept the message until now, under its identifier.
    show(
      packet, cookie: DropIn.isOn ? Counter(UInt32(packet.identifier.rawValue)).uint64 : 0, header)
  }

  @inline(__always)
  private mutating func appendAcknowledgement(
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

  private mutating func handle(_ answer: Suback, _ header: FixedHeader) {
    guard let request = state.requests.request(for: answer) else { return violate(.handshake) }
    let offset = receiver.position &+ header.size
    let codes = answer.reasonCodes.shifted(by: offset)
    // The UNSUBACK of 3.1 and 3.1.1 has none.
    guard codes.count == Int(request.count) || (codes.isEmpty && answer.type == .unsuback) else {
      giveUpRequest(answer.identifier)
      return violate(.reasonCodeCount)
    }
    let place = state.requests.place(of: answer.identifier)
    if request.isRepeat {
      let code = receiver.bytes[codes.offset]
      resubscribeCompleted(place, reasonCode: code)
      state.requests.complete(answer.identifier)
      answered()
      return finish(header)
    }
    if request.type == .subscribe { settle(place, codes) }
    state.requests.complete(answer.identifier)
    answered()
    show(
      .answered(
        SubscribeResult(
          cookie: request.cookie, type: request.type, refusal: refusal(codes), reasonCodes: codes,
          reasonString: answer.reasonString.shifted(by: offset),
          properties: answer.properties.shifted(by: offset))),
      header)
  }

  private func refusal(_ codes: ByteRange) -> UInt8? {
    let bytes = receiver.bytes
    for index in codes.range where bytes[index] >= 0x80 { return bytes[index] }
    return nil
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
      saying: nil)
  }
}
