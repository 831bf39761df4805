import Storage

/// The servers of a client, and behind them the one that another pointed to.
struct ServerTable: ~Copyable {
  struct Entry: BitwiseCopyable {
    var host: ByteRange
    var port: UInt16
  }

  private var entries: Table<Entry>
  /// Each host ends with a zero.
  private var hosts: Region
  /// Without the one that another pointed to.
  private let number: UInt8

  static func entryCount(_ options: borrowing DriverOptions) -> Int {
    options.servers.count &+ (options.followsReferrals ? 1 : 0)
  }

  static func byteCount(_ options: borrowing DriverOptions) -> Int {
    var sum = options.followsReferrals ? Redirect.hostSize : 0
    for index in 0..<options.servers.count { sum &+= options.servers.host(index).count &+ 1 }
    return sum
  }

  init(entries: consuming Table<Entry>, hosts: consuming Region, _ options: borrowing DriverOptions) {
    self.entries = entries
    self.hosts = hosts
    number = UInt8(truncatingIfNeeded: options.servers.count)
    for index in 0..<count { put(index, options.host(index), port: options.port(index)) }
    if count < self.entries.count { self.entries[count] = Entry(host: .empty, port: 0) }
  }

  var count: Int { Int(number) }

  var bytes: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { hosts.bytes }
  }

  func host(_ index: Int) -> ByteRange { entries[index].host }

  func port(_ index: Int) -> UInt16 { entries[index].port }

  /// Whether a host of this size can stand alone.
  func hasRoom(for size: Int) -> Bool { size < hosts.count }

  /// Names the server at `index`; that at `count` may be named again and again. True: it was another one.
  mutating func set(_ index: Int, _ host: Span<UInt8>, port: UInt16) -> Bool {
    guard !holds(index, host, port: port) else { return false }
    put(index, host, port: port)
    return true
  }

  private func holds(_ index: Int, _ host: Span<UInt8>, port: UInt16) -> Bool {
    let range = entries[index].host
    guard entries[index].port == port, range.count == host.count else { return false }
    for offset in 0..<host.count where hosts[range.offset &+ offset] != host[offset] { return false }
    return true
  }

  /// One host lies behind the other.
  private mutating func put(_ index: Int, _ host: Span<UInt8>, port: UInt16) {
    let start = index == 0 ? 0 : entries[index &- 1].host.end &+ 1
    var text = hosts.mutableBytes(in: start..<start &+ host.count &+ 1)
    copy(host, into: &text)
    text[host.count] = 0
    entries[index] = Entry(host: ByteRange(offset: start, count: host.count), port: port)
  }
}
