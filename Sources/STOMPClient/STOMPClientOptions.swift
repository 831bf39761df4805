public import Driver
import Inspector
import Journal
public import Platform
public import STOMPSession
import STOMPWire
public import Storage
public import Transports

/// What a caller asks for, as it comes: nothing is checked yet, 0 is the default everywhere. The fields are those of
/// `sst_options`, which explains them.
public struct RequestedSTOMPOptions: ~Copyable, ~Escapable {
  private let inPlace = InPlace()
  public var connection: ConnectionRequest
  /// The versions, as ten times their number.
  public var oldest: UInt32 = 0
  public var newest: UInt32 = 0
  public var virtualHost: Span<UInt8>
  public var login: Span<UInt8>
  public var passcode: Span<UInt8>
  public var headers: Span<UInt8>
  public var heartBeatSend: UInt32 = 0
  public var heartBeatReceive: UInt32 = 0
  public var receiptTimeout: UInt32 = 0
  public var outboxBytes: UInt32 = 0
  public var outboxFrames: UInt32 = 0
  public var urgentFrames: UInt32 = 0
  public var urgentBytes: UInt32 = 0
  public var receiveBytes: UInt32 = 0
  public var controlBytes: UInt32 = 0
  public var subscriptions: UInt32 = 0
  public var subscriptionBytes: UInt32 = 0
  public var heldMessages: UInt32 = 0
  public var heldBytes: UInt32 = 0
  public var transactions: UInt32 = 0
  public var credentialBytes: UInt32 = 0
  public var submitFrames: UInt32 = 0
  public var submitBytes: UInt32 = 0
  /// The path of its file; empty: there is none.
  public var journalPath: Span<UInt8>
  public var journal = JournalRequest()
  public var inspectionPath: Span<UInt8>
  public var inspectionPermissions: UInt32 = 0
  public var inspectionBytes: UInt32 = 0

  @_lifetime(immortal)
  public init() {
    // The path is that of RabbitMQ. Servers send frames of text.
    connection = ConnectionRequest(
      port: 61_613, securePort: 61_614, path: "/ws", subprotocols: "v12.stomp, v11.stomp, v10.stomp")
    connection.takesText = true
    virtualHost = Span()
    login = Span()
    passcode = Span()
    headers = Span()
    journalPath = Span()
    inspectionPath = Span()
  }
}

/// Why options can't be used.
public enum STOMPOptionsError: Error, BitwiseCopyable {
  case option  // a value out of range, or two that contradict each other
  case url(at: Int)
  case notSupported(at: Int)
  case header  // a text that CONNECT may not have

  init(_ error: ConnectionRequestError) { self = error == .option ? .option : .notSupported(at: 0) }

  public init(_ error: URLError) {
    switch error {
    case .tooLong: self = .option
    case .malformed(let offset): self = .url(at: offset)
    case .unknownScheme: self = .notSupported(at: 0)
    }
  }
}

/// Options that a client can be made with.
public struct STOMPClientOptions: ~Copyable, ~Escapable {
  public var driver: DriverOptions
  public var layers: LayerOptions
  public let transport: AnyTransport.Kind
  public let sockets: SocketOptions
  public var session: STOMPOptions
  /// Frames of other threads that wait: a power of two, or 0; and the room for each.
  public let submitFrames: Int
  public let submitBytes: Int
  /// `nil`: there is no journal.
  public let journal: JournalOptions?
  public let journalPath: Span<UInt8>
  /// The socket for programs that look on; empty: there is none, and no room for what they are told.
  public let inspectionPath: Span<UInt8>
  public let inspectionPermissions: UInt32
  public let inspectionBytes: Int

  private static var largestBuffer: UInt32 { 268_435_456 }
  private static var longestText: Int { 65_535 }

  @_lifetime(copy request)
  public init(checking request: borrowing RequestedSTOMPOptions) throws(STOMPOptionsError) {
    let newestNumber = request.newest == 0 ? 12 : request.newest
    let oldestNumber = request.oldest == 0 ? min(10, newestNumber) : request.oldest
    guard let oldest = STOMPVersion(rawValue: UInt8(clamping: oldestNumber)),
      let newest = STOMPVersion(rawValue: UInt8(clamping: newestNumber))
    else { throw .option }
    guard oldest <= newest else { throw .option }
    var driver = DriverOptions(hosts: request.connection.host, servers: request.connection.servers)
    try Self.checkHosts(request, driver)
    try Self.checkTexts(request)

    let day = NumberCheck.dayInMilliseconds
    var numbers = NumberCheck()
    var sockets = SocketOptions()
    request.connection.setNumbers(&driver, &sockets, &numbers)
    var session = STOMPOptions(
      host: request.virtualHost.count > 0 ? request.virtualHost : Self.usualHost.bytes, login: request.login,
      passcode: request.passcode, headers: request.headers)
    session.oldest = oldest
    session.newest = newest
    session.heartBeat.sends = numbers.value(request.heartBeatSend, default: 10_000, maximum: day, off: 0)
    session.heartBeat.wants = numbers.value(request.heartBeatReceive, default: 10_000, maximum: day, off: 0)
    session.receiptTimeout = numbers.value(request.receiptTimeout, default: 30_000, maximum: day, off: 0)
    // A number that is not valid may be larger than an Int of 32 bits: it is refused below.
    session.outboxBytes = Int(
      truncatingIfNeeded: numbers.value(
        request.outboxBytes, default: 65_536, minimum: 64, maximum: Self.largestBuffer))
    session.outboxFrames = Int(
      truncatingIfNeeded: numbers.value(request.outboxFrames, default: 256, maximum: 65_535))
    session.urgentFrames = Int(
      truncatingIfNeeded: numbers.value(request.urgentFrames, default: 0, maximum: 256))
    session.urgentBytes = Int(
      truncatingIfNeeded: numbers.value(
        request.urgentBytes, default: 128 &* UInt32(truncatingIfNeeded: session.urgentFrames), minimum: 64,
        maximum: Self.largestBuffer))
    session.receiveBytes = Int(
      truncatingIfNeeded: numbers.value(
        request.receiveBytes, default: 4096, minimum: 64, maximum: Self.largestBuffer))
    session.controlBytes = Int(
      truncatingIfNeeded: numbers.value(request.controlBytes, default: 1024, minimum: 128, maximum: 1_048_576)
    )
    session.subscriptions = Int(
      truncatingIfNeeded: numbers.value(request.subscriptions, default: 8, maximum: 1024))
    session.subscriptionBytes = Int(
      truncatingIfNeeded: numbers.value(request.subscriptionBytes, default: 256, minimum: 64, maximum: 65_535)
    )
    session.heldMessages = Int(
      truncatingIfNeeded: numbers.value(request.heldMessages, default: 64, maximum: 65_535))
    session.heldBytes = Int(
      truncatingIfNeeded: numbers.value(request.heldBytes, default: 128, minimum: 16, maximum: 65_535))
    session.transactions = Int(
      truncatingIfNeeded: numbers.value(request.transactions, default: 4, maximum: 256))
    let submitFrames = numbers.value(request.submitFrames, default: 0, maximum: 65_536)
    let submitBytes = numbers.value(request.submitBytes, default: 256, minimum: 16, maximum: 1_048_576)
    let submitSlots =
      submitFrames < 2 ? submitFrames : 1 << (32 &- (submitFrames &- 1).leadingZeroBitCount)
    let asks = request.connection.askCredentials
    session.credentialBytes = Int(
      truncatingIfNeeded: numbers.value(request.credentialBytes, default: asks ? 512 : 0, maximum: 131_070))
    // Credentials are either in the options or asked for, and only the latter need room.
    let areCredentialsClear =
      asks ? request.login.count == 0 && request.passcode.count == 0 : request.credentialBytes == 0
    let journal = numbers.journal(request, session)
    if let journal {
      session.journalBatchBytes = journal.batchBytes
      session.journalDelay = journal.delay
      session.journalIsStrict = journal.isStrict
      session.journalTellsStored = journal.tellsStored
    }
    let isInspected = request.inspectionPath.count > 0
    let inspectionBytes = numbers.value(
      request.inspectionBytes, if: isInspected, default: 65_536, minimum: 4096, maximum: 131_072)
    let inspectionPermissions = numbers.value(
      request.inspectionPermissions, if: isInspected, default: 0o600, maximum: 0o777)
    guard
      Inspection.allows(
        request.inspectionPath, permissions: request.inspectionPermissions, bytes: request.inspectionBytes,
        ownTransport: request.connection.ownTransport)
    else { throw .option }
    guard numbers.areValid, areCredentialsClear, request.urgentFrames > 0 || request.urgentBytes == 0 else {
      throw .option
    }
    // What all of them take together has to fit into a block. Divided, as the product may be beyond 32 bits.
    guard session.heldMessages <= Int(Self.largestBuffer) / session.heldBytes,
      session.subscriptions <= Int(Self.largestBuffer) / session.subscriptionBytes,
      submitSlots <= Self.largestBuffer / submitBytes
    else { throw .option }
    var layers = LayerOptions()
    try Self.setLayers(request, &layers, &sockets, oldest, newest)

    self.driver = driver
    self.layers = layers
    transport = request.connection.transport
    self.sockets = sockets
    self.session = session
    self.submitFrames = Int(submitSlots)
    self.submitBytes = Int(submitBytes)
    self.journal = journal
    journalPath = request.journalPath
    inspectionPath = request.inspectionPath
    self.inspectionPermissions = inspectionPermissions
    self.inspectionBytes = Int(inspectionBytes)
  }

  private static func checkHosts(
    _ request: borrowing RequestedSTOMPOptions, _ driver: borrowing DriverOptions
  ) throws(STOMPOptionsError) {
    do throws(ConnectionRequestError) {
      try request.connection.checkHosts(driver)
    } catch {
      throw STOMPOptionsError(error)
    }
  }

  /// CONNECT has no escapes, whatever the version.
  private static func checkTexts(_ request: borrowing RequestedSTOMPOptions) throws(STOMPOptionsError) {
    guard request.virtualHost.count <= longestText, request.login.count <= longestText,
      request.passcode.count <= longestText, request.headers.count <= longestText
    else { throw .option }
    guard HeaderText.isValid(request.virtualHost, .v10, isName: false),
      HeaderText.isValid(request.login, .v10, isName: false),
      HeaderText.isValid(request.passcode, .v10, isName: false),
      HeaderList.isValid(request.headers, .v10)
    else { throw .header }
  }

  @_optimize(size)
  @_lifetime(layers: copy request)
  private static func setLayers(
    _ request: borrowing RequestedSTOMPOptions, _ layers: inout LayerOptions, _ sockets: inout SocketOptions,
    _ oldest: STOMPVersion, _ newest: STOMPVersion
  ) throws(STOMPOptionsError) {
    do throws(ConnectionRequestError) {
      try request.connection.setLayers(&layers)
      try request.connection.setSource(&sockets)
    } catch {
      throw STOMPOptionsError(error)
    }
    guard layers.isWebSocket, request.connection.webSocketProtocol.count == 0 else { return }
    // Each of the names has nine bytes, and ", " follows it.
    let all = request.connection.usualSubprotocols.bytes
    let start = 11 &* Int(STOMPVersion.v12.rawValue &- newest.rawValue)
    let end = all.count &- 11 &* Int(oldest.rawValue &- STOMPVersion.v10.rawValue)
    layers.subprotocols = all.extracting(start..<end)
  }

  private static var usualHost: StaticString { "/" }
}

/// Where a client's parts lie in the caller's block.
public struct STOMPClientPlan: ~Copyable {
  let session: STOMPPlan
  let driver: DriverPlan
  let layers: LayerPlan
  let submissions: MPSCQueue<FrameSubmission>.Plan
  let inspection: ArenaSlice<Inspection>
  let inspectionPath: ArenaSlice<UInt8>
  let inspectionBytes: ArenaSlice<UInt8>

  public init(_ options: borrowing STOMPClientOptions, in plan: inout ArenaLayout) {
    driver = DriverPlan(options.driver, in: &plan)
    session = STOMPPlan(options.session, in: &plan)
    layers = LayerPlan(options.layers, in: &plan)
    submissions = MPSCQueue.Plan(slots: options.submitFrames, slotSize: options.submitBytes, in: &plan)
    let isInspected = options.inspectionBytes > 0
    inspection = plan.reserve(isInspected ? 1 : 0, of: Inspection.self)
    inspectionPath = plan.reserve(isInspected ? options.inspectionPath.count &+ 1 : 0, of: UInt8.self)
    inspectionBytes = plan.reserve(options.inspectionBytes, of: UInt8.self)
  }
}

extension NumberCheck {
  /// What the options of the journal say; `nil`: there is none.
  @inline(never)
  @_optimize(size)
  fileprivate mutating func journal(
    _ request: borrowing RequestedSTOMPOptions, _ session: borrowing STOMPOptions
  ) -> JournalOptions? {
    guard request.journalPath.count > 0 else {
      if !request.journal.isDefault { areValid = false }
      return nil
    }
    let (bytes, frames) = (session.outboxBytes, session.outboxFrames)
    // An application with a transport of its own has no file either.
    if request.connection.ownTransport || !Self.isPath(request.journalPath) || request.journal.flags > 7 {
      areValid = false
    }
    return journal(request.journal) {
      FrameRecord.ringBlocks(bytes: bytes, frames: frames, batchBytes: $0)
    }
  }
}
