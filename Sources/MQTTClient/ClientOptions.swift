public import FixedMemory
public import MQTTSession
public import MQTTWire

/// Why options can't be used.
public enum OptionsError: Error, BitwiseCopyable {
  case option  // a value out of range, or two that contradict each other
  case url(at: Int)
  case notSupported(at: Int)
  case clientID
  case qos
  case topicName
  case utf8
  case tooLarge
}

/// What a caller asks for, as it comes: nothing is checked yet, 0 is the default everywhere.
/// The fields are those of `smq_options`, which explains them.
public struct RequestedOptions: ~Escapable {
  public var keepSession = false
  public var host: Span<UInt8>
  public var port: UInt32 = 0
  public var protocolVersion: UInt32 = 0
  public var clientID: Span<UInt8>
  public var userName: Span<UInt8>
  public var password: Span<UInt8>
  public var hasWill = false
  public var willTopic: Span<UInt8>
  public var willPayload: Span<UInt8>
  public var willQoS: UInt8 = 0
  public var willRetain: UInt8 = 0
  public var keepAlive: UInt32 = 0
  public var sessionExpiry: UInt32 = 0
  public var connectTimeout: UInt32 = 0
  public var pingTimeout: UInt32 = 0
  public var outboxBytes: UInt32 = 0
  public var outboxMessages: UInt32 = 0
  public var receiveBytes: UInt32 = 0
  public var inFlightMaximum: UInt32 = 0

  @_lifetime(immortal)
  public init() {
    host = Span()
    clientID = Span()
    userName = Span()
    password = Span()
    willTopic = Span()
    willPayload = Span()
  }
}

/// Options that a client can be made with.
public struct ClientOptions: ~Escapable {
  public let host: Span<UInt8>
  public let port: UInt16
  /// Milliseconds; 0: none.
  public let connectTimeout: UInt32
  public let session: SessionOptions

  /// A duration that is switched off.
  public static var off: UInt32 { .max }
  private static var dayInMilliseconds: UInt32 { 86_400_000 }
  private static var largestBuffer: UInt32 { 268_435_456 }

  @_lifetime(copy request)
  public init(checking request: RequestedOptions) throws(OptionsError) {
    // 0 is 3.1.1; what is no version at all is not supported either.
    let number = request.protocolVersion == 0 ? 4 : request.protocolVersion
    guard let version = ProtocolVersion(rawValue: UInt8(clamping: number)) else {
      throw .notSupported(at: 0)
    }
    try Self.checkHost(request.host)
    try Self.checkTexts(request, version)
    let will = try Self.will(request)

    var numbers = NumberCheck()
    let port = numbers.value(request.port, default: 1883, maximum: 65_535)
    let keepAlive = numbers.value(
      request.keepAlive, default: 60, maximum: 65_535, off: 0)
    let connectTimeout = numbers.value(
      request.connectTimeout, default: 30_000, maximum: Self.dayInMilliseconds, off: 0)
    let pingTimeout = numbers.value(
      request.pingTimeout, default: 10_000, maximum: Self.dayInMilliseconds)
    let outboxBytes = numbers.value(
      request.outboxBytes, default: 65_536, minimum: 64, maximum: Self.largestBuffer)
    let outboxMessages = numbers.value(request.outboxMessages, default: 256, maximum: 65_535)
    let receiveBytes = numbers.value(
      request.receiveBytes, default: 4096, minimum: 64, maximum: Self.largestBuffer)
    let inFlight = numbers.value(request.inFlightMaximum, default: 65_535, maximum: 65_535)
    let expiryFits = request.sessionExpiry == 0 || version.hasProperties
    guard numbers.areValid, expiryFits else { throw .option }
    let expiry =
      request.sessionExpiry == 0 && request.keepSession && version.hasProperties
      ? UInt32.max : request.sessionExpiry

    host = request.host
    self.port = UInt16(truncatingIfNeeded: port)
    self.connectTimeout = connectTimeout
    var properties = Connect.SessionProperties()
    properties.sessionExpiryInterval = expiry
    properties.maximumPacketSize = receiveBytes
    session = SessionOptions(
      connect: Connect(
        version: version, cleanStart: !request.keepSession,
        keepAlive: UInt16(truncatingIfNeeded: keepAlive), clientID: request.clientID,
        userName: request.userName, password: request.password, will: will, session: properties,
        properties: Span()),
      pingTimeout: pingTimeout, outboxBytes: Int(outboxBytes), outboxMessages: Int(outboxMessages),
      receiveBytes: Int(receiveBytes), inFlightMaximum: Int(inFlight))
  }

  /// Printable ASCII: what is a name and what is not, the resolver will say.
  private static func checkHost(_ host: Span<UInt8>) throws(OptionsError) {
    guard host.count > 0, host.count <= 253 else { throw .option }
    for index in 0..<host.count where host[index] <= 0x20 || host[index] >= 0x7F { throw .option }
  }

  private static func checkTexts(
    _ request: borrowing RequestedOptions, _ version: ProtocolVersion
  ) throws(OptionsError) {
    let limit = UTF8EncodedString.maximumSize
    guard request.clientID.count <= limit, request.userName.count <= limit,
      request.password.count <= limit
    else { throw .option }
    guard UTF8EncodedString.isValid(request.clientID), UTF8EncodedString.isValid(request.userName)
    else { throw .utf8 }
    // Nobody could take up a session whose client has no name of its own [MQTT-3.1.3-7].
    guard request.clientID.count > 0 || !request.keepSession else { throw .clientID }
    // 3.1 allows 1 to 23 bytes, later versions leave it to the server.
    guard version != .v3_1 || 1...23 ~= request.clientID.count else { throw .clientID }
    // [MQTT-3.1.2-22] of 3.1.1
    guard version.hasProperties || request.password.count == 0 || request.userName.count > 0 else {
      throw .option
    }
  }

  @_lifetime(copy request)
  private static func will(_ request: RequestedOptions) throws(OptionsError) -> Connect.Will {
    guard request.hasWill else {
      return Connect.Will(
        topic: Span(), payload: Span(), qos: .atMostOnce, retain: false, properties: Span())
    }
    guard let qos = QoS(rawValue: request.willQoS) else { throw .qos }
    guard request.willRetain <= 1 else { throw .option }
    do throws(TopicName.Fault) {
      try TopicName.validate(request.willTopic)
    } catch {
      if case .utf8 = error { throw .utf8 }
      throw .topicName
    }
    guard request.willPayload.count <= 65_535 else { throw .tooLarge }
    return Connect.Will(
      topic: request.willTopic, payload: request.willPayload, qos: qos,
      retain: request.willRetain == 1, properties: Span())
  }
}

/// Checks many numbers and throws once: a throwing call for each takes 30 KB of code.
private struct NumberCheck {
  private(set) var areValid = true

  /// 0 stands for `usual`, `ClientOptions.off` for `off` if that is given.
  @inline(never)
  mutating func value(
    _ requested: UInt32, default usual: UInt32, minimum: UInt32 = 1, maximum: UInt32,
    off: UInt32? = nil
  ) -> UInt32 {
    if requested == 0 { return usual }
    if let off, requested == ClientOptions.off { return off }
    if requested < minimum || requested > maximum { areValid = false }
    return requested
  }
}

/// Where a client's parts lie in the caller's block.
public struct ClientPlan {
  let host: Place<UInt8>
  let session: SessionPlan

  public init(_ options: borrowing ClientOptions, in plan: inout MemoryPlan) {
    session = SessionPlan(options.session, in: &plan)
    host = plan.reserve(options.host.count + 1, of: UInt8.self)
  }
}
