import Platform
import Storage

/// When each address of a server is tried (RFC 8305). Each gets a head start, then the next one is tried beside
/// it, and the first connection wins. So an address that swallows everything does not keep the others waiting.
struct AddressRace: ~Copyable {
  /// The Connection Attempt Delay, in milliseconds.
  static var headStart: UInt32 { 250 }
  /// When as many attempts run as there are sockets, the one that began first is given up after so long.
  static var patience: UInt32 { 2000 }

  /// How many sockets run at a time.
  static var sockets: Int { Feature.hasRace ? Channel.sockets : 1 }

  private var addresses: Table<IPAddress>
  private var limit: UInt16 = 0
  private(set) var port: UInt16 = 0
  /// The next one.
  private(set) var index: UInt16 = 0
  /// The error of the attempt that failed last.
  private(set) var lastError: Int32 = 0
  /// When the next one begins.
  private(set) var deadline: Instant? = nil
  /// Which address is tried on each socket, counted from 1; 0: none.
  private var attempts = InlineArray<4, UInt16>(repeating: 0)

  init(addresses: consuming Table<IPAddress>) { self.addresses = addresses }

  var capacity: Int { addresses.count }
  var count: Int { Int(limit) }

  /// Takes the first addresses, as many as there is room for.
  @_optimize(size)
  mutating func begin(_ found: AddressList) {
    limit = UInt16(truncatingIfNeeded: min(found.count, addresses.count))
    for index in 0..<count { addresses[index] = found[index] }
    port = found.port
    index = 0
    lastError = 0
    deadline = nil
    attempts = InlineArray(repeating: 0)
  }

  /// Begins with the address that won.
  mutating func beginAgain(with socket: Channel) {
    let winner = max(attempts[Int(socket.rawValue)], 1) &- 1
    attempts = InlineArray(repeating: 0)
    index = winner
  }

  /// The address that was started last.
  var address: IPAddress { addresses[Int(index) &- 1] }

  var hasNext: Bool { index < limit }

  /// All have failed.
  var isLost: Bool { !hasNext && running == 0 }

  private var running: Int {
    var count = 0
    for socket in 0..<Self.sockets where attempts[socket] != 0 { count &+= 1 }
    return count
  }

  /// The next one begins, on this socket: a free one, or that of the one which began first, which is given
  /// up.
  @_optimize(size)
  mutating func start(at now: Instant) -> Channel {
    var socket = 0
    for other in 1..<Self.sockets where attempts[other] < attempts[socket] { socket = other }
    index &+= 1
    attempts[socket] = index
    let wait = running == Self.sockets ? Self.patience : Self.headStart
    deadline = hasNext ? now.advanced(by: wait) : nil
    return .socket(socket)
  }

  func isRunning(_ attempt: Channel) -> Bool { attempts[Int(attempt.rawValue)] != 0 }

  /// The attempt has failed, and the next one need not wait any longer.
  mutating func failed(_ attempt: Channel, _ error: Int32) {
    attempts[Int(attempt.rawValue)] = 0
    lastError = error
  }
}
