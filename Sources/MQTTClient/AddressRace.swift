import CPlatform
import MQTTSession
import MQTTTransport

/// Which address of a server is tried when, so that one which swallows everything does not keep the others from their
/// turn (RFC 8305): each gets a head start, then the next begins beside it, and the first connection is the one.
struct AddressRace: BitwiseCopyable {
  /// The Connection Attempt Delay, in milliseconds.
  static var headStart: UInt32 { 250 }
  /// With as many as there may be at a time, the one that began first is given up after so long.
  static var patience: UInt32 { 2000 }

  private(set) var addresses = platform_addresses()
  /// The next one.
  private(set) var index: UInt32 = 0
  /// When it begins.
  private(set) var deadline: Instant? = nil
  /// Why the last of those that failed did.
  private(set) var lastError: Int32 = 0
  /// For each lane which address runs there, counted from 1; 0: none.
  private var runners = InlineArray<4, UInt32>(repeating: 0)

  mutating func begin(_ found: platform_addresses) {
    self = AddressRace()
    addresses = found
  }

  /// From the address that won on.
  mutating func beginAgain(with lane: Channel) {
    let winner = max(runners[Int(lane.rawValue)], 1) &- 1
    runners = InlineArray(repeating: 0)
    index = winner
  }

  var hasNext: Bool { index < addresses.count }

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
