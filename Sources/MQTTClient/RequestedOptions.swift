public import Driver
import Storage

/// What a caller asks for, as it comes: nothing is checked yet, 0 is the default everywhere.
/// The fields are those of `smq_options`, which explains them.
public struct RequestedOptions: ~Copyable, ~Escapable {
  private let inPlace = InPlace()
  public var connection: ConnectionRequest
  public var keepSession = false
  public var newSession = false
  public var fallback = false
  public var clientIDAsIs = false
  public var hold = false
  public var parts = false
  public var redirect = false
  public var atMostOnceConnected = false
  /// `sessionExpiry` counts even if it is 0: CONNECT has no Session Expiry Interval, and a session that is kept
  /// ends with the connection (§3.1.2.11.2).
  public var statesExpiry = false
  /// Not of `smq_options`: in 3.1 also a Client Identifier of none or more than 23 bytes.
  public var anyClientID = false
  /// The Connect Flags of a user name or a password that is said though it has no bytes.
  public var credentialFlags: UInt8 = 0
  public var protocolVersion: UInt32 = 0
  public var clientID: Span<UInt8>
  public var userName: Span<UInt8>
  public var password: Span<UInt8>
  public var hasWill = false
  public var willTopic: Span<UInt8>
  public var willPayload: Span<UInt8>
  public var willQoS: UInt8 = 0
  public var willRetain: UInt8 = 0
  public var willExpiry: UInt32 = 0
  public var willProperties: Span<UInt8>
  public var properties: Span<UInt8>
  public var keepAlive: UInt32 = 0
  public var sessionExpiry: UInt32 = 0
  public var pingTimeout: UInt32 = 0
  public var outboxBytes: UInt32 = 0
  public var outboxMessages: UInt32 = 0
  public var receiveBytes: UInt32 = 0
  public var inFlightMaximum: UInt32 = 0
  public var receiveMaximum: UInt32 = 0
  public var maximumPacketBytes: UInt32 = 0
  public var subscribePackets: UInt32 = 0
  public var subscriptions: UInt32 = 0
  public var subscriptionBytes: UInt32 = 0
  public var resubscribing: UInt32 = 0
  public var submitMessages: UInt32 = 0
  public var submitBytes: UInt32 = 0
  public var subscribeBytes: UInt32 = 0
  public var controlBytes: UInt32 = 0
  public var handlers: UInt32 = 0
  public var handlerBytes: UInt32 = 0
  public var topicAliasesIn: UInt32 = 0
  public var topicAliasesOut: UInt32 = 0
  public var topicAliasBytes: UInt32 = 0
  public var responses: UInt32 = 0
  public var streamBytes: UInt32 = 0
  public var references: UInt32 = 0
  public var urgentMessages: UInt32 = 0
  public var urgentBytes: UInt32 = 0
  public var ackTimeout: UInt32 = 0
  public var credentialBytes: UInt32 = 0
  public var unreleasedMaximum: UInt32 = 0
  public var traceBytes: UInt32 = 0
  public var tracePacketBytes: UInt32 = 0
  public var inspectionPath: Span<UInt8>
  public var inspectionPermissions: UInt32 = 0
  public var inspectionBytes: UInt32 = 0
  public var journal: Span<UInt8>
  public var journalBytes: UInt32 = 0
  public var journalDelay: UInt32 = 0
  public var journalBatchBytes: UInt32 = 0
  public var journalFlags: UInt32 = 0

  @_lifetime(immortal)
  public init() {
    // The sub-protocol is that of section 6.
    connection = ConnectionRequest(port: 1883, securePort: 8883, path: "/mqtt", subprotocols: "mqtt")
    clientID = Span()
    userName = Span()
    password = Span()
    willTopic = Span()
    willPayload = Span()
    willProperties = Span()
    properties = Span()
    inspectionPath = Span()
    journal = Span()
  }
}
