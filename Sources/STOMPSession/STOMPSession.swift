public import STOMPWire
public import Storage

/// The protocol, without IO: bytes and instants go in; bytes, one deadline and events come out.
///
/// This file has the state and the getters. What happened is in Session+Connection.swift, what a frame of the server does
/// in Session+Received.swift, and the outputs in Session+Transmit.swift and Session+Events.swift. What the application wants
/// is in Session+Commands.swift (SEND), Session+Subscriptions.swift, Session+Acknowledgements.swift and
/// Session+Transactions.swift.
public struct STOMPSession: ~Copyable {
  enum Phase: UInt8, BitwiseCopyable {
    case disconnected
    case connecting  // CONNECT is to be sent
    case awaiting  // CONNECTED is on its way
    case up
  }

  /// What came on a connection and was not handed out. It outlasts the connection, until the next one begins.
  struct Arrival: BitwiseCopyable {
    var parser = FrameParser()
    /// The head of the frame at the front was read.
    var hasHead = false
    /// Up to where its body, counted from the front, has no zero.
    var searched = 0
    /// A body that is larger than the buffer.
    var large: LargeBody? = nil
    var event = PendingFrame()
    /// A message has to wait until the application has acknowledged others.
    var isBlocked = false
    /// And now it has.
    var isUnblocked = false
    var closeReason: STOMPCloseReason? = nil
    /// The tap knows the frame at the front.
    var isTold = false
    /// Nothing comes any more.
    var hasEnded = false
  }

  /// The version of this connection, or of the last one; before the first one, the newest that is offered.
  public internal(set) var version: STOMPVersion
  let oldest: STOMPVersion
  let newest: STOMPVersion
  private let inPlace = InPlace()
  var phase = Phase.disconnected
  public internal(set) var isAccepted = false

  public internal(set) var counters = STOMPCounters()

  // What outlives a connection.
  var outbox: FrameQueue
  /// What goes before all that waits there.
  var urgent: FrameQueue
  var subscriptions: SubscriptionSlots
  /// What keeps frames of the outbox beyond the process; empty: there is none. See Journal/Session+Journal.swift.
  var journal: OptionalSlot<FrameJournal>

  // What lasts as long as one.
  var held: HeldMessages
  var transactions: Transactions
  var heartBeats: HeartBeats
  var arrival = Arrival()
  var sending = Sending()
  var connect: Region
  /// How many bytes of it come before the credentials, and how many it has.
  private let connectStart: Int
  private(set) var connectCount: Int
  /// ACK and NACK outside of transactions, heart-beats, DISCONNECT.
  var control: ByteQueue
  var receiver: ByteQueue
  /// How many transactions the end of a connection has ended.
  var lostTransactions = 0
  /// The application has asked to disconnect.
  public internal(set) var isLeaving = false
  private let receiptTimeout: UInt32
  /// When a server that owes receipts has to have sent one.
  var receiptDeadline: Instant? = nil
  /// When reading stopped, because the application has something to take or to acknowledge first.
  private var stoppedReading: Instant? = nil
  /// DISCONNECT is queued or sent.
  public internal(set) var hasDisconnect = false
  /// When nobody waits any longer for DISCONNECT to be sent, and for its receipt.
  var leaveDeadline: Instant? = nil
  /// Who is told of frames.
  var taps = FrameTaps()
  /// The front of `control` is the beginning of a frame.
  var isControlInStep = true
  /// Of the frame that is sent alone.
  var company = Company()
  /// ACK, or NACK, had no room, and the application is to be told when there is some.
  var wasControlFull = false

  static var leaveTimeout: UInt32 { 5000 }

  /// The caller guarantees that `options` are those the plan was made with.
  public init(_ options: borrowing STOMPOptions, plan: STOMPPlan, block: borrowing Arena) {
    oldest = options.oldest
    newest = options.newest
    version = options.newest
    receiptTimeout = options.receiptTimeout
    outbox = FrameQueue(
      bytes: block.region(plan.outbox), entries: block.table(plan.entries),
      stored: plan.journal.stored(in: block))
    journal = plan.journal.journal(in: block)
    urgent = FrameQueue(bytes: block.region(plan.urgent), entries: block.table(plan.urgentEntries))
    subscriptions = SubscriptionSlots(
      slots: block.table(plan.slots), frames: block.region(plan.frames),
      frameBytes: options.subscriptionBytes)
    held = HeldMessages(
      entries: block.table(plan.held), texts: block.region(plan.heldTexts), textBytes: options.heldBytes)
    transactions = Transactions(block.table(plan.transactions))
    heartBeats = HeartBeats(options.heartBeat)
    connect = block.region(plan.connect)
    connectStart = options.connectSize
    connectCount = connectStart &+ Credentials.size(login: options.login, passcode: options.passcode)
    control = ByteQueue(region: block.region(plan.control))
    receiver = ByteQueue(region: block.region(plan.receive))
    var writer = FrameWriter(connect.mutableBytes, options.newest)
    options.connect(to: &writer)
    writeCredentials(login: options.login, passcode: options.passcode)
  }

  private mutating func writeCredentials(login: Span<UInt8>, passcode: Span<UInt8>) {
    var writer = FrameWriter(connect.mutableBytes(in: connectStart..<connectCount), .v12, escapes: false)
    Credentials.describe(to: &writer, login: login, passcode: passcode)
  }

  /// From the next CONNECT on. Possible as long as none is being sent.
  public mutating func setCredentials(login: Span<UInt8>, passcode: Span<UInt8>) throws(STOMPError) {
    guard Credentials.areValid(login: login, passcode: passcode) else { throw .header }
    let size = Credentials.size(login: login, passcode: passcode)
    guard size <= connect.count &- connectStart else { throw .tooLarge }
    connectCount = connectStart &+ size
    writeCredentials(login: login, passcode: passcode)
  }

  // MARK: Getters

  public var isConnected: Bool { phase == .up && arrival.closeReason == nil }

  /// How often each side sends something, in milliseconds; 0: as it likes.
  public var agreedHeartBeat: HeartBeat { heartBeats.agreed }

  public var outboxCounts: OutboxCounts {
    var counts = outbox.counts
    let others = urgent.counts
    counts.delivered.add(others.delivered)
    counts.failed.add(others.failed)
    counts.dropped.add(others.dropped)
    counts.urgentFrames = others.frames
    counts.urgentFramesPeak = others.framesPeak
    return counts
  }
  /// Receipts that the server owes.
  public var receiptsDue: Int { outbox.unconfirmed &+ urgent.unconfirmed &+ subscriptions.unconfirmed }
  /// Messages that wait to be acknowledged.
  public var heldCount: Int { held.count }

  /// Why the session wants the connection closed; `nil`: it does not.
  public var closeReason: STOMPCloseReason? { arrival.closeReason }

  /// The time for the next receipt begins, if the server owes any.
  mutating func startReceiptTime(at now: Instant) {
    receiptDeadline = receiptTimeout > 0 && receiptsDue > 0 ? now.advanced(by: receiptTimeout) : nil
  }

  /// The times of the server stand still while nothing is read.
  public mutating func advance(to now: Instant) {
    guard wantsReceive else {
      if stoppedReading == nil { stoppedReading = now }
      return
    }
    if let stoppedReading { readsAgain(since: stoppedReading, at: now) }
  }

  @inline(never)
  private mutating func readsAgain(since stopped: Instant, at now: Instant) {
    stoppedReading = nil
    let pause = now.milliseconds &- stopped.milliseconds
    receiptDeadline = receiptDeadline.map { $0.advanced(by: pause) }
    heartBeats.heard(at: now)
  }

  /// After `parse`.
  mutating func noteStop(at now: Instant) {
    if stoppedReading == nil, !wantsReceive { stoppedReading = now }
  }

  /// On a new connection.
  mutating func forgetStop() { stoppedReading = nil }

  /// Nothing waits to be sent or confirmed.
  public var isDrained: Bool {
    outbox.isDrained && urgent.isDrained && control.isEmpty && subscriptions.unsent == 0
      && subscriptions.unconfirmed == 0
      && sending.source == .none && !hasDisconnect
  }

  /// The bytes that the ranges of a close reason or of an event point into.
  public var receivedBytes: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { receiver.allBytes }
  }

  /// The frame of the event that was handed out last; its ranges count from `eventOffset` in `receivedBytes`.
  public var eventFrame: ServerFrame {
    @inline(__always) get { arrival.parser.frame }
  }
  public var eventMessage: STOMPMessage {
    @inline(__always) get { arrival.event.message }
  }
  public var eventOffset: Int { receiver.position }

  /// Overwrites login and passcode, before the block returns to its owner.
  public mutating func wipeSecrets() { connect.wipe(0..<connect.count) }
}

/// What is being sent.
struct Sending: BitwiseCopyable {
  enum Source: UInt8, BitwiseCopyable {
    case none, connect, control, urgent, subscription, outbox
  }

  var source = Source.none
  /// Of the subscription.
  var slot = 0
  /// How many bytes of the frame at the front went out.
  var sent = 0
  /// Of the outbox: the bytes behind those.
  var window = ByteRange.empty
}

/// A frame that waits to be taken, or was taken and not released.
struct PendingFrame: BitwiseCopyable {
  enum Kind: UInt8, BitwiseCopyable {
    case none, connected, message, part
  }

  var kind = Kind.none
  var isBorrowed = false
  /// How many bytes at the front of the buffer it takes.
  var size = 0
  var message = STOMPMessage()
}

/// A body that comes in parts: its head stays at the front of the buffer, and the body passes behind it.
struct LargeBody: BitwiseCopyable {
  /// How many bytes of it are still to come; `nil`: up to the zero, and it is dropped.
  var rest: Int?
  /// How many bytes of it were handed out.
  var offset = 0
  var token: UInt64 = 0
}

/// MESSAGE, or a part of one.
public struct STOMPMessage: BitwiseCopyable {
  /// In `receivedBytes`.
  public internal(set) var body = ByteRange.empty
  /// Where this part begins.
  public internal(set) var bodyOffset = 0
  /// Of the whole body.
  public internal(set) var bodySize = 0
  /// What `acknowledge` takes; 0: nothing is to be acknowledged.
  public internal(set) var token: UInt64 = 0
  /// The slot of the subscription; -1: the server does not say which, or it is none of this client.
  public internal(set) var subscription = -1
  public internal(set) var isLast = true
  /// The body had no room, and no length with which it could come in parts: it was dropped.
  public internal(set) var isOversize = false
}

/// Why a session wants its connection closed.
public struct STOMPCloseReason: BitwiseCopyable {
  public enum Cause: BitwiseCopyable {
    case requested  // the application disconnected
    case refused  // ERROR in place of CONNECTED
    case error  // ERROR
    case malformed(MalformedFrame)
    case heartBeat  // the server is silent
    case receiptTimeout
    case headTooLarge  // the headers of a frame do not fit into the buffer
  }

  public let cause: Cause
  /// Of ERROR, in `receivedBytes`, which stay there until the next connection is opened.
  public var message = ByteRange.empty
  public var headers = ByteRange.empty
  /// As far as it has come, and has room.
  public var body = ByteRange.empty
  /// Of the whole body, if the server says so.
  public var bodySize = 0
}

/// Why a call failed. It changed nothing.
public enum STOMPError: UInt8, Error, BitwiseCopyable, Sendable {
  case leaving  // the application has asked to disconnect
  case state  // not possible now
  case version  // this version of the protocol does not have it
  case destination  // it is empty
  case header  // one that a header may not be, or that the library writes itself
  case body  // a zero in a body without a content-length
  case token  // no such message waits to be acknowledged
  case subscription  // no such subscription
  case transaction  // no such transaction
  case tooLarge  // can never be sent
  case full  // no room now
  case journal  // there is none, or it does not work, and nothing is to be accepted without it
}
