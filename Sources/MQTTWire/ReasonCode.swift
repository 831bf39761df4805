/// The Reason Codes of 5.0 (§2.4).
public enum ReasonCode: UInt8, BitwiseCopyable {
  case success = 0x00
  case grantedQoS1 = 0x01
  case grantedQoS2 = 0x02
  case disconnectWithWillMessage = 0x04
  case noMatchingSubscribers = 0x10
  case noSubscriptionExisted = 0x11
  case continueAuthentication = 0x18
  case reauthenticate = 0x19
  case unspecifiedError = 0x80
  case malformedPacket = 0x81
  case protocolError = 0x82
  case implementationSpecificError = 0x83
  case unsupportedProtocolVersion = 0x84
  case clientIdentifierNotValid = 0x85
  case badUserNameOrPassword = 0x86
  case notAuthorized = 0x87
  case serverUnavailable = 0x88
  case serverBusy = 0x89
  case banned = 0x8A
  case serverShuttingDown = 0x8B
  case badAuthenticationMethod = 0x8C
  case keepAliveTimeout = 0x8D
  case sessionTakenOver = 0x8E
  case topicFilterInvalid = 0x8F
  case topicNameInvalid = 0x90
  case packetIdentifierInUse = 0x91
  case packetIdentifierNotFound = 0x92
  case receiveMaximumExceeded = 0x93
  case topicAliasInvalid = 0x94
  case packetTooLarge = 0x95
  case messageRateTooHigh = 0x96
  case quotaExceeded = 0x97
  case administrativeAction = 0x98
  case payloadFormatInvalid = 0x99
  case retainNotSupported = 0x9A
  case qosNotSupported = 0x9B
  case useAnotherServer = 0x9C
  case serverMoved = 0x9D
  case sharedSubscriptionsNotSupported = 0x9E
  case connectionRateExceeded = 0x9F
  case maximumConnectTime = 0xA0
  case subscriptionIdentifiersNotSupported = 0xA1
  case wildcardSubscriptionsNotSupported = 0xA2

  /// As the specification spells it. 0 has several names (Success, Normal disconnection, Granted
  /// QoS 0); the first is given.
  public var name: StaticString {
    switch self {
    case .success: "Success"
    case .grantedQoS1: "Granted QoS 1"
    case .grantedQoS2: "Granted QoS 2"
    case .disconnectWithWillMessage: "Disconnect with Will Message"
    case .noMatchingSubscribers: "No matching subscribers"
    case .noSubscriptionExisted: "No subscription existed"
    case .continueAuthentication: "Continue authentication"
    case .reauthenticate: "Re-authenticate"
    case .unspecifiedError: "Unspecified error"
    case .malformedPacket: "Malformed Packet"
    case .protocolError: "Protocol Error"
    case .implementationSpecificError: "Implementation specific error"
    case .unsupportedProtocolVersion: "Unsupported Protocol Version"
    case .clientIdentifierNotValid: "Client Identifier not valid"
    case .badUserNameOrPassword: "Bad User Name or Password"
    case .notAuthorized: "Not authorized"
    case .serverUnavailable: "Server unavailable"
    case .serverBusy: "Server busy"
    case .banned: "Banned"
    case .serverShuttingDown: "Server shutting down"
    case .badAuthenticationMethod: "Bad authentication method"
    case .keepAliveTimeout: "Keep Alive timeout"
    case .sessionTakenOver: "Session taken over"
    case .topicFilterInvalid: "Topic Filter invalid"
    case .topicNameInvalid: "Topic Name invalid"
    case .packetIdentifierInUse: "Packet Identifier in use"
    case .packetIdentifierNotFound: "Packet Identifier not found"
    case .receiveMaximumExceeded: "Receive Maximum exceeded"
    case .topicAliasInvalid: "Topic Alias invalid"
    case .packetTooLarge: "Packet too large"
    case .messageRateTooHigh: "Message rate too high"
    case .quotaExceeded: "Quota exceeded"
    case .administrativeAction: "Administrative action"
    case .payloadFormatInvalid: "Payload format invalid"
    case .retainNotSupported: "Retain not supported"
    case .qosNotSupported: "QoS not supported"
    case .useAnotherServer: "Use another server"
    case .serverMoved: "Server moved"
    case .sharedSubscriptionsNotSupported: "Shared Subscriptions not supported"
    case .connectionRateExceeded: "Connection rate exceeded"
    case .maximumConnectTime: "Maximum connect time"
    case .subscriptionIdentifiersNotSupported: "Subscription Identifiers not supported"
    case .wildcardSubscriptionsNotSupported: "Wildcard Subscriptions not supported"
    }
  }
}

/// The Connect Return codes of 3.1.1 (its §3.2.2.3) that refuse.
public enum ConnectReturnCode: UInt8 {
  case unacceptableProtocolVersion = 1
  case identifierRejected = 2
  case serverUnavailable = 3
  case badUserNameOrPassword = 4
  case notAuthorized = 5

  public var name: StaticString {
    switch self {
    case .unacceptableProtocolVersion: "Unacceptable protocol version"
    case .identifierRejected: "Identifier rejected"
    case .serverUnavailable: "Server unavailable"
    case .badUserNameOrPassword: "Bad user name or password"
    case .notAuthorized: "Not authorized"
    }
  }
}
