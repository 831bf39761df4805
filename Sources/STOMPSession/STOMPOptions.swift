public import STOMPWire
public import Storage

/// What the application asks for, and how much memory there is for what.
public struct STOMPOptions: ~Copyable, ~Escapable {
  /// The versions that the server is offered.
  public var oldest = STOMPVersion.v10
  public var newest = STOMPVersion.v12
  /// The virtual host.
  public var host: Span<UInt8>
  public var login: Span<UInt8>
  public var passcode: Span<UInt8>
  /// More headers of CONNECT (`HeaderList`).
  public var headers: Span<UInt8>
  public var heartBeat = HeartBeat.none
  /// How long the server may owe receipts without sending one, in milliseconds; 0: without a limit.
  public var receiptTimeout: UInt32 = 0
  public var outboxBytes = 65_536
  public var outboxFrames = 256
  public var urgentBytes = 0
  public var urgentFrames = 0
  public var receiveBytes = 4096
  public var controlBytes = 1024
  public var subscriptions = 8
  /// The room for the SUBSCRIBE of each.
  public var subscriptionBytes = 256
  /// Messages that wait for ACK or NACK.
  public var heldMessages = 64
  /// The room for other credentials; 0: those of the options stay.
  public var credentialBytes = 0
  /// The room for what each of them is called.
  public var heldBytes = 128
  public var transactions = 4
  /// The largest commit of the journal, in bytes: a multiple of 4,096, at most 1 MiB; 0: there is no journal.
  public var journalBatchBytes = 0
  /// How long what is new may wait for more, in milliseconds.
  public var journalDelay: UInt32 = 20
  /// While the journal fails, no frame is accepted for it.
  public var journalIsStrict = false
  /// An event says up to where all is durable.
  public var journalTellsStored = false

  @_lifetime(copy host, copy login, copy passcode, copy headers)
  public init(host: Span<UInt8>, login: Span<UInt8>, passcode: Span<UInt8>, headers: Span<UInt8>) {
    self.host = host
    self.login = login
    self.passcode = passcode
    self.headers = headers
  }

  /// Describes CONNECT, but for its end.
  func connect<Output: FrameOutput & ~Copyable & ~Escapable>(to output: inout Output) {
    output.begin(.connect)
    if newest >= .v11 {
      output.header("accept-version", versions: oldest, newest)
      output.header("host", host)
    }
    if newest >= .v11 && heartBeat != .none { output.header("heart-beat", heartBeat) }
    var list = HeaderList(headers)
    while let pair = list.next() {
      output.header(headers.extracting(pair.name.range), headers.extracting(pair.value.range))
    }
  }

  /// Of what comes before the credentials.
  var connectSize: Int {
    var size = FrameSize(newest)
    connect(to: &size)
    return size.count
  }

  /// The room for the credentials, and the end.
  var credentialsSize: Int {
    let asked =
      Credentials.size(login: Span(), passcode: Span()) &+ credentialBytes &+ Credentials.headerBytes
    return max(Credentials.size(login: login, passcode: passcode), credentialBytes > 0 ? asked : 0)
  }
}

/// The end of CONNECT: the only part of it that may change.
enum Credentials {
  static func describe<Output: FrameOutput & ~Copyable & ~Escapable>(
    to output: inout Output, login: Span<UInt8>, passcode: Span<UInt8>
  ) {
    if login.count > 0 { output.header("login", login) }
    if passcode.count > 0 { output.header("passcode", passcode) }
    output.end()
  }

  static func size(login: Span<UInt8>, passcode: Span<UInt8>) -> Int {
    var size = FrameSize(.v12, escapes: false)
    describe(to: &size, login: login, passcode: passcode)
    return size.count
  }

  /// What both headers have besides their values.
  static var headerBytes: Int { 17 }

  /// CONNECT has no escapes, whatever the version.
  static func areValid(login: Span<UInt8>, passcode: Span<UInt8>) -> Bool {
    HeaderText.isValid(login, .v10, isName: false) && HeaderText.isValid(passcode, .v10, isName: false)
  }
}

/// Where each part lies in the caller's block.
public struct STOMPPlan {
  let connect: ArenaSlice<UInt8>
  let control: ArenaSlice<UInt8>
  let receive: ArenaSlice<UInt8>
  let outbox: ArenaSlice<UInt8>
  let entries: ArenaSlice<FrameQueue.Entry>
  let urgent: ArenaSlice<UInt8>
  let urgentEntries: ArenaSlice<FrameQueue.Entry>
  let slots: ArenaSlice<SubscriptionSlots.Slot>
  let frames: ArenaSlice<UInt8>
  let held: ArenaSlice<HeldMessages.Entry>
  let heldTexts: ArenaSlice<UInt8>
  let transactions: ArenaSlice<Transactions.Transaction>
  let journal: FrameJournalPlan

  public init(_ options: borrowing STOMPOptions, in layout: inout ArenaLayout) {
    entries = layout.reserve(options.outboxFrames, of: FrameQueue.Entry.self)
    urgentEntries = layout.reserve(options.urgentFrames, of: FrameQueue.Entry.self)
    slots = layout.reserve(options.subscriptions, of: SubscriptionSlots.Slot.self)
    held = layout.reserve(options.heldMessages, of: HeldMessages.Entry.self)
    transactions = layout.reserve(options.transactions, of: Transactions.Transaction.self)
    journal = FrameJournalPlan(options, in: &layout)
    connect = layout.reserve(options.connectSize &+ options.credentialsSize, of: UInt8.self)
    control = layout.reserve(options.controlBytes, of: UInt8.self)
    receive = layout.reserve(options.receiveBytes, of: UInt8.self)
    outbox = layout.reserve(options.outboxBytes, of: UInt8.self)
    urgent = layout.reserve(options.urgentBytes, of: UInt8.self)
    frames = layout.reserve(options.subscriptions * options.subscriptionBytes, of: UInt8.self)
    heldTexts = layout.reserve(options.heldMessages * options.heldBytes, of: UInt8.self)
  }
}
