public import MQTTWire
import Storage

/// Enhanced authentication (§4.12).
enum AuthenticationState: BitwiseCopyable {
  case none  // CONNECT has no Authentication Method
  case connecting  // until CONNACK
  case connectingAnswerDue  // the same, and it is our turn
  case done
  case renewing  // re-authentication: the server's turn
  case renewingAnswerDue
}

extension Session {
  /// Sends AUTH with the method of CONNECT, or changes nothing.
  public mutating func authenticate(
    reasonCode: UInt8, data: Span<UInt8>, properties: Span<UInt8>
  ) throws(SessionError) {
    guard Feature.hasAuthentication, let method = connects.authenticationMethod else { throw .state }
    let next: AuthenticationState
    switch (reasonCode, connection.authentication) {
    // [MQTT-4.12.0-3]
    case (ReasonCode.continueAuthentication.rawValue, .connectingAnswerDue)
    where connection.phase == .awaitingConnack:
      next = .connecting
    case (ReasonCode.continueAuthentication.rawValue, .renewingAnswerDue) where connection.isUp:
      next = .renewing
    // [MQTT-4.12.1-1]
    case (ReasonCode.reauthenticate.rawValue, .done) where connection.isUp && !isLeaving: next = .renewing
    case (ReasonCode.continueAuthentication.rawValue, _), (ReasonCode.reauthenticate.rawValue, _):
      throw .state
    default: throw .reasonCode
    }
    guard data.count <= UTF8EncodedString.maximumSize else { throw .tooLarge }
    guard
      PropertyReader.isValid(
        properties, in: .packet(.auth, from: .client), without: .authenticationMethod, .authenticationData)
    else { throw .property }
    let size = FixedHeader.packetSize(
      Auth.remainingLength(
        propertyLength: Auth.propertyLength(
          method: connects.bytes.extracting(method.range), data: data, properties: properties)))
    guard size <= control.capacity, size <= connection.limits.maximumPacketSize else { throw .tooLarge }
    guard
      control.appendAuth(
        reasonCode: reasonCode, method: connects.bytes.extracting(method.range), data: data,
        properties: properties)
    else { throw .full }
    connection.authentication = next
  }

  /// AUTH came.
  mutating func handle(_ auth: Auth, header: FixedHeader) {
    let isFinal = auth.reasonCode == ReasonCode.success.rawValue
    // AUTH of Remaining Length 0 says Success and nothing else (§3.15.2.1), though [MQTT-4.12.0-5] wants the method.
    guard auth.properties.isEmpty || isMethodOurs(auth.method.shifted(by: receiver.position &+ header.size))
    else { return violate(.unexpectedAuthentication) }
    switch (connection.authentication, isFinal) {
    case (.connecting, false): connection.authentication = .connectingAnswerDue
    case (.renewing, false): connection.authentication = .renewingAnswerDue
    case (.renewing, true): connection.authentication = .done
    default: return violate(.unexpectedAuthentication)
    }
    let offset = receiver.position &+ header.size
    show(
      .authentication(
        AuthenticationEvent(
          reasonCode: auth.reasonCode, data: auth.data.shifted(by: offset),
          reasonString: auth.reasonString.shifted(by: offset),
          properties: auth.properties.shifted(by: offset))),
      header)
  }

  /// Every AUTH and a CONNACK that accepts repeat the method of CONNECT [MQTT-4.12.0-5]; without one there
  /// is none [MQTT-4.12.0-6].
  func isMethodOurs(_ method: ByteRange) -> Bool {
    guard Feature.hasAuthentication, let own = connects.authenticationMethod else { return method.isEmpty }
    guard own.count == method.count else { return false }
    let ours = connects.bytes.extracting(own.range)
    let theirs = receiver.bytes.extracting(method.range)
    for index in 0..<ours.count where ours[index] != theirs[index] { return false }
    return true
  }
}
