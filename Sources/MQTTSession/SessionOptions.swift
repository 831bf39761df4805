public import MQTTWire
public import Storage

/// When to resubscribe to what was granted.
public enum Resubscribing: UInt32, BitwiseCopyable, Sendable {
  case ifLost = 1  // the server has no session, or does not say (3.1)
  case always = 2
  case never = 3
}

/// The options of a session. Every value was checked where they were made; see `ClientOptions`.
public struct SessionOptions: ~Copyable, ~Escapable {
  /// What CONNECT has, on every connection.
  public let connect: Connect
  /// An older version may be spoken if the server does not speak this one.
  public var allowsFallback = false
  /// 5.0: the first connection has Clean Start 1, though `connect` has not.
  public var beginsNewSession = false
  /// Every message waits for `acknowledge`.
  public var holdsMessages = false
  /// A message that is larger than the receive buffer is delivered in parts; else its payload is dropped.
  public var deliversParts = false
  /// The room for a user name and a password that are supplied before each connection; 0: `connect` has them.
  public var credentialBytes = 0
  /// Room for CONNECT, so that `Session.renew` can make it larger; 0: no more than it takes.
  public var connectBytes = 0
  /// A QoS 2 message that was sent in a session which the server has lost is resent, though it may arrive
  /// twice.
  public var repeatsExactlyOnce = false
  /// SUBSCRIBE and UNSUBSCRIBE are dropped when the connection ends, without a completion.
  public var dropsSubscribes = false
  /// Milliseconds the server may stay silent after PINGREQ.
  public var pingTimeout: UInt32 = 10_000
  /// Milliseconds without any acknowledgement while one is due; 0: no limit.
  public var ackTimeout: UInt32 = 30_000
  public var outboxBytes = 65_536
  /// 1 to 65,023.
  public var outboxMessages = 256
  /// The room for urgent messages; 0 to 256.
  public var urgentBytes = 0
  public var urgentMessages = 0
  /// QoS 0 is not queued without a connection.
  public var needsConnection = false
  public var receiveBytes = 4096
  /// QoS 1 and 2 messages that may be unacknowledged at a time: 1 to 65,535; 0: what the server says, and 20
  /// if it cannot say, which is what Mosquitto takes by default before it closes the connection.
  public var inFlightMaximum = 0
  /// The same for messages from the server: Receive Maximum in CONNECT.
  public var receiveMaximum = 64
  /// QoS 2 messages whose PUBREL has not come: 1 to 65,535; 0: as many as there are identifiers, or, in a
  /// session that ends with the connection, `receiveMaximum`.
  public var unreleasedMaximum = 0
  /// SUBSCRIBE and UNSUBSCRIBE packets: 1 to 256.
  public var subscribePackets = 8
  /// Topic Filters to which the session resubscribes; 0: the application does that.
  public var subscriptions = 0
  public var subscriptionBytes = 0
  public var resubscribing = Resubscribing.ifLost
  public var subscribeBytes = 1024
  public var controlBytes = 512
  public var aliasesReceived = 0
  public var aliasesSent = 0
  public var aliasBytes = 128
  public var responses = 0
  public var streamBytes = 0
  /// Messages at a time whose payload stays in the program's memory: 0 to 65,535.
  public var references = 0
  /// The largest commit of the journal, in bytes: a multiple of 4,096, at most 1 MiB; 0: there is no journal.
  public var journalBatchBytes = 0
  /// How many milliseconds a message may wait for others before it is written.
  public var journalDelay: UInt32 = 20
  /// While the journal fails, no message of QoS 1 or 2 is accepted.
  public var journalIsStrict = false
  /// There is an event for each commit.
  public var journalTellsStored = false
  /// How many received messages may have a number that the next process knows, too.
  public var deliveryNumbers = 0

  @_lifetime(copy connect)
  public init(connect: consuming Connect) { self.connect = connect }

  /// The largest packet that the server may send.
  var ownMaximumPacketSize: Int {
    let maximum = connect.session.maximumPacketSize
    return maximum == 0 || !connect.version.hasProperties ? .max : Int(truncatingIfNeeded: maximum)
  }

  fileprivate var unreleasedCapacity: Int {
    if unreleasedMaximum > 0 { return unreleasedMaximum }
    if Feature.hasJournal, journalBatchBytes > 0 {
      return JournalLimits.unreleased(0, batchBytes: journalBatchBytes, numbers: deliveryNumbers)
    }
    return connect.cleanStart && !beginsNewSession ? receiveMaximum : 65_535
  }

  // MARK: With a journal

  /// Messages that are stored without properties may be taken up by a process that begins with 5.0: the next one, after a
  /// fallback, or the next version of the program.
  private var growsWhenRestored: Bool {
    journalBatchBytes > 0 && (allowsFallback || !connect.version.hasProperties)
  }

  /// How many bytes all messages may have together.
  public var outboxByteLimit: Int { limit(outboxBytes, messages: outboxMessages) }
  public var urgentByteLimit: Int { limit(urgentBytes, messages: urgentMessages) }

  @inline(__always)
  private func limit(_ bytes: Int, messages: Int) -> Int {
    guard Feature.hasJournal, growsWhenRestored else { return bytes }
    return bytes &- JournalLimits.reserve(messages: messages, bytes: bytes)
  }

  /// The largest packet that the journal has room for; 0: there is no journal.
  public var largestStored: Int {
    guard Feature.hasJournal, journalBatchBytes > 0 else { return 0 }
    return JournalLimits.largestMessage(batchBytes: journalBatchBytes, grows: growsWhenRestored)
  }

  /// Returns whether CONNECT may be sent with a version, which has to support what CONNECT has.
  borrowing func speaks(_ version: ProtocolVersion) -> Bool {
    if version == connect.version { return true }
    guard allowsFallback, version.rawValue < connect.version.rawValue else { return false }
    // An authentication that the program asked for is not left out silently.
    guard ConnectPackets.method(connect.properties) == nil else { return false }
    // 3.1.1: [MQTT-3.1.2-22]; 3.1: a client id of 1 to 23 bytes.
    return (!connect.hasPassword || connect.hasUserName)
      && (!version.isV31 || 1...23 ~= connect.clientIDSize)
  }
}

/// Where the parts of a session are in the caller's block.
public struct SessionPlan: ~Copyable {
  private let inPlace = InPlace()
  let connect: ArenaSlice<UInt8>
  let descriptors: ArenaSlice<Outbox.Descriptor>
  let outbox: ArenaSlice<UInt8>
  let latest: ArenaSlice<UInt16>
  let expiries: ArenaSlice<UInt32>
  let urgent: ArenaSlice<Outbox>
  let urgentDescriptors: ArenaSlice<Outbox.Descriptor>
  let urgentLatest: ArenaSlice<UInt16>
  let urgentExpiries: ArenaSlice<UInt32>
  let urgentBytes: ArenaSlice<UInt8>
  let none: ArenaSlice<UInt8>
  let noAliases: SentAliases.Plan
  let prefix: ArenaSlice<UInt8>
  let aliasesSent: SentAliases.Plan
  let topicsSent: ArenaSlice<UInt8>
  let subscribeQueue: ArenaSlice<SubscribeQueue.Descriptor>
  let subscribeBytes: ArenaSlice<UInt8>
  let subscriptions: SubscriptionTable.Plan
  let control: ArenaSlice<UInt8>
  let disconnectProperties: ArenaSlice<UInt8>
  let receive: ArenaSlice<UInt8>
  let inbox: ArenaSlice<Inbox.Entry>
  let inboxLinks: ArenaSlice<UInt16>
  let awaitingPubrel: ArenaSlice<UInt32>
  let aliasesReceived: ArenaSlice<ReceivedAliases.Entry>
  let topicsReceived: ArenaSlice<UInt8>
  let responses: ArenaSlice<PendingResponses.Entry>
  let stream: ArenaSlice<UInt8>
  let references: ArenaSlice<ReferenceTable.Entry>
  let journal: JournalPlan
  let noReferences: ArenaSlice<ReferenceTable.Entry>

  public init(_ options: borrowing SessionOptions, in plan: inout ArenaLayout) {
    let messages = Outbox.descriptorCount(messages: options.outboxMessages, .messages)
    descriptors = plan.reserve(messages, of: Outbox.Descriptor.self)
    urgent = plan.reserve(min(options.urgentMessages, 1), of: Outbox.self)
    urgentDescriptors = plan.reserve(options.urgentMessages, of: Outbox.Descriptor.self)
    expiries = plan.reserve(Outbox.expiryCount(messages), of: UInt32.self)
    urgentExpiries = plan.reserve(Outbox.expiryCount(options.urgentMessages), of: UInt32.self)
    latest = plan.reserve(LatestChains.count(messages: options.outboxMessages), of: UInt16.self)
    urgentLatest = plan.reserve(LatestChains.count(messages: options.urgentMessages), of: UInt16.self)
    noAliases = SentAliases.Plan(0, in: &plan)
    subscribeQueue = plan.reserve(options.subscribePackets, of: SubscribeQueue.Descriptor.self)
    responses = plan.reserve(options.responses, of: PendingResponses.Entry.self)
    references = plan.reserve(options.references, of: ReferenceTable.Entry.self)
    noReferences = plan.reserve(0, of: ReferenceTable.Entry.self)
    journal = JournalPlan(options, descriptors: messages, in: &plan)
    inbox = plan.reserve(options.receiveMaximum, of: Inbox.Entry.self)
    inboxLinks = plan.reserve(Inbox.linkCount(for: options.receiveMaximum), of: UInt16.self)
    awaitingPubrel = plan.reserve(IdentifierSet.slotCount(for: options.unreleasedCapacity), of: UInt32.self)
    aliasesSent = SentAliases.Plan(options.aliasesSent, in: &plan)
    aliasesReceived = plan.reserve(options.aliasesReceived, of: ReceivedAliases.Entry.self)
    subscriptions = SubscriptionTable.Plan(
      entries: options.subscriptions, bytes: options.subscriptionBytes, in: &plan)
    connect = plan.reserve(max(ConnectPackets.size(options), options.connectBytes), of: UInt8.self)
    control = plan.reserve(options.controlBytes, of: UInt8.self)
    disconnectProperties = plan.reserve(
      options.connect.version.hasProperties ? min(Session.disconnectPropertyBytes, options.controlBytes) : 0,
      of: UInt8.self)
    outbox = plan.reserve(options.outboxBytes, of: UInt8.self)
    urgentBytes = plan.reserve(options.urgentBytes, of: UInt8.self)
    none = plan.reserve(0, of: UInt8.self)
    prefix = plan.reserve(
      options.aliasesSent > 0 ? Outbox.prefixSize(topicBytes: options.aliasBytes) : 0, of: UInt8.self)
    topicsSent = plan.reserve(options.aliasesSent * options.aliasBytes, of: UInt8.self)
    topicsReceived = plan.reserve(options.aliasesReceived * options.aliasBytes, of: UInt8.self)
    subscribeBytes = plan.reserve(options.subscribeBytes, of: UInt8.self)
    stream = plan.reserve(options.streamBytes, of: UInt8.self)
    receive = plan.reserve(options.receiveBytes, of: UInt8.self)
  }
}
