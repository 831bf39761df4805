import CPlatform
import MQTTSession
import MQTTTransport
import Storage

/// Which address of a server is tried when, so that one which swallows everything does not keep the others from their
/// turn (RFC 8305): each gets a head start, then the next begins beside it, and the first connection is the one.
struct AddressRace: ~Copyable {
  /// The Connection Attempt Delay, in milliseconds.
  static var headStart: UInt32 { 250 }
  /// With as many as there may be at a time, the one that began first is given up after so long.
  static var patience: UInt32 { 2000 }
  /// The most addresses of a server there can be room for.
  static var maximum: UInt32 { UInt32(PLATFORM_MAX_ADDRESSES) }

  private var addresses: Table<platform_address>
  private var limit: UInt16 = 0
  private(set) var port: UInt16 = 0
  /// The next one.
  private(set) var index: UInt16 = 0
  /// Why the last of those that failed did.
  private(set) var lastError: Int32 = 0
  /// When the next one begins.
  private(set) var deadline: Instant? = nil
  /// For each lane which address runs there, counted from 1; 0: none.
  private var runners = InlineArray<4, UInt16>(repeating: 0)

  init(addresses: consuming Table<platform_address>) { self.addresses = addresses }

  var capacity: Int { addresses.count }
  var count: Int { Int(limit) }

  /// Of more than there is room for, the first.
  mutating func begin(_ found: platform_addresses) {
    limit = min(found.count, UInt16(truncatingIfNeeded: addresses.count))
    for index in 0..<count { addresses[index] = Resolver.address(index, of: found) }
    port = found.port
    index = 0
    lastError = 0
    deadline = nil
    runners = InlineArray(repeating: 0)
  }

  /// From the address that won on.
  mutating func beginAgain(with lane: Channel) {
    let winner = max(runners[Int(lane.rawValue)], 1) &- 1
    runners = InlineArray(repeating: 0)
    index = winner
  }

  /// The one that was started last.
  var address: platform_address { addresses[Int(index) &- 1] }

  var hasNext: Bool { index < limit }

  /// All have failed.
  var isLost: Bool { !hasNext && running == 0 }

  private var running: Int {
    var count = 0
    for lane in 0..<Channel.lanes where runners[lane] != 0 { count &+= 1 }
    return count
  }

  /// The next one begins, in this lane: a free one, or that of the one which began first, which is given up.
  mutating func start(at now: Instant) -> Channel {
    var lane = 0
    for other in 1..<Channel.lanes where runners[other] < runners[lane] { lane = other }
    index &+= 1
    runners[lane] = index
    let wait = running == Channel.lanes ? Self.patience : Self.headStart
    deadline = hasNext ? now.advanced(by: wait) : nil
    return .lane(lane)
  }

  func isRunning(_ lane: Channel) -> Bool { runners[Int(lane.rawValue)] != 0 }

  /// The next one need not wait any longer.
  mutating func failed(_ lane: Channel, _ error: Int32) {
    runners[Int(lane.rawValue)] = 0
    lastError = error
  }
}
