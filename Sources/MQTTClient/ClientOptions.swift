public import Driver
import Inspector
public import MQTTSession
public import MQTTWire
public import Platform
public import Storage
public import Transports

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
  case property
}

/// Options that a client can be made with.
public struct ClientOptions: ~Copyable, ~Escapable {
  public var driver: DriverOptions
  public var layers: LayerOptions
  public let transport: AnyTransport.Kind
  public let sockets: SocketOptions
  /// Entries in the table of handlers, and the room for their filters.
  public let handlers: Int
  public let handlerBytes: Int
  /// Messages of other threads that wait: a power of two, or 0; and the room for each.
  public let submitMessages: Int
  public let submitBytes: Int
  public var session: SessionOptions
  /// `nil`: there is no journal.
  public let journal: JournalOptions?
  public let journalPath: Span<UInt8>
  /// The room for the last packets, and for each of them; 0: there is no trace.
  public let traceBytes: Int
  public let tracePacketBytes: Int
  /// Where the socket is to which programs connect that look on, with which permissions, and the room for what they are
  /// sent; 0: there is none.
  public let inspectionPath: Span<UInt8>
  public let inspectionPermissions: UInt32
  public let inspectionBytes: Int

  private static var largestBuffer: UInt32 { 268_435_456 }
  /// 268,435,455 and the five bytes of a Fixed Header.
  private static var largestPacket: UInt32 { 268_435_460 }

  @_lifetime(copy request)
  public init(checking request: borrowing RequestedOptions) throws(OptionsError) {
    // 0 is 3.1.1; what is no version at all is not supported either.
    let number = request.protocolVersion == 0 ? 4 : request.protocolVersion
    guard let version = ProtocolVersion(rawValue: UInt8(clamping: number)),
      Feature.hasMQTT31 || version != .v3_1, Self.areFeaturesThere(request)
    else { throw .notSupported(at: 0) }
    // What is stored is stored at the end: a struct that cannot be copied is whole, or is not there.
    var driver = DriverOptions(hosts: request.connection.host, servers: request.connection.servers)
    try Self.checkHosts(request, driver)
    try Self.checkTexts(request, version)
    let will = try Self.will(request, version)

    var numbers = NumberCheck()
    var sockets = SocketOptions()
    request.connection.setNumbers(&driver, &sockets, &numbers)
    let keepAlive = numbers.value(
      request.keepAlive, default: 60, maximum: 65_535, off: 0)
    let pingTimeout = numbers.value(
      request.pingTimeout, default: 10_000, maximum: NumberCheck.dayInMilliseconds)
    let outboxBytes = numbers.value(
      request.outboxBytes, default: 65_536, minimum: 64, maximum: Self.largestBuffer)
    let outboxMessages = numbers.value(
      request.outboxMessages, default: 256, maximum: UInt32(IdentifierRange.messages.count))
    let receiveBytes = numbers.value(
      request.receiveBytes, default: 4096, minimum: 64, maximum: Self.largestBuffer)
    let inFlight = numbers.value(request.inFlightMaximum, default: 0, maximum: 65_535)
    let receiveMaximum = numbers.value(request.receiveMaximum, default: 64, maximum: 65_535)
    let unreleasedMaximum = numbers.value(request.unreleasedMaximum, default: 0, maximum: 65_535)
    let maximumPacket = numbers.value(
      request.maximumPacketBytes, default: request.parts ? 0 : receiveBytes, minimum: receiveBytes,
      maximum: Self.largestPacket, off: 0)
    let subscribePackets = numbers.value(
      request.subscribePackets, default: 8, maximum: UInt32(PacketIdentifier.subscribeCount))
    let subscribeBytes = numbers.value(
      request.subscribeBytes, default: 1024, minimum: 32, maximum: Self.largestBuffer)
    let subscriptions = numbers.value(request.subscriptions, default: 16, maximum: 1024, off: 0)
    let subscriptionBytes = numbers.value(
      request.subscriptionBytes, default: 32 &* subscriptions, maximum: Self.largestBuffer)
    let resubscribing = numbers.value(
      request.resubscribing, default: Resubscribing.ifLost.rawValue, maximum: 3)
    let controlBytes = numbers.value(
      request.controlBytes, default: min(max(receiveBytes / 8, 256), 4096), minimum: 32,
      maximum: 1_048_576)
    let handlers = numbers.value(request.handlers, if: Feature.hasHandlers, default: 0, maximum: 65_535)
    let handlerBytes = numbers.value(
      request.handlerBytes, if: Feature.hasHandlers, default: 32 &* handlers, maximum: Self.largestBuffer)
    let aliasesReceived = numbers.value(
      request.topicAliasesIn, if: Feature.hasTopicAliases, default: 0, maximum: 1024)
    let aliasesSent = numbers.value(
      request.topicAliasesOut, if: Feature.hasTopicAliases, default: 0, maximum: 1024)
    let aliasBytes = numbers.value(
      request.topicAliasBytes, if: Feature.hasTopicAliases, default: 128, maximum: 65_535)
    let responses = numbers.value(request.responses, if: Feature.hasReplies, default: 0, maximum: 1024)
    let streamBytes = numbers.value(
      request.streamBytes, if: Feature.hasStreams, default: 0, minimum: 64, maximum: 1_048_576)
    let references = numbers.value(
      request.references, if: Feature.hasReferences, default: 0, maximum: 65_535)
    let urgentMessages = numbers.value(
      request.urgentMessages, if: Feature.hasUrgent, default: 0, maximum: UInt32(IdentifierRange.urgent.count)
    )
    let urgentBytes = numbers.value(
      request.urgentBytes, if: Feature.hasUrgent, default: 128 &* urgentMessages, minimum: 64,
      maximum: Self.largestBuffer)
    let ackTimeout = numbers.value(
      request.ackTimeout, default: 30_000, maximum: NumberCheck.dayInMilliseconds, off: 0)
    let credentialBytes = numbers.value(
      request.credentialBytes, if: Feature.hasQuestions, default: request.connection.askCredentials ? 512 : 0,
      maximum: 131_070)
    // Credentials are either in the options or asked for, and only the latter need room.
    let areCredentialsClear =
      request.connection.askCredentials
      ? request.userName.count == 0 && request.password.count == 0 && request.credentialFlags == 0
      : request.credentialBytes == 0
    let submitMessages = numbers.value(
      request.submitMessages, if: Feature.hasSubmit, default: 0, maximum: 65_536)
    let submitBytes = numbers.value(
      request.submitBytes, if: Feature.hasSubmit, default: 256, minimum: 16, maximum: 1_048_576)
    let submitSlots =
      submitMessages < 2 ? submitMessages : 1 << (32 &- (submitMessages &- 1).leadingZeroBitCount)
    let submitted = submitBytes.multipliedReportingOverflow(by: submitSlots)
    let isTooMuch = submitted.overflow || submitted.partialValue > Self.largestBuffer
    let traceBytes = numbers.value(
      request.traceBytes, if: Feature.hasTap, default: 0, minimum: 256, maximum: 16_777_216)
    let tracePacketBytes = numbers.value(
      request.tracePacketBytes, if: Feature.hasTap, default: min(256, traceBytes / 4),
      maximum: traceBytes / 4)
    let isInspected = Feature.hasTap && request.inspectionPath.count > 0
    let inspectionBytes = numbers.value(
      request.inspectionBytes, if: isInspected, default: 65_536, minimum: 4096, maximum: 131_072)
    let inspectionPermissions = numbers.value(
      request.inspectionPermissions, if: isInspected, default: 0o600, maximum: 0o777)
    let journal = numbers.journal(
      request, bytes: Int(outboxBytes) + Int(urgentBytes),
      messages: Int(outboxMessages) + Int(urgentMessages),
      received: Int(receiveMaximum), unreleased: Int(unreleasedMaximum))
    // Only 5.0 can say these. Limits and aliases are an offer, which an older version does without.
    let fits =
      version.hasProperties
      || (request.sessionExpiry == 0 && !request.statesExpiry && !request.newSession
        && request.properties.count == 0)
    guard numbers.areValid, !isTooMuch, areCredentialsClear,
      Inspection.allows(
        request.inspectionPath, permissions: request.inspectionPermissions, bytes: request.inspectionBytes,
        ownTransport: request.connection.ownTransport),
      fits, request.keepSession || !request.newSession
    else { throw .option }
    try Self.checkProperties(request.properties)
    let expiry =
      request.sessionExpiry == 0 && request.keepSession && !request.statesExpiry && version.hasProperties
      ? UInt32.max : request.sessionExpiry

    driver.followsReferrals = request.redirect && version.hasProperties
    var layers = LayerOptions()
    try Self.setLayers(request, &layers, version, &sockets)
    var properties = Connect.SessionProperties()
    properties.sessionExpiryInterval = expiry
    properties.receiveMaximum = UInt16(truncatingIfNeeded: receiveMaximum)
    properties.maximumPacketSize = maximumPacket
    properties.topicAliasMaximum = UInt16(truncatingIfNeeded: aliasesReceived)
    let connect = Connect(
      version: version, cleanStart: !request.keepSession,
      keepAlive: UInt16(truncatingIfNeeded: keepAlive), clientID: request.clientID,
      userName: request.userName, password: request.password, will: will, session: properties,
      properties: request.properties, isClientIDTemplate: !request.clientIDAsIs,
      credentialFlags: request.credentialFlags)
    // [MQTT-3.1.2-22] of 3.1.1
    guard version.hasProperties || !connect.hasPassword || connect.hasUserName else { throw .option }
    guard connect.clientIDSize <= UTF8EncodedString.maximumSize else { throw .option }
    // A journal belongs to one Client Identifier.
    guard journal == nil || !connect.isClientIDTemplate else { throw .option }
    // 3.1 allows 1 to 23 bytes, later versions leave it to the server.
    guard !version.isV31 || request.anyClientID || 1...23 ~= connect.clientIDSize else { throw .clientID }
    let body = connect.bodySize(for: version)
    guard body + 4 + Int(credentialBytes) <= VariableByteInteger.maximum else { throw .tooLarge }

    self.driver = driver
    self.layers = layers
    transport = request.connection.transport
    self.sockets = sockets
    self.handlers = Int(handlers)
    self.handlerBytes = Int(handlerBytes)
    self.submitMessages = Int(submitSlots)
    self.submitBytes = Int(submitBytes)
    session = SessionOptions(connect: connect)
    session.allowsFallback = request.fallback
    session.beginsNewSession = request.newSession
    session.holdsMessages = request.hold
    session.deliversParts = request.parts
    session.pingTimeout = pingTimeout
    session.outboxBytes = Int(outboxBytes)
    session.outboxMessages = Int(outboxMessages)
    session.receiveBytes = Int(receiveBytes)
    session.inFlightMaximum = Int(inFlight)
    session.receiveMaximum = Int(receiveMaximum)
    session.unreleasedMaximum = Int(unreleasedMaximum)
    session.subscribePackets = Int(subscribePackets)
    session.subscriptions = Int(subscriptions)
    session.subscriptionBytes = Int(subscriptionBytes)
    session.resubscribing = Resubscribing(rawValue: resubscribing) ?? .ifLost
    session.subscribeBytes = Int(subscribeBytes)
    session.controlBytes = Int(controlBytes)
    session.aliasesReceived = version.hasProperties ? Int(aliasesReceived) : 0
    session.aliasesSent = version.hasProperties ? Int(aliasesSent) : 0
    session.aliasBytes = Int(aliasBytes)
    session.urgentMessages = Int(urgentMessages)
    session.urgentBytes = urgentMessages > 0 ? Int(urgentBytes) : 0
    session.needsConnection = request.atMostOnceConnected
    session.ackTimeout = ackTimeout
    session.credentialBytes = Int(credentialBytes)
    session.responses = version.hasProperties ? Int(responses) : 0
    session.streamBytes = Int(streamBytes)
    session.references = Int(references)
    if Feature.hasJournal, let journal {
      session.journalBatchBytes = journal.batchBytes
      session.journalDelay = journal.delay
      session.journalIsStrict = journal.isStrict
      session.journalTellsStored = journal.tellsStored
      session.deliveryNumbers = request.deliveryNumbers(Int(receiveMaximum))
    }
    self.journal = journal
    journalPath = request.journal
    self.traceBytes = Int(traceBytes)
    self.tracePacketBytes = Int(tracePacketBytes)
    self.inspectionPath = request.inspectionPath
    self.inspectionPermissions = inspectionPermissions
    self.inspectionBytes = Int(inspectionBytes)
  }
}

extension NumberCheck {
  /// What the options of the journal say; `nil`: there is none.
  @inline(never)
  @_optimize(size)
  mutating func journal(
    _ request: borrowing RequestedOptions, bytes: Int, messages: Int, received: Int, unreleased: Int
  ) -> JournalOptions? {
    var asked = JournalRequest()
    asked.bytes = request.journalBytes
    asked.delay = request.journalDelay
    asked.batchBytes = request.journalBatchBytes
    asked.flags = request.journalFlags
    let hasOwnStorage = request.connection.ownTransport && request.journalBytes > 0
    guard Feature.hasJournal, request.journal.count > 0 || hasOwnStorage else {
      if !asked.isDefault { areValid = false }
      return nil
    }
    let count = request.deliveryNumbers(received)
    var identifiers = 0
    var most = 0
    let options = journal(asked) { batchBytes in
      identifiers = JournalLimits.unreleased(unreleased, batchBytes: batchBytes, numbers: count)
      most = JournalLimits.largestList(batchBytes: batchBytes, numbers: count)
      return JournalLimits.ringBlocks(
        bytes: bytes, messages: messages, unreleased: identifiers, batchBytes: batchBytes)
    }
    if !request.keepSession || (request.connection.ownTransport && request.journal.count > 0)
      || !Self.isPath(request.journal) || request.journalFlags > 15 || identifiers > most
    {
      areValid = false
    }
    return options
  }
}

extension RequestedOptions {
  /// Of how many of the received messages at a time the journal keeps a number.
  func deliveryNumbers(_ received: Int) -> Int { journalFlags & 8 != 0 ? received : 0 }
}
