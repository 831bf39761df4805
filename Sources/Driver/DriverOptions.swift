public import Platform
public import Storage

/// What a driver is made with.
public struct DriverOptions: ~Copyable, ~Escapable {
  private let inPlace = InPlace()
  /// The text that the hosts are in, and where.
  public let hosts: Span<UInt8>
  public private(set) var servers: HostPortList
  /// The port of servers that name none.
  public var port: UInt16
  public var isShuffled = false
  public var followsReferrals = false
  /// The application is asked for credentials before each attempt, and for the addresses of a name.
  public var asksCredentials = false
  public var asksAddresses = false
  /// The application has the transport, and the clock.
  public var isCallerDriven = false
  /// Milliseconds; 0: none.
  public var connectTimeout: UInt32 = 0
  public var reconnects = true
  public var backoff: Backoff
  /// How long a connection has to last until a failure is the first of a new sequence, in milliseconds.
  public var stableTime: UInt32 = 0
  /// Milliseconds; 0: none.
  public var writeTimeout: UInt32 = 0
  /// How long `Driver.wait` looks for something before it sleeps, in microseconds.
  public var busyPoll: UInt32 = 0
  /// How many addresses of a server are tried.
  public var addresses = 0
  /// Room for the host, so that `Driver.setServer` can name another; 0: no more than it takes.
  public var hostBytes = 0

  /// Without servers, the whole text is the host of one.
  @_lifetime(copy hosts)
  @inline(__always)
  public init(
    hosts: Span<UInt8>, servers: HostPortList, port: UInt16 = 0,
    backoff: Backoff = Backoff(shortest: 1000, longest: 60_000, jitter: .full)
  ) {
    self.hosts = hosts
    self.servers = servers
    self.port = port
    self.backoff = backoff
    if servers.count == 0 { self.servers.append(host: ByteRange(offset: 0, count: hosts.count), port: 0) }
  }

  @_lifetime(copy self)
  public func host(_ index: Int) -> Span<UInt8> { hosts.extracting(servers.host(index).range) }

  func port(_ index: Int) -> UInt16 { servers.port(index) == 0 ? port : servers.port(index) }
}

/// Where a driver's tables lie in the caller's block.
public struct DriverPlan {
  let servers: ArenaSlice<ServerTable.Entry>
  public let addresses: ArenaSlice<IPAddress>
  let hosts: ArenaSlice<UInt8>

  public init(_ options: borrowing DriverOptions, in plan: inout ArenaLayout) {
    servers = plan.reserve(ServerTable.entryCount(options), of: ServerTable.Entry.self)
    addresses = plan.reserve(options.addresses, of: IPAddress.self)
    hosts = plan.reserve(max(ServerTable.byteCount(options), options.hostBytes), of: UInt8.self)
  }
}

extension SocketOptions {
  /// Puts them where the platform finds them as long as it lives: in `slice`, which has room for one, or for none if they
  /// are the usual ones.
  public func stored(in block: borrowing Arena, _ slice: ArenaSlice<SocketOptions>) -> Stored {
    guard slice.count > 0 else { return Stored() }
    let place = unsafe block.start(of: slice)
    unsafe place.initialize(to: self)
    return unsafe Stored(at: UnsafePointer(place))
  }
}
