import Driver
import Platform
import Storage
import Transports

/// Memory for a driver, and what it needs to be made.
final class Memory {
  let host: [UInt8]
  private let writeTimeout: UInt32
  private let busyPoll: UInt32
  private let port: UInt16
  private let block: UnsafeMutableRawPointer
  private let driverPlan: DriverPlan
  private let rooms: [ArenaSlice<UInt8>]

  private let layers: Layered?
  private let layerPlan: LayerPlan

  /// What the transport has above its socket.
  struct Layered {
    var kind = AnyTransport.Kind.tcp
    var proxy = LayerOptions.ProxyKind.none
    var hasTLS = false
    var isWebSocket = false

    /// Calls `body` with them.
    func with<Result: ~Copyable>(_ body: (borrowing LayerOptions) -> Result) -> Result {
      var options = LayerOptions()
      let (proxyHost, user, path, subprotocol) =
        (Array("proxy".utf8), Array("me".utf8), Array("/mqtt?x=1".utf8), Array("line".utf8))
      options.proxy = proxy
      options.proxyHost = proxyHost.span
      options.proxyPort = 1080
      options.proxyUser = user.span
      options.proxyPassword = user.span
      if hasTLS { options.tls = MaskingEngine.engine }
      options.isWebSocket = isWebSocket
      options.path = path.span
      options.subprotocols = subprotocol.span
      options.frameBytes = 256
      return body(options)
    }
  }

  init(
    _ host: String, writeTimeout: UInt32 = 0, busyPoll: UInt32 = 0, layers: Layered? = nil,
    port: UInt16 = 1234
  ) {
    self.port = port
    self.writeTimeout = writeTimeout
    self.busyPoll = busyPoll
    self.layers = layers
    self.host = Array(host.utf8)
    var plan = ArenaLayout()
    let name = Array(host.utf8)
    let options = Self.options(name.span, port)
    driverPlan = DriverPlan(options, in: &plan)
    rooms = [plan.reserve(64, of: UInt8.self)]
    layerPlan = (layers ?? Layered()).with { LayerPlan($0, in: &plan) }
    block = .allocate(byteCount: plan.byteCount, alignment: ArenaLayout.alignment)
  }

  deinit { block.deallocate() }

  @_lifetime(copy host)
  private static func options(_ host: Span<UInt8>, _ port: UInt16) -> DriverOptions {
    var servers = HostPortList()
    servers.append(host: ByteRange(offset: 0, count: host.count), port: 0)
    var options = DriverOptions(
      hosts: host, servers: servers, port: port, backoff: Backoff(shortest: 500, longest: 500, jitter: .none))
    options.connectTimeout = 3000
    options.stableTime = 10_000
    options.addresses = 2
    return options
  }

  private var carved: Arena { Arena(start: block) }
  func tcp() -> TCP { TCP(addresses: carved.table(driverPlan.addresses), asksAddresses: false) }
  func unix() -> Unix { Unix() }
  func layered() -> AnyTransport {
    let layers = layers ?? Layered()
    return layers.with { AnyTransport(layers.kind, tcp(), $0, plan: layerPlan, block: carved) }
  }

  func driver<Link: Transport & ~Copyable, System: Platform & ~Copyable>(
    _ link: consuming Link, _ system: consuming System
  ) -> DriverHarness<Link, System> {
    let name = host
    var options = Self.options(name.span, port)
    options.writeTimeout = writeTimeout
    options.busyPoll = busyPoll
    return DriverHarness(
      Driver(
        over: link, on: system, options, plan: driverPlan, block: carved
      ) { _ in LineEngine(room: carved.region(rooms[0])) }, self)
  }
}

/// `#expect` takes no driver in hand, as that cannot be copied.
final class DriverHarness<Link: Transport & ~Copyable, System: Platform & ~Copyable> {
  fileprivate var driver: Driver<LineEngine, Link, System>
  private let memory: Memory

  init(_ driver: consuming Driver<LineEngine, Link, System>, _ memory: Memory) {
    self.driver = driver
    self.memory = memory
  }

  var time: Instant { driver.time }
  var state: DriverState { driver.state }
  var isOpen: Bool { driver.isOpen }
  var hasPostscript: Bool {
    get { driver.engine.hasPostscript }
    set { driver.engine.hasPostscript = newValue }
  }
  var readsAhead: Bool {
    get { driver.engine.readsAhead }
    set { driver.engine.readsAhead = newValue }
  }
  var outputSize: Int { Self.outputSize(of: driver) }
  func say(_ line: String) { driver.engine.say(line) }
  func connect(at now: Instant) -> Bool { driver.connect(at: now) }
  func wait(timeout: Int32) -> WaitResult { driver.wait(timeout: timeout) }
  func service(at now: Instant) -> Bool { driver.service(at: now) }
  func nextTimeout(at now: Instant) -> Int32 { driver.nextTimeout(at: now) }
  func beginDisconnect(drain: UInt32, at now: Instant) -> Bool {
    driver.beginDisconnect(drain: drain, at: now)
  }
  func opened(at now: Instant) -> Bool { driver.opened(at: now) }
  func prepareTransmit(at now: Instant) -> Bool { driver.prepareTransmit(at: now) }
  func transmitted(_ count: Int, at now: Instant) -> Bool { driver.transmitted(count, at: now) }
  func closed(error: Int32, at now: Instant) -> Bool { driver.closed(error: error, at: now) }
  func nextEvent() -> DriverEvent<String, LineEngine.CloseDetails>? { driver.nextEvent() }

  /// As the application with a transport of its own does it.
  func received(_ text: String, at now: Instant) -> Bool { received(bytes: Array(text.utf8), at: now) }

  func received(bytes: [UInt8], at now: Instant) -> Bool {
    Self.put(bytes, into: &driver)
    return driver.received(bytes.count, at: now)
  }

  var outputBytes: [UInt8] { Self.outputBytes(of: driver) }

  private static func outputBytes(of driver: borrowing Driver<LineEngine, Link, System>) -> [UInt8] {
    let output = driver.output
    return (0..<output.count).map { output[$0] }
  }

  // Static, because the compiler takes a span of one part of `self` for a hold on all of it.

  private static func put(_ bytes: [UInt8], into driver: inout Driver<LineEngine, Link, System>) {
    var space = driver.receiveSpace()
    for index in bytes.indices { space[index] = bytes[index] }
  }

  private static func outputSize(of driver: borrowing Driver<LineEngine, Link, System>) -> Int {
    driver.output.count
  }

  var hasLine: Bool { driver.engine.hasEvent }

  func lines() -> [String] {
    var lines: [String] = []
    while driver.engine.hasEvent, case .engine(let line) = driver.nextEvent() { lines.append(line) }
    return lines
  }
}

extension DriverHarness where Link == AnyTransport, System: ~Copyable {
  var layerFailure: LayerFailure? { driver.link.layerFailure }
  /// The cause that the TLS engine has told.
  var tlsFailure: Int32? { driver.link.tlsFailure?.cause }
}
