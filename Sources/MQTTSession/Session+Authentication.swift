import MQTTWire
import Storage

/// Enhanced authentication (§4.12).
enum AuthenticationState: BitwiseCopyable {
  case none  // CONNECT has no Authentication Method
  case connecting  // until CONNACK
  case connectingAuthDue  // the same, and the client has to send AUTH
  case done
  case reauthenticating  // re-authentication: the server has to send AUTH
  case reauthenticatingAuthDue
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
    case (ReasonCode.continueAuthentication.rawValue, .connectingAuthDue)
    where connection.phase == .awaitingConnack:
      next = .connecting
    case (ReasonCode.continueAuthentication.rawValue, .reauthenticatingAuthDue) where connection.isUp:
      next = .reauthenticating
    // [MQTT-4.12.1-1]
    case (ReasonCode.reauthenticate.rawValue, .done) where connection.isUp && !isLeaving:
      next = .reauthenticating
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

  /// Handles AUTH.
  mutating func handle(_ auth: Auth, header: FixedHeader) {
    let isFinal = auth.reasonCode == ReasonCode.success.rawValue
    // AUTH of Remaining Length 0 means Success without properties (§3.15.2.1), though [MQTT-4.12.0-5] wants
    // the method.
    guard auth.properties.isEmpty || isMethodOurs(auth.method.shifted(by: receiver.position &+ header.size))
    else { return violate(.unexpectedAuthentication) }
    switch (connection.authentication, isFinal) {
    case (.connecting, false): connection.authentication = .connectingAuthDue
    case (.reauthenticating, false): connection.authentication = .reauthenticatingAuthDue
    case (.reauthenticating, true): connection.authentication = .done
    default: return violate(.unexpectedAuthentication)
    }
    let offset = receiver.position &+ header.size
    makePending(
      .authentication(
        AuthenticationEvent(
          reasonCode: auth.reasonCode, data: auth.data.shifted(by: offset),
          reasonString: auth.reasonString.shifted(by: offset),
          properties: auth.properties.shifted(by: offset))),
      header)
  }

  /// Returns whether a method is that of CONNECT. Every AUTH, and a CONNACK that accepts, repeats that
  /// method [MQTT-4.12.0-5]; without one there is none [MQTT-4.12.0-6].
  func isMethodOurs(_ method: ByteRange) -> Bool {
    guard Feature.hasAuthentication, let own = connects.authenticationMethod else { return method.isEmpty }
    guard own.count == method.count else { return false }
    let ours = connects.bytes.extracting(own.range)
    let theirs = receiver.bytes.extracting(method.range)
    for index in 0..<ours.count where ours[index] != theirs[index] { return false }
    return true
  }
}
