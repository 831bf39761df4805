import Driver
import MQTTSession
import MQTTWire
import Platform
import Storage
import TestSupport

@testable import MQTTClient

/// A client on a virtual platform, in memory of its own.
final class ClientHarness {
  let world: World
  private let block: UnsafeMutableRawPointer
  var client: Client<VirtualPlatform>
  let submitter: Submitter

  init(
    _ world: World = World(), url: String? = nil, wakeUp: WakeUp = .none,
    configure: (inout RequestedOptions) -> Void = { _ in }
  ) throws(OptionsError) {
    self.world = world
    let host = Array("server".utf8)
    let clientID = Array("abc".utf8)
    var request = RequestedOptions()
    request.connection.host = host.span
    let text = Array((url ?? "mqtt://server").utf8)
    if url != nil {
      request.connection.host = text.span
      request.connection.servers = try MQTTURL(checking: text.span).url.servers
    }
    request.clientID = clientID.span
    request.keepSession = true
    configure(&request)
    let options = try ClientOptions(checking: request)
    var memory = ArenaLayout()
    let plan = ClientPlan(options, in: &memory)
    block = .allocate(byteCount: memory.byteCount, alignment: ArenaLayout.alignment)
    client = Client(
      options, plan: plan, block: unsafe Arena(start: block), on: VirtualPlatform(world: world))
    submitter = Submitter(options, queue: client.engine.submissions.queue, wakeUp: wakeUp)
  }

  deinit { block.deallocate() }

  var now: Instant { Instant(milliseconds: world.now) }
  var state: DriverState { client.state }

  @discardableResult
  func connect() -> Bool { client.connect(at: now) }

  /// The next attempt is to go there.
  func renew(host: String, port: UInt32) -> Bool {
    let name = Array(host.utf8)
    let clientID = Array("abc".utf8)
    var request = RequestedOptions()
    request.connection.host = name.span
    request.connection.port = port
    request.clientID = clientID.span
    request.keepSession = true
    request.connection.connectTimeout = 5000
    guard let options = try? ClientOptions(checking: request) else { return false }
    return client.renew(options)
  }

  func publish(_ topic: String, payload: Int = 0, qos: QoS = .atLeastOnce, cookie: UInt64 = 0)
    throws(SessionError)
  {
    let name = Array(topic.utf8)
    let bytes = [UInt8](repeating: 7, count: payload)
    try client.publish(topic: name.span, payload: bytes.span, MessageFlags(qos: qos), cookie: cookie)
  }

  func subscribe(_ filter: String) throws(SessionError) {
    try client.subscribe(OneFilter(bytes: Array(filter.utf8)), properties: Span(), identifier: 0, cookie: 0)
  }

  func unsubscribe(_ filter: String) throws(SessionError) {
    try client.unsubscribe(OneFilter(bytes: Array(filter.utf8)), properties: Span(), cookie: 0)
  }

  /// The answer to `credentialsWanted`; `nil`: to the attempt that is under way.
  func provide(_ userName: String, _ password: String, attempt: UInt32? = nil) throws(SessionError) {
    let (name, secret) = (Array(userName.utf8), Array(password.utf8))
    try client.provide(
      userName: name.span, password: secret.span, attempt: attempt ?? client.attempt, at: now)
  }

  func decline(isFinal: Bool = false, attempt: UInt32? = nil) throws(QueryError) {
    try client.declineCredentials(attempt: attempt ?? client.attempt, isFinal: isFinal, at: now)
  }

  /// The answer to `addressesWanted`: so many.
  func provide(addresses count: Int, attempt: UInt32? = nil) throws(QueryError) {
    let found = VirtualPlatform.addresses(count)
    try client.provide(addresses: found, attempt: attempt ?? client.attempt, at: now)
  }

  func submit(
    _ topic: String, payload: Int = 0, qos: QoS = .atLeastOnce, cookie: UInt64 = 0, expiry: UInt32 = 0,
    properties: [UInt8] = [], overflow: PublishOptions.Overflow = .refuse, isUrgent: Bool = false
  ) throws(SessionError) {
    let name = Array(topic.utf8)
    let bytes = [UInt8](repeating: 7, count: payload)
    var options = PublishOptions(cookie: cookie, isQuiet: false)
    options.expiry = expiry
    options.overflow = overflow
    options.isUrgent = isUrgent
    try submitter.submit(
      Publish(topic: name.span, payload: bytes.span, qos: qos, retain: false, properties: properties.span),
      options, at: { Instant(milliseconds: world.now) })
  }

  func disconnect(drain: UInt32 = 0) throws(SessionError) {
    try client.disconnect(drain: drain, reasonCode: 0, properties: Span(), at: now)
  }

  /// Runs for so long, and takes every event at once.
  func run(_ milliseconds: UInt32) -> [ReportedEvent] {
    let end = Instant(milliseconds: world.now).advanced(by: milliseconds)
    var told: [ReportedEvent] = []
    while !end.isReached(at: now) {
      _ = client.wait(timeout: Int32(clamping: end.remaining(at: now)))
      told += take()
    }
    return told
  }

  func take() -> [ReportedEvent] {
    var told: [ReportedEvent] = []
    while let event = client.nextEvent() { told.append(ReportedEvent(event, world.now)) }
    return told
  }
}

/// A list with one Topic Filter.
struct OneFilter: SubscriptionList {
  let bytes: [UInt8]
  var count: Int { 1 }

  @_lifetime(borrow self)
  func filter(at index: Int) -> Span<UInt8> { bytes.span }

  func options(at index: Int) -> SubscriptionOptions { SubscriptionOptions(maximumQoS: .atMostOnce) }
}

/// An event, comparable, and when it came.
struct ReportedEvent: Equatable, CustomStringConvertible {
  enum What: Equatable {
    case connected
    case disconnected(Status, FailureStage, retry: UInt32?)
    case completed(UInt64)
    case answered
    case message
    case credentialsWanted
    case addressesWanted(UInt16)
    case other
  }

  /// Why a connection ended, in one word.
  enum Status: Equatable {
    case requested, refused, closed, timeout, keepAlive, resolve, network, declined, other
  }

  let what: What
  let time: UInt32

  init(_ event: ClientEvent, _ time: UInt32) {
    self.time = time
    switch event {
    case .engine(.connected): what = .connected
    case .engine(.completed(let completion)): what = .completed(completion.cookie)
    case .engine(.subscribeCompleted): what = .answered
    case .engine(.message): what = .message
    case .engine: what = .other
    case .credentialsWanted: what = .credentialsWanted
    case .transportWanted: what = .other
    case .addressesWanted(_, let port): what = .addressesWanted(port)
    case .disconnected(let failure):
      let status: Status =
        switch failure.cause {
        case .requested: .requested
        case .refused: .refused
        case .closed: .closed
        case .timeout: .timeout
        case .keepAlive: .keepAlive
        case .resolve: .resolve
        case .network: .network
        case .declined: .declined
        default: .other
        }
      what = .disconnected(status, failure.stage, retry: failure.retry)
    }
  }

  var description: String { "\(what) at \(time)" }

  var retry: UInt32? {
    if case .disconnected(_, _, let retry) = what { retry } else { nil }
  }
}
