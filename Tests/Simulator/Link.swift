import TestSupport

/// One direction of a connection: bytes on their way. How many of them have arrived, and how many of those are
/// read at a time, is decided from outside: that is what delays, splits and joins packets.
struct Direction {
  private var bytes: [UInt8] = []
  private var head = 0
  /// How many the reader may have.
  private(set) var arrived = 0
  /// Nothing is written any more; behind the last byte comes the end.
  private(set) var isEnded = false
  /// What is written is lost.
  private(set) var isLost = false

  /// On their way, or arrived and not read.
  var count: Int { bytes.count - head }
  var isAtEnd: Bool { isEnded && count == 0 }

  mutating func write(_ more: [UInt8]) {
    guard !isLost, !isEnded else { return }
    if head > 4096 {
      bytes.removeFirst(head)
      head = 0
    }
    bytes.append(contentsOf: more)
  }

  mutating func arrive(_ count: Int) { arrived = min(arrived + count, self.count) }

  mutating func read(_ count: Int) -> [UInt8] {
    precondition(count <= arrived)
    let read = Array(bytes[head..<head + count])
    head += count
    arrived -= count
    return read
  }

  /// Only so many of the bytes on their way will arrive.
  mutating func lose(butFirst kept: Int) {
    bytes.removeLast(count - kept)
    arrived = min(arrived, kept)
    isLost = true
  }

  mutating func end() { isEnded = true }
}

/// A connection between a session and its server.
final class Link {
  /// From the session to the server.
  var up = Direction()
  var down = Direction()
  /// How many bytes the way up holds before the session has to wait.
  var capacity: Int
  /// The session's next attempt to send fails.
  private(set) var isBroken = false
  /// Nobody will ever say that it is over.
  private(set) var isDead = false

  init(capacity: Int) { self.capacity = capacity }

  var room: Int { max(0, capacity - up.count) }
  var isOpen: Bool { !up.isEnded && !down.isEnded && !isDead }

  enum Cut: CaseIterable {
    case reset  // both learn of it, and lose what they have not read
    case byServer  // the session reads what was sent before, and the end
    case byServerAndReset  // the same, if it does not try to send
    case bySession  // the same the other way round
    case silence  // nobody learns of it
  }

  func cut(_ how: Cut, _ random: inout SeededRandom) {
    // Which bytes of those on their way still arrive.
    up.lose(butFirst: random.percent(30) ? up.count : random.below(up.count + 1))
    switch how {
    case .reset: down.lose(butFirst: 0)
    case .bySession: down.lose(butFirst: 0)
    case .byServer, .byServerAndReset, .silence:
      down.lose(butFirst: random.percent(50) ? down.count : random.below(down.count + 1))
    }
    isBroken = how == .reset || how == .byServerAndReset
    isDead = how == .silence
    guard how != .silence else { return }
    up.end()
    down.end()
  }

  /// The session has closed its end: what it has sent arrives.
  func closeBySession() {
    up.end()
    down.lose(butFirst: 0)
    down.end()
  }

  /// The server has closed its end: what it has sent arrives.
  func closeByServer() {
    up.lose(butFirst: 0)
    up.end()
    down.end()
  }
}
